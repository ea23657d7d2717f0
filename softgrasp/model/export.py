"""One hand in either Denavit–Hartenberg convention, its bodies and joint axes where they were.

``standard`` takes a step along the joint axis, then one along the link; ``modified`` the other way
round. With the rows cut between the two steps, a and alpha move one row outwards, d and theta stay;
what is left over at the ends goes into the tip (modified) or into the base (standard):

    base · [Rz(θ₁) Tz(d₁) Tx(a₁) Rx(α₁)] · … = base · [Rz(θ₁) Tz(d₁)] · [Tx(a₁) Rx(α₁) …] · …
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softgrasp.description.actuation import Coupling
from softgrasp.description.base import Vec3, Vec4, either
from softgrasp.description.bendable import Inertial, Origin
from softgrasp.description.finger import ZERO_LENGTH, Convention, Finger, Phalanx
from softgrasp.description.geometry import (
    Capsule,
    Cuboid,
    Cylinder,
    Ellipsoid,
    Mesh,
    Part,
    Pose,
    Shape,
    Sphere,
    Superellipsoid,
)
from softgrasp.description.hand import Hand
from softgrasp.description.robot import Link as robot_Link
from softgrasp.description.robot import LinkGeometry, LinkShape, Mimic, RigidJoint, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.files import write_bytes, write_text
from softgrasp.io.mesh import load_mesh
from softgrasp.io.mesh_files import hull_stl, stl_of
from softgrasp.io.urdf import rigid_urdf
from softgrasp.mechanics import geometry, hand_kinematics
from softgrasp.mechanics.hand_kinematics import Link
from softgrasp.mechanics.robot_kinematics import origin_frame, origin_of
from softgrasp.mechanics.transforms import (
    Array,
    position_of,
    quaternion_of,
    rotate_about,
    transform,
    translate,
)
from softgrasp.model import names
from softgrasp.model.hand import MASSLESS, link_capsule, link_shapes, palm_points
from softgrasp.model.shapes import joined_inertia, part_name, part_pose
from softgrasp.model.visual import PALM_RGBA, phalanx_rgba

CONVENTIONS: tuple[Convention, ...] = ("standard", "modified")
SAME = 1e-12
"""Points that are nearer to one another are one [m]."""


def with_convention(hand: Hand, convention: Convention) -> Hand:
    """The hand with the rows of all rigid fingers in one convention.

    All bodies, joint axes and fingertips stay where they are, for all joint variables. The frame of
    a link with an offset d along its joint axis moves by d along that axis, and its body is then
    written as a capsule with a pose. The twist alpha of the last standard row, which turns nothing
    but the frame behind the fingertip, is not kept.

    Args:
        hand: The hand; fingers that follow the convention already, and soft ones, stay as they are.
        convention: ``standard`` or ``modified``.

    Raises:
        DescriptionError: No such convention, a finger follows neither, or a row without a body
            would get one.

    Warns:
        SoftgraspWarning: An automatic palm changes, as the frames that it stands around move.
    """
    if convention not in CONVENTIONS:
        raise DescriptionError(
            f"expected {either(CONVENTIONS)}, found '{convention}'", field="convention"
        )
    fingers = tuple(_converted(finger, convention) for finger in hand.fingers)
    if fingers == hand.fingers:
        return hand
    converted = hand.replace(fingers=fingers)
    if hand.palm.kind == "auto" and _palm_moved(hand, converted):
        warnings.warn(
            f"hand '{hand.name}': its automatic palm stands around the frames of the first links, "
            f"which are elsewhere in convention '{convention}'; give it a shape to keep it",
            SoftgraspWarning,
            stacklevel=2,
        )
    return converted


def _converted(finger: Finger, convention: Convention) -> Finger:
    if finger.convention == convention:
        return finger
    if finger.convention not in CONVENTIONS:
        raise DescriptionError(
            f"finger '{finger.name}': expected Denavit-Hartenberg rows, {either(CONVENTIONS)}, "
            f"found '{finger.convention}'"
        )
    return _modified(finger) if convention == "modified" else _standard(finger)


def _modified(finger: Finger) -> Finger:
    rows = finger.phalanges
    before = [(0.0, 0.0), *((row.a, row.alpha) for row in rows[:-1])]
    moved = [row.replace(a=a, alpha=alpha) for row, (a, alpha) in zip(rows, before, strict=True)]
    skeleton = finger.replace(
        convention="modified",
        phalanges=tuple(_bare(row) for row in moved),
        tip=(rows[-1].a, 0.0, 0.0),
    )
    return _with_bodies(skeleton, finger, [translate(z=-row.d) for row in rows])


def _standard(finger: Finger) -> Finger:
    rows, (x, y, z) = finger.phalanges, finger.tip
    along, angle = (x, 0.0) if y == 0.0 else (math.hypot(x, y), math.atan2(y, x))
    behind = [*((row.a, row.alpha) for row in rows[1:]), (along, 0.0)]
    moved = [row.replace(a=a, alpha=alpha) for row, (a, alpha) in zip(rows, behind, strict=True)]
    moved[-1] = moved[-1].replace(d=rows[-1].d + z, theta=rows[-1].theta + angle)
    base = transform(finger.base.position, finger.base.quaternion)
    if rows[0].a or rows[0].alpha:
        base = base @ translate(x=rows[0].a) @ rotate_about("x", rows[0].alpha)
        placed = _pose(base)
    else:
        placed = finger.base
    skeleton = finger.replace(
        base=placed,
        convention="standard",
        phalanges=tuple(_bare(row) for row in moved),
        tip=(0.0, 0.0, 0.0),
    )
    old_in_new = [translate(z=row.d) for row in rows]
    old_in_new[-1] = rotate_about("z", -angle) @ old_in_new[-1]
    return _with_bodies(skeleton, finger, old_in_new)


def _bare(row: Phalanx) -> Phalanx:
    """A row of a skeleton, which stands for the new lengths only; any body makes it valid."""
    ball = Sphere(radius=row.radius)
    return row.replace(shape=ball, mass=1.0, density=None, inertial=None, parts=())


def _with_bodies(skeleton: Finger, before: Finger, old_in_new: list[Array]) -> Finger:
    """Give the new rows the bodies of the old ones.

    Args:
        skeleton: The new rows, with any bodies.
        before: The old rows.
        old_in_new: Old link frames in the new ones, (4, 4) each.
    """
    rows = []
    for index, row in enumerate(skeleton.phalanges):
        rows.append(_with_body(row, skeleton.link_ends[index], before, index, old_in_new[index]))
    return skeleton.replace(phalanges=tuple(rows))


def _with_body(row: Phalanx, end: Vec3, before: Finger, index: int, frame: Array) -> Phalanx:
    old, old_end = before.phalanges[index], before.link_ends[index]
    row = row.replace(
        shape=None,
        shape_pose=Pose(),
        mass=old.mass,
        density=old.density,
        inertial=old.inertial,
        parts=old.parts,
    )
    row = _with_parts(row, old, frame)
    if not before.has_body[index]:
        if math.hypot(*end) > ZERO_LENGTH:
            raise DescriptionError(
                f"finger '{before.name}': row '{row.name}' has no body, and would get one of "
                f"{1e3 * math.hypot(*end):g} mm in the other convention, from the d of a row: "
                "expected d = 0 beside rows without a body; give the row a shape"
            )
        return row
    if old.shape is not None and _is_along(old, end, frame):
        return row  # the capsule that the row has anyway
    if old.shape is not None:
        return row.replace(shape=old.shape, shape_pose=_moved(old.shape_pose, frame))
    start, tip = frame[:3, 3], (frame @ [*old_end, 1.0])[:3]
    if np.abs(start).max() < SAME and np.abs(tip - end).max() < SAME:
        return row
    if old.inertial is not None or old.parts:
        return row
    shape, pose = link_capsule(old, Link(np.eye(4), np.array(old_end)))
    return row.replace(shape=shape, shape_pose=_moved(pose, frame))


def _with_parts(row: Phalanx, old: Phalanx, frame: Array) -> Phalanx:
    """The row with further shapes and a stated inertia where they were."""
    if np.array_equal(frame, np.eye(4)):
        return row
    if old.parts:
        row = row.replace(parts=tuple(p.replace(pose=_moved(p.pose, frame)) for p in old.parts))
    if old.inertial is not None:
        origin = origin_of(frame @ origin_frame(old.inertial.origin))
        row = row.replace(inertial=old.inertial.replace(origin=origin))
    return row


def _is_along(old: Phalanx, end: Vec3, frame: Array) -> bool:
    """Whether a row's own capsule is the one that the row would have without a shape."""
    if not isinstance(old.shape, Capsule) or old.shape.radius != old.radius:
        return False
    shape_frame = frame @ transform(old.shape_pose.position, old.shape_pose.quaternion)
    half = shape_frame[:3, 2] * old.shape.length / 2.0
    ends = np.array([shape_frame[:3, 3] - half, shape_frame[:3, 3] + half])
    expected_ends = np.array([(0.0, 0.0, 0.0), end])
    return bool(
        min(np.abs(ends - expected_ends).max(), np.abs(ends[::-1] - expected_ends).max()) < SAME
    )


def _moved(pose: Pose, frame: Array) -> Pose:
    if np.array_equal(frame, np.eye(4)):
        return pose  # without the rounding
    return _pose(frame @ transform(pose.position, pose.quaternion))


def _pose(frame: Array) -> Pose:
    return Pose(position=position_of(frame), quaternion=quaternion_of(frame))


def _palm_moved(hand: Hand, converted: Hand) -> bool:
    before, now = palm_points(hand), palm_points(converted)
    if before is None or now is None:
        return (before is None) != (now is None)
    reach = np.abs(np.concatenate([before.min(0) - now.min(0), before.max(0) - now.max(0)]))
    return bool(reach.max() > SAME)


# --------------------
# A hand of rigid fingers as a robot of links and joints, and as URDF.
#
# The root link is the palm, in the hand's frame. A link's frame stands at its joint, which turns
# about (or slides along) its z, as the bodies of our own models do. Behind each finger comes a
# link
# without a body, ``<finger>_tip``: the last Denavit–Hartenberg frame, moved to the fingertip.


ROUND = (1.0, 1.0)
"""Exponents of the superellipsoid that is an ellipsoid."""
SLOWEST = 1e-3
"""A rate below it does not count as how fast a joint can be [rad/s or m/s]."""


class HandRobot(NamedTuple):
    """A hand as a robot, and the meshes that it names."""

    robot: Robot
    meshes: dict[str, bytes]
    """Binary STL in metres by file name, without a folder."""


def save_urdf(hand: Hand, path: str | Path) -> list[Path]:
    """Write a hand of rigid fingers as plain URDF and return the paths of all files.

    Capsules become a cylinder and two balls; what URDF has no shape for (meshes in other units,
    ellipsoids, automatic palms) becomes an STL file beside. Kept: frames, masses and inertias,
    joint limits, force limits as ``effort``, damping. URDF has no place for servo gains, reflected
    inertias, start postures, contact and grasps. It wants a largest speed of every joint: the
    larger closing rate of the two grasps, or the largest of the hand for a joint that they do not
    move.

    Args:
        hand: The hand.
        path: The ``.urdf`` file.

    Raises:
        DescriptionError: The hand has soft fingers, or ``path`` does not end in ``.urdf``.
        ResultError: The place cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() != ".urdf":
        raise DescriptionError(f"expected a .urdf file, found '{path}'", field="path")
    robot, meshes = hand_robot(hand, path.stem)
    files = [write_text(path, rigid_urdf(robot))]
    return files + [write_bytes(path.parent / name, mesh) for name, mesh in meshes.items()]


def hand_robot(hand: Hand, prefix: str = "") -> HandRobot:
    """A hand of rigid fingers as a robot; see ``save_urdf``.

    Args:
        hand: The hand.
        prefix: What names of mesh files begin with; the hand's name where it is empty.

    Raises:
        DescriptionError: The hand has soft fingers.
    """
    if hand.soft_fingers:
        soft = ", ".join(f"'{digit.name}'" for digit in hand.soft_fingers)
        raise DescriptionError(
            f"hand '{hand.name}': expected rigid fingers only, as URDF has no springs and no "
            f"pressures; found soft fingers {soft}"
        )
    if hand.more_palms:
        raise DescriptionError(
            f"hand '{hand.name}': expected one palm, found {len(hand.more_palms)}: write the hands "
            "that it joins one by one"
        )
    shapes = _Shapes(prefix or hand.name)
    links, joints = [_palm(hand, shapes)], list[RigidJoint]()
    limits = _JointLimits(_speeds(hand), {one.joint: _mimic(one) for one in hand.couplings})
    for finger in hand.fingers:
        new_links, new_joints = _finger(finger, shapes, limits)
        links += new_links
        joints += new_joints
    robot = Robot(name=hand.name, links=tuple(links), joints=tuple(joints), source=hand.source)
    return HandRobot(robot, shapes.meshes)


class _JointLimits(NamedTuple):
    """What the hand knows of its joints, by their names."""

    speeds: dict[str, float]
    mimics: dict[str, Mimic]


def _mimic(coupling: Coupling) -> Mimic:
    return Mimic(joint=coupling.leader, multiplier=coupling.ratio, offset=coupling.offset)


def _finger(
    finger: Finger, shapes: _Shapes, limits: _JointLimits
) -> tuple[list[robot_Link], list[RigidJoint]]:
    links, joints, frame = list[robot_Link](), list[RigidJoint](), np.eye(4)
    parent = finger.on or names.PALM
    chain = hand_kinematics.chain_links(finger)
    for index, (row, link, has_body) in enumerate(
        zip(finger.phalanges, chain, finger.has_body, strict=True)
    ):
        name = finger.body_of(row)
        body = (
            _body(name, row, link, shapes, phalanx_rgba(index))
            if has_body
            else _bare_hand(name, row)
        )
        links.append(body)
        joints.append(_joint(finger, row, parent, name, link.origin, limits))
        parent, frame = name, frame @ link.origin
    tip = names.tip_site(finger.name)
    while any(link.name == tip for link in links):
        tip += "_"  # a phalanx may have that name
    last = hand_kinematics.forward_kinematics(finger, [0.0] * len(finger.phalanges))[-1]
    tip_frame = np.linalg.inv(frame) @ last @ translate(*finger.tip)
    links.append(robot_Link(name=tip))
    joints.append(
        RigidJoint(
            name=f"{tip}_joint", type="fixed", parent=parent, child=tip, origin=origin_of(tip_frame)
        )
    )
    return links, joints


def _joint(
    finger: Finger, row: Phalanx, parent: str, child: str, origin: Array, limits: _JointLimits
) -> RigidJoint:
    name = finger.joint_of(row)
    return RigidJoint(
        name=name,
        type=row.joint,
        parent=parent,
        child=child,
        origin=origin_of(origin),
        axis=(0.0, 0.0, 1.0),
        lower=row.limits[0],
        upper=row.limits[1],
        effort=row.force_limit,
        velocity=limits.speeds.get(name, 1.0),
        damping=row.damping,
        friction=row.friction_loss,
        mimic=limits.mimics.get(name),
    )


def _speeds(hand: Hand) -> dict[str, float]:
    """Largest speed of each driven joint [rad/s or m/s], by its name."""
    rates = [preset.rates.for_fingers(hand.rows) for _, preset in hand.grasps]
    fastest = [max(map(abs, both)) for both in zip(*rates, strict=True)]
    speeds = {}
    for actuator, closing_rate in zip(hand.actuators, fastest, strict=True):
        alike = [rate for other, rate in zip(hand.actuators, fastest, strict=True)
                 if other.unit == actuator.unit]  # fmt: skip
        speed = closing_rate if closing_rate > SLOWEST else max(alike)
        speeds[actuator.name] = speed if speed > SLOWEST else 1.0
    return speeds


def _body(
    name: str, row: Phalanx, link: hand_kinematics.Link, shapes: _Shapes, rgba: tuple[float, ...]
) -> robot_Link:
    parts = link_shapes(row, link)
    inertial = row.inertial
    if inertial is None:
        mass, inertia, centre = joined_inertia(parts, mass=row.mass, density=row.density or 0.0)
        inertial = Inertial(mass=mass, origin=Origin(xyz=centre), inertia=_six(inertia))
    return _link(name, inertial, shapes.of_all(name, parts), rgba)


def _bare_hand(name: str, row: Phalanx) -> robot_Link:
    """A link without a shape: its stated inertia, or what simulators need to move it."""
    if row.inertial is not None:
        return robot_Link(name=name, inertial=row.inertial)
    moment = MASSLESS * row.radius**2
    return robot_Link(
        name=name, inertial=Inertial(mass=MASSLESS, inertia=(moment,) * 3 + (0.0, 0.0, 0.0))
    )


def _palm(hand: Hand, shapes: _Shapes) -> robot_Link:
    """The root link, without an inertia: it is fixed, or part of what carries the hand."""
    rgba = hand.palm_rgba or PALM_RGBA
    if hand.palm.kind == "shape" and hand.palm.shape is not None:
        first = Part(shape=hand.palm.shape, pose=hand.palm.pose)
        parts = [(p.shape, part_pose(p.shape, p.pose)) for p in (first, *hand.palm.parts)]
        return _link(names.PALM, None, shapes.of_all(names.PALM, parts), rgba)
    points = palm_points(hand) if hand.palm.kind == "auto" else None
    if points is None:
        return robot_Link(name=names.PALM)
    mesh = shapes.mesh(names.PALM, hull_stl(points), Pose())
    return _link(names.PALM, None, [mesh], rgba)


def _link(
    name: str, inertial: Inertial | None, shapes: list[LinkShape], rgba: tuple[float, ...]
) -> robot_Link:
    red, green, blue, opacity = rgba
    color: Vec4 = (red, green, blue, opacity)
    seen = tuple(shape.replace(rgba=color) for shape in shapes)
    return robot_Link(name=name, inertial=inertial, visuals=seen, collisions=tuple(shapes))


def _six(inertia: Array) -> tuple[float, float, float, float, float, float]:
    xx, yy, zz, xy, xz, yz = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist()
    return (xx, yy, zz, xy, xz, yz)


class _Shapes:
    """Shapes as URDF has them, and the meshes that they need."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.meshes: dict[str, bytes] = {}

    def of_all(self, link: str, parts: list[tuple[Shape, Pose]]) -> list[LinkShape]:
        """Several shapes on a link, each with the pose of its centre of mass."""
        named = ((part_name(link, index), *part) for index, part in enumerate(parts))
        return [one for name, shape, pose in named for one in self.of(name, shape, pose)]

    def of(self, link: str, shape: Shape, pose: Pose) -> list[LinkShape]:
        """A shape on a link, with its centre of mass at a pose in the link's frame."""
        if isinstance(shape, Capsule):
            return _capsule(shape, pose)
        if isinstance(shape, Mesh):
            body = load_mesh(shape)
            return [self.mesh(link, stl_of(body.vertices, body.faces), pose)]
        if isinstance(shape, Ellipsoid):
            return [self.mesh(link, stl_of(*geometry.triangles(shape.radii, ROUND)), pose)]
        if isinstance(shape, Superellipsoid):
            form = geometry.triangles(shape.radii, shape.exponents)
            return [self.mesh(link, stl_of(*form), pose)]
        return [_part(shape, transform(pose.position, pose.quaternion))]

    def mesh(self, link: str, stl: bytes, pose: Pose) -> LinkShape:
        """A mesh on a link, its file's frame at a pose."""
        file = f"{self._prefix}_{link}.stl"
        self.meshes[file] = stl
        return _part(Mesh(file=file), transform(pose.position, pose.quaternion))


def _capsule(shape: Capsule, pose: Pose) -> list[LinkShape]:
    frame = transform(pose.position, pose.quaternion)
    ball = Sphere(radius=shape.radius)
    return [
        _part(Cylinder(radius=shape.radius, height=shape.length), frame),
        _part(ball, frame @ translate(z=-shape.length / 2.0)),
        _part(ball, frame @ translate(z=shape.length / 2.0)),
    ]


def _part(shape: LinkGeometry, frame: Array) -> LinkShape:
    if isinstance(shape, Sphere | Cuboid | Cylinder | Mesh):
        return LinkShape(shape=shape, origin=origin_of(frame))
    raise TypeError(shape)  # capsules are taken apart
