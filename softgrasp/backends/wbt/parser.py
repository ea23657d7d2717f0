"""Read the text of a Webots world (.wbt, VRML dialect) as nodes.

``parse_world`` goes from characters to tokens (words, numbers, strings and brackets with their
lines), from tokens to values of fields, and from values to nodes. It refuses what the grammar and
the table of nodes (``schema``) do not allow, with file, line and field. Nodes that the table does
not have, such as cameras, and instances of PROTO files are opaque: their fields are read by their
form.

No library reads worlds: urdf2webots only writes them, and VRML97 parsers do not know the nodes and
types of Webots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from softgrasp.backends.wbt.schema import (
    FieldType,
    Node,
    Value,
    allowed,
    fields,
    list_held_nodes,
    node_types,
    oldest_version,
    slot,
)
from softgrasp.backends.wbt.tokens import FLAGS, Cursor, plain_by_form, read_number, read_value
from softgrasp.errors import DescriptionError, did_you_mean, either
from softgrasp.plugin_api import check_size, loader

MAX_WORLD = 16 * 10**6
"""Largest size of a world [bytes]; public ones have at most 2.3 MB."""
MAX_DEPTH = 200
"""Largest number of nodes within one another; a finger has two for each joint."""
MAX_NODES = 500_000
"""Largest number of nodes, each USE counted."""
MAX_LENGTH = 1e4
"""Largest length and coordinate in a world [m]."""
LENGTHS = frozenset(["translation", "size", "radius", "height", "point", "anchor"])
"""Fields with lengths or coordinates [m]."""


@dataclass(slots=True)
class World:
    """Content of a world file.

    Attributes:
        version: Version of Webots that it is for, such as ``R2025a``.
        nodes: Top-level nodes in the order of the text.
        file: File that it was read from, for messages.
        externprotos: Addresses of declared PROTO files, as written.
        notes: Values that were changed.
    """

    version: str
    nodes: list[Node] = field(default_factory=list)
    file: Path = Path("world.wbt")
    externprotos: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def of_type(self, *types: str) -> Iterator[Node]:
        """Return all nodes of the given types, each once."""
        return (node for node in self.walk() if node.type in types)

    def opaque(self) -> Iterator[Node]:
        """Return all nodes whose type has no table of fields, each once."""
        return (node for node in self.walk() if node.type not in node_types())

    def walk(self) -> Iterator[Node]:
        """Return all nodes, each once, parents before children, in the order of the text."""
        seen: set[int] = set()
        waiting = self.nodes[::-1]
        while waiting:
            node = waiting.pop()
            if id(node) not in seen:
                seen.add(id(node))
                yield node
                waiting.extend(inner for _, inner in reversed(list(list_held_nodes(node))))


@loader
def read_world(path: str | Path) -> World:
    """Read a world from a file.

    Raises:
        DescriptionError: It cannot be read, is too large, its lengths or its nodes with each USE
            counted are, or as ``parse_world`` raises it.
    """
    path = Path(path)
    try:
        check_size(path, MAX_WORLD)
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DescriptionError(f"expected a readable world, found: {reason}", file=path) from error
    world = parse_world(text, path)
    counts: dict[int, int] = {}
    total = 0
    for node in world.nodes:
        total += _count(node, counts)
        if total > MAX_NODES:
            raise DescriptionError(
                f"expected at most {MAX_NODES} nodes, each USE counted, found more",
                file=world.file,
                line=node.line,
            )
    _check_lengths(world)
    return world


def parse_world(text: str, file: str | Path = "world.wbt") -> World:
    """Parse the text of a world.

    USE refers to the same ``Node`` object. A DEF of a name that was already defined replaces it
    from there on, as in VRML. Nodes of unknown types are opaque where the world declares their
    PROTO file.

    Args:
        text: Text of a .wbt file, header included.
        file: Its file, for messages.

    Raises:
        DescriptionError: The header or version is wrong, or a node or field is unknown, has a value
            of another type, or is not allowed there.
    """
    version = _version(text, file)
    reader = Reader(Cursor(text, file))
    nodes = reader.nodes()
    return World(version, nodes, Path(file), reader.declared, reader.cursor.notes)


def _count(node: Node, counts: dict[int, int]) -> int:
    """Return the number of nodes in a node, itself included; it holds itself nowhere."""
    if id(node) not in counts:
        total = 1 + sum(_count(inner, counts) for _, inner in list_held_nodes(node))
        counts[id(node)] = min(total, MAX_NODES + 1)
    return counts[id(node)]


def _check_lengths(world: World) -> None:
    """Refuse a world of an extent that no robot has."""
    for node in world.walk():
        for name in () if node.type.endswith("Light") else LENGTHS & node.fields.keys():
            if (large := _largest(node.fields[name])) > MAX_LENGTH:
                raise DescriptionError(
                    f"expected lengths of at most {MAX_LENGTH:g} m, found {large:g}",
                    file=world.file,
                    line=node.line,
                    field=f"{node.type}.{name}",
                )


def _largest(value: Value) -> float:
    """Return the largest magnitude of the numbers in a value; 0 where it has none."""
    if isinstance(value, list | tuple):
        return max(map(_largest, value), default=0.0)
    return abs(value) if isinstance(value, int | float) else 0.0


def _version(text: str, file: str | Path) -> str:
    first = text.split("\n", 1)[0].rstrip()
    header = re.fullmatch(r"#VRML_SIM (\S+)(?: \S+)*? utf8\s*", first)
    if header is None:
        raise DescriptionError(
            f"expected '#VRML_SIM R2025a utf8' or the like, found '{first[:60]}'", file=file, line=1
        )
    if not re.fullmatch(r"R\d{4}[a-z]", header[1]) or header[1] < oldest_version():
        raise DescriptionError(
            f"expected a world of Webots {oldest_version()} or newer, found one of {header[1]}; a "
            "newer Webots can save it",
            file=file,
            line=1,
        )
    return header[1]


# Tokens to nodes


class Reader:
    """Parser of nodes by recursive descent."""

    def __init__(self, cursor: Cursor) -> None:
        """Begin at the first token."""
        self.cursor = cursor
        self.declared: list[str] = []
        """Addresses of the declared PROTO files."""
        self.names: dict[str, Node] = {}
        self._depth = 0

    def nodes(self) -> list[Node]:
        """Read all top-level nodes and declarations."""
        cursor, nodes = self.cursor, []
        while cursor.token.kind != "end":
            cursor.skip("IMPORTABLE")
            if cursor.skip("EXTERNPROTO"):
                address = read_value(cursor, FieldType("SFString", ""), "EXTERNPROTO")
                self.declared.append(str(address))
            else:
                nodes.append(self._node(slot("world"), None, bounding=False))
        return nodes

    def _node(self, types: tuple[str, ...], field: str | None, *, bounding: bool) -> Node:
        """Read USE and a name, or a new node.

        Args:
            types: Allowed types; empty where any is.
            field: The field that holds it, for messages.
            bounding: Whether it belongs to a boundingObject.
        """
        cursor = self.cursor
        if cursor.skip("USE"):
            return self._used(types, field)
        name = cursor.word("a name", field) if cursor.skip("DEF") else ""
        self._check_type(types, field)
        line, node_type = cursor.token.line, cursor.take().text
        cursor.expect("{", f"that opens the {node_type}", field)
        node = Node(node_type, {}, name, line)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise cursor.error(f"expected at most {MAX_DEPTH} nodes within one another, found more")
        while not cursor.skip("}"):
            self._field(node, bounding)
        self._depth -= 1
        self.names |= {name: node} if name else {}
        return node

    def _field(self, node: Node, bounding: bool) -> None:
        """Read the name of a field of a node and its value."""
        cursor, token = self.cursor, self.cursor.token
        if token.kind != "word":
            closing = f"'}}' that closes the {node.type} of line {node.line}"
            raise cursor.error(f"expected a field or {closing}, found {token.actual}")
        key = token.text
        if key == "hidden":  # saved by Webots before the name of a field
            cursor.take()
            key = f"hidden {cursor.token.text}"
        field, bounded = f"{node.type}.{key}", bounding or key == "boundingObject"
        known = node.type in node_types()
        types = fields(node.type) if known else {}
        field_type = types.get(key)
        if known and field_type is None and token.text != "hidden":
            raise cursor.error(f"no such field; {did_you_mean(key, types)}", field)
        if key in node.fields:
            raise cursor.error("expected it once, found it again", field)
        cursor.take()
        if field_type is None:
            node.fields[key] = self._by_form(field, bounded)
        elif field_type.type.endswith("Node"):
            inner = allowed(node.type, key, bounding=bounding)
            node.fields[key] = self._nodes_of(field_type.type, inner, field, bounded)
        else:
            node.fields[key] = read_value(cursor, field_type, field)

    def _by_form(self, field: str, bounding: bool) -> Value:
        """Read the value of a field of unknown type, with all nodes in it.

        Args:
            field: Its name, for messages.
            bounding: Whether nodes in it belong to a boundingObject.
        """
        cursor, line = self.cursor, self.cursor.token.line
        if cursor.skip("["):
            items: list[Value] = []
            while cursor.token.kind in ("number", "string") or cursor.token.text in FLAGS:
                items.append(plain_by_form(cursor, field))
            items += self._items((), field, line, bounding)
            return items
        if cursor.skip("NULL"):
            return None
        if cursor.token.kind == "number":
            parts = []
            while cursor.token.kind == "number":
                parts.append(read_number(cursor, "a number", field))
            return parts[0] if len(parts) == 1 else tuple(parts)
        if cursor.token.kind == "string" or cursor.token.text in FLAGS:
            return plain_by_form(cursor, field)
        return self._node((), field, bounding=bounding)

    def _nodes_of(self, kind: str, types: tuple[str, ...], field: str, bounding: bool) -> Value:
        """Read the value of a field that holds nodes: a list, NULL, or one node."""
        line = self.cursor.token.line
        if kind == "MFNode" and self.cursor.skip("["):
            return self._items(types, field, line, bounding)
        if kind == "SFNode" and self.cursor.skip("NULL"):
            return None
        node = self._node(types, field, bounding=bounding)
        return [node] if kind == "MFNode" else node

    def _items(self, types: tuple[str, ...], field: str, line: int, bounding: bool) -> list[Value]:
        """Read nodes up to the end of the list that was opened in a line."""
        items: list[Value] = []
        while self.cursor.has_item(line, field):
            items.append(self._node(types, field, bounding=bounding))
        return items

    def _used(self, types: tuple[str, ...], field: str | None) -> Node:
        """Read the name of a node, behind ``USE``."""
        line = self.cursor.token.line
        name = self.cursor.word("the name of a node", field)
        if name not in self.names:
            known = did_you_mean(name, self.names) if self.names else "there is none"
            raise self.cursor.error(f"no DEF '{name}' above; {known}", field, line)
        node = self.names[name]
        if types and node.type in node_types() and node.type not in types:
            raise self.cursor.error(
                f"expected {either(types)}, found '{name}', a {node.type}", field, line
            )
        return node

    def _check_type(self, types: tuple[str, ...], field: str | None) -> None:
        """Refuse what is no node, or none of the allowed types; any may be that of a PROTO."""
        token, error = self.cursor.token, self.cursor.error
        if token.kind != "word":
            raise error(f"expected a node, found {token.actual}", field)
        if token.text in node_types():
            if types and token.text not in types:
                raise error(f"expected {either(types)}, found {token.actual}", field)
            return
        protos = (address.rsplit("/", 1)[-1].removesuffix(".proto") for address in self.declared)
        opaque = token.text in slot("opaque") or token.text in protos
        if token.text == "NULL" or not opaque:
            lacks = "" if token.text == "NULL" else ", and no EXTERNPROTO declares it"
            hint = did_you_mean(token.text, types or node_types())
            raise error(f"no node '{token.text}' can stand here{lacks}; {hint}", field)
