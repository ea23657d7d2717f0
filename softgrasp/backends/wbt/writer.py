"""Write nodes as the text of a Webots world, from which ``parse_world`` makes equal nodes.

urdf2webots was considered: it converts URDF files only and has no writer of single nodes.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from typing import TypeAlias

from softgrasp.backends.wbt.schema import Node, Value
from softgrasp.backends.wbt.tokens import tokens
from softgrasp.errors import DescriptionError

WIDTH = 100
"""Longest line, except for what cannot be split."""
INDENT = "  "
_TO_ESCAPE = re.compile(r'["\\]')
_Step: TypeAlias = str | Node | tuple[str, Node, int]
"""A finished line; a node that is finished; or the text before a node, the node and its depth."""


def world_text(nodes: list[Node], version: str = "R2025a", externprotos: Sequence[str] = ()) -> str:
    """Write a world.

    A named node that occurs again is written as USE.

    Args:
        nodes: Top-level nodes.
        version: Version of Webots.
        externprotos: Addresses of the PROTO files whose instances it has.

    Raises:
        DescriptionError: A number is not finite, or the name of a node is not a single word.
    """
    declared = [f"EXTERNPROTO {_single(address)}" for address in externprotos]
    lines = [f"#VRML_SIM {version} utf8", "", *declared]
    names: dict[str, Node] = {}
    todo: list[_Step] = [("", node, 0) for node in reversed(nodes)]
    while todo:  # no recursion: long fingers are deep trees
        step = todo.pop()
        if isinstance(step, str):
            lines.append(step)
        elif isinstance(step, Node):
            names[step.name] = step
        else:
            todo.extend(reversed(_steps(*step, names)))
    return "\n".join(lines) + "\n"


def _steps(before: str, node: Node, depth: int, names: dict[str, Node]) -> list[_Step]:
    """Split the writing of a node into steps, so that deep trees need no recursion."""
    begin = INDENT * depth + before
    if node.name and names.get(node.name) is node:
        return [f"{begin}USE {node.name}"]
    head = begin + _head(node)
    done: list[_Step] = [node] if node.name else []
    if not any(node.nodes(key) for key in node.fields):
        parts = [f"{key} {plain_text(value)}" for key, value in node.fields.items()]
        line = " ".join([head, *parts, "}"])
        if len(line) <= WIDTH:
            return [line, *done]
    inside: list[_Step] = []
    for key, value in node.fields.items():
        inside += _field(key, value, depth + 1)
    return [head, *inside, INDENT * depth + "}", *done]


def _head(node: Node) -> str:
    if not node.name:
        return f"{node.type} {{"
    if next(tokens(node.name, ""))[:2] != ("word", node.name):
        raise DescriptionError(f"expected one word as the name of a node, found '{node.name}'")
    return f"DEF {node.name} {node.type} {{"


def _field(key: str, value: Value, depth: int) -> list[_Step]:
    begin = INDENT * depth
    if isinstance(value, Node):
        return [(f"{key} ", value, depth)]
    held = value if isinstance(value, list) else []
    nodes = [item for item in held if isinstance(item, Node)]
    if nodes:
        return [f"{begin}{key} [", *(("", node, depth + 1) for node in nodes), f"{begin}]"]
    line = f"{begin}{key} {plain_text(value)}"
    if len(line) <= WIDTH or not held or any(isinstance(item, str) for item in held):
        return [line]
    inner = begin + INDENT
    wrapped = textwrap.wrap(
        listed(held),
        WIDTH,
        initial_indent=inner,
        subsequent_indent=inner,
        break_on_hyphens=False,
        break_long_words=False,  # deep in a tree a number may be wider than the line
    )
    return [f"{begin}{key} [", *wrapped, f"{begin}]"]


def plain_text(value: Value) -> str:
    """Format a value that is not a node on one line.

    Numbers are read back bit-identical, except for -0, which becomes 0.

    Raises:
        DescriptionError: A number is not finite.
    """
    if isinstance(value, list):
        return f"[ {listed(value)} ]" if value else "[ ]"
    return _single(value)


def listed(items: Sequence[Value]) -> str:
    """Format the items of a list without its brackets; commas separate vectors.

    Raises:
        DescriptionError: A number is not finite.
    """
    comma = ", " if any(isinstance(item, tuple) for item in items) else " "
    return comma.join(map(_single, items))


def _single(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return f'"{_TO_ESCAPE.sub(lambda match: chr(92) + match[0], value)}"'
    if isinstance(value, tuple):
        return " ".join(map(_number, value))
    assert isinstance(value, int | float)  # nodes and lists do not come here
    return _number(value)


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise DescriptionError(f"expected finite numbers in a world, found {value}")
    if isinstance(value, int):
        return str(int(value))
    return "0" if value == 0 else repr(float(value)).removesuffix(".0")
