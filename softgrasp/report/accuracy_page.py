"""The report of the twin's accuracy: tables, the fit, figures and the page."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from softgrasp._version import __version__
from softgrasp.formats.atomic import write_text
from softgrasp.formats.piece_angles_file import PieceAngles, save_piece_angles
from softgrasp.formats.pressure_fit_file import save_pressure_fit
from softgrasp.report import accuracy_figures as figures
from softgrasp.report.accuracy_words import angle_clause, error_clause, summary, table_rows
from softgrasp.report.grasp_page import embedded_image, templates
from softgrasp.report.style import signed
from softgrasp.twin.accuracy import PAPER, AccuracyStudy

TABLE, ANGLES, FIT, FIGURE, CURVES, REPORT = (
    "accuracy.csv", "angles.csv", "fit.yaml", "accuracy.png", "fit.png", "report.html",
)  # fmt: skip
NUMBERS = "fit.csv"
"""Of the curves."""
WRITTEN = (TABLE, ANGLES, FIT, FIGURE, CURVES, NUMBERS, REPORT)
"""Everything that is written, in this order."""


def write_accuracy(
    study: AccuracyStudy, directory: str | Path, *, report: bool = True
) -> list[Path]:
    """Write the tables and the fit, and, if wanted, figures and page; returns their paths.

    Raises:
        ResultError: The folder cannot be written.
    """
    target_directory = Path(directory)
    picked = np.array([sample.measured.angles for sample in study.samples])
    files = [
        write_text(target_directory / TABLE, accuracy_table(study)),
        save_piece_angles(
            PieceAngles(study.pressures, picked),
            target_directory / ANGLES,
            remarks="Picked in synthetic pictures of a simulated finger.",
        ),
        save_pressure_fit(study.report.fit, target_directory / FIT),
    ]
    if not report:
        return files
    figure = figures.draw_accuracy(study, target_directory / FIGURE)
    curves = figures.draw_fit(study, target_directory / CURVES)
    report_file = write_text(target_directory / REPORT, _html(study, figure, curves))
    return [*files, figure, curves, target_directory / NUMBERS, report_file]


def accuracy_table(study: AccuracyStudy) -> str:
    """E and both tips at every pressure as CSV; the paper's E where its table has one."""
    stream = io.StringIO()
    stream.writelines(f"# {line}\n" for line in _remarks(study))
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["pressure_kpa", "error_percent", "paper_error_percent",
         "model_x_mm", "model_z_mm", "true_x_mm", "true_z_mm"]
    )  # fmt: skip
    rows = zip(
        study.pressures.tolist(),
        study.errors.tolist(),
        (1e3 * study.model_tips[:, ::2]).tolist(),
        (1e3 * study.true_tips[:, ::2]).tolist(),
        strict=True,
    )
    for pressure, error, model, true in rows:
        paper = f"{100 * PAPER[pressure]:g}" if pressure in PAPER else ""
        numbers = [f"{value:.4f}" for value in (*model, *true)]
        writer.writerow([f"{1e-3 * pressure:g}", f"{100 * error:.4f}", paper, *numbers])
    return stream.getvalue()


def _remarks(study: AccuracyStudy) -> list[str]:
    return [
        f"E of the tip against a SIMULATED finger; protocol {study.protocol}, seed {study.seed}.",
        "paper_error_percent is of a real finger (Xiang et al., Table I).",
    ]


def _html(study: AccuracyStudy, figure: Path, curves: Path) -> str:
    shown = [
        ("Pictures and shapes", embedded_image(figure), error_clause(study),
         "Above: synthetic pictures with the picks, reference line blue, chords green, angles "
         "in degrees. Below: the model of constant curvatures over the true axis."),
        ("Angles, fit and error", embedded_image(curves), angle_clause(study),
         "Angles of each piece against pressure; below, the error at every pressure. Dotted: the "
         "4 % that the paper claims to stay below."),
    ]  # fmt: skip
    return templates().get_template("accuracy.html.j2").render(
        version=__version__,
        title="Accuracy of the twin's tip",
        summary=summary(study),
        rows=table_rows(study),
        shown=shown,
        properties=_rows(study),
    )  # fmt: skip


def _rows(study: AccuracyStudy) -> list[tuple[str, str]]:
    low, high = (1e-3 * float(end(study.pressures)) for end in (np.min, np.max))
    drawn = sum(sample.image is not None for sample in study.samples)
    how = "two picks a cut, at both edges" if study.protocol == "edges" else "one pick a cut"
    lengths = ", ".join(f"{1e3 * length:g}" for length in study.reference.lengths)
    return [
        ("Finger", f"simulated, {len(study.reference.finger.links)} links"),
        ("Pieces", f"{lengths} mm"),
        ("Samples", f"{len(study.samples)}, from {signed(low, 0)} to {signed(high, 0)} kPa"),
        ("Pictures drawn", str(drawn)),
        ("Picks", how),
        ("Seed", str(study.seed)),
    ]
