"""Soft fingers in YAML: joints and links one by one."""

from __future__ import annotations

from pathlib import Path

from softgrasp import library
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.formats.yaml_file import Tree, YamlFile, take_units, to_si


def load_finger(name: str | Path) -> SoftFinger:
    """A shipped soft finger by name, or one from a YAML file.

    Raises:
        DescriptionError: There is no such finger, or its file is wrong; names file, line and field.
    """
    path = Path(name)
    if path.suffix.lower() not in (".yaml", ".yml"):
        path = library.find("fingers", str(name))
    return YamlFile(path).read(_finger_from)


def _finger_from(data: dict[str, Tree]) -> SoftFinger:
    rest, length, angle = take_units(data)
    return SoftFinger(**to_si(rest, length, angle))
