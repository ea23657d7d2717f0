"""What is measured on a finger, and what is to be found from it."""

from __future__ import annotations

from abc import abstractmethod
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, FieldError, NonNegative, Number, Positive
from softgrasp.description.soft_finger import SoftFinger

Whole = Annotated[int, Field(strict=True, ge=0, le=10_000)]
Range = tuple[NonNegative, Positive]
Angles = Annotated[tuple[Number, ...], Field(min_length=1)]
StiffnessModel = Literal["per-joint", "smooth", "uniform"]
SharedModel = Literal["per-joint", "uniform"]
ReleaseRule = Literal["paper000", "extrema-1mm", "band-2%", "band-5%", "band-1mm"]
StaticObjective = Literal["angles", "heights"]
ReleaseObjective = Literal["settling", "trace"]
ForceObjective = Literal["auto", "absolute", "product", "squares"]


class HungAngles(Description):
    """Joint angles at rest with a weight at the tip; the finger lies level, clamped at its base."""

    mass: NonNegative
    """[kg]"""
    angles: Angles
    """Of the first joints, as many as were observed, positive towards −z [rad]."""
    held_out: bool = False
    """Whether it is kept for validation."""


class Release(Description):
    """What a finger does when a weight at its tip is taken away at once."""

    mass: NonNegative
    """[kg]"""
    overshoots: Whole | None = None
    settling_time: Positive | None = None
    """[s]"""
    times: tuple[Number, ...] = ()
    """Of a tracked tip, from the release on [s]."""
    heights: tuple[Number, ...] = ()
    """Of the tip at these times, over any level [m]."""
    held_out: bool = False

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if (self.overshoots is None) != (self.settling_time is None):
            raise FieldError("expected overshoots and settling_time together", "overshoots")
        if len(self.times) != len(self.heights):
            raise FieldError(
                f"expected a height for each of {len(self.times)} times, found {len(self.heights)}",
                "heights",
            )
        falls = any(later <= earlier for earlier, later in pairwise(self.times))
        if falls or (self.times and self.times[0] < 0.0):
            raise FieldError("expected ascending times from the release on, found others", "times")
        if self.overshoots is None and not self.times:
            raise FieldError("expected overshoots and settling_time, or a trace", "times")
        return self


class TipForce(Description):
    """How hard the tip presses on a level plate under it."""

    pressure: NonNegative
    """[Pa]"""
    force: Number
    """[N]; one of several repeats, or their mean."""
    held_out: bool = False


class FreeBend(Description):
    """Joint angles at rest under pressure, with nothing in the way."""

    pressure: NonNegative
    """[Pa]"""
    angles: Angles
    """As ``HungAngles.angles`` [rad]."""
    held_out: bool = False


class CalibrationProblem(Description):
    """A finger with its measurements, and how to compare them.

    What is not to be found (lengths, masses) is taken from the finger; its own stiffness, damping
    and pressure gains are where methods start.
    """

    finger: SoftFinger
    hung: tuple[HungAngles, ...] = ()
    releases: tuple[Release, ...] = ()
    forces: tuple[TipForce, ...] = ()
    bends: tuple[FreeBend, ...] = ()
    stiffness_bounds: Range = (0.1, 0.6)
    """[N·m/rad]; this and the next two as in the public repository of paper 000."""
    damping_bounds: Range = (1e-5, 2e-3)
    """[N·m·s/rad]"""
    gain_bounds: Range = (0.0, 1e-6)
    """Of pressure [N·m/Pa]."""
    stiffness_model: StiffnessModel = "per-joint"
    """``per-joint``; or bending stiffness EI of a beam: ``uniform``, or ``smooth`` along it (the
    exponential of a parabola)."""
    damping_model: SharedModel = "per-joint"
    """``uniform`` is one damping for all joints."""
    gain_model: SharedModel = "per-joint"
    """``uniform`` is one gain of pressure for all joints."""
    static_objective: StaticObjective = "angles"
    """``angles`` is eq (4) of paper 000; ``heights`` compares heights of joint points, as its
    repository does."""
    release_objective: ReleaseObjective = "settling"
    """``settling`` is eq (5) of paper 000; ``trace`` compares whole tracked tips."""
    force_objective: ForceObjective = "auto"
    """``absolute`` is eq (7) of paper 000; ``product`` its repository's; ``squares`` of N;
    ``auto`` is what the method makes smallest: squares by least squares, else eq (7)."""
    release_rule: ReleaseRule = "paper000"
    """How overshoots and settling time are read; see ``mechanics.settling``."""
    damping_timestep: NonNegative = 0.0
    """Step h at which damping is meant [s]. ODE, and with it Webots, takes springs implicitly,
    which damps by h·stiffness besides; 0 for damping that is all there is."""
    plate_gap: NonNegative = 0.0
    """Between the plate and the tip at rest without pressure [m]."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        joints = len(self.finger.joints)
        for name in ("hung", "bends"):
            for index, one in enumerate(getattr(self, name)):
                if len(one.angles) > joints:
                    raise FieldError(
                        f"expected at most {joints} angles, one per joint, found {len(one.angles)}",
                        name, index, "angles",
                    )  # fmt: skip
        for name in ("stiffness_bounds", "damping_bounds", "gain_bounds"):
            low, high = getattr(self, name)
            if low >= high:
                raise FieldError(f"expected the lower bound first, found {low:g}, {high:g}", name)
        if self.stiffness_bounds[0] == 0.0:
            raise FieldError("expected a lower bound above 0, found 0", "stiffness_bounds")
        return self


class ExtensionProblem(Description):
    """Base of calibration problems that extensions add; see ``extensions.CALIBRATIONS``."""

    kind: ClassVar[str]
    """Key in ``extensions.CALIBRATIONS``, and name of a required field."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of what is calibrated."""

    @property
    @abstractmethod
    def properties(self) -> dict[str, str | int]:
        """Columns for a list of problems."""


# --------------------
# The release of a soft finger: a weight bends it, is taken away at once, and the finger swings.


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
