"""What the release of a finger is, in numbers."""

from __future__ import annotations

import math
from typing import Any

from softgrasp.description.release import FingerRelease
from softgrasp.errors import SoftgraspError
from softgrasp.simulation.finger_load import damped_finger, loaded_shape
from softgrasp.simulation.finger_mode import LinearMode, linear_mode

ENDURES = 3.0
"""A recording should last so many times as long as the first mode takes to fall to 1/e."""


def release_properties(release: FingerRelease) -> dict[str, Any]:
    """Finger, weight, pose at rest under it and the first mode."""
    mode = linear_mode(damped_finger(release))
    return {
        "name": release.name,
        "finger": release.finger.name,
        "joints": len(release.finger.joints),
        "tip_mass_kg": release.tip_mass,
        "webots_timestep_s": release.webots_timestep,
        "timestep_s": release.timestep,
        "duration_s": release.duration,
        "sample_period_s": release.sample_period,
        "tip_angle_rad": float(loaded_shape(release).sum()),
        "first_mode_Hz": mode.frequency,
        "damping_ratio": mode.ratio,
        "source": release.source,
    }


def release_problems(release: FingerRelease) -> list[str]:
    """Weights, time steps and durations that make no comparison."""
    try:
        loaded_shape(release)
    except SoftgraspError as error:
        return [str(error)]
    mode = linear_mode(damped_finger(release))
    return [*_too_short(release, mode), *_too_coarse(release, mode)]


def _too_short(release: FingerRelease, mode: LinearMode) -> list[str]:
    needed = ENDURES / mode.decay if mode.decay > 0.0 else math.inf
    if math.isnan(mode.decay) or release.duration >= needed:
        return []
    return [
        f"duration: expected at least {needed:.2g} s, in which the first mode dies away, found "
        f"{release.duration:g} s"
    ]


def _too_coarse(release: FingerRelease, mode: LinearMode) -> list[str]:
    period = 1.0 / mode.frequency if mode.frequency > 0.0 else math.inf
    if 10.0 * release.sample_period <= period:
        return []
    return [
        f"sample_period: expected at most a tenth of the first mode's period of {period:.3g} s, "
        f"found {release.sample_period:g} s"
    ]
