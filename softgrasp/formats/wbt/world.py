"""A Webots world as a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from softgrasp.formats.wbt.access import held_nodes
from softgrasp.formats.wbt.node import Node


@dataclass(slots=True)
class World:
    """What stands in a file: the version of Webots that it is for, and its nodes.

    Attributes:
        version: Such as ``R2025a``.
        nodes: The nodes at the top, in their order.
        file: Where it came from, for sentences about it.
    """

    version: str
    nodes: list[Node] = field(default_factory=list)
    file: Path = Path("world.wbt")

    def walk(self) -> Iterator[Node]:
        """All nodes, each once, outer ones before inner ones, in the order of the text."""
        seen: set[int] = set()
        waiting = self.nodes[::-1]
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield node
            waiting.extend(inner for _, inner in reversed(list(held_nodes(node))))
