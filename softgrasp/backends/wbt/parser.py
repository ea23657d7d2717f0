"""Read the text of a Webots world (.wbt, VRML dialect) as nodes.

``parse_world`` goes from characters to tokens (words, numbers, strings and brackets with their
lines), from tokens to values of fields, and from values to nodes. It refuses what the grammar and
the table of nodes (``schema``) do not allow, with file, line and field. Nodes that the table does
not have, such as cameras, and instances of PROTO files are opaque: their fields are read by their
form. An instance of a PROTO file that lies beside the world is expanded (``protos``).

No library reads worlds: urdf2webots only writes them, and VRML97 parsers do not know the nodes and
types of Webots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from softgrasp.backends.wbt.schema import (
    FieldType,
    Node,
    Steps,
    Value,
    allowed,
    fields,
    finish,
    list_held_nodes,
    node_types,
    oldest_version,
    slot,
)
from softgrasp.backends.wbt.tokens import (
    FLAGS,
    Cursor,
    Token,
    plain_by_form,
    read_number,
    read_value,
)
from softgrasp.errors import DescriptionError, did_you_mean, either
from softgrasp.plugin_api import check_size, loader

MAX_INSTANCES, MAX_PROTO_BYTES = 10_000, 4_000_000
"""Largest number of instances of PROTO files that are expanded, and largest size of such a file."""
MAX_WORLD = 16 * 10**6
"""Largest size of a world [bytes]; public ones have at most 2.3 MB."""
MAX_NODES = 500_000
"""Largest number of nodes, each USE counted."""
MAX_LENGTH = 1e4
"""Largest length and coordinate in a world [m]."""
LENGTHS = frozenset(["translation", "size", "radius", "height", "point", "anchor"])
"""Fields with lengths or coordinates [m]."""
_BEFORE_DECLARATIONS = "R2022b"
"""First version in which a world declares its PROTO files."""
_BEFORE_POSE = "R2023b"
"""First version with Pose nodes, which replaced Transform nodes."""


@dataclass(slots=True)
class World:
    """Content of a world file.

    Attributes:
        version: Version of Webots that it is for, such as ``R2025a``.
        nodes: Top-level nodes in the order of the text.
        file: File that it was read from, for messages.
        externprotos: Addresses of declared PROTO files, as written.
        notes: Values that were changed, and why PROTO files beside the world are not expanded.
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
    text = _text_of(path, MAX_WORLD, "world")
    world = parse_world(text, path)
    counts: dict[int, int] = {}
    total = 0
    for node in world.nodes:
        total += finish(_count(node, counts))
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
    PROTO file, or is older than such declarations.

    Args:
        text: Text of a .wbt file, header included.
        file: Its file, for messages.

    Raises:
        DescriptionError: The header or version is wrong, or a node or field is unknown, has a value
            of another type, or is not allowed there.
    """
    version = _version(text, file)
    library = Library(version)
    reader = Reader(Cursor(text, file), library)
    nodes = reader.nodes()
    notes = [*library.notes, *reader.cursor.notes]
    return World(version, nodes, Path(file), reader.declared, notes)


def _text_of(path: Path, limit: int, kind: str) -> str:
    """Return the text of a file of at most some bytes."""
    try:
        check_size(path, limit)
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DescriptionError(f"expected a readable {kind}, found: {reason}", file=path) from error


def _count(node: Node, counts: dict[int, int]) -> Steps[int]:
    """Return the number of nodes in a node, itself included; it holds itself nowhere."""
    if id(node) not in counts:
        total = 1
        for _, inner in list_held_nodes(node):
            total += yield _count(inner, counts)
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
            f"expected a world of Webots {oldest_version()} or newer, found one of {header[1]}",
            file=file,
            line=1,
        )
    return header[1]


# Tokens to nodes


class Reader:
    """Parser of nodes by recursive descent in ``finish``, as long fingers are deep trees."""

    def __init__(
        self, cursor: Cursor, library: Library, parameters: Mapping[str, Value] | None = None
    ) -> None:
        """Begin at the first token.

        Args:
            cursor: The text.
            library: PROTO files that are known.
            parameters: Values that ``IS`` refers to, in the body of a PROTO.
        """
        self.cursor = cursor
        self.library = library
        self.parameters = parameters
        self.declared: list[str] = []
        self.names: dict[str, Node] = {}

    def nodes(self) -> list[Node]:
        """Read all top-level nodes; in the body of a PROTO any type is allowed."""
        types = slot("world") if self.parameters is None else ()
        nodes = []
        while self.cursor.token.kind != "end":
            if not self.declaration():
                nodes.append(finish(self._node(types, None, bounding=False)))
        return nodes

    def declaration(self) -> bool:
        """Read ``EXTERNPROTO "address"``, if it is next."""
        cursor = self.cursor
        cursor.skip("IMPORTABLE")
        if not cursor.skip("EXTERNPROTO"):
            return False
        address = str(read_value(cursor, FieldType("SFString", ""), "EXTERNPROTO"))
        self.declared.append(address)
        self.library.declare(address, cursor.file)
        return True

    def _node(self, types: tuple[str, ...], field: str | None, *, bounding: bool) -> Steps[Node]:
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
        node, proto = Node(node_type, {}, name, line), None
        if node_type not in node_types() and node_type not in slot("opaque"):
            proto = self.library.proto(node_type, cursor.file)
        while not cursor.skip("}"):
            yield self._field(node, proto, bounding)
        if proto is not None:
            self.library.expand(node, proto)
        self.names |= {name: node} if name else {}
        return node

    def _field(self, node: Node, proto: Proto | None, bounding: bool) -> Steps[None]:
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
        types = proto.fields if proto else fields(node.type) if known else {}
        field_type = types.get(key)
        if known and field_type is None and token.text != "hidden":
            raise cursor.error(f"no such field; {did_you_mean(key, types)}", field)
        if key in node.fields:
            raise cursor.error("expected it once, found it again", field)
        cursor.take()
        if self.parameters is not None and cursor.skip("IS"):
            node.fields[key] = self._parameter(field, self.parameters)
        elif field_type is None:
            node.fields[key] = yield self.by_form(field, bounded)
        elif field_type.type.endswith("Node"):
            inner = self._allowed(node.type, key, bounding) if known else ()
            node.fields[key] = yield self._nodes_of(field_type.type, inner, field, bounded)
        else:
            node.fields[key] = read_value(cursor, field_type, field)

    def _allowed(self, node_type: str, key: str, bounding: bool) -> tuple[str, ...]:
        """Return the types of nodes that are allowed in a field."""
        types = allowed(node_type, key, bounding=bounding)
        older = self.library.version < _BEFORE_POSE or self.parameters is not None
        missing = older and "Pose" in types and "Transform" not in types
        return (*types, "Transform") if missing else types

    def _parameter(self, field: str, parameters: Mapping[str, Value]) -> Value:
        """Read the name of a field of the PROTO, behind ``IS``; return a copy of its value."""
        line = self.cursor.token.line
        name = self.cursor.word("the name of a field of the PROTO", field)
        if name not in parameters:
            hint = did_you_mean(name, parameters) if parameters else "it has none"
            raise self.cursor.error(f"the PROTO has no field '{name}'; {hint}", field, line)
        held = parameters[name]
        return list(held) if isinstance(held, list) else held

    def by_form(self, field: str, bounding: bool) -> Steps[Value]:
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
            items += yield self._items((), field, line, bounding)
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
        node: Node = yield self._node((), field, bounding=bounding)
        return node

    def _nodes_of(
        self, kind: str, types: tuple[str, ...], field: str, bounding: bool
    ) -> Steps[Value]:
        """Read the value of a field that holds nodes: a list, NULL, or one node."""
        line = self.cursor.token.line
        if kind == "MFNode" and self.cursor.skip("["):
            nodes: list[Value] = yield self._items(types, field, line, bounding)
            return nodes
        if kind == "SFNode" and self.cursor.skip("NULL"):
            return None
        node: Node = yield self._node(types, field, bounding=bounding)
        return [node] if kind == "MFNode" else node

    def _items(
        self, types: tuple[str, ...], field: str, line: int, bounding: bool
    ) -> Steps[list[Value]]:
        """Read nodes up to the end of the list that was opened in a line."""
        items: list[Value] = []
        while self.cursor.has_item(line, field):
            items.append((yield self._node(types, field, bounding=bounding)))
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
        old = self.library.version < _BEFORE_DECLARATIONS
        opaque = old or token.text in slot("opaque") or token.text in self.library.declared
        if token.text == "NULL" or not opaque:
            lacks = "" if token.text == "NULL" else ", and no EXTERNPROTO declares it"
            hint = did_you_mean(token.text, types or node_types())
            raise error(f"no node '{token.text}' can stand here{lacks}; {hint}", field)


# PROTO files


@dataclass(slots=True)
class Proto:
    """Definition of a node by a PROTO file.

    Attributes:
        name: Type of its instances.
        file: The file.
        fields: Fields of instances.
        body: Tokens of the node that it stands for.
    """

    name: str
    file: Path
    fields: dict[str, FieldType]
    body: tuple[Token, ...]


class Library:
    """PROTO files that a world declares, or that lie beside it, and their instances."""

    def __init__(self, version: str) -> None:
        """Begin with none."""
        self.version = version
        self.notes: list[str] = []
        self.declared: dict[str, Path | None] = {}
        """Files of the declared types; None where they are elsewhere."""
        self._read: dict[str, Proto | None] = {}
        self._open: list[str] = []
        self._instances = 0

    def declare(self, address: str, file: Path) -> None:
        """Note a declaration; only addresses relative to the file that has it can be read."""
        name = address.rsplit("/", 1)[-1].removesuffix(".proto")
        is_local = "://" not in address
        self.declared.setdefault(name, file.parent / address if is_local else None)

    def proto(self, name: str, file: Path) -> Proto | None:
        """Return the definition of a type of nodes; None where it cannot be expanded."""
        if name not in self._read:
            self._read[name] = None
            path = self.declared.get(name)
            if path is None and self.version < _BEFORE_DECLARATIONS:  # beside the world
                directories = (file.parent.parent / "protos", file.parent / "protos", file.parent)
                paths = (directory / f"{name}.proto" for directory in directories)
                path = next((item for item in paths if item.is_file()), None)
            try:
                if path is not None and path.is_file():
                    self._read[name] = read_proto(path, self)
            except DescriptionError as error:
                self.notes.append(f"{name} is not expanded: {error}")
        return None if name in self._open else self._read[name]

    def expand(self, node: Node, proto: Proto) -> None:
        """Replace an instance by the node that its PROTO stands for; it keeps its DEF name."""
        self._instances += 1
        if self._instances > MAX_INSTANCES:
            raise DescriptionError(
                f"expected at most {MAX_INSTANCES} instances of PROTO files, found more",
                file=proto.file,
            )
        values = {key: one.default for key, one in proto.fields.items()} | node.fields
        self._open.append(proto.name)
        try:
            nodes = Reader(Cursor(proto.body, proto.file), self, values).nodes()
        except DescriptionError as error:
            self._read[proto.name] = None
            self.notes.append(f"{proto.name} is not expanded: {error}")
        else:
            if nodes:
                node.type, node.fields = nodes[0].type, nodes[0].fields
        finally:
            self._open.pop()


def read_proto(path: Path, library: Library) -> Proto | None:
    """Read the definition of a PROTO file; None of a template, which a program would have to fill.

    Raises:
        DescriptionError: It cannot be read, or is no PROTO file.
    """
    text = _text_of(path, MAX_PROTO_BYTES, "PROTO")
    if re.search(r"%[<{]", text):
        library.notes.append(f"{path.stem} is not expanded: {path} is a template")
        return None
    cursor = Cursor(text, path)
    reader = Reader(cursor, library, {})
    while not cursor.skip("PROTO"):
        if not reader.declaration():
            raise cursor.error(f"expected a PROTO, found {cursor.token.actual}")
    name = cursor.take().text
    interface = _interface(reader)
    cursor.expect("{", "that opens the PROTO")
    body = []
    while cursor.token.kind != "end":
        body.append(cursor.take())
    if not body or body[-1][:2] != ("bracket", "}"):
        raise cursor.error(f"expected '}}' that closes the PROTO, found {cursor.token.actual}")
    return Proto(name, path, interface, (*body[:-1], cursor.token))


def _interface(reader: Reader) -> dict[str, FieldType]:
    """Read the fields of a PROTO between brackets, with their types and defaults."""
    cursor, known = reader.cursor, dict[str, FieldType]()
    cursor.expect("[", "before the fields")
    while not cursor.skip("]"):
        kind_of_field = cursor.word("field, or ']' that closes the fields")
        kind = cursor.word("the type of a field", kind_of_field)
        depth = int(cursor.skip("{"))
        while depth and cursor.token.kind != "end":
            depth += cursor.is_at("{") - cursor.is_at("}")
            cursor.take()
        name = cursor.word("the name of a field", kind)
        if kind.endswith("Node"):
            default = finish(reader.by_form(f"PROTO.{name}", name == "boundingObject"))
            if kind == "MFNode" and not isinstance(default, list):
                default = [default]
        else:
            default = read_value(cursor, FieldType(kind, None), f"{kind} {name}")
        known[name] = FieldType(kind, default)
    return known
