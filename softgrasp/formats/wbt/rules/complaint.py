"""What a rule says: about which node, and what was expected and found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from softgrasp.formats.wbt.access import number
from softgrasp.formats.wbt.node import Node
from softgrasp.formats.wbt.world import World

Complaint: TypeAlias = tuple[Node | None, str]
"""The node, or None where there is none to name, and one sentence."""
Rule: TypeAlias = Callable[[World], Iterator[Complaint]]


def of_type(world: World, *types: str) -> Iterator[Node]:
    """All nodes of these types, each once."""
    return (node for node in world.walk() if node.type in types)


def above(node: Node, keys: Iterable[str], minimum: float = 0.0) -> Iterator[Complaint]:
    """Complain of numbers that are below the least."""
    for key in keys:
        if number(node, key) < minimum:
            text = f"{number(node, key):g}"
            yield node, f"{node.type}.{key}: expected at least {minimum:g}, found {text}"


def since(node: Node) -> str:
    """Where the first of two stands, in brackets; empty where it was not read from a text."""
    return f" (the first is in line {node.line})" if node.line else ""
