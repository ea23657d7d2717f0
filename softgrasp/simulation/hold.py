"""The hold test: what the object does in the hand while gravity grows, or while it is lifted."""

from __future__ import annotations

import numpy as np

from softgrasp.build import names
from softgrasp.mechanics.transforms import Array, relative_quaternions, rotation_angles
from softgrasp.simulation.closure_run import ClosureRun
from softgrasp.simulation.result import HoldTest

CREEP_SHARE = 0.25
"""Creep is the mean speed over this last share of the time under full load, or at the top."""


def hold_test(run: ClosureRun, position: Array, quaternion: Array) -> HoldTest | None:
    """What the object did since the test began; None where there was no whole test.

    Args:
        run: The run.
        position: The object's centre in the world at every row [m], (T, 3).
        quaternion: Its orientation, (T, 4).
    """
    scene, begin = run.scene, run.hold_from
    criterion = scene.success or scene.lift
    if criterion is None or begin is None or not run.finished:
        return None
    in_hand = position[begin:] - palm_way(run)[begin:]
    turns = relative_quaternions(quaternion[begin:], quaternion[begin])
    late = max(round(CREEP_SHARE * criterion.hold_time / scene.control_period), 1)
    crept = float(np.linalg.norm(in_hand[-1] - in_hand[-1 - late]))
    mass = float(run.model.body(names.OBJECT).mass[0])
    load = scene.gravity if scene.success is None else scene.success.gravity
    return HoldTest(
        drop_m=float(np.linalg.norm(in_hand - in_hand[0], axis=1).max()),
        rotation_rad=float(rotation_angles(turns).max()),
        weight_N=mass * float(np.linalg.norm(load)),
        start_s=float(run.recording.time[begin]),
        creep_m_s=crept / (late * scene.control_period),
        lifted_m=None if scene.lift is None else float(position[-1, 2] - position[begin, 2]),
    )


def palm_way(run: ClosureRun) -> Array:
    """How far the palm has been carried from its start at every row [m], (T, 3), world."""
    way = np.zeros((run.recording.rows, 3))
    if run.scene.lift is not None:
        wrist = run.model.joint(names.WRIST).qposadr[0]
        way[:, 2] = run.recording.qpos[: run.recording.rows, wrist]
    return way


def is_held(run: ClosureRun, hold: HoldTest | None) -> bool | None:
    """Whether a hold test was passed; None where none was asked for, or none could be ended."""
    criterion = run.scene.success or run.scene.lift
    if criterion is None or not (run.finished or run.diverged):
        return None
    if hold is None:
        return False
    within = hold.drop_m <= criterion.max_drop
    steady = hold.rotation_rad <= criterion.max_rotation
    return within and steady and any(run.state.in_contact)
