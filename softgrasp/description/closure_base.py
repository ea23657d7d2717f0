"""What all closures have in common, and what the rest of the package asks them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from softgrasp.description.actuation import Actuator, Rates
from softgrasp.description.base import Count, Description, FieldError, NonNegative, Number
from softgrasp.description.hand import GraspPreset, Hand


class Closure(Description):
    """How a hand closes: what moves it, how fast, and what stops it.

    The pressure of a soft finger grows through contact with every closure: it is what grips.
    """

    rates: Rates | None = None
    """Closing rates of what the closure moves; chosen from the hand's grasp where not given."""
    pressure: Number | None = None
    """Where the pressure of soft fingers stops growing [Pa]; where the hand's grasp says."""
    clamp_pressure: bool = False
    """Stop at a soft finger's limit, with a warning, where ``pressure`` lies outside."""
    samples: Count = 10
    """Consecutive control samples above the threshold that establish contact."""
    threshold: NonNegative = 0.1
    """Normal force above which a sample counts [N]."""
    sense: Literal["force", "sensor"] = "force"
    """What is compared with the threshold: the true normal force of each body on the object, or the
    sum of the taxels of its tactile sensors, noise included. A body without one then feels nothing,
    and its joint goes on to its limit unless a later phalanx stops it."""
    active: tuple[bool, ...] | None = None
    """Which drives of the hand move, one a drive; all where it is not given."""
    settle_time: NonNegative = 0.2
    """A run without a given duration ends after this long without moving targets [s]."""

    @property
    def name(self) -> str:
        """Its ``type``."""
        return str(type(self).model_fields["type"].default)

    @classmethod
    def rates_are_of_joints(cls) -> bool:
        """Whether ``rates`` are those of the hand's own drives."""
        return True

    @property
    def can_be_prescribed(self) -> bool:
        """Whether joints that obey their targets whatever the load can close so."""
        return True

    @property
    def grip_force(self) -> float | None:
        """Normal force [N] at which drives stop; None where contact itself stops them."""
        return None

    @property
    def stops_at_torque(self) -> bool:
        """Whether drives stop where their servos have reached their limits."""
        return False

    @property
    def contact_rate_scale(self) -> float:
        """Share of their rates at which drives go on in contact [–]."""
        return 1.0

    def closing_motion(self, hand: Hand, preset: GraspPreset) -> ClosingMotion:
        """How the hand's own drives go where nothing is touched.

        Args:
            hand: The hand.
            preset: Of the grasp.
        """
        specified_rates = self.rates if self.rates_are_of_joints() else None
        start = preset.start or tuple(actuator.start for actuator in hand.actuators)
        rates = (specified_rates or preset.rates).for_fingers(hand.rows)
        limits = tuple(actuator.limits for actuator in self.actuators(hand, preset))
        return ClosingMotion(start, self.acting(rates), limits)

    def mechanism(self, hand: Hand, preset: GraspPreset) -> ActuationModel:
        """What it makes of a hand; by default each drive keeps its servo.

        Args:
            hand: The hand.
            preset: Of the grasp.
        """
        return ActuationModel(hand)

    def actuators(self, hand: Hand, preset: GraspPreset) -> tuple[Actuator, ...]:
        """The drives of a hand, the pressures of its soft fingers limited as wanted."""
        limit = preset.pressure if self.pressure is None else self.pressure
        return tuple(
            actuator if actuator.unit != "Pa" else _up_to(actuator, limit)
            for actuator in hand.actuators
        )

    def acting(self, rates: tuple[float, ...]) -> tuple[float, ...]:
        """Rates of a hand's drives, zero where one is not active."""
        active = self.active or (True,) * len(rates)
        return tuple(rate if on else 0.0 for rate, on in zip(rates, active, strict=True))

    def settling(self, hand: Hand, preset: GraspPreset) -> float:
        """Time without moving targets after which the hand has settled [s]."""
        return self.settle_time

    def extra_time(self, hand: Hand, preset: GraspPreset) -> float:
        """Time that a closure may take beyond that of its slowest drive to its limit [s]."""
        return self.settling(hand, preset) - self.settle_time

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse a hand that cannot close so.

        Raises:
            FieldError: Counted from the closure.
        """
        actuators, word = sum(hand.rows), hand.actuator_word
        if self.rates_are_of_joints():
            self.check_rates(hand)
        if self.active is not None and len(self.active) != actuators:
            raise FieldError(
                f"expected {actuators} values, one a {word}, found {len(self.active)}", "active"
            )

    def check_rates(self, hand: Hand) -> None:
        """Refuse rates that are as many as neither a hand's drives nor a finger's.

        Raises:
            FieldError: For the field ``rates``.
        """
        if self.rates is not None:
            try:
                self.rates.for_fingers(hand.rows, hand.actuator_word)
            except ValueError as error:
                raise FieldError(str(error), "rates") from None

    def require_joints(self, hand: Hand) -> None:
        """Refuse a hand without any joint that a drive moves.

        Raises:
            FieldError: For the field ``type``.
        """
        if not any(row.driven for row in hand.joints):
            raise FieldError(
                f"expected a hand with joints that are driven for closure '{self.name}', "
                f"found '{hand.name}' without",
                "type",
            )


def count_fits(values: tuple[Any, ...] | None, count: int, what: str, field: str) -> None:
    """Refuse a list that has neither one value nor one a thing.

    Args:
        values: The list; None is always right.
        count: Of the things.
        what: What one of them is called.
        field: That holds the list.

    Raises:
        FieldError: Says how many there should be.
    """
    if values is not None and len(values) not in (1, count):
        expected = f"1 or {count} values" if count > 1 else "1 value"
        raise FieldError(f"expected {expected}, one a {what}, found {len(values)}", field)


def spread(values: tuple[float, ...], count: int) -> tuple[float, ...]:
    """One value for all as one for each."""
    return values * count if len(values) == 1 else values


def _up_to(actuator: Actuator, limit: float | None) -> Actuator:
    """A pressure that stops growing at the wanted one [Pa]."""
    low, high = actuator.limits
    return actuator._replace(limits=(low, high if limit is None else min(max(limit, low), high)))


# --------------------
# What a closure makes of a hand: which joints keep their servos, and what moves the others.


Limits = tuple[float, float]


class Slider(NamedTuple):
    """A coordinate that is no joint of the hand, such as a compliant synergy."""

    name: str
    inertia: float
    """In the unit of its coordinate: N·m·s² for one that turns joints by radians."""


class ClosureActuator(NamedTuple):
    """One actuator that a closure puts on a hand beside the servos of its joints.

    It acts on the length Σ arm · joint variable: as a servo it pulls with ``stiffness`` ·
    (target + ``zero`` − length), as a motor with its target.
    """

    actuator: Actuator
    rate: float
    """At which its target grows [unit/s]."""
    arms: tuple[tuple[str, float], ...]
    """Joints or sliders, and how much of each is in the length: pulley radii of a tendon [m]."""
    force_limits: Limits
    """Least and greatest pull [N or N·m]."""
    stiffness: float = 0.0
    """Of a servo [N/m or N·m/rad]; a motor where it is zero."""
    damping_ratio: float = 1.0
    """Of a servo with the inertia that it moves [–]."""
    zero: float = 0.0
    """Length at which a servo's target counts as zero."""


class ActuationModel(NamedTuple):
    """A hand as one closure moves it."""

    hand: Hand
    """The hand; joints that the closure moves otherwise are not driven in it."""
    actuators: tuple[ClosureActuator, ...] = ()
    """What moves them instead, in the order of their drives."""
    sliders: tuple[Slider, ...] = ()


class ClosingMotion(NamedTuple):
    """How a hand closes where nothing is in its way, drive by drive of the hand."""

    start: tuple[float, ...]
    """[rad, m or Pa]"""
    rates: tuple[float, ...]
    """Zero where a drive stands still [rad/s, m/s or Pa/s]."""
    limits: tuple[Limits, ...]
    """[rad, m or Pa]"""

    @property
    def time(self) -> float:
        """Time that the slowest drive takes from its start to its limit [s]."""
        return max(self._times, default=0.0)

    @property
    def shortest_time(self) -> float:
        """Time that the first drive takes from its start to its limit [s]; 1 where none moves."""
        return min((time for time in self._times if time > 0.0), default=1.0)

    @property
    def _times(self) -> list[float]:
        return [
            ((high if rate > 0 else low) - start) / rate
            for (low, high), start, rate in zip(self.limits, self.start, self.rates, strict=True)
            if rate != 0.0
        ]


def without_servos(hand: Hand, joints: dict[str, dict[str, float]]) -> Hand:
    """A hand whose named joints have no drive of their own any more.

    Its grasps, preshapes, tendons and synergies, which count the drives, are of no use any more.

    Args:
        hand: The hand.
        joints: Names of joints, and fields of their rows that change with them.
    """
    fingers = tuple(
        finger.replace(
            phalanges=tuple(
                row.replace(driven=False, **joints[finger.joint_of(row)])
                if finger.joint_of(row) in joints
                else row
                for row in finger.phalanges
            )
        )
        for finger in hand.fingers
    )
    still = hand.grasps.power.replace(rates=(0.0,), start=None)
    grasps = hand.grasps.replace(power=still, precision=still)
    return hand.replace(fingers=fingers, grasps=grasps, tendons=(), synergies=None, preshapes=())
