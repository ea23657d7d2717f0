"""Fields of nodes with the Python type that they hold, defaults included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from softgrasp.formats.wbt.node import Node, Numbers
from softgrasp.formats.wbt.schema import value

# The casts are sound for nodes that ``parse_world`` has read: it has checked the types.


def number(node: Node, key: str) -> float:
    """A field of type SFFloat or SFInt32."""
    return cast("float", value(node, key))


def numbers(node: Node, key: str) -> list[float]:
    """A field of type MFFloat."""
    return cast("list[float]", value(node, key))


def integers(node: Node, key: str) -> list[int]:
    """A field of type MFInt32."""
    return cast("list[int]", value(node, key))


def vector(node: Node, key: str) -> Numbers:
    """A field of type SFVec2f, SFVec3f, SFColor or SFRotation."""
    return cast("Numbers", value(node, key))


def vectors(node: Node, key: str) -> list[Numbers]:
    """A field of type MFVec2f, MFVec3f, MFColor or MFRotation."""
    return cast("list[Numbers]", value(node, key))


def text(node: Node, key: str) -> str:
    """A field of type SFString."""
    return cast("str", value(node, key))


def texts(node: Node, key: str) -> list[str]:
    """A field of type MFString."""
    return cast("list[str]", value(node, key))


def flag(node: Node, key: str) -> bool:
    """A field of type SFBool."""
    return cast("bool", value(node, key))


def held_nodes(node: Node) -> Iterator[tuple[str, Node]]:
    """The nodes right inside a node, each with the field that holds it, in the order written."""
    for key in node.fields:
        for inner in node.nodes(key):
            yield key, inner
