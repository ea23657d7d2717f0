"""Calibration of soft fingers: measurements, calibration problems, and release experiments.

A ``CalibrationProblem`` combines a ``SoftFinger`` with static measurements (``HungAngles``,
``FreeBend``, ``TipForce``) and releases (``Release``), and states the objectives of paper 000 that
compare them. A ``FingerRelease`` is the experiment behind the damping: a weight at the tip bends
the finger, is removed suddenly, and the finger oscillates. ``ExtensionProblem`` is the base of
problems that extensions add.
"""

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
AngleZero = Literal["design", "unloaded"]
ReleaseObjective = Literal["settling", "trace"]
ForceObjective = Literal["auto", "absolute", "product", "squares"]
MIN_SAMPLES, MAX_SAMPLES = 50, 1_000_000
"""Smallest and largest number of samples of a release; fewer do not resolve an oscillation."""
LONGEST_RELEASE = 60.0
"""Longest time of a release [s]; simulations last as long."""
ROUNDING = 1e-9
"""Relative rounding error of a whole number of steps [–]."""


# Measurements.
class HungAngles(Description):
    """Joint angles at rest with a weight at the tip of a horizontal finger, clamped at its base."""

    mass: NonNegative
    """Mass of the weight [kg]."""
    angles: Angles
    """Angles of the first joints, as many as were observed, positive towards −z [rad]."""
    time: Positive | None = None
    """Time under load, from which creep is estimated [s]; ``creep_time`` by default."""
    held_out: bool = False
    """Whether it is reserved for validation."""


class Release(Description):
    """Motion of a finger after the weight at its tip is removed suddenly."""

    mass: NonNegative
    """Mass of the weight [kg]."""
    overshoots: Whole | None = None
    """Number of overshoots before it settles."""
    settling_time: Positive | None = None
    """Time until it has settled [s]."""
    times: tuple[Number, ...] = ()
    """Times of a tracked tip since the release [s]."""
    heights: tuple[Number, ...] = ()
    """Heights of the tip at these times, from any reference [m]."""
    held_out: bool = False
    """Whether it only checks the result."""

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
        longest = max(self.settling_time or 0.0, self.times[-1] if self.times else 0.0)
        if longest > LONGEST_RELEASE:
            raise FieldError(
                f"expected at most {LONGEST_RELEASE:g} s, found {longest:g} s; is it in ms or in "
                "frames?",
                "settling_time" if not self.times else "times",
            )
        if self.overshoots is None and not self.times:
            raise FieldError("expected overshoots and settling_time, or a trace", "times")
        return self


class TipForce(Description):
    """Force of the tip on a horizontal plate below it."""

    pressure: NonNegative
    """Pressure [Pa]."""
    force: Number
    """Force [N]; one of several repeats, or their mean."""
    held_out: bool = False
    """Whether it only checks the result."""


class FreeBend(Description):
    """Joint angles of a finger at rest under pressure, without contact."""

    pressure: NonNegative
    """Pressure [Pa]."""
    angles: Angles
    """Like ``HungAngles.angles`` [rad]."""
    held_out: bool = False
    """Whether it only checks the result."""


# Problems.
class MeasurementErrors(Description):
    """Standard errors of measured values; where None, repeated measurements tell, or a default."""

    angle: Positive | None = None
    """Standard error of an angle [rad]."""
    force: Positive | None = None
    """Standard error of a force [N]."""
    settling_time: Positive | None = None
    """Standard error of a settling time [s]."""
    height: Positive | None = None
    """Of joint points and tracked tips [m]."""


class CalibrationProblem(Description):
    """A finger with its measurements, and the objectives that compare them.

    Lengths and masses are those of the finger; its stiffness, damping and pressure gains are the
    start values of the optimisation.
    """

    finger: SoftFinger
    """The finger; in files its name or file."""
    hung: tuple[HungAngles, ...] = ()
    """Angles of the joints under weights."""
    releases: tuple[Release, ...] = ()
    """Vibrations after a weight was released."""
    forces: tuple[TipForce, ...] = ()
    """Forces of the tip on a plate under pressure."""
    bends: tuple[FreeBend, ...] = ()
    """Angles of the joints of the free finger under pressure."""
    stiffness_bounds: Range = (0.1, 0.6)
    """Bounds of the stiffnesses [N·m/rad]; these three are those of the public repository of paper
    000."""
    damping_bounds: Range = (1e-5, 2e-3)
    """Bounds of the dampings [N·m·s/rad]."""
    gain_bounds: Range = (0.0, 1e-6)
    """Bounds of the pressure gains [N·m/Pa]."""
    stiffness_model: StiffnessModel = "per-joint"
    """``per-joint``; or the bending stiffness EI of a beam: ``uniform``, or ``smooth`` (the
    exponential of a parabola along the finger)."""
    damping_model: SharedModel = "per-joint"
    """``uniform``: one damping for all joints."""
    gain_model: SharedModel = "per-joint"
    """``uniform``: one pressure gain for all joints."""
    stiffness_pressure: bool = False
    """Whether the stiffness may depend on the pressure, k·(1 + s·P), and s is estimated from free
    bending, or forces where there is none."""
    creep_time: Positive = 60.0
    """Time under load to which the stiffness refers, where angles have times [s]."""
    zero: AngleZero = "design"
    """Zero of the angles under weights: the straight finger of the description, or ``unloaded``,
    the finger at rest without a weight, whose measured angles were subtracted."""
    static_objective: StaticObjective = "angles"
    """``angles``: eq (4) of paper 000; ``heights``: heights of joint points, as in its
    repository."""
    release_objective: ReleaseObjective = "settling"
    """``settling``: eq (5) of paper 000; ``trace``: whole tracked tips."""
    force_objective: ForceObjective = "auto"
    """``absolute``: eq (7) of paper 000; ``product``: that of its repository; ``squares``: squared
    forces [N²]; ``auto``: squares with least squares, else eq (7)."""
    release_rule: ReleaseRule = "paper000"
    """Rule for overshoots and settling time; see ``continuum.settling``."""
    damping_timestep: NonNegative = 0.0
    """Time step h of the identified damping [s]. ODE, and with it Webots, integrates springs
    implicitly, which adds a damping of h·stiffness; 0 for the total damping."""
    plate_gap: Number = 0.0
    """Distance of the plate from the tip at rest without pressure [m]; negative where the plate
    holds the tip up, as under a level finger."""
    errors: MeasurementErrors = MeasurementErrors()
    """Declared errors of the measurements, by which the fit is assessed."""
    model_error: Annotated[float, Field(strict=True, ge=0.0, le=0.5)] = 0.05
    """Error of the model relative to a measured value, which is added to that of the measurement
    when the fit is assessed [–]: discretisation, hysteresis, elongation."""

    def measurement_error(self, unit: str) -> float | None:
        """Return the declared error of values in rad, N, s or m; None where there is none."""
        fields = {"rad": "angle", "N": "force", "s": "settling_time", "m": "height"}
        error: float | None = getattr(self.errors, fields[unit])
        return error

    @model_validator(mode="after")
    def _fits(self) -> Self:
        joints = len(self.finger.joints)
        for name in ("hung", "bends"):
            for index, item in enumerate(getattr(self, name)):
                if len(item.angles) > joints:
                    raise FieldError(
                        f"expected at most {joints} angles, one per joint, "
                        f"found {len(item.angles)}",
                        *(name, index, "angles"),
                    )
        for name in ("stiffness_bounds", "damping_bounds", "gain_bounds"):
            low, high = getattr(self, name)
            if low >= high:
                raise FieldError(f"expected the lower bound first, found {low:g}, {high:g}", name)
        if self.zero == "unloaded" and self.static_objective == "heights":
            raise FieldError("expected static_objective: angles for zero: unloaded, found heights",
                             "static_objective")  # fmt: skip
        if self.zero == "unloaded" and any(reading.mass == 0.0 for reading in self.hung):
            raise FieldError("expected weights above 0 for zero: unloaded, found 0 g", "hung")
        if self.stiffness_pressure and not (self.bends or self.forces):
            raise FieldError("expected bends or forces to estimate it from, found none",
                             "stiffness_pressure")  # fmt: skip
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
        """Name of the calibrated object."""

    @property
    @abstractmethod
    def properties(self) -> dict[str, str | int]:
        """Columns for a list of problems."""


# The release experiment.
class FingerRelease(Description):
    """Release of a finger, clamped horizontally at its base, that a weight at its tip bends."""

    name: str = ""
    finger: SoftFinger
    """A finger that bends in its plane only."""
    tip_mass: Positive
    """Mass of the weight [kg]."""
    webots_timestep: Positive | None = None
    """Basic time step h of Webots at which the finger's dampers c were identified [s]; its total
    damping is then c + h·k (``continuum.settling.from_webots``). None: the dampers are the total
    damping."""
    timestep: Annotated[float, Field(strict=True, ge=1e-7, le=0.1)] = 1e-3
    """Physics step [s]."""
    duration: Positive = 1.0
    """Duration of the recording [s]."""
    sample_period: Positive = 1e-3
    """Time between two samples [s]; a whole number of time steps."""
    source: str = ""
    """Source of the numbers."""

    @property
    def samples(self) -> int:
        """Number of samples, the start included."""
        return round(self.duration / self.sample_period) + 1

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (axes := {axis for _, axis in self.finger.freedoms}) != {"y"}:
            listed = ", ".join(sorted(axes))
            message = f"a finger that only bends in its plane, found one with freedoms {listed}"
            raise FieldError(f"expected {message}", "finger")
        steps = self.sample_period / self.timestep
        if round(steps) < 1 or abs(steps - round(steps)) > ROUNDING * steps:
            raise FieldError(
                f"expected a whole number of time steps of {self.timestep:g} s, found "
                f"{self.sample_period:g} s",
                "sample_period",
            )
        if not MIN_SAMPLES <= self.duration / self.sample_period <= MAX_SAMPLES:
            raise FieldError(
                f"expected {MIN_SAMPLES} to {MAX_SAMPLES} samples of {self.sample_period:g} s, "
                f"found {self.duration:g} s",
                "duration",
            )
        return self
