"""The text of a Webots world as tokens: words, numbers, strings and brackets, with their lines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

from softgrasp.backends.wbt.schema import (
    NUMBERS_IN,
    FieldType,
    Node,
    Numbers,
    Value,
    allowed,
    fields,
    node_types,
    oldest_version,
    slot,
    value,
)
from softgrasp.description.base import either
from softgrasp.errors import DescriptionError, did_you_mean

# --------------------
# The text of a Webots world as nodes; what the format does not allow is refused.


_HEADER = re.compile(r"#VRML_SIM (\S+)(?: \S+)*? utf8\s*")
_VERSION = re.compile(r"R\d{4}[a-z]")


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
    """The world that a text describes.

    Where a node is used again (USE), the same ``Node`` stands there again; a DEF of a name that
    was given before takes it over from there on, as in VRML.

    Args:
        text: Of a .wbt file, from its header.
        file: Where it came from, for sentences about it.

    Raises:
        DescriptionError: It is no world of a version that is read, or a node or field is not
            known, holds what it cannot, or stands where it may not.
    """
    version = _version(text, file)
    return World(version, read_nodes(Cursor(text, file)), Path(file))


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


# --------------------
# The nodes in the tokens of a world; what the format does not allow is refused.


_PROTO_WORDS = ("PROTO", "EXTERNPROTO", "IMPORTABLE")


def read_nodes(cursor: Cursor) -> list[Node]:
    """All nodes at the top of a world.

    Args:
        cursor: At the first token; then at the end.

    Raises:
        DescriptionError: As ``parse_world`` raises it.
    """
    return _Reader(cursor).nodes()


@dataclass(slots=True)
class _Open:
    """A node whose closing bracket has not come yet.

    Attributes:
        node: The node.
        bounding: Whether it belongs to a boundingObject.
        key: The field that is being read.
        items: The list in that field while it is open.
        since: The line of the list's bracket.
    """

    node: Node
    bounding: bool
    key: str = ""
    items: list[Value] | None = None
    since: int = 0

    @property
    def allowed(self) -> tuple[str, ...]:
        """The nodes that may stand in the field that is being read."""
        return allowed(self.node.type, self.key, bounding=self.bounding)


class _Reader:
    """Reads nodes without recursion: long fingers are deep trees."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.top: list[Node] = []
        self.opened: list[_Open] = []
        self.names: dict[str, Node] = {}

    def nodes(self) -> list[Node]:
        """All nodes at the top."""
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
            raise self.cursor.mistake(
                f"expected ']' that closes the list of line {frame.since}, "
                f"found {self.cursor.token.actual}",
                f"{frame.node.type}.{frame.key}",
            )
        else:
            self._append(self._head(frame.allowed, f"{frame.node.type}.{frame.key}"))

    def _field(self, frame: _Open) -> None:
        """Read the name of a field, and its value or the beginning of it."""
        node, token = frame.node, self.cursor.token
        if token.kind != "word":
            raise self.cursor.mistake(
                f"expected a field or '}}' that closes the {node.type} of line {node.line}, "
                f"found {token.actual}"
            )
        field, field_type = f"{node.type}.{token.text}", fields(node.type).get(token.text)
        if field_type is None:
            hint = did_you_mean(token.text, fields(node.type))
            raise self.cursor.mistake(f"no such field; {hint}", field)
        if token.text in node.fields:
            raise self.cursor.mistake("expected it once, found it again", field)
        frame.key = self.cursor.take().text
        if field_type.type.endswith("Node"):
            self._nodes_of(frame, field_type.type)
        else:
            node.fields[frame.key] = read_value(self.cursor, field_type, field)

    def _nodes_of(self, frame: _Open, kind: str) -> None:
        """Read the beginning of a field that holds nodes: a bracket, NULL, or the first node."""
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
        """A node by its name (USE), or a new one up to its opening bracket, and which of them."""
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
            raise cursor.mistake(
                f"expected '{{' that opens the {node_type}, found {cursor.token.actual}", field
            )
        return Node(node_type, {}, name, line), True

    def _used(self, allowed_types: tuple[str, ...], field: str | None) -> Node:
        line = self.cursor.token.line
        name = self._word("the name of a node", field)
        if name not in self.names:
            known = did_you_mean(name, self.names) if self.names else "there is none"
            raise self.cursor.mistake(f"no DEF '{name}' above; {known}", field, line)
        node = self.names[name]
        if node.type not in allowed_types:
            raise self.cursor.mistake(
                f"expected {either(allowed_types)}, found '{name}', a {node.type}", field, line
            )
        return node

    def _word(self, expected: str, field: str | None) -> str:
        if self.cursor.token.kind != "word":
            raise self.cursor.mistake(
                f"expected {expected}, found {self.cursor.token.actual}", field
            )
        return self.cursor.take().text

    def _check_type(self, allowed_types: tuple[str, ...], field: str | None) -> None:
        token = self.cursor.token
        if token.kind != "word":
            raise self.cursor.mistake(f"expected a node, found {token.actual}", field)
        if token.text in _PROTO_WORDS:
            raise self.cursor.mistake(
                f"expected a node, found {token.actual}; PROTO nodes are not read, only worlds "
                "without them"
            )
        if token.text not in node_types():
            hint = did_you_mean(token.text, allowed_types)
            raise self.cursor.mistake(f"no node '{token.text}' can stand here; {hint}", field)
        if token.text not in allowed_types:
            raise self.cursor.mistake(
                f"expected {either(allowed_types)}, found {token.actual}", field
            )

    def _append(self, head: tuple[Node, bool]) -> None:
        """Put a node where it belongs, and open it where it is new."""
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


# --------------------
# Values of fields that are no nodes: numbers, vectors, rotations, colours, texts, and lists.


AXIS_TOLERANCE = 1e-6
"""How far the length of a rotation's axis may be from 1: as files of six decimals are."""
MAX_INTEGER = 2**31 - 1


def read_value(cursor: Cursor, field_type: FieldType, field: str) -> Value:
    """The value of a field that holds no nodes.

    Args:
        cursor: Right behind the field's name; then behind the value.
        field_type: Of the field.
        field: Its name in sentences, such as ``Solid.translation``.

    Raises:
        DescriptionError: The text holds no value of that type.
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
            raise cursor.mistake(
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
        raise cursor.mistake(f"expected {expected}, found {token.actual}", field)
    number = float(token.text)
    if not math.isfinite(number):
        raise cursor.mistake(f"expected a finite number, found {token.actual}", field)
    cursor.take()
    return number


def _integer(cursor: Cursor, field: str) -> int:
    token = cursor.token
    digits = token.text.lstrip("+-")
    if token.kind != "number" or not digits.isdigit() or len(digits) > len(str(MAX_INTEGER)):
        raise cursor.mistake(f"expected a whole number, found {token.actual}", field)
    if abs(int(token.text)) > MAX_INTEGER:
        raise cursor.mistake(f"expected at most {MAX_INTEGER}, found {token.text}", field)
    return int(cursor.take().text)


def _vector(cursor: Cursor, kind: str, field: str) -> Numbers:
    line, size, parts = cursor.token.line, NUMBERS_IN[kind], []
    for count in range(size):
        if cursor.token.kind != "number":
            raise cursor.mistake(
                f"expected {size} numbers ({kind}), found {count} before {cursor.token.actual}",
                field,
            )
        parts.append(_number(cursor, "a number", field))
    if kind == "SFRotation":
        length = math.hypot(*parts[:3])
        if abs(length - 1) > AXIS_TOLERANCE:
            raise cursor.mistake(
                f"expected an axis of length 1, found one of length {length:.9g}", field, line
            )
    outside = [part for part in parts if not 0 <= part <= 1]
    if kind == "SFColor" and outside:
        raise cursor.mistake(f"expected numbers from 0 to 1, found {outside[0]:g}", field, line)
    return tuple(parts)


def _flag(cursor: Cursor, field: str) -> bool:
    token = cursor.token
    if token.kind != "word" or token.text not in ("TRUE", "FALSE"):
        upper = token.text.upper()
        hint = f"; did you mean '{upper}'?" if upper in ("TRUE", "FALSE") else ""
        raise cursor.mistake(f"expected TRUE or FALSE, found {token.actual}{hint}", field)
    return cursor.take().text == "TRUE"


def _text(cursor: Cursor, field_type: FieldType, field: str) -> str:
    token = cursor.token
    if token.kind != "string":
        raise cursor.mistake(f"expected a text in quotation marks, found {token.actual}", field)
    if field_type.words and token.text not in field_type.words:
        quoted = [f'"{word}"' for word in field_type.words]
        raise cursor.mistake(f"expected {either(quoted)}, found {token.actual}", field)
    return cursor.take().text


# --------------------
# A place in the tokens of a world, and sentences about what is found there.


class Cursor:
    """Goes through the tokens of a text from first to last."""

    def __init__(self, text: str, file: str | Path) -> None:
        """Begin at the first token.

        Raises:
            DescriptionError: As ``tokens`` raises it; ``take`` too.
        """
        self.file = Path(file)
        self._rest = tokens(text, file)
        self.token = next(self._rest)
        """The token that comes next."""

    def take(self) -> Token:
        """Go past the next token and return it; the end stays where it is."""
        token = self.token
        if token.kind != "end":
            self.token = next(self._rest)
        return token

    def is_at(self, bracket: str) -> bool:
        """Whether that bracket comes next."""
        return self.token.kind == "bracket" and self.token.text == bracket

    def skip(self, bracket: str) -> bool:
        """Go past a bracket where it comes next, and say whether it did."""
        here = self.is_at(bracket)
        if here:
            self.take()
        return here

    def mistake(
        self, message: str, field: str | None = None, line: int | None = None
    ) -> DescriptionError:
        """An error about what comes next.

        Args:
            message: What was expected and what was found.
            field: Such as ``Solid.translation``.
            line: Where it is not the line of the next token.
        """
        where = self.token.line if line is None else line
        return DescriptionError(message, file=self.file, line=where, field=field)


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


class Token(NamedTuple):
    """One piece of the text.

    Attributes:
        kind: ``word``, ``number``, ``string``, ``bracket`` or ``end``.
        text: As it is written; of a string what it says.
        line: Where it begins, counted from 1.
    """

    kind: str
    text: str
    line: int

    @property
    def actual(self) -> str:
        """What a sentence says was found."""
        if self.kind == "end":
            return "the end of the file"
        return f'"{self.text}"' if self.kind == "string" else f"'{self.text}'"


def tokens(text: str, file: str | Path) -> Iterator[Token]:
    """The tokens of a text, then one of kind ``end``.

    Commas are blanks, and a # outside a string begins a comment that ends with its line.

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


# --------------------
# Where nodes stand in a world: what is around them, and in which field.


SOLIDS = ("Solid", "Robot", "TouchSensor")
"""Types of nodes that are solids."""
JOINTS = ("HingeJoint", "SliderJoint")
"""Types of nodes that are joints."""
DEVICES = ("RotationalMotor", "LinearMotor", "PositionSensor", "Brake", "TouchSensor")
"""Types of nodes that a controller finds by their names."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeLocation:
    """One place of a node; a node that is used again stands in several.

    Attributes:
        node: The node.
        key: The field that holds it; empty at the top of the world.
        outer: The place of the node that has this field; None at the top.
        bounding: Whether it is part of a boundingObject.
    """

    node: Node
    key: str = ""
    outer: NodeLocation | None = None
    bounding: bool = False

    def around(self) -> Iterator[NodeLocation]:
        """The places around this one, the nearest first."""
        location = self.outer
        while location is not None:
            yield location
            location = location.outer

    def nearest(self, types: tuple[str, ...]) -> NodeLocation | None:
        """The nearest place around this one with a node of one of these types."""
        return next((location for location in self.around() if location.node.type in types), None)


def node_locations(world: World) -> Iterator[NodeLocation]:
    """The places of all nodes, outer ones before inner ones, in the order of the text."""
    waiting = [NodeLocation(node) for node in reversed(world.nodes)]
    while waiting:
        location = waiting.pop()
        yield location
        inner = [
            NodeLocation(node, key, location, location.bounding or key == "boundingObject")
            for key, node in held_nodes(location.node)
        ]
        waiting.extend(reversed(inner))


def solids(world: World) -> Iterator[NodeLocation]:
    """The places of all solids."""
    return (location for location in node_locations(world) if location.node.type in SOLIDS)


# --------------------
# A Webots world as a value.


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


# --------------------
# Fields of nodes with the Python type that they hold, defaults included.


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
