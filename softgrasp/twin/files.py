"""Pinhole cameras in YAML: fx, fy, cx, cy, k1, k2, p1, p2, k3, width and height, all in pixels."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp import assets
from softgrasp.description.arm import RobotProgram
from softgrasp.description.base import short
from softgrasp.description.sensor import PinholeCamera
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io.arm import load_arm
from softgrasp.io.files import write_text
from softgrasp.io.tables import Column, read_table
from softgrasp.io.yaml_files import (
    Tree,
    YamlFile,
    dump,
    pose_tree,
    scaled,
    take_pressure_unit,
    take_units,
)
from softgrasp.mechanics.transforms import Array
from softgrasp.twin.description import FlangeSample, GripperMount, PressureFit, RegisterMap, Twin
from softgrasp.units import ANGLE_UNITS, LENGTH_UNITS, PRESSURE_UNITS

SUFFIXES = (".yaml", ".yml")


def load_camera(path: str | Path) -> PinholeCamera:
    """A camera from a YAML file.

    Raises:
        DescriptionError: There is no such file, or it is wrong; names file, line and field.
    """
    file = Path(path)
    return YamlFile(file).read(lambda data: PinholeCamera(**({"name": file.stem} | data)))


def save_camera(camera: PinholeCamera, path: str | Path) -> Path:
    """Write a camera as YAML from which ``load_camera`` makes an equal one.

    Raises:
        DescriptionError: ``path`` has no suffix of a YAML file.
        ResultError: The place cannot be written.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise DescriptionError(f"expected a .yaml file, found '{path}'", field="path")
    return write_text(path, dump(camera.model_dump(exclude_defaults=True)))


# --------------------
# Flange poses in CSV (``time_s,x_mm,y_mm,z_mm,qw,qx,qy,qz``) and as JSON objects.
#
# A file of JSON lines has one object a line, with the same names as keys; a datagram has one
# object.
# Numbers have all digits.


COLUMNS = ("time_s", "x_mm", "y_mm", "z_mm", "qw", "qx", "qy", "qz")
FLANGE_SUFFIXES = (".csv", ".jsonl")
MILLIMETRE = LENGTH_UNITS["mm"]


def load_flange_samples(path: str | Path) -> tuple[FlangeSample, ...]:
    """Read a record of flange poses, from ``.csv`` or ``.jsonl``.

    Raises:
        DescriptionError: The file cannot be read, a column or key is missing, a number is none,
            a quaternion is not a unit one, times do not rise; names file and line.
    """
    path = Path(path)
    read = _csv_rows if _suffix(path) == ".csv" else _json_rows
    samples: list[FlangeSample] = []
    for line, row in read(path, _text(path)):
        try:
            samples.append(sample_from(row))
            if len(samples) > 1 and samples[-1].time <= samples[-2].time:
                raise DescriptionError(
                    f"expected a time after {samples[-2].time:g} s, found {samples[-1].time:g} s",
                    field=COLUMNS[0],
                )
        except DescriptionError as error:
            raise error.located(file=path, line=line) from None
    if not samples:
        raise DescriptionError("expected flange poses, found none", file=path)
    return tuple(samples)


def save_flange_samples(samples: Iterable[FlangeSample], path: str | Path) -> Path:
    """Write flange poses, as ``.csv`` or ``.jsonl`` after the name of the file.

    Raises:
        DescriptionError: The name ends in neither.
        ResultError: The place cannot be written.
    """
    path = Path(path)
    rows = [row_of(sample) for sample in samples]
    if _suffix(path) == ".jsonl":
        return write_text(path, "".join(f"{json.dumps(row)}\n" for row in rows))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return write_text(path, stream.getvalue())


def row_of(sample: FlangeSample) -> dict[str, float]:
    """A sample with the names of the columns."""
    numbers = (sample.time, *(part / MILLIMETRE for part in sample.position), *sample.quaternion)
    return dict(zip(COLUMNS, numbers, strict=True))


def sample_from(row: Mapping[str, Any]) -> FlangeSample:
    """The sample of a row.

    Raises:
        DescriptionError: A column is missing or unknown, or holds no number; the quaternion is
            not a unit one.
    """
    for name in COLUMNS:
        if name not in row:
            raise DescriptionError(f"expected {', '.join(COLUMNS)}, found no {name}", field=name)
    for name in row:
        if name not in COLUMNS:
            raise DescriptionError(f"no such field; {did_you_mean(str(name), COLUMNS)}", field=name)
    time, x, y, z, *quaternion = (_real(name, row[name]) for name in COLUMNS)
    return FlangeSample(
        time=time, position=[part * MILLIMETRE for part in (x, y, z)], quaternion=quaternion
    )


def json_object(text: str | bytes) -> dict[str, Any]:
    """A JSON object of any text, with finite numbers of ordinary size only.

    Raises:
        DescriptionError: It is none.
    """
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"expected a JSON object, found: {error}") from None
    if not isinstance(value, dict):
        raise DescriptionError(f"expected a JSON object, found {short(value)}")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no finite number")


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in FLANGE_SUFFIXES:
        raise DescriptionError(
            f"expected a file of flange poses that ends in {' or '.join(FLANGE_SUFFIXES)}, "
            f"found '{path.name}'"
        )
    return suffix


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DescriptionError(f"expected flange poses, cannot read: {reason}", file=path) from None


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, content in enumerate(text.split("\n"), start=1):
        if content.strip():
            try:
                row = json_object(content)
            except DescriptionError as error:
                raise error.located(file=path, line=line) from None
            yield line, row


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    try:
        head: list[str] | None = None
        for cells in reader:
            if not cells or cells[0].startswith("#"):
                continue
            if head is None:
                head = _head(path, reader.line_num, cells)
                continue
            if len(cells) != len(head):
                raise DescriptionError(
                    f"expected {len(head)} cells, found {len(cells)}",
                    file=path,
                    line=reader.line_num,
                )
            numbers = [_number(cell) for cell in cells]
            yield reader.line_num, dict(zip(head, numbers, strict=True))
    except csv.Error as error:
        raise DescriptionError(
            f"expected CSV, found: {error}", file=path, line=reader.line_num
        ) from None


def _head(path: Path, line: int, cells: list[str]) -> list[str]:
    head = [cell.strip() for cell in cells]
    if sorted(head) != sorted(COLUMNS):
        raise DescriptionError(
            f"expected the columns {','.join(COLUMNS)}, found {short(','.join(head))}",
            file=path,
            line=line,
        )
    return head


def _real(name: str, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise DescriptionError(f"expected a number, found {short(value)}", field=name)


def _number(cell: str) -> Any:
    """The number of a cell, or the cell itself, which is then told in the sentence."""
    try:
        return float(cell)
    except ValueError:
        return cell


# --------------------
# Measured bending angles of a finger's pieces in CSV, one line a pressure.
#
# Columns: ``pressure_kpa``, then ``angle_1_deg``, ``angle_2_deg``, … from the base outwards; each
# is
# how far the piece's arc bends. Lines that begin with # are remarks.


PRESSURE, ANGLE, SUFFIX = "pressure_kpa", "angle_{}_deg", ".csv"
KPA = PRESSURE_UNITS["kPa"]
ANGLE_COLUMNS = (
    Column("pressure", {"kpa": KPA}),
    Column("angle_", {"deg": ANGLE_UNITS["deg"]}, numbered=True),
)


@dataclass(frozen=True, eq=False)
class PieceAngles:
    """Bending angles at some pressures; m samples in any order, n pieces."""

    pressures: Array
    """[Pa], (m,)."""
    angles: Array
    """From the base outwards [rad], (m, n)."""


def load_piece_angles(name: str | Path) -> PieceAngles:
    """Measured angles from a CSV file, or shipped ones by name (``four_piece``).

    Raises:
        DescriptionError: There is no such table, or it is wrong: other columns, a cell without a
            number; names file, line and column.
    """
    path = Path(name)
    if path.suffix.lower() != SUFFIX:
        path = _shipped(str(name))
    table = read_table(path, ANGLE_COLUMNS)
    return PieceAngles(table["pressure"], table["angle_"])


def save_piece_angles(table: PieceAngles, path: str | Path, *, remarks: str = "") -> Path:
    """Write measured angles as CSV and return the path.

    Args:
        table: The angles.
        path: A ``.csv`` file.
        remarks: Lines before the table, without their #.

    Raises:
        ResultError: The place cannot be written.
    """
    stream = io.StringIO()
    stream.writelines(f"# {line}\n" for line in remarks.splitlines())
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_columns(table.angles.shape[1] + 1))
    whole = np.column_stack([table.pressures / KPA, np.degrees(table.angles)])
    writer.writerows([f"{number:.15g}" for number in row] for row in whole.tolist())
    return write_text(path, stream.getvalue())


def _columns(count: int) -> list[str]:
    return [PRESSURE, *(ANGLE.format(k) for k in range(1, max(count, 2)))]


def _shipped(name: str) -> Path:
    directory = assets.directory("pressure_fits")
    known = sorted(path.stem for path in directory.glob(f"*{SUFFIX}"))
    if name not in known:
        raise DescriptionError(f"no table of angles '{name}'; {did_you_mean(name, known)}")
    return directory / f"{name}{SUFFIX}"


def append_piece_angles(path: str | Path, pressure: float, angles: Array) -> Path:
    """Add one line to measured angles in CSV; the file and its header are made where missing.

    What stands there stays as it is, remarks included.

    Args:
        path: A ``.csv`` file.
        pressure: [Pa]
        angles: From the base outwards [rad], (n,).

    Raises:
        DescriptionError: The file is no such table, or has another number of pieces.
        ResultError: The place cannot be written.
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
    text = file.read_text(encoding="utf-8-sig")
    cells = ",".join(f"{number:.15g}" for number in [pressure / KPA, *np.degrees(row).tolist()])
    return write_text(file, text + ("" if text.endswith("\n") else "\n") + cells + "\n")


# --------------------
# Measured tips of a finger in CSV, such as motion capture writes: ``time_s,x_m,y_m,z_m``.


TIP_COLUMNS = ["time_s", "x_m", "y_m", "z_m"]


@dataclass(frozen=True, eq=False)
class TipPoints:
    """A tip over time, in the frame of the finger's base; m samples."""

    time: Array
    """Rising [s], (m,)."""
    position: Array
    """[m], (m, 3)."""


def load_tip_points(path: str | Path) -> TipPoints:
    """Read measured tips.

    Raises:
        DescriptionError: It cannot be read, has other columns, a cell without a number, or times
            that do not rise; names file, line and column.
    """
    path = Path(path)
    table = read_table(
        path, [Column("time", {"s": 1.0}), *(Column(axis, {"m": 1.0}) for axis in "xyz")],
        rising="time",
    )  # fmt: skip
    return TipPoints(table["time"], np.stack([table["x"], table["y"], table["z"]], -1))


def save_tip_points(points: TipPoints, path: str | Path) -> Path:
    """Write what ``load_tip_points`` reads back to the last digit, and return the path.

    Raises:
        ResultError: The place cannot be written.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(TIP_COLUMNS)
    writer.writerows(np.column_stack([points.time, points.position]).tolist())
    return write_text(path, stream.getvalue())


# --------------------
# Digital twins in YAML: the parts by name or file, the gripper by its measures.


TWIN_KIND, DEFAULT_TWIN = "twins", "three_fingers"
CIRCLE = ("count", "radius", "height", "tilt")
"""Fields of fingers that stand on a circle."""


def load_twin(name: str | Path = DEFAULT_TWIN) -> Twin:
    """A shipped twin by name (``three_fingers``), or one from a YAML file.

    ``finger``, ``arm``, ``controller.map`` and ``flange.program`` are names of shipped ones or
    files beside it. ``units: {length: mm, angle: deg}`` is for the gripper, ``finger_radius`` and
    ``phis``; all else is in SI.

    Raises:
        DescriptionError: There is no such twin, or its file is wrong; names file, line and field.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        path = assets.find(TWIN_KIND, str(name))
    return YamlFile(path).read(lambda data: twin_from({"name": path.stem} | data, path.parent))


def twin_from(data: dict[str, Tree], directory: Path = Path()) -> Twin:
    """Make a twin of a YAML tree.

    Args:
        data: The tree.
        directory: Where the files lie that it names.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
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
    """Replace the name of a part by the part."""
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
    """A gripper: fingers on a circle, or each with a pose of its own."""
    if not isinstance(tree, dict):
        return tree
    location = ("gripper",)
    data: dict[str, Any] = dict(tree)
    if "mount" in data:
        data["mount"] = pose_tree(data["mount"], length, angle, (*location, "mount"), "gripper")
    fingers = data.get("fingers")
    if isinstance(fingers, list):
        poses = enumerate(fingers)
        data["fingers"] = [
            pose_tree(pose, length, angle, (*location, "fingers", index), "gripper")
            for index, pose in poses
        ]
    if not isinstance(fingers, dict):
        return data
    for key in fingers:
        if key not in CIRCLE:
            raise DescriptionError(
                f"no such field; {did_you_mean(key, CIRCLE)}",
                field=f"gripper.fingers.{key}",
                location=(*location, "fingers", key),
            )
    factors = {"radius": length, "height": length, "tilt": angle}
    circle = {key: scaled(value, factors.get(key, 1)) for key, value in fingers.items()}
    circle |= {key: data[key] for key in ("name", "mount") if key in data}
    if "mount" in circle:
        circle["mount"] = GripperMount(mount=circle["mount"], fingers=[{}]).mount
    return GripperMount.around_axis(**_numbers(circle))


def _numbers(circle: dict[str, Any]) -> dict[str, Any]:
    """The measures of a circle of fingers, checked before they are used.

    Raises:
        DescriptionError: One is missing or no number.
    """
    for key in ("count", "radius"):
        if key not in circle:
            raise DescriptionError(
                "expected a number, found nothing",
                field=f"gripper.fingers.{key}",
                location=("gripper", "fingers"),
            )
    for key in CIRCLE:
        value = circle.get(key, 0)
        kind = int if key == "count" else int | float
        if isinstance(value, bool) or not isinstance(value, kind) or not math.isfinite(value):
            raise DescriptionError(
                f"expected a number, found {value!r}",
                field=f"gripper.fingers.{key}",
                location=("gripper", "fingers", key),
            )
    return circle


# --------------------
# Fits of bending angles against pressure in YAML.


def load_pressure_fit(name: str | Path) -> PressureFit:
    """A shipped fit by name (``four_piece``), or one from a YAML file.

    Numbers are in SI, or in ``units: {length: mm, angle: deg, pressure: kPa}``.

    Raises:
        DescriptionError: There is no such fit, or its file is wrong; names file, line and field.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        path = assets.find("pressure_fits", str(name))
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


# --------------------
# Register maps of controllers in YAML: pressures in the unit that the file names.


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
        path = assets.find("register_maps", str(name))
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


# --------------------
# Programs of simulated robots in YAML: an arm, and the postures that it goes through.


KIND = "robot_programs"
DEFAULT_PROGRAM = "pick_and_place"


def load_robot_program(name: str | Path = DEFAULT_PROGRAM) -> RobotProgram:
    """A shipped program by name (``pick_and_place``), or one from a YAML file.

    Its ``arm`` is the name of a shipped arm, or a file beside it. ``units: {angle: deg}`` is for
    its postures.

    Raises:
        DescriptionError: There is no such program, or its file is wrong; names file, line, field.
    """
    path = Path(name)
    if path.suffix.lower() not in (".yaml", ".yml"):
        path = assets.find(KIND, str(name))
    return YamlFile(path).read(lambda data: robot_program_from(data, directory=path.parent))


def robot_program_from(data: dict[str, Tree], *, directory: Path | None = None) -> RobotProgram:
    """Make a program of a YAML tree.

    Args:
        data: The tree.
        directory: Where the file of its arm lies.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    rest, _, angle = take_units(data)
    if "arm" in rest:
        rest["arm"] = _arm(rest["arm"], directory or Path())
    if "postures" in rest:
        rest["postures"] = scaled(rest["postures"], angle)
    return RobotProgram(**rest)


def _arm(name: Tree, directory: Path) -> Tree:
    if not isinstance(name, str) or not name:
        raise DescriptionError(
            f"expected the name of an arm or its file, found {name!r}",
            field="arm",
            location=("arm",),
        )
    beside = directory / name
    try:
        return load_arm(beside if Path(name).suffix and beside.is_file() else name)
    except DescriptionError as error:
        if error.file is not None:
            raise
        raise DescriptionError(error.message, field="arm", location=("arm",)) from None
