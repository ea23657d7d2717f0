"""Files of digital twins, in YAML and CSV.

Cameras, twins, pressure fits, register maps and robot programs are YAML files; shipped ones have
names. Flange poses are CSV tables with the columns ``time_s, x_mm, y_mm, z_mm, qw, qx, qy, qz``;
measured bending angles of a finger's pieces are CSV tables with ``pressure_kpa`` and
``angle_1_deg``, ``angle_2_deg``, … from the base outwards (also in Pa, bar, psi and rad), where
lines that begin with # are comments. Numbers are written with all digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from softgrasp import assets
from softgrasp.description import RobotProgram
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io import Column, load_arm, read_table
from softgrasp.io import load_camera as load_camera
from softgrasp.io import save_camera as save_camera
from softgrasp.mechanics import Array
from softgrasp.plugin_api import (
    Tree,
    Vec3,
    Vec4,
    YamlFile,
    dump,
    json_from,
    loader,
    pose_tree,
    scaled,
    short,
    take_units,
    write_text,
)
from softgrasp.twin.description import FlangeSample, GripperMount, PressureFit, RegisterMap, Twin
from softgrasp.units import ANGLE_UNITS, LENGTH_UNITS, PRESSURE_UNITS, TABLE_PRESSURES

T = TypeVar("T")
SUFFIXES = (".yaml", ".yml")
MILLIMETRE = LENGTH_UNITS["mm"]
FLANGE_COLUMNS = (
    Column("time", {"s": 1.0}),
    *(Column(axis, {"mm": MILLIMETRE}) for axis in "xyz"),
    *(Column(part) for part in ("qw", "qx", "qy", "qz")),
)
SUFFIX = ".csv"
KPA = PRESSURE_UNITS["kPa"]
ANGLE_COLUMNS = (
    Column("pressure", {unit.lower(): size for unit, size in TABLE_PRESSURES.items()}),
    Column("angle_", {unit: ANGLE_UNITS[unit] for unit in ("deg", "rad")}, numbered=True),
)
CIRCLE = ("count", "radius", "height", "tilt")
"""Fields of fingers arranged on a circle."""
DEFAULT = "softgrasp_default"

# Flange poses


@loader
def load_flange_samples(path: str | Path) -> tuple[FlangeSample, ...]:
    """Load recorded flange poses from ``.csv``.

    Raises:
        DescriptionError: The file cannot be read, a column is missing, a number is invalid, a
            quaternion does not have unit norm, times do not increase; names file and line.
    """
    path = Path(path)
    _require_csv(path)
    table = read_table(path, FLANGE_COLUMNS, rising="time")
    time, *parts = (table[column.name].tolist() for column in FLANGE_COLUMNS)
    samples = []
    for line, seconds, *pose in zip(table.lines, time, *parts, strict=True):
        try:
            position, quaternion = cast("tuple[Vec3, Vec4]", (pose[:3], pose[3:]))
            sample = FlangeSample(time=seconds, position=position, quaternion=quaternion)
        except DescriptionError as error:
            raise error.located(file=path, line=line) from None
        samples.append(sample)
    return tuple(samples)


def _require_csv(path: Path) -> None:
    if path.suffix.lower() != SUFFIX:
        raise DescriptionError(
            f"expected a file of flange poses that ends in {SUFFIX}, found '{path.name}'"
        )


def save_flange_samples(samples: Iterable[FlangeSample], path: str | Path) -> Path:
    """Write flange poses as ``.csv``, without joint variables.

    Raises:
        DescriptionError: Another suffix.
        ResultError: The file cannot be written.
    """
    path = Path(path)
    _require_csv(path)
    lines = [",".join(column.header() for column in FLANGE_COLUMNS)]
    for sample in samples:
        lengths = (part / MILLIMETRE for part in sample.position)
        lines.append(",".join(map(repr, (sample.time, *lengths, *sample.quaternion))))
    return write_text(path, "\n".join(lines) + "\n")


def json_object(text: str | bytes) -> dict[str, Any]:
    """Parse untrusted text as a JSON object with finite numbers.

    Raises:
        DescriptionError: It is not one.
    """
    try:
        value = json_from(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"expected a JSON object, found: {error}") from None
    if not isinstance(value, dict):
        raise DescriptionError(f"expected a JSON object, found {short(value)}")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a finite number")


# Bending angles


@dataclass(frozen=True, eq=False)
class PieceAngles:
    """Bending angles of n finger pieces at m pressures, in any order."""

    pressures: Array
    """Pressures [Pa], (m,)."""
    angles: Array
    """Bending angles from the base outwards [rad], (m, n)."""


@loader
def load_piece_angles(name: str | Path) -> PieceAngles:
    """Load measured angles from a CSV file, or shipped ones by name (``four_piece``).

    Raises:
        DescriptionError: There is no such table, or it is invalid; names file, line and column.
    """
    path = Path(name)
    if path.suffix.lower() != SUFFIX:
        directory = assets.directory("pressure_fits")
        known = sorted(path.stem for path in directory.glob(f"*{SUFFIX}"))
        if name not in known:
            raise DescriptionError(f"no table of angles '{name}'; {did_you_mean(str(name), known)}")
        path = directory / f"{name}{SUFFIX}"
    table = read_table(path, ANGLE_COLUMNS)
    return PieceAngles(table["pressure"], table["angle_"])


def save_piece_angles(table: PieceAngles, path: str | Path, *, remarks: str = "") -> Path:
    """Write measured angles as CSV and return the path.

    Args:
        table: Bending angles.
        path: ``.csv`` file.
        remarks: Comment lines before the table, without #.

    Raises:
        ResultError: The file cannot be written.
    """
    lines = [*(f"# {line}" for line in remarks.splitlines()), _header(table.angles.shape[1])]
    lines += map(_angle_line, table.pressures, table.angles)
    return write_text(path, "\n".join(lines) + "\n")


def _header(pieces: int) -> str:
    """Return the names of the columns of a table in kPa and degrees."""
    pressure, angle = ANGLE_COLUMNS
    return ",".join([pressure.header(), *map(angle.header, range(1, pieces + 1))])


def _angle_line(pressure: float, angles: Array) -> str:
    """Return a line of the table, from a pressure [Pa] and angles [rad]."""
    return ",".join(f"{number:.15g}" for number in [pressure / KPA, *np.degrees(angles)])


def append_piece_angles(path: str | Path, pressure: float, angles: Array) -> Path:
    """Append one line to measured angles in CSV; create the file where missing.

    Existing lines, comments included, do not change.

    Args:
        path: ``.csv`` file.
        pressure: Pressure [Pa].
        angles: Bending angles from the base outwards [rad], (n,).

    Raises:
        DescriptionError: The file is not such a table, or has another number of pieces.
        ResultError: The file cannot be written.
    """
    file, row = Path(path), np.asarray(angles, dtype=float)
    if file.suffix.lower() != SUFFIX:
        raise DescriptionError(f"expected a {SUFFIX} file, found '{path}'")
    if not file.exists():
        return save_piece_angles(PieceAngles(np.array([pressure]), row[None]), file)
    pieces = load_piece_angles(file).angles.shape[1]
    if pieces != len(row):
        raise DescriptionError(
            f"expected angles of {pieces} pieces, as in the table, found {len(row)}", file=file
        )
    text = file.read_text(encoding="utf-8-sig").removesuffix("\n")
    header = _header(pieces)
    if header not in text.lower().splitlines():
        raise DescriptionError(
            f"expected the columns {header} to append to, found others", file=file
        )
    return write_text(file, f"{text}\n{_angle_line(pressure, row)}\n")


# Twins


@loader
def load_twin(name: str | Path = "three_fingers") -> Twin:
    """Load a shipped twin by name (``three_fingers``), or one from a YAML file.

    ``finger``, ``arm``, ``controller.map`` and ``flange.program`` are names of shipped ones or
    of files beside it. ``units: {length: mm, angle: deg}`` applies to the gripper,
    ``finger_radius`` and ``phis``; everything else is in SI.

    Raises:
        DescriptionError: There is no such twin, or its file is invalid; names file, line and
            field.
    """
    return _describe("twins", name, _twin_from)


def _describe(kind: str, name: str | Path, make: Callable[[dict[str, Tree], Path], T]) -> T:
    """Make a description from a YAML file, or from a shipped one of a kind.

    Args:
        kind: Kind of the shipped ones.
        name: Name of a shipped one, or a file.
        make: Makes it from the YAML tree and the directory of the file.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        path = assets.find(kind, str(name))
    return YamlFile(path).read(lambda data: make({"name": path.stem} | data, path.parent))


def _twin_from(data: dict[str, Tree], directory: Path) -> Twin:
    rest, length, angle = take_units(data)
    fields: dict[str, Any] = dict(rest)
    _put(fields, ("finger",), load_pressure_fit, directory)
    _put(fields, ("arm",), load_arm, directory)
    _put(fields, ("controller", "map"), load_register_map, directory)
    _put(fields, ("flange", "program"), load_robot_program, directory)
    if "gripper" in fields:
        fields["gripper"] = _gripper(fields["gripper"], length, angle)
    for key, factor in (("finger_radius", length), ("phis", angle)):
        if key in fields:
            fields[key] = scaled(fields[key], factor)
    return Twin(**fields)


def _put(
    data: Tree, keys: tuple[str, ...], load: Callable[[Path | str], Any], directory: Path
) -> None:
    """Replace the name of a part, or a file beside the description, by what it describes."""
    *outer, last = keys
    for key in outer:
        if not isinstance(data, dict) or not isinstance(data.get(key), dict):
            return
        data[key] = data = dict(data[key])
    if not isinstance(data, dict) or last not in data or isinstance(data[last], dict):
        return
    name = data[last]
    if not isinstance(name, str) or not name:
        raise DescriptionError(
            f"expected a name or a file, found {name!r}", field=".".join(keys), location=keys
        )
    beside = directory / name
    try:
        data[last] = load(beside if Path(name).suffix and beside.is_file() else name)
    except DescriptionError as error:
        if error.file is not None:
            raise
        raise DescriptionError(error.message, field=".".join(keys), location=keys) from None


def _gripper(tree: Tree, length: float, angle: float) -> Tree | GripperMount:
    """Convert a gripper: fingers on a circle, or each with its pose."""
    if not isinstance(tree, dict):
        return tree
    data: dict[str, Any] = dict(tree)
    if "mount" in data:
        data["mount"] = pose_tree(data["mount"], length, angle, ("gripper", "mount"), "gripper")
    fingers = data.get("fingers")
    if isinstance(fingers, list):
        data["fingers"] = [
            pose_tree(pose, length, angle, ("gripper", "fingers", index), "gripper")
            for index, pose in enumerate(fingers)
        ]
    if not isinstance(fingers, dict):
        return data
    factors = {"radius": length, "height": length, "tilt": angle}
    circle = {key: scaled(value, factors.get(key, 1)) for key, value in fingers.items()}
    _check_circle(circle)
    if "mount" in data:
        fields = {"mount": data["mount"], "fingers": [{}]}
        data["mount"] = GripperMount(**fields).mount
    return GripperMount.around_axis(
        **circle, **{key: data[key] for key in ("name", "mount") if key in data}
    )


def _check_circle(circle: dict[str, Any]) -> None:
    """Check the dimensions of fingers on a circle.

    Raises:
        DescriptionError: One is missing, unknown or not a number.
    """
    location = ("gripper", "fingers")
    for key in (*circle, "count", "radius"):
        if key not in CIRCLE:
            message = f"no such field; {did_you_mean(key, CIRCLE)}"
        elif key not in circle:
            message = "expected a number, found no value"
        elif not _is_number(circle[key], int if key == "count" else int | float):
            message = f"expected a number, found {circle[key]!r}"
        else:
            continue
        where = (*location, key) if key in circle else location
        raise DescriptionError(message, field=f"gripper.fingers.{key}", location=where)


def _is_number(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value)


# Pressure fits


@loader
def load_pressure_fit(name: str | Path) -> PressureFit:
    """Load a shipped fit by name (``four_piece``), or one from a YAML file.

    Numbers are in SI, or in ``units: {length: mm, angle: deg, pressure: kPa}``.

    Raises:
        DescriptionError: There is no such fit, or its file is invalid; names file, line and
            field.
    """
    return _describe("pressure_fits", name, _fit_from)


def _fit_from(data: dict[str, Tree], _directory: Path) -> PressureFit:
    pressure, units = 1.0, data.get("units")
    if isinstance(units, dict) and "pressure" in units:
        pressure = _pascals(units["pressure"], "units", "pressure")
        data |= {"units": {kind: unit for kind, unit in units.items() if kind != "pressure"}}
    rest, length, angle = take_units(data)
    factors = {"lengths": length} | dict.fromkeys(("coefficients", "residuals"), angle)
    factors |= dict.fromkeys(("scale", "pressures"), pressure)
    return PressureFit(**{key: scaled(value, factors.get(key, 1.0)) for key, value in rest.items()})


def save_pressure_fit(fit: PressureFit, path: str | Path, *, comment: str = "") -> Path:
    """Write a fit as YAML in SI, from which ``load_pressure_fit`` makes an equal one.

    Args:
        fit: Pressure fit.
        path: ``.yaml`` file.
        comment: Comment lines at its head.

    Raises:
        DescriptionError: ``path`` does not have the suffix of a YAML file.
        ResultError: The file cannot be written.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise DescriptionError(f"expected a .yaml file, found '{path}'", field="path")
    return write_text(path, dump(fit.model_dump(), comment))


# Register maps


@loader
def load_register_map(name: str | Path = DEFAULT) -> RegisterMap:
    """Load a shipped register map by name, or one from a YAML file.

    ``unit`` in the file is that of ``scale`` and ``limits``; the default is Pa.

    Raises:
        DescriptionError: There is no such map, or its file is invalid: registers overlap, limits
            do not fit a type, a name is unknown; names file, line and field.
    """
    return _describe("register_maps", name, _register_map_from)


def _register_map_from(data: dict[str, Tree], _directory: Path) -> RegisterMap:
    factor = _pascals(data.pop("unit", "Pa"), "unit")
    return RegisterMap(**_in_pascals(data, factor))


def _in_pascals(data: Tree, factor: float) -> Tree:
    if not isinstance(data, dict):
        return data
    return {
        key: scaled(value, factor) if key in ("scale", "limits") else _in_pascals(value, factor)
        for key, value in data.items()
    }


# Robot programs


@loader
def load_robot_program(name: str | Path = "pick_and_place") -> RobotProgram:
    """Load a shipped robot program by name (``pick_and_place``), or one from a YAML file.

    A program has an arm and the postures that it moves through. ``arm`` is the name of a shipped
    arm, or a file beside it. ``units: {angle: deg}`` applies to the postures.

    Raises:
        DescriptionError: There is no such program, or its file is invalid; names file, line and
            field.
    """
    return _describe("robot_programs", name, _robot_program_from)


def _robot_program_from(data: dict[str, Tree], directory: Path) -> RobotProgram:
    rest, _, angle = take_units(data)
    _put(rest, ("arm",), load_arm, directory)
    if "postures" in rest:
        rest["postures"] = scaled(rest["postures"], angle)
    return RobotProgram(**rest)


def _pascals(unit: Tree, *location: str) -> float:
    """Return a unit of pressure [Pa]."""
    if not isinstance(unit, str) or unit not in PRESSURE_UNITS:
        raise DescriptionError(
            f"no unit of pressure '{unit}'; {did_you_mean(str(unit), PRESSURE_UNITS)}",
            field=".".join(location),
            location=location,
        )
    return PRESSURE_UNITS[unit]
