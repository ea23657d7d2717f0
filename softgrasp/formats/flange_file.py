"""Flange poses in CSV (``time_s,x_mm,y_mm,z_mm,qw,qx,qy,qz``) and as JSON objects.

A file of JSON lines has one object a line, with the same names as keys; a datagram has one object.
Numbers have all digits.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from softgrasp.description.flange import FlangeSample
from softgrasp.description.problems import short
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.formats.atomic import write_text
from softgrasp.units import LENGTH_UNITS

COLUMNS = ("time_s", "x_mm", "y_mm", "z_mm", "qw", "qx", "qy", "qz")
SUFFIXES = (".csv", ".jsonl")
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
    if suffix not in SUFFIXES:
        raise DescriptionError(
            f"expected a file of flange poses that ends in {' or '.join(SUFFIXES)}, "
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
