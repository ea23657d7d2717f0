"""Success criteria in YAML: what counts as held, by name or by file."""

from __future__ import annotations

from pathlib import Path

from softgrasp import library
from softgrasp.description.task import SuccessCriterion
from softgrasp.formats.yaml_file import Tree, YamlFile, take_units, to_si

SUFFIXES = (".yaml", ".yml")


def load_criterion(name: str | Path) -> SuccessCriterion:
    """A shipped success criterion by name, or one from a YAML file.

    The file may begin with ``units: {length: mm, angle: deg}``.

    Raises:
        DescriptionError: There is no such criterion, or its file is wrong.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        path = library.find("criteria", str(name))
    return YamlFile(path).read(lambda data: _criterion({"name": path.stem} | data))


def _criterion(data: dict[str, Tree]) -> SuccessCriterion:
    rest, length, angle = take_units(data)
    return SuccessCriterion(**to_si(rest, length, angle))
