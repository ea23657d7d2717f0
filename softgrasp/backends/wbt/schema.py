"""Nodes of Webots worlds: their fields with types, defaults and units, and where they may stand.

The table of all nodes is ``assets/webots_nodes.yaml``, from the reference manual of Webots R2025a.
A ``Node`` holds the fields that a file specifies; ``value`` and the typed functions below it also
know the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar, Union, cast

from ruamel.yaml import YAML

from softgrasp import assets

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


T = TypeVar("T")
Steps: TypeAlias = Generator[Any, Any, T]
"""A recursive function that yields its calls, of which ``finish`` sends back the results."""


def finish(steps: Steps[T]) -> T:
    """Run a recursive function on trees of any depth; each yield returns the result of a call."""
    calls: list[Steps[Any]] = [steps]
    result: Any = None
    while calls:
        try:
            call = calls[-1].send(result)
        except StopIteration as end:
            calls.pop()
            result = end.value
        else:
            calls.append(call)
            result = None
    return cast("T", result)


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
