"""Soft fingers in YAML: joints and links one by one."""

from __future__ import annotations

from pathlib import Path

from softgrasp import library
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.formats.atomic import write_text
from softgrasp.formats.yaml_file import Tree, YamlFile, dump, take_units, to_si

SUFFIXES = (".yaml", ".yml")


UNSURE = "not determined by the measurements: "
"""In the source of a calibrated finger, before the names of such constants."""


def load_finger(name: str | Path) -> SoftFinger:
    """A shipped soft finger by name, or one from a YAML file.

    Raises:
        DescriptionError: There is no such finger, or its file is wrong; names file, line and field.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        path = library.find("fingers", str(name))
    return YamlFile(path).read(finger_from)


def save_finger(finger: SoftFinger, path: str | Path) -> Path:
    """Write a soft finger as YAML, in SI, from which ``load_finger`` makes an equal one.

    Raises:
        DescriptionError: ``path`` has no suffix by which ``load_finger`` knows a file.
        ResultError: The place cannot be written.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise DescriptionError(f"expected a .yaml file, found '{path}'", field="path")
    return write_text(path, dump(finger.model_dump(exclude_defaults=True)))


def finger_from(data: dict[str, Tree]) -> SoftFinger:
    """Make a finger of a YAML tree.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    rest, length, angle = take_units(data)
    return SoftFinger(**to_si(rest, length, angle))
