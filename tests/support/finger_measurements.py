"""Simulated hung weights and releases of a finger with known constants."""

from collections.abc import Sequence

import numpy as np

from softgrasp.calibration.objectives import finger_values
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.continuum.settling import settling
from softgrasp.description.calibration import CalibrationProblem, HungAngles, Release
from softgrasp.description.soft_finger import SoftFinger


def synthetic_hung(
    finger: SoftFinger, masses: Sequence[float], noise: float = 0.0, seed: int = 0
) -> tuple[HungAngles, ...]:
    """Simulate joint angles under weights."""
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
    """Simulate tracks of the tip after weights are released, with overshoots and settling times."""
    requested = [Release(mass=mass, times=(0.0, duration), heights=(0.0, 0.0)) for mass in masses]
    parameters = [finger_values(finger, kind)[None] for kind in ("stiffness", "damping")]
    experiments = VirtualExperiments(CalibrationProblem(finger=finger))
    time, heights = experiments.released(parameters[0], parameters[1], requested)
    rng, releases = np.random.default_rng(seed), []
    for item, height in zip(requested, heights[0], strict=True):
        tracked = height + noise * rng.standard_normal(len(height))
        settling_result = settling(time, height, rule)
        settled = {"overshoots": settling_result.overshoots, "settling_time": settling_result.time}
        releases.append(
            item.replace(
                times=tuple(time.tolist()),
                heights=tuple(tracked.tolist()),
                **(settled if settling_result.time > 0.0 else {}),
            )
        )
    return tuple(releases)
