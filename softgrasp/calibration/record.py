"""Results of calibrations as files: ``calibration.json`` and ``finger.yaml``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from softgrasp._version import __version__
from softgrasp.calibration.certainty import Combination
from softgrasp.calibration.result import CalibrationResult, ExtensionResult, StageResult
from softgrasp.continuum.settling import from_webots
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.extensions import CALIBRATIONS
from softgrasp.formats.atomic import write_text
from softgrasp.formats.finger_file import UNSURE, save_finger

DOCUMENT, FINGER = "calibration.json", "finger.yaml"
FIGURES = (
    *("shapes", "angles", "releases", "settling", "forces"),
    *("parameters", "correlation", "fitness", "boxes", "overlays"),
)
WRITTEN = (
    *(DOCUMENT, FINGER, "report.html", "photo_*_*g.png", "film_*_*g.png"),
    *(f"{name}{suffix}" for name in FIGURES for suffix in (".png", ".csv")),
    *(pattern for extension in CALIBRATIONS.values() for pattern in extension.written),
)
"""Everything that a calibration writes."""
SCHEMA_VERSION = 1


def save_calibration(
    result: CalibrationResult | ExtensionResult, directory: str | Path
) -> list[Path]:
    """Write ``calibration.json`` and the finger, or the arm, as found; returns their paths.

    Nothing in them depends on the clock: the same calibration gives the same bytes.

    Raises:
        ResultError: The folder cannot be written.
    """
    directory = Path(directory)
    text = json.dumps(document(result), indent=2, ensure_ascii=False, allow_nan=False)
    written = [write_text(directory / DOCUMENT, text + "\n")]
    if isinstance(result, ExtensionResult):
        return [*written, result.save_calibrated(directory)]
    return [*written, save_finger(calibrated_finger(result), directory / FINGER)]


def clear_earlier(directory: Path) -> None:
    """Remove what an earlier calibration wrote, so that no figure stands beside other numbers.

    Only in a folder with a ``calibration.json``; other files stay.
    """
    if not (directory / DOCUMENT).is_file():
        return
    for pattern in WRITTEN:
        for file in directory.glob(pattern):
            file.unlink()


def calibrated_finger(result: CalibrationResult) -> SoftFinger:
    """The finger with all of its damping, where that was found, and the source of its numbers."""
    stages = ", ".join(stage.name for stage in result.stages)
    source = (
        f"softgrasp {__version__}, calibrated by {result.method} (seed {result.seed}): {stages}"
    )
    source += ", then together" * result.together
    if result.undetermined:
        source += f"; {UNSURE}{', '.join(result.undetermined)}"
    has_damping = "dampers" in result.residual
    step = result.problem.damping_timestep if has_damping else 0.0
    return from_webots(result.finger, step).replace(source=source)


def document(result: CalibrationResult | ExtensionResult) -> dict[str, Any]:
    """A result as the content of ``calibration.json``; null where nothing is known."""
    extra: dict[str, Any] = {}
    if isinstance(result, CalibrationResult):
        extra = {
            "together": result.together,
            "damping_timestep_s": result.problem.damping_timestep,
        }
    return {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "method": result.method,
        "seed": result.seed,
        "status": result.status.name,
        "message": result.status.value,
        "parameters": result.parameters,
        "standard_errors": {k: _finite(v) for k, v in result.standard_errors.items()},
        "undetermined": list(result.undetermined),
        "evaluations": result.evaluations,
        "warnings": list(result.warnings),
        "stages": [_stage(stage) for stage in result.stages],
        "problem": result.problem.model_dump(mode="json", exclude_defaults=True),
    } | extra


def _stage(stage: StageResult) -> dict[str, Any]:
    sure, several = stage.uncertainty, stage.name == "arm"
    return {
        "name": stage.name,
        "unit": stage.units[0],
        "parameters": {
            name: {
                "value": float(value),
                "standard_error": _finite(error),
                "relative_error": _finite(part),
                "bounds": [float(low), float(high)],
                "on_bound": name in stage.on_bound,
            } | ({"unit": unit} if several else {})
            for name, value, error, part, low, high, unit in zip(
                stage.names, stage.values, sure.errors, sure.relative, stage.lower, stage.upper,
                stage.units, strict=True,
            )
        },
        "correlation": sure.correlation.tolist(),
        "determined": [_combination(one) for one in sure.determined],
        "undetermined": [_combination(one) for one in sure.undetermined],
        "sum": stage.sum_sentence or None,
        "objective": stage.fitness,
        f"residual_rms_{stage.residual_unit}": stage.residual,
        f"held_out_rms_{stage.residual_unit}": _finite(stage.held_out_residual),
        "evaluations": stage.evaluations,
        "measurements": [
            {"what": what, "measured": float(measured), "simulated": float(simulated)}
            for what, measured, simulated in zip(
                stage.labels, stage.measured, stage.simulated, strict=True
            )
        ],
        "held_out": [
            {"what": what, "measured": float(measured), "simulated": _finite(simulated)}
            for what, measured, simulated in zip(
                stage.held_out_labels, stage.held_out_measured, stage.held_out_simulated,
                strict=True,
            )
        ],
        "models": [
            {key: _finite(value) if isinstance(value, float) else value
             for key, value in vars(model).items()}
            for model in stage.models
        ],
    }  # fmt: skip


def _combination(one: Combination) -> dict[str, Any]:
    return {
        "weights": list(one.weights),
        "relative_error": _finite(one.error),
        "sentence": one.sentence,
    }


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
