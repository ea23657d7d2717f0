"""What a closure makes of a hand: which joints keep their servos, and what moves the others."""

from __future__ import annotations

from typing import NamedTuple

from softgrasp.description.drive import Actuator
from softgrasp.description.hand import Hand

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
