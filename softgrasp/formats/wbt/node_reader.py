"""The nodes in the tokens of a world; what the format does not allow is refused."""

from __future__ import annotations

from dataclasses import dataclass

from softgrasp.description.problems import either
from softgrasp.errors import did_you_mean
from softgrasp.formats.wbt.cursor import Cursor
from softgrasp.formats.wbt.node import Node, Value
from softgrasp.formats.wbt.schema import allowed, fields, node_types, slot
from softgrasp.formats.wbt.values import read_value

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
