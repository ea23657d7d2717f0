"""Values that are no nodes as the text of a Webots world."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from softgrasp.errors import DescriptionError
from softgrasp.formats.wbt.node import Value

_TO_ESCAPE = re.compile(r'["\\]')


def plain_text(value: Value) -> str:
    """A value on one line: a number, vector, text or flag, NULL, or a list of those.

    Numbers read back bit for bit, but for -0, which becomes 0.

    Raises:
        DescriptionError: A number is not finite.
    """
    if isinstance(value, list):
        return f"[ {listed(value)} ]" if value else "[ ]"
    return _single(value)


def listed(items: Sequence[Value]) -> str:
    """The items of a list without its brackets; commas part vectors.

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
