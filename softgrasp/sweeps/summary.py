"""Summary of a sweep's table: outcomes of combinations, erratic outcomes, groups of warnings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from softgrasp.description.sweep import SAMPLING_METHODS
from softgrasp.evaluation.outcome import Outcome
from softgrasp.sweeps.table import FAILED, SEPARATOR

if TYPE_CHECKING:
    import pandas as pd

    from softgrasp.description.sweep import Axis, SweepPlan

MARGIN = "quality_friction_margin"
"""Column of the margin to slipping."""
SUCCESSES = tuple(outcome.name for outcome in Outcome if outcome.is_success)
"""Outcomes that count as held."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


class ErraticRow(NamedTuple):
    """A combination that is held where both neighbours along a field are not, or the reverse.

    Attributes:
        path: The field.
        rows: First rows of the neighbour before, of the combination, and of the neighbour after.
        outcomes: Their outcomes.
        margins: Their margins to slipping, NaN without contacts [–].
    """

    path: str
    rows: tuple[int, int, int]
    outcomes: tuple[str, str, str]
    margins: tuple[float, float, float]

    def __str__(self) -> str:
        """Sentence with the three rows."""
        before, middle, after = (
            f"{row} ({outcome}, {'no margin' if np.isnan(margin) else f'margin {margin:.2g}'})"
            for row, outcome, margin in zip(self.rows, self.outcomes, self.margins, strict=True)
        )
        return f"row {middle} is between rows {before} and {after} along {self.path}"


def vary(plan: SweepPlan, table: pd.DataFrame) -> list[Axis]:
    """Return the axes of a sweep with at least two values."""
    return [axis for axis in plan.axes if table[axis.path].nunique() > 1]


def is_numeric(table: pd.DataFrame, path: str) -> bool:
    """Return whether the values of an axis are numbers."""
    return bool(np.issubdtype(table[path].to_numpy().dtype, np.number))


def cells_of(table: pd.DataFrame, paths: Sequence[str]) -> pd.DataFrame:
    """Summarise the grasps of every combination of some axes.

    Args:
        table: Table of a sweep.
        paths: The axes; grasps are pooled over the others and over repeats.

    Returns:
        A row per combination: ``paths``; its first ``row``, number of ``grasps``, mean ``margin``
        [–], commonest ``outcome`` (of equal counts the first by name), and its ``count``.
    """
    keys = list(paths)
    counts = table.groupby([*keys, "outcome"], sort=False).size().rename("count").reset_index()
    counts = counts.sort_values(["count", "outcome"], ascending=[False, True])
    cells = table.groupby(keys, sort=False).agg(
        row=("row", "first"), grasps=("row", "size"), margin=(MARGIN, "mean")
    )
    return cells.reset_index().merge(counts.drop_duplicates(keys), on=keys)


def erratic_rows(plan: SweepPlan, table: pd.DataFrame) -> list[ErraticRow]:
    """Return the combinations that differ from both neighbours along a numeric field.

    Neighbours differ in one field only, so samples have none; where an outcome changes once along a
    field, no row differs from both.
    """
    paths = [axis.path for axis in vary(plan, table)]
    if not paths or plan.method in SAMPLING_METHODS:
        return []
    cells = cells_of(table[table["status"] != FAILED], paths)
    return [
        erratic
        for path in paths
        if is_numeric(table, path)
        for erratic in _erratic_along(path, cells, [item for item in paths if item != path])
    ]


def _erratic_along(path: str, cells: pd.DataFrame, others: list[str]) -> Iterator[ErraticRow]:
    lines = [line for _, line in cells.groupby(others, sort=False)] if others else [cells]
    for line in lines:
        line = line.sort_values(path)
        held = line["outcome"].isin(SUCCESSES).to_numpy(dtype=bool)
        margins = line["margin"].to_numpy(dtype=float, na_value=np.nan)
        flips = held[1:] != held[:-1]
        for start in np.flatnonzero(flips[1:] & flips[:-1]).tolist():
            three = slice(start, start + 3)
            rows, outcomes = line["row"].tolist()[three], line["outcome"].tolist()[three]
            yield ErraticRow(path, tuple(rows), tuple(outcomes), tuple(margins[three].tolist()))


def warning_groups(table: pd.DataFrame) -> list[tuple[str, int]]:
    """Group the warnings of all rows; sentences that differ in numbers only are one group.

    Returns:
        Sentence, with ranges of the numbers that differ, and number of rows; the commonest first.
    """
    groups: dict[str, list[tuple[int, str]]] = {}
    for row, texts in enumerate(table["warning_texts"].fillna("")):
        for text in filter(None, texts.split(SEPARATOR)):
            groups.setdefault(_NUMBER.sub("#", text), []).append((row, text))
    counted = [
        (_with_ranges([text for _, text in group]), len({row for row, _ in group}))
        for group in groups.values()
    ]
    return sorted(counted, key=lambda group: -group[1])


def _with_ranges(texts: Sequence[str]) -> str:
    """Return a sentence with the range of each number that differs between the texts."""
    ranges = []
    for numbers in zip(*(_NUMBER.findall(text) for text in texts), strict=True):
        low, high = min(numbers, key=float), max(numbers, key=float)
        ranges.append(low if float(low) == float(high) else f"{low}…{high}")
    words = zip_longest(_NUMBER.split(texts[0]), ranges, fillvalue="")
    return "".join(chain.from_iterable(words))
