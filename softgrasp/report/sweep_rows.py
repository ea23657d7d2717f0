"""Which grasps of a sweep tell most: the best, the worst, one of every end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.report.sweep_data import (
    Measure,
    is_numeric,
    last_name,
    lost,
    measures_of,
    numbers,
    short,
    varied,
)
from softgrasp.report.sweep_units import unit_of
from softgrasp.sweeps.storage import FAILED

if TYPE_CHECKING:
    import pandas as pd

    from softgrasp.description.sweep_plan import SweepPlan

EXTREMES = 5
"""Best and worst grasps that the page names."""
JUDGING = ("hold_drop_m", "displacement_m")
"""Measures by which grasps are best and worst: the first that there is."""


class ExampleRow(NamedTuple):
    """A row of the table with what is said about it."""

    position: int
    """In the table, from 0."""
    why: str


def judging(table: pd.DataFrame) -> Measure | None:
    """The measure that says most about success; None where there is none."""
    measures = measures_of(table)
    return next((m for name in JUDGING for m in measures if m.column == name), None)


def ordered(table: pd.DataFrame, measure: Measure) -> tuple[list[int], Array]:
    """Rows with a measure, the least first, and the measure of all rows."""
    values = numbers(table, measure)
    order = np.argsort(values, kind="stable")
    return order[np.isfinite(values[order])].tolist(), values


def example_rows(plan: SweepPlan, table: pd.DataFrame, max_rows: int) -> list[ExampleRow]:
    """At most so many rows: the best, one of every other end, the worst, then what is unlike those.

    In the order of the table.
    """
    good = np.flatnonzero((table["status"] != FAILED).to_numpy())
    reasons: dict[int, str] = {}
    measure = judging(table)
    order = [] if measure is None else ordered(table, measure)[0]
    held = [position for position in order if table["held"].fillna(value=True).iloc[position]]
    if measure is not None and held:
        reasons[held[0]] = f"least {measure.name}"
    for position in good.tolist():
        ends = {_end(table, other) for other in reasons}
        if len(reasons) < max_rows and (not reasons or _end(table, position) not in ends):
            reasons[position] = _end(table, position)
    if measure is not None and order and len(reasons) < max_rows:
        reasons.setdefault(order[-1], f"largest {measure.name}")
    marks = _marks(plan, table)
    while reasons and len(reasons) < min(max_rows, len(good)):
        # as far as can be from all that are shown: what is alike is not shown twice
        away = np.abs(marks[good][:, None] - marks[list(reasons)]).sum(axis=2).min(axis=1)
        away[np.isin(good, list(reasons))] = -1.0
        reasons[int(good[np.argmax(away)])] = "unlike those"
    return [ExampleRow(position, reasons[position]) for position in sorted(reasons)]


def _end(table: pd.DataFrame, position: int) -> str:
    """How a grasp ended, in a word or two."""
    status, held = str(table["status"].iloc[position]), table["held"]
    if not held.notna().iloc[position] or lost(table)[position]:
        return status
    return "held" if held.iloc[position] else f"{status}, not held"


def _marks(plan: SweepPlan, table: pd.DataFrame) -> Array:
    """Numeric axes and measures of all rows, each from 0 to 1, and −1 where there is none."""
    numeric = [axis.path for axis in varied(plan, table) if is_numeric(table, axis.path)]
    columns = [table[path].to_numpy(dtype=float) for path in numeric]
    columns += [numbers(table, measure) for measure in measures_of(table)]
    marks = np.full((len(table), max(len(columns), 1)), -1.0)
    for index, column in enumerate(columns):
        low, high = np.nanmin(column), np.nanmax(column)
        marks[:, index] = np.nan_to_num((column - low) / (high - low or 1.0), nan=-1.0)
    return marks


def values_of(plan: SweepPlan, table: pd.DataFrame, position: int) -> str:
    """What a row's axes stand at: ``density 700 kg/m³, friction 0.2``."""
    texts = []
    for axis in varied(plan, table):
        unit = unit_of(plan.scene, axis.path)
        text = f"{last_name(axis.path)} {short(table[axis.path].iloc[position])}"
        texts.append(f"{text} {unit}" if unit not in ("", "–") else text)
    return ", ".join(texts)


def extremes(plan: SweepPlan, table: pd.DataFrame) -> list[tuple[str, list[list[str]]]]:
    """Rows with the least and the largest of the measure that says most, and those without it."""
    measure, tables = judging(table), list[tuple[str, list[list[str]]]]()

    def rows(positions: Sequence[int], texts: Sequence[str]) -> list[list[str]]:
        return [
            [str(table["row"].iloc[position]), text]
            + [short(table[axis.path].iloc[position]) for axis in plan.axes]
            for position, text in zip(positions, texts, strict=True)
        ]

    if measure is not None:
        order, values = ordered(table, measure)
        count = min(EXTREMES, len(order) // 2 or 1)
        for word, positions in (("Least", order[:count]), ("Largest", order[::-1][:count])):
            texts = [f"{values[position]:.3g}" for position in positions]
            tables.append((f"{word} {measure.label}", rows(positions, texts)))
    gone = np.flatnonzero(lost(table)).tolist()[:EXTREMES]
    if gone:
        texts = [str(table["status"].iloc[position]) for position in gone]
        tables.append(("Not in the hand at the end", rows(gone, texts)))
    return tables
