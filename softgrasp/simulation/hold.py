"""The hold test: what the object does in the hand while gravity grows, or while it is lifted."""

from __future__ import annotations

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.build import names
from softgrasp.mechanics.transforms import Array, rotation_angles
from softgrasp.simulation.finished_run import FinishedRun
from softgrasp.simulation.result import HoldTest

CREEP_SHARE = 0.25
"""Creep is the mean speed over this last share of the time under full load, or at the top."""


def hold_test(run: FinishedRun, position: Array, quaternion: Array) -> HoldTest | None:
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
    in_hand, turned = seen_from_palm(run, position, quaternion)
    late = max(round(CREEP_SHARE * criterion.hold_time / scene.control_period), 1)
    crept = float(np.linalg.norm(in_hand[-1] - in_hand[-1 - late]))
    mass = float(run.model.body(names.OBJECT).mass[0])
    load = scene.gravity if scene.success is None else scene.success.gravity
    return HoldTest(
        drop_m=float(np.linalg.norm(in_hand - in_hand[0], axis=1).max()),
        rotation_rad=float(rotation_angles(turned, turned[0]).max()),
        weight_N=mass * float(np.linalg.norm(load)),
        start_s=float(run.recording.time[begin]),
        creep_m_s=crept / (late * scene.control_period),
        lifted_m=None if scene.lift is None else float(position[-1, 2] - position[begin, 2]),
    )


def seen_from_palm(run: FinishedRun, position: Array, quaternion: Array) -> tuple[Array, Array]:
    """The object's track since the test began in the frame of the palm, (n, 3) and (n, 4)."""
    begin = run.hold_from or 0
    places, turns = _palm_track(run, range(begin, len(position)))
    hand = Rotation.from_quat(turns, scalar_first=True).inv()
    thing = Rotation.from_quat(quaternion[begin:], scalar_first=True)
    track = hand.apply(position[begin:] - places)
    return track, np.asarray((hand * thing).as_quat(scalar_first=True))


def _palm_track(run: FinishedRun, rows: range) -> tuple[Array, Array]:
    """Pose of the palm in the world, a row each, or one row where it stands still."""
    palm = run.model.body(names.hand_body(run.scene.hand)).id
    if run.model.body_weldid[palm] == 0:
        return run.data.xpos[[palm]], run.data.xquat[[palm]]
    data = mujoco.MjData(run.model)
    places, turns = np.zeros((len(rows), 3)), np.zeros((len(rows), 4))
    for index, row in enumerate(rows):
        data.qpos[:] = run.recording.qpos[row]
        mujoco.mj_kinematics(run.model, data)
        places[index], turns[index] = data.xpos[palm], data.xquat[palm]
    return places, turns


def is_held(run: FinishedRun, hold: HoldTest | None) -> bool | None:
    """Whether a hold test was passed; None where none was asked for, or none could be ended."""
    criterion = run.scene.success or run.scene.lift
    if criterion is None or not (run.finished or run.diverged):
        return None
    if hold is None:
        return False
    within = hold.drop_m <= criterion.max_drop
    steady = hold.rotation_rad <= criterion.max_rotation
    return within and steady and any(run.state.in_contact)
