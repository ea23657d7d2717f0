"""Objects in YAML: a shape, exactly one of mass and density, a material."""

from __future__ import annotations

from pathlib import Path

from softgrasp import library
from softgrasp.description.object import GraspObject
from softgrasp.formats.yaml_file import Tree, YamlFile, take_units, to_si


def read_object(path: Path) -> GraspObject:
    """Read an object from a YAML file; the mesh it names is looked for beside it.

    Raises:
        DescriptionError: The file, or what it says, is wrong; names file, line and field.
    """
    return YamlFile(path).read(lambda data: object_from(data, directory=path.parent))


def object_from(data: dict[str, Tree], *, directory: Path | None = None) -> GraspObject:
    """Make an object of a YAML tree.

    Args:
        data: The tree; may begin with ``units``.
        directory: Where relative mesh files lie.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    data, length, angle = take_units(data)
    tree = to_si(data, length, angle)
    shape = tree.get("shape")
    if directory is not None and isinstance(shape, dict):
        for key in ("file", "parts"):
            if isinstance(shape.get(key), str):
                shape[key] = absolute_name(shape[key], directory)
    return GraspObject(**tree)


def absolute_name(name: str, directory: Path) -> str:
    """A mesh's name that holds from anywhere: the library's, or an absolute path."""
    if library.shipped_file(name) is not None:
        return name
    return library.portable_name(directory / name)
