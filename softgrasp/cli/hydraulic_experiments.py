"""``softgrasp demo hydraulic --experiment``: the experiments of paper 003 on two models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softgrasp.cli import terminal
from softgrasp.cli.hydraulic_demo import ARM
from softgrasp.cli.terminal import require_writable

if TYPE_CHECKING:
    from softgrasp.simulation.hydraulic_experiment_results import AnyRun

ALL, LIST = "all", "list"
LINKS = 8
HEADS = ["experiment", "what", "unit", "paper", "chain", "lumped", "kind", "agrees"]
ERROR_HEADS = ["experiment", "of a section [m]", "sum [m]", "sum at the end [m]", "paper's [m]"]


def run_experiments_demo(directory: Path, name: str, *, report: bool, json: bool) -> None:
    """Run one experiment or all, write their files and tell their numbers.

    Raises:
        SoftgraspError: Something is wrong or missing.
    """
    from softgrasp.formats.hydraulic_arm_file import load_hydraulic_arm
    from softgrasp.report.hydraulic_experiment_page import (
        experiments_document,
        write_hydraulic_experiments,
    )
    from softgrasp.simulation.hydraulic_experiment_runs import run_hydraulic_experiments
    from softgrasp.simulation.hydraulic_experiments import EXPERIMENTS, hydraulic_experiment

    if name == LIST:
        _list(json)
        return
    experiments = EXPERIMENTS if name == ALL else (hydraulic_experiment(name),)
    require_writable(directory)
    with terminal.progress_bar() as update:
        runs = run_hydraulic_experiments(
            experiments,
            load_hydraulic_arm(ARM),
            links=LINKS,
            announce=lambda text: update(text, None),
        )
        update("writing", None)
        files = write_hydraulic_experiments(runs, directory, report=report)
    if json:
        terminal.put_json(experiments_document(runs) | {"files": [str(file) for file in files]})
        return
    _print_summary(runs)
    terminal.put("files  " + "\n       ".join(map(str, files)))


def _list(json: bool) -> None:
    from softgrasp.simulation.hydraulic_experiments import EXPERIMENTS

    if json:
        terminal.put_json(
            [{"name": e.name, "title": e.title, "source": e.source} for e in EXPERIMENTS]
        )
        return
    rows = [[e.name, e.title, e.source] for e in EXPERIMENTS]
    terminal.put_table(["experiment", "what", "paper"], rows)


def _print_summary(runs: list[AnyRun]) -> None:
    from softgrasp.report.hydraulic_experiment_tables import (
        REFINEMENT_WORDS,
        error_rows,
        number_rows,
        refinement_words,
    )
    from softgrasp.simulation.hydraulic_experiment_results import RefinementRun

    rows = [[run.experiment.name, *row] for run in runs for row in number_rows(run)]
    terminal.put_table(HEADS, rows)
    if errors := error_rows(runs):
        terminal.put(
            "\nThe lumped model from the chain (eq 37); the paper's is from its experiment:"
        )
        terminal.put_table(ERROR_HEADS, errors)
    for run in runs:
        if isinstance(run, RefinementRun):
            terminal.put("\nFiner sections:")
            terminal.put_table(list(REFINEMENT_WORDS), refinement_words(run))
