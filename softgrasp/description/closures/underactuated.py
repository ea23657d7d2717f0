"""Tendons over pulleys against springs in the joints: the mechanism adapts to the object."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from softgrasp.description.base import Positive
from softgrasp.description.closures.base import Closure, count_fits, spread
from softgrasp.description.drive import Actuator
from softgrasp.description.finger import Phalanx
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.mechanism import (
    ActuationModel,
    ClosingMotion,
    ClosureActuator,
    without_servos,
)
from softgrasp.description.rates import Rates
from softgrasp.description.tendon import Pulley, Tendon

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
