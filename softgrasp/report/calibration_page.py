"""The page of a calibration: what was found, how sure it is, and the figures that show it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softgrasp._version import __version__
from softgrasp.calibration.certainty import HUGE
from softgrasp.calibration.result import (
    CalibrationResult,
    ExtensionResult,
    FoundParameters,
    StageModel,
    StageResult,
)
from softgrasp.extensions import CALIBRATIONS, load
from softgrasp.formats.atomic import write_text
from softgrasp.report import calibration_release_figures as releases
from softgrasp.report import calibration_search_figures as search
from softgrasp.report import calibration_static_figures as static
from softgrasp.report.csv_file import with_numbers
from softgrasp.report.page import templates
from softgrasp.report.shown_picture import shown_picture

PAGE = "report.html"
DEGREES = 180.0 / math.pi
NEAR = 0.02
"""Of the way between its bounds: so near to one, a parameter is said to be."""
CLOSE = 2.0
"""Models whose criteria differ by less are equally good (Burnham and Anderson 2002)."""


class Picture(NamedTuple):
    """A picture with its heading and what it shows."""

    title: str
    path: Path
    caption: str


def write_calibration_page(
    result: CalibrationResult | ExtensionResult,
    folder: str | Path,
    pictures: Sequence[Picture] = (),
) -> list[Path]:
    """Draw the figures of a calibration and write ``report.html``; returns their paths.

    Args:
        result: What was found.
        folder: Where to.
        pictures: More of them, such as steps of photographs, that lie there already.

    Raises:
        ResultError: The folder cannot be written.
    """
    folder = Path(folder)
    if isinstance(result, ExtensionResult):
        drawn = _drawn_of_extension(result, folder)
    else:
        drawn = _drawn(result, folder)
    shown = [*drawn, *pictures]
    springs = [stage for stage in result.stages if stage.models]
    models = springs[0].models if springs else ()
    page = templates().get_template("calibration.html.j2").render(
        version=__version__,
        title=f"Calibration of {_name(result)}",
        summary=_summary(result),
        warnings=result.warnings,
        stages=[_stage(stage, set(result.undetermined)) for stage in result.stages],
        shown=[(part.title, shown_picture(part.path), part.caption) for part in shown],
        models=[_model(model, springs[0].residual_unit) for model in models],
        verdict=_verdict(models),
    )  # fmt: skip
    return [*with_numbers(part.path for part in shown), write_text(folder / PAGE, page)]


def _drawn(result: CalibrationResult, folder: Path) -> list[Picture]:
    made = [
        ("Shapes under weights", static.draw_shapes(result, folder / "shapes.png"),
         "Joint points measured (rings) and simulated (dots)."
         + (" The weights of held-out shapes were not used." if _held_out(result) else "")),
        ("Angles", static.draw_angles(result, folder / "angles.png"),
         "Simulated over measured angles, a colour a joint."
         + (" Held-out ones are open." if _held_out(result) else "")),
        ("Releases", releases.draw_releases(result, folder / "releases.png"),
         "Settling times and overshoots after a weight was taken away."),
        ("Settling", releases.draw_settling(result, folder / "settling.png"),
         "Height of the tip after the release, with overshoots and settling time; dots are the "
         "extrema that the rule counts, the dashed line is the settling time."),
        ("Tip force", static.draw_forces(result, folder / "forces.png"),
         "Force of the tip on a level plate without friction, and what is left of it."),
        ("How sure the parameters are", search.draw_parameters(result, folder / "parameters.png"),
         "Bars are standard errors, a point at the frame where one goes on; open and red where the "
         "measurements do not determine a parameter; dotted lines are the bounds."),
        ("Correlation", search.draw_correlation(result, folder / "correlation.png"),
         "Parameters that are strongly correlated can stand in for one another."),
        ("Search", search.draw_fitness(result, folder / "fitness.png"),
         _searched(result)),
        ("Personal bests", search.draw_boxes(result, folder / "boxes.png"),
         "Of all particles, averaged every ten iterations; dashed, what was found."),
    ]  # fmt: skip
    return [Picture(title, path, caption) for title, path, caption in made if path is not None]


def _drawn_of_extension(result: ExtensionResult, folder: Path) -> list[Picture]:
    made = [
        *load(CALIBRATIONS[result.problem.kind].pictures)(result, folder),
        ("Correlation", search.draw_correlation(result, folder / "correlation.png"),
         "Parameters that are strongly correlated can stand in for one another."),
        ("Search", search.draw_fitness(result, folder / "fitness.png"),
         _searched(result)),
    ]  # fmt: skip
    return [Picture(title, path, caption) for title, path, caption in made if path is not None]


def _held_out(result: CalibrationResult) -> bool:
    return any(load.held_out for load in result.problem.hung)


def _searched(result: FoundParameters) -> str:
    """What the lines of the search are."""
    if search.has_particles(result):
        return "What was made small: every dot is a particle, the line the best so far."
    return "What was made small, of the best parameters so far."


def _name(result: CalibrationResult | ExtensionResult) -> str:
    return result.problem.name if isinstance(result, ExtensionResult) else result.finger.name


def _summary(result: FoundParameters) -> str:
    fits = []
    for stage in result.stages:
        told = f"{stage.name} to {_left(stage.residual, stage.residual_unit)} rms"
        if math.isfinite(stage.held_out_residual):
            told += f" (held out {_left(stage.held_out_residual, stage.residual_unit)})"
        fits.append(told)
    unknown, found = len(result.undetermined), len(result.parameters)
    determined = (
        f"The measurements determine all {found} parameters."
        if unknown == 0
        else f"The measurements do not determine {unknown} of {found} parameters."
    )
    return (
        f"{result.method}, seed {result.seed}: {'; '.join(fits)}. {result.evaluations} parameter "
        f"sets were simulated. {determined}"
    )


def _stage(stage: StageResult, unknown: set[str]) -> dict[str, Any]:
    rows = []
    for name, unit, value, error, part, low, high in zip(
        stage.names, stage.units, stage.values, stage.certainty.errors, stage.certainty.relative,
        stage.lower, stage.upper, strict=True,
    ):  # fmt: skip
        told = f"{error:.2g}" + (f" ({100 * part:.2g} %)" if unit else "")
        told = told if part < HUGE else "unknown" if np.isinf(part) else "larger than ten times it"
        near = min(value - low, high - value) < NEAR * (high - low)
        bound = "on its bound" if name in stage.on_bound else "near its bound" if near else ""
        remark = ", ".join(filter(None, (bound, "not determined" if name in unknown else "")))
        shown = f"{value:.4g} {unit}" if stage.name == "arm" else f"{value:.4g}"
        rows.append((name, shown, told, f"{low:.4g} … {high:.4g}", remark))
    fit = (
        f"Objective {stage.fitness:.4g}, residual {_left(stage.residual, stage.residual_unit)} rms"
    )
    fit += f", {stage.evaluations} evaluations."
    if stage.name in ("dampers", "torques"):
        fit += " Standard errors hold those of the springs, where these were found, too."
    sure = stage.certainty
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
    judged = sorted((m for m in models if math.isfinite(m.aic)), key=lambda model: model.aic)
    if not judged:
        return "There are too few measurements for Akaike's criterion."
    best = judged[0]
    close = [m.model for m in judged[1:] if m.aic - best.aic < CLOSE]
    told = f"Akaike's criterion takes the model '{best.model}'"
    told += f", and '{close[0]}' is as good." if close else "."
    return told + " All are at their least squares."
