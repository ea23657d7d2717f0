"""The page of a comparison of engines: the verdict, every finding, and the figures that show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from softgrasp._version import __version__
from softgrasp.comparison.compare import CrosscheckResult
from softgrasp.comparison.criteria import Finding
from softgrasp.comparison.runs import EMULATES, ReleaseRuns, comparable, force_name
from softgrasp.formats.atomic import write_text
from softgrasp.report import crosscheck_grasp_figures as grasps
from softgrasp.report import crosscheck_release_figures as releases
from softgrasp.report.crosscheck_convergence_figure import draw_convergence
from softgrasp.report.crosscheck_words import number, verdict, with_unit
from softgrasp.report.csv_file import with_numbers
from softgrasp.report.page import templates
from softgrasp.report.shown_picture import embedded_image

REPORT = "report.html"


class Figure(NamedTuple):
    """A figure with its heading, its caption, and the findings that it shows."""

    title: str
    path: Path
    caption: str
    findings: tuple[str, ...]
    """Names of the findings whose verdicts stand beside it."""


def write_crosscheck_report(result: CrosscheckResult, directory: str | Path) -> list[Path]:
    """Draw the figures of a comparison and write ``report.html``; returns their paths.

    Raises:
        ResultError: The folder cannot be written.
    """
    directory = Path(directory)
    shown = _of_release(result, directory) or _of_grasp(result, directory)
    names = list(dict.fromkeys(name for finding in result.findings for name in finding.values))
    columns = list(dict.fromkeys([*result.backends, *names]))
    html = templates().get_template("crosscheck.html.j2").render(
        version=__version__,
        title=f"{result.title} in {' and '.join(result.backends)}",
        good=result.passed,
        badge=_badge(result),
        summary=_summary(result),
        failed=[finding.sentence for finding in result.failed],
        warnings=result.warnings,
        columns=columns,
        rows=[_row(finding, columns) for finding in result.findings],
        shown=[_figure(part, result) for part in shown],
        engines=_engines(result),
        command=result.again,
    )  # fmt: skip
    return [*with_numbers(part.path for part in shown), write_text(directory / REPORT, html)]


def _badge(result: CrosscheckResult) -> str:
    if result.diverged:
        return "diverged"
    return "all within tolerance" if result.passed else "beyond tolerance"


def _of_release(result: CrosscheckResult, directory: Path) -> list[Figure]:
    runs, limits = result.runs, result.tolerances
    if not isinstance(runs, ReleaseRuns):
        return []
    drawn = [
        ("Release", releases.draw_release(runs, limits, directory / "crosscheck_release.png"),
         "Lines lie on one another where engines agree; what is left of their difference is below.",
         ("trajectory", "settling_time", "without_hk")),
        ("First mode", releases.draw_mode(runs, limits, directory / "crosscheck_mode.png"),
         "One damped cosine, fitted alike to the height of the tip. The full line is the linear "
         "mode in steps of that length, the dotted one that of the motion itself.",
         ("frequency", "damping_ratio")),
        ("Convergence",
         draw_convergence(runs, limits, directory / "crosscheck_convergence.png"),
         "Of each engine, how far it is from its own finest step; black, how far engines are from "
         "each other at the same step.",
         ("convergence_order", "convergence_limit")),
    ]  # fmt: skip
    return [Figure(title, path, caption, names)
            for title, path, caption, names in drawn if path is not None]  # fmt: skip


def _of_grasp(result: CrosscheckResult, directory: Path) -> list[Figure]:
    runs, limits = result.runs, result.tolerances
    if isinstance(runs, ReleaseRuns) or runs.diverged:
        return []
    runs = comparable(runs)
    drawn = [
        (f"{force_name(runs.closing)}s", grasps.draw_forces(runs, directory / "crosscheck_forces.png"),
         "Left, every body at rest; right, the body that differs most.",
         ("normal_force", "force_after_closing", "stop")),
        ("Held or dropped", grasps.draw_loads(runs, limits, directory / "crosscheck_loads.png"),
         "Hold tests with lighter and heavier objects; lines are where each engine drops it.",
         ("agreement", "critical_load")),
        ("Time step", grasps.draw_steps(runs, limits, directory / "crosscheck_steps.png"),
         f"{force_name(runs.closing)}s at rest with smaller time steps. They jump where a body "
         "stops one control sample earlier.",
         ("force_convergence",)),
    ]  # fmt: skip
    return [Figure(title, path, caption, names)
            for title, path, caption, names in drawn if path is not None]  # fmt: skip


def _figure(part: Figure, result: CrosscheckResult) -> dict[str, Any]:
    there = [finding for finding in result.findings if finding.name in part.findings]
    return {
        "title": part.title,
        "source": embedded_image(part.path),
        "caption": part.caption,
        "verdicts": [(_mark(finding), _short(finding)) for finding in there],
    }


def _short(finding: Finding) -> str:
    """The verdict without its note, which stands in the table."""
    return finding.sentence.removesuffix(f"; {finding.note}") if finding.note else finding.sentence


def _mark(finding: Finding) -> str:
    """How a verdict looks."""
    if finding.tolerance is None:
        return "neutral"
    return "good" if finding.passed else "bad"


def _row(finding: Finding, columns: list[str]) -> dict[str, Any]:
    return {
        "quantity": finding.quantity,
        "unit": finding.unit,
        "values": [number(finding.values.get(name, "")) for name in columns],
        "difference": with_unit(finding.difference, finding),
        "tolerance": with_unit(finding.tolerance, finding),
        "verdict": verdict(finding),
        "mark": _mark(finding),
        "note": finding.note,
    }


def _summary(result: CrosscheckResult) -> str:
    text = result.summary.split(": ", 1)[1]
    text = f"{text[0].upper()}{text[1:]}. The first, {result.backends[0]}, is what others are held "
    text += f"to; {result.wall_time:.0f} s of work"
    emulated = [f"; {name} runs {EMULATES[name]}" for name in result.backends if name in EMULATES]
    return text + "".join(emulated) + "."


def _engines(result: CrosscheckResult) -> dict[str, Any]:
    """A row a parameter, a column an engine."""
    keys = dict.fromkeys(key for engine in result.engines.values() for key in engine.parameters)
    return {
        "names": [f"{name} {engine.version}" for name, engine in result.engines.items()],
        "rows": [
            (key, [engine.parameters.get(key, "–") for engine in result.engines.values()])
            for key in keys
        ],
    }
