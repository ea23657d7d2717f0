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

from softgrasp.comparison.checks import load_scale, mean_force
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
from softgrasp.report.formatting import capitalize
from softgrasp.report.grasp_report import embed_image, render_html

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from softgrasp.mechanics.transforms import Array


Drawn = tuple[str, Path | None, str, tuple[str, ...]]
"""Heading, file, caption, and names of the findings that are listed beside a figure."""
MIN_DIFFERENCE = 1e-12
"""Zero differences are drawn here on a logarithmic axis [deg]."""

REPORT = "report.html"

HELD, DROPPED = "#9fd2cf", "#f0c4bb"

MM = 1e3

MARKERS = "os^v"
BAND = "#f3dfa8"
"""Colour of the tolerance band."""
MS = 1e3
STEP = "time step [ms]"


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
            ("First mode", draw_mode(runs, limits, directory / "crosscheck_mode.png"),
             "Damped cosine fitted to the tip height. Solid: linear mode of the time-discrete "
             "system; dotted: linear mode in continuous time.",
             ("frequency", "damping_ratio")),
            ("Convergence",
             draw_convergence(runs, limits, directory / "crosscheck_convergence.png"),
             "Difference of each engine from its finest time step; black: difference between "
             "engines at the same time step.",
             ("convergence_order", "convergence_limit")),
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
        ("Time step", draw_steps(runs, limits, directory / "crosscheck_steps.png"),
         f"{force}s at rest over the time step. Jumps: a body stops one control sample earlier.",
         ("force_convergence",)),
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


def draw_mode(runs: ReleaseRuns, tolerances: Tolerances, path: str | Path) -> Path:
    """Draw frequency and damping ratio of the first mode against the time step."""
    from matplotlib.patches import Patch

    with style.figure(path, 2.9) as (figure, table):
        left, right = style.subplots(figure, 2, margins=(0.75, 0.15, 0.55, 0.6), gaps=(0.75, 0.3))
        _mode_panel(left, table, runs, "frequency [Hz]", tolerances.frequency_percent)
        _mode_panel(right, table, runs, "damping ratio ζ [–]", tolerances.damping_ratio_percent)
        first = next(iter(runs.moving))
        keys = [
            *engine_keys(runs.moving, marks=True),
            line_key(style.INK, "linear mode, time-discrete", "-", 0.9, "_"),
            line_key(style.INK, "linear mode, continuous", ":", 0.9),
            Patch(color=BAND, alpha=0.6, label=f"tolerance about {first}"),
        ]
        style.legend(figure, keys)
    return Path(path)


def _mode_panel(
    axes: Axes, table: style.Table, runs: ReleaseRuns, title: str, percent: float
) -> None:
    """Draw one property of the first mode, with that of the linear mode."""
    field = "frequency" if title.startswith("frequency") else "ratio"
    axes.set_title(title)
    axes.axhline(getattr(runs.linear[0.0], field), color=style.INK, lw=0.9, ls=":")
    steps = np.array(sorted(step for step in runs.linear if step > 0.0))
    stepped = [getattr(runs.linear[step], field) for step in steps.tolist()]
    table.plot(axes, MS * steps, stepped, f"linear mode {title}", STEP,
               color=style.INK, lw=0.9, marker="_", ms=14)  # fmt: skip
    for index, (name, motions) in enumerate(runs.moving.items()):
        timesteps = np.array(sorted(motions))
        values = np.array([getattr(runs.mode(name, step), field) for step in timesteps.tolist()])
        if index == 0:
            band = 0.01 * percent * values
            # one time step is a point, which has no area
            wide = timesteps if len(steps) > 1 else timesteps * [0.95, 1.05]
            axes.fill_between(MS * wide, values - band, values + band, color=BAND, alpha=0.6, lw=0)
        marks(axes, table, MS * timesteps, values, f"{name} {title}", index)
    axes.set_xlabel(STEP)
    axes.set_xlim(0.0, None)
    axes.ticklabel_format(useOffset=False)


def draw_convergence(runs: ReleaseRuns, tolerances: Tolerances, path: str | Path) -> Path | None:
    """Draw differences from the finest time step, and between engines, against the time step."""
    refined = [name for name, motions in runs.moving.items() if len(motions) > 2]
    if not refined:
        return None
    first, *others = refined
    keys = engine_keys(runs.moving, marks=True)
    steps, deviation = runs.convergence(first).timesteps, runs.convergence(first).deviation
    with style.figure(path, 3.2) as (figure, table):
        (axes,) = style.subplots(figure, 1, margins=(0.75, 0.15, 0.55, 0.6))
        for name in others:
            shared = [step for step in runs.moving[name] if step in runs.moving[first]]
            pairs = [(runs.moving[name][step], runs.moving[first][step]) for step in shared]
            difference = [np.degrees(np.abs(a.angles - b.angles)).max() for a, b in pairs]
            table.plot(
                axes, MS * np.array(shared), np.maximum(difference, MIN_DIFFERENCE),
                f"{name} from {first} [deg]", STEP, color=style.INK, marker="D", ms=3.5, lw=1.0,
            )  # fmt: skip
            keys.append(line_key(style.INK, f"{name} from {first}", "-", 1.0, "D"))
        for index, name in enumerate(runs.moving):
            if name in refined:
                finest, label = runs.convergence(name), f"{name} from its finest step [deg]"
                marks(axes, table, MS * finest.timesteps[:-1], finest.deviation[:-1], label, index)
        # a guide of an error proportional to h, relative to the finest step
        coarser = np.linspace(1.05 * steps[-1], steps[0], 200)
        guide = deviation[0] * (coarser - steps[-1]) / (steps[0] - steps[-1])
        axes.plot(MS * coarser, guide, color=style.MUTED, ls=":", lw=1.2)
        axes.axhline(tolerances.trajectory_deg, color=style.LOST, lw=0.9, ls="--")
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(MS * steps, [f"{MS * step:g}" for step in steps])
        axes.set_xlabel(STEP)
        axes.set_ylabel("difference of a joint angle [deg]")
        keys += [
            line_key(style.MUTED, "order 1, from the finest step", ":", 1.2),
            line_key(style.LOST, "tolerance between engines", "--", 0.9),
        ]
        style.legend(figure, keys)
    return Path(path)


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


def draw_steps(runs: GraspRuns, tolerances: Tolerances, path: str | Path) -> Path | None:
    """Draw the mean normal force at rest against the time step."""
    from matplotlib.patches import Patch

    every = [item for runs_by_step in runs.finer.values() for item in runs_by_step.values()]
    bodies = sorted(set.intersection(*(set(bodies_in_contact(item)) for item in every)))
    if not bodies or max(map(len, runs.finer.values())) < 2:
        return None
    first = next(iter(runs.finer))
    with style.figure(path, 2.7) as (figure, table):
        (axes,) = style.subplots(figure, 1, margins=(0.75, 0.15, 0.55, 0.6))
        for index, (name, runs_by_step) in enumerate(runs.finer.items()):
            steps = np.array(list(runs_by_step))
            forces = np.array([mean_force(runs, name, step, bodies) for step in runs_by_step])
            if name == first:
                band = 0.01 * tolerances.normal_force_percent * forces
                axes.fill_between(MS * steps, forces - band, forces + band, color=BAND, alpha=0.6)
            marks(axes, table, MS * steps, forces, f"{name} mean force [N]", index, ls="-")
        ticks = sorted({step for runs_by_step in runs.finer.values() for step in runs_by_step})
        axes.set_xscale("log", base=2)
        axes.set_xticks([MS * step for step in ticks], [f"{MS * step:g}" for step in ticks])
        axes.minorticks_off()
        axes.set_xlabel(STEP)
        axes.set_ylabel(f"mean {force_name(runs.closing).lower()} at rest [N]")
        style.set_min_span(axes, 0.1 * float(np.mean(axes.get_ylim())))
        label = f"within {tolerances.normal_force_percent:g} % of {first}"
        keys = engine_keys(runs.finer, marks=True)
        style.legend(figure, [*keys, Patch(color=BAND, alpha=0.6, label=label)])
    return Path(path)


def marks(
    axes: Axes, table: style.Table, x: Array, y: Array, name: str, index: int, ls: str = ""
) -> None:
    """Draw the points of an engine against the time step; later ones have larger, open markers."""
    table.plot(
        axes, x, y, name, STEP, color=style.SERIES[index], marker=MARKERS[index % 4], ls=ls,
        lw=1.0, ms=4.5 + 2.5 * index, mfc=style.SERIES[index] if index == 0 else "none",
    )  # fmt: skip


def engine_keys(names: Iterable[str], *, marks: bool = False) -> list[Line2D]:
    """Legend entries of engines, as lines or as markers."""
    keys = []
    for index, name in enumerate(names):
        dashes, marker = ("", MARKERS[index % 4]) if marks else (style.DASHES[index % 4], "")
        keys.append(line_key(style.SERIES[index], name, dashes, 1.4, marker, filled=index == 0))
    return keys


def line_key(
    color: str, label: str, dashes: object, width: float, marker: str = "", *, filled: bool = True
) -> Line2D:
    """Legend entry of a line, with an optional marker."""
    from matplotlib.lines import Line2D

    return Line2D(
        [], [], color=color, label=label, ls=dashes or "none", lw=width, marker=marker or None,
        ms=5.0, mfc=color if filled else "none",
    )  # fmt: skip
