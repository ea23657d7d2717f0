"""Sticks that were recorded: deflections from a CSV file or from any row of samples."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from softgrasp.errors import DescriptionError

Deflections = Mapping[str, tuple[float, float]]
"""(x, y) of the stick of each segment, each at most 1 long."""
ROUNDING = 1e-9
"""A sample counts from so much before its time on [s], for times that are sums of periods."""


class RecordedSticks:
    """Samples one after another, each held until the next one; the last one is held for good."""

    def __init__(self, samples: Iterable[tuple[float, Deflections]]) -> None:
        """Begin with sticks at rest.

        Args:
            samples: Times [s] that do not fall, and the deflections from then on; they are taken
                when their time has come, so they may be endless.
        """
        self._samples = iter(samples)
        self._next = next(self._samples, None)
        self._held: Deflections = {}

    def __call__(self, time: float) -> Deflections:
        """Deflections at a time [s], which must not fall from call to call.

        Raises:
            DescriptionError: The times of the samples fall.
        """
        while self._next is not None and self._next[0] <= time + ROUNDING:
            begun, self._held = self._next
            self._next = next(self._samples, None)
            if self._next is not None and self._next[0] < begun:
                raise DescriptionError(
                    f"expected samples in the order of time, found {self._next[0]:g} s after "
                    f"{begun:g} s",
                    field="samples",
                )
        return self._held


def read_sticks(path: str | Path) -> RecordedSticks:
    """Sticks from a CSV file with the columns ``time``, then ``NAME_x`` and ``NAME_y`` a segment.

    Raises:
        DescriptionError: There is no such file, or it is not of this form; names file and line.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DescriptionError(f"expected a CSV file, found {error}", file=path) from None
    if not rows:
        raise DescriptionError("expected a line of column names, found an empty file", file=path)
    names: list[str] = []
    samples: list[tuple[float, Deflections]] = []
    for line, row in rows:
        try:
            if names:
                samples.append(_sample(row, names, samples[-1][0] if samples else -math.inf))
            else:
                names = _segments(row)
        except DescriptionError as error:
            raise error.located(file=path, line=line) from None
    return RecordedSticks(samples)


def _segments(row: Sequence[str]) -> list[str]:
    columns = [column.strip() for column in row]
    names = [column.removesuffix("_x") for column in columns[1::2]]
    expected = ["time", *(f"{name}_{axis}" for name in names for axis in "xy")]
    if not names or columns != expected or len(set(names)) < len(names):
        raise DescriptionError(
            f"expected the columns time, NAME_x, NAME_y, … of different segments, found "
            f"{', '.join(columns)}"
        )
    return names


def _sample(row: Sequence[str], names: Sequence[str], after: float) -> tuple[float, Deflections]:
    if len(row) != 1 + 2 * len(names):
        raise DescriptionError(f"expected {1 + 2 * len(names)} numbers, found {len(row)}")
    try:
        time, *parts = (float(text) for text in row)
    except ValueError:
        raise DescriptionError(f"expected numbers, found {', '.join(row)}") from None
    if not all(map(math.isfinite, (time, *parts))):
        raise DescriptionError(f"expected finite numbers, found {', '.join(row)}")
    if time < after:
        raise DescriptionError(f"expected at least {after:g} s, the time before, found {time:g} s")
    return time, dict(zip(names, zip(parts[::2], parts[1::2], strict=True), strict=True))
