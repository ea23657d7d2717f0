"""Which weights z of synergies a hand closes from, how fast, and until when."""

from __future__ import annotations

from softgrasp.description.drive import Actuator
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.synergies import Synergies

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
