"""Which link of a robot is the palm, and which chains of joints are fingers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from softgrasp.description.base import Vec3, text_with_unit
from softgrasp.description.bendable import Inertial
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.geometry import Mesh, Part, Pose, Shape
from softgrasp.description.robot import Link, LinkShape, RigidJoint, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.hand_sanity import surface_points
from softgrasp.io.mesh import stamped
from softgrasp.mechanics.robot_kinematics import LinkPose, in_frame, origin_frame, principal_moments
from softgrasp.mechanics.transforms import Array, position_of, quaternion_of

WRIST = "wrist"


class Chain(NamedTuple):
    """Joints one behind the other, none of whose links but the last one branches."""

    name: str
    on: str
    """The link on which its first joint stands."""
    joints: tuple[RigidJoint, ...]


class HandTree(NamedTuple):
    """A robot without fixed joints as a palm with chains."""

    root: str
    """The link that stands still."""
    palm: str
    """The link from which the fingers branch: the root, or the last one of the wrist."""
    chains: tuple[Chain, ...]
    """The wrist first, where there is one; then fingers, each behind what it stands on."""


def hand_tree(robot: Robot) -> HandTree:
    """Find palm, wrist and fingers.

    The palm is the first link from the root outwards that carries more than one moving joint; the
    joints before it are the wrist. A robot that never branches is one finger on its root.
    """
    before, palm = _run(robot, robot.root)
    fingers = list(_chains(robot, palm))
    if not fingers:  # one chain that never branches
        return HandTree(robot.root, robot.root, _named([Chain("", robot.root, before)]))
    wrist = [Chain(WRIST, robot.root, before)] if before else []
    return HandTree(robot.root, palm, _named([*wrist, *fingers]))


def _chains(robot: Robot, link: str) -> Iterator[Chain]:
    """The chains that begin on a link, each followed by those on its end."""
    for joint in _on(robot, link):
        behind, last = _run(robot, joint.child)
        yield Chain("", link, (joint, *behind))
        yield from _chains(robot, last)


def _run(robot: Robot, link: str) -> tuple[tuple[RigidJoint, ...], str]:
    """The joints from a link outwards to the first link that carries none or several."""
    chain: list[RigidJoint] = []
    while len(on_it := _on(robot, link)) == 1:
        chain.append(on_it[0])
        link = on_it[0].child
    return tuple(chain), link


def _on(robot: Robot, link: str) -> list[RigidJoint]:
    return [joint for joint in robot.joints if joint.parent == link]


def _named(chains: Sequence[Chain]) -> tuple[Chain, ...]:
    """Chains called by what the names of their links begin with alike."""
    preferred = [chain.name or _common([joint.child for joint in chain.joints]) for chain in chains]
    named: list[Chain] = []
    for chain, name in zip(chains, preferred, strict=True):
        unique = name if preferred.count(name) == 1 else chain.joints[0].child
        named.append(chain._replace(name=unique))
    return tuple(named)


def _common(links: Sequence[str]) -> str:
    """The words that the names of links begin with alike; the first name where there are none.

    ``index_L1`` and ``index_L2`` make ``index``.
    """
    words = [name.split("_") for name in links]
    alike = []
    for column in zip(*words, strict=False):
        if len(set(column)) > 1:
            break
        alike.append(column[0])
    return "_".join(alike) or links[0]


# --------------------
# The shapes of URDF links as parts of a hand, seen from a frame turned onto the joint's axis.


ALONG = 1e-12
"""Directions that differ by less are one."""


def pose_of(frame: Array) -> Pose:
    """A frame (4, 4) as a pose."""
    return Pose(position=position_of(frame), quaternion=quaternion_of(frame))


def frame_along(axis: tuple[float, float, float]) -> Array:
    """The shortest turn that takes z to a direction, (4, 4); about x where it is −z."""
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
    """What of a link touches: its collision shapes, or what is seen where it has none."""
    return link.collisions or link.visuals


def parts_of(link: Link, frame: Array) -> tuple[Part, ...]:
    """The touching shapes of a link.

    Args:
        link: The link.
        frame: The new frame in the link's own one, (4, 4).
    """
    back = np.linalg.inv(frame)
    return tuple(
        Part(shape=_shape(one), pose=pose_of(back @ origin_frame(one.origin)))
        for one in touching(link)
    )


def _shape(part: LinkShape) -> Shape:
    shape = part.shape
    if isinstance(shape, Mesh):
        return stamped(shape.replace(collision="link"))
    return shape


# --------------------
# Joints that follow others: what ``<mimic>`` asks for, and whether limits allow it.
#
# Where the printed ranges share almost nothing with what the leader asks for, the mechanism is
# believed and the follower's limits are replaced; where they share most of it, the leader stops
# where the follower would.


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


# --------------------
# Masses of the links of a URDF robot: as stated, or from their shapes where they cannot be.


HEAVIEST_HAND = 50.0
"""Mass of a hand above which none of its masses is believed [kg]."""
HULL_DENSITY = 1300.0
"""Density of the convex hulls of links where masses cannot be believed [kg/m³]: those of the
Barrett hand hold 0.90 l, and the hand weighs 1.2 kg."""
BALL_DENSITY = 1000.0
"""Of the ball whose inertia a mass without inertia and shape gets [kg/m³]."""
EMPTY = Inertial(mass=1e-6, inertia=(1e-10, 1e-10, 1e-10, 0.0, 0.0, 0.0))
"""Of a link without body between two joints: engines need moving bodies to have some mass."""
RATIO = 1e-6
"""Part by which moments of inertia may break the triangle inequality: digits of a file."""


def total_mass(links: Sequence[Link]) -> float:
    """Mass of all links that state one [kg]."""
    return math.fsum(link.inertial.mass for link in links if link.inertial is not None)


def believable_density(robot: Robot, density: float | None) -> float | None:
    """The density that holds instead of stated masses [kg/m³], None where these are believed.

    Args:
        robot: The hand.
        density: What a side file says.

    Warns:
        SoftgraspWarning: The hand would weigh more than 50 kg.
    """
    total = total_mass(robot.links)
    if density is not None or total <= HEAVIEST_HAND:
        return density
    warnings.warn(
        f"robot '{robot.name}': expected a hand of less than {HEAVIEST_HAND:g} kg, found "
        f"{total:,.6g} kg; its masses are not believed: its links weigh what their collision "
        f"shapes weigh at {HULL_DENSITY:g} kg/m³ (density in a side file says otherwise)",
        SoftgraspWarning,
        stacklevel=2,
    )
    return HULL_DENSITY


def body_fields(
    link: Link, frame: Array, density: float | None, *, index: int, carries: bool, notes: list[str]
) -> dict[str, Any]:
    """The fields of a row that say its mass.

    Args:
        link: A moving link.
        frame: The row's frame in the link's own one, (4, 4).
        density: Holds instead of a stated mass [kg/m³].
        index: Number of the link in its robot.
        carries: Whether a joint hangs on it.
        notes: Gets a sentence where something is assumed.

    Raises:
        DescriptionError: It has neither inertial nor a density for its shapes.
    """
    shaped = bool(touching(link))
    if density is not None and shaped:
        return {"density": density}
    if link.inertial is None:
        if shaped or not carries:
            raise DescriptionError(
                "expected an <inertial>, as the link moves, found none; a side file can give a "
                "density [kg/m³] for all links",
                field=f"link '{link.name}'",
                location=("links", index),
            )
        notes.append(f"link '{link.name}' has no body; it weighs {1e3 * EMPTY.mass:g} g")
        return {"inertial": EMPTY}
    if not shaped:
        notes.append(f"link '{link.name}' has a mass but no shape: it touches nothing")
    back = np.asarray(np.linalg.inv(frame), dtype=float)
    if is_possible(link.inertial):
        return {"inertial": in_frame(link.inertial, back)}
    return _without_inertia(link, frame, shaped, notes)


def is_possible(inertial: Inertial) -> bool:
    """Whether some body can have this inertia: moments above 0, none above the two others'."""
    if inertial.inertia is None:
        return False
    small, middle, large = principal_moments(inertial).tolist()
    return bool(small > 0.0 and small + middle >= large * (1.0 - RATIO))


def _without_inertia(link: Link, frame: Array, shaped: bool, notes: list[str]) -> dict[str, Any]:
    """A mass whose inertia no body can have."""
    assert link.inertial is not None
    mass, reason = link.inertial.mass, "states no inertia"
    if link.inertial.inertia is not None:
        moments = ", ".join(f"{moment:.3g}" for moment in principal_moments(link.inertial))
        reason = f"states principal moments of inertia {moments} kg·m², which no body has"
    if shaped:
        notes.append(f"link '{link.name}' {reason}; its inertia is that of its shape")
        return {"mass": mass}
    radius = (3.0 * mass / (4.0 * math.pi * BALL_DENSITY)) ** (1.0 / 3.0)
    moment = 0.4 * mass * radius**2
    notes.append(f"link '{link.name}' {reason}; its inertia is that of a ball of water")
    ball = link.inertial.replace(inertia=(moment, moment, moment, 0.0, 0.0, 0.0))
    return {"inertial": in_frame(ball, np.asarray(np.linalg.inv(frame), dtype=float))}


# --------------------
# Position servos for joints: URDF says how strong a joint is, and nothing of how it is held.


class ServoRules(NamedTuple):
    """What a kind of machine is taken to have where its file does not say."""

    press: float
    """Force at the end of a chain that a joint without effort can hold [N]."""
    strongest: tuple[float, float]
    """Effort above which a revolute [N·m] and a prismatic joint [N] is not believed."""
    give: tuple[float, float] = (0.17453292519943295, 5e-3)
    """Error at which a servo gives all its effort: 10° [rad], 5 mm [m]."""
    bandwidth: float = 100.0
    """Natural frequency that the reflected inertia of a drive allows it [rad/s]."""
    min_armature: tuple[float, float] = (3e-3, 0.1)
    """Reflected inertia of a weak drive [kg·m², kg]."""
    endless: tuple[float, float] | None = None
    """Range of a continuous joint that states none [rad]; refused where there is none."""


HAND = ServoRules(press=15.0, strongest=(100.0, 2000.0))
ARM = ServoRules(press=100.0, strongest=(5000.0, 50000.0), endless=(-math.tau, math.tau))

FOLLOWER_ARMATURE = (1e-4, 1e-2)
"""Inertia of a joint that follows another one [kg·m², kg]; its drive's is at the leader."""


def servo_fields(
    joint: RigidJoint, reach: float, rules: ServoRules, notes: list[str]
) -> dict[str, Any]:
    """The fields of a row that say its servo.

    ``force_limit`` is the effort; an effort that is missing, 0 or absurd becomes what presses with
    ``rules.press`` at the end of the chain. kp gives it at ``rules.give``.

    Args:
        joint: A joint with a drive.
        reach: Length of the chains that it moves, added up [m].
        rules: Defaults.
        notes: Gets a sentence where the effort is assumed.
    """
    linear = joint.type == "prismatic"
    unit = "N" if linear else "N·m"
    limit = joint.effort or 0.0
    if not 0.0 < limit <= rules.strongest[linear]:
        effort_text = (
            "no effort" if joint.effort is None else f"an effort of {joint.effort:g} {unit}"
        )
        limit = rules.press * (1.0 if linear else max(reach, 1e-3))
        notes.append(
            f"joint '{joint.name}' states {effort_text}: its drive gives up to {limit:.3g} {unit}, "
            f"{rules.press:g} N at the end of each chain that it moves"
        )
    stiffness = limit / rules.give[linear]
    return {
        "force_limit": limit,
        "servo_stiffness": stiffness,
        "armature": max(rules.min_armature[linear], stiffness / rules.bandwidth**2),
    }


def joint_fields(joint: RigidJoint, limits: tuple[float, float]) -> dict[str, Any]:
    """The fields of a row that say its joint."""
    low, high = limits
    return {
        "joint": "prismatic" if joint.type == "prismatic" else "revolute",
        "limits": limits,
        "start": min(max(0.0, low), high),
        "damping": joint.damping,
        "friction_loss": joint.friction,
    }


# --------------------
# Chains of URDF joints as fingers of placed rows, z turned onto each joint's axis.


FAR_END = 0.97
"""Points beyond this part of the largest distance from the joint are the end of a link [–]."""


@dataclass
class Machine:
    """What is known of a robot while its chains are made; notes grow."""

    robot: Robot
    """Without fixed joints."""
    link_poses: Mapping[str, LinkPose]
    """Where the links of the file went."""
    follows: Mapping[str, Followed]
    ranges: Mapping[str, Range]
    density: float | None
    rules: ServoRules
    bodies: Mapping[str, str]
    """What links are called."""
    joint_names: Mapping[str, str]
    notes: list[str] = field(default_factory=list)
    tips: dict[str, Vec3] = field(default_factory=dict)
    """Ends of links that were looked for already."""

    def row_frame(self, link: str) -> Array:
        """The frame of a link's row in the link's own one, (4, 4)."""
        moving = next((joint for joint in self.robot.joints if joint.child == link), None)
        return np.eye(4) if moving is None else frame_along(moving.axis)

    def origin(self, joint: RigidJoint) -> Array:
        """The row of a joint at zero in that of its parent link, (4, 4)."""
        back = np.linalg.inv(self.row_frame(joint.parent))
        return np.asarray(back @ origin_frame(joint.origin) @ self.row_frame(joint.child))


def finger_of(machine: Machine, chain: Chain, on: str) -> Finger:
    """A chain as a finger, with the bodies and joints called as the machine says.

    Args:
        machine: The robot.
        chain: Its joints.
        on: What the body is called on which it stands; "" for the palm.
    """
    first, last = chain.joints[0], chain.joints[-1]
    rows = tuple(_row(machine, joint, is_first=joint is first) for joint in chain.joints)
    return Finger(
        name=chain.name,
        on=on,
        base=pose_of(machine.origin(first)),
        convention="placed",
        phalanges=rows,
        tip=_tip(machine, last.child),
        verbatim_names=True,
    )


def _row(machine: Machine, joint: RigidJoint, *, is_first: bool) -> Phalanx:
    names = [link.name for link in machine.robot.links]
    index = names.index(joint.child)
    link, frame = machine.robot.links[index], machine.row_frame(joint.child)
    parts = parts_of(link, frame)
    if link.visuals and not link.collisions:
        machine.notes.append(f"link '{link.name}' has no <collision>: what is seen touches")
    carries = any(other.parent == link.name for other in machine.robot.joints)
    shape = {} if not parts else {"shape": parts[0].shape, "shape_pose": parts[0].pose}
    follower = joint.name in machine.follows
    return Phalanx(
        name=machine.bodies[link.name],
        joint_name=machine.joint_names[joint.name],
        **({} if is_first else {"origin": pose_of(machine.origin(joint))}),
        **joint_fields(joint, machine.ranges[joint.name]),
        **(_following(joint) if follower else _driven(machine, joint)),
        **shape,
        parts=parts[1:],
        **body_fields(
            link, frame, machine.density, index=index, carries=carries, notes=machine.notes
        ),
    )


def _following(joint: RigidJoint) -> dict[str, float | bool]:
    return {"driven": False, "armature": FOLLOWER_ARMATURE[joint.type == "prismatic"]}


def _driven(machine: Machine, joint: RigidJoint) -> dict[str, float]:
    moved = [joint, *(j for j in machine.robot.joints if _leads(machine, joint, j))]
    reach = sum(_reach(machine, one.child) for one in moved if _is_outermost(machine, one, moved))
    return servo_fields(joint, reach, machine.rules, machine.notes)


def _leads(machine: Machine, joint: RigidJoint, other: RigidJoint) -> bool:
    follow = machine.follows.get(other.name)
    return follow is not None and follow.leader == joint.name


def _is_outermost(machine: Machine, joint: RigidJoint, moved: list[RigidJoint]) -> bool:
    """Whether none of the other joints carries this one: of a finger, the first one counts."""
    parents = {other.child: other.parent for other in machine.robot.joints}
    above, link = [], joint.parent
    while link in parents:
        above.append(link)
        link = parents[link]
    return not any(other is not joint and other.child in above for other in moved)


def _reach(machine: Machine, link: str) -> float:
    """Length of the longest chain from a link outwards [m]."""
    ends = [
        float(np.linalg.norm(joint.origin.xyz)) + _reach(machine, joint.child)
        for joint in machine.robot.joints
        if joint.parent == link
    ]
    return max(ends, default=float(np.linalg.norm(_tip(machine, link))))


def _tip(machine: Machine, link: str) -> Vec3:
    """End of a link in its row's frame: the one empty link fixed to it, or its far end."""
    if link not in machine.tips:
        machine.tips[link] = _detected_tip(machine, link)
    return machine.tips[link]


def _detected_tip(machine: Machine, link: str) -> Vec3:
    marks, frame = _marks(machine, link), machine.row_frame(link)
    link_element = next(one for one in machine.robot.links if one.name == link)
    end = np.zeros(3)
    if len(marks) == 1:
        end = (np.linalg.inv(frame) @ marks[0].frame)[:3, 3]
    elif touching(link_element):
        points = surface_points([(p.shape, p.pose) for p in parts_of(link_element, frame)])
        far = np.linalg.norm(points, axis=1)
        end = points[far >= FAR_END * far.max()].mean(axis=0)
    elif link_element.inertial is not None:
        end = frame[:3, :3].T @ link_element.inertial.origin.xyz
    x, y, z = end.tolist()
    return (x, y, z)


def _marks(machine: Machine, link: str) -> list[LinkPose]:
    """Where links of the file were fixed to a link that carries no joint, as its end."""
    carried = any(joint.parent == link for joint in machine.robot.joints)
    attached = [
        frame for name, frame in machine.link_poses.items() if frame.link == link and name != link
    ]
    return [] if carried else attached
