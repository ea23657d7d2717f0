"""HTML report of a cross-engine validation: findings, figures and engine settings.

Two experiments are compared: releases of a soft finger (tip motion, first mode, convergence with
the time step) and grasps (normal forces, held loads, forces over the time step). In all figures
the first engine is the reference; bands show the tolerance around it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softgrasp.comparison.checks import load_scale
from softgrasp.comparison.compare import CrosscheckResult
from softgrasp.comparison.criteria import Finding, Tolerances, measure
from softgrasp.comparison.runs import (
    EMULATES,
    GraspRuns,
    ReleaseRuns,
    bodies_in_contact,
    comparable,
    force_at,
    force_name,
)
from softgrasp.io.files import write_text
from softgrasp.io.tables import with_numbers
from softgrasp.report import style
from softgrasp.report.grasp_report import embed_image, render_html
from softgrasp.report.style import capitalize

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


Drawn = tuple[str, Path | None, str, tuple[str, ...]]
"""Heading, file, caption, and names of the findings that are listed beside a figure."""
MIN_DIFFERENCE = 1e-12
"""Zero differences are drawn here on a logarithmic axis [deg]."""

REPORT = "report.html"

HELD, DROPPED = "#9fd2cf", "#f0c4bb"

MM = 1e3

BAND = "#f3dfa8"
"""Colour of the tolerance band."""


def write_crosscheck_report(result: CrosscheckResult, directory: str | Path) -> list[Path]:
    """Draw the figures of a cross-engine validation, write ``report.html`` and return all paths.

    Raises:
        ResultError: The directory cannot be written.
    """
    directory = Path(directory)
    shown = [(title, path, text, names) for title, path, text, names in _draw(result, directory)
             if path is not None]  # fmt: skip
    columns, rows = finding_table(result)
    badge = "all within tolerance" if result.passed else "beyond tolerance"
    html = render_html(
        "crosscheck.html.j2",
        title=f"{result.title} in {' and '.join(result.backends)}",
        good=result.passed,
        badge="diverged" if result.diverged else badge,
        summary=_summary(result),
        failed=[finding.sentence for finding in result.failed],
        warnings=result.warnings,
        columns=columns,
        rows=[(cells, _verdict(finding)[1], finding.note)
              for cells, finding in zip(rows, result.findings, strict=True)],
        shown=[
            {"title": title, "source": embed_image(path), "caption": text,
             # without notes, which the table shows
             "verdicts": [(_verdict(finding)[1], replace(finding, note="").sentence)
                          for finding in result.findings if finding.name in names]}
            for title, path, text, names in shown
        ],
        engines=_engines(result),
        command=result.command,
    )  # fmt: skip
    return [*with_numbers(path for _, path, *_ in shown), write_text(directory / REPORT, html)]


def _draw(result: CrosscheckResult, directory: Path) -> list[Drawn]:
    """Draw the figures of releases, or of grasps that did not diverge."""
    runs, limits = result.runs, result.tolerances
    if isinstance(runs, ReleaseRuns):
        return [
            ("Release", draw_release(runs, limits, directory / "crosscheck_release.png"),
             "Tip height per engine, and the differences between engines below.",
             ("trajectory", "settling_time", "without_hk")),
        ]  # fmt: skip
    if runs.diverged:
        return []
    runs, force = comparable(runs), force_name(runs.closing)
    return [
        (f"{force}s", draw_forces(runs, directory / "crosscheck_forces.png"),
         "Left: all bodies at rest; right: the body with the largest difference.",
         ("normal_force", "stop")),
        ("Held or dropped", draw_loads(runs, limits, directory / "crosscheck_loads.png"),
         "Hold tests with lighter and heavier objects; lines: critical load of each engine.",
         ("agreement", "critical_load")),
    ]  # fmt: skip


def finding_table(result: CrosscheckResult) -> tuple[list[str], list[list[str]]]:
    """Return the columns of values and the rows: quantity, values, difference, limit, verdict."""
    named = (name for finding in result.findings for name in finding.values)
    columns = list(dict.fromkeys([*result.backends, *named]))
    rows = []
    for finding in result.findings:
        quantity = finding.quantity + (f" [{finding.unit}]" if finding.unit else "")
        values = [_number(finding.values.get(name, "")) for name in columns]
        limits = [with_unit(value, finding) for value in (finding.difference, finding.tolerance)]
        rows.append([quantity, *values, *limits, _verdict(finding)[0]])
    return columns, rows


def _number(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return "–" if math.isnan(value) else f"{value:.5g}"


def _verdict(finding: Finding) -> tuple[str, str]:
    """Return the verdict of a finding, and its CSS class."""
    if finding.tolerance is None:
        return "reported", "neutral"
    return ("within", "good") if finding.passed else ("BEYOND", "bad")


def _summary(result: CrosscheckResult) -> str:
    text = result.summary.split(": ", 1)[1]
    text = f"{capitalize(text)}. Reference: {result.backends[0]}; "
    text += f"{result.wall_time:.0f} s of computation"
    emulated = [f"; {name} runs {EMULATES[name]}" for name in result.backends if name in EMULATES]
    return text + "".join(emulated) + "."


def _engines(result: CrosscheckResult) -> dict[str, Any]:
    """Table of engine parameters: one row per parameter, one column per engine."""
    engines = result.engines.values()
    keys = dict.fromkeys(key for engine in engines for key in engine.parameters)
    return {
        "names": [f"{name} {engine.version}" for name, engine in result.engines.items()],
        "rows": [(key, [item.parameters.get(key, "–") for item in engines]) for key in keys],
    }


def with_unit(value: float | None, finding: Finding) -> str:
    """Format a difference or tolerance of a finding with its unit."""
    if value is None or math.isnan(value):
        return "–"
    return measure(value, finding.difference_unit) if value else "0"


def draw_release(runs: ReleaseRuns, tolerances: Tolerances, path: str | Path) -> Path:
    """Draw the tip height after the release, and the joint-angle differences below it."""
    with style.figure(path, 4.6) as (figure, table):
        margins = (0.75, 0.15, 0.5, 0.5)
        upper, lower = style.subplots(figure, 2, 1, margins=margins, gaps=(0.3, 0.45))
        if runs.without_hk is not None:
            time, tip = runs.without_hk.time, runs.without_hk.tip
            name = "MuJoCo without h·k height [mm]"
            table.plot(upper, time, MM * tip[:, 1], name, color=style.MUTED, lw=0.8)
        for index, name in enumerate(runs.moving):
            motion = runs.motion(name)
            table.plot(
                upper, motion.time, MM * motion.tip[:, 1], f"{name} height [mm]",
                color=style.SERIES[index], ls=style.DASHES[index % 4],
                lw=1.6 if index == 0 else 1.3,
            )  # fmt: skip
            style.time_limits(upper, motion.time)
        upper.set_title(f"height of the tip after {MM * runs.release.tip_mass:g} g were released")
        upper.set_ylabel("height [mm]")
        _draw_residual(lower, table, runs, tolerances.trajectory_deg)
        keys = engine_keys(runs.moving)
        if runs.without_hk is not None:
            keys.append(line_key(style.MUTED, "MuJoCo with damping c only, without h·k", "-", 0.8))
        keys.append(line_key(style.LOST, "tolerance", "--", 0.9))
        style.legend(figure, keys)
    return Path(path)


def _draw_residual(axes: Axes, table: style.Table, runs: ReleaseRuns, tolerance: float) -> None:
    first, *others = runs.moving
    reference = runs.motion(first)
    differences = [
        np.degrees(np.abs(runs.motion(name).angles - reference.angles)).max(axis=1)
        .clip(MIN_DIFFERENCE) for name in others
    ]  # fmt: skip
    for index, (name, difference) in enumerate(zip(others, differences, strict=True), start=1):
        table.plot(
            axes, reference.time, difference, f"{name} difference from {first} [deg]",
            color=style.SERIES[index], lw=1.0,
        )  # fmt: skip
    axes.set_yscale("log")
    axes.axhline(tolerance, color=style.LOST, lw=0.9, ls="--")
    # from below the median difference to above the tolerance
    low = 0.2 * min(float(np.median(item)) for item in differences)
    low = min(low, 0.1 * tolerance) if tolerance else low
    largest = max(float(item.max()) for item in differences)
    high = 3.0 * max(largest, tolerance, 10.0 * MIN_DIFFERENCE)
    axes.set_ylim(max(low, MIN_DIFFERENCE), high)
    axes.set_title(f"largest difference of a joint angle from {first}")
    axes.set_ylabel("difference [deg]")
    axes.set_xlabel("time [s]")
    style.time_limits(axes, reference.time)


def draw_forces(runs: GraspRuns, path: str | Path) -> Path | None:
    """Draw normal forces at rest, and over time for the body with the largest difference."""
    from matplotlib.patches import Patch

    bodies = sorted({body for item in runs.resting.values() for body in bodies_in_contact(item)})
    if not bodies:
        return None
    ends = runs.resting.values()
    worst = max(bodies, key=lambda body: np.ptp([force_at(run, body) for run in ends]))
    count = len(runs.resting)
    with style.figure(path, 2.9) as (figure, table):
        left, right = style.subplots(figure, 2, margins=(0.65, 0.15, 0.55, 0.6))
        for index, (name, result) in enumerate(runs.resting.items()):
            color = style.SERIES[index]
            values = [force_at(result, body) for body in bodies]
            width = 0.8 / count
            positions = np.arange(len(bodies)) + (index - 0.5 * (count - 1)) * width
            bars = left.bar(positions, values, 0.94 * width, color=color)
            if len(bodies) * count <= 12:
                left.bar_label(bars, [f"{value:.4g}" for value in values], fontsize=6.5, padding=1)
            column = result.contact_bodies.tolist().index(worst)
            force = np.maximum(result.normal_force[:, column], 1e-3)
            table.add({"body": bodies, f"{name} at rest [N]": values})
            table.plot(right, result.time, force, f"{name} {worst} [N]", color=color, lw=1.3,
                       ls=style.DASHES[index % 4])  # fmt: skip
        left.set_xticks(np.arange(len(bodies)), bodies, rotation=90 if len(bodies) > 8 else 0)
        left.set_ylim(0.0, 1.1 * left.get_ylim()[1])
        left.set_title("at rest")
        left.set_ylabel(f"{force_name(runs.closing).lower()} [N]")
        left.grid(visible=False, axis="x")
        _format_force_panel(right, runs, worst)
        keys = [Patch(color=style.SERIES[i], label=name) for i, name in enumerate(runs.resting)]
        style.legend(figure, keys)
    return Path(path)


def _format_force_panel(axes: Axes, runs: GraspRuns, body: str) -> None:
    """Set limits and labels of the force-time panel."""
    from matplotlib.ticker import LogLocator, NullFormatter

    touched = [result.contact_of(body).first_touch_s for result in runs.resting.values()]
    begin = min((time for time in touched if time is not None), default=0.0)
    axes.set_xlim(begin - 0.02, begin + 0.6)
    ends = [value for result in runs.resting.values() if (value := force_at(result, body)) > 0.0]
    axes.set_yscale("log")
    axes.set_ylim(0.3 * min(ends, default=1.0), 1.4 * axes.get_ylim()[1])
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title(f"{body}: {force_name(runs.closing).lower()} after the first touch")
    axes.set_xlabel("time [s]")


def draw_loads(runs: GraspRuns, tolerances: Tolerances, path: str | Path) -> Path | None:
    """Draw which loads each engine holds, and its critical load."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    middles = [item.middle for item in runs.thresholds.values() if item.middle is not None]
    if len(runs.loads) < 2 or not middles:
        return None
    scale, unit = load_scale(runs)
    loads = [scale * load for load in runs.loads]
    with style.figure(path, 1.4 + 0.5 * len(runs.held)) as (figure, table):
        (axes,) = style.subplots(figure, 1, margins=(0.85, 0.2, 0.55, 0.6))
        relative_tolerance = 0.01 * tolerances.threshold_percent
        ends = [scale * middles[0] * (1.0 + sign * relative_tolerance) for sign in (-1, 1)]
        axes.axvspan(*ends, color=BAND, alpha=0.6, lw=0)
        for row, (name, held) in enumerate(runs.held.items()):
            table.add({f"load [{unit}]": loads, f"{name} held": held})
            for load, is_held in zip(loads, held, strict=True):
                label, color = ("held", HELD) if is_held else ("dropped", DROPPED)
                frame = {"boxstyle": "round,pad=0.35", "lw": 0, "fc": color}
                axes.text(load, row - 0.1, label, ha="center", va="center", fontsize=8, bbox=frame)
            if (middle := runs.thresholds[name].middle) is not None:
                critical, color = scale * middle, style.SERIES[row]
                axes.plot([critical] * 2, [row - 0.46, row + 0.46], color=color, lw=2.2, zorder=1)
                axes.annotate(
                    f"{critical:.5g}", (critical, row + 0.46), (4, 1), fontsize=7, color=color,
                    textcoords="offset points", va="bottom",
                )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlim(0.88 * min(loads), 1.14 * max(loads))
        axes.set_xticks(loads, [f"{load:.5g}" for load in loads])
        axes.minorticks_off()
        axes.set_ylim(len(runs.held) - 0.4, -0.6)
        axes.set_yticks(range(len(runs.held)), list(runs.held))
        axes.grid(visible=False)
        axes.set_xlabel(f"{'density' if unit != 'kg' else 'mass'} of the object [{unit}]")
        label = f"within {tolerances.threshold_percent:g} % of the first engine: not compared"
        keys = [
            Line2D([], [], color=style.MUTED, lw=2.2, label="critical"),
            Patch(color=BAND, alpha=0.6, label=label),
        ]
        style.legend(figure, keys)
    return Path(path)


def engine_keys(names: Iterable[str]) -> list[Line2D]:
    """Legend entries of engines."""
    return [
        line_key(style.SERIES[index], name, style.DASHES[index % 4], 1.4)
        for index, name in enumerate(names)
    ]


def line_key(color: str, label: str, dashes: object, width: float) -> Line2D:
    """Legend entry of a line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=color, label=label, ls=dashes, lw=width)
