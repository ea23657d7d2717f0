"""Export of hands with rigid fingers as URDF robots of links and joints.

The root link is the palm, in the hand frame. The frame of a link is at its joint, which rotates
about (or slides along) its z axis, as in our models. After each finger follows a link without a
body, ``<finger>_tip``: the last Denavit–Hartenberg frame, moved to the fingertip.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from softgrasp.description.base import Vec4
from softgrasp.description.bendable import Inertial, Origin
from softgrasp.description.finger import Finger, Phalanx
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
from softgrasp.description.robot import Link, LinkGeometry, LinkShape, Mimic, RigidJoint, Robot
from softgrasp.errors import DescriptionError
from softgrasp.io.files import write_bytes, write_text
from softgrasp.io.mesh import load_mesh
from softgrasp.io.mesh_files import hull_stl, stl_of
from softgrasp.io.urdf import rigid_urdf
from softgrasp.mechanics import geometry, hand_kinematics
from softgrasp.mechanics.robot_kinematics import origin_of
from softgrasp.mechanics.transforms import Array, transform, translate
from softgrasp.model import names
from softgrasp.model.hand import MASSLESS, link_shapes, palm_points
from softgrasp.model.shapes import inertia_components, join_inertia, part_name, part_pose
from softgrasp.model.visual import PALM_RGBA, phalanx_rgba

ROUND = (1.0, 1.0)
"""Exponents of the superellipsoid that is an ellipsoid."""
SLOWEST = 1e-3
"""Smallest closing rate that is taken as the maximum speed of a joint [rad/s or m/s]."""


class HandRobot(NamedTuple):
    """A hand as a robot, with its mesh files."""

    robot: Robot
    meshes: dict[str, bytes]
    """Binary STL in metres by file name without a directory."""


def save_urdf(hand: Hand, path: str | Path) -> list[Path]:
    """Write a hand of rigid fingers as plain URDF and return the paths of all files.

    Capsules become a cylinder and two balls; shapes that URDF does not have (meshes in other units,
    ellipsoids, automatic palms) become STL files next to it. URDF keeps frames, masses, inertias,
    joint limits, force limits as ``effort`` and damping; it has no servo gains, reflected inertias,
    start postures, contacts and grasps. The required maximum speed of a joint is the larger closing
    rate of the two grasps, or the largest of the hand for a joint that they do not move.

    Args:
        hand: The hand.
        path: The ``.urdf`` file.

    Raises:
        DescriptionError: The hand has soft fingers, or ``path`` does not end in ``.urdf``.
        ResultError: The file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() != ".urdf":
        raise DescriptionError(f"expected a .urdf file, found '{path}'", field="path")
    robot, meshes = hand_robot(hand, path.stem)
    files = [write_text(path, rigid_urdf(robot))]
    return files + [write_bytes(path.parent / name, mesh) for name, mesh in meshes.items()]


def hand_robot(hand: Hand, prefix: str = "") -> HandRobot:
    """Convert a hand of rigid fingers to a robot; see ``save_urdf``.

    Args:
        hand: The hand.
        prefix: Prefix of the names of mesh files; the name of the hand if empty.

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
            f"hand '{hand.name}': expected one palm, found {len(hand.more_palms)}: export the "
            "hands that it joins one by one"
        )
    shapes = _Shapes(prefix or hand.name)
    links, joints = [_palm(hand, shapes)], list[RigidJoint]()
    mimics = {
        coupling.joint: Mimic(
            joint=coupling.leader, multiplier=coupling.ratio, offset=coupling.offset
        )
        for coupling in hand.couplings
    }
    limits = _JointLimits(_speeds(hand), mimics)
    for finger in hand.fingers:
        new_links, new_joints = _finger(finger, shapes, limits)
        links += new_links
        joints += new_joints
    robot = Robot(name=hand.name, links=tuple(links), joints=tuple(joints), source=hand.source)
    return HandRobot(robot, shapes.meshes)


class _JointLimits(NamedTuple):
    """Maximum speeds and couplings of the joints of a hand by name."""

    speeds: dict[str, float]
    mimics: dict[str, Mimic]


def _speeds(hand: Hand) -> dict[str, float]:
    """Return the maximum speed of each actuated joint by name [rad/s or m/s]."""
    rates = [preset.rates.for_fingers(hand.actuator_counts) for _, preset in hand.grasps]
    fastest = [max(map(abs, both)) for both in zip(*rates, strict=True)]
    speeds = {}
    for actuator, closing_rate in zip(hand.actuators, fastest, strict=True):
        alike = [
            rate
            for other, rate in zip(hand.actuators, fastest, strict=True)
            if other.unit == actuator.unit
        ]
        speed = closing_rate if closing_rate > SLOWEST else max(alike)
        speeds[actuator.name] = speed if speed > SLOWEST else 1.0
    return speeds


# Links and joints


def _finger(
    finger: Finger, shapes: _Shapes, limits: _JointLimits
) -> tuple[list[Link], list[RigidJoint]]:
    """Convert a finger to links and joints."""
    links, joints, frame = list[Link](), list[RigidJoint](), np.eye(4)
    parent = finger.on or names.PALM
    chain = hand_kinematics.chain_links(finger)
    for index, (row, link, has_body) in enumerate(
        zip(finger.phalanges, chain, finger.has_body, strict=True)
    ):
        name = finger.body_of(row)
        body = (
            _body(name, row, link, shapes, phalanx_rgba(index))
            if has_body
            else _bodyless(name, row)
        )
        links.append(body)
        joints.append(_joint(finger, row, parent, name, link.origin, limits))
        parent, frame = name, frame @ link.origin
    tip = names.tip_site(finger.name)
    while any(link.name == tip for link in links):
        tip += "_"  # a phalanx may have this name
    last = hand_kinematics.forward_kinematics(finger, [0.0] * len(finger.phalanges))[-1]
    tip_frame = np.linalg.inv(frame) @ last @ translate(*finger.tip)
    links.append(Link(name=tip))
    joints.append(
        RigidJoint(
            name=f"{tip}_joint", type="fixed", parent=parent, child=tip, origin=origin_of(tip_frame)
        )
    )
    return links, joints


def _joint(
    finger: Finger, row: Phalanx, parent: str, child: str, origin: Array, limits: _JointLimits
) -> RigidJoint:
    """Convert the joint of a phalanx."""
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


def _body(
    name: str, row: Phalanx, link: hand_kinematics.Link, shapes: _Shapes, rgba: tuple[float, ...]
) -> Link:
    """Convert the body of a phalanx."""
    parts = link_shapes(row, link)
    inertial = row.inertial
    if inertial is None:
        mass, inertia, centre = join_inertia(parts, mass=row.mass, density=row.density or 0.0)
        inertial = Inertial(
            mass=mass, origin=Origin(xyz=centre), inertia=inertia_components(inertia)
        )
    return _link(name, inertial, shapes.of_all(name, parts), rgba)


def _bodyless(name: str, row: Phalanx) -> Link:
    """Convert a phalanx without a shape, with described or negligible inertia."""
    if row.inertial is not None:
        return Link(name=name, inertial=row.inertial)
    moment = MASSLESS * row.radius**2
    return Link(
        name=name, inertial=Inertial(mass=MASSLESS, inertia=(moment,) * 3 + (0.0, 0.0, 0.0))
    )


def _palm(hand: Hand, shapes: _Shapes) -> Link:
    """Convert the palm to the root link, without inertia: it is fixed, or part of the carrier."""
    rgba = hand.palm_rgba or PALM_RGBA
    if hand.palm.kind == "shape" and hand.palm.shape is not None:
        first = Part(shape=hand.palm.shape, pose=hand.palm.pose)
        parts = [(p.shape, part_pose(p.shape, p.pose)) for p in (first, *hand.palm.parts)]
        return _link(names.PALM, None, shapes.of_all(names.PALM, parts), rgba)
    points = palm_points(hand) if hand.palm.kind == "auto" else None
    if points is None:
        return Link(name=names.PALM)
    mesh = shapes.mesh(names.PALM, hull_stl(points), Pose())
    return _link(names.PALM, None, [mesh], rgba)


def _link(
    name: str, inertial: Inertial | None, shapes: list[LinkShape], rgba: tuple[float, ...]
) -> Link:
    """Return a link with the same shapes to be drawn and to be touched."""
    red, green, blue, opacity = rgba
    color: Vec4 = (red, green, blue, opacity)
    visuals = tuple(shape.replace(rgba=color) for shape in shapes)
    return Link(name=name, inertial=inertial, visuals=visuals, collisions=tuple(shapes))


# Shapes


class _Shapes:
    """Conversion of shapes to those of URDF, with the meshes that they need."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.meshes: dict[str, bytes] = {}

    def of_all(self, link: str, parts: list[tuple[Shape, Pose]]) -> list[LinkShape]:
        """Convert the shapes of a link with the poses of their centres of mass."""
        named = ((part_name(link, index), *part) for index, part in enumerate(parts))
        return [item for name, shape, pose in named for item in self.of(name, shape, pose)]

    def of(self, link: str, shape: Shape, pose: Pose) -> list[LinkShape]:
        """Convert a shape with the pose of its centre of mass, link frame."""
        frame = transform(pose.position, pose.quaternion)
        if isinstance(shape, Capsule):
            ball = Sphere(radius=shape.radius)
            return [
                _part(Cylinder(radius=shape.radius, height=shape.length), frame),
                _part(ball, frame @ translate(z=-shape.length / 2.0)),
                _part(ball, frame @ translate(z=shape.length / 2.0)),
            ]
        if isinstance(shape, Mesh):
            body = load_mesh(shape)
            return [self.mesh(link, stl_of(body.vertices, body.faces), pose)]
        if isinstance(shape, Ellipsoid | Superellipsoid):
            exponents = ROUND if isinstance(shape, Ellipsoid) else shape.exponents
            return [self.mesh(link, stl_of(*geometry.triangles(shape.radii, exponents)), pose)]
        return [_part(shape, frame)]

    def mesh(self, link: str, stl: bytes, pose: Pose) -> LinkShape:
        """Register a mesh with the pose of its file frame, link frame."""
        file = f"{self._prefix}_{link}.stl"
        self.meshes[file] = stl
        return _part(Mesh(file=file), transform(pose.position, pose.quaternion))


def _part(shape: LinkGeometry, frame: Array) -> LinkShape:
    """Return a shape of URDF with its origin."""
    if isinstance(shape, Sphere | Cuboid | Cylinder | Mesh):
        return LinkShape(shape=shape, origin=origin_of(frame))
    raise TypeError(shape)  # capsules are converted before
