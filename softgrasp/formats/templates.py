"""Commented templates from which users start their own hands, objects and scenes."""

from __future__ import annotations

import re
from pathlib import Path

from softgrasp import library
from softgrasp.errors import DescriptionError, ResultError, did_you_mean
from softgrasp.formats.atomic import write_text

KINDS = ("hand", "object", "scene")
PLACEHOLDER = "NAME"
_GOOD_NAME = re.compile(r"[A-Za-z][\w-]*")


def template(kind: str, name: str) -> str:
    """The commented template of a hand, object or scene, with its name filled in.

    Raises:
        DescriptionError: There is no such kind, or the name would not do as a file's name.
    """
    if kind not in KINDS:
        raise DescriptionError(f"no template of a '{kind}'; {did_you_mean(kind, KINDS)}")
    if not _GOOD_NAME.fullmatch(name):
        raise DescriptionError(
            f"expected a name of letters, digits, _ and -, beginning with a letter, found '{name}'"
        )
    text = (library.root() / "assets" / "templates" / f"{kind}.yaml").read_text(encoding="utf-8")
    return re.sub(rf"\b{PLACEHOLDER}\b", name, text)


def write_template(kind: str, name: str, file: Path) -> Path:
    """Write a template where no file is yet.

    Raises:
        DescriptionError: As ``template`` raises it.
        ResultError: The file exists, or cannot be written.
    """
    text = template(kind, name)
    if file.exists():
        raise ResultError(f"{file}: expected no file, found one; it is not overwritten")
    return write_text(file, text)
