"""Text of a Webots world as tokens, tokens as values of fields, and nodes as text.

``parse_world`` makes equal nodes of the text of ``world_text``. urdf2webots was considered: it
converts URDF files only and has no writer of single nodes.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from softgrasp.backends.wbt.schema import NUMBERS_IN, FieldType, Node, Numbers, Value
from softgrasp.errors import DescriptionError, either

AXIS_TOLERANCE, EXACT_AXIS = 1e-3, 1e-6
"""Largest difference of the length of a rotation's axis from 1, and the one above which the axis is
normalised: that of files of six decimals."""
MAX_INTEGER = 2**31 - 1
FLAGS = ("TRUE", "FALSE")
MAX_SHOWN = 60
"""Longest part of a token in a message [characters]."""

_PARTS = re.compile(
    r"""(?P<skip> [\s,]+ | \#[^\n]* )
      | (?P<string> " (?: [^"\\] | \\. )* " )
      | (?P<open_string> " )
      | (?P<bracket> [{}\[\]] )
      | (?P<number> [-+]? (?: \d+\.?\d* | \.\d+ ) (?: [eE][-+]?\d+ )? (?= [\s,{}\[\]"\#] | $ ) )
      | (?P<word> [^\s,{}\[\]"\#]+ )""",
    re.VERBOSE | re.DOTALL,
)


class Cursor:
    """Position of the next token to read in a text."""

    def __init__(self, text: str, file: str | Path) -> None:
        """Begin at the first token of a text; the file is for messages.

        Raises:
            DescriptionError: As ``tokens`` raises it; ``take`` too.
        """
        self.file = Path(file)
        self.notes: list[str] = []
        """Values that were changed."""
        self._rest = tokens(text, file)
        self.token = next(self._rest)
        """The next token."""

    def take(self) -> Token:
        """Return the next token and advance; at the end, stay there."""
        token = self.token
        if token.kind != "end":
            self.token = next(self._rest)
        return token

    def skip(self, text: str) -> bool:
        """Skip the next token if it is the given bracket or word; return whether it was."""
        here = self.token.kind in ("bracket", "word") and self.token.text == text
        if here:
            self.take()
        return here

    def expect(self, bracket: str, purpose: str, field: str | None = None) -> None:
        """Skip a bracket, or raise an error that states its purpose."""
        if not self.skip(bracket):
            raise self.error(f"expected '{bracket}' {purpose}, found {self.token.actual}", field)

    def has_item(self, line: int, field: str) -> bool:
        """Return whether the list that was opened in a line goes on; skip its closing bracket.

        Raises:
            DescriptionError: Another bracket or the end of the text is next.
        """
        if self.skip("]"):
            return False
        if self.token.kind in ("bracket", "end"):
            raise self.error(
                f"expected ']' that closes the list of line {line}, found {self.token.actual}",
                field,
            )
        return True

    def word(self, expected: str, field: str | None = None) -> str:
        """Return the next token, a word, and advance.

        Raises:
            DescriptionError: It is no word.
        """
        if self.token.kind != "word":
            raise self.error(f"expected {expected}, found {self.token.actual}", field)
        return self.take().text

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
        text = self.text if len(self.text) <= MAX_SHOWN else f"{self.text[:MAX_SHOWN]}…"
        text = " ".join(text.split())  # a string may have several lines
        return f'"{text}"' if self.kind == "string" else f"'{text}'"


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
            yield Token(kind, re.sub(r'\\(["\\])', r"\1", written[1:-1]), line)
        elif kind != "skip":
            yield Token(kind, written, line)
        line += written.count("\n")
    yield Token("end", "", line)


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
    kind, line = field_type.type, cursor.token.line
    if not kind.startswith("MF"):
        return _plain_value(cursor, kind, field_type, field)
    kind = "SF" + kind[2:]
    if not cursor.skip("["):
        return [_plain_value(cursor, kind, field_type, field)]
    items: list[Value] = []
    while cursor.has_item(line, field):
        items.append(_plain_value(cursor, kind, field_type, field))
    return items


def _plain_value(cursor: Cursor, kind: str, field_type: FieldType, field: str) -> Value:
    if kind in NUMBERS_IN:
        return _vector(cursor, kind, field)
    if kind == "SFFloat":
        return read_number(cursor, "a number", field)
    if kind == "SFInt32":
        token, digits = cursor.token, cursor.token.text.lstrip("+-")
        if token.kind != "number" or not digits.isdigit() or len(digits) > len(str(MAX_INTEGER)):
            raise cursor.error(f"expected a whole number, found {token.actual}", field)
        if abs(int(token.text)) > MAX_INTEGER:
            raise cursor.error(f"expected at most {MAX_INTEGER}, found {token.text}", field)
        return int(cursor.take().text)
    return _flag(cursor, field) if kind == "SFBool" else _text(cursor, field_type, field)


def plain_by_form(cursor: Cursor, field: str) -> Value:
    """Read a number, a text or a flag.

    Raises:
        DescriptionError: There is none of them.
    """
    if cursor.token.kind == "string":
        return cursor.take().text
    if cursor.token.kind == "number":
        return read_number(cursor, "a number", field)
    return _flag(cursor, field)


def read_number(cursor: Cursor, expected: str, field: str) -> float:
    """Read a finite number.

    Raises:
        DescriptionError: There is none.
    """
    token = cursor.token
    if token.kind != "number":
        raise cursor.error(f"expected {expected}, found {token.actual}", field)
    number = float(token.text)
    if not math.isfinite(number):
        raise cursor.error(f"expected a finite number, found {token.actual}", field)
    cursor.take()
    return number


def _vector(cursor: Cursor, kind: str, field: str) -> Numbers:
    line, size, parts = cursor.token.line, NUMBERS_IN[kind], []
    for count in range(size):
        if cursor.token.kind != "number":
            raise cursor.error(
                f"expected {size} numbers ({kind}), found {count} before {cursor.token.actual}",
                field,
            )
        parts.append(read_number(cursor, "a number", field))
    if kind == "SFRotation":
        length = math.hypot(*parts[:3])
        if not any(parts):
            return (0.0, 0.0, 1.0, 0.0)  # Webots takes it as no rotation
        # people write the view of a world with two decimals
        tolerance = math.inf if field == "Viewpoint.orientation" else AXIS_TOLERANCE
        if length and EXACT_AXIS < abs(length - 1) <= tolerance:
            parts[:3] = [part / length for part in parts[:3]]
        elif abs(length - 1) > EXACT_AXIS:
            raise cursor.error(
                f"expected an axis of length 1, found one of length {length:.9g}", field, line
            )
    if kind == "SFColor" and not all(0 <= part <= 1 for part in parts):
        text = " ".join(f"{part:g}" for part in parts)
        cursor.notes.append(
            f"line {line}: {field}: expected numbers from 0 to 1, found {text}; they are clipped, "
            "as by Webots"
        )
        parts = [min(max(part, 0.0), 1.0) for part in parts]
    return tuple(parts)


def _flag(cursor: Cursor, field: str) -> bool:
    token = cursor.token
    if token.kind != "word" or token.text not in FLAGS:
        upper = token.text.upper()
        hint = f"; did you mean '{upper}'?" if upper in FLAGS else ""
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


# Nodes to text


WIDTH = 100
"""Longest line, except for what cannot be split."""
INDENT = "  "
MAX_INDENTS = 400
"""Deepest indentation of a world; a finger has three for each joint."""


def world_text(nodes: list[Node], version: str = "R2025a", externprotos: Sequence[str] = ()) -> str:
    """Write a world.

    A named node that occurs again is written as USE.

    Args:
        nodes: Top-level nodes.
        version: Version of Webots.
        externprotos: Addresses of the PROTO files whose instances it has.

    Raises:
        DescriptionError: A number is not finite, the name of a node is not a single word, or too
            many nodes are within one another.
    """
    declared = [f"EXTERNPROTO {_single(address)}" for address in externprotos]
    lines = [f"#VRML_SIM {version} utf8", "", *declared]
    names: dict[str, Node] = {}
    for node in nodes:
        lines += _node_lines("", node, 0, names)
    return "\n".join(lines) + "\n"


def _node_lines(before: str, node: Node, depth: int, names: dict[str, Node]) -> list[str]:
    """Write a node behind a text; add it to the names that USE can refer to."""
    begin = INDENT * depth + before
    if depth > MAX_INDENTS:
        raise DescriptionError("expected a world of fewer nodes within one another")
    if node.name and names.get(node.name) is node:
        return [f"{begin}USE {node.name}"]
    head, lines = begin + _head(node), list[str]()
    if not any(node.nodes(key) for key in node.fields):
        parts = [f"{key} {plain_text(value)}" for key, value in node.fields.items()]
        line = " ".join([head, *parts, "}"])
        lines = [line] if len(line) <= WIDTH else []
    if not lines:
        lines.append(head)
        for key, value in node.fields.items():
            lines += _field_lines(key, value, depth + 1, names)
        lines.append(INDENT * depth + "}")
    names |= {node.name: node} if node.name else {}
    return lines


def _head(node: Node) -> str:
    if not node.name:
        return f"{node.type} {{"
    if next(tokens(node.name, ""))[:2] != ("word", node.name):
        raise DescriptionError(f"expected one word as the name of a node, found '{node.name}'")
    return f"DEF {node.name} {node.type} {{"


def _field_lines(key: str, value: Value, depth: int, names: dict[str, Node]) -> list[str]:
    begin = INDENT * depth
    if isinstance(value, Node):
        return _node_lines(f"{key} ", value, depth, names)
    held = value if isinstance(value, list) else []
    nodes = [item for item in held if isinstance(item, Node)]
    if nodes:
        inner_lines = [line for node in nodes for line in _node_lines("", node, depth + 1, names)]
        return [f"{begin}{key} [", *inner_lines, f"{begin}]"]
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
        return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
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
