"""Names of mesh files as URDF writes them, as names that hold from anywhere."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from softgrasp import library
from softgrasp.formats.meshes import MESH_SUFFIXES
from softgrasp.formats.object_file import absolute_name
from softgrasp.formats.ucrdf.elements import Element, mistake

IN_PACKAGE = ("package://", "model://")
IN_FILE = "file://"


def is_readable(name: str) -> bool:
    """Whether a mesh's file is of a kind that is read; Collada is not."""
    return Path(name).suffix.lower() in MESH_SUFFIXES


def mesh_name(element: Element, folder: Path) -> str:
    """The library's name or the absolute path of the file that a ``<mesh>`` names.

    Args:
        element: The ``<mesh>``; ``package://`` is looked for in the folder and above it.
        folder: Where relative files lie.

    Raises:
        DescriptionError: There is no such file, or it is no mesh that can be read.
    """
    given = str(element.get("filename"))
    if not is_readable(given):
        known = ", ".join(MESH_SUFFIXES)
        raise mistake(element, f"expected a mesh as {known}, found '{given}'", "filename")
    place = mesh_place(given, folder)
    if place is not None:
        return place
    around = f"{folder.absolute()}{' or above it' if given.startswith(IN_PACKAGE) else ''}"
    raise mistake(element, f"expected a mesh file, found no '{given}' in {around}", "filename")


def mesh_place(given: str, folder: Path) -> str | None:
    """The library's name or the absolute path of a mesh file; None where there is none.

    Args:
        given: The name in the file.
        folder: Where relative files lie.
    """
    if library.shipped_file(given) is not None:
        return given
    for place in _places(given, folder.absolute()):
        if place.is_file():
            return absolute_name(str(place), folder)
    return None


def _places(given: str, folder: Path) -> list[Path]:
    if given.startswith(IN_FILE):
        return [Path(unquote(given.removeprefix(IN_FILE)))]
    for scheme in IN_PACKAGE:
        if given.startswith(scheme):
            package, _, inner = given.removeprefix(scheme).partition("/")
            tops = (folder, *folder.parents)
            return [*(top / package / inner for top in tops), *(top / inner for top in tops)]
    return [folder / given]
