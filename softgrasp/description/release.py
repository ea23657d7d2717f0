"""The release of a soft finger: a weight bends it, is taken away at once, and the finger swings."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, Positive
from softgrasp.description.problems import FieldError
from softgrasp.description.soft_finger import SoftFinger

FEWEST_SAMPLES, MAX_SAMPLES = 50, 1_000_000
"""Fewer say nothing of a vibration; more are a slip of the pen."""
ROUNDING = 1e-9
"""A number of steps is whole up to so much of itself [–]."""


class FingerRelease(Description):
    """A finger, clamped level at its base, that a weight at its tip bends and then lets go."""

    name: str = ""
    finger: SoftFinger
    """One that only bends in its plane."""
    tip_mass: Positive
    """Of the weight [kg]."""
    webots_timestep: Positive | None = None
    """Basic time step h of Webots at which the finger's dampers c were identified [s]; all of its
    damping is then c + h·k (mechanics.webots_damping). None: the dampers are all there is."""
    timestep: Annotated[float, Field(strict=True, ge=1e-7, le=0.1)] = 1e-3
    """Of the physics [s]."""
    duration: Positive = 1.0
    """How long it is watched [s]."""
    sample_period: Positive = 1e-3
    """Time between two samples [s]; a whole number of time steps."""
    source: str = ""
    """Where the numbers come from."""

    @property
    def samples(self) -> int:
        """How many there are, the start included."""
        return round(self.duration / self.sample_period) + 1

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        axes = {axis for _, axis in self.finger.freedoms}
        if axes != {"y"}:
            raise FieldError(
                "expected a finger that only bends in its plane, found one whose joints give in "
                f"{', '.join(sorted(axes))}",
                "finger",
            )
        steps = self.sample_period / self.timestep
        if round(steps) < 1 or abs(steps - round(steps)) > ROUNDING * steps:
            raise FieldError(
                f"expected a whole number of time steps of {self.timestep:g} s, found "
                f"{self.sample_period:g} s",
                "sample_period",
            )
        if not FEWEST_SAMPLES <= self.duration / self.sample_period <= MAX_SAMPLES:
            raise FieldError(
                f"expected {FEWEST_SAMPLES} to {MAX_SAMPLES} samples of {self.sample_period:g} s, "
                f"found {self.duration:g} s",
                "duration",
            )
        return self
