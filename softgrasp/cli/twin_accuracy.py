"""``softgrasp twin accuracy``: the error of the twin's tip, after the protocol of paper 001."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json, NoReport, Out

if TYPE_CHECKING:
    from softgrasp.twin.accuracy import AccuracyStudy


class Picking(StrEnum):
    """How the cuts are picked."""

    EDGES = "edges"
    CHORDS = "chords"


def accuracy(
    picks: Annotated[
        Picking, typer.Option(help="Two picks a cut at the edges, or one on the middle line.")
    ] = Picking.EDGES,
    step_kpa: Annotated[
        float, typer.Option(min=1.0, max=50.0, metavar="P", help="One sample every so many kPa.")
    ] = 5.0,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Draw pictures at the paper's four pressures only."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the noise.")] = 0,
    no_report: NoReport = False,
    out: Out = None,
    json: Json = False,
) -> None:
    """Measure the error of the twin's tip against a simulated finger.

    The finger is a chain in MuJoCo, photographed from −90 to 120 kPa with 1 px of noise on picks
    and 2 mm on depths; no real finger was measured.
    """
    from softgrasp.cli.terminal import default_directory, require_writable
    from softgrasp.report.accuracy_page import write_accuracy
    from softgrasp.twin.accuracy import PAPER, accuracy_study, protocol_pressures

    directory = out or default_directory("twin_accuracy")
    require_writable(directory)
    shown = [] if no_report else list(PAPER)
    with terminal.progress_bar() as update:
        study = accuracy_study(
            protocol_pressures(1e3 * step_kpa),
            protocol=picks.value,
            image_pressures=shown if quick else None,
            seed=seed,
            progress=update,
        )
        update("writing", None)
        files = write_accuracy(study, directory, report=not no_report)
    if json:
        terminal.put_json(_document(study) | {"files": [str(file) for file in files]})
        return
    _print_summary(study, files)


def _document(study: AccuracyStudy) -> dict[str, Any]:
    return {
        "reference": "simulated",
        "protocol": study.protocol,
        "seed": study.seed,
        "pressures_kpa": (1e-3 * study.pressures).tolist(),
        "errors_percent": (100.0 * study.errors).tolist(),
        "largest_percent": 100.0 * float(study.errors.max()),
    }


def _print_summary(study: AccuracyStudy, files: list[Path]) -> None:
    from softgrasp.report.accuracy_words import angle_clause, summary, table_rows

    terminal.put_table(["pressure [kPa]", "E here [%]", "E paper 001 [%]"], table_rows(study))
    terminal.put(summary(study))
    terminal.put(angle_clause(study))
    terminal.put("files     " + "\n          ".join(map(str, files)))
