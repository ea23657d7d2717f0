"""The page of a calibration: what was found, how sure it is, and the figures that show it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softgrasp._version import __version__
from softgrasp.calibration.result import (
    CalibrationResult,
    EstimatedParameters,
    ExtensionResult,
    StageModel,
    StageResult,
)
from softgrasp.calibration.uncertainty import HUGE
from softgrasp.extensions import CALIBRATIONS, load
from softgrasp.formats.atomic import write_text
from softgrasp.report import calibration_release_figures as releases
from softgrasp.report import calibration_search_figures as search
from softgrasp.report import calibration_static_figures as static
from softgrasp.report.csv_file import with_numbers
from softgrasp.report.page import templates
from softgrasp.report.shown_picture import embedded_image

REPORT = "report.html"
DEGREES = 180.0 / math.pi
NEAR = 0.02
"""Of the way between its bounds: so near to one, a parameter is said to be."""
CLOSE = 2.0
"""Models whose criteria differ by less are equally good (Burnham and Anderson 2002)."""


class Figure(NamedTuple):
    """A picture with its heading and what it shows."""

    title: str
    path: Path
    caption: str


def write_calibration_report(
    result: CalibrationResult | ExtensionResult,
    directory: str | Path,
    images: Sequence[Figure] = (),
) -> list[Path]:
    """Draw the figures of a calibration and write ``report.html``; returns their paths.

    Args:
        result: What was found.
        directory: Where to.
        images: More of them, such as steps of photographs, that lie there already.

    Raises:
        ResultError: The folder cannot be written.
    """
    directory = Path(directory)
    if isinstance(result, ExtensionResult):
        drawn = _drawn_of_extension(result, directory)
    else:
        drawn = _drawn(result, directory)
    shown = [*drawn, *images]
    springs = [stage for stage in result.stages if stage.models]
    models = springs[0].models if springs else ()
    html = templates().get_template("calibration.html.j2").render(
        version=__version__,
        title=f"Calibration of {_name(result)}",
        summary=_summary(result),
        warnings=result.warnings,
        stages=[_stage(stage, set(result.undetermined)) for stage in result.stages],
        shown=[(part.title, embedded_image(part.path), part.caption) for part in shown],
        models=[_model(model, springs[0].residual_unit) for model in models],
        verdict=_verdict(models),
    )  # fmt: skip
    return [*with_numbers(part.path for part in shown), write_text(directory / REPORT, html)]


def _drawn(result: CalibrationResult, directory: Path) -> list[Figure]:
    made = [
        ("Shapes under weights", static.draw_shapes(result, directory / "shapes.png"),
         "Joint points measured (rings) and simulated (dots)."
         + (" The weights of held-out shapes were not used." if _held_out(result) else "")),
        ("Angles", static.draw_angles(result, directory / "angles.png"),
         "Simulated over measured angles, a colour a joint."
         + (" Held-out ones are open." if _held_out(result) else "")),
        ("Releases", releases.draw_releases(result, directory / "releases.png"),
         "Settling times and overshoots after a weight was taken away."),
        ("Settling", releases.draw_settling(result, directory / "settling.png"),
         "Height of the tip after the release, with overshoots and settling time; dots are the "
         "extrema that the rule counts, the dashed line is the settling time."),
        ("Tip force", static.draw_forces(result, directory / "forces.png"),
         "Force of the tip on a level plate without friction, and what is left of it."),
        ("How sure the parameters are", search.draw_parameters(result, directory / "parameters.png"),
         "Bars are standard errors, a point at the frame where one goes on; open and red where the "
         "measurements do not determine a parameter; dotted lines are the bounds."),
        ("Correlation", search.draw_correlation(result, directory / "correlation.png"),
         "Parameters that are strongly correlated can stand in for one another."),
        ("Search", search.draw_fitness(result, directory / "fitness.png"),
         _searched(result)),
        ("Personal bests", search.draw_boxes(result, directory / "boxes.png"),
         "Of all particles, averaged every ten iterations; dashed, what was found."),
    ]  # fmt: skip
    return [Figure(title, path, caption) for title, path, caption in made if path is not None]


def _drawn_of_extension(result: ExtensionResult, directory: Path) -> list[Figure]:
    made = [
        *load(CALIBRATIONS[result.problem.kind].images)(result, directory),
        ("Correlation", search.draw_correlation(result, directory / "correlation.png"),
         "Parameters that are strongly correlated can stand in for one another."),
        ("Search", search.draw_fitness(result, directory / "fitness.png"),
         _searched(result)),
    ]  # fmt: skip
    return [Figure(title, path, caption) for title, path, caption in made if path is not None]


def _held_out(result: CalibrationResult) -> bool:
    return any(load.held_out for load in result.problem.hung)


def _searched(result: EstimatedParameters) -> str:
    """What the lines of the search are."""
    if search.has_particles(result):
        return "What was made small: every dot is a particle, the line the best so far."
    return "What was made small, of the best parameters so far."


def _name(result: CalibrationResult | ExtensionResult) -> str:
    return result.problem.name if isinstance(result, ExtensionResult) else result.finger.name


def _summary(result: EstimatedParameters) -> str:
    fits = []
    for stage in result.stages:
        text = f"{stage.name} to {_left(stage.residual, stage.residual_unit)} rms"
        if math.isfinite(stage.held_out_residual):
            text += f" (held out {_left(stage.held_out_residual, stage.residual_unit)})"
        fits.append(text)
    unknown, count = len(result.undetermined), len(result.parameters)
    determined = (
        f"The measurements determine all {count} parameters."
        if unknown == 0
        else f"The measurements do not determine {unknown} of {count} parameters."
    )
    return (
        f"{result.method}, seed {result.seed}: {'; '.join(fits)}. {result.evaluations} parameter "
        f"sets were simulated. {determined}"
    )


def _stage(stage: StageResult, unknown: set[str]) -> dict[str, Any]:
    rows = []
    for name, unit, value, error, part, low, high in zip(
        stage.names, stage.units, stage.values, stage.uncertainty.errors, stage.uncertainty.relative,
        stage.lower, stage.upper, strict=True,
    ):  # fmt: skip
        error_text = f"{error:.2g}" + (f" ({100 * part:.2g} %)" if unit else "")
        error_text = (
            error_text
            if part < HUGE
            else "unknown"
            if np.isinf(part)
            else "larger than ten times it"
        )
        near = min(value - low, high - value) < NEAR * (high - low)
        bound = "on its bound" if name in stage.on_bound else "near its bound" if near else ""
        remark = ", ".join(filter(None, (bound, "not determined" if name in unknown else "")))
        shown = f"{value:.4g} {unit}" if stage.name == "arm" else f"{value:.4g}"
        rows.append((name, shown, error_text, f"{low:.4g} … {high:.4g}", remark))
    fit = (
        f"Objective {stage.fitness:.4g}, residual {_left(stage.residual, stage.residual_unit)} rms"
    )
    fit += f", {stage.evaluations} evaluations."
    if stage.name in ("dampers", "torques"):
        fit += " Standard errors hold those of the springs, where these were found, too."
    sure = stage.uncertainty
    sentences = [stage.sum_sentence] if stage.sum_sentence else []
    sentences += [one.sentence for one in (*sure.determined, *sure.undetermined)]
    return {
        "name": stage.name,
        "unit": "value" if stage.name == "arm" else stage.units[0],
        "rows": rows,
        "fit": fit,
        "combinations": sentences,
    }


def _left(value: float, unit: str) -> str:
    shown = {"rad": (DEGREES, "°"), "m": (1e3, " mm"), "s": (1e3, " ms"), "N": (1.0, " N")}
    factor, name = shown[unit]
    return f"{value * factor:.3g}{name}"


def _model(model: StageModel, unit: str) -> list[str]:
    def angle(value: float) -> str:
        return "–" if math.isnan(value) else _left(value, unit)

    criterion = f"{model.aic:.1f}" if math.isfinite(model.aic) else "too few measurements"
    return [model.model, str(model.parameters), angle(model.residual), criterion,
            angle(model.cross_validation), angle(model.held_out)]  # fmt: skip


def _verdict(models: Sequence[StageModel]) -> str:
    """Which model Akaike's criterion takes, in words."""
    ranked = sorted((m for m in models if math.isfinite(m.aic)), key=lambda model: model.aic)
    if not ranked:
        return "There are too few measurements for Akaike's criterion."
    best = ranked[0]
    close = [m.model for m in ranked[1:] if m.aic - best.aic < CLOSE]
    text = f"Akaike's criterion takes the model '{best.model}'"
    text += f", and '{close[0]}' is as good." if close else "."
    return text + " All are at their least squares."
