"""HTML report of a parameter sweep: map of outcomes, measures over the axes, example grasps.

The figures depend on the plan: lines for grids, dots for sampled plans,
and success rates with Wilson intervals where rows are drawn at random. The most informative grasps
(best, worst, one per outcome) are simulated again for overlays and images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.evaluation.diagnostics import TOLERANCE
from softgrasp.io.files import write_text
from softgrasp.rendering.overlay import Image
from softgrasp.report.contact_figures import draw_final_images, final_images
from softgrasp.report.grasp_report import Figure, format_path, render_html
from softgrasp.report.grasp_text import out_of_hand
from softgrasp.report.sweep_figures import (
    DPI,
    draw_lines,
    draw_outcomes,
    draw_success,
)
from softgrasp.report.sweep_measures import (
    Measure,
    at_random,
    axis_label,
    constant_text,
    draw_measures,
    failures,
    last_name,
    lost,
    measures_of,
    numbers,
    short,
    unit_of,
    wilson,
)
from softgrasp.report.time_series import overlay_objects
from softgrasp.sweeps.executors import Submit, simulate_row
from softgrasp.sweeps.parameters import with_one_grasp
from softgrasp.sweeps.table import (
    COLUMNS,
    FAILED,
    MARGIN,
    SUCCESSES,
    erratic_rows,
    vary,
    warning_groups,
)

if TYPE_CHECKING:
    import pandas as pd

    from softgrasp.description.sweep import Axis, SweepPlan
    from softgrasp.evaluation.result import GraspResult

REPORT = "report.html"
MAX_POSES = 5
"""Maximum number of grasps that are simulated again for images."""
IMAGE_SIZE = (400, 411)
"""Width and height of such an image [px]: five fill a page at twice its resolution."""
MODULES = ("matplotlib.figure", "matplotlib.backends.backend_agg", "jinja2", "PIL.WebPImagePlugin")
"""Libraries of the report, for ``Finish``."""
EXTREMES = 5
"""Number of best and worst grasps in the table."""
RANKING_MEASURES = (MARGIN, "hold_drop_m", "displacement_m")
"""Measures that rank the grasps, in order of preference: a large margin, small motions."""


class ExampleRow(NamedTuple):
    """A grasp of the sweep that the report shows as an example."""

    position: int
    """Index in the table, from 0."""
    reason: str


def write_sweep_report(
    plan: SweepPlan, table: pd.DataFrame, directory: str | Path, *, submit: Submit = partial
) -> Path:
    """Draw the figures of a sweep and write ``report.html``.

    ``submit`` starts work on an idle worker of the sweep; by default this process does all.

    Raises:
        ResultError: The directory cannot be written.
    """
    directory = Path(directory)
    plan = with_one_grasp(plan)  # as the rows were simulated
    outcomes = table.loc[table["status"] != FAILED, "outcome"].astype(str).nunique()
    examples = example_rows(table, min(outcomes + 1, MAX_POSES))
    rows = [int(table["row"].iloc[example.position]) for example in examples]
    simulated = [submit(simulate_row, plan, row) for row in rows]
    results = [result() for result in simulated]
    # rendered by a worker while this process draws the figures
    images = submit(render_examples, [result for result in results if result is not None])
    figures = _draw_table(plan, table, directory)
    figures += _draw_examples(plan, table, examples, results, images, directory)
    html = render_html(
        "sweep.html.j2",
        figures=figures,
        title=f"{plan.scene.hand.name} grasps {plan.scene.object.name}, {len(table)} times",
        summary=_summary(plan, table),
        axes=[(axis_label(plan.scene, axis.path), _axis_text(axis, table)) for axis in plan.axes],
        statuses=list(table["outcome"].value_counts().items()),
        extremes=extremes(plan, table),
        ranking=ranking_text(table),
        erratic=erratic_rows(plan, table),
        warnings=warning_groups(table),
        failures=failures(table),
        columns=COLUMNS.items(),
        # as entered, so that the printed command works in the same working directory
        directory=format_path(directory),
        paths=[axis_label(plan.scene, axis.path) for axis in plan.axes],
    )  # fmt: skip
    return write_text(directory / REPORT, html)


def _draw_table(plan: SweepPlan, table: pd.DataFrame, directory: Path) -> list[Figure]:
    """Draw the figures of a sweep's table; return them with captions."""
    axes, shown_figures = vary(plan, table), list[Figure]()
    if axes:
        path = draw_outcomes(plan, table, directory / "outcomes.png")
        text = "Red: not held. Colour: friction margin of the contact at the end that is nearest "
        text += "to slipping, 1 − friction over its limit; grey or empty: no contact."
        shown_figures.append(Figure("Outcomes", path, text))
    if axes and draw_measures(table):
        path = draw_lines(plan, table, directory / "lines.png")
        caption = "Points: means or single grasps, as stated below the panels."
        texts = [caption, _excluded_text(table), constant_text(table)]
        shown_figures.append(Figure("Measures", path, " ".join(filter(None, texts))))
    if axes and at_random(plan) and table["held"].nunique() > 1:
        path = draw_success(plan, table, directory / "success.png")
        text = "Fraction of held grasps; lines are 95 % intervals."
        shown_figures.append(Figure("Success", path, text))
    return shown_figures


def _excluded_text(table: pd.DataFrame) -> str:
    gone = int(lost(table).sum())
    if gone == 0:
        return ""
    text = f"{gone} of {len(table)} grasps ended without the object in the hand"
    if not any(measure.of_motion for measure in measures_of(table)):
        return f"{text}."
    return (
        f"{text}: crosses. They are excluded from displacement, rotation and drift, which would "
        "only measure the fall."
    )


def render_examples(results: Sequence[GraspResult]) -> list[Image]:
    """Render the final states of grasps, small and without OpenGL.

    The ray caster needs a third of the time that OpenGL without a graphics card takes to open.
    """
    return final_images(results, renderer="raycast", size=IMAGE_SIZE) if results else []


def _draw_examples(
    plan: SweepPlan,
    table: pd.DataFrame,
    examples: Sequence[ExampleRow],
    simulated: Sequence[GraspResult | None],
    images: Callable[[], list[Image]],
    directory: Path,
) -> list[Figure]:
    """Draw the trajectories of the example grasps, then wait for the images of their ends."""
    pairs = zip(examples, simulated, strict=True)
    shown = [(item, result) for item, result in pairs if result is not None]
    if not shown:
        return []
    results = [result for _, result in shown]
    numbers = [f"row {table['row'].iloc[item.position]}" for item, _ in shown]
    values = [values_of(plan, table, item.position) for item, _ in shown]
    named = zip(numbers, values, strict=True)
    labels = [f"{number}: {value}" if value else number for number, value in named]
    text = [f"{number} ({item.reason})" for number, (item, _) in zip(numbers, shown, strict=True)]
    caption = f"Simulated again for this report: {', '.join(text)}."
    path = overlay_objects(results, labels, directory / "objects.png", dpi=DPI)
    some_gone = len({out_of_hand(result) for result in results}) > 1
    suffix = " Curves of a lost object are clipped." if some_gone else ""
    shown_figures = [Figure("Motion of the object", path, f"{caption}{suffix}")]
    path = draw_final_images(results, images(), numbers, directory / "poses.png", values)
    shown_figures.append(Figure("Final states", path, f"{caption} All with one camera."))
    return shown_figures


def _summary(plan: SweepPlan, table: pd.DataFrame) -> str:
    held = table["held"].dropna()
    axes = "1 axis" if len(plan.axes) == 1 else f"{len(plan.axes)} axes"
    text = f"{len(table)} grasps over {axes} ({plan.method})"
    if len(held):
        text += f"; {int(held.sum())} of {len(held)} held"
        if at_random(plan):  # a grid is reproducible and has no interval
            low, high = wilson(int(held.sum()), len(held))
            interval = f"95 % interval {100 * low:.1f} … {100 * high:.1f} %"
            text += f" ({held.mean():.1%}, {interval})"
    failed = int((table["status"] == FAILED).sum())
    text += f"; {failed} could not be simulated" if failed else ""
    wall = float(table["wall_time_s"].sum())
    models = float(table["wall_build_s"].sum())
    if wall > 0.0:
        text += f". {wall:.1f} s of computation, {models / wall:.0%} for models"
    return text + "."


def _axis_text(axis: Axis, table: pd.DataFrame) -> str:
    values = table[axis.path]
    if axis.values is None:
        return f"{short(values.min())} … {short(values.max())}, {values.nunique()} values"
    names = [short(value) for value in dict.fromkeys(values)]
    return ", ".join(names[:12]) + (f", … ({len(names)})" if len(names) > 12 else "")


def example_rows(table: pd.DataFrame, max_rows: int) -> list[ExampleRow]:
    """Select example rows: the best, one per other outcome, the worst, then the first ones.

    They are returned in the order of the table.
    """
    good = np.flatnonzero((table["status"] != FAILED).to_numpy())
    reasons: dict[int, str] = {}
    measure, order = rank(table)
    first, last = _ends(measure)
    if measure is not None and order:
        reasons[order[0]] = f"{first} {measure.name}"
    for position in good.tolist():
        ends = {_outcome(table, other) for other in reasons}
        if len(reasons) < max_rows and (not reasons or _outcome(table, position) not in ends):
            reasons[position] = _outcome(table, position)
    if measure is not None and order and len(reasons) < max_rows:
        reasons.setdefault(order[-1], f"{last} {measure.name}")
    for position in good.tolist():
        if reasons and len(reasons) < max_rows:
            reasons.setdefault(position, "next row")
    return [ExampleRow(position, reasons[position]) for position in sorted(reasons)]


def _outcome(table: pd.DataFrame, position: int) -> str:
    return str(table["outcome"].iloc[position])


def values_of(plan: SweepPlan, table: pd.DataFrame, position: int) -> str:
    """Axis values of a row: ``density 700 kg/m³, friction 0.2``."""
    texts = []
    for axis in vary(plan, table):
        unit = unit_of(plan.scene, axis.path)
        text = f"{last_name(axis.path)} {short(table[axis.path].iloc[position])}"
        texts.append(f"{text} {unit}" if unit not in ("", "–") else text)
    return ", ".join(texts)


def extremes(plan: SweepPlan, table: pd.DataFrame) -> list[tuple[str, list[list[str]]]]:
    """Make tables of the best and worst held grasps, of excessive forces and of lost objects."""
    (measure, order), tables = rank(table), list[tuple[str, list[list[str]]]]()

    def rows(positions: Sequence[int], texts: Sequence[str]) -> list[list[str]]:
        return [
            [str(table["row"].iloc[position]), text]
            + [short(table[axis.path].iloc[position]) for axis in plan.axes]
            for position, text in zip(positions, texts, strict=True)
        ]

    if measure is not None:
        values, count = numbers(table, measure), min(EXTREMES, len(order) // 2 or 1)
        for word, positions in zip(_ends(measure), (order, order[::-1]), strict=True):
            texts = [f"{values[position]:.3g}" for position in positions[:count]]
            heading = f"{word.capitalize()} {measure.label}"
            tables.append((heading, rows(positions[:count], texts)))
    ratios = table["force_over_limit"].to_numpy(dtype=float, na_value=np.nan)
    above = np.flatnonzero(_exceeds_limit(table) & table["outcome"].isin(SUCCESSES))
    if above.size:
        positions = above[np.argsort(-ratios[above], kind="stable")].tolist()[:EXTREMES]
        texts = [f"{ratios[position]:.3g}" for position in positions]
        tables.append(("Held, but force over its limit [–]", rows(positions, texts)))
    gone = np.flatnonzero(lost(table)).tolist()[:EXTREMES]
    if gone:
        texts = [_outcome(table, position) for position in gone]
        tables.append(("Not in the hand at the end", rows(gone, texts)))
    return tables


def rank(table: pd.DataFrame) -> tuple[Measure | None, list[int]]:
    """Rank the held grasps whose forces are within their limits.

    Returns:
        The measure that ranks them, None without one, and positions in the table, the best first;
        grasps with equal values are ordered by the next measures.
    """
    known = {measure.column: measure for measure in measures_of(table)}
    measures = [known[name] for name in RANKING_MEASURES if name in known]
    keys = [numbers(table, item) * (-1.0 if item.column == MARGIN else 1.0) for item in measures]
    if not measures:
        return None, []
    good = table["outcome"].isin(SUCCESSES) & ~_exceeds_limit(table) & np.isfinite(keys[0])
    order = [position for position in np.lexsort(keys[::-1]).tolist() if good.iloc[position]]
    return (measures[0] if order else None), order


def ranking_text(table: pd.DataFrame) -> str:
    """Describe by what the best grasp was chosen; empty where none was."""
    measure, _ = rank(table)
    if measure is None:
        return ""
    return (
        "Ranked: held grasps in which no finger presses with more than its limit, by "
        f"{measure.name}, {_ends(measure)[0]} first."
    )


def _ends(measure: Measure | None) -> tuple[str, str]:
    """Return which values of a measure are best and worst."""
    if measure is not None and measure.column == MARGIN:
        return "largest", "smallest"
    return "smallest", "largest"


def _exceeds_limit(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Return whether a finger presses with more than the limit of the closure, per row."""
    return (table["force_over_limit"] > 1.0 + TOLERANCE).to_numpy(dtype=bool, na_value=False)
