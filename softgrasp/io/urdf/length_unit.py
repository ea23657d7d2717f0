"""Length units of a robot file: whole files in millimetres, or only the meshes that they name.

Meshes and joints are compared: where the meshes alone are far larger than the distances between
joints, only they have another unit.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.bendable import Origin
from softgrasp.description.geometry import Mesh
from softgrasp.description.robot import Link, LinkGeometry, LinkShape, RigidJoint, Robot
from softgrasp.errors import DescriptionError
from softgrasp.io.files import setting
from softgrasp.io.mesh import LARGEST, resolve_file
from softgrasp.io.mesh_files import read_triangles
from softgrasp.io.urdf.links import touching
from softgrasp.units import LENGTH_UNITS, LengthUnit

NOT_METRES = (10.0, 5000.0)
"""Largest length of a robot from which on its file is in millimetres: 10 mm … 5 m [m]."""
TINY = 1e-3
"""Largest length of a robot below which its lengths were converted from millimetres twice [m]."""
APART = 30.0
"""Ratio of the lengths of meshes and joints above which their units differ [–]."""
GYRATION = 6e-3
"""Radius of gyration over the largest length above which both have the same unit [–]: links have
0.05 … 0.5, in metres beside millimetres a thousandth of that."""
_UNITS: ContextVar[LengthUnit | None] = ContextVar("units", default=None)


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

    @property
    def message(self) -> str:
        """The sentence without the name of the robot."""
        return f"expected lengths in metres, found {self.actual}; {self.cause}: {self.cure}"


def largest_lengths(robot: Robot) -> Lengths:
    """Measure the largest lengths of a robot, with visual shapes of links without collision shapes.

    Raises:
        DescriptionError: A mesh cannot be read.
    """
    shapes = [part.shape for link in robot.links for part in touching(link)]
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
    meshes, joints = lengths
    if robot.bendables:
        return None
    if low < max(lengths) < high:
        scale = unit_scale(robot, LENGTH_UNITS["mm"], lengths)
    elif 0.0 < meshes < TINY and joints > APART * meshes:
        scale = UnitScale(1e3, 1.0, 1.0)
    elif 0.0 < max(lengths) < TINY:
        scale = unit_scale(robot, 1e3, lengths)
    else:
        return None
    numbers = [("meshes of", meshes), ("joints or shapes of", joints)]
    actual = " and ".join(f"{what} up to {size:.4g} m" for what, size in numbers if size)
    cause, cure = _cause_and_cure(scale, has_meshes=meshes > 0.0)
    size = meshes if scale.lengths == 1.0 else joints or meshes
    factor = scale.meshes if scale.lengths == 1.0 else scale.lengths
    return UnitDoubt(scale, actual, cause, cure, (size, _times(size, factor)))


def _cause_and_cure(scale: UnitScale, *, has_meshes: bool) -> tuple[str, str]:
    """Return what is wrong with the lengths of a robot, and what the user can do."""
    repair = "write a repaired file: softgrasp check FILE --fix --out FIXED.urdf"
    part = "meshes" if scale.lengths == 1.0 else "lengths"
    if max(scale) > 1.0:
        advice = f"remove one of the two conversions, such as a scale of 0.001, or {repair}"
        return f"the {part} were converted from millimetres twice", advice
    option = "add --units mm (in a YAML file units: {length: mm})"
    if part == "meshes":
        option += ', or scale="0.001 0.001 0.001" to each <mesh>'
        return "the meshes are in millimetres, the joints in metres", f"{option}, or {repair}"
    kept = " except the meshes" if has_meshes and scale.meshes == 1.0 else ""
    return f"the file is in millimetres{kept}", f"{option}, or {repair}"


def unit_scale(robot: Robot, factor: float, lengths: Lengths | None = None) -> UnitScale:
    """Return the factors that convert a robot whose lengths have a unit of ``factor`` metres.

    It applies to the meshes alone where they are ``APART`` times larger than the distances
    between joints, to all but the meshes where they are as much smaller, and else to both.
    Inertias have the squared factor where their radii of gyration have the same unit.
    """
    meshes, joints = lengths or largest_lengths(robot)
    if meshes > APART * joints > 0.0:
        return UnitScale(factor, 1.0, 1.0)
    of_meshes = 1.0 if joints > APART * meshes > 0.0 else factor
    inertials = [link.inertial for link in robot.links if link.inertial is not None]
    radii = [  # of gyration, in the units of the file
        math.sqrt(max(sum(inertial.inertia[:3]) / (2.0 * inertial.mass), 0.0))
        for inertial in inertials
        if inertial.inertia is not None
    ]
    same = bool(radii) and median(radii) > GYRATION * max(meshes, joints)
    return UnitScale(of_meshes, factor, factor**2 if same else 1.0)


def robot_units(units: LengthUnit | None) -> AbstractContextManager[None]:
    """Read robot files in this context with a length unit, where metres are implausible.

    A robot with lengths of at most ``LARGEST`` is read in metres.
    """
    return setting(_UNITS, units or _UNITS.get())


def with_context_units(robot: Robot) -> Robot:
    """Convert a robot to metres in the context of ``robot_units``.

    Raises:
        DescriptionError: A mesh cannot be read.
    """
    units = _UNITS.get()
    if units in (None, "m") or robot.bendables or max(largest_lengths(robot)) <= LARGEST:
        return robot
    return in_metres(robot, unit_scale(robot, LENGTH_UNITS[units]))


def refuse_wrong_units(robot: Robot) -> None:
    """Refuse a robot in millimetres, which no grasp can use.

    Raises:
        DescriptionError: Its lengths are in millimetres, or a mesh cannot be read.
    """
    if (doubt := unit_doubt(robot)) is not None:
        raise DescriptionError(doubt.message)


def in_metres(robot: Robot, scale: UnitScale) -> Robot:
    """Multiply the lengths and inertias of a robot without bendables by factors."""
    return robot.replace(
        links=tuple(_scale_link(link, scale) for link in robot.links),
        joints=tuple(_scale_joint(joint, scale.lengths) for joint in robot.joints),
    )


def _extent(shape: Mesh) -> float:
    """Return the largest extent of a mesh [m]."""
    file = resolve_file(shape.file, None)
    size = _file_size(file, file.stat().st_mtime_ns) if file.is_file() else np.zeros(3)
    return float(np.abs(size * shape.scale).max())


@lru_cache(maxsize=256)
def _file_size(file: Path, _mtime_ns: int) -> NDArray[np.float64]:
    try:
        return np.asarray(np.ptp(read_triangles(file)[0], axis=0), dtype=float)
    except DescriptionError as error:
        raise error.located(file=file) from error


def _sizes(shape: LinkGeometry) -> list[float]:
    """Return the lengths of a primitive."""
    values = shape.model_dump(exclude={"type"}).values()
    return [size for value in values for size in (value if isinstance(value, tuple) else [value])]


def _times(value: Any, factor: float) -> Any:
    """Multiply a number, those of a tuple, or None without the noise of binary fractions."""
    if isinstance(value, tuple):
        return tuple(_times(item, factor) for item in value)
    return value if value is None or factor == 1.0 else float(f"{value * factor:.12g}")


def _move(origin: Origin, factor: float) -> Origin:
    return origin.replace(xyz=_times(origin.xyz, factor))


def _scale_link(link: Link, scale: UnitScale) -> Link:
    inertial = link.inertial
    if inertial is not None:
        inertia = _times(inertial.inertia, scale.inertia)
        inertial = inertial.replace(origin=_move(inertial.origin, scale.lengths), inertia=inertia)
    return link.replace(
        inertial=inertial,
        visuals=tuple(_scale_shape(shape, scale) for shape in link.visuals),
        collisions=tuple(_scale_shape(shape, scale) for shape in link.collisions),
    )


def _scale_shape(part: LinkShape, scale: UnitScale) -> LinkShape:
    shape = part.shape
    factor = scale.meshes if isinstance(shape, Mesh) else scale.lengths
    names = {"scale"} if isinstance(shape, Mesh) else set(type(shape).model_fields) - {"type"}
    fields = {name: _times(getattr(shape, name), factor) for name in names}
    return part.replace(shape=shape.replace(**fields), origin=_move(part.origin, scale.lengths))


def _scale_joint(joint: RigidJoint, factor: float) -> RigidJoint:
    fields: dict[str, object] = {"origin": _move(joint.origin, factor)}
    if joint.type == "prismatic":
        for name in ("lower", "upper", "velocity"):
            fields[name] = _times(getattr(joint, name), factor)
        if joint.mimic is not None:
            offset = _times(joint.mimic.offset, factor)
            fields["mimic"] = joint.mimic.replace(offset=offset)
    return joint.replace(**fields)
