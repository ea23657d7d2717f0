"""Base of all closures: how a hand closes, and how that changes its actuation.

``Closure`` is the base class of the closures in ``closure.py``. It turns a hand and one of its
grasps into a ``ClosingMotion`` (start, rate and limits of each actuator) and an ``ActuationModel``
(which joints keep their servos, and which motors, tendons and sliders act on the others). The
controllers in ``softgrasp.sim`` and the model builder use nothing else of a closure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from softgrasp.description.actuation import Actuator, Rates
from softgrasp.description.base import Count, Description, FieldError, NonNegative, Number
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.hand import GraspPreset, Hand

# What a closure returns.

Limits = tuple[float, float]
"""Lowest and highest value."""


class ClosingMotion(NamedTuple):
    """Motion of the actuators of a hand that closes without contact."""

    start: tuple[float, ...]
    """Start targets [rad, m or Pa]."""
    rates: tuple[float, ...]
    """Rates [rad/s, m/s or Pa/s]; zero for an actuator that does not move."""
    limits: tuple[Limits, ...]
    """Limits of the targets [rad, m or Pa]."""

    @property
    def time(self) -> float:
        """Time that the slowest actuator takes from its start to its limit [s]."""
        return max(self._times, default=0.0)

    @property
    def shortest_time(self) -> float:
        """Shortest time of an actuator from its start to its limit [s]; 1 where none moves."""
        return min((time for time in self._times if time > 0.0), default=1.0)

    @property
    def _times(self) -> list[float]:
        return [
            ((high if rate > 0 else low) - start) / rate
            for (low, high), start, rate in zip(self.limits, self.start, self.rates, strict=True)
            if rate != 0.0
        ]


class Slider(NamedTuple):
    """A coordinate besides the joints of the hand, such as the weight of a compliant synergy."""

    name: str
    inertia: float
    """Inertia in the unit of its coordinate: N·m·s² for one that moves joints in radians."""


class ClosureActuator(NamedTuple):
    """An actuator that a closure adds to the servos of a hand's joints.

    It acts on the length Σ arm · joint variable: a servo pulls with ``stiffness`` · (target +
    ``zero`` − length), a motor with its target.
    """

    actuator: Actuator
    rate: float
    """Rate at which its target grows [unit/s]."""
    arms: tuple[tuple[str, float], ...]
    """Joints or sliders and their coefficients in the length: pulley radii of a tendon [m]."""
    force_limits: Limits
    """Lowest and highest pull [N or N·m]."""
    stiffness: float = 0.0
    """Stiffness of a servo [N/m or N·m/rad]; zero for a motor."""
    damping_ratio: float = 1.0
    """Damping ratio of a servo with the inertia that it moves [–]."""
    zero: float = 0.0
    """Length at which the target of a servo is zero."""


class ActuationModel(NamedTuple):
    """The hand and the actuators with which a closure moves it."""

    hand: Hand
    """The hand; joints that the closure moves by other means are not driven in it."""
    actuators: tuple[ClosureActuator, ...] = ()
    """Actuators that the closure adds."""
    sliders: tuple[Slider, ...] = ()


# The base class.
class Closure(Description):
    """Base of closures: which actuators close the hand, how fast, and what stops them.

    With every closure the pressure of soft fingers continues to grow through contact, because it
    provides the grip force.
    """

    rates_are_of_joints: ClassVar[bool] = True
    """Whether ``rates`` are those of the hand's actuators."""
    rates: Rates | None = None
    """Closing rates of what the closure moves; those of the hand's grasp by default."""
    pressure: Number | None = None
    """Final pressure of soft fingers [Pa]; that of the hand's grasp by default."""
    clamp_pressure: bool = False
    """Clamp ``pressure`` to the limits of each soft finger, with a warning, instead of refusing
    it."""
    samples: Count = 10
    """Consecutive control samples above the threshold that establish contact."""
    threshold: NonNegative = 0.1
    """Normal force above which a sample counts [N]."""
    sense: Literal["force", "sensor"] = "force"
    """Signal that is compared with the threshold: the true normal force of each body on the object,
    or the sum of the taxels of its tactile sensor, with noise. A body without a tactile sensor then
    detects nothing, and its joint moves to its limit unless a later phalanx stops it."""
    active: tuple[bool, ...] | None = None
    """Whether each actuator of the hand moves; all by default."""
    ends: tuple[Number | None, ...] | None = None
    """Target at which each actuator of the hand stops, in the direction in which it closes [rad, m
    or Pa]; None for its limit, as all by default."""
    settle_time: NonNegative = 0.2
    """Time without moving targets after which a run without ``duration`` ends [s]."""
    stays_on: bool = False
    """Whether the controller continues after the closure, in hold tests, lifts and later phases of
    a sequence: joints whose contact is lost close further, which adds to the grip. By default all
    targets of the hand keep their values of the end of the closure."""

    @property
    def name(self) -> str:
        """Name of the closure: its ``type``."""
        return str(type(self).model_fields["type"].default)

    @property
    def concrete(self) -> Closure:
        """This closure, with a concrete type where it leaves the type open."""
        return self

    @property
    def can_be_prescribed(self) -> bool:
        """Return whether the closure works with joints that follow their targets exactly."""
        return True

    @property
    def stop_force(self) -> float | None:
        """Normal force [N] at which actuators stop; None where contact itself stops them."""
        return None

    def grip_limit(self, hand: Hand) -> float | None:
        """Return the force per finger that stopped servos may press with [N]; None for no limit."""
        return None

    @property
    def torque_limit(self) -> float | None:
        """Torque or force of servos at which actuators stop [N·m or N]; None where none does."""
        return None

    @property
    def contact_rate_scale(self) -> float:
        """Fraction of their closing rates at which actuators continue in contact [–]."""
        return 1.0

    def closing_motion(self, hand: Hand, preset: GraspPreset) -> ClosingMotion:
        """Return the motion of the hand's actuators without contact."""
        specified_rates = self.rates if self.rates_are_of_joints else None
        start = preset.start or tuple(actuator.start for actuator in hand.actuators)
        rates = (specified_rates or preset.rates).for_fingers(hand.actuator_counts)
        limits = tuple(actuator.limits for actuator in self.actuators(hand, preset))
        if self.ends is not None:
            limits = tuple(map(_ending_at, limits, start, rates, self.ends))
        return ClosingMotion(start, self.acting(rates), limits)

    def mechanism(self, hand: Hand, preset: GraspPreset) -> ActuationModel:
        """Return the actuation model of a hand; by default each actuator keeps its servo."""
        return ActuationModel(hand)

    def actuators(self, hand: Hand, preset: GraspPreset) -> tuple[Actuator, ...]:
        """Return the actuators of a hand, with the final pressure as upper limit of pressures."""
        limit = preset.pressure if self.pressure is None else self.pressure
        return tuple(
            actuator if actuator.unit != "Pa" else _up_to(actuator, limit)
            for actuator in hand.actuators
        )

    def acting(self, rates: tuple[float, ...]) -> tuple[float, ...]:
        """Set the rates of actuators to zero that the closure does not move."""
        active = self.active or (True,) * len(rates)
        return tuple(rate if on else 0.0 for rate, on in zip(rates, active, strict=True))

    def settling(self, hand: Hand, preset: GraspPreset) -> float:
        """Return the time that the hand needs to settle at constant targets [s]."""
        return self.settle_time

    def extra_time(self, hand: Hand, preset: GraspPreset) -> float:
        """Return the additional time after the motion of the slowest actuator [s]."""
        return self.settling(hand, preset) - self.settle_time

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse a hand that cannot close in this mode.

        Raises:
            FieldError: Its path is relative to the closure.
        """
        actuators, word = sum(hand.actuator_counts), hand.actuator_word
        if self.rates_are_of_joints:
            self.check_rates(hand)
        if self.ends is not None and not self.rates_are_of_joints:
            raise FieldError(
                f"expected none with closure '{self.name}', which does not move joints by their "
                "servos, found some",
                "ends",
            )
        for name in ("active", "ends"):
            count = actuators if (values := getattr(self, name)) is None else len(values)
            if count != actuators:
                raise FieldError(
                    f"expected {actuators} values, one per {word}, found {count}", name
                )

    def check_rates(self, hand: Hand) -> None:
        """Refuse a number of rates that fits neither the hand nor one finger.

        Raises:
            FieldError: For the field ``rates``.
        """
        if self.rates is not None:
            try:
                self.rates.for_fingers(hand.actuator_counts, hand.actuator_word)
            except ValueError as error:
                raise FieldError(str(error), "rates") from None

    def require_joints(self, hand: Hand) -> None:
        """Refuse a hand without driven joints.

        Raises:
            FieldError: For the field ``type``.
        """
        if not any(row.driven for row in hand.joints):
            raise FieldError(
                f"expected a hand with joints that are driven for closure '{self.name}', "
                f"found '{hand.name}' without",
                "type",
            )


def _ending_at(limits: Limits, start: float, rate: float, end: float | None) -> Limits:
    """Return the limits of an actuator that closes from a start no further than to an end."""
    low, high = limits
    if end is None or not rate:
        return limits
    end = min(max(end, low), high)
    return (low, max(end, start)) if rate > 0.0 else (min(end, start), high)


def _up_to(actuator: Actuator, limit: float | None) -> Actuator:
    """Limit a pressure to the target pressure [Pa]."""
    low, high = actuator.limits
    return actuator._replace(limits=(low, high if limit is None else min(max(limit, low), high)))


# Helpers of the closures.
def count_fits(values: tuple[Any, ...] | None, count: int, what: str, field: str) -> None:
    """Refuse a list that is neither None nor has one value or one per item.

    Raises:
        FieldError: Names the accepted numbers of values.
    """
    if values is not None and len(values) not in (1, count):
        expected = f"1 or {count} values" if count > 1 else "1 value"
        raise FieldError(f"expected {expected}, one per {what}, found {len(values)}", field)


def spread(values: tuple[float, ...], count: int) -> tuple[float, ...]:
    """Repeat a single value for each item."""
    return values * count if len(values) == 1 else values


def without_servos(hand: Hand, joints: dict[str, dict[str, float]]) -> Hand:
    """Return a hand whose named joints have no servos, and changed fields of their rows.

    Its grasps, preshapes, tendons and synergies are removed, because they count the actuators.
    """
    passive = {name: {"driven": False} | fields for name, fields in joints.items()}
    fingers = with_rows(hand, passive)
    still = hand.grasps.power.replace(rates=(0.0,), start=None)
    grasps = hand.grasps.replace(power=still, precision=still)
    return hand.replace(fingers=fingers, grasps=grasps, tendons=(), synergies=None, preshapes=())


def with_rows(hand: Hand, joints: Mapping[str, Mapping[str, Any]]) -> tuple[Finger, ...]:
    """Return the fingers of a hand with fields of the phalanges of some joints changed."""

    def changed(finger: Finger, row: Phalanx) -> Phalanx:
        fields = joints.get(finger.joint_of(row))
        return row if fields is None else row.replace(**fields)

    return tuple(
        finger.replace(phalanges=tuple(changed(finger, row) for row in finger.phalanges))
        for finger in hand.fingers
    )
