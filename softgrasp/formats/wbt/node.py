"""Nodes of a Webots world as values: a type, its fields in order, and where it stood."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

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
