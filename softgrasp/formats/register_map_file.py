"""Register maps of controllers in YAML: pressures in the unit that the file names."""

from __future__ import annotations

from pathlib import Path

from softgrasp import library
from softgrasp.description.register_map import RegisterMap
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.formats.yaml_file import Tree, YamlFile, scaled
from softgrasp.units import PRESSURE_UNITS

SUFFIXES = (".yaml", ".yml")
DEFAULT = "softgrasp_default"


def load_register_map(name: str | Path = DEFAULT) -> RegisterMap:
    """A shipped register map by name, or one from a YAML file.

    ``unit`` in the file is that of ``scale`` and ``limits``; without it they are in Pa.

    Raises:
        DescriptionError: There is no such map, or its file is wrong: places overlap, limits do not
            fit a type, a name is not known; names file, line and field.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        path = library.find("register_maps", str(name))
    return YamlFile(path).read(lambda data: register_map_from({"name": path.stem} | data))


def register_map_from(data: dict[str, Tree]) -> RegisterMap:
    """Make a register map of a YAML tree.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    rest = {key: value for key, value in data.items() if key != "unit"}
    unit = data.get("unit", "Pa")
    if not isinstance(unit, str) or unit not in PRESSURE_UNITS:
        raise DescriptionError(
            f"no unit of pressure '{unit}'; {did_you_mean(str(unit), PRESSURE_UNITS)}",
            field="unit",
            location=("unit",),
        )
    return RegisterMap(**_in_pascals(rest, PRESSURE_UNITS[unit]))


def _in_pascals(data: Tree, factor: float) -> Tree:
    if not isinstance(data, dict):
        return data
    return {
        key: scaled(value, factor) if key in ("scale", "limits") else _in_pascals(value, factor)
        for key, value in data.items()
    }
