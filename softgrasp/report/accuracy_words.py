"""The twin's accuracy in words."""

from __future__ import annotations

import numpy as np

from softgrasp.mechanics.piece_bends import angles_at
from softgrasp.report.style import signed
from softgrasp.twin.accuracy import LIMIT, PAPER, AccuracyStudy

SIMULATED = (
    "The finger is simulated, not measured: a chain of {links} links in MuJoCo whose stiffness "
    "varies within every piece, which sags under its weight and whose moment is no polynomial of "
    "the pressure. The paper's own numbers are of a real finger and a motion capture system, so "
    "they stand beside ours and cannot be compared digit by digit."
)


def summary(study: AccuracyStudy) -> str:
    """What came out, in two sentences."""
    errors = 100.0 * study.errors
    worst = int(np.argmax(errors))
    where = signed(1e-3 * float(study.pressures[worst]), 0)
    verdict = "below" if errors[worst] < 100.0 * LIMIT else "NOT below"
    return (
        f"Over {len(errors)} pressures the tip of the model is at most {errors[worst]:.2f} % of "
        f"the finger's length from the true one (at {where} kPa), {verdict} the {100 * LIMIT:g} % "
        "of the paper. " + simulated_clause(study)
    )


def simulated_clause(study: AccuracyStudy) -> str:
    """That the reference is simulated, and how."""
    return SIMULATED.format(links=len(study.reference.finger.links))


def error_clause(study: AccuracyStudy) -> str:
    """E at the pressures of the paper's table."""
    text = ", ".join(f"{error} % at {pressure} kPa" for pressure, error, _ in table_rows(study))
    return f"E is {text}."


def angle_clause(study: AccuracyStudy) -> str:
    """How good picked and fitted angles are."""
    picked = np.array([sample.measured.angles for sample in study.samples]) - study.true_angles
    fitted = angles_at(study.report.fit, study.pressures) - study.true_angles
    rms = np.degrees(np.sqrt((picked**2).mean()))
    smooth = np.degrees(np.sqrt((fitted**2).mean()))
    largest_error = np.degrees(np.abs(picked).max())
    return (
        f"Picked angles are off by {rms:.2f}° rms and {largest_error:.2f}° at most, fitted ones by "
        f"{smooth:.2f}° rms."
    )


def table_rows(study: AccuracyStudy) -> list[list[str]]:
    """Pressure [kPa], E [%], E of the paper [%], at the pressures of the paper's table."""
    rows = []
    for pressure, error in zip(study.pressures.tolist(), study.errors.tolist(), strict=True):
        if pressure in PAPER:
            cells = [signed(1e-3 * pressure, 0), f"{100 * error:.2f}", f"{100 * PAPER[pressure]:g}"]
            rows.append(cells)
    return rows
