"""Closures: the six control laws by which a hand closes around an object.

``position-increment`` (paper 004, §2.2.3.2), ``synergy-increment`` (Malvezzi et al. 2015; soft
synergies after Bicchi et al. 2011), ``force-limited``, ``underactuated`` (Birglen, Laliberté and
Gosselin 2008), ``joint-torque`` (the alternative that paper 004 names) and ``pressure`` (paper
000). ``CLOSURES`` lists them by ``type``; ``AnyClosure`` is the field of a scene that holds one.
What they have in common is in ``closure_base.py``.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from softgrasp.description.actuation import Actuator, Pulley, Rates, Synergies, Tendon
from softgrasp.description.base import Accepts, FieldError, Number, Positive
from softgrasp.description.closure_base import (
    ActuationModel,
    ClosingMotion,
    Closure,
    ClosureActuator,
    Slider,
    count_fits,
    spread,
    with_rows,
    without_servos,
)
from softgrasp.description.finger import Phalanx
from softgrasp.description.hand import GraspPreset, Hand

# Position increments and pressures.


class PositionIncrementClosure(Closure):
    """Position increments with debounced contact detection.

    At every control sample the target of each active joint grows by its rate times the control
    period, unless its phalanx or a later one of its finger is in contact; it continues when contact
    is lost. Contact is established at the sample at which the last ``samples`` normal forces, the
    current one included, are all above ``threshold``; it is lost at the first one below.

    With a grip force a servo whose contact has stopped it keeps at most the torque of that force at
    the end of its outermost phalanx in contact: its target is moved back towards the joint.
    """

    type: Literal["position-increment"] = "position-increment"
    grip_force: Positive | Literal["hand"] | None = "hand"
    """Force per finger that limits the torques of stopped servos until the hand has closed [N];
    that of the hand (``Hand.grip_force``) by default, null for no limit."""

    def grip_limit(self, hand: Hand) -> float | None:
        """Return the grip force [N]: that of the closure or of the hand; None without limit."""
        return hand.grip_force if self.grip_force == "hand" else self.grip_force


class DefaultClosure(PositionIncrementClosure):
    """By position increments, unless the servos of the hand are too weak for the object.

    Then it is force-limited, with the fields that are specified here. A ``grip_force`` decides for
    position increments.
    """

    type: Literal["default"] = "default"  # type: ignore[assignment]

    @property
    def name(self) -> str:
        """Name of what it is for most hands."""
        return "position-increment"

    @property
    def concrete(self) -> PositionIncrementClosure:
        """The closure by position increments with the same fields."""
        return PositionIncrementClosure(**{name: value for name, value in self if name != "type"})

    @property
    def specified(self) -> dict[str, Any]:
        """The fields that differ from their defaults, by their names."""
        fields = type(self).model_fields
        return {name: value for name, value in self if value != fields[name].default}


class PressureClosure(Closure):
    """Each pressure grows at its rate to its end: of soft fingers (paper 000), cups and pads.

    Rigid fingers of the same hand close by position increments.
    """

    type: Literal["pressure"] = "pressure"

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse a hand without soft fingers, suction cups and adhesive pads."""
        super().check(hand, preset)
        if not hand.soft_fingers and not hand.adhesions:
            raise FieldError(f"expected a hand with soft fingers, found '{hand.name}' without")


# Position increments that continue through contact.

DEFAULT_GRIP_FORCE = 5.0
"""Grip force where neither a force nor a torque is specified [N]."""
GRIP_TIME_FACTOR = 8.0
"""Time allowed for reaching the grip force, over the time of the free closing motion [–]."""


class ForceLimitedClosure(Closure):
    """Each joint continues through contact until a grip force or a torque is reached.

    With ``force`` a joint closes at its rate, slower before its finger touches, until contact is
    established on its phalanx or on a later one of its finger; until then, short contacts reduce
    the lag of its servo to what most of that force needs. It then moves at
    ``contact_rate_fraction`` of its rate, while no finger is about to touch, unless no force is
    measured for ten times ``samples``. It stops where ``samples`` consecutive normal forces, on its
    phalanx or on a later one, are above the force, and continues below nine tenths of it. Where a
    phalanx presses with more, because others press the object against it, the targets of its finger
    move back, in the end those of all fingers: the force is a limit.

    With ``torque`` a joint stops where ``samples`` consecutive torques of its servo are at the
    limit, and continues at the first one below; the servo never exceeds it.
    """

    type: Literal["force-limited"] = "force-limited"
    force: Positive | None = None
    """Normal force on a phalanx [N]; 5 N where neither it nor ``torque`` is specified."""
    torque: Positive | None = None
    """Torque limit of the joints' servos [N·m or N]; a lower limit of the joint itself prevails."""
    contact_rate_fraction: Annotated[float, Field(gt=0, le=1, strict=True)] = 0.05
    """Fraction of its rate at which a joint continues in contact, with ``force`` [–]."""

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if self.force is not None and self.torque is not None:
            raise ValueError("expected exactly one of force and torque, found both")
        if self.stop_force is not None and self.stop_force <= self.threshold:
            raise ValueError(
                f"expected a force above the contact threshold ({self.threshold:g} N), "
                f"found {self.stop_force:g} N"
            )
        return self

    @property
    def can_be_prescribed(self) -> bool:
        """Return False: joints that follow their targets exactly have no force to limit."""
        return False

    @property
    def stop_force(self) -> float | None:
        """Normal force [N] at which joints stop; None where their torques are limited."""
        if self.torque is not None:
            return None
        return self.force or DEFAULT_GRIP_FORCE

    @property
    def torque_limit(self) -> float | None:
        """Torque at which joints stop instead of at a contact force [N·m or N]; None without."""
        return self.torque

    @property
    def contact_rate_scale(self) -> float:
        """Fraction of their closing rates at which joints continue in contact [–]."""
        return 1.0 if self.torque is not None else self.contact_rate_fraction

    def actuators(self, hand: Hand, preset: GraspPreset) -> tuple[Actuator, ...]:
        """Return the actuators; contact stops none of them where torques are limited."""
        actuators = super().actuators(hand, preset)
        if self.torque is None:
            return actuators
        return tuple(actuator._replace(stops=()) for actuator in actuators)

    def mechanism(self, hand: Hand, preset: GraspPreset) -> ActuationModel:
        """Return the hand, with lower force limits of its servos where a torque is specified."""
        torque = self.torque
        if torque is None:
            return ActuationModel(hand)
        limits = {
            name: {"force_limit": min(torque, row.force_limit)}
            for name, row in hand.rows_by_joint.items()
        }
        return ActuationModel(hand.replace(fingers=with_rows(hand, limits)))

    def extra_time(self, hand: Hand, preset: GraspPreset) -> float:
        """Return the time for the slow motion in contact [s]."""
        if self.torque is not None:
            return 0.0
        return GRIP_TIME_FACTOR * self.closing_motion(hand, preset).time

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse a hand without joints."""
        super().check(hand, preset)
        self.require_joints(hand)


# Joint torques.

RAMP_TIME = 0.5
"""Time in which torques grow to their limits where no rate is specified [s]."""
TORQUE_TIME_FACTOR = 2.0
"""Time that joints under full torque may take, over the shortest time in which a joint of the free
hand reaches its limit [–]."""


class JointTorqueClosure(Closure):
    """The torque of each joint grows at its rate up to its limit, regardless of contact.

    Joints are damped so that a free joint under full torque moves at the speed of the hand's grasp.
    Contact does not stop a joint: at rest its contacts balance its torque. Joints that do not move
    in the grasp keep their servos.
    """

    type: Literal["joint-torque"] = "joint-torque"
    rates_are_of_joints: ClassVar[bool] = False
    rates: Rates | None = None
    """Rates of the torques: one for all, one per link of a finger or one per joint [N·m/s or N/s];
    by default all reach their limits after 0.5 s. Their signs are those of the grasp."""
    torque: Positive | None = None
    """Largest torque or force of a joint [N·m or N]; a lower limit of the joint itself prevails."""
    torque_fraction: Annotated[float, Field(gt=0, le=1, strict=True)] = 0.25
    """Fraction of its limit that the fastest joint of a finger has where no ``torque`` is
    specified; slower joints have less in proportion, so that a pinch remains a pinch [–]."""

    @property
    def can_be_prescribed(self) -> bool:
        """Return False: torques are no targets that joints could follow."""
        return False

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse a hand without joints, and a wrong number of rates."""
        super().check(hand, preset)
        self.require_joints(hand)
        self.check_rates(hand)

    def mechanism(self, hand: Hand, preset: GraspPreset) -> ActuationModel:
        """Return the hand with damped joints instead of servos, and a motor in each."""
        motion = self.closing_motion(hand, preset)
        ramps = None if self.rates is None else self.rates.for_fingers(hand.actuator_counts)
        fastest = _fastest(hand, motion.rates)
        joints: dict[str, dict[str, float]] = {}
        motors = []
        for index, (actuator, row) in enumerate(hand.driven_joints):
            speed = motion.rates[index]
            if not speed:
                continue
            limit = self.torque_fraction * row.force_limit * (abs(speed) / fastest[actuator.name])
            if self.torque is not None:
                limit = min(self.torque, row.force_limit)
            ramp = abs(ramps[index]) if ramps is not None else limit / RAMP_TIME
            joints[actuator.name] = {"damping": max(row.damping, limit / abs(speed))}
            motors.append(_motor(actuator, limit, ramp if speed > 0 else -ramp))
        return ActuationModel(without_servos(hand, joints), tuple(motors))

    def settling(self, hand: Hand, preset: GraspPreset) -> float:
        """Return the settling time and the closing time of joints at their torque limits [s]."""
        shortest = self.closing_motion(hand, preset).shortest_time
        return self.settle_time + TORQUE_TIME_FACTOR * shortest


def _fastest(hand: Hand, rates: tuple[float, ...]) -> dict[str, float]:
    """Return the largest rate of each joint's finger, by joint name."""
    driven = zip(hand.driven_joints, rates, strict=False)
    speed = {actuator.name: abs(rate) for (actuator, _), rate in driven}
    speeds: dict[str, float] = {}
    for finger in hand.fingers:
        names = [finger.joint_of(row) for row in finger.phalanges if row.driven]
        speeds |= dict.fromkeys(names, max((speed[name] for name in names), default=0.0))
    return speeds


def _motor(actuator: Actuator, limit: float, ramp: float) -> ClosureActuator:
    """Make the motor of a joint, whose torque grows from zero."""
    ends = (0.0, limit) if ramp > 0 else (-limit, 0.0)
    unit = "N·m" if actuator.unit == "rad" else "N"
    motor = Actuator(f"{actuator.name}_torque", f"torque of '{actuator.name}'", unit, ends, 0.0)
    return ClosureActuator(motor, ramp, ((actuator.name, 1.0),), (-limit, limit))


# Tendons against joint springs.

RELAXATION = 0.3
"""Time constant of a joint against its spring [s]; it avoids oscillations during closing."""
MIN_RATE_FRACTION = 0.05
"""Lowest rate, over that of the tendon's fastest joint, of a joint that does not move in the
grasp."""


class TendonJoint(NamedTuple):
    """A joint that a tendon closes against its spring."""

    row: Phalanx
    start: float
    radius: float
    """Pulley radius [m]."""
    travel: float
    """Unsigned motion until the first joint of the tendon reaches its limit [rad or m]."""
    max_travel: float
    """Unsigned motion to its own limit [rad or m]."""


class UnderactuatedClosure(Closure):
    """Tendons, one per finger or one for all, close joints that have springs instead of servos.

    Contact does not stop a tendon: its other joints continue (Birglen, Laliberté & Gosselin 2008).
    At rest the contacts of every joint balance radius · tension − stiffness · (angle − rest).

    The ``tendons`` of the hand are used. A hand without tendons gets one per finger, with pulley
    radii in proportion to the strength and rate of its joints, and springs with which the free hand
    closes as in its grasp.
    """

    type: Literal["underactuated"] = "underactuated"
    rates_are_of_joints: ClassVar[bool] = False
    rates: Rates | None = None
    """Rates of the tendons, one per tendon or one for all [m/s or N/s]; from the grasp by
    default."""
    control_mode: Literal["excursion", "tension"] = "excursion"
    """``excursion``: the pulled length of the tendon grows, up to the highest tension; ``tension``:
    its tension grows."""
    differential: bool = False
    """One tendon over the joints of all fingers, instead of one per finger."""
    tension: Positive | None = None
    """Highest tension [N]; that of the tendons by default."""
    pulley_radius: Positive = 0.01
    """Radius of the largest pulley in each finger of a hand without tendons [m]."""
    tendon_stiffness: Positive = 2e4
    """Stiffness of the tendons of a hand without tendons [N/m]."""
    tension_fraction: Annotated[float, Field(gt=0, le=1, strict=True)] = 0.25
    """Highest tension over the tension at the torque limits of the joints, for a hand without
    tendons [–]."""
    spring_fraction: Annotated[float, Field(gt=0, lt=1, strict=True)] = 0.2
    """Fraction of the highest tension that closes the free hand, for joints without springs [–]."""

    @property
    def can_be_prescribed(self) -> bool:
        """Return False: tendon-driven joints have no targets to follow."""
        return False

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse a hand without joints that a tendon could close."""
        super().check(hand, preset)
        if not hand.tendons:
            self.require_joints(hand)
        count_fits(self.rates, len(self.tendons_of(hand, preset)), "tendon", "rates")

    def tendons_of(self, hand: Hand, preset: GraspPreset) -> tuple[Tendon, ...]:
        """Return the tendons of the hand, or default ones, of joints that move in its grasp."""
        tendons = hand.tendons or self._made(hand, preset)
        if self.differential and len(tendons) > 1:
            tendons = (_join(tendons),)
        if self.tension is None:
            return tendons
        return tuple(tendon.replace(tension_limit=self.tension) for tendon in tendons)

    def mechanism(self, hand: Hand, preset: GraspPreset) -> ActuationModel:
        """Return the hand with springs in the joints of its tendons, and the tendons' actuators."""
        tendons = self.tendons_of(hand, preset)
        joints: dict[str, dict[str, float]] = {}
        actuators = []
        rates = spread(tuple(self.rates), len(tendons)) if self.rates else (None,) * len(tendons)
        for tendon, rate in zip(tendons, rates, strict=True):
            elastic = self._elastic(hand, preset, tendon)
            joints |= {name: self._spring(tendon, item) for name, item in elastic.items()}
            time = self._joints(hand, preset).shortest_time
            actuators.append(self._pulled(tendon, elastic, time, rate))
        return ActuationModel(without_servos(hand, joints), tuple(actuators))

    def settling(self, hand: Hand, preset: GraspPreset) -> float:
        """Return the settling time and the closing time of joints at the tension limit [s]."""
        if self.control_mode == "excursion":
            return self.settle_time
        return self.settle_time + RELAXATION + self._joints(hand, preset).shortest_time

    def _made(self, hand: Hand, preset: GraspPreset) -> tuple[Tendon, ...]:
        """Make a tendon for each finger that has joints that close."""
        motion = self._joints(hand, preset)
        rates = {d.joint: rate for d, rate in zip(hand.actuators, motion.rates, strict=False)}
        tendons = []
        for finger in hand.fingers:
            rows = {finger.joint_of(row): row for row in finger.phalanges if row.driven}
            moved = {name: row for name, row in rows.items() if rates[name]}
            if not moved:
                continue
            strongest = max(row.force_limit for row in moved.values())
            power = {name: row.force_limit * rates[name] for name, row in moved.items()}
            scale = self.pulley_radius / max(map(abs, power.values()))
            tendon = Tendon(
                name=finger.name,
                pulleys=tuple(Pulley(joint=name, radius=scale * power[name]) for name in moved),
                tension_limit=self.tension_fraction * strongest / self.pulley_radius,
                stiffness=self.tendon_stiffness,
            )
            tendons.append(tendon)
        return tuple(tendons)

    def _joints(self, hand: Hand, preset: GraspPreset) -> ClosingMotion:
        """Return the closing motion of the joints without the pressures, which come last."""
        motion = self.closing_motion(hand, preset)
        count = len(hand.driven_joints)
        return ClosingMotion(motion.start[:count], motion.rates[:count], motion.limits[:count])

    def _elastic(self, hand: Hand, preset: GraspPreset, tendon: Tendon) -> dict[str, TendonJoint]:
        """Return the joints with springs that a tendon moves, by name."""
        motion = self._joints(hand, preset)
        moves = zip(hand.actuators, motion.start, motion.rates, strict=False)
        driven = {actuator.joint: (start, abs(rate)) for actuator, start, rate in moves}
        rows = hand.rows_by_joint
        rates = {part.joint: driven.get(part.joint, (0.0, 0.0))[1] for part in tendon.pulleys}
        min_rate, elastic = MIN_RATE_FRACTION * max(rates.values()) or 1.0, {}
        for part in tendon.pulleys:
            row = rows[part.joint]
            start = driven[part.joint][0] if part.joint in driven else row.start
            low, high = row.limits
            max_travel = high - start if part.radius > 0 else start - low
            travel = min(max(rates[part.joint], min_rate) * motion.shortest_time, max_travel)
            elastic[part.joint] = TendonJoint(row, start, part.radius, travel, max_travel)
        return elastic

    def _spring(self, tendon: Tendon, joint: TendonJoint) -> dict[str, float]:
        """Return stiffness, rest angle and damping of a joint under a tendon."""
        row = joint.row
        has_spring = row.stiffness > 0.0
        pull = self.spring_fraction * tendon.tension_limit * abs(joint.radius)
        stiffness = row.stiffness if has_spring else pull / max(joint.travel, 1e-3)
        return {
            "stiffness": stiffness,
            "rest_angle": row.rest_angle if has_spring else joint.start,
            "damping": max(row.damping, RELAXATION * stiffness),
        }

    def _pulled(
        self, tendon: Tendon, joints: dict[str, TendonJoint], time: float, rate: float | None
    ) -> ClosureActuator:
        """Make the actuator of a tendon; ``time`` is that of the closing motion [s]."""
        name, max_tension = f"{tendon.name}_tendon", tendon.tension_limit
        arms = tuple((part.joint, part.radius) for part in tendon.pulleys)
        limits = (0.0, max_tension)
        if self.control_mode == "tension":
            actuator = Actuator(name, f"tension of '{tendon.name}'", "N", limits, 0.0)
            return ClosureActuator(actuator, rate or max_tension / time, arms, limits)
        pulled_length = sum(abs(joint.radius) * joint.max_travel for joint in joints.values())
        free = sum(abs(joint.radius) * joint.travel for joint in joints.values())
        longest = tendon.excursion or pulled_length + max_tension / tendon.stiffness
        actuator = Actuator(name, f"excursion of '{tendon.name}'", "m", (0.0, longest), 0.0)
        zero = sum(joint.radius * joint.start for joint in joints.values())
        return ClosureActuator(
            actuator, rate or free / time, arms, limits, tendon.stiffness, zero=zero
        )


def _join(tendons: tuple[Tendon, ...]) -> Tendon:
    """Combine several tendons to one over all of their pulleys, limited by the weakest."""
    return Tendon(
        name="differential",
        pulleys=tuple(part for tendon in tendons for part in tendon.pulleys),
        tension_limit=min(tendon.tension_limit for tendon in tendons),
        stiffness=min(tendon.stiffness for tendon in tendons),
    )


# Synergies, q = q_m + S z.

LIMIT_TOLERANCE = 1e-9
"""Rounding error by which a joint may be beyond its limits [rad or m]."""
SIGNIFICANT_SPEED = 0.25
"""Speed, over that of the fastest joint, from which a joint has to reach its limit before the
closure ends; joints with small components would take very long."""
Weights = tuple[float, ...]


class SynergyIncrementClosure(Closure):
    """The weights z of a hand's synergies increase at constant rates.

    Without ``synergy_stiffness`` the target of each joint is its component of q_m + S z, and it
    stops where its phalanx or a later one of its finger is in contact, as in SynGrasp's
    SGcloseHandWithSynergies (Malvezzi et al. 2015). With it the synergies are soft (Bicchi et al.
    2011; Prattichizzo et al. 2013): servos hold the joints at q_m + S z, a spring holds z, and
    contact does not stop it; the compliance of the joints is then Kq⁻¹ + S Kz⁻¹ Sᵀ.
    """

    type: Literal["synergy-increment"] = "synergy-increment"
    rates_are_of_joints: ClassVar[bool] = False
    rates: Rates | None = None
    """Rates of the weights z, one per synergy [1/s]. By default the first weight closes the hand,
    and its fastest joint has the rate of the fastest joint of the hand's grasp."""
    synergies: Synergies | None = None
    """Synergies instead of the hand's. A hand without synergies has one: the closing direction of
    its grasp, from the start posture of the grasp."""
    start: tuple[Number, ...] | None = None
    """Weights z at the start; those of the open hand of its synergies by default."""
    end: tuple[Number, ...] | None = None
    """Weights z at the end; by default those at which its larger components reach their joint
    limits."""
    synergy_stiffness: Accepts[
        Annotated[tuple[Positive, ...], Field(min_length=1)] | None,
        tuple[float, ...] | float | None,
    ] = None  # type: ignore[assignment]
    """Kz, one per synergy or one for all [N·m for joints in rad]; infinite by default."""

    @field_validator("synergy_stiffness", mode="before")
    @classmethod
    def _one_for_all(cls, value: Any) -> Any:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return (value,) if number else value

    @property
    def can_be_prescribed(self) -> bool:
        """Return whether the synergies are stiff, so that joints have targets."""
        return self.synergy_stiffness is None

    def synergies_of(self, hand: Hand, preset: GraspPreset) -> Synergies:
        """Return the closure's synergies, the hand's, or the closing direction of its grasp."""
        return self.synergies or hand.synergies or first_synergy(hand, preset)

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse synergies of another hand, and lists without exactly one number per synergy."""
        super().check(hand, preset)
        self.require_joints(hand)
        if self.synergies is not None:
            hand.check_synergies(self.synergies, ("synergies",))
        count = self.synergies_of(hand, preset).count
        for field in ("start", "end", "rates", "synergy_stiffness"):
            count_fits(getattr(self, field), count, "synergy", field)
        self._check_start(hand, preset)

    def _check_start(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse start weights that bring a joint beyond its limits."""
        posture = self.synergies_of(hand, preset).posture(self._weights(hand, preset)[0])
        for actuator in hand.actuators:
            low, high = actuator.limits
            value = posture.get(actuator.joint or "", low)
            if not low - LIMIT_TOLERANCE <= value <= high + LIMIT_TOLERANCE:
                raise FieldError(
                    f"expected weights that bring {actuator.label} inside its limits "
                    f"{actuator.format_values(low, high)}, found {actuator.format_values(value)}",
                    "start",
                )

    def closing_motion(self, hand: Hand, preset: GraspPreset) -> ClosingMotion:
        """Return joints at q_m + S z within their limits, others at the start of the grasp."""
        plain = super().closing_motion(hand, preset)
        synergies = self.synergies_of(hand, preset)
        begin, pace, end = self._weights(hand, preset)
        first, last = synergies.posture(begin), synergies.posture(end)
        speed = joint_speeds(synergies, pace)
        still = self.acting((1.0,) * len(hand.actuators))
        start, rates, limits = list(plain.start), list(plain.rates), list(plain.limits)
        for index, (actuator, on) in enumerate(zip(hand.actuators, still, strict=True)):
            if actuator.joint is None:
                continue
            rates[index] = 0.0
            if actuator.joint in first and on:
                rates[index] = speed[actuator.joint]
                low, high = actuator.limits
                start[index] = min(max(first[actuator.joint], low), high)
                ends = (start[index], min(max(last[actuator.joint], low), high))
                limits[index] = (min(ends), max(ends))
        return ClosingMotion(tuple(start), tuple(rates), tuple(limits))

    def mechanism(self, hand: Hand, preset: GraspPreset) -> ActuationModel:
        """Return the hand; with soft synergies also their sliders and the joints' servos."""
        if self.synergy_stiffness is None:
            return ActuationModel(hand)
        synergies = self.synergies_of(hand, preset)
        rows = {actuator.joint: row for actuator, row in hand.driven_joints}
        moved = [joint for joint, rate in self._moving(hand, preset).items() if rate]
        indices = {joint: index for index, joint in enumerate(synergies.joints)}
        bare = without_servos(hand, {joint: {} for joint in moved})
        sliders = tuple(
            Slider(
                synergy_name(column),
                sum(rows[j].armature * synergies.matrix[indices[j]][column] ** 2 for j in moved),
            )
            for column in range(synergies.count)
        )
        servos = tuple(_follower(hand, synergies, joint) for joint in moved)
        return ActuationModel(bare, (*self._springs(hand, preset, moved), *servos), sliders)

    def _moving(self, hand: Hand, preset: GraspPreset) -> dict[str, bool]:
        """Return the joints that the synergies move, by name."""
        acting = self.acting((1.0,) * len(hand.actuators))
        joints = (actuator.joint for actuator in hand.actuators)
        on = dict(zip(joints, acting, strict=True))
        synergies = self.synergies_of(hand, preset)
        parts = zip(synergies.joints, synergies.matrix, strict=True)
        return {joint: bool(on[joint]) and any(row) for joint, row in parts}

    def _springs(
        self, hand: Hand, preset: GraspPreset, moved: list[str]
    ) -> tuple[ClosureActuator, ...]:
        """Make the servo of each synergy weight z, with stiffness Kz."""
        synergies = self.synergies_of(hand, preset)
        rows = {actuator.joint: row for actuator, row in hand.driven_joints}
        indices = {joint: index for index, joint in enumerate(synergies.joints)}
        stiffness = spread(self.synergy_stiffness or (1.0,), synergies.count)
        actuators = []
        for column, (begin, pace, end) in enumerate(zip(*self._weights(hand, preset), strict=True)):
            name, limits = synergy_name(column), (min(begin, end), max(begin, end))
            actuator = Actuator(name, f"synergy {column + 1}", "", limits, begin)
            parts = (abs(synergies.matrix[indices[j]][column]) * rows[j].force_limit for j in moved)
            force = sum(parts)
            actuators.append(
                ClosureActuator(actuator, pace, ((name, 1.0),), (-force, force), stiffness[column])
            )
        return tuple(actuators)

    def _weights(self, hand: Hand, preset: GraspPreset) -> tuple[Weights, Weights, Weights]:
        """Return start values, rates [1/s] and final values of the synergy weights z."""
        synergies = self.synergies_of(hand, preset)
        count = synergies.count
        usual = closing_pace(synergies, hand, preset)
        pace = spread(tuple(self.rates), count) if self.rates else usual
        opened = (*synergies.opened, *(0.0,) * (count - len(synergies.opened)))
        start = opened if self.start is None else spread(self.start, count)
        if self.end is None:
            time = time_to_limits(synergies, hand, start, pace)
            end = tuple(z + rate * time for z, rate in zip(start, pace, strict=True))
            return start, pace, end
        end = spread(self.end, count)
        weight_changes = [last - first for first, last in zip(start, end, strict=True)]
        times = [abs(w / rate) for w, rate in zip(weight_changes, pace, strict=True) if w and rate]
        slowest = max(times, default=1.0)
        return start, tuple(change / slowest for change in weight_changes), end


def synergy_name(column: int) -> str:
    """Return the name of a synergy's weight and of its actuator: ``synergy_z1``."""
    return f"synergy_z{column + 1}"


def _follower(hand: Hand, synergies: Synergies, joint: str) -> ClosureActuator:
    """Make the servo that holds a joint at its component of the posture q_m + S z."""
    index = synergies.joints.index(joint)
    row = next(row for actuator, row in hand.driven_joints if actuator.joint == joint)
    mean = synergies.mean[index]
    parts = ((synergy_name(k), -part) for k, part in enumerate(synergies.matrix[index]) if part)
    return ClosureActuator(
        Actuator(f"{joint}_servo", f"servo of '{joint}'", row.unit, (mean, mean), mean),
        0.0,
        ((joint, 1.0), *parts),
        (-row.force_limit, row.force_limit),
        row.servo_stiffness,
        row.servo_damping_ratio,
    )


def first_synergy(hand: Hand, preset: GraspPreset) -> Synergies:
    """Return the closing direction of a grasp from its start posture as a synergy of length 1."""
    rates = preset.rates.for_fingers(hand.actuator_counts)
    start = preset.start or tuple(actuator.start for actuator in hand.actuators)
    parts = [
        (actuator.joint, first, rate)
        for actuator, first, rate in zip(hand.actuators, start, rates, strict=True)
        if actuator.joint is not None
    ]
    length = sum(rate**2 for _, _, rate in parts) ** 0.5
    return Synergies(
        joints=tuple(joint for joint, _, _ in parts),
        mean=tuple(first for _, first, _ in parts),
        matrix=tuple((rate / length if length else 1.0,) for _, _, rate in parts),
        source=f"closing rates of '{hand.name}'",
    )


def joint_speeds(synergies: Synergies, pace: Weights) -> dict[str, float]:
    """Return the rate of each joint [rad/s or m/s]."""
    return {
        joint: sum(part * rate for part, rate in zip(row, pace, strict=True))
        for joint, row in zip(synergies.joints, synergies.matrix, strict=True)
    }


def closing_pace(synergies: Synergies, hand: Hand, preset: GraspPreset) -> Weights:
    """Return the rates of the synergy weights: only the first closes the hand [1/s]."""
    rates = preset.rates.for_fingers(hand.actuator_counts)
    rate_of = {actuator.joint: rate for actuator, rate in zip(hand.actuators, rates, strict=True)}
    first = [row[0] for row in synergies.matrix]
    along = sum(part * rate_of[joint] for part, joint in zip(first, synergies.joints, strict=True))
    fastest = max(abs(rate_of[joint]) for joint in synergies.joints)
    pace = fastest / max(map(abs, first))
    return (pace if along >= 0.0 else -pace, *(0.0,) * (synergies.count - 1))


def time_to_limits(synergies: Synergies, hand: Hand, start: Weights, pace: Weights) -> float:
    """Return when the joints with the largest components reach their limits [s]."""
    speeds, posture = joint_speeds(synergies, pace), synergies.posture(start)
    fastest = max(map(abs, speeds.values()))
    actuators = {actuator.joint: actuator for actuator in hand.actuators}
    times = [0.0]  # of joints beyond their limits
    for joint, speed in speeds.items():
        if speed and abs(speed) >= SIGNIFICANT_SPEED * fastest:
            low, high = actuators[joint].limits
            times.append(((high if speed > 0 else low) - posture[joint]) / speed)
    return max(times)


# The closure of a scene.

DEFAULT_TYPE = "default"
"""Closure of a description without a ``type``."""


def _type_of(value: Any) -> str:
    if isinstance(value, Closure):
        return str(type(value).model_fields["type"].default)
    return str(value.get("type", DEFAULT_TYPE)) if isinstance(value, dict) else DEFAULT_TYPE


AnyClosure = Annotated[
    Annotated[DefaultClosure, Tag("default")]
    | Annotated[PositionIncrementClosure, Tag("position-increment")]
    | Annotated[SynergyIncrementClosure, Tag("synergy-increment")]
    | Annotated[ForceLimitedClosure, Tag("force-limited")]
    | Annotated[UnderactuatedClosure, Tag("underactuated")]
    | Annotated[JointTorqueClosure, Tag("joint-torque")]
    | Annotated[PressureClosure, Tag("pressure")],
    Discriminator(_type_of),
]
"""Any closure, selected by ``type``."""
CLOSURES: dict[str, type[Closure]] = {
    "position-increment": PositionIncrementClosure,
    "synergy-increment": SynergyIncrementClosure,
    "force-limited": ForceLimitedClosure,
    "underactuated": UnderactuatedClosure,
    "joint-torque": JointTorqueClosure,
    "pressure": PressureClosure,
}
"""Closures by their ``type``; without one it is a ``DefaultClosure``."""
