"""Position increments that go on through contact until a force or a torque is reached."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Positive
from softgrasp.description.closures.base import Closure
from softgrasp.description.drive import Actuator
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.mechanism import ActuationModel

USUAL_FORCE = 5.0
"""[N], where neither a force nor a torque is given."""
PATIENCE = 4.0
"""A closure with a force may take this many times longer than joints take to their limits."""


class ForceLimitedClosure(Closure):
    """Each joint goes on through contact until it squeezes as hard as asked, then holds.

    With ``force`` a joint closes at its rate until contact is established on its phalanx or on a
    later one of its finger; on the way, touches cut the lag of its servo to what most of that force
    needs. From there on it moves at ``contact_rate_fraction`` of its rate, for as long as no ten times
    ``samples`` pass without any force. It stops where ``samples`` normal forces in a row, on its
    phalanx or on a later one, are above the force, and goes on below nine tenths of it.

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
