"""Length units of a robot file: whole files in millimetres, or only the meshes that they name.

Meshes and joints are compared: where the meshes alone are far larger than the distances between
joints, only they have another unit.
"""

from __future__ import annotations

import math
from statistics import median
from typing import NamedTuple

import numpy as np

from softgrasp.description.bendable import Inertial, Origin
from softgrasp.description.geometry import Mesh
from softgrasp.description.robot import Link, LinkGeometry, LinkShape, RigidJoint, Robot
from softgrasp.errors import DescriptionError
from softgrasp.io.mesh import mesh_solid
from softgrasp.units import LENGTH_UNITS, LengthUnit

NOT_METRES = (10.0, 5000.0)
"""Largest length of a robot from which on its file is in millimetres: 10 mm … 5 m [m]."""
APART = 30.0
"""Ratio of the lengths of meshes and joints above which their units differ [–]."""
GYRATION = 6e-3
"""Radius of gyration over the largest length above which both have the same unit [–]: links have
0.05 … 0.5, in metres beside millimetres a thousandth of that."""


class Lengths(NamedTuple):
    """Largest lengths of a robot in the numbers of its file; 0 where there are none."""

    meshes: float
    """Largest extent of a mesh with its scale."""
    joints: float
    """Largest distance between joints, or size of a primitive."""


class UnitScale(NamedTuple):
    """Factors to SI units [–]."""

    meshes: float
    lengths: float
    """Of distances, primitives and sliding joints."""
    inertia: float


class UnitDoubt(NamedTuple):
    """A robot file whose lengths are in millimetres."""

    scale: UnitScale
    actual: str
    """The implausible lengths."""
    cause: str
    cure: str
    size: tuple[float, float]
    """Largest length as stated and in metres."""

    def message(self, name: str) -> str:
        """Return the sentence about a robot of a name."""
        expected = f"expected lengths in metres, found {self.actual}"
        return f"robot '{name}': {expected}; {self.cause}: {self.cure}"


def largest_lengths(robot: Robot) -> Lengths:
    """Measure the largest lengths of a robot.

    Raises:
        DescriptionError: A mesh cannot be read.
    """
    shapes = [part.shape for link in robot.links for part in (*link.visuals, *link.collisions)]
    meshes = [_extent(shape) for shape in shapes if isinstance(shape, Mesh)]
    spans = [math.hypot(*joint.origin.xyz) for joint in robot.joints]
    spans += [max(_sizes(shape)) for shape in shapes if not isinstance(shape, Mesh)]
    return Lengths(max(meshes, default=0.0), max(spans, default=0.0))


def unit_doubt(robot: Robot) -> UnitDoubt | None:
    """Return the message about a robot in millimetres; None where metres are plausible.

    Raises:
        DescriptionError: A mesh cannot be read.
    """
    lengths, (low, high) = largest_lengths(robot), NOT_METRES
    if robot.bendables or not low < max(lengths) < high:
        return None
    scale = unit_scale(robot, "mm", lengths)
    numbers = [("meshes of", lengths.meshes), ("joints or shapes of", lengths.joints)]
    actual = " and ".join(f"{what} up to {size:.4g} m" for what, size in numbers if size)
    if scale.lengths == 1.0:
        cause = "the meshes are in millimetres, the joints in metres"
        cure = 'add --units mm, or scale="0.001 0.001 0.001" to each <mesh>'
    else:
        kept = " except the meshes" if lengths.meshes and scale.meshes == 1.0 else ""
        cause, cure = f"the file is in millimetres{kept}", "add --units mm"
    cure += ", or write a repaired file: softgrasp check FILE --fix --out FIXED.urdf"
    size = lengths.meshes if scale.lengths == 1.0 else lengths.joints
    return UnitDoubt(scale, actual, cause, cure, (size, size * min(scale[:2])))


def unit_scale(robot: Robot, units: LengthUnit, lengths: Lengths | None = None) -> UnitScale:
    """Return the factors that take a robot with lengths of a unit to metres.

    The unit applies to the meshes alone where they are ``APART`` times larger than the distances
    between joints, to all but the meshes where they are as much smaller, and else to both.
    Inertias have the squared factor where their radii of gyration have the same unit.
    """
    factor, (meshes, joints) = LENGTH_UNITS[units], lengths or largest_lengths(robot)
    if meshes > APART * joints > 0.0:
        return UnitScale(factor, 1.0, 1.0)
    of_meshes = 1.0 if joints > APART * meshes > 0.0 else factor
    inertials = [link.inertial for link in robot.links if link.inertial is not None]
    radii = [_gyration(one) for one in inertials if one.inertia is not None]
    same = bool(radii) and median(radii) > GYRATION * max(meshes, joints)
    return UnitScale(of_meshes, factor, factor**2 if same else 1.0)


def with_units(robot: Robot, units: LengthUnit) -> Robot:
    """Return a robot whose file has lengths of a unit, in metres.

    Raises:
        DescriptionError: It has bendable segments, or a mesh cannot be read.
    """
    if robot.bendables and units != "m":
        raise DescriptionError("--units: expected rigid links, found bendable segments, in metres")
    return robot if units == "m" else in_metres(robot, unit_scale(robot, units))


def in_metres(robot: Robot, scale: UnitScale) -> Robot:
    """Multiply the lengths and inertias of a robot without bendables by factors."""
    return robot.replace(
        links=tuple(_scaled_link(link, scale) for link in robot.links),
        joints=tuple(_scaled_joint(joint, scale.lengths) for joint in robot.joints),
    )


def _extent(shape: Mesh) -> float:
    return float(np.ptp(mesh_solid(shape).vertices, axis=0).max())


def _sizes(shape: LinkGeometry) -> list[float]:
    """Return the lengths of a primitive."""
    values = shape.model_dump(exclude={"type"}).values()
    return [size for value in values for size in (value if isinstance(value, tuple) else [value])]


def _gyration(inertial: Inertial) -> float:
    """Return the radius of gyration in the units of the file."""
    assert inertial.inertia is not None
    return math.sqrt(max(sum(inertial.inertia[:3]) / (2.0 * inertial.mass), 0.0))


def _times(value: float, factor: float) -> float:
    """Multiply without the noise of binary fractions, which a file would show."""
    return value if factor == 1.0 else float(f"{value * factor:.12g}")


def _moved(origin: Origin, factor: float) -> Origin:
    x, y, z = (_times(part, factor) for part in origin.xyz)
    return origin.replace(xyz=(x, y, z))


def _scaled_link(link: Link, scale: UnitScale) -> Link:
    inertial = link.inertial
    if inertial is not None:
        stated = inertial.inertia
        inertia = None if stated is None else tuple(_times(one, scale.inertia) for one in stated)
        inertial = inertial.replace(origin=_moved(inertial.origin, scale.lengths), inertia=inertia)
    groups = (tuple(_scaled_shape(s, scale) for s in g) for g in (link.visuals, link.collisions))
    visuals, collisions = groups
    return link.replace(inertial=inertial, visuals=visuals, collisions=collisions)


def _scaled_shape(part: LinkShape, scale: UnitScale) -> LinkShape:
    shape = part.shape
    factor = scale.meshes if isinstance(shape, Mesh) else scale.lengths
    names = {"scale"} if isinstance(shape, Mesh) else set(type(shape).model_fields) - {"type"}
    fields = {}
    for name in names:
        value = getattr(shape, name)
        is_list = isinstance(value, tuple)
        fields[name] = (
            tuple(_times(one, factor) for one in value) if is_list else _times(value, factor)
        )
    return part.replace(shape=shape.replace(**fields), origin=_moved(part.origin, scale.lengths))


def _scaled_joint(joint: RigidJoint, factor: float) -> RigidJoint:
    fields: dict[str, object] = {"origin": _moved(joint.origin, factor)}
    if joint.type == "prismatic":
        for name in ("lower", "upper", "velocity"):
            value = getattr(joint, name)
            fields[name] = None if value is None else _times(value, factor)
        if joint.mimic is not None:
            offset = _times(joint.mimic.offset, factor)
            fields["mimic"] = joint.mimic.replace(offset=offset)
    return joint.replace(**fields)
