"""An XML file as a tree of elements that know their lines; nothing is fetched or expanded."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from lxml import etree

from softgrasp.errors import DescriptionError, reason
from softgrasp.formats.ucrdf.elements import Element, line_of

XACRO = "xacro"
"""Part of every name that the namespace of xacro has had."""

_DOCTYPE = re.compile(rb"(?>\s|\xef\xbb\xbf|<\?.*?\?>|<!--.*?-->)*+<!DOCTYPE", re.DOTALL)


def read_document(path: Path) -> Element:
    """The root element of a file.

    Raises:
        DescriptionError: It cannot be read, is not XML, or declares a document type.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DescriptionError(f"expected a readable XML file, found: {reason(error)}") from error
    return parsed(content)


def parsed(content: bytes) -> Element:
    """The root element of XML text.

    Raises:
        DescriptionError: It is not XML, or declares a document type: entities could be made to
            grow without bound, or to name other files.
    """
    if declared := _DOCTYPE.match(content):
        raise _doctype(declared[0].count(b"\n") + 1)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise DescriptionError(_syntax(error), line=error.lineno) from None
    about: Any = root.getroottree().docinfo
    if about.doctype:  # in an encoding that the pattern does not see through
        raise _doctype(None)
    return root


def refuse_xacro(root: Element) -> None:
    """Refuse macros in a file that does not say that it has them.

    Raises:
        DescriptionError: At the first one.
    """
    for element in root.iter("*"):
        name = etree.QName(element)
        if XACRO in (name.namespace or ""):
            raise DescriptionError(
                f"expected plain XML, found <xacro:{name.localname}>; give the file the suffix "
                ".xacro",
                line=line_of(element),
            )


def _doctype(line: int | None) -> DescriptionError:
    return DescriptionError("expected no document type, found a <!DOCTYPE>", line=line)


def _syntax(error: etree.XMLSyntaxError) -> str:
    unclosed = re.match(
        r"Opening and ending tag mismatch: (\S+) line (\d+) and ([^\s,]+)", error.msg or ""
    )
    if unclosed:
        opened, line, closed = unclosed.groups()
        return f"expected </{opened}>, opened in line {line}, found </{closed}>"
    message = re.sub(r", line \d+, column \d+$", "", error.msg or "nothing").strip()
    return f"expected XML, found: {message}"
