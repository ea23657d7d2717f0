"""Names of mesh files as URDF writes them, as names that hold from anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from softgrasp import library
from softgrasp.errors import DescriptionError
from softgrasp.formats.meshes import MESH_SUFFIXES
from softgrasp.formats.object_file import absolute_name
from softgrasp.formats.ucrdf.document import read_document
from softgrasp.formats.ucrdf.elements import Element, mistake

IN_PACKAGE = ("package://", "model://")
IN_FILE = "file://"
MANIFESTS = ("package.xml", "manifest.xml")
"""Files that make a folder the root of a ROS package."""
ROS_PATH = "ROS_PACKAGE_PATH"
"""Environment variable with folders of packages."""


def is_readable(name: str) -> bool:
    """Whether a mesh's file is of a kind that is read; Collada is not."""
    return Path(name).suffix.lower() in MESH_SUFFIXES


def mesh_name(element: Element, folder: Path) -> str:
    """The library's name or the absolute path of the file that a ``<mesh>`` names.

    Args:
        element: The ``<mesh>``; ``package://`` is looked for in the package's folder.
        folder: Where relative files lie.

    Raises:
        DescriptionError: There is no such file, or it is no mesh that can be read.
    """
    given = str(element.get("filename"))
    if not is_readable(given):
        known = ", ".join(MESH_SUFFIXES)
        raise mistake(element, f"expected a mesh as {known}, found '{given}'", "filename")
    found = found_mesh(element, folder)
    if found is None:
        raise mistake(
            element,
            f"expected a mesh file, found no '{given}' in {_looked(given, folder)}",
            "filename",
        )
    return found


def found_mesh(element: Element, folder: Path) -> str | None:
    """The library's name or the absolute path of a ``<mesh>``, None where there is no such file.

    Args:
        element: The ``<mesh>``.
        folder: Where relative files lie.
    """
    given = str(element.get("filename"))
    if library.shipped_file(given) is not None:
        return given
    for place in _places(given, folder.absolute()):
        if place.is_file():
            return absolute_name(str(place), folder)
    return None


def _looked(given: str, folder: Path) -> str:
    """Where a file was looked for, in words."""
    around = f"{folder.absolute()}"
    if not given.startswith(IN_PACKAGE):
        return around
    roots = os.environ.get(ROS_PATH, "")
    return f"{around} or above it" + (f", nor in {ROS_PATH} ({roots})" if roots else "")


def _places(given: str, folder: Path) -> Iterator[Path]:
    """Where a file may be, the likeliest place first."""
    if given.startswith(IN_FILE):
        yield Path(unquote(given.removeprefix(IN_FILE)))
        return
    scheme = next((scheme for scheme in IN_PACKAGE if given.startswith(scheme)), None)
    if scheme is None:
        yield folder / given
        return
    package, _, inner = given.removeprefix(scheme).partition("/")
    above = (folder, *folder.parents)
    yield from (top / inner for top in above if _is_package(top, package))
    yield from (top / package / inner for top in above)
    for root in filter(None, os.environ.get(ROS_PATH, "").split(os.pathsep)):
        yield from (Path(root) / package / inner, Path(root) / inner)
        yield Path(root) / "share" / package / inner
    yield from (top / inner for top in above)


def _is_package(folder: Path, name: str) -> bool:
    """Whether a folder is the root of a ROS package of that name."""
    for about in MANIFESTS:
        if (folder / about).is_file():
            return folder.name == name or name in _names_in(folder / about)
    return False


def _names_in(manifest: Path) -> list[str]:
    try:
        return [(part.text or "").strip() for part in read_document(manifest).findall("name")]
    except DescriptionError:
        return []  # its folder's name is what counts then
