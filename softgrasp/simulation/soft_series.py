"""The soft fingers of a run: pressure and curvature in time, and how they end."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from softgrasp.description.soft_finger import MountedSoftFinger, SoftFinger
from softgrasp.mechanics.transforms import Array, rotation_angles
from softgrasp.model import names
from softgrasp.simulation.equilibrium import equilibrium
from softgrasp.simulation.finished_run import FinishedRun
from softgrasp.simulation.told_motion import SoftFingerEnd

ROLLED = math.radians(30.0)
"""An object that turns by more was not taken as it stood."""


def soft_series(run: FinishedRun) -> tuple[Array, Array] | tuple[None, None]:
    """Pressure [Pa] and curvature [1/m], (T, ns) each; None for a hand without soft fingers."""
    digits = run.scene.hand.soft_fingers
    if not digits:
        return None, None
    rows = slice(0, run.recording.rows)
    pressures = [run.model.actuator(digit.as_actuator.name).id for digit in digits]
    curvature = np.stack([_curvature(run, digit)[rows] for digit in digits], axis=1)
    return run.recording.control[rows, pressures], curvature


def soft_ends(run: FinishedRun) -> tuple[SoftFingerEnd, ...]:
    """The soft fingers at the end of a run, with the error that their links make."""
    pressure, curvature = soft_series(run)
    if pressure is None or curvature is None:
        return ()
    ends = zip(pressure[-1].tolist(), curvature[-1].tolist(), strict=True)
    return tuple(
        SoftFingerEnd(
            finger=digit.name,
            pressure_Pa=end_pressure,
            curvature_1_m=bent,
            discretisation_error_m=_free_error(digit.finger, end_pressure),
        )
        for digit, (end_pressure, bent) in zip(run.scene.hand.soft_fingers, ends, strict=True)
    )


def squeeze_warning(run: FinishedRun, quaternions: Array) -> tuple[str, ...]:
    """Tell where the object was rolled in the hand and a gentler grasp of it is there.

    Args:
        run: The run.
        quaternions: Of the object in time, wxyz, (T, 4).
    """
    hand = run.scene.hand
    gentle = hand.grasps.precision.pressure
    if not hand.soft_fingers or gentle is None:
        return ()
    pressure = max(high for _, high in run.scene.limits[-len(hand.soft_fingers) :])
    angle = float(rotation_angles(quaternions[-1], quaternions[0]))
    if angle < ROLLED or gentle >= pressure:
        return ()
    return (
        f"the object turned by {math.degrees(angle):.0f}° under {1e-3 * pressure:g} kPa; the "
        f"precision grasp of this hand presses with {1e-3 * gentle:g} kPa",
    )


@lru_cache(maxsize=64)
def _free_error(finger: SoftFinger, pressure: float) -> float | None:
    """The error of the free finger [m]; None where it has no rest shape at this pressure."""
    error = equilibrium(finger, pressure=pressure, gravity=False).discretisation_error
    return error if math.isfinite(error) else None


def _curvature(run: FinishedRun, digit: MountedSoftFinger) -> Array:
    """Bending angle from base to tip, over the length [1/m], (rows,); negative bends backwards."""
    joints = names.soft_joint_names(digit, "y")
    angles = run.recording.qpos[:, [run.model.joint(name).qposadr[0] for name in joints]]
    return np.asarray(angles.sum(axis=1) / digit.length)
