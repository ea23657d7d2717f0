"""Water-hydraulic soft arms in YAML: sections with their chambers, and the drive."""

from __future__ import annotations

from pathlib import Path

from softgrasp import library
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.formats.atomic import write_text
from softgrasp.formats.yaml_file import Tree, YamlFile, dump, scaled, take_units

SUFFIXES = (".yaml", ".yml")
LENGTHS = frozenset(["length", "radius", "diameter", "lead"])
AREAS, ANGLES = frozenset(["area"]), frozenset(["angle"])


def load_hydraulic_arm(name: str | Path) -> HydraulicArm:
    """A shipped hydraulic arm by name, or one from a YAML file.

    ``units: {length: mm, angle: deg}`` is of lengths, areas and angles; all else is in SI.

    Raises:
        DescriptionError: There is no such arm, or its file is wrong; names file, line and field.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        path = library.find("hydraulic_arms", str(name))
    return YamlFile(path).read(lambda data: hydraulic_arm_from({"name": path.stem} | data))


def save_hydraulic_arm(arm: HydraulicArm, path: str | Path) -> Path:
    """Write an arm as YAML in SI, from which ``load_hydraulic_arm`` makes an equal one.

    Raises:
        ResultError: The file cannot be written.
    """
    return write_text(path, dump(arm.model_dump(mode="json", exclude_defaults=True)))


def hydraulic_arm_from(data: dict[str, Tree]) -> HydraulicArm:
    """Make an arm of a YAML tree.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    rest, length, angle = take_units(data)
    return HydraulicArm(**_to_si(rest, length, angle))


def _to_si(data: Tree, length: float, angle: float) -> Tree:
    if isinstance(data, list):
        return [_to_si(part, length, angle) for part in data]
    if not isinstance(data, dict):
        return data
    factors = dict.fromkeys(LENGTHS, length) | dict.fromkeys(AREAS, length**2)
    factors |= dict.fromkeys(ANGLES, angle)
    return {
        key: scaled(value, factors[key]) if key in factors else _to_si(value, length, angle)
        for key, value in data.items()
    }
