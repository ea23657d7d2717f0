"""A hand that has closed beside the object: by how much it missed."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.model.contact_pairs import object_pairs
from softgrasp.model.names import OBJECT
from softgrasp.simulation.finished_run import FinishedRun

SAMPLES = 24
"""Instants of the closure that are looked at."""
FAR = 1e3
"""Farther than this is not measured [m]."""


def missed_warnings(run: FinishedRun, forces: Array) -> tuple[str, ...]:
    """What is said where nothing has touched the object, with how near the hand came to it.

    Args:
        run: A run that nothing interrupted.
        forces: Normal forces on the object that is to be grasped [N], (T, nb).
    """
    if run.state.idle == 0 or run.model.nflex or (forces > 0.0).any():  # or it was still closing
        return ()
    nearest = _nearest(run)
    if nearest <= 0.0:
        return (
            "nothing touched the object: it fell before the hand was there; a table (--table), "
            "another mount (--mount), or a closure without gravity (--no-gravity) keeps it",
        )
    return (
        f"nothing touched the object: the hand came no nearer than {_distance_text(nearest)} to where "
        "it was put; another orientation (--euler-deg), place (--position, in m) or --grasp may "
        "meet it",
    )


def _nearest(run: FinishedRun) -> float:
    """Least distance of the closing hand from the object where it was put [m]."""
    model, data = run.model, mujoco.MjData(run.model)
    pairs = [tuple(model.geom(name).id for name in pair) for pair in object_pairs(model)]
    addresses = _coordinates(model)
    end = run.recording.rows if run.hold_from is None else run.hold_from + 1
    smallest = FAR
    for row in np.linspace(0, end - 1, min(SAMPLES, end)).astype(int):
        data.qpos[:] = run.recording.qpos[row]
        data.qpos[addresses] = run.recording.qpos[0][addresses]
        mujoco.mj_kinematics(model, data)
        distances = (mujoco.mj_geomDistance(model, data, *pair, FAR, None) for pair in pairs)
        smallest = min(smallest, *distances)
    return smallest


def _distance_text(distance: float) -> str:
    return f"{1e3 * distance:.3g} mm" if distance < 1.0 else f"{distance:.3g} m"


def _coordinates(model: mujoco.MjModel) -> slice:
    """Where the object's own coordinates are in ``qpos``."""
    joints = np.flatnonzero(model.jnt_bodyid == model.body(OBJECT).id)
    if not len(joints):
        return slice(0, 0)
    begin = int(model.jnt_qposadr[joints[0]])
    is_free = model.jnt_type[joints[0]] == mujoco.mjtJoint.mjJNT_FREE
    return slice(begin, begin + (7 if is_free else len(joints)))
