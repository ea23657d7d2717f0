"""Measures and axes of a parameter sweep: values, levels, rates, labels and units."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.assets import MESH_SUFFIXES
from softgrasp.description.base import Description, field_docs
from softgrasp.description.object import GraspObject
from softgrasp.description.sweep import SAMPLING_METHODS
from softgrasp.description.task import SuccessCriterion
from softgrasp.evaluation.outcome import Outcome
from softgrasp.mechanics.transforms import Array
from softgrasp.sweeps.parameters import SHORT
from softgrasp.sweeps.table import FAILED, MARGIN, is_numeric, vary

if TYPE_CHECKING:
    import pandas as pd

    from softgrasp.description.scene import GraspScene
    from softgrasp.description.sweep import Axis, SweepPlan


MAX_LEVELS = 12
"""Axes with more values are grouped into ranges."""
MAX_SPREAD = 3.0
"""Ratio of the largest to the smallest step up to which steps are nearly equal."""
EQUAL = 1e-6
"""Measures that differ by less, relative or in their displayed unit, are equal: a nanometre."""
_UNIT = re.compile(r"\[([^\[\]]+)\]")
LOST = (
    Outcome.DROPPED, Outcome.EJECTED, Outcome.MISSED, Outcome.NOT_CLOSED, Outcome.UNSTABLE,
    Outcome.MISPLACED,
)  # fmt: skip
"""Outcomes of grasps without the object in the hand."""


class Measure(NamedTuple):
    """A column of a sweep's table with its display name and unit."""

    column: str
    name: str
    unit: str
    scale: float
    """Factor from the unit of the column to the displayed unit."""
    of_motion: bool = False
    """Whether it measures object motion, which is meaningless for a lost object."""

    @property
    def label(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.unit}]"


class Level(NamedTuple):
    """Rows of a sweep's table with one value, or one range of values, of an axis."""

    label: str
    rows: NDArray[np.bool_]
    """Mask of the rows."""


MEASURES = (
    Measure("displacement_m", "displacement", "mm", 1e3, of_motion=True),
    Measure("rotation_rad", "rotation", "°", math.degrees(1.0), of_motion=True),
    Measure("final_force_N", "sum of normal forces", "N", 1.0),
    Measure("largest_force_N", "largest force", "N", 1.0),
    Measure("all_established_s", "last contact established", "s", 1.0),
    Measure("hold_drop_m", "drift in the hand", "mm", 1e3, of_motion=True),
    Measure(MARGIN, "friction margin", "–", 1.0),
    Measure("quality_min_singular", "smallest singular value of G", "–", 1.0),
    Measure("quality_epsilon", "ε", "–", 1.0),
)


def measures_of(table: pd.DataFrame) -> list[Measure]:
    """Measures with values of at least two grasps."""
    return [m for m in MEASURES if np.isfinite(numbers(table, m)).sum() > 1]


def draw_measures(table: pd.DataFrame) -> list[Measure]:
    """Return measures that differ between grasps; ``constant_text`` describes the others."""
    return [measure for measure in measures_of(table) if not _is_constant(table, measure)]


def constant_text(table: pd.DataFrame) -> str:
    """Describe the measures that are equal in all grasps; empty where there is none."""
    equal = [measure for measure in measures_of(table) if _is_constant(table, measure)]
    parts = [f"{m.name} {compact(float(np.nanmean(numbers(table, m))))} {m.unit}" for m in equal]
    return f"Equal in all grasps: {', '.join(parts).replace(' –', '')}." if parts else ""


def _is_constant(table: pd.DataFrame, measure: Measure) -> bool:
    values = numbers(table, measure)
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return high - low <= EQUAL * max(abs(low), abs(high), 1.0)


def pooled_over(plan: SweepPlan, table: pd.DataFrame) -> list[str]:
    """Describe axes besides the first two, and repeats, over which figures pool."""
    axes = vary(plan, table)[2:]
    over = [f"{axis.path} ({table[axis.path].nunique()} values)" for axis in axes]
    return [*over, *([f"{plan.repeats} repeats"] if plan.repeats > 1 else [])]


def averaging(plan: SweepPlan, table: pd.DataFrame, drawn: int) -> str:
    """Describe over which further axes and repeats the figures average, and how many are drawn."""
    axes, over = vary(plan, table), pooled_over(plan, table)
    text = "One grasp per combination."
    if len(table.drop_duplicates([axis.path for axis in axes[:2]])) < len(table):
        over_text = f" over {', '.join(over)}" if over else ""
        text = f"Means{over_text}; bars from minimum to maximum."
    count = len(levels(table, axes[1].path)) if len(axes) > 1 else 1
    if count > drawn:
        text += f" The first {drawn} of {count} values of {axes[1].path}; sweep.csv has all."
    return text


def numbers(table: pd.DataFrame, measure: Measure) -> Array:
    """Values of a measure in the displayed unit, NaN where missing.

    Measures of motion are NaN for lost objects: the distance of the fall is not a property of the
    grasp and would dominate the scale.
    """
    values = table[measure.column].to_numpy(dtype=float, na_value=np.nan) * measure.scale
    return np.where(lost(table), np.nan, values) if measure.of_motion else values


def lost(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Return whether the object is not in the hand at the end, per row; by its outcome."""
    gone = table["outcome"].isin([outcome.name for outcome in LOST])
    return gone.to_numpy(dtype=bool, na_value=False)


def failures(table: pd.DataFrame) -> list[tuple[str, int]]:
    """Return the most frequent errors of rows without a result, with their counts."""
    counts = table.loc[table["status"] == FAILED, "error"].value_counts()
    return [(str(error), int(count)) for error, count in counts.head(10).items()]


def levels(table: pd.DataFrame, path: str) -> list[Level]:
    """Divide an axis of a sweep into levels: its values, or six quantile ranges if it has many."""
    column = table[path]
    values = sorted(column.unique()) if is_numeric(table, path) else list(dict.fromkeys(column))
    if len(values) <= MAX_LEVELS or not is_numeric(table, path):
        return [Level(short(value), (column == value).to_numpy()) for value in values]
    column_values = column.to_numpy(dtype=float)
    edges = np.quantile(column_values, np.linspace(0.0, 1.0, 7))
    bins = np.clip(np.searchsorted(edges, column_values, side="right") - 1, 0, 5)
    ends = [compact(float(f"{edge:.3g}")) for edge in edges]
    return [Level(f"{ends[k]}…{ends[k + 1]}", np.asarray(bins == k)) for k in range(6)]


def at_random(plan: SweepPlan) -> bool:
    """Return whether rows are drawn at random, so that rates have confidence intervals."""
    return plan.method in SAMPLING_METHODS or plan.noise.position > 0.0 or plan.noise.rotation > 0.0


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Wilson score interval (95 %) of a rate (Wilson 1927, J. Am. Stat. Assoc. 22, 209)."""
    from scipy.stats import binomtest

    if trials == 0:
        return 0.0, 1.0
    ends = binomtest(successes, trials).proportion_ci(0.95, "wilson")
    return float(ends.low), float(ends.high)


def axis_label(scene: GraspScene, path: str) -> str:
    """Return the label of a sweep's axis with its unit: ``object.density [kg/m³]``."""
    unit = unit_of(scene, path)
    return f"{path} [{unit}]" if unit else path


def is_log(axis: Axis, values: Sequence[Any]) -> bool:
    """Return whether an axis is drawn to a logarithmic scale.

    It is where it is sampled so, and where its values span a decade or more and their steps are
    nearly equal factors, more equal than their differences are.
    """
    shown = np.unique(np.asarray(values))
    if not np.issubdtype(shown.dtype, np.number) or shown[0] <= 0 or shown.size < 2:
        return False
    factors, differences = np.diff(np.log(shown)), np.diff(shown)
    spread = float(factors.max() / factors.min())
    even = spread <= MAX_SPREAD and spread < float(differences.max() / differences.min())
    return axis.log or (shown[-1] >= 10.0 * shown[0] and even)


def unit_of(scene: GraspScene, path: str) -> str:
    """Unit of a scene field, read from its docstring; empty without a unique unit."""
    owner, field, node = None, "", scene
    for part in re.findall(r"\w+", SHORT.get(path, path).replace("[*]", "[0]")):
        owner, field, node = _step(owner, field, node, part)
    doc = field_docs(type(owner)).get(field, "") if isinstance(owner, Description) else ""
    match = _UNIT.search(doc)
    return "" if match is None or " or " in match[1] else match[1]


def _step(owner: Any, field: str, node: Any, part: str) -> tuple[Any, str, Any]:
    """Follow one component of a field path; return the owner, the field name and its value."""
    if part.isdigit():
        inside = isinstance(node, tuple | list) and int(part) < len(node)
        return owner, field, node[int(part)] if inside else None
    if isinstance(node, GraspObject) and part not in GraspObject.model_fields:
        node = node.shape  # shape fields may be addressed through the object
    defaults = {"contact": getattr(node, "requested_contact", None), "success": SuccessCriterion()}
    held = getattr(node, part, None)
    return node, part, defaults.get(part) if held is None else held


def short(value: object) -> str:
    """Format an axis value briefly."""
    if isinstance(value, int | float | np.number):
        return compact(float(value))
    text = str(value)
    if Path(text).suffix.lower() in MESH_SUFFIXES:
        text = Path(text).stem
    return text if len(text) <= 18 else f"{text[:17]}…"


def compact(value: float, _position: object = None) -> str:
    """Format with four digits and the suffixes k and M; also a matplotlib tick formatter."""
    for letter, size in (("M", 1e6), ("k", 1e4)):
        if abs(value) >= size:
            return f"{value / (1e6 if letter == 'M' else 1e3):.4g}{letter}"
    return f"{value:.4g}".replace("-", "\N{MINUS SIGN}")


def last_name(path: str) -> str:
    """Last component of a field path."""
    return path.rsplit(".", 1)[-1]
