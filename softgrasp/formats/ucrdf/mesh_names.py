"""Names of mesh files as URDF writes them, as names that hold from anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from softgrasp import library
from softgrasp.errors import DescriptionError
from softgrasp.formats.mesh_files import MESH_SUFFIXES
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


def mesh_name(element: Element, directory: Path) -> str:
    """The library's name or the absolute path of the file that a ``<mesh>`` names.

    Args:
        element: The ``<mesh>``; ``package://`` is looked for in the package's folder.
        directory: Where relative files lie.

    Raises:
        DescriptionError: There is no such file, or it is no mesh that can be read.
    """
    file_name = str(element.get("filename"))
    if not is_readable(file_name):
        known = ", ".join(MESH_SUFFIXES)
        raise mistake(element, f"expected a mesh as {known}, found '{file_name}'", "filename")
    path = locate_mesh(element, directory)
    if path is None:
        raise mistake(
            element,
            f"expected a mesh file, found no '{file_name}' in {_searched(file_name, directory)}",
            "filename",
        )
    return path


def locate_mesh(element: Element, directory: Path) -> str | None:
    """The library's name or the absolute path of a ``<mesh>``, None where there is no such file.

    Args:
        element: The ``<mesh>``.
        directory: Where relative files lie.
    """
    file_name = str(element.get("filename"))
    if library.shipped_file(file_name) is not None:
        return file_name
    for candidate in _candidates(file_name, directory.absolute()):
        if candidate.is_file():
            return absolute_name(str(candidate), directory)
    return None


def _searched(file_name: str, directory: Path) -> str:
    """Where a file was looked for, in words."""
    around = f"{directory.absolute()}"
    if not file_name.startswith(IN_PACKAGE):
        return around
    roots = os.environ.get(ROS_PATH, "")
    return f"{around} or above it" + (f", nor in {ROS_PATH} ({roots})" if roots else "")


def _candidates(file_name: str, directory: Path) -> Iterator[Path]:
    """Where a file may be, the likeliest place first."""
    if file_name.startswith(IN_FILE):
        yield Path(unquote(file_name.removeprefix(IN_FILE)))
        return
    scheme = next((scheme for scheme in IN_PACKAGE if file_name.startswith(scheme)), None)
    if scheme is None:
        yield directory / file_name
        return
    package, _, inner = file_name.removeprefix(scheme).partition("/")
    above = (directory, *directory.parents)
    yield from (top / inner for top in above if _is_package(top, package))
    yield from (top / package / inner for top in above)
    for root in filter(None, os.environ.get(ROS_PATH, "").split(os.pathsep)):
        yield from (Path(root) / package / inner, Path(root) / inner)
        yield Path(root) / "share" / package / inner
    yield from (top / inner for top in above)


def _is_package(directory: Path, name: str) -> bool:
    """Whether a folder is the root of a ROS package of that name."""
    for about in MANIFESTS:
        if (directory / about).is_file():
            return directory.name == name or name in _names_in(directory / about)
    return False


def _names_in(manifest: Path) -> list[str]:
    try:
        return [(part.text or "").strip() for part in read_document(manifest).findall("name")]
    except DescriptionError:
        return []  # its folder's name is what counts then
