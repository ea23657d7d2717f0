"""Fits of bending angles against pressure in YAML."""

from __future__ import annotations

from pathlib import Path

from softgrasp import library
from softgrasp.description.pressure_fit import PressureFit
from softgrasp.errors import DescriptionError
from softgrasp.formats.atomic import write_text
from softgrasp.formats.yaml_file import Tree, YamlFile, dump, scaled, take_pressure_unit, take_units

SUFFIXES = (".yaml", ".yml")


def load_pressure_fit(name: str | Path) -> PressureFit:
    """A shipped fit by name (``four_piece``), or one from a YAML file.

    Numbers are in SI, or in ``units: {length: mm, angle: deg, pressure: kPa}``.

    Raises:
        DescriptionError: There is no such fit, or its file is wrong; names file, line and field.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        path = library.find("pressure_fits", str(name))
    return YamlFile(path).read(lambda data: _fit_from({"name": path.stem} | data))


def save_pressure_fit(fit: PressureFit, path: str | Path, *, comment: str = "") -> Path:
    """Write a fit as YAML in SI, from which ``load_pressure_fit`` makes an equal one.

    Args:
        fit: The fit.
        path: A ``.yaml`` file.
        comment: Lines of remarks at its head.

    Raises:
        DescriptionError: ``path`` has no suffix by which ``load_pressure_fit`` knows a file.
        ResultError: The place cannot be written.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise DescriptionError(f"expected a .yaml file, found '{path}'", field="path")
    return write_text(path, dump(fit.model_dump(), comment))


def _fit_from(data: dict[str, Tree]) -> PressureFit:
    rest, pressure = take_pressure_unit(data)
    rest, length, angle = take_units(rest)
    factors = {
        "lengths": length,
        "coefficients": angle,
        "residuals": angle,
        "scale": pressure,
        "pressures": pressure,
    }
    return PressureFit(**{key: scaled(value, factors.get(key, 1.0)) for key, value in rest.items()})
