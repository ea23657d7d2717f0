"""What the figures of a sweep show: measures, the values of axes, and rates with their bounds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.sweep_plan import DRAWN
from softgrasp.formats.mesh_files import MESH_SUFFIXES
from softgrasp.mechanics.transforms import Array
from softgrasp.report.letting_go import GONE

if TYPE_CHECKING:
    import pandas as pd

    from softgrasp.description.sweep_plan import Axis, SweepPlan

NORMAL_95 = 1.959963984540054
"""Half width of the interval that holds 95 % of a normal distribution, over its deviation."""
MAX_LEVELS = 12
"""An axis of more values is drawn in groups."""


class Measure(NamedTuple):
    """A column with what a figure calls it."""

    column: str
    name: str
    unit: str
    scale: float
    """From the column's unit to that of the figure."""
    of_motion: bool = False
    """Whether it says how the object moved: without meaning where it is in the hand no longer."""

    @property
    def label(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.unit}]"


MEASURES = (
    Measure("displacement_m", "displacement", "mm", 1e3, of_motion=True),
    Measure("rotation_rad", "rotation", "°", math.degrees(1.0), of_motion=True),
    Measure("final_force_N", "sum of normal forces", "N", 1.0),
    Measure("largest_force_N", "largest force", "N", 1.0),
    Measure("all_established_s", "last contact established", "s", 1.0),
    Measure("hold_drop_m", "drift in the hand", "mm", 1e3, of_motion=True),
    Measure("quality_friction_margin", "friction margin", "–", 1.0),
    Measure("quality_min_singular", "least singular value of G", "–", 1.0),
    Measure("quality_epsilon", "ε", "–", 1.0),
)


def measures_of(table: pd.DataFrame) -> list[Measure]:
    """The measures that at least two grasps have."""
    return [m for m in MEASURES if np.isfinite(numbers(table, m)).sum() > 1]


def numbers(table: pd.DataFrame, measure: Measure) -> Array:
    """A measure of every row in the figure's unit, NaN where there is none.

    Nor is there one of motion where the object is not in the hand at the end: how far it fell until
    the run ended says nothing, and would set the scale of all others.
    """
    values = table[measure.column].to_numpy(dtype=float, na_value=np.nan) * measure.scale
    return np.where(lost(table), np.nan, values) if measure.of_motion else values


def lost(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether the object of each row is not in the hand at the end, as ``out_of_hand`` of a run."""
    dropped = (table["held"] == False) & (table["contacts"] == 0)  # noqa: E712 - of a column
    gone = table["status"].isin([status.name for status in GONE]) | dropped
    return gone.to_numpy(dtype=bool, na_value=False)


def at_random(plan: SweepPlan) -> bool:
    """Whether rows are drawn at random, so that a rate has an interval of confidence."""
    return plan.method in DRAWN or plan.noise.position > 0.0 or plan.noise.rotation > 0.0


def is_numeric(table: pd.DataFrame, path: str) -> bool:
    """Whether the values of an axis are numbers."""
    return bool(np.issubdtype(table[path].to_numpy().dtype, np.number))


def varied(plan: SweepPlan, table: pd.DataFrame) -> list[Axis]:
    """The axes that have at least two values."""
    return [axis for axis in plan.axes if table[axis.path].nunique() > 1]


class Level(NamedTuple):
    """Rows of one value of an axis, or of a range of its values."""

    label: str
    rows: NDArray[np.bool_]
    """Whether each row belongs to it."""


def levels(table: pd.DataFrame, path: str) -> list[Level]:
    """The values of an axis, or six ranges of equal size where it has many."""
    column = table[path]
    values = sorted(column.unique()) if is_numeric(table, path) else list(dict.fromkeys(column))
    if len(values) <= MAX_LEVELS or not is_numeric(table, path):
        return [Level(short(value), (column == value).to_numpy()) for value in values]
    column_values = column.to_numpy(dtype=float)
    edges = np.quantile(column_values, np.linspace(0.0, 1.0, 7))
    bins = np.clip(np.searchsorted(edges, column_values, side="right") - 1, 0, 5)
    ends = [compact(float(f"{edge:.3g}")) for edge in edges]
    return [Level(f"{ends[k]}…{ends[k + 1]}", np.asarray(bins == k)) for k in range(6)]


def short(value: object) -> str:
    """A value of an axis in a few letters."""
    if isinstance(value, int | float | np.number):
        return compact(float(value))
    text = str(value)
    if Path(text).suffix.lower() in MESH_SUFFIXES:
        text = Path(text).stem
    return text if len(text) <= 18 else f"{text[:17]}…"


def compact(value: float, _position: object = None) -> str:
    """Four digits, thousands and millions by letters; also a tick's text for matplotlib."""
    for letter, size in (("M", 1e6), ("k", 1e4)):
        if abs(value) >= size:
            return f"{value / (1e6 if letter == 'M' else 1e3):.4g}{letter}"
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")


def last_name(path: str) -> str:
    """The last part of a path: what a key has room for."""
    return path.rsplit(".", 1)[-1]


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % confidence interval of a rate (Wilson 1927, J. Am. Stat. Assoc. 22, 209)."""
    if trials == 0:
        return 0.0, 1.0
    z, rate = NORMAL_95, successes / trials
    middle = (rate + z * z / (2 * trials)) / (1 + z * z / trials)
    spread = math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    half = z * spread / (1 + z * z / trials)
    low = 0.0 if successes == 0 else max(middle - half, 0.0)
    return low, 1.0 if successes == trials else min(middle + half, 1.0)
