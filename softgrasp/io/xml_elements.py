"""XML elements: what they hold, and how a mistake in them is told with its line and its place."""

from __future__ import annotations

import re
from typing import TypeAlias, cast

from lxml import etree

from softgrasp.errors import DescriptionError

Element: TypeAlias = etree._Element

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def element_path(element: Element, attribute: str = "") -> str:
    """Where something stands, such as ``bendable 'arm': backbone.length``.

    Args:
        element: An element.
        attribute: Its attribute.
    """
    around = [element, *element.iterancestors()]
    around = around[:-1] or around  # the root tells nothing
    named = [f"{part.tag} '{part.get('name')}'" for part in reversed(around) if part.get("name")]
    rest = [attribute] if element.get("name") else [str(element.tag), attribute]
    return ": ".join(filter(None, [*named, ".".join(filter(None, rest))]))


def line_of(element: Element) -> int | None:
    """The line of an element, from 1, where it is known."""
    return cast("int | None", element.sourceline)


def mistake(element: Element, message: str, attribute: str = "") -> DescriptionError:
    """An error that knows its line and its place."""
    return DescriptionError(message, line=line_of(element), field=element_path(element, attribute))


def only(element: Element, tag: str) -> Element | None:
    """The one child of a tag, or None.

    Raises:
        DescriptionError: There are two.
    """
    children = element.findall(tag)
    if len(children) > 1:
        raise mistake(children[1], f"expected one <{tag}>, found another")
    return children[0] if children else None


def present_attributes(element: Element, *attributes: str) -> dict[str, str]:
    """Those of the attributes that are there, as they are written."""
    return {name: str(element.get(name)) for name in attributes if name in element.attrib}


def number(element: Element, attribute: str) -> float:
    """An attribute that is there, as a number.

    Raises:
        DescriptionError: It is none.
    """
    return _number_in(element, str(element.get(attribute)), attribute)


def number_inside(element: Element) -> float:
    """The text of an element as a number.

    Raises:
        DescriptionError: It is none.
    """
    return _number_in(element, (element.text or "").strip(), "")


def present_numbers(element: Element | None, *attributes: str) -> dict[str, float]:
    """Those of the attributes that are there, as numbers.

    Raises:
        DescriptionError: One is none.
    """
    if element is None:
        return {}
    return {name: number(element, name) for name in attributes if name in element.attrib}


def numbers(element: Element, attribute: str, count: int) -> tuple[float, ...]:
    """An attribute that holds so many numbers.

    Raises:
        DescriptionError: It holds something else.
    """
    words = str(element.get(attribute)).split()
    if len(words) != count or not all(map(_NUMBER.fullmatch, words)):
        raise mistake(
            element, f"expected {count} numbers, found '{element.get(attribute)}'", attribute
        )
    return tuple(map(float, words))


def _number_in(element: Element, text: str, attribute: str) -> float:
    if not _NUMBER.fullmatch(text.strip()):
        raise mistake(element, f"expected a number, found '{text}'", attribute)
    return float(text)
