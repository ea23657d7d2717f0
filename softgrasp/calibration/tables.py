"""Measurements in CSV files; columns carry their units, such as ``mass_g`` or ``q1_deg``."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from softgrasp.description.calibration import FreeBend, HungAngles, Release, TipForce
from softgrasp.errors import DescriptionError, did_you_mean, reason

UNITS = {
    "mass": {"g": 1e-3, "kg": 1.0},
    "pressure": {"kPa": 1e3, "Pa": 1.0, "bar": 1e5},
    "force": {"N": 1.0, "mN": 1e-3},
    "settling": {"s": 1.0, "ms": 1e-3},
    "time": {"s": 1.0, "ms": 1e-3},
    "height": {"mm": 1e-3, "m": 1.0},
    "angle": {"deg": math.pi / 180.0, "rad": 1.0},
}
COORDINATE = re.compile(r"[xyz]\d*")
BEND = re.compile(r"[uv]\d+")
"""Columns of an arm: places of ends, and bends."""
Rows = list[dict[str, float]]
Measured = TypeVar("Measured", HungAngles, Release, TipForce, FreeBend)


def read_hung(path: Path) -> tuple[HungAngles, ...]:
    """Columns ``mass_g`` and ``q1_deg``, ``q2_deg``, ….

    Raises:
        DescriptionError: The file cannot be read, or a column or a number is wrong, as in all of
            these functions.
    """
    rows = _read(path, ("mass",), angles=True)
    return tuple(_made(path, HungAngles, mass=row["mass"], angles=_angles(row)) for row in rows)


def read_releases(path: Path) -> tuple[Release, ...]:
    """Columns ``mass_g``, ``overshoots`` and ``settling_s``."""
    releases = []
    for row in _read(path, ("mass", "overshoots", "settling")):
        if row["overshoots"] != int(row["overshoots"]):
            raise DescriptionError(
                f"expected whole overshoots, found {row['overshoots']:g}", file=path
            )
        releases.append(
            _made(
                path,
                Release,
                mass=row["mass"],
                overshoots=int(row["overshoots"]),
                settling_time=row["settling"],
            )
        )
    return tuple(releases)


def read_trace(path: Path) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Columns ``time_s`` and ``height_mm``: times [s] and heights [m]."""
    rows = _read(path, ("time", "height"))
    return tuple(row["time"] for row in rows), tuple(row["height"] for row in rows)


def read_forces(path: Path) -> tuple[TipForce, ...]:
    """Columns ``pressure_kPa`` and ``force_N``; repeats are rows of their own."""
    rows = _read(path, ("pressure", "force"))
    return tuple(
        _made(path, TipForce, pressure=row["pressure"], force=row["force"]) for row in rows
    )


def read_bends(path: Path) -> tuple[FreeBend, ...]:
    """Columns ``pressure_kPa`` and ``q1_deg``, ``q2_deg``, ….."""
    rows = _read(path, ("pressure",), angles=True)
    return tuple(
        _made(path, FreeBend, pressure=row["pressure"], angles=_angles(row)) for row in rows
    )


def read_columns(path: Path, names: Sequence[str]) -> Rows:
    """Rows of a table with these columns and no others, in SI, by names without units.

    Args:
        path: The table.
        names: Those of ``UNITS``; ``x1`` and the like are places, ``u1`` and the like angles.
    """
    return _read(path, names)


def as_tuples(tree: dict[str, Any]) -> dict[str, Any]:
    """Fields of a file as descriptions take them: lists within lists as tuples of tuples."""
    return {key: _as_tuple(value) for key, value in tree.items()}


def _as_tuple(value: Any) -> Any:
    return tuple(_as_tuple(part) for part in value) if isinstance(value, list) else value


def _made(path: Path, kind: type[Measured], **fields: Any) -> Measured:
    try:
        return kind(**fields)
    except DescriptionError as error:
        raise error.located(file=path) from None


def _angles(row: dict[str, float]) -> tuple[float, ...]:
    names = sorted((name for name in row if name.startswith("q")), key=lambda name: int(name[1:]))
    return tuple(row[name] for name in names)


def _read(path: Path, required: Sequence[str], *, angles: bool = False) -> Rows:
    """Rows in SI, by names without units."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, skipinitialspace=True)
            lines = [(reader.line_num, line) for line in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        message = f"expected a table in CSV, found: {reason(error)}"
        raise DescriptionError(message, file=path) from None
    lines = [(at, line) for at, line in lines if line and not line[0].lstrip().startswith("#")]
    if len(lines) < 2:
        raise DescriptionError(
            "expected a line of names and lines of numbers, found "
            + ("only names" if lines else "nothing"),
            file=path,
        )
    head = lines[0][1]
    columns = [_column(path, name.strip(), required, angles) for name in head]
    names = [name for name, _ in columns]
    missing = [name for name in required if name not in names]
    missing += ["q1"] if angles and "q1" not in names else []
    if missing:
        raise DescriptionError(
            f"expected a column {_spelled(missing[0])}, found {', '.join(head)}", file=path
        )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DescriptionError(
            f"expected every column once, found {twice[0]} {names.count(twice[0])} times", file=path
        )
    joints = [int(name[1:]) for name in names if name not in required]
    gap = next((i for i in range(1, max(joints, default=0)) if i not in joints), 0)
    if gap or 0 in joints:
        raise DescriptionError(
            f"expected columns q1, q2, … without a gap, found {', '.join(head)}", file=path
        )
    return [_numbers(path, at, line, columns) for at, line in lines[1:]]


def _column(path: Path, name: str, required: Sequence[str], angles: bool) -> tuple[str, float]:
    """Its name without the unit, and SI over that unit."""
    stem, _, unit = name.rpartition("_")
    if name in required and name not in UNITS:
        return name, 1.0
    is_angle = angles and stem[:1] == "q" and stem[1:].isdigit()
    units = UNITS["angle"] if is_angle else UNITS.get(_kind(stem), {}) if stem in required else {}
    if unit in units:
        return stem, units[unit]
    known = [_spelled(one) for one in required] + (["q1_deg"] if angles else [])
    raise DescriptionError(f"no column '{name}'; {did_you_mean(name, known)}", file=path)


def _kind(name: str) -> str:
    """What the units of a column are those of."""
    return "height" if COORDINATE.fullmatch(name) else "angle" if BEND.fullmatch(name) else name


def _spelled(name: str) -> str:
    kind = "angle" if name == "q1" else _kind(name)
    return f"{name}_{next(iter(UNITS[kind]))}" if kind in UNITS else name


def _numbers(
    path: Path, number: int, line: list[str], columns: list[tuple[str, float]]
) -> dict[str, float]:
    if len(line) != len(columns):
        raise DescriptionError(
            f"expected {len(columns)} numbers, found {len(line)}", file=path, line=number
        )
    row = {}
    for text, (name, unit) in zip(line, columns, strict=True):
        try:
            value = float(text) * unit
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise DescriptionError(
                f"expected a number for {name}, found '{text}'", file=path, line=number
            )
        row[name] = value
    return row
