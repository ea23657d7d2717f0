"""Links and joints of a URDF robot as phalanges of a hand: shapes, masses, ranges, mimics, servos.

Masses are used as stated unless they cannot be true: a hand above 50 kg, a moving link without
inertial, or principal moments that no rigid body has. What is assumed instead is noted.

A mimic joint and its leader can disagree about their limits. If the follower's limits leave less
than ``SHARED`` of the leader's range, they are replaced by the range that the mimic requires; else
the leader stops where its follower would. URDF states how strong a joint is (effort) and nothing
about its servo; ``ServoRules`` holds the assumptions.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from softgrasp.description.base import text_with_unit
from softgrasp.description.bendable import Inertial
from softgrasp.description.geometry import Mesh, Part, Shape
from softgrasp.description.robot import Link, LinkShape, RigidJoint, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.mesh import stamp
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.robot_kinematics import in_frame, origin_frame, principal_moments
from softgrasp.mechanics.transforms import Array

ALONG = 1e-12
"""Difference below which directions are equal [–]."""
HEAVIEST_HAND = 50.0
"""Mass of a hand above which its masses are replaced [kg]."""
HULL_DENSITY = 1300.0
"""Density of the convex hulls of links that replaces masses [kg/m³]: the hulls of the Barrett hand
have 0.90 l, and the hand weighs 1.2 kg."""
BALL_DENSITY = 1000.0
"""Density of the ball whose inertia is used for a mass without inertia and shape [kg/m³]."""
EMPTY = Inertial(mass=1e-6, inertia=(1e-10, 1e-10, 1e-10, 0.0, 0.0, 0.0))
"""Inertia of an empty link between two joints: engines need moving bodies to have mass."""
ASSUMED = (
    f"no mass in the file; masses are those of the collision shapes at {HULL_DENSITY:g} kg/m³ (a "
    "YAML file with `model:` can set another density)"
)
"""End of the message about links without a mass."""
RATIO = 1e-6
"""Relative tolerance of the triangle inequality of moments of inertia: rounding in files."""
SHARED = 0.1
"""Fraction of the leader's range below which the limits of a follower are replaced [–]."""
SLACK = 1e-6
"""Tolerance of limits over the range [–]."""
UNREPORTED = 0.01
"""Fraction of the leader's range below which a loss of range is not reported [–]."""
GRAVITY = 9.81
"""[m/s²]"""
IMPLAUSIBLE = "implausible above"
"""Words of a message about an effort that is too large."""
Range = tuple[float, float]


def frame_along(axis: tuple[float, float, float]) -> Array:
    """Smallest rotation that takes z to a direction, (4, 4); about x for -z."""
    x, y, z = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    frame = np.eye(4)
    if z < -1.0 + ALONG:
        frame[:3, :3] = np.diag([1.0, -1.0, -1.0])
    elif z < 1.0 - ALONG:
        # Rodrigues: 1 + [v] + [v]²/(1 + z) with v = ez × axis = (−y, x, 0)
        skew = np.array([[0.0, 0.0, x], [0.0, 0.0, y], [-x, -y, 0.0]])
        frame[:3, :3] += skew + skew @ skew / (1.0 + z)
    return frame


def touching(link: Link) -> tuple[LinkShape, ...]:
    """Return the collision shapes of a link, or its visual shapes if it has none."""
    return link.collisions or link.visuals


def parts_of(link: Link, frame: Array) -> tuple[Part, ...]:
    """Return the collision shapes of a link in another frame, (4, 4) in the frame of the link."""
    back = np.linalg.inv(frame)
    return tuple(
        Part(shape=link_shape(body), pose=pose_of(back @ origin_frame(body.origin)))
        for body in touching(link)
    )


def believable_density(robot: Robot, density: float | None) -> float | None:
    """Return the stated density, or one that replaces implausible masses [kg/m³]; None without.

    Warns:
        SoftgraspWarning: The hand would weigh more than 50 kg.
    """
    total = math.fsum(link.inertial.mass for link in robot.links if link.inertial is not None)
    if density is not None or total <= HEAVIEST_HAND:
        return density
    warnings.warn(
        f"robot '{robot.name}': expected a hand of less than {HEAVIEST_HAND:g} kg, found "
        f"{total:,.6g} kg; its masses are replaced by those of its collision shapes at "
        f"{HULL_DENSITY:g} kg/m³ (a YAML file with `model:` can set another density)",
        SoftgraspWarning,
        stacklevel=2,
    )
    return HULL_DENSITY


def body_fields(
    link: Link, frame: Array, density: float | None, notes: list[str]
) -> dict[str, Any]:
    """Return the mass fields of a phalanx, with a note where it cannot collide."""
    if link.inertial is not None and not touching(link):
        notes.append(f"link '{link.name}' has a mass but no shape: it cannot collide")
    return mass_fields(link, frame, density, notes)


def mass_fields(
    link: Link, frame: Array, density: float | None, notes: list[str]
) -> dict[str, Any]:
    """Return ``inertial``, ``mass`` or ``density`` of a moving link; arguments as ``body_fields``.

    The same assumptions hold for the links of a hand, and for a robot that is converted.
    """
    shaped = bool(touching(link))
    if density is not None and shaped:
        return {"density": density}
    if link.inertial is None and shaped:
        _note_assumed_density(link, notes)
        return {"density": HULL_DENSITY}
    if link.inertial is None:
        notes.append(f"link '{link.name}' has no body; its mass is set to {1e3 * EMPTY.mass:g} g")
        return {"inertial": EMPTY}
    back = np.asarray(np.linalg.inv(frame), dtype=float)
    if is_possible(link.inertial):
        return {"inertial": in_frame(link.inertial, back)}
    return _without_inertia(link, frame, shaped, notes)


def _note_assumed_density(link: Link, notes: list[str]) -> None:
    """Add a link without a mass to the message about all of them."""
    known = next((index for index, note in enumerate(notes) if note.endswith(ASSUMED)), None)
    if known is None:
        notes.append(f"link '{link.name}': {ASSUMED}")
        return
    names = notes[known].removesuffix(f": {ASSUMED}")
    names = names.replace("link ", "links ", 1) if names.startswith("link ") else names
    notes[known] = f"{names}, '{link.name}': {ASSUMED}"


def is_possible(inertial: Inertial) -> bool:
    """Return whether an inertia is physical: moments positive, none above the sum of the others."""
    if inertial.inertia is None:
        return False
    small, middle, large = principal_moments(inertial).tolist()
    return bool(small > 0.0 and small + middle >= large * (1.0 - RATIO))


def link_shape(part: LinkShape) -> Shape:
    """Return a shape of a link, of which a mesh is stamped and touches by its hull."""
    shape = part.shape
    return stamp(shape.replace(collision="link")) if isinstance(shape, Mesh) else shape


def _without_inertia(link: Link, frame: Array, shaped: bool, notes: list[str]) -> dict[str, Any]:
    """Mass fields of a link whose inertia is missing or not physical."""
    assert link.inertial is not None
    mass, reason = link.inertial.mass, "states no inertia"
    if link.inertial.inertia is not None:
        moments = ", ".join(f"{moment:.3g}" for moment in principal_moments(link.inertial))
        reason = f"states principal moments of inertia {moments} kg·m², which are not physical"
    if shaped:
        notes.append(f"link '{link.name}' {reason}; its inertia is that of its shape")
        return {"mass": mass}
    radius = (3.0 * mass / (4.0 * math.pi * BALL_DENSITY)) ** (1.0 / 3.0)
    moment = 0.4 * mass * radius**2
    notes.append(f"link '{link.name}' {reason}; its inertia is that of a ball of water")
    ball = link.inertial.replace(inertia=(moment, moment, moment, 0.0, 0.0, 0.0))
    return {"inertial": in_frame(ball, np.asarray(np.linalg.inv(frame), dtype=float))}


class Followed(NamedTuple):
    """Leader of a mimic joint, resolved through chains of mimic joints."""

    leader: str
    """Joint without mimic."""
    ratio: float
    offset: float

    def image(self, leader: Range) -> Range:
        """Map a range of the leader to the range of its follower."""
        ends = [self.ratio * end + self.offset if self.ratio else self.offset for end in leader]
        return (min(ends), max(ends))

    def allowed(self, limits: Range, leader: Range) -> Range:
        """Return the part of the leader's range that its follower's limits allow.

        The lower end is above the upper one where nothing is allowed.
        """
        low, high = limits
        if self.ratio == 0.0:
            return leader if low <= self.offset <= high else (math.inf, -math.inf)
        ends = sorted((end - self.offset) / self.ratio + 0.0 for end in limits)  # no -0
        return (max(ends[0], leader[0]), min(ends[1], leader[1]))

    def fraction(self, limits: Range, leader: Range) -> float:
        """Fraction of the leader's range that its follower's limits allow [–]."""
        low, high = self.allowed(limits, leader)
        width = leader[1] - leader[0]
        if 0.0 < width < math.inf:
            return max(0.0, high - low) / width
        first, last = self.image(leader)
        return float(limits[0] <= first and last <= limits[1])


class ServoRules(NamedTuple):
    """Assumptions about the servos of a hand or an arm."""

    tip_force: float
    """Force at the end of a chain for a joint without effort [N]."""
    max_effort: tuple[float, float]
    """Largest plausible effort of a revolute [N·m] and a prismatic joint [N]."""
    max_tip_force: float = math.inf
    """Largest plausible force at the end of a chain of light links [N]."""
    max_force_over_weight: float = 100.0
    """The same for heavy links, over the weight of the links that the joint moves [–]."""
    full_effort_error: tuple[float, float] = (0.17453292519943295, 5e-3)
    """Position error at full effort: 10° [rad], 5 mm [m]."""
    bandwidth: float = 100.0
    """Natural frequency limit that defines the reflected inertia of an actuator [rad/s]."""
    min_armature: tuple[float, float] = (3e-3, 0.1)
    """Smallest reflected inertia of an actuator [kg·m², kg]."""
    continuous_range: tuple[float, float] | None = None
    """Range of a continuous joint [rad]; None refuses such joints."""


HAND = ServoRules(tip_force=15.0, max_effort=(100.0, 2000.0), max_tip_force=500.0)
"""Strong two-finger grippers of about 1 kg close with 235 N, pneumatic ones with up to 500 N."""
ARM = ServoRules(
    tip_force=100.0, max_effort=(5000.0, 50000.0), continuous_range=(-math.tau, math.tau)
)
FOLLOWER_ARMATURE = (1e-4, 1e-2)
"""Armature of a mimic joint [kg·m², kg]; that of the actuator is at the leader."""


# Mimic joints and ranges
def follow(robot: Robot) -> dict[str, Followed]:
    """Determine the leader of each mimic joint, by joint name.

    Raises:
        DescriptionError: Mimic joints form a cycle, or follow a fixed joint.
    """
    by_name = {joint.name: (index, joint) for index, joint in enumerate(robot.joints)}
    followers = {}
    for name, (index, joint) in by_name.items():
        if joint.mimic is None or joint.type == "fixed":
            continue
        ratio, offset, seen, at = 1.0, 0.0, [name], joint
        while at.mimic is not None:
            # joint = ratio·at + offset and at = multiplier·next + its offset
            offset += ratio * at.mimic.offset
            ratio *= at.mimic.multiplier
            at = by_name[at.mimic.joint][1]
            if at.name in seen:
                what = f"a leader that does not follow it, found a cycle through '{at.name}'"
                raise _wrong(index, what)
            seen.append(at.name)
        if at.type == "fixed":
            raise _wrong(index, f"a joint that moves, found the fixed joint '{at.name}'")
        followers[name] = Followed(at.name, ratio, offset)
    return followers


def ranges(
    robot: Robot,
    follows: Mapping[str, Followed],
    continuous_range: Range | None = None,
    wrist: Collection[str] = (),
) -> dict[str, Range]:
    """Determine the range of each moving joint [rad or m], consistent with its mimics.

    Args:
        robot: The robot.
        follows: Leaders of mimic joints.
        continuous_range: Range of continuous joints; None refuses them.
        wrist: Joints that grasps keep still, which may be continuous nevertheless.

    Raises:
        DescriptionError: An actuated joint has no limits.

    Warns:
        SoftgraspWarning: The limits of a follower and its leader disagree.
    """
    moving = {joint.name: joint for joint in robot.joints if joint.type != "fixed"}
    ranges_by_joint: dict[str, Range] = {}
    for index, joint in enumerate(robot.joints):
        if joint.name in moving and joint.name not in follows:
            allowed = ARM.continuous_range if joint.name in wrist else continuous_range
            ranges_by_joint[joint.name] = _read_range(index, joint, allowed)
    stated = {name: moving[name] for name in follows if moving[name].lower is not None}
    shared = {
        name: follows[name].fraction(limits_of(joint), ranges_by_joint[follows[name].leader])
        for name, joint in stated.items()
    }
    for name, joint in stated.items():
        if shared[name] >= SHARED:
            _narrow(joint, follows[name], ranges_by_joint)
    for name, follow in follows.items():
        joint, leader = moving[name], ranges_by_joint[follow.leader]
        requested = follow.image(leader)
        if shared.get(name, 1.0) < SHARED:
            fraction = follow.fraction(limits_of(joint), leader)
            _warn(
                f"{_asks(joint, follow, requested)}, which allows {100.0 * fraction:.0f} % of the "
                f"leader's range; the limits are replaced by {_range_text(joint, requested)}"
            )
        is_kept = shared.get(name, 0.0) >= SHARED
        ranges_by_joint[name] = limits_of(joint) if is_kept else requested
    return ranges_by_joint


def _read_range(index: int, joint: RigidJoint, continuous_range: Range | None) -> Range:
    if joint.lower is None or joint.upper is None:
        if continuous_range is not None:
            return continuous_range
        raise DescriptionError(
            f"expected limits of joint '{joint.name}', which is actuated, found a {joint.type} "
            f"joint without; a YAML file with `model:` can set them: joints: {{{joint.name}: "
            "{limits: [low, high]}}",
            location=("joints", index, "type"),
        )
    return limits_of(joint)


def limits_of(joint: RigidJoint) -> Range:
    """Return the limits of a joint [rad or m]; infinite where it has none."""
    low, high = joint.lower, joint.upper
    return (-math.inf, math.inf) if low is None or high is None else (low, high)


def _narrow(joint: RigidJoint, follow: Followed, joint_ranges: dict[str, Range]) -> None:
    """Restrict the range of a leader to that of its follower."""
    leader = joint_ranges[follow.leader]
    slack = SLACK * (leader[1] - leader[0])
    low, high = follow.allowed(limits_of(joint), leader)
    if low <= leader[0] + slack and high >= leader[1] - slack:
        return
    joint_ranges[follow.leader] = (low, max(low, high))
    if high - low >= (1.0 - UNREPORTED) * (leader[1] - leader[0]):
        return
    _warn(
        f"{_asks(joint, follow, follow.image(leader))}; '{follow.leader}' stops at "
        f"{_range_text(joint, (low, max(low, high)))} instead of {_range_text(joint, leader)}"
    )


def _asks(joint: RigidJoint, follow: Followed, requested: Range) -> str:
    plus = f" {follow.offset:+g}" if follow.offset else ""
    return (
        f"joint '{joint.name}' follows {follow.ratio:g} · '{follow.leader}'{plus} over "
        f"{_range_text(joint, requested)}, but its limits are "
        f"{_range_text(joint, limits_of(joint))}"
    )


def _range_text(joint: RigidJoint, both: Range) -> str:
    return text_with_unit("m" if joint.type == "prismatic" else "rad", both)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, SoftgraspWarning, stacklevel=2)


def _wrong(index: int, what: str) -> DescriptionError:
    return DescriptionError(f"expected {what}", location=("joints", index, "mimic", "joint"))


# Servos
def servo_fields(
    joint: RigidJoint, reach: float, mass: float, rules: ServoRules, notes: list[str]
) -> dict[str, Any]:
    """Return the servo fields of a phalanx that moves chains of a length [m] and mass [kg].

    ``force_limit`` is the effort; if that is missing, 0 or not ``believable``, it is the torque for
    ``rules.tip_force`` at the end of the chain. The servo reaches it at
    ``rules.full_effort_error``.
    """
    linear = joint.type == "prismatic"
    limit, doubt = joint.effort or 0.0, effort_doubt(joint, reach, mass, rules)
    if doubt:
        unit = "N" if linear else "N·m"
        limit = rules.tip_force * (1.0 if linear else max(reach, 1e-3))
        notes.append(
            f"joint '{joint.name}' states {doubt}: its actuator is limited to {limit:.3g} "
            f"{unit}, {rules.tip_force:g} N at the end of each chain that it moves"
        )
    stiffness = limit / rules.full_effort_error[linear]
    return {
        "force_limit": limit,
        "servo_stiffness": stiffness,
        "armature": max(rules.min_armature[linear], stiffness / rules.bandwidth**2),
    }


def effort_doubt(joint: RigidJoint, reach: float, mass: float, rules: ServoRules) -> str:
    """Describe why the effort of a joint is implausible for its reach [m] and mass [kg], or "".

    It is implausible beyond ``rules.max_effort``, and where the force at the end of the chains
    exceeds both ``rules.max_tip_force`` and ``rules.max_force_over_weight``.
    """
    linear, effort = joint.type == "prismatic", joint.effort
    unit = "N" if linear else "N·m"
    if not effort:
        return "no effort" if effort is None else f"an effort of 0 {unit}"
    text, max_effort = f"an effort of {effort:g} {unit}", rules.max_effort[linear]
    force = effort if linear else effort / max(reach, 1e-3)
    bound = max(rules.max_tip_force, rules.max_force_over_weight * GRAVITY * mass)
    if force > bound:
        return f"{text}, {force:.3g} N at the end of each chain, {IMPLAUSIBLE} {bound:.3g} N"
    return f"{text}, {IMPLAUSIBLE} {max_effort:g} {unit}" if effort > max_effort else ""


def joint_fields(joint: RigidJoint, limits: tuple[float, float]) -> dict[str, Any]:
    """Joint fields of a phalanx."""
    low, high = limits
    return {
        "joint": "prismatic" if joint.type == "prismatic" else "revolute",
        "limits": limits,
        "start": min(max(0.0, low), high),
        "damping": joint.damping,
        "friction_loss": joint.friction,
    }
