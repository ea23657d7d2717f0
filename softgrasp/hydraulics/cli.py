"""``softgrasp demo hydraulic``: the two-section arm under the ramps of paper 003."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from softgrasp import assets
from softgrasp.cli import terminal
from softgrasp.cli.terminal import require_writable

if TYPE_CHECKING:
    from softgrasp.hydraulics.experiments import AnyRun


# --------------------
# ``softgrasp demo hydraulic --experiment``: the experiments of paper 003 on two models.


ALL, LIST = "all", "list"
EXPERIMENT_LINKS = 8
HEADS = ["experiment", "what", "unit", "paper", "chain", "lumped", "kind", "agrees"]
ERROR_HEADS = ["experiment", "of a section [m]", "sum [m]", "sum at the end [m]", "paper's [m]"]


def run_experiments_demo(directory: Path, name: str, *, report: bool, json: bool) -> None:
    """Run one experiment or all, write their files and tell their numbers.

    Raises:
        SoftgraspError: Something is wrong or missing.
    """
    from softgrasp.hydraulics.experiment_report import (
        experiments_document,
        write_hydraulic_experiments,
    )
    from softgrasp.hydraulics.experiments import (
        EXPERIMENTS,
        hydraulic_experiment,
        run_hydraulic_experiments,
    )
    from softgrasp.hydraulics.files import load_hydraulic_arm

    if name == LIST:
        _list(json)
        return
    experiments = EXPERIMENTS if name == ALL else (hydraulic_experiment(name),)
    require_writable(directory)
    with terminal.progress_bar() as update:
        runs = run_hydraulic_experiments(
            experiments,
            load_hydraulic_arm(ARM),
            links=EXPERIMENT_LINKS,
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
    from softgrasp.hydraulics.experiments import EXPERIMENTS

    if json:
        terminal.put_json(
            [{"name": e.name, "title": e.title, "source": e.source} for e in EXPERIMENTS]
        )
        return
    rows = [[e.name, e.title, e.source] for e in EXPERIMENTS]
    terminal.put_table(["experiment", "what", "paper"], rows)


def _print_summary(runs: list[AnyRun]) -> None:
    from softgrasp.hydraulics.experiment_report import (
        REFINEMENT_WORDS,
        error_rows,
        number_rows,
        refinement_words,
    )
    from softgrasp.hydraulics.experiments import RefinementRun

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


ARM, TORQUES, LINKS = "hydraulic_two_section", "paper003_ramp", 6


def run_hydraulic_demo(
    directory: Path, torques: str | None, *, renderer: str, video: bool, report: bool, json: bool
) -> None:
    """Move the arm, write its files and tell what happened.

    Raises:
        SoftgraspError: Something is wrong or missing.
    """
    from softgrasp.hydraulics.files import load_hydraulic_arm, load_torques
    from softgrasp.hydraulics.report import (
        curvature_clause,
        flow_clause,
        pressure_clause,
        tip_clause,
        write_arm_report,
    )
    from softgrasp.hydraulics.run import arm_document, run_arm

    arm, table = load_hydraulic_arm(ARM), load_torques(torques or TORQUES)
    require_writable(directory)
    with terminal.progress_bar() as update:
        update("moving the arm", None)
        run = run_arm(arm, table, links=LINKS)
        _clear_earlier(directory)
        files = write_arm_report(
            run,
            directory,
            renderer=renderer,
            video=video,
            report=report,
            progress=lambda file, done: update(f"writing {file}", done),
        )
    if json:
        terminal.put_json(arm_document(run) | {"files": [str(file) for file in files]})
        return
    terminal.put(f"arm       {arm.name}: {run.times[-1]:g} s, {run.links} cells a section")
    terminal.put(f"pressure  {pressure_clause(run)}")
    terminal.put(f"flow      {flow_clause(run)}")
    terminal.put(f"bends     {curvature_clause(run)}")
    terminal.put(f"tip       {tip_clause(run)}")
    terminal.put("files     " + "\n          ".join(map(str, files)))


def _clear_earlier(directory: Path) -> None:
    """Remove what an earlier run of an arm wrote; other folders stay as they are."""
    from softgrasp.errors import SoftgraspError
    from softgrasp.hydraulics.report import WRITTEN
    from softgrasp.io.result import RESULT_FILE, read_document

    try:
        earlier = read_document(directory / RESULT_FILE)
    except SoftgraspError:
        return
    if earlier.get("kind") == "hydraulic_arm":
        for name in WRITTEN:
            (directory / name).unlink(missing_ok=True)


# --------------------
# Rows about hydraulic arms, for ``softgrasp list``.


Row = dict[str, Any]


def hydraulic_arms() -> list[Row]:
    """Return a row for each arm of soft sections."""
    from softgrasp.hydraulics.files import load_hydraulic_arm

    return [
        {
            "name": name,
            "sections": len(arm.sections),
            "chambers": len(arm.chambers),
            "mass_kg": float(f"{sum(section.mass for section in arm.sections):.4g}"),
            "source": arm.source,
        }
        for name in assets.names("hydraulic_arms")
        for arm in [load_hydraulic_arm(name)]
    ]
