"""Torques in the joints instead of targets, the other way that paper 004 names (§2.2.3.2)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from softgrasp.description.base import Positive
from softgrasp.description.closures.base import Closure
from softgrasp.description.drive import Actuator
from softgrasp.description.finger import Phalanx
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.mechanism import ActuationModel, ClosureActuator, without_servos
from softgrasp.description.rates import Rates

RAMP_TIME = 0.5
"""Time in which torques grow to their limits where no rate is given [s]."""
PATIENCE = 2.0
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
        return self.settle_time + PATIENCE * self.closing_motion(hand, preset).shortest_time

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
