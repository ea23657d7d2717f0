"""Time series of the soft fingers of a run: pressure and curvature."""

from __future__ import annotations

import numpy as np

from softgrasp.build import names
from softgrasp.description.soft_digit import SoftDigit
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.closure_run import ClosureRun


def soft_series(run: ClosureRun) -> tuple[Array, Array] | tuple[None, None]:
    """Pressure [Pa] and curvature [1/m], (T, ns) each; None for a hand without soft fingers."""
    digits = run.scene.hand.soft_fingers
    if not digits:
        return None, None
    rows = slice(0, run.recording.rows)
    pressures = [run.model.actuator(names.pressure(digit.name)).id for digit in digits]
    curvature = np.stack([_curvature(run, digit)[rows] for digit in digits], axis=1)
    return run.recording.control[rows, pressures], curvature


def _curvature(run: ClosureRun, digit: SoftDigit) -> Array:
    """Bending angle from base to tip, over the length [1/m], (rows,); negative bends backwards."""
    joints = names.soft_joint_names(digit)[:: 1 if digit.finger.planar else 2]
    angles = run.recording.qpos[:, [run.model.joint(name).qposadr[0] for name in joints]]
    return np.asarray(angles.sum(axis=1) / digit.length)
