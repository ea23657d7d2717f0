"""A fit of bends against pressure as files and in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp._version import __version__
from softgrasp.formats.atomic import write_text
from softgrasp.formats.pressure_fit_file import save_pressure_fit
from softgrasp.formats.results import RESULT_FILE
from softgrasp.mechanics.pressure_fit import MAX_CURVE_ERROR, FitReport, reversal_clause
from softgrasp.report.pressure_fit_figure import draw_pressure_fit

SCHEMA_VERSION = 1
FIT, FIGURE = "pressure_fit.yaml", "pressure_fit.png"
KPA = 1e-3


def write_fit_report(
    report: FitReport, directory: str | Path, *, figure: bool = True
) -> list[Path]:
    """Write ``pressure_fit.yaml``, ``result.json`` and the figure; return their paths.

    Args:
        report: The fit.
        directory: Where to; it is made when it is missing.
        figure: Whether to draw; a figure of an earlier fit is removed where not.

    Raises:
        ResultError: The folder cannot be written.
    """
    directory = Path(directory)
    comment = "SI: m, rad, Pa; angle = sum of c_k (pressure / scale)^k, a row a piece."
    text = json.dumps(fit_document(report), indent=2, ensure_ascii=False, allow_nan=False)
    written = [
        save_pressure_fit(report.fit, directory / FIT, comment=comment),
        write_text(directory / RESULT_FILE, text + "\n"),
    ]
    if figure:
        return [*written, draw_pressure_fit(report, directory / FIGURE)]
    for earlier in (directory / FIGURE, (directory / FIGURE).with_suffix(".csv")):
        earlier.unlink(missing_ok=True)
    return written


def fit_document(report: FitReport) -> dict[str, Any]:
    """A fit as the content of ``result.json``, in SI but for what ``pieces`` tells."""
    return {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "kind": "pressure_fit",
        "fit": report.fit.model_dump(mode="json"),
        "samples": len(report.pressures),
        "condition_scaled": report.condition,
        "condition_kpa": report.condition_kpa,
        "sigma_rad": report.sigma,
        "accepted": report.accepted,
        "pieces": piece_rows(report),
        "reversals": [one._asdict() for one in report.reversals],
        "pressures_Pa": report.pressures.tolist(),
        "angles_rad": report.angles.tolist(),
        "residuals_rad": report.residuals.tolist(),
    }


def piece_rows(report: FitReport) -> list[dict[str, Any]]:
    """What a fit leaves of each piece: lengths in mm, angles in degrees, as they are told."""
    errors = report.curve_errors
    return [
        {
            "piece": piece + 1,
            "length_mm": round(1e3 * length, 9),
            "rms_deg": float(np.degrees(report.rms[piece])),
            "max_deg": float(np.degrees(report.largest[piece])),
            "sigma_deg": float(np.degrees(report.scatter[piece])),
            "r_squared": float(report.r_squared[piece]),
            "curve_error_deg": None if errors is None else float(np.degrees(errors[piece])),
        }
        for piece, length in enumerate(report.fit.lengths)
    ]


def range_clause(report: FitReport) -> str:
    """How many samples of how many pieces, and between which pressures the fit holds."""
    low, high = report.fit.pressures
    count = len(report.fit.lengths)
    return (
        f"{len(report.pressures)} samples of {count} piece{'s' * (count > 1)}, valid from "
        f"{KPA * low:g} to {KPA * high:g} kPa"
    )


def condition_clause(report: FitReport) -> str:
    """The condition number with and without scaling."""
    return (
        f"{report.condition:.2g} with pressures over {KPA * report.fit.scale:g} kPa, "
        f"{report.condition_kpa:.2g} with them in kPa"
    )


def reversal_words(report: FitReport) -> str:
    """Where curves bend back."""
    reversals = report.reversals
    return (
        "no: " + "; ".join(reversal_clause(report.fit, one) for one in reversals)
        if reversals
        else "yes"
    )


def verdict_clause(report: FitReport) -> str:
    """Whether the fit is accepted, and by what."""
    errors = report.curve_errors
    if errors is None or report.sigma is None:
        return "not judged: the sigma of a measurement is not known (--sigma-deg)"
    worst, sigma = float(errors.max()), report.sigma
    verdict = "accepted" if report.accepted else "not accepted"
    return (
        f"{verdict}: expected {np.degrees(worst):.3g}° from the truth at worst, "
        f"{worst / sigma:.3g} sigma; at most {MAX_CURVE_ERROR:g} sigma are let through"
    )
