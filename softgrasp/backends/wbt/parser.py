"""Read the text of a Webots world (.wbt, VRML dialect) as nodes.

``parse_world`` goes from characters to tokens (words, numbers, strings and brackets with their
lines), from tokens to values of fields, and from values to nodes. It refuses what the grammar and
the table of nodes (``schema``) do not allow, with file, line and field. PROTO nodes are not read.

No library reads worlds: urdf2webots only writes them, and VRML97 parsers do not know the nodes and
types of Webots.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from softgrasp.backends.wbt.schema import (
    NUMBERS_IN,
    FieldType,
    Node,
    Numbers,
    Value,
    allowed,
    fields,
    held_nodes,
    node_types,
    oldest_version,
    slot,
)
from softgrasp.description.base import either
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io.input_limits import loader

AXIS_TOLERANCE = 1e-6
"""Largest difference of the length of a rotation's axis from 1: that of files of six decimals."""
MAX_INTEGER = 2**31 - 1
_HEADER = re.compile(r"#VRML_SIM (\S+)(?: \S+)*? utf8\s*")
_VERSION = re.compile(r"R\d{4}[a-z]")
_PROTO_WORDS = ("PROTO", "EXTERNPROTO", "IMPORTABLE")
_PARTS = re.compile(
    r"""(?P<skip> [\s,]+ | \#[^\n]* )
      | (?P<string> " (?: [^"\\] | \\. )* " )
      | (?P<open_string> " )
      | (?P<bracket> [{}\[\]] )
      | (?P<number> [-+]? (?: \d+\.?\d* | \.\d+ ) (?: [eE][-+]?\d+ )? (?= [\s,{}\[\]"\#] | $ ) )
      | (?P<word> [^\s,{}\[\]"\#]+ )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r'\\(["\\])')


@dataclass(slots=True)
class World:
    """Content of a world file.

    Attributes:
        version: Version of Webots that it is for, such as ``R2025a``.
        nodes: Top-level nodes in the order of the text.
        file: File that it was read from, for messages.
    """

    version: str
    nodes: list[Node] = field(default_factory=list)
    file: Path = Path("world.wbt")

    def of_type(self, *types: str) -> Iterator[Node]:
        """Return all nodes of the given types, each once."""
        return (node for node in self.walk() if node.type in types)

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
        DescriptionError: It cannot be read, or as ``parse_world`` raises it.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DescriptionError(f"expected a readable world, found: {reason}", file=path) from error
    return parse_world(text, path)


def parse_world(text: str, file: str | Path = "world.wbt") -> World:
    """Parse the text of a world.

    USE refers to the same ``Node`` object. A DEF of a name that was already defined replaces it
    from there on, as in VRML.

    Args:
        text: Text of a .wbt file, header included.
        file: Its file, for messages.

    Raises:
        DescriptionError: The header or version is wrong, or a node or field is unknown, has a value
            of another type, or is not allowed there.
    """
    version = _version(text, file)
    return World(version, _Reader(Cursor(text, file)).nodes(), Path(file))


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
    """

    node: Node
    bounding: bool
    key: str = ""
    items: list[Value] | None = None
    since: int = 0

    @property
    def allowed(self) -> tuple[str, ...]:
        """Types of nodes that are allowed in the field that is being read."""
        return allowed(self.node.type, self.key, bounding=self.bounding)


class _Reader:
    """Parser of nodes that does not recurse, as long fingers are deep trees."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.top: list[Node] = []
        self.opened: list[_Open] = []
        self.names: dict[str, Node] = {}

    def nodes(self) -> list[Node]:
        """All top-level nodes."""
        while self.opened or self.cursor.token.kind != "end":
            if not self.opened:
                self._append(self._head(slot("world"), None))
            elif self.opened[-1].items is not None:
                self._in_list(self.opened[-1])
            elif self.cursor.skip("}"):
                closed = self.opened.pop().node
                self.names |= {closed.name: closed} if closed.name else {}
            else:
                self._field(self.opened[-1])
        return self.top

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
            self._append(self._head(frame.allowed, f"{frame.node.type}.{frame.key}"))

    def _field(self, frame: _Open) -> None:
        """Read the name of a field and its value, or the beginning of its list of nodes."""
        node, token = frame.node, self.cursor.token
        if token.kind != "word":
            raise self.cursor.error(
                f"expected a field or '}}' that closes the {node.type} of line {node.line}, "
                f"found {token.actual}"
            )
        field, field_type = f"{node.type}.{token.text}", fields(node.type).get(token.text)
        if field_type is None:
            hint = did_you_mean(token.text, fields(node.type))
            raise self.cursor.error(f"no such field; {hint}", field)
        if token.text in node.fields:
            raise self.cursor.error("expected it once, found it again", field)
        frame.key = self.cursor.take().text
        if field_type.type.endswith("Node"):
            self._nodes_of(frame, field_type.type)
        else:
            node.fields[frame.key] = read_value(self.cursor, field_type, field)

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
        self._append(self._head(frame.allowed, f"{frame.node.type}.{frame.key}"))

    def _head(self, allowed_types: tuple[str, ...], field: str | None) -> tuple[Node, bool]:
        """Read USE and a name, or a new node up to its opening bracket; True for a new one."""
        cursor, name = self.cursor, ""
        if cursor.token[:2] == ("word", "USE"):
            cursor.take()
            return self._used(allowed_types, field), False
        if cursor.token[:2] == ("word", "DEF"):
            cursor.take()
            name = self._word("a name", field)
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
        name = self._word("the name of a node", field)
        if name not in self.names:
            known = did_you_mean(name, self.names) if self.names else "there is none"
            raise self.cursor.error(f"no DEF '{name}' above; {known}", field, line)
        node = self.names[name]
        if node.type not in allowed_types:
            raise self.cursor.error(
                f"expected {either(allowed_types)}, found '{name}', a {node.type}", field, line
            )
        return node

    def _word(self, expected: str, field: str | None) -> str:
        if self.cursor.token.kind != "word":
            raise self.cursor.error(f"expected {expected}, found {self.cursor.token.actual}", field)
        return self.cursor.take().text

    def _check_type(self, allowed_types: tuple[str, ...], field: str | None) -> None:
        token = self.cursor.token
        if token.kind != "word":
            raise self.cursor.error(f"expected a node, found {token.actual}", field)
        if token.text in _PROTO_WORDS:
            raise self.cursor.error(
                f"expected a node, found {token.actual}; PROTO nodes are not read, only worlds "
                "without them"
            )
        if token.text not in node_types():
            hint = did_you_mean(token.text, allowed_types)
            raise self.cursor.error(f"no node '{token.text}' can stand here; {hint}", field)
        if token.text not in allowed_types:
            raise self.cursor.error(
                f"expected {either(allowed_types)}, found {token.actual}", field
            )

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
            self.opened.append(_Open(node, bounding))


# Tokens to values of fields


def read_value(cursor: Cursor, field_type: FieldType, field: str) -> Value:
    """Read the value of a field that holds no nodes.

    Args:
        cursor: Behind the field's name; afterwards behind the value.
        field_type: Definition of the field.
        field: Its name in messages, such as ``Solid.translation``.

    Raises:
        DescriptionError: There is no value of that type.
    """
    if not field_type.type.startswith("MF"):
        return _single(cursor, field_type.type, field_type, field)
    kind = "SF" + field_type.type[2:]
    line = cursor.token.line
    if not cursor.skip("["):
        return [_single(cursor, kind, field_type, field)]
    items: list[Value] = []
    while not cursor.skip("]"):
        if cursor.token.kind in ("bracket", "end"):
            raise cursor.error(
                f"expected ']' that closes the list of line {line}, found {cursor.token.actual}",
                field,
            )
        items.append(_single(cursor, kind, field_type, field))
    return items


def _single(cursor: Cursor, kind: str, field_type: FieldType, field: str) -> Value:
    if kind in NUMBERS_IN:
        return _vector(cursor, kind, field)
    if kind == "SFFloat":
        return _number(cursor, "a number", field)
    if kind == "SFInt32":
        return _integer(cursor, field)
    return _flag(cursor, field) if kind == "SFBool" else _text(cursor, field_type, field)


def _number(cursor: Cursor, expected: str, field: str) -> float:
    token = cursor.token
    if token.kind != "number":
        raise cursor.error(f"expected {expected}, found {token.actual}", field)
    number = float(token.text)
    if not math.isfinite(number):
        raise cursor.error(f"expected a finite number, found {token.actual}", field)
    cursor.take()
    return number


def _integer(cursor: Cursor, field: str) -> int:
    token = cursor.token
    digits = token.text.lstrip("+-")
    if token.kind != "number" or not digits.isdigit() or len(digits) > len(str(MAX_INTEGER)):
        raise cursor.error(f"expected a whole number, found {token.actual}", field)
    if abs(int(token.text)) > MAX_INTEGER:
        raise cursor.error(f"expected at most {MAX_INTEGER}, found {token.text}", field)
    return int(cursor.take().text)


def _vector(cursor: Cursor, kind: str, field: str) -> Numbers:
    line, size, parts = cursor.token.line, NUMBERS_IN[kind], []
    for count in range(size):
        if cursor.token.kind != "number":
            raise cursor.error(
                f"expected {size} numbers ({kind}), found {count} before {cursor.token.actual}",
                field,
            )
        parts.append(_number(cursor, "a number", field))
    if kind == "SFRotation":
        length = math.hypot(*parts[:3])
        if abs(length - 1) > AXIS_TOLERANCE:
            raise cursor.error(
                f"expected an axis of length 1, found one of length {length:.9g}", field, line
            )
    outside = [part for part in parts if not 0 <= part <= 1]
    if kind == "SFColor" and outside:
        raise cursor.error(f"expected numbers from 0 to 1, found {outside[0]:g}", field, line)
    return tuple(parts)


def _flag(cursor: Cursor, field: str) -> bool:
    token = cursor.token
    if token.kind != "word" or token.text not in ("TRUE", "FALSE"):
        upper = token.text.upper()
        hint = f"; did you mean '{upper}'?" if upper in ("TRUE", "FALSE") else ""
        raise cursor.error(f"expected TRUE or FALSE, found {token.actual}{hint}", field)
    return cursor.take().text == "TRUE"


def _text(cursor: Cursor, field_type: FieldType, field: str) -> str:
    token = cursor.token
    if token.kind != "string":
        raise cursor.error(f"expected a text in quotation marks, found {token.actual}", field)
    if field_type.words and token.text not in field_type.words:
        quoted = [f'"{word}"' for word in field_type.words]
        raise cursor.error(f"expected {either(quoted)}, found {token.actual}", field)
    return cursor.take().text


# Text to tokens


class Cursor:
    """Read position in the tokens of a text."""

    def __init__(self, text: str, file: str | Path) -> None:
        """Begin at the first token.

        Raises:
            DescriptionError: As ``tokens`` raises it; ``take`` too.
        """
        self.file = Path(file)
        self._rest = tokens(text, file)
        self.token = next(self._rest)
        """The next token."""

    def take(self) -> Token:
        """Return the next token and advance; at the end, stay there."""
        token = self.token
        if token.kind != "end":
            self.token = next(self._rest)
        return token

    def is_at(self, bracket: str) -> bool:
        """Return whether the next token is the given bracket."""
        return self.token.kind == "bracket" and self.token.text == bracket

    def skip(self, bracket: str) -> bool:
        """Skip the next token if it is the given bracket; return whether it was."""
        here = self.is_at(bracket)
        if here:
            self.take()
        return here

    def error(
        self, message: str, field: str | None = None, line: int | None = None
    ) -> DescriptionError:
        """Make an error that names the line of the next token.

        Args:
            message: What was expected and what was found.
            field: Such as ``Solid.translation``.
            line: Line in the file; by default that of the next token.
        """
        where = self.token.line if line is None else line
        return DescriptionError(message, file=self.file, line=where, field=field)


class Token(NamedTuple):
    """One token of the text.

    Attributes:
        kind: ``word``, ``number``, ``string``, ``bracket`` or ``end``.
        text: As written; a string without its quotation marks and escapes.
        line: Line of its beginning, from 1.
    """

    kind: str
    text: str
    line: int

    @property
    def actual(self) -> str:
        """Format the token for an error message."""
        if self.kind == "end":
            return "the end of the file"
        return f'"{self.text}"' if self.kind == "string" else f"'{self.text}'"


def tokens(text: str, file: str | Path) -> Iterator[Token]:
    """Split a text into tokens, followed by one of kind ``end``.

    Commas are blanks, and a # outside a string begins a comment up to the end of the line.

    Raises:
        DescriptionError: A string has no end.
    """
    line = 1
    for match in _PARTS.finditer(text):
        kind, written = str(match.lastgroup), match.group()
        if kind == "open_string":
            raise DescriptionError(
                "expected a quotation mark that ends this string, found none", file=file, line=line
            )
        if kind == "string":
            yield Token(kind, _ESCAPED.sub(r"\1", written[1:-1]), line)
        elif kind != "skip":
            yield Token(kind, written, line)
        line += written.count("\n")
    yield Token("end", "", line)
