"""All closures by name, and the field of a scene that holds one of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from softgrasp.description.actuation import Actuator, Pulley, Rates, Synergies, Tendon
from softgrasp.description.base import FieldError, Number, Positive
from softgrasp.description.closure_base import (
    ActuationModel,
    ClosingMotion,
    Closure,
    ClosureActuator,
    Slider,
    count_fits,
    spread,
    without_servos,
)
from softgrasp.description.finger import Phalanx
from softgrasp.description.hand import GraspPreset, Hand

# --------------------
# Position increments until contact (paper 004), and the pressure of soft fingers (paper 000).


class PositionIncrementClosure(Closure):
    """Position increments with debounced contact detection (paper 004, §2.2.3.2).

    At every control sample each active joint's target grows by its rate times the control
    period, unless its phalanx or a later one of its finger is in contact; it starts again when
    contact is lost. Contact is established at the sample at which the last ``samples`` normal
    forces, the current one included, are all above ``threshold``; lost at the first one below.
    """

    type: Literal["position-increment"] = "position-increment"


class PressureClosure(Closure):
    """The pressure of each soft finger grows at its rate up to the working pressure (paper 000).

    Rigid fingers of the same hand close by position increments.
    """

    type: Literal["pressure"] = "pressure"

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse a hand without soft fingers."""
        super().check(hand, preset)
        if not hand.soft_fingers:
            raise FieldError(f"expected a hand with soft fingers, found '{hand.name}' without")


# --------------------
# Position increments that go on through contact until a force or a torque is reached.


USUAL_FORCE = 5.0
"""[N], where neither a force nor a torque is given."""
PATIENCE = 4.0
"""A closure with a force may take this many times longer than joints take to their limits."""


class ForceLimitedClosure(Closure):
    """Each joint goes on through contact until it squeezes as hard as asked, then holds.

    With ``force`` a joint closes at its rate until contact is established on its phalanx or on a
    later one of its finger; on the way, touches cut the lag of its servo to what most of that force
    needs. From there on it moves at ``contact_rate_fraction`` of its rate, for as long as no
    ten times ``samples`` pass without any force. It stops where ``samples`` normal forces in a
    row, on its phalanx or on a later one, are above the force, and goes on below nine tenths of it.

    With ``torque`` a joint stops where ``samples`` torques of its servo in a row are at it, and
    goes on at the first one below; the servo never gives more.
    """

    type: Literal["force-limited"] = "force-limited"
    force: Positive | None = None
    """Normal force on a phalanx [N]; 5 N where neither it nor ``torque`` is given."""
    torque: Positive | None = None
    """Of the joints' servos [N·m or N]; that of the joint itself where it is smaller."""
    contact_rate_fraction: Annotated[float, Field(gt=0, le=1, strict=True)] = 0.05
    """Share of its rate at which a joint goes on in contact, with ``force`` [–]."""

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if self.force is not None and self.torque is not None:
            raise ValueError("expected exactly one of force and torque, found both")
        if self.grip_force is not None and self.grip_force <= self.threshold:
            raise ValueError(
                f"expected a force above the threshold of contact ({self.threshold:g} N), "
                f"found {self.grip_force:g} N"
            )
        return self

    @property
    def can_be_prescribed(self) -> bool:
        """Not so: joints that obey whatever the load have no force to limit."""
        return False

    @property
    def grip_force(self) -> float | None:
        """Normal force [N] at which joints stop; None where their torques are limited."""
        if self.torque is not None:
            return None
        return self.force or USUAL_FORCE

    @property
    def stops_at_torque(self) -> bool:
        """Whether joints stop at a torque."""
        return self.torque is not None

    @property
    def contact_rate_scale(self) -> float:
        """Share of their rates at which joints go on in contact [–]."""
        return 1.0 if self.torque is not None else self.contact_rate_fraction

    def actuators(self, hand: Hand, preset: GraspPreset) -> tuple[Actuator, ...]:
        """The drives of a hand; contact stops none of them where torques are limited."""
        actuators = super().actuators(hand, preset)
        if self.torque is None:
            return actuators
        return tuple(actuator._replace(stops=()) for actuator in actuators)

    def mechanism(self, hand: Hand, preset: GraspPreset) -> ActuationModel:
        """The hand, its servos limited where a torque is given."""
        torque = self.torque
        if torque is None:
            return ActuationModel(hand)
        fingers = tuple(
            finger.replace(
                phalanges=tuple(
                    row.replace(force_limit=min(torque, row.force_limit))
                    for row in finger.phalanges
                )
            )
            for finger in hand.fingers
        )
        return ActuationModel(hand.replace(fingers=fingers))

    def extra_time(self, hand: Hand, preset: GraspPreset) -> float:
        """For squeezing, which is slow [s]."""
        return 0.0 if self.torque is not None else PATIENCE * self.closing_motion(hand, preset).time

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse a hand without joints."""
        super().check(hand, preset)
        self.require_joints(hand)


# --------------------
# Torques in the joints instead of targets, the other way that paper 004 names (§2.2.3.2).


RAMP_TIME = 0.5
"""Time in which torques grow to their limits where no rate is given [s]."""
TORQUE_PATIENCE = 2.0
"""Joints under their full torques are given this many times the time in which the first one of
the free hand gets to its limit."""


class JointTorqueClosure(Closure):
    """The torque of each joint grows at its rate up to its limit, whatever it meets.

    Joints are damped so that a free one goes at the speed of the hand's grasp under its full
    torque. Contact does not stop a joint: at rest its contacts balance its torque. Joints that
    stand still in the grasp keep their servos.
    """

    type: Literal["joint-torque"] = "joint-torque"
    rates: Rates | None = None
    """At which torques grow, one for all, one a row of a finger or one a joint [N·m/s or N/s];
    where not given all are at their limits after 0.5 s. Their signs are those of the grasp."""
    torque: Positive | None = None
    """Largest torque or force of a joint [N·m or N], where its own limit is not smaller."""
    torque_fraction: Annotated[float, Field(gt=0, le=1, strict=True)] = 0.25
    """Share of its own limit that the fastest joint of a finger has where no ``torque`` is given;
    slower ones have less in proportion, so that a pinch stays one [–]."""

    @classmethod
    def rates_are_of_joints(cls) -> bool:
        """Not so: they are those of torques."""
        return False

    @property
    def can_be_prescribed(self) -> bool:
        """Not so: torques are no targets that joints could obey."""
        return False

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse a hand without joints, and rates that do not fit it."""
        super().check(hand, preset)
        self.require_joints(hand)
        self.check_rates(hand)

    def mechanism(self, hand: Hand, preset: GraspPreset) -> ActuationModel:
        """The hand with damped joints instead of servos, and a motor in each."""
        motion = self.closing_motion(hand, preset)
        ramps = None if self.rates is None else self.rates.for_fingers(hand.rows)
        fastest = _fastest(hand, motion.rates)
        joints: dict[str, dict[str, float]] = {}
        motors = []
        for index, (actuator, row) in enumerate(hand.driven_joints):
            speed = motion.rates[index]
            if not speed:
                continue
            limit = self._limit(row, abs(speed) / fastest[actuator.name])
            ramp = abs(ramps[index]) if ramps is not None else limit / RAMP_TIME
            joints[actuator.name] = {"damping": max(row.damping, limit / abs(speed))}
            motors.append(_motor(actuator, limit, ramp if speed > 0 else -ramp))
        return ActuationModel(without_servos(hand, joints), tuple(motors))

    def settling(self, hand: Hand, preset: GraspPreset) -> float:
        """A torque that grows no more still moves joints, as long as they need to close."""
        return self.settle_time + TORQUE_PATIENCE * self.closing_motion(hand, preset).shortest_time

    def _limit(self, row: Phalanx, fraction: float) -> float:
        if self.torque is None:
            return self.torque_fraction * row.force_limit * fraction
        return min(self.torque, row.force_limit)


def _fastest(hand: Hand, rates: tuple[float, ...]) -> dict[str, float]:
    """The rate of the fastest joint of its finger, by the names of joints."""
    speed = {
        actuator.name: abs(rates[index]) for index, (actuator, _) in enumerate(hand.driven_joints)
    }
    speeds: dict[str, float] = {}
    for finger in hand.fingers:
        names = [finger.joint_of(row) for row in finger.phalanges if row.driven]
        speeds |= dict.fromkeys(names, max((speed[name] for name in names), default=0.0))
    return speeds


def _motor(actuator: Actuator, limit: float, ramp: float) -> ClosureActuator:
    """The motor of a joint, whose torque grows from zero."""
    ends = (0.0, limit) if ramp > 0 else (-limit, 0.0)
    unit = "N·m" if actuator.unit == "rad" else "N"
    motor = Actuator(f"{actuator.name}_torque", f"torque of '{actuator.name}'", unit, ends, 0.0)
    return ClosureActuator(motor, ramp, ((actuator.name, 1.0),), (-limit, limit))


# --------------------
# Tendons over pulleys against springs in the joints: the mechanism adapts to the object.


RELAXATION = 0.3
"""Time constant of a joint against its own spring [s]; with it joints close without swinging."""
SLOWEST = 0.05
"""Share of a tendon's fastest joint at which one goes at least that does not move in the grasp."""


class Elastic(NamedTuple):
    """A joint that a tendon closes against its spring."""

    row: Phalanx
    start: float
    radius: float
    """[m]"""
    travel: float
    """Way that it goes together with the others until the first one is at its limit, without its
    sign [rad or m]."""
    max_travel: float
    """Way to its own limit [rad or m]."""


class UnderactuatedClosure(Closure):
    """One tendon a finger, or one for all, pulls joints that have springs instead of servos.

    Contact does not stop a tendon: its other joints go on (Birglen, Laliberté & Gosselin 2008). At
    rest the contacts of every joint balance radius · tension − stiffness · (angle − rest).

    A hand's own ``tendons`` are used; one without has a tendon a finger, whose pulleys are as large
    as its joints are strong and fast, and springs that let the free hand close as its grasp says.
    """

    type: Literal["underactuated"] = "underactuated"
    rates: Rates | None = None
    """Of the tendons, one a tendon or one for all [m/s or N/s]; those of the grasp if not given."""
    control_mode: Literal["excursion", "tension"] = "excursion"
    """Whether the way of the tendon grows, up to the highest tension, or its tension."""
    differential: bool = False
    """One tendon over the joints of all fingers, instead of one a finger."""
    tension: Positive | None = None
    """Highest tension [N], instead of the tendons' own."""
    pulley_radius: Positive = 0.01
    """Of the largest pulley in each finger, where the hand has no tendons of its own [m]."""
    tendon_stiffness: Positive = 2e4
    """Of tendons that are not the hand's own [N/m]."""
    tension_fraction: Annotated[float, Field(gt=0, le=1, strict=True)] = 0.25
    """Highest tension over the one that the torque limits of the joints allow, where the tendons
    are not the hand's own [–]."""
    spring_fraction: Annotated[float, Field(gt=0, lt=1, strict=True)] = 0.2
    """Share of the highest tension that closes the free hand, where joints have no springs of
    their own [–]."""

    @classmethod
    def rates_are_of_joints(cls) -> bool:
        """Not so: they are those of the tendons."""
        return False

    @property
    def can_be_prescribed(self) -> bool:
        """Not so: what adapts has no targets that it could obey."""
        return False

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse a hand without joints that a tendon could close."""
        super().check(hand, preset)
        if not hand.tendons:
            self.require_joints(hand)
        count_fits(self.rates, len(self.tendons_of(hand, preset)), "tendon", "rates")

    def tendons_of(self, hand: Hand, preset: GraspPreset) -> tuple[Tendon, ...]:
        """The tendons, the hand's own or those that are made for it.

        Args:
            hand: The hand.
            preset: Of its grasp; joints that stand still in it have no pulleys.
        """
        tendons = hand.tendons or self._made(hand, preset)
        if self.differential and len(tendons) > 1:
            tendons = (_joined(tendons),)
        if self.tension is None:
            return tendons
        return tuple(tendon.replace(tension_limit=self.tension) for tendon in tendons)

    def mechanism(self, hand: Hand, preset: GraspPreset) -> ActuationModel:
        """The hand with springs in the joints of its tendons, and what pulls those."""
        tendons = self.tendons_of(hand, preset)
        joints: dict[str, dict[str, float]] = {}
        actuators = []
        rates = spread(tuple(self.rates), len(tendons)) if self.rates else (None,) * len(tendons)
        for tendon, rate in zip(tendons, rates, strict=True):
            elastic = self._elastic(hand, preset, tendon)
            springs = {name: self._spring(tendon, one) for name, one in elastic.items()}
            joints |= springs
            actuators.append(
                self._pulled(tendon, elastic, self._joints(hand, preset).shortest_time, rate)
            )
        return ActuationModel(without_servos(hand, joints), tuple(actuators))

    def settling(self, hand: Hand, preset: GraspPreset) -> float:
        """A tension that grows no more still moves joints, as long as they need to close."""
        if self.control_mode == "excursion":
            return self.settle_time
        return self.settle_time + RELAXATION + self._joints(hand, preset).shortest_time

    def _made(self, hand: Hand, preset: GraspPreset) -> tuple[Tendon, ...]:
        """A tendon for each finger with joints that close."""
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
            pulleys = tuple(Pulley(joint=name, radius=scale * power[name]) for name in moved)
            tendons.append(
                Tendon(
                    name=finger.name,
                    pulleys=pulleys,
                    tension_limit=self.tension_fraction * strongest / self.pulley_radius,
                    stiffness=self.tendon_stiffness,
                )
            )
        return tuple(tendons)

    def _joints(self, hand: Hand, preset: GraspPreset) -> ClosingMotion:
        """The way of the joints, without the pressures of soft fingers, which come last."""
        motion = self.closing_motion(hand, preset)
        count = len(hand.driven_joints)
        return ClosingMotion(motion.start[:count], motion.rates[:count], motion.limits[:count])

    def _elastic(self, hand: Hand, preset: GraspPreset, tendon: Tendon) -> dict[str, Elastic]:
        """The joints of a tendon by name."""
        motion = self._joints(hand, preset)
        driven = {
            actuator.joint: (start, abs(rate))
            for actuator, start, rate in zip(
                hand.actuators, motion.start, motion.rates, strict=False
            )
        }
        rows = hand.rows_by_joint
        rates = {part.joint: driven.get(part.joint, (0.0, 0.0))[1] for part in tendon.pulleys}
        min_rate, elastic = SLOWEST * max(rates.values()) or 1.0, {}
        for part in tendon.pulleys:
            row = rows[part.joint]
            start = driven[part.joint][0] if part.joint in driven else row.start
            low, high = row.limits
            max_travel = high - start if part.radius > 0 else start - low
            travel = min(max(rates[part.joint], min_rate) * motion.shortest_time, max_travel)
            elastic[part.joint] = Elastic(row, start, part.radius, travel, max_travel)
        return elastic

    def _spring(self, tendon: Tendon, joint: Elastic) -> dict[str, float]:
        """Stiffness, rest and damping of a joint under a tendon."""
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
        self, tendon: Tendon, joints: dict[str, Elastic], pace: float, rate: float | None
    ) -> ClosureActuator:
        """What pulls a tendon."""
        name, max_tension = f"{tendon.name}_tendon", tendon.tension_limit
        arms = tuple((part.joint, part.radius) for part in tendon.pulleys)
        limits = (0.0, max_tension)
        if self.control_mode == "tension":
            actuator = Actuator(name, f"tension of '{tendon.name}'", "N", limits, 0.0)
            return ClosureActuator(actuator, rate or max_tension / pace, arms, limits)
        pulled_length = sum(abs(one.radius) * one.max_travel for one in joints.values())
        free = sum(abs(one.radius) * one.travel for one in joints.values())
        longest = tendon.excursion or pulled_length + max_tension / tendon.stiffness
        actuator = Actuator(name, f"excursion of '{tendon.name}'", "m", (0.0, longest), 0.0)
        zero = sum(one.radius * one.start for one in joints.values())
        return ClosureActuator(
            actuator, rate or free / pace, arms, limits, tendon.stiffness, zero=zero
        )


def _joined(tendons: tuple[Tendon, ...]) -> Tendon:
    """One tendon over the pulleys of all; it can be pulled as hard as the weakest of them."""
    return Tendon(
        name="differential",
        pulleys=tuple(part for tendon in tendons for part in tendon.pulleys),
        tension_limit=min(tendon.tension_limit for tendon in tendons),
        stiffness=min(tendon.stiffness for tendon in tendons),
    )


# --------------------
# Closing along synergies, q = q_m + S z, stiff ones or compliant ones.


SLACK = 1e-9
"""What rounding may put a joint beyond its limits [rad or m]."""


class SynergyIncrementClosure(Closure):
    """The weights z of a hand's synergies grow at their rates.

    Without ``synergy_stiffness`` each joint's target is its part of q_m + S z, and it stops where
    its phalanx or a later one of its finger is in contact, as in SynGrasp's
    SGcloseHandWithSynergies (Malvezzi et al. 2015). With it the synergies are soft (Bicchi et al.
    2011; Prattichizzo et al. 2013): joints are held at q_m + S z by their servos, z itself by a
    spring, and contact does not stop it; a joint's compliance is then Kq⁻¹ + S Kz⁻¹ Sᵀ.
    """

    type: Literal["synergy-increment"] = "synergy-increment"
    rates: Rates | None = None
    """Of the weights z, one a synergy [1/s]. Where not given the first one closes the hand, and its
    fastest joint goes as fast as the fastest one of the hand's grasp."""
    synergies: Synergies | None = None
    """Instead of the hand's own; for a hand without any the one direction in which its grasp closes
    it, from the posture in which the grasp starts."""
    start: tuple[Number, ...] | None = None
    """Weights z from which to close; those of the open hand, as its synergies say, where not
    given."""
    end: tuple[Number, ...] | None = None
    """Weights z at which to stop; where its larger parts are at their limits if not given."""
    synergy_stiffness: Annotated[tuple[Positive, ...], Field(min_length=1)] | None = None
    """Kz, one a synergy or one for all [N·m for joints in rad]; stiff where it is not given."""

    @field_validator("synergy_stiffness", mode="before")
    @classmethod
    def _one_for_all(cls, value: Any) -> Any:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return (value,) if number else value

    @classmethod
    def rates_are_of_joints(cls) -> bool:
        """Not so: they are those of the synergies."""
        return False

    @property
    def can_be_prescribed(self) -> bool:
        """Stiff synergies can: their joints have targets."""
        return self.synergy_stiffness is None

    def synergies_of(self, hand: Hand, preset: GraspPreset) -> Synergies:
        """Its own synergies, the hand's, or the one in which the hand's grasp closes it."""
        return self.synergies or hand.synergies or first_synergy(hand, preset)

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse synergies that are not of this hand, and numbers that are not one a synergy."""
        super().check(hand, preset)
        self.require_joints(hand)
        if self.synergies is not None:
            hand.check_synergies(self.synergies, ("synergies",))
        count = self.synergies_of(hand, preset).count
        for field in ("start", "end", "rates", "synergy_stiffness"):
            count_fits(getattr(self, field), count, "synergy", field)
        self._check_start(hand, preset)

    def _check_start(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse weights at the start that ask for more than the joints can do."""
        posture = self.synergies_of(hand, preset).posture(self._weights(hand, preset)[0])
        for actuator in hand.actuators:
            low, high = actuator.limits
            value = posture.get(actuator.joint or "", low)
            if not low - SLACK <= value <= high + SLACK:
                raise FieldError(
                    f"expected weights that bring {actuator.label} inside its limits "
                    f"{actuator.format_values(low, high)}, found {actuator.format_values(value)}",
                    "start",
                )

    def closing_motion(self, hand: Hand, preset: GraspPreset) -> ClosingMotion:
        """Joints on q_m + S z within their limits, the others where the grasp starts."""
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
        """The hand itself; of soft synergies a slider each, and joints that follow them."""
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
        """Which joints of the synergies are active, by name."""
        on = dict(
            zip(
                (actuator.joint for actuator in hand.actuators),
                self.acting((1.0,) * len(hand.actuators)),
                strict=True,
            )
        )
        synergies = self.synergies_of(hand, preset)
        parts = zip(synergies.joints, synergies.matrix, strict=True)
        return {joint: bool(on[joint]) and any(row) for joint, row in parts}

    def _springs(
        self, hand: Hand, preset: GraspPreset, moved: list[str]
    ) -> tuple[ClosureActuator, ...]:
        """The servo of each weight z, with the stiffness Kz."""
        synergies = self.synergies_of(hand, preset)
        rows = {actuator.joint: row for actuator, row in hand.driven_joints}
        indices = {joint: index for index, joint in enumerate(synergies.joints)}
        stiffness = spread(self.synergy_stiffness or (1.0,), synergies.count)
        actuators = []
        for column, (begin, pace, end) in enumerate(zip(*self._weights(hand, preset), strict=True)):
            name = synergy_name(column)
            max_force = sum(
                abs(synergies.matrix[indices[joint]][column]) * rows[joint].force_limit
                for joint in moved
            )
            actuators.append(
                ClosureActuator(
                    Actuator(
                        name, f"synergy {column + 1}", "", (min(begin, end), max(begin, end)), begin
                    ),
                    pace,
                    ((name, 1.0),),
                    (-max_force, max_force),
                    stiffness[column],
                )
            )
        return tuple(actuators)

    def _weights(self, hand: Hand, preset: GraspPreset) -> tuple[Weights, Weights, Weights]:
        """Weights z at the start, their rates [1/s], and weights at the end."""
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
    """What the weight of a synergy, and its drive, are called in a model: ``synergy_z1``."""
    return f"synergy_z{column + 1}"


def _follower(hand: Hand, synergies: Synergies, joint: str) -> ClosureActuator:
    """The servo that holds a joint at its part of q_m + S z."""
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


# --------------------
# Which weights z of synergies a hand closes from, how fast, and until when.


SLOW = 0.25
"""A closure ends when the joints that go at least at this share of the fastest one have done so;
the others, whose part in the synergy is small, would take very long to their limits."""

Weights = tuple[float, ...]


def first_synergy(hand: Hand, preset: GraspPreset) -> Synergies:
    """The one direction in which a hand's grasp closes it, as a synergy of length 1.

    Args:
        hand: A hand with driven joints.
        preset: Of its grasp; z = 0 is the posture in which it starts.
    """
    rates = preset.rates.for_fingers(hand.rows)
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
    """Rate of each joint [rad/s or m/s]."""
    return {
        joint: sum(part * rate for part, rate in zip(row, pace, strict=True))
        for joint, row in zip(synergies.joints, synergies.matrix, strict=True)
    }


def closing_pace(synergies: Synergies, hand: Hand, preset: GraspPreset) -> Weights:
    """Rate of the first weight with which the hand closes, zero of the others [1/s]."""
    rates = preset.rates.for_fingers(hand.rows)
    rate_of = {actuator.joint: rate for actuator, rate in zip(hand.actuators, rates, strict=True)}
    first = [row[0] for row in synergies.matrix]
    along = sum(part * rate_of[joint] for part, joint in zip(first, synergies.joints, strict=True))
    fastest = max(abs(rate_of[joint]) for joint in synergies.joints)
    pace = fastest / max(map(abs, first))
    return (pace if along >= 0.0 else -pace, *(0.0,) * (synergies.count - 1))


def _travel(actuator: Actuator, at: float, rate: float) -> float:
    """Time in which a joint gets from somewhere to its limit [s]; zero where it is beyond."""
    low, high = actuator.limits
    return max(((high if rate > 0 else low) - at) / rate, 0.0)


def time_to_limits(synergies: Synergies, hand: Hand, start: Weights, pace: Weights) -> float:
    """Time until the joints with larger parts are at their limits [s]."""
    speeds, posture = joint_speeds(synergies, pace), synergies.posture(start)
    fastest = max(map(abs, speeds.values()))
    actuators = {actuator.joint: actuator for actuator in hand.actuators}
    return max(
        (
            _travel(actuators[joint], posture[joint], speed)
            for joint, speed in speeds.items()
            if speed and abs(speed) >= SLOW * fastest
        ),
        default=0.0,
    )


USUAL = "position-increment"
"""What a description without a ``type`` means."""


def _type_of(value: Any) -> str:
    if isinstance(value, Closure):
        return value.name
    return str(value.get("type", USUAL)) if isinstance(value, dict) else USUAL


AnyClosure = Annotated[
    Annotated[PositionIncrementClosure, Tag("position-increment")]
    | Annotated[SynergyIncrementClosure, Tag("synergy-increment")]
    | Annotated[ForceLimitedClosure, Tag("force-limited")]
    | Annotated[UnderactuatedClosure, Tag("underactuated")]
    | Annotated[JointTorqueClosure, Tag("joint-torque")]
    | Annotated[PressureClosure, Tag("pressure")],
    Discriminator(_type_of),
]
"""One of them, told apart by ``type``."""

CLOSURES: dict[str, type[Closure]] = {
    "position-increment": PositionIncrementClosure,
    "synergy-increment": SynergyIncrementClosure,
    "force-limited": ForceLimitedClosure,
    "underactuated": UnderactuatedClosure,
    "joint-torque": JointTorqueClosure,
    "pressure": PressureClosure,
}
"""By the names that ``type`` has."""
