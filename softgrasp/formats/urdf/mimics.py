"""Joints that follow others: what ``<mimic>`` asks for, and whether limits allow it.

Where the printed ranges share almost nothing with what the leader asks for, the mechanism is
believed and the follower's limits are replaced; where they share most of it, the leader stops
where the follower would.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import NamedTuple

from softgrasp.description.base import text_with_unit
from softgrasp.description.robot import RigidJoint, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning

SHARED = 0.1
"""Share of the leader's range below which a follower's limits are taken for wrong [–]."""
SLACK = 1e-6
"""Part of a range by which limits may be missed [–]."""

Range = tuple[float, float]


class Followed(NamedTuple):
    """What a joint follows, over all joints between."""

    leader: str
    """The joint that follows none."""
    ratio: float
    offset: float


def followed(robot: Robot) -> dict[str, Followed]:
    """What each joint with a mimic follows in the end, by its name.

    Raises:
        DescriptionError: A joint follows itself over others, or one that is fixed.
    """
    by_name = {joint.name: (index, joint) for index, joint in enumerate(robot.joints)}
    followers = {}
    for name, (index, joint) in by_name.items():
        if joint.mimic is None or joint.type == "fixed":
            continue
        ratio, offset, seen, at = 1.0, 0.0, [name], joint
        while at.mimic is not None:
            # own = ratio·at + offset and at = multiplier·next + its offset
            offset += ratio * at.mimic.offset
            ratio *= at.mimic.multiplier
            at = by_name[at.mimic.joint][1]
            if at.name in seen:
                raise _wrong(
                    index, f"a leader that does not follow it, found a circle through '{at.name}'"
                )
            seen.append(at.name)
        if at.type == "fixed":
            raise _wrong(index, f"a joint that moves, found the fixed joint '{at.name}'")
        followers[name] = Followed(at.name, ratio, offset)
    return followers


def ranges(
    robot: Robot, follows: Mapping[str, Followed], endless: Range | None = None
) -> dict[str, Range]:
    """Range of each moving joint [rad or m], such that followers can follow.

    Args:
        robot: The robot.
        follows: What follows what.
        endless: Range of a continuous joint that states none; refused where it is not given.

    Raises:
        DescriptionError: A joint with a drive has no limits.

    Warns:
        SoftgraspWarning: A follower's range does not allow what its leader's asks for.
    """
    moving = {joint.name: joint for joint in robot.joints if joint.type != "fixed"}
    ranges_by_joint: dict[str, Range] = {}
    for index, joint in enumerate(robot.joints):
        if joint.name in moving and joint.name not in follows:
            ranges_by_joint[joint.name] = _stated_range(index, joint, endless)
    printed = {name: moving[name] for name in follows if moving[name].lower is not None}
    wrong = {
        name
        for name, joint in printed.items()
        if _reachable_fraction(joint, follows[name], ranges_by_joint) < SHARED
    }
    for name, joint in printed.items():
        if name not in wrong:
            _narrow(joint, follows[name], ranges_by_joint)
    for name, follow in follows.items():
        requested = _image(ranges_by_joint[follow.leader], follow)
        joint = moving[name]
        if name in wrong:
            _warn_replaced(joint, follow, requested, ranges_by_joint[follow.leader])
        ranges_by_joint[name] = (
            requested if name in wrong or joint.lower is None else _limits(joint)
        )
    return ranges_by_joint


def _stated_range(index: int, joint: RigidJoint, endless: Range | None) -> Range:
    if joint.lower is None or joint.upper is None:
        if endless is not None:
            return endless
        raise DescriptionError(
            f"expected limits of joint '{joint.name}', which has a drive, found a {joint.type} "
            f"joint without; a side file can give them: joints: {{{joint.name}: "
            "{limits: [low, high]}}",
            location=("joints", index, "type"),
        )
    return _limits(joint)


def _limits(joint: RigidJoint) -> Range:
    assert joint.lower is not None
    assert joint.upper is not None
    return (joint.lower, joint.upper)


def _image(leader: Range, follow: Followed) -> Range:
    """Where a follower goes while its leader goes through its range."""
    ends = [follow.ratio * end + follow.offset for end in leader]
    return (min(ends), max(ends))


def _allowed(joint: RigidJoint, follow: Followed, leader: Range) -> Range:
    """Where a leader can go within its range while a follower stays within its own one."""
    if follow.ratio == 0.0:
        return leader
    ends = [(end - follow.offset) / follow.ratio for end in _limits(joint)]
    return (max(leader[0], min(ends)), min(leader[1], max(ends)))


def _reachable_fraction(
    joint: RigidJoint, follow: Followed, ranges_found: Mapping[str, Range]
) -> float:
    """Part of the leader's range that a follower allows [–]."""
    leader = ranges_found[follow.leader]
    low, high = _allowed(joint, follow, leader)
    whole = leader[1] - leader[0]
    return max(0.0, high - low) / whole if whole > 0.0 else 1.0


def _narrow(joint: RigidJoint, follow: Followed, ranges_found: dict[str, Range]) -> None:
    """Stop a leader where its follower would."""
    leader = ranges_found[follow.leader]
    slack = SLACK * (leader[1] - leader[0])
    low, high = _allowed(joint, follow, leader)
    if low <= leader[0] + slack and high >= leader[1] - slack:
        return
    ranges_found[follow.leader] = (low, max(low, high))
    _warn(
        f"{_asks(joint, follow, _image(leader, follow))}; '{follow.leader}' stops at "
        f"{_range_text(joint, (low, max(low, high)))} instead of {_range_text(joint, leader)}"
    )


def _warn_replaced(joint: RigidJoint, follow: Followed, requested: Range, leader: Range) -> None:
    fraction = _reachable_fraction(joint, follow, {follow.leader: leader})
    _warn(
        f"{_asks(joint, follow, requested)}, which allows {100.0 * fraction:.0f} % of the leader's way; "
        f"the mechanism is believed, its limits become {_range_text(joint, requested)}"
    )


def _asks(joint: RigidJoint, follow: Followed, requested: Range) -> str:
    plus = f" {follow.offset:+g}" if follow.offset else ""
    return (
        f"joint '{joint.name}' follows {follow.ratio:g} · '{follow.leader}'{plus} over "
        f"{_range_text(joint, requested)}, but its own range is {_range_text(joint, _limits(joint))}"
    )


def _range_text(joint: RigidJoint, both: Range) -> str:
    return text_with_unit("m" if joint.type == "prismatic" else "rad", both)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, SoftgraspWarning, stacklevel=2)


def _wrong(index: int, what: str) -> DescriptionError:
    return DescriptionError(f"expected {what}", location=("joints", index, "mimic", "joint"))
