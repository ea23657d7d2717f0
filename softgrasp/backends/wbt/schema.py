"""What is known of the nodes of Webots: their fields, types, defaults, and what may stand where.

The facts themselves are in ``assets/webots_nodes.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Union

from ruamel.yaml import YAML

from softgrasp import assets

# --------------------
# Nodes of a Webots world as values: a type, its fields in order, and where it stood.


Numbers = tuple[float, ...]
"""SFVec2f, SFVec3f, SFColor, SFRotation."""
Value = Union[bool, int, float, str, Numbers, "Node", "list[Value]", None]
"""What a field can hold; None is NULL, a list is an MF field."""


@dataclass(eq=False, slots=True)
class Node:
    """One node; where the same object stands in two places, the second one is a USE."""

    type: str
    fields: dict[str, Value] = field(default_factory=dict)
    """Fields that are given, in their order; the others have their defaults."""
    name: str = ""
    """Of its DEF; empty where it has none."""
    line: int = 0
    """In the text that it was read from; 0 where it was made here."""

    def nodes(self, key: str) -> list[Node]:
        """The nodes of a field, whether it holds one, several or none."""
        value = self.fields.get(key)
        held = value if isinstance(value, list) else [value]
        return [item for item in held if isinstance(item, Node)]

    def node(self, key: str) -> Node | None:
        """The only node of a field; None where it has none."""
        return next(iter(self.nodes(key)), None)


NUMBERS_IN = {"SFVec2f": 2, "SFVec3f": 3, "SFColor": 3, "SFRotation": 4}
"""How many numbers the types hold that hold several."""


@dataclass(frozen=True, slots=True)
class FieldType:
    """What is known of one field.

    Attributes:
        type: Such as ``SFVec3f``; types that begin with MF hold lists.
        default: What it holds where a file does not say.
        unit: Of its numbers; empty where they have none.
        words: The strings, or the types of nodes, that it may hold; empty where any will do.
    """

    type: str
    default: Value
    unit: str = ""
    words: tuple[str, ...] = ()


def node_types() -> tuple[str, ...]:
    """The types of all nodes that are known."""
    return tuple(_nodes())


def fields(node_type: str) -> Mapping[str, FieldType]:
    """The fields of a type of node.

    Raises:
        KeyError: There is no such type.
    """
    return _nodes()[node_type]


def slot(name: str) -> tuple[str, ...]:
    """The types of nodes that may stand in a place, such as ``world`` or ``bounding object``."""
    return tuple(_schema()["slots"][name])


def allowed(node_type: str, key: str, *, bounding: bool = False) -> tuple[str, ...]:
    """The types of nodes that may stand in a field.

    Args:
        node_type: The node that has the field.
        key: The field.
        bounding: Whether that node belongs to a boundingObject.

    Raises:
        KeyError: There is no such type of node or no such field.
    """
    inside = bounding and key in ("children", "geometry")
    return slot(f"bounding {key}") if inside else fields(node_type)[key].words


def oldest_version() -> str:
    """The oldest version of Webots whose worlds are read."""
    return str(_schema()["oldest"])


def default(node_type: str, key: str) -> Value:
    """What a field holds where a file does not say; a list is a fresh one.

    Raises:
        KeyError: There is no such type of node or no such field.
    """
    held = fields(node_type)[key].default
    return list(held) if isinstance(held, list) else held


def value(node: Node, key: str) -> Value:
    """What a field of a node holds: what was given, or its default.

    Raises:
        KeyError: The node can have no such field.
    """
    return node.fields[key] if key in node.fields else default(node.type, key)


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
    """Facts of a field from its entry in the file."""
    held = _held(kind, raw)
    if kind.endswith("Node"):
        return FieldType(kind, held, words=slot(more) if isinstance(more, str) else tuple(more))
    if isinstance(more, list):
        return FieldType(kind, held, words=tuple(map(str, more)))
    return FieldType(kind, held, unit=more)


def _held(kind: str, raw: Any) -> Value:
    """A default as a field of that type holds it."""
    if kind.startswith("MF"):
        return [_held("SF" + kind[2:], item) for item in raw]
    if kind in NUMBERS_IN:
        return tuple(map(float, raw))
    value: Value = float(raw) if kind == "SFFloat" else raw
    return value
