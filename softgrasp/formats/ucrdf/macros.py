"""xacro files: macros expanded by the ``xacro`` package, lines kept."""

from __future__ import annotations

import io
import warnings
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from lxml import etree

from softgrasp.errors import BackendUnavailable, DescriptionError, SoftgraspWarning
from softgrasp.formats.ucrdf.document import XACRO, parsed, read_document
from softgrasp.formats.ucrdf.elements import Element, line_of

MARK = "softgrasp-line"
"""An attribute that carries an element's line through the expansion."""


def expanded(path: Path) -> Element:
    """The root element of a xacro file after all macros, conditions and expressions.

    An element has the line of the macro's body that wrote it; one that comes from an included
    file has none.

    Raises:
        BackendUnavailable: The ``xacro`` package is not installed.
        DescriptionError: The file is not XML, or cannot be expanded.
    """
    xacro = _package()
    root = read_document(path)
    for element in root.iter("*"):
        if XACRO not in (etree.QName(element).namespace or ""):
            element.set(MARK, str(line_of(element)))
    return _with_lines(parsed(_expand(xacro, path, etree.tostring(root))))


def _package() -> ModuleType:
    try:
        return import_module("xacro")
    except ImportError:
        raise BackendUnavailable(
            "a .xacro file needs the package xacro; install it: pip install 'softgrasp[xacro]'"
        ) from None


def _expand(xacro: Any, path: Path, content: bytes) -> bytes:
    output = io.StringIO()
    xacro.init_stacks(str(path))
    try:
        with redirect_stderr(output), redirect_stdout(output):
            document = xacro.parse(content.decode())
            xacro.process_doc(document)
    except Exception as error:  # noqa: BLE001 - an expression in the file may raise anything
        inside = [macro.body.getAttribute("name") for macro in xacro.macrostack]
        where = f"macro '{inside[-1]}': " if inside else ""
        message = " ".join(str(error).split()) or type(error).__name__
        raise DescriptionError(f"{where}expected macros that expand, found: {message}") from None
    if output.getvalue().strip():
        message = " ".join(output.getvalue().split())
        warnings.warn(f"{path}: xacro says: {message}", SoftgraspWarning, stacklevel=2)
    return bytes(document.toxml(encoding="utf-8"))


def _with_lines(root: Element) -> Element:
    for element in root.iter("*"):
        line = element.attrib.pop(MARK, "")
        writable: Any = element  # the stubs know no setter
        writable.sourceline = int(line or 0)  # 0 is an unknown line
    return root
