"""A folder of meshes as the objects of a sweep."""

from __future__ import annotations

from pathlib import Path

from softgrasp.errors import DescriptionError
from softgrasp.formats.mesh_files import MESH_SUFFIXES


def meshes_in(directory: Path) -> list[str]:
    """The mesh files of a folder, in the order of their names.

    Raises:
        DescriptionError: There is none.
    """
    paths = [path for path in directory.iterdir() if path.suffix.lower() in MESH_SUFFIXES]
    if not paths:
        there = ", ".join(sorted(path.name for path in directory.iterdir())[:5]) or "nothing"
        raise DescriptionError(
            f"{directory}: expected mesh files ({', '.join(MESH_SUFFIXES)}), found {there}"
        )
    return [str(path) for path in sorted(paths, key=lambda path: path.name)]


def expand_directories(path: str, values: list[object], beside: Path) -> list[object]:
    """Values of an axis, where a folder that is named as an object stands for its meshes.

    Args:
        path: Path of the axis.
        values: Its values.
        beside: Folder that names are relative to.
    """
    if path != "object":
        return values
    expanded: list[object] = []
    for value in values:
        directory = beside / value if isinstance(value, str) else None
        expanded += (
            meshes_in(directory) if directory is not None and directory.is_dir() else [value]
        )
    return expanded
