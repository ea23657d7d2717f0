"""The text of a Webots world as nodes; what the format does not allow is refused."""

from __future__ import annotations

import re
from pathlib import Path

from softgrasp.errors import DescriptionError
from softgrasp.formats.wbt.cursor import Cursor
from softgrasp.formats.wbt.node_reader import read_nodes
from softgrasp.formats.wbt.schema import oldest_version
from softgrasp.formats.wbt.world import World

_HEADER = re.compile(r"#VRML_SIM (\S+)(?: \S+)*? utf8\s*")
_VERSION = re.compile(r"R\d{4}[a-z]")


def read_world(path: str | Path) -> World:
    """Read a world from a file.

    Raises:
        DescriptionError: It cannot be read, or as ``parse_world`` raises it.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DescriptionError(f"expected a readable world, found: {reason}", file=path) from error
    return parse_world(text, path)


def parse_world(text: str, file: str | Path = "world.wbt") -> World:
    """The world that a text describes.

    Where a node is used again (USE), the same ``Node`` stands there again; a DEF of a name that
    was given before takes it over from there on, as in VRML.

    Args:
        text: Of a .wbt file, from its header.
        file: Where it came from, for sentences about it.

    Raises:
        DescriptionError: It is no world of a version that is read, or a node or field is not
            known, holds what it cannot, or stands where it may not.
    """
    version = _version(text, file)
    return World(version, read_nodes(Cursor(text, file)), Path(file))


def _version(text: str, file: str | Path) -> str:
    first = text.split("\n", 1)[0].rstrip()
    header = _HEADER.fullmatch(first)
    if header is None:
        raise DescriptionError(
            f"expected '#VRML_SIM R2025a utf8' or the like, found '{first[:60]}'", file=file, line=1
        )
    if not _VERSION.fullmatch(header[1]) or header[1] < oldest_version():
        raise DescriptionError(
            f"expected a world of Webots {oldest_version()} or newer, found one of {header[1]}",
            file=file,
            line=1,
        )
    return header[1]
