"""Nodes of Webots worlds: fields with types and defaults, where they may stand, poses and masses.

The table of all nodes is ``assets/webots_nodes.yaml``, from the reference manual of Webots R2025a.
A ``Node`` holds the fields that a file specifies; ``value`` and the typed functions below it also
know the defaults.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, Union, cast

import numpy as np
from numpy.typing import ArrayLike
from ruamel.yaml import YAML
from scipy.spatial.transform import Rotation

from softgrasp import assets
from softgrasp.mechanics import Array

Numbers = tuple[float, ...]
"""SFVec2f, SFVec3f, SFColor, SFRotation."""
Value = Union[bool, int, float, str, Numbers, "Node", "list[Value]", None]
"""Content of a field; None is NULL, a list is an MF field."""
NUMBERS_IN = {"SFVec2f": 2, "SFVec3f": 3, "SFColor": 3, "SFRotation": 4}
"""Number of components of the vector types."""
SOLIDS = ("Solid", "Robot", "TouchSensor")
"""Types of nodes that are solids."""
JOINTS = ("HingeJoint", "SliderJoint")
"""Types of nodes that are joints."""
DEVICES = ("RotationalMotor", "LinearMotor", "PositionSensor", "Brake", "TouchSensor")
"""Types of nodes that a controller finds by their names."""


@dataclass(eq=False, slots=True)
class Node:
    """One node of a world; where it occurs twice, the second occurrence is written as USE."""

    type: str
    fields: dict[str, Value] = field(default_factory=dict)
    """Fields that are specified, in their order; the others have their defaults."""
    name: str = ""
    """DEF name; empty where it has none."""
    line: int = 0
    """Line in the text that it was read from; 0 where it was made in Python."""

    def nodes(self, key: str) -> list[Node]:
        """Return the child nodes in a field, whether it holds one, several or none."""
        value = self.fields.get(key)
        held = value if isinstance(value, list) else [value]
        return [item for item in held if isinstance(item, Node)]

    def node(self, key: str) -> Node | None:
        """Return the only child node in a field; None where it has none."""
        return next(iter(self.nodes(key)), None)


@dataclass(frozen=True, slots=True)
class FieldType:
    """Definition of one field.

    Attributes:
        type: Such as ``SFVec3f``; types that begin with MF hold lists.
        default: Value where a file does not specify the field.
        unit: Unit of its numbers; empty where they have none.
        words: Allowed strings, or allowed types of nodes; empty where any string is allowed.
    """

    type: str
    default: Value
    unit: str = ""
    words: tuple[str, ...] = ()


def node_types() -> tuple[str, ...]:
    """Return the types of all known nodes."""
    return tuple(_nodes())


def fields(node_type: str) -> Mapping[str, FieldType]:
    """Return the fields of a node type.

    Raises:
        KeyError: There is no such type.
    """
    return _nodes()[node_type]


def slot(name: str) -> tuple[str, ...]:
    """Return the node types allowed in a context, such as ``world`` or ``bounding object``."""
    return tuple(_schema()["slots"][name])


def allowed(node_type: str, key: str, *, bounding: bool = False) -> tuple[str, ...]:
    """Return the node types that are allowed in a field.

    Args:
        node_type: The node that has the field.
        key: The field.
        bounding: Whether that node belongs to a boundingObject.

    Raises:
        KeyError: There is no such type of node or no such field.
    """
    inside = bounding and key in ("children", "geometry")
    return slot(f"bounding {key}") if inside else fields(node_type)[key].words


def rules(kind: str, node_type: str) -> Mapping[str, Any]:
    """Return the limits of the fields of a node type, by field.

    Args:
        kind: ``ranges`` of numbers or ``counts`` of items, each (low, high, words); ``required``,
            the fields that need a node; ``directions``, those that are not zero; or ``ascending``,
            for the lower of two limits the upper one.
        node_type: The type.
    """
    held: Mapping[str, Any] = _schema()["rules"][kind].get(node_type, {})
    return held


def oldest_version() -> str:
    """Return the oldest version of Webots whose worlds can be read."""
    return str(_schema()["oldest"])


def default(node_type: str, key: str) -> Value:
    """Return the default value of a field; a list is a new one.

    Raises:
        KeyError: There is no such type of node or no such field.
    """
    held = fields(node_type)[key].default
    return list(held) if isinstance(held, list) else held


def value(node: Node, key: str) -> Value:
    """Return the value of a field of a node: the specified one, or the default.

    Raises:
        KeyError: The type of the node has no such field.
    """
    return node.fields[key] if key in node.fields else default(node.type, key)


# The same with the Python type of the field; ``parse_world`` has checked the types, so that the
# casts are sound.

number = cast("Callable[[Node, str], float]", value)
"""Value of a field of type SFFloat or SFInt32."""
numbers = cast("Callable[[Node, str], list[float]]", value)
"""Value of a field of type MFFloat."""
integers = cast("Callable[[Node, str], list[int]]", value)
"""Value of a field of type MFInt32."""
vector = cast("Callable[[Node, str], Numbers]", value)
"""Value of a field of type SFVec2f, SFVec3f, SFColor or SFRotation."""
vectors = cast("Callable[[Node, str], list[Numbers]]", value)
"""Value of a field of type MFVec2f, MFVec3f, MFColor or MFRotation."""
text = cast("Callable[[Node, str], str]", value)
"""Value of a field of type SFString."""
texts = cast("Callable[[Node, str], list[str]]", value)
"""Value of a field of type MFString."""
flag = cast("Callable[[Node, str], bool]", value)
"""Value of a field of type SFBool."""


def list_held_nodes(node: Node) -> Iterator[tuple[str, Node]]:
    """Return the direct child nodes of a node, each with its field, in written order."""
    for key in node.fields:
        for inner in node.nodes(key):
            yield key, inner


@cache
def _schema() -> dict[str, Any]:
    path = assets.root() / "assets" / "webots_nodes.yaml"
    schema: dict[str, Any] = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    return schema


@cache
def _nodes() -> dict[str, Mapping[str, FieldType]]:
    return {
        node_type: MappingProxyType({key: _field(*entry) for key, entry in entries.items()})
        for node_type, entries in _schema()["nodes"].items()
    }


def _field(kind: str, raw: Any, more: str | list[str] = "") -> FieldType:
    """Return the definition of a field from its entry in the schema table."""
    held = _held(kind, raw)
    if kind.endswith("Node"):
        return FieldType(kind, held, words=slot(more) if isinstance(more, str) else tuple(more))
    if isinstance(more, list):
        return FieldType(kind, held, words=tuple(map(str, more)))
    return FieldType(kind, held, unit=more)


def _held(kind: str, raw: Any) -> Value:
    """Convert a default value to the Python type of its field."""
    if kind.startswith("MF"):
        return [_held("SF" + kind[2:], item) for item in raw]
    if kind in NUMBERS_IN:
        return tuple(map(float, raw))
    value: Value = float(raw) if kind == "SFFloat" else raw
    return value


# Poses and masses


class Pose(NamedTuple):
    """Pose of an inner frame in an outer one: x_outer = rotation · x_inner + position."""

    rotation: Array
    """(3, 3)"""
    position: Array
    """(3,) [m]"""

    def __matmul__(self, inner: Pose) -> Pose:
        """Return the pose of a frame of the inner one in the outer one."""
        return Pose(self.rotation @ inner.rotation, self.apply(inner.position))

    def apply(self, point: ArrayLike) -> Array:
        """Transform a point (3,) of the inner frame to the outer one [m]."""
        return np.asarray(self.rotation @ np.asarray(point, dtype=float) + self.position)

    def inside(self, other: Pose) -> Pose:
        """Return the pose in another frame, where both are in the same one."""
        back = other.rotation.T
        return Pose(back @ self.rotation, back @ (self.position - other.position))


IDENTITY = Pose(np.eye(3), np.zeros(3))


def pose_of(translation: ArrayLike, rotation: ArrayLike) -> Pose:
    """Return the pose of fields of a node.

    Args:
        translation: (3,) [m].
        rotation: Axis of any length and angle [rad], (4,); no rotation where the axis is zero.
    """
    *axis, angle = np.asarray(rotation, dtype=float)
    rotation_vector = np.array(axis) * (angle / (math.hypot(*axis) or 1.0))
    matrix = Rotation.from_rotvec(rotation_vector).as_matrix()
    return Pose(np.asarray(matrix), np.asarray(translation, dtype=float))


def set_pose(node: Node, pose: Pose) -> None:
    """Write a pose as the first fields of a node, except for defaults."""
    fields: dict[str, Value] = {}
    if pose.position.any():
        fields["translation"] = numbers_of(pose.position)
    axis_and_angle = axis_angle(pose.rotation)
    if axis_and_angle[3] != 0.0:
        fields["rotation"] = axis_and_angle
    node.fields = fields | node.fields


def symmetric(diagonal: Numbers, products: Numbers) -> Array:
    """Return the inertia (3, 3) of [I11 I22 I33] and [I12 I13 I23]."""
    (xx, yy, zz), (xy, xz, yz) = diagonal, products
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def numbers_of(values: Array) -> Numbers:
    """Convert numbers to the content of a field."""
    return tuple(float(value) for value in values)


def axis_angle(rotation: Array) -> Numbers:
    """Convert a rotation matrix to a unit axis and an angle [rad]; the identity is about z."""
    rotation_vector = Rotation.from_matrix(rotation).as_rotvec()
    angle = math.sqrt(float(rotation_vector @ rotation_vector))
    if angle < 1e-14:
        return (0.0, 0.0, 1.0, 0.0)
    return (*numbers_of(rotation_vector / angle), angle)


class Mass(NamedTuple):
    """Mass, centre of mass and inertia of a rigid solid."""

    mass: float
    """Mass [kg]."""
    center: Array
    """Centre of mass in the frame of the solid, (3,) [m]."""
    inertia: Array
    """About the centre of mass, along the axes of the solid, (3, 3) [kg·m²]."""

    def placed(self, pose: Pose) -> Mass:
        """Transform the mass properties to the outer frame of ``pose``."""
        rotated = pose.rotation @ self.inertia @ pose.rotation.T
        return Mass(self.mass, pose.apply(self.center), rotated)

    def scaled(self, factor: float) -> Mass:
        """Scale the density by a factor."""
        return Mass(self.mass * factor, self.center, self.inertia * factor)


def together(pieces: Sequence[Mass]) -> Mass:
    """Combine the mass properties of at least one solid in one frame by Steiner's theorem."""
    total = sum(piece.mass for piece in pieces)
    center = sum((piece.mass * piece.center for piece in pieces), np.zeros(3)) / total
    inertia = np.zeros((3, 3))
    for piece in pieces:
        arm = piece.center - center
        inertia += piece.inertia + piece.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Mass(total, center, inertia)
