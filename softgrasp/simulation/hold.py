"""The hold test: what the object does in the hand while gravity grows, or while it is lifted."""

from __future__ import annotations

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

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
    in_hand, turned = seen_from_palm(run, position, quaternion)
    turns = relative_quaternions(turned, turned[0])
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


def seen_from_palm(run: ClosureRun, position: Array, quaternion: Array) -> tuple[Array, Array]:
    """The object's track since the test began in the frame of the palm, (n, 3) and (n, 4)."""
    rows = range(run.hold_from or 0, len(position))
    data = mujoco.MjData(run.model)
    palm = run.model.body(names.PALM).id
    places, turns = np.zeros((len(rows), 3)), np.zeros((len(rows), 4))
    for index, row in enumerate(rows):
        if index and run.model.body_weldid[palm] == 0:  # it stands still
            places[index:], turns[index:] = places[0], turns[0]
            break
        data.qpos[:] = run.recording.qpos[row]
        mujoco.mj_kinematics(run.model, data)
        places[index], turns[index] = data.xpos[palm], data.xquat[palm]
    hand = Rotation.from_quat(turns, scalar_first=True).inv()
    thing = Rotation.from_quat(quaternion[rows.start :], scalar_first=True)
    track = hand.apply(position[rows.start :] - places)
    return track, np.asarray((hand * thing).as_quat(canonical=True, scalar_first=True))


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
