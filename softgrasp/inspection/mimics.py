"""Joints that follow others: how much of the leader's range the follower's limits allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from softgrasp.description.robot import RigidJoint, Robot
from softgrasp.inspection.finding import Check, Finding, counted

WHOLE = 1e-3
"""Part of the leader's range that may be missing: files round their limits [–]."""


@dataclass(frozen=True)
class Coupling:
    """A follower, its leader, and what each asks of the other; joint variables in rad or m."""

    follower: RigidJoint
    leader: RigidJoint
    requested: tuple[float, float]
    """Lowest and highest variable of the follower over the leader's whole range."""
    possible: tuple[float, float] | None
    """Lowest and highest variable of the leader that the follower's limits allow; None: none."""

    @property
    def fraction(self) -> float:
        """Part of the leader's range that is possible [–]."""
        low, high = _limits(self.leader)
        if self.possible is None:
            return 0.0
        width = high - low
        if not width or math.isinf(width):
            return 1.0 if self._holds else 0.0
        return max((self.possible[1] - self.possible[0]) / width, 0.0)

    @property
    def _holds(self) -> bool:
        low, high = _limits(self.follower)
        return low <= self.requested[0] and self.requested[1] <= high


def couplings(robot: Robot) -> list[Coupling]:
    """All joints of a robot that follow another one that moves."""
    known = {joint.name: joint for joint in robot.joints}
    return [
        _coupling(joint, known[joint.mimic.joint])
        for joint in robot.joints
        if joint.mimic is not None and "fixed" not in (joint.type, known[joint.mimic.joint].type)
    ]


def mimic_check(robot: Robot) -> Check:
    """Range of every follower against multiplier · range of its leader + offset."""
    coupled = couplings(robot)
    odd = tuple(_finding(one) for one in coupled if one.fraction < 1.0 - WHOLE)
    if not coupled:
        return Check("mimic", "no joint follows another")
    text = ", ".join(f"{one.follower.name} {100 * one.fraction:.3g} %" for one in coupled)
    return Check("mimic", f"{counted(len(coupled), 'follower')}; range possible: {text}", odd)


def _coupling(follower: RigidJoint, leader: RigidJoint) -> Coupling:
    assert follower.mimic is not None  # couplings() chose them
    factor, offset = follower.mimic.multiplier, follower.mimic.offset
    low, high = _limits(leader)
    ends = [offset, offset] if factor == 0.0 else [factor * end + offset for end in (low, high)]
    return Coupling(
        follower, leader, (min(ends), max(ends)), _possible(follower, (low, high), factor, offset)
    )


def _possible(
    follower: RigidJoint, leads: Sequence[float], factor: float, offset: float
) -> tuple[float, float] | None:
    low, high = _limits(follower)
    if factor == 0.0:
        return (leads[0], leads[1]) if low <= offset <= high else None
    ends = sorted(((low - offset) / factor + 0.0, (high - offset) / factor + 0.0))  # no -0
    first, last = max(ends[0], leads[0]), min(ends[1], leads[1])
    return (first, last) if first <= last else None


def _limits(joint: RigidJoint) -> tuple[float, float]:
    if joint.type == "continuous" or joint.lower is None or joint.upper is None:
        return (-math.inf, math.inf)
    return (joint.lower, joint.upper)


def _finding(coupling: Coupling) -> Finding:
    follower, leader, mimic = coupling.follower, coupling.leader, coupling.follower.mimic
    assert mimic is not None
    (low, high), (first, last) = _limits(follower), _limits(leader)
    unit = "m" if follower.type == "prismatic" else "rad"
    where = "nowhere in its range"
    if coupling.possible is not None:
        ends = dict.fromkeys(f"{end:.4g}" for end in coupling.possible)
        where = f"only {'at' if len(ends) == 1 else 'in'} {' … '.join(ends)}"
    numbers = {
        "multiplier": mimic.multiplier,
        "offset": mimic.offset,
        "fraction": coupling.fraction,
        "lower": low,
        "upper": high,
        "requested_low": coupling.requested[0],
        "requested_high": coupling.requested[1],
    }
    return Finding(
        subject=f"joint '{follower.name}'",
        severity="problem",
        check="mimic",
        expected=(
            f"limits that hold {coupling.requested[0]:.4g} … {coupling.requested[1]:.4g} {unit}, "
            f"{mimic.multiplier:g} x those of '{leader.name}' ({first:.4g} … {last:.4g}) "
            f"+ {mimic.offset:g}"
        ),
        actual=(
            f"{low:.4g} … {high:.4g} {unit}: '{leader.name}' can move {where}, "
            f"{100 * coupling.fraction:.3g} % of its range"
        ),
        numbers={name: value for name, value in numbers.items() if math.isfinite(value)},
        advice="give it the limits that it is asked for, or the multiplier another sign",
    )
