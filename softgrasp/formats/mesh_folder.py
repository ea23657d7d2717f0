"""A folder of meshes as the objects of a sweep."""

from __future__ import annotations

from pathlib import Path

from softgrasp.errors import DescriptionError
from softgrasp.formats.mesh_files import MESH_SUFFIXES


def meshes_in(folder: Path) -> list[str]:
    """The mesh files of a folder, in the order of their names.

    Raises:
        DescriptionError: There is none.
    """
    found = [path for path in folder.iterdir() if path.suffix.lower() in MESH_SUFFIXES]
    if not found:
        there = ", ".join(sorted(path.name for path in folder.iterdir())[:5]) or "nothing"
        raise DescriptionError(
            f"{folder}: expected mesh files ({', '.join(MESH_SUFFIXES)}), found {there}"
        )
    return [str(path) for path in sorted(found, key=lambda path: path.name)]


def with_folders(path: str, values: list[object], beside: Path) -> list[object]:
    """Values of an axis, where a folder that is named as an object stands for its meshes.

    Args:
        path: Path of the axis.
        values: Its values.
        beside: Folder that names are relative to.
    """
    if path != "object":
        return values
    found: list[object] = []
    for value in values:
        folder = beside / value if isinstance(value, str) else None
        found += meshes_in(folder) if folder is not None and folder.is_dir() else [value]
    return found
