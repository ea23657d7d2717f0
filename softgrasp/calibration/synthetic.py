"""Measurements of a finger whose constants are known, with noise, to try calibrations on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.calibration.benches import VirtualExperiments
from softgrasp.calibration.parameters import finger_values
from softgrasp.continuum.settling import settling
from softgrasp.description.calibration import CalibrationProblem, HungAngles, Release, TipForce
from softgrasp.description.soft_finger import SoftFinger

PRESSURES = tuple(1e4 * step for step in range(11))
"""Of the tip-force bench of paper 000, 0 … 100 kPa [Pa]."""
REPEATS = 20
"""Of each pressure there."""


def synthetic_hung(
    finger: SoftFinger, masses: Sequence[float], noise: float = 0.0, seed: int = 0
) -> tuple[HungAngles, ...]:
    """Joint angles under weights.

    Args:
        finger: The finger.
        masses: [kg]
        noise: Standard deviation of an angle [rad].
        seed: Of the noise.
    """
    loads = [HungAngles(mass=mass, angles=(0.0,) * len(finger.joints)) for mass in masses]
    stiffness = finger_values(finger, "stiffness")[None]
    shapes = VirtualExperiments(CalibrationProblem(finger=finger)).hung(stiffness, loads)
    rng = np.random.default_rng(seed)
    noisy = [shape[0] + noise * rng.standard_normal(shape.shape[1]) for shape in shapes]
    return tuple(
        load.replace(angles=tuple(angles.tolist()))
        for load, angles in zip(loads, noisy, strict=True)
    )


def synthetic_releases(
    finger: SoftFinger,
    masses: Sequence[float],
    noise: float = 0.0,
    seed: int = 0,
    *,
    duration: float = 1.0,
    rule: str = "paper000",
) -> tuple[Release, ...]:
    """Tracks of the tip after weights were taken away, with overshoots and settling times.

    Args:
        finger: The finger, with all of its damping.
        masses: [kg]
        noise: Standard deviation of a height [m].
        seed: Of the noise.
        duration: Of the tracks, at least 0.6 [s].
        rule: See ``mechanics.settling``.
    """
    requested = [Release(mass=mass, times=(0.0, duration), heights=(0.0, 0.0)) for mass in masses]
    parameters = [finger_values(finger, kind)[None] for kind in ("stiffness", "damping")]
    experiments = VirtualExperiments(CalibrationProblem(finger=finger))
    time, heights = experiments.released(parameters[0], parameters[1], requested)
    rng, releases = np.random.default_rng(seed), []
    for one, height in zip(requested, heights[0], strict=True):
        tracked = height + noise * rng.standard_normal(len(height))
        settling_result = settling(time, height, rule)
        settled = {"overshoots": settling_result.overshoots, "settling_time": settling_result.time}
        releases.append(
            one.replace(
                times=tuple(time.tolist()),
                heights=tuple(tracked.tolist()),
                **(settled if settling_result.time > 0.0 else {}),
            )
        )
    return tuple(releases)


def synthetic_forces(
    finger: SoftFinger,
    pressures: Sequence[float] = PRESSURES,
    noise: float = 0.0,
    seed: int = 0,
    *,
    repeats: int = REPEATS,
    gap: float = 0.0,
) -> tuple[TipForce, ...]:
    """Forces of the tip on a plate, each pressure several times.

    Args:
        finger: The finger.
        pressures: [Pa]
        noise: Standard deviation of a reading [N].
        seed: Of the noise.
        repeats: Readings at each pressure.
        gap: Between plate and tip without pressure [m].
    """
    requested = [TipForce(pressure=pressure, force=0.0) for pressure in pressures]
    parameters = [finger_values(finger, kind)[None] for kind in ("stiffness", "gain")]
    problem = CalibrationProblem(finger=finger, plate_gap=gap)
    exact = VirtualExperiments(problem).forces(parameters[0], parameters[1], requested)[0]
    rng = np.random.default_rng(seed)
    return tuple(
        one.replace(force=float(force + noise * rng.standard_normal()))
        for one, force in zip(requested, exact, strict=True)
        for _ in range(repeats)
    )
