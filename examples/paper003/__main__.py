"""Run the experiments of Chen et al. (2022) on both models of the two-section arm.

`python -m examples.paper003 NAME`, in a checkout; `list` prints the names, `all` runs everything.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import softgrasp as sg
from examples.paper003.experiments import (
    EXPERIMENTS,
    AnyRun,
    RefinementRun,
    hydraulic_experiment,
    run_hydraulic_experiments,
)
from examples.paper003.report import (
    REFINEMENT_WORDS,
    error_rows,
    experiments_document,
    number_rows,
    refinement_words,
    write_hydraulic_experiments,
)
from softgrasp.cli import terminal

ARM, LINKS = "hydraulic_two_section", 8
HEADS = ["experiment", "what", "unit", "paper", "chain", "lumped", "kind", "agrees"]
ERROR_HEADS = ["experiment", "of a section [m]", "sum [m]", "sum at the end [m]", "paper's [m]"]


def main(words: list[str] | None = None) -> int:
    """Run one experiment or all, write their files and print their numbers."""
    parser = argparse.ArgumentParser(prog="python -m examples.paper003", description=__doc__)
    parser.add_argument("name", help="an experiment, all, or list")
    parser.add_argument("--out", type=Path, help="directory of the files")
    parser.add_argument("--no-report", action="store_true", help="numbers only")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args(words)
    if options.name == "list":
        rows = [[item.name, item.title, item.source] for item in EXPERIMENTS]
        terminal.put_table(["experiment", "what", "paper"], rows)
        return 0
    try:
        chosen = EXPERIMENTS if options.name == "all" else (hydraulic_experiment(options.name),)
    except sg.DescriptionError as error:
        print(f"softgrasp: error: {error}", file=sys.stderr)
        return 2
    runs = run_hydraulic_experiments(chosen, sg.hydraulics.load_hydraulic_arm(ARM), links=LINKS)
    directory = options.out or Path("out") / f"paper003_{options.name}"
    files = [
        str(file)
        for file in write_hydraulic_experiments(runs, directory, report=not options.no_report)
    ]
    if options.json:
        print(json.dumps(experiments_document(runs) | {"files": files}))
    else:
        print_summary(runs)
        print("files  " + "\n       ".join(files))
    return 0


def print_summary(runs: list[AnyRun]) -> None:
    """Print the numbers of the runs, their errors and what finer sections change."""
    terminal.put_table(
        HEADS, [[run.experiment.name, *row] for run in runs for row in number_rows(run)]
    )
    if errors := error_rows(runs):
        print("\nThe lumped model from the chain (eq 37); the paper's is from its experiment:")
        terminal.put_table(ERROR_HEADS, errors)
    for run in runs:
        if isinstance(run, RefinementRun):
            print("\nFiner sections:")
            terminal.put_table(list(REFINEMENT_WORDS), refinement_words(run))


if __name__ == "__main__":
    sys.exit(main())
