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
    Value,
    allowed,
    fields,
    held_nodes,
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
_TEMPLATE = re.compile(r"%[<{]")
_HEADER = re.compile(r"#VRML_SIM (\S+)(?: \S+)*? utf8\s*")
_VERSION = re.compile(r"R\d{4}[a-z]")
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
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield node
            waiting.extend(inner for _, inner in reversed(list(held_nodes(node))))


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
    _check_nodes(world)
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


def _check_nodes(world: World) -> None:
    """Refuse a world that is too large when each USE is replaced by its node.

    A node holds itself nowhere, as USE follows its DEF; deep trees need a loop.
    """
    counts: dict[int, int] = {}
    waiting = world.nodes[::-1]
    while waiting:
        node = waiting[-1]
        parts = [inner for _, inner in held_nodes(node)]
        if missing := [inner for inner in parts if id(inner) not in counts]:
            waiting.extend(missing)
            continue
        waiting.pop()
        total = 1 + sum(counts[id(inner)] for inner in parts)
        counts[id(node)] = min(total, MAX_NODES + 1)
    total = 0
    for node in world.nodes:
        if (total := total + counts[id(node)]) > MAX_NODES:
            raise DescriptionError(
                f"expected at most {MAX_NODES} nodes, each USE counted, found more",
                file=world.file,
                line=node.line,
            )


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
    header = _HEADER.fullmatch(first)
    if header is None:
        raise DescriptionError(
            f"expected '#VRML_SIM R2025a utf8' or the like, found '{first[:60]}'", file=file, line=1
        )
    if not _VERSION.fullmatch(header[1]) or header[1] < oldest_version():
        raise DescriptionError(
            f"expected a world of Webots {oldest_version()} or newer, found one of {header[1]}",
            file=file,
            line=1,
        )
    return header[1]


# Tokens to nodes


@dataclass(slots=True)
class _Open:
    """A node whose closing bracket has not been read yet.

    Attributes:
        node: The node.
        bounding: Whether it belongs to a boundingObject.
        key: The field that is being read.
        items: The list of that field while its bracket is open.
        since: The line of that bracket.
        proto: Definition, of an instance of a PROTO file that is expanded.
    """

    node: Node
    bounding: bool
    key: str = ""
    items: list[Value] | None = None
    since: int = 0
    proto: Proto | None = None


class Reader:
    """Parser of nodes that does not recurse, as long fingers are deep trees."""

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
        self.top: list[Node] = []
        self.opened: list[_Open] = []
        self.names: dict[str, Node] = {}

    def nodes(self) -> list[Node]:
        """All top-level nodes."""
        while self.opened or self.cursor.token.kind != "end":
            if self.opened:
                self._step()
            elif not self.declaration():
                self._append(self._head(self._slot("world"), None))
        return self.top

    def value_by_form(self, key: str) -> Value:
        """Read a value of unknown type, with all nodes in it.

        Args:
            key: Name of its field, for messages.
        """
        frame = _Open(Node("PROTO", {}, "", self.cursor.token.line), bounding=False, key=key)
        self.opened.append(frame)
        self._by_form(frame, key)
        while self.opened[-1] is not frame or frame.items is not None:
            self._step()
        self.opened.pop()
        return frame.node.fields[key]

    def _step(self) -> None:
        """Read the next item, field or closing bracket of the innermost open node."""
        frame = self.opened[-1]
        if frame.items is not None:
            self._in_list(frame)
        elif self.cursor.skip("}"):
            self._close(self.opened.pop())
        else:
            self._field(frame)

    def declaration(self) -> bool:
        """Read ``EXTERNPROTO "address"``, if it is next."""
        cursor = self.cursor
        if cursor.token[:2] == ("word", "IMPORTABLE"):
            cursor.take()
        if cursor.token[:2] != ("word", "EXTERNPROTO"):
            return False
        cursor.take()
        address = str(read_value(cursor, FieldType("SFString", ""), "EXTERNPROTO"))
        self.declared.append(address)
        self.library.declare(address, cursor.file)
        return True

    def _close(self, frame: _Open) -> None:
        """Finish a node; an instance of a PROTO is replaced by what it stands for."""
        node = frame.node
        if frame.proto is not None:
            self.library.expand(node, frame.proto)
        self.names |= {node.name: node} if node.name else {}

    def _slot(self, name: str) -> tuple[str, ...]:
        """Return the types of nodes of a context; all of them in the body of a PROTO."""
        return slot(name) if self.parameters is None else ()

    def _allowed(self, frame: _Open) -> tuple[str, ...]:
        """Return the types of nodes in the field that is being read; empty where any is allowed."""
        if frame.proto is not None or frame.node.type not in node_types():
            return ()
        types = allowed(frame.node.type, frame.key, bounding=frame.bounding)
        older = (self.library.version < _BEFORE_POSE or self.parameters is not None) and (
            "Pose" in types
        )
        return (*types, "Transform") if older and "Transform" not in types else types

    def _in_list(self, frame: _Open) -> None:
        if self.cursor.skip("]"):
            frame.items = None
        elif self.cursor.token.kind in ("bracket", "end"):
            raise self.cursor.error(
                f"expected ']' that closes the list of line {frame.since}, "
                f"found {self.cursor.token.actual}",
                f"{frame.node.type}.{frame.key}",
            )
        else:
            self._append(self._head(self._allowed(frame), f"{frame.node.type}.{frame.key}"))

    def _field(self, frame: _Open) -> None:
        """Read the name of a field and its value, or the beginning of its list of nodes."""
        node, token = frame.node, self.cursor.token
        if token.kind != "word":
            raise self.cursor.error(
                f"expected a field or '}}' that closes the {node.type} of line {node.line}, "
                f"found {token.actual}"
            )
        types = self._types(frame)
        if frame.proto is not None and token.text not in frame.proto.fields:
            types = None  # of another version of the PROTO
        frame.key = token.text
        if token.text == "hidden":  # saved by Webots before the name of a field
            self.cursor.take()
            frame.key = f"hidden {self.cursor.token.text}"
        field, field_type = f"{node.type}.{frame.key}", None
        if types is not None and not frame.key.startswith("hidden "):
            field_type = types.get(frame.key)
            if field_type is None:
                raise self.cursor.error(f"no such field; {did_you_mean(token.text, types)}", field)
        if frame.key in node.fields:
            raise self.cursor.error("expected it once, found it again", field)
        self.cursor.take()
        if self.parameters is not None and self.cursor.token[:2] == ("word", "IS"):
            self._parameter(frame, field)
        elif field_type is None:
            self._by_form(frame, field)
        elif field_type.type.endswith("Node"):
            self._nodes_of(frame, field_type.type)
        else:
            node.fields[frame.key] = read_value(self.cursor, field_type, field)

    def _types(self, frame: _Open) -> Mapping[str, FieldType] | None:
        """Return the fields of a node; None of an opaque one."""
        if frame.proto is not None:
            return frame.proto.fields
        return fields(frame.node.type) if frame.node.type in node_types() else None

    def _parameter(self, frame: _Open, field: str) -> None:
        """Read ``IS`` and the name of a field of the PROTO."""
        self.cursor.take()
        line = self.cursor.token.line
        name = self.word("the name of a field of the PROTO", field)
        assert self.parameters is not None  # only in the body of a PROTO
        if name not in self.parameters:
            hint = did_you_mean(name, self.parameters) if self.parameters else "it has none"
            raise self.cursor.error(f"the PROTO has no field '{name}'; {hint}", field, line)
        held = self.parameters[name]
        frame.node.fields[frame.key] = list(held) if isinstance(held, list) else held

    def _by_form(self, frame: _Open, field: str) -> None:
        """Read the value of a field of unknown type."""
        cursor, node = self.cursor, frame.node
        frame.since = cursor.token.line
        if cursor.skip("["):
            items: list[Value] = []
            node.fields[frame.key] = items
            while cursor.token.kind in ("number", "string") or cursor.token.text in FLAGS:
                items.append(plain_by_form(cursor, field))
            frame.items = items
        elif cursor.token[:2] == ("word", "NULL"):
            cursor.take()
            node.fields[frame.key] = None
        elif cursor.token.kind == "number":
            parts = [read_number(cursor, "a number", field)]
            while cursor.token.kind == "number":
                parts.append(read_number(cursor, "a number", field))
            node.fields[frame.key] = parts[0] if len(parts) == 1 else tuple(parts)
        elif cursor.token.kind == "string" or cursor.token.text in FLAGS:
            node.fields[frame.key] = plain_by_form(cursor, field)
        else:
            self._append(self._head((), field))

    def _nodes_of(self, frame: _Open, kind: str) -> None:
        """Read the beginning of a node-valued field: a bracket, NULL, or the first node."""
        frame.since = self.cursor.token.line
        if kind == "MFNode":
            items: list[Value] = []
            frame.node.fields[frame.key] = items
            if self.cursor.skip("["):
                frame.items = items
                return
        elif self.cursor.token[:2] == ("word", "NULL"):
            self.cursor.take()
            frame.node.fields[frame.key] = None
            return
        self._append(self._head(self._allowed(frame), f"{frame.node.type}.{frame.key}"))

    def _head(self, allowed_types: tuple[str, ...], field: str | None) -> tuple[Node, bool]:
        """Read USE and a name, or a new node up to its opening bracket; True for a new one."""
        cursor, name = self.cursor, ""
        if cursor.token[:2] == ("word", "USE"):
            cursor.take()
            return self._used(allowed_types, field), False
        if cursor.token[:2] == ("word", "DEF"):
            cursor.take()
            name = self.word("a name", field)
        line = cursor.token.line
        self._check_type(allowed_types, field)
        node_type = cursor.take().text
        if not cursor.skip("{"):
            raise cursor.error(
                f"expected '{{' that opens the {node_type}, found {cursor.token.actual}", field
            )
        return Node(node_type, {}, name, line), True

    def _used(self, allowed_types: tuple[str, ...], field: str | None) -> Node:
        line = self.cursor.token.line
        name = self.word("the name of a node", field)
        if name not in self.names:
            known = did_you_mean(name, self.names) if self.names else "there is none"
            raise self.cursor.error(f"no DEF '{name}' above; {known}", field, line)
        node = self.names[name]
        known_type = node.type in node_types()
        if allowed_types and known_type and node.type not in allowed_types:
            raise self.cursor.error(
                f"expected {either(allowed_types)}, found '{name}', a {node.type}", field, line
            )
        return node

    def word(self, expected: str, field: str | None) -> str:
        """Read a word.

        Raises:
            DescriptionError: There is none.
        """
        if self.cursor.token.kind != "word":
            raise self.cursor.error(f"expected {expected}, found {self.cursor.token.actual}", field)
        return self.cursor.take().text

    def _check_type(self, allowed_types: tuple[str, ...], field: str | None) -> None:
        token = self.cursor.token
        if token.kind != "word":
            raise self.cursor.error(f"expected a node, found {token.actual}", field)
        if token.text in node_types():
            if allowed_types and token.text not in allowed_types:
                raise self.cursor.error(
                    f"expected {either(allowed_types)}, found {token.actual}", field
                )
        elif token.text == "NULL" or not self._is_opaque(token.text):
            hint = did_you_mean(token.text, allowed_types or node_types())
            raise self.cursor.error(
                f"no node '{token.text}' can stand here, and no EXTERNPROTO declares it; {hint}"
                if token.text != "NULL"
                else f"no node 'NULL' can stand here; {hint}",
                field,
            )

    def _is_opaque(self, node_type: str) -> bool:
        """Return whether a type is one of Webots, or may be that of a PROTO file."""
        old = self.library.version < _BEFORE_DECLARATIONS
        return old or node_type in slot("opaque") or self.library.declares(node_type)

    def _append(self, head: tuple[Node, bool]) -> None:
        """Append a node to the innermost open field; a new node becomes the innermost open one."""
        node, is_new = head
        outer = self.opened[-1] if self.opened else None
        if outer is None:
            self.top.append(node)
        elif isinstance(items := outer.node.fields.get(outer.key), list):
            items.append(node)
        else:
            outer.node.fields[outer.key] = node
        if is_new:
            bounding = outer is not None and (outer.bounding or outer.key == "boundingObject")
            proto = None
            if node.type not in node_types() and node.type not in slot("opaque"):
                proto = self.library.proto(node.type, self.cursor.file)
            self.opened.append(_Open(node, bounding, proto=proto))


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
        """Begin with none.

        Args:
            version: Version of Webots of the world.
        """
        self.version = version
        self.notes: list[str] = []
        self._declared: dict[str, Path | None] = {}
        self._read: dict[str, Proto | None] = {}
        self._open: list[str] = []
        self._instances = 0

    def declare(self, address: str, file: Path) -> None:
        """Note a declaration; only addresses relative to the file that has it can be read."""
        name = address.rsplit("/", 1)[-1].removesuffix(".proto")
        is_local = "://" not in address
        self._declared.setdefault(name, file.parent / address if is_local else None)

    def declares(self, name: str) -> bool:
        """Return whether a PROTO file of a name was declared."""
        return name in self._declared

    def proto(self, name: str, file: Path) -> Proto | None:
        """Return the definition of a type of nodes; None where it cannot be expanded.

        Args:
            name: The type.
            file: File in which an instance is.
        """
        if name not in self._read:
            self._read[name] = None
            path = self._path(name, file)
            try:
                self._read[name] = None if path is None else read_proto(path, self)
            except DescriptionError as error:
                self.notes.append(f"{name} is not expanded: {error}")
        return None if name in self._open else self._read[name]

    def _path(self, name: str, file: Path) -> Path | None:
        """Return the file of a PROTO: declared, or beside worlds of older versions."""
        path = self._declared.get(name)
        if path is None and self.version < _BEFORE_DECLARATIONS:
            directories = (file.parent.parent / "protos", file.parent / "protos", file.parent)
            paths = (directory / f"{name}.proto" for directory in directories)
            path = next((one for one in paths if one.is_file()), None)
        return path if path is not None and path.is_file() else None

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

    Args:
        path: The file.
        library: Where to note the PROTO files that it declares.

    Raises:
        DescriptionError: It cannot be read, or is no PROTO file.
    """
    try:
        check_size(path, MAX_PROTO_BYTES)
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(f"expected a readable PROTO, found: {error}", file=path) from error
    if _TEMPLATE.search(text):
        library.notes.append(f"{path.stem} is not expanded: {path} is a template")
        return None
    cursor = Cursor(text, path)
    reader = Reader(cursor, library, {})
    while cursor.token[:2] != ("word", "PROTO"):
        if not reader.declaration():
            raise cursor.error(f"expected a PROTO, found {cursor.token.actual}")
    cursor.take()
    name = cursor.take().text
    interface = _interface(reader)
    if not cursor.skip("{"):
        raise cursor.error(f"expected '{{' that opens the PROTO, found {cursor.token.actual}")
    body = []
    while cursor.token.kind != "end":
        body.append(cursor.take())
    if not body or body[-1][:2] != ("bracket", "}"):
        raise cursor.error(f"expected '}}' that closes the PROTO, found {cursor.token.actual}")
    return Proto(name, path, interface, (*body[:-1], cursor.token))


def _interface(reader: Reader) -> dict[str, FieldType]:
    """Read the fields of a PROTO between brackets, with their types and defaults."""
    cursor, known = reader.cursor, dict[str, FieldType]()
    if not cursor.skip("["):
        raise cursor.error(f"expected '[' before the fields, found {cursor.token.actual}")
    while not cursor.skip("]"):
        kind_of_field = reader.word("field, or ']' that closes the fields", None)
        kind = reader.word("the type of a field", kind_of_field)
        _skip_restriction(cursor)
        name = reader.word("the name of a field", kind)
        if kind.endswith("Node"):
            default = reader.value_by_form(name)
            if kind == "MFNode" and not isinstance(default, list):
                default = [default]
        else:
            default = read_value(cursor, FieldType(kind, None), f"{kind} {name}")
        known[name] = FieldType(kind, default)
    return known


def _skip_restriction(cursor: Cursor) -> None:
    """Skip the allowed values after the type of a field, between braces."""
    depth = 0
    while cursor.token.kind != "end":
        if cursor.is_at("{"):
            depth += 1
        elif cursor.is_at("}"):
            depth -= 1
        elif depth == 0:
            return
        cursor.take()
