"""The experiments of paper 003 as files: figures, recordings, numbers, and the page with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from softgrasp._version import __version__
from softgrasp.errors import SoftgraspError
from softgrasp.formats.atomic import write_text
from softgrasp.formats.results import RESULT_FILE, read_document
from softgrasp.report import hydraulic_experiment_figures as figures
from softgrasp.report.csv_file import with_numbers
from softgrasp.report.grasp_page import embedded_image, templates
from softgrasp.report.hydraulic_experiment_tables import (
    REFINEMENT_WORDS,
    error_rows,
    number_rows,
    refinement_words,
    write_numbers,
    write_recording,
)
from softgrasp.report.hydraulic_numbers import LESS_BY, NO_SWING, numbers
from softgrasp.simulation.hydraulic_experiment_results import (
    AnyRun,
    MotionRun,
    ReachRun,
    RefinementRun,
    RestsRun,
)
from softgrasp.simulation.hydraulic_moves import BAND

SMALLER = 2
"""Seventeen figures at 300 dpi would make a page of 6 MB."""
REPORT, KIND, SCHEMA_VERSION = "report.html", "hydraulic_experiments", 1


class Shown(NamedTuple):
    """A figure and its caption."""

    path: Path
    caption: str


def write_hydraulic_experiments(
    runs: Sequence[AnyRun], directory: str | Path, *, report: bool = True
) -> list[Path]:
    """Write experiments: ``result.json``, numbers and recordings in CSV, figures, and a page.

    What earlier experiments have written into the folder is removed first.

    Args:
        runs: Of ``run_hydraulic_experiments``.
        directory: Where to; it is made when it is missing.
        report: Whether to draw the figures and write the page.

    Returns:
        The files, in the order in which they were written.

    Raises:
        ResultError: The folder cannot be written.
    """
    directory = Path(directory)
    _clear_earlier(directory)
    written = [write_recording(run, directory / f"{run.experiment.name}.csv") for run in runs]
    written += write_numbers(runs, directory)
    shown = [_drawn(run, directory) if report else [] for run in runs]
    written += with_numbers(part.path for parts in shown for part in parts)
    written = list(dict.fromkeys(written))  # recordings are the numbers of some figures
    if report:
        html = experiments_report_html(runs, shown)
        written.append(write_text(directory / REPORT, html))
    document = experiments_document(runs) | {"files": [path.name for path in written]}
    text = json.dumps(document, indent=2, ensure_ascii=False)
    return [*written, write_text(directory / RESULT_FILE, text + "\n")]


def experiments_document(runs: Sequence[AnyRun]) -> dict[str, Any]:
    """The numbers of experiments as the content of ``result.json``; null where one was not seen."""
    return {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "kind": KIND,
        "experiments": [
            {
                "name": run.experiment.name,
                "title": run.experiment.title,
                "source": run.experiment.source,
                "cells_per_section": None if isinstance(run, RefinementRun) else run.links,
                "arcs_per_section": None if isinstance(run, RefinementRun) else run.arm.segments,
                "numbers": [
                    {
                        "what": n.what, "unit": n.unit, "paper": n.paper, "kind": n.kind,
                        "chain": _finite(n.chain), "lumped": _finite(n.lumped), "agrees": n.met,
                    }
                    for n in numbers(run)
                ],
            }
            for run in runs
        ],
    }  # fmt: skip


def experiments_report_html(runs: Sequence[AnyRun], shown: Sequence[Sequence[Shown]]) -> str:
    """The page as HTML that needs no other file."""
    refined = [run for run in runs if isinstance(run, RefinementRun)]
    return templates().get_template("hydraulic_experiments.html.j2").render(
        version=__version__,
        arm=runs[0].arm.name if runs else "",
        source=runs[0].arm.source if runs else "",
        parts=[
            (run.experiment, _discretised(run), number_rows(run), [
                (part, embedded_image(part.path, smaller=SMALLER)) for part in parts
            ])
            for run, parts in zip(runs, shown, strict=True)
        ],
        errors=error_rows(runs),
        finer_heads=REFINEMENT_WORDS,
        finer=[row for run in refined for row in refinement_words(run)],
        less=f"{LESS_BY:g}",
        swing=f"{100.0 * NO_SWING:g}",
        band=f"{100.0 * BAND:g}",
    )  # fmt: skip


def _discretised(run: AnyRun) -> str:
    """Cells and arcs a section, in words."""
    if isinstance(run, RefinementRun):
        return "more and more cells and arcs a section"
    arcs = f"{run.arm.segments} arc{'s' if run.arm.segments > 1 else ''}"
    return f"chain of {run.links} cells, lumped model of {arcs} a section"


def _drawn(run: AnyRun, directory: Path) -> list[Shown]:
    path = directory / f"{run.experiment.name}.png"
    if isinstance(run, RestsRun):
        return [Shown(figures.draw_rests(run, path),
                      "Axis of the arm at rest; dots are ends of sections. Solid: chain, dashed: "
                      "lumped model.")]  # fmt: skip
    if isinstance(run, ReachRun):
        return [Shown(figures.draw_reach(run, path),
                      "Ends of the section, from the side and along the arm.")]  # fmt: skip
    if isinstance(run, RefinementRun):
        return [Shown(figures.draw_refinement(run, path),
                      "Distance from Richardson's limit of each model: the chain comes nearer with "
                      "the square of the cell, the lumped model with the arc.")]  # fmt: skip
    return _drawn_motion(run, path)


def _drawn_motion(run: MotionRun, path: Path) -> list[Shown]:
    steps = " Grey line: the same torques as steps." if run.at_once is not None else ""
    return [
        Shown(figures.draw_poses(run, path.with_name(f"{path.stem}_poses.png")),
              "Axis of the arm at equal parts of the way of the chain's end; dots are ends of "
              "sections."),
        Shown(figures.draw_motion(run, path),
              f"Solid: chain, dashed: lumped model. Grey band: while the torques change.{steps}"),
    ]  # fmt: skip


def _clear_earlier(directory: Path) -> None:
    """Remove what earlier experiments wrote; files of anything else stay."""
    try:
        earlier = read_document(directory / RESULT_FILE)
    except SoftgraspError:
        return
    if earlier.get("kind") == KIND:
        for name in [*earlier.get("files", []), RESULT_FILE]:
            (directory / Path(str(name)).name).unlink(missing_ok=True)


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None
