"""Compute the figures and Table I of Xiang et al. (2024) on a simulated finger.

`python -m examples.paper001 NAME`, in a checkout; NAME is `fit` (Fig. 3c), `poses` (Fig. 5),
`accuracy` (Table I) or `all`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import softgrasp as sg
from examples.paper001.accuracy import PAPER, accuracy_study
from examples.paper001.pieces import LENGTHS, PHIS, compared_models
from examples.paper001.report import (
    FIT_FIGURE,
    accuracy_rows,
    draw_pressure_fit,
    pose_rows,
    summary,
    write_accuracy,
    write_poses,
)
from softgrasp.cli import terminal
from softgrasp.io.tables import with_numbers

SIGMA = float(np.radians(0.3))
"""Noise of the angles in the shipped table [rad]."""


def main(words: list[str] | None = None) -> int:
    """Run one part of the paper, or all, and print its numbers and files."""
    parser = argparse.ArgumentParser(prog="python -m examples.paper001", description=__doc__)
    parser.add_argument("name", choices=[*PARTS, "all"])
    parser.add_argument("--out", type=Path, help="directory of the files")
    parser.add_argument("--no-report", action="store_true", help="accuracy without figures")
    help_ = "render 43 images, not only the paper's four; some minutes"
    parser.add_argument("--all-images", action="store_true", help=help_)
    parser.add_argument("--chords", action="store_true", help="one pick per cut, not two")
    parser.add_argument("--seed", type=int, default=0, help="seed of the noise")
    options = parser.parse_args(words)
    names = list(PARTS) if options.name == "all" else [options.name]
    for name in names:
        directory = options.out or Path("out") / f"paper001_{options.name}"
        files = PARTS[name](directory / name if options.name == "all" else directory, options)
        terminal.put("files  " + "\n       ".join(map(str, files)))
    return 0


def fit(directory: Path, _options: argparse.Namespace) -> list[Path]:
    """Fit the shipped table, and draw angles, curves and residuals."""
    table = sg.twin.load_piece_angles("four_piece")
    report = sg.twin.fit_pressures(table.pressures, table.angles, LENGTHS, sigma=SIGMA)
    worst = np.degrees(report.rms.max())
    terminal.put(f"residuals at most {worst:.3f}° rms, condition {report.condition:.2g}")
    return with_numbers([draw_pressure_fit(report, directory / FIT_FIGURE)])


def poses(directory: Path, _options: argparse.Namespace) -> list[Path]:
    """Compare arcs with rigid pieces, without φ and with it."""
    flat, forced = compared_models(phis=np.zeros(len(PHIS))), compared_models()
    heads = ["phi", "model", "tip [mm]", "from eq 5 [mm]", "of the finger [%]"]
    terminal.put_table(heads, pose_rows(flat, forced))
    return write_poses(flat, forced, directory)


def accuracy(directory: Path, options: argparse.Namespace) -> list[Path]:
    """Measure the tip error of the fitted model on a simulated finger."""
    drawn = () if options.no_report else tuple(PAPER)
    study = accuracy_study(
        edges=not options.chords,
        image_pressures=None if options.all_images else drawn,
        seed=options.seed,
    )
    heads = ["pressure [kPa]", "E here [%]", "E Xiang et al. [%]"]
    terminal.put_table(heads, accuracy_rows(study))
    terminal.put(summary(study))
    return write_accuracy(study, directory, report=not options.no_report)


PARTS = {"fit": fit, "poses": poses, "accuracy": accuracy}

if __name__ == "__main__":
    sys.exit(main())
