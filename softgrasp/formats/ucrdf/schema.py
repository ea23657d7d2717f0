"""The schema of ``<bendable>`` and ``<hydraulics>``, and its complaints as sentences.

The schema decides; what is said about it comes from its own declarations and documentation.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, cast

from lxml import etree

from softgrasp.description.base import either, short
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.formats.ucrdf.elements import Element, mistake

SCHEMA_FILE = Path(__file__).with_name("bendable.xsd")

_NS = {"xs": "http://www.w3.org/2001/XMLSchema"}
_DECLARED = "xs:element[@name=$tag]/xs:complexType"
_UNKNOWN = "SCHEMAV_CVC_COMPLEX_TYPE_3_2_1"
_MISSING = "SCHEMAV_CVC_COMPLEX_TYPE_4"
_CHILDREN = "SCHEMAV_ELEMENT_CONTENT"
_CONTENT = ("SCHEMAV_CVC_COMPLEX_TYPE_2_1", "SCHEMAV_CVC_COMPLEX_TYPE_2_3")
_NOT_EXPECTED = "This element is not expected"


def check_schema(element: Element) -> None:
    """Refuse a ``<bendable>`` or ``<hydraulics>`` that the schema does not allow.

    Raises:
        DescriptionError: The first complaint; a word that is not known comes before what is
            missing beside it.
    """
    schema = _schema()
    if schema.validate(element):
        return
    complaints: Any = schema.error_log
    raise _complaint(element, min(complaints, key=lambda entry: not _is_unknown_word(entry)))


@cache
def _schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(str(SCHEMA_FILE)))


@cache
def _declarations() -> Element:
    return etree.parse(str(SCHEMA_FILE)).getroot()


def _is_unknown_word(entry: etree._LogEntry) -> bool:
    return entry.type_name == _UNKNOWN or _NOT_EXPECTED in entry.message


def _complaint(checked: Element, entry: etree._LogEntry) -> DescriptionError:
    element = _named_by(checked, entry)
    attribute = _attribute(entry.message)
    if entry.type_name == _UNKNOWN:
        hint = did_you_mean(attribute, _attributes(element))
        return mistake(element, f"no such attribute; {hint}", attribute)
    if entry.type_name == _CHILDREN:
        return _wrong_child(element, entry)
    if entry.type_name in _CONTENT:
        return _wrong_content(element)
    expected = _expected(element, attribute)
    if entry.type_name == _MISSING:
        return mistake(element, f"this attribute is missing; expected {expected}", attribute)
    value = element.get(attribute, "")
    near = get_close_matches(value, expected.split(" or "), n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return mistake(element, f"expected {expected}, found {short(value)}{hint}", attribute)


def _named_by(checked: Element, entry: etree._LogEntry) -> Element:
    """The element of a complaint; its path starts at the element that is checked."""
    inner = entry.path.removeprefix(f"/{checked.tag}")
    inside = (part.nsmap.items() for part in checked.iter("*"))
    prefixes = {prefix: name for pairs in inside for prefix, name in pairs if prefix}
    (element,) = cast("list[Element]", checked.xpath(f".{inner}", namespaces=prefixes))
    return element


def _attribute(message: str) -> str:
    match = re.search(r"[Tt]he attribute '([^']+)'|attribute '([^']+)'", message)
    return "" if match is None else match[1] or match[2]


def _wrong_child(element: Element, entry: etree._LogEntry) -> DescriptionError:
    parent = element.getparent()
    if _NOT_EXPECTED in entry.message and parent is not None:
        tag = str(element.tag)
        if tag in _children(parent):
            return mistake(element, f"expected one <{tag}>, found another")
        return mistake(element, f"no such element; {did_you_mean(tag, _children(parent))}")
    there = {child.tag for child in element}
    missing = [f"<{tag}>" for tag in _children(element, required=True) if tag not in there]
    is_choice = bool(_declared(f"{_DECLARED}/xs:choice", tag=element.tag))
    expected = either(missing) if is_choice else missing[0]
    return mistake(element, f"expected {expected} inside, found none")


def _wrong_content(element: Element) -> DescriptionError:
    inside = next((child for child in element.iterchildren("*")), None)
    if inside is not None and not _children(element):
        return mistake(inside, f"expected nothing inside <{element.tag}>, found <{inside.tag}>")
    text = "".join([element.text or "", *(child.tail or "" for child in element)]).strip()
    return mistake(element, f"expected no text, found {short(text)}")


def _expected(element: Element, attribute: str) -> str:
    """What the documentation of an attribute's type says."""
    path = "/xs:attribute[@name=$attribute]/@type"
    (kind,) = _declared(f"{_DECLARED}{path}", tag=element.tag, attribute=attribute)
    path = "xs:simpleType[@name=$kind]/xs:annotation/xs:documentation/text()"
    return _declared(path, kind=kind)[0]


def _attributes(element: Element) -> list[str]:
    return _declared(f"{_DECLARED}/xs:attribute/@name", tag=element.tag)


def _children(element: Element, *, required: bool = False) -> list[str]:
    which = "[not(@minOccurs='0')]" if required else ""
    return _declared(f"{_DECLARED}/*/xs:element{which}/@ref", tag=element.tag)


def _declared(path: str, **variables: Any) -> list[str]:
    """Texts in the schema's own file."""
    texts: Any = _declarations().xpath(path, namespaces=_NS, **variables)
    return [str(text) for text in texts]
