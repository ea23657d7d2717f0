"""Attributes and children of XML elements, with errors that have the line and the element."""

from __future__ import annotations

import re
from typing import TypeAlias, cast

from lxml import etree

from softgrasp.errors import DescriptionError

Element: TypeAlias = etree._Element

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def element_path(element: Element, attribute: str = "") -> str:
    """Return the path of an element or attribute, such as ``bendable 'arm': backbone.length``."""
    around = [element, *element.iterancestors()]
    around = around[:-1] or around  # the root is the same everywhere
    named = [f"{part.tag} '{part.get('name')}'" for part in reversed(around) if part.get("name")]
    rest = [attribute] if element.get("name") else [str(element.tag), attribute]
    return ": ".join(filter(None, [*named, ".".join(filter(None, rest))]))


def line_of(element: Element) -> int | None:
    """Return the line of an element, from 1, or None if unknown."""
    return cast("int | None", element.sourceline)


def element_error(element: Element, message: str, attribute: str = "") -> DescriptionError:
    """Make an error with the line and path of an element."""
    return DescriptionError(message, line=line_of(element), field=element_path(element, attribute))


def only(element: Element, tag: str) -> Element | None:
    """Return the only child with a tag; None where there is none.

    Raises:
        DescriptionError: There are several.
    """
    children = element.findall(tag)
    if len(children) > 1:
        raise element_error(children[1], f"expected one <{tag}>, found another")
    return children[0] if children else None


def required(element: Element, tag: str) -> Element:
    """Return the only child with a tag.

    Raises:
        DescriptionError: There is none, or there are several.
    """
    child = only(element, tag)
    if child is None:
        raise element_error(element, f"expected <{tag}> inside, found none")
    return child


def present_attributes(element: Element, *attributes: str) -> dict[str, str]:
    """Return the listed attributes that are present, as text."""
    return {name: str(element.get(name)) for name in attributes if name in element.attrib}


def number(element: Element, attribute: str) -> float:
    """Parse an attribute that is present as a number.

    Raises:
        DescriptionError: It is not a number.
    """
    return _number_in(element, str(element.get(attribute)), attribute)


def number_inside(element: Element) -> float:
    """Parse the text of an element as a number.

    Raises:
        DescriptionError: It is not a number.
    """
    return _number_in(element, (element.text or "").strip(), "")


def present_numbers(element: Element | None, *attributes: str) -> dict[str, float]:
    """Return the listed attributes that are present, as numbers.

    Raises:
        DescriptionError: One is not a number.
    """
    if element is None:
        return {}
    return {name: number(element, name) for name in attributes if name in element.attrib}


def numbers(element: Element, attribute: str, count: int) -> tuple[float, ...]:
    """Parse an attribute as ``count`` numbers.

    Raises:
        DescriptionError: It has other content.
    """
    words = str(element.get(attribute)).split()
    if len(words) != count or not all(map(_NUMBER.fullmatch, words)):
        raise element_error(
            element, f"expected {count} numbers, found '{element.get(attribute)}'", attribute
        )
    return tuple(map(float, words))


def _number_in(element: Element, text: str, attribute: str) -> float:
    if not _NUMBER.fullmatch(text.strip()):
        raise element_error(element, f"expected a number, found '{text}'", attribute)
    return float(text)
