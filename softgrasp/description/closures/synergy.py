"""Closing along synergies, q = q_m + S z, stiff ones or compliant ones."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from softgrasp.description.base import Number, Positive
from softgrasp.description.closures.base import Closure, count_fits, spread
from softgrasp.description.closures.synergy_weights import (
    Weights,
    closing_pace,
    first_synergy,
    joint_speeds,
    time_to_limits,
)
from softgrasp.description.drive import Actuator
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.mechanism import (
    ActuationModel,
    ClosingMotion,
    ClosureActuator,
    Slider,
    without_servos,
)
from softgrasp.description.problems import FieldError
from softgrasp.description.rates import Rates
from softgrasp.description.synergies import Synergies

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
