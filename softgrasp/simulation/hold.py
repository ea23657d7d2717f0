"""The hold test: what the object does while gravity grows after the closure."""

from __future__ import annotations

import numpy as np

from softgrasp.build import names
from softgrasp.mechanics.transforms import Array, relative_quaternions, rotation_angles
from softgrasp.simulation.closure_run import ClosureRun
from softgrasp.simulation.result import HoldTest

CREEP_SHARE = 0.25
"""Creep is the mean speed over this last share of the time under full load."""


def hold_test(run: ClosureRun, position: Array, quaternion: Array) -> HoldTest | None:
    """What the object did since the ramp began; None where there was no whole test."""
    criterion = run.scene.success
    if criterion is None or run.hold_from is None or not run.finished:
        return None
    begin = run.hold_from
    way = np.linalg.norm(position[begin:] - position[begin], axis=1)
    turns = relative_quaternions(quaternion[begin:], quaternion[begin])
    period = run.scene.control_period
    late = max(round(CREEP_SHARE * criterion.hold_time / period), 1)
    crept = float(np.linalg.norm(position[-1] - position[-1 - late]))
    mass = float(run.model.body(names.OBJECT).mass[0])
    return HoldTest(
        drop_m=float(way.max()),
        rotation_rad=float(rotation_angles(turns).max()),
        weight_N=mass * float(np.linalg.norm(criterion.gravity)),
        start_s=float(run.recording.time[begin]),
        creep_m_s=crept / (late * period),
    )


def is_held(run: ClosureRun, hold: HoldTest | None) -> bool | None:
    """Whether a hold test was passed; None where none was asked for, or none could be ended."""
    success = run.scene.success
    if success is None or not (run.finished or run.diverged):
        return None
    if hold is None:
        return False
    within = hold.drop_m <= success.max_drop
    steady = hold.rotation_rad <= success.max_rotation
    return within and steady and any(run.state.in_contact)
