"""Measured bending angles of a finger's pieces in CSV, one line a pressure.

Columns: ``pressure_kpa``, then ``angle_1_deg``, ``angle_2_deg``, … from the base outwards; each is
how far the piece's arc bends. Lines that begin with # are remarks.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softgrasp import library
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.formats.atomic import write_text
from softgrasp.formats.csv_table import read_table
from softgrasp.mechanics.transforms import Array
from softgrasp.units import PRESSURE_UNITS

PRESSURE, ANGLE, SUFFIX = "pressure_kpa", "angle_{}_deg", ".csv"
KPA = PRESSURE_UNITS["kPa"]


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
    columns_text = f"{PRESSURE}, {ANGLE.format(1)}, {ANGLE.format(2)}, …"
    values = read_table(path, _columns, columns_text).values
    return PieceAngles(KPA * values[:, 0], np.radians(values[:, 1:]))


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
    directory = library.directory("pressure_fits")
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
