"""Values of fields that are no nodes: numbers, vectors, rotations, colours, texts, and lists."""

from __future__ import annotations

import math

from softgrasp.description.problems import either
from softgrasp.formats.wbt.cursor import Cursor
from softgrasp.formats.wbt.node import Numbers, Value
from softgrasp.formats.wbt.schema import NUMBERS_IN, FieldType

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
