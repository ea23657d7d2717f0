"""HTML report of a calibration: estimated parameters, uncertainties, fits and search history.

``write_calibration_report`` draws all figures that the measurements allow. The figures of releases,
angles, shapes, forces and the particle swarm follow Figures 4 to 8 of Hadi, Hof, Jayawardhana and
Haghighat, "Developing Simulation Models for Soft Robotic Grippers in Webots", 2025.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softgrasp.calibration.files import LoadedProblem
from softgrasp.calibration.objectives import finger_values
from softgrasp.calibration.result import (
    HUGE,
    CalibrationResult,
    EstimatedParameters,
    ExtensionResult,
    StageResult,
)
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.continuum.statics import joint_positions
from softgrasp.description.calibration import CalibrationProblem, Release, TipForce
from softgrasp.extensions import CALIBRATIONS
from softgrasp.io.files import write_text
from softgrasp.io.tables import with_numbers
from softgrasp.mechanics.transforms import Array
from softgrasp.rendering import write_png
from softgrasp.report import style
from softgrasp.report.grasp_report import Figure, render_html
from softgrasp.report.style import capitalize

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Drawn = tuple[str, Path | None, str]
"""Heading, file and caption of a figure; no file where there is nothing to draw."""
MM = 1e3
DEGREES = 180.0 / math.pi

REPORT = "report.html"
NEAR = 0.02
"""A parameter closer to a bound than this fraction of the range is reported as near it."""

MIN_STEPS = 4
"""Fewest steps of a search that is drawn."""
BEYOND = 0.5
"""Error bars are clipped this fraction of the range beyond the bounds."""
SHOWN_AS = {"k": ("N·m/rad", 1.0), "c": ("10⁻³ N·m·s/rad", 1e3), "alpha": ("10⁻⁶ m³", 1e6)}
SYMBOLS = {"springs": "k", "dampers": "c", "torques": "alpha"}
EVIDENCE = (
    ("photo_*_*g.png", "Photograph with {} g", "From the photograph to joint points and angles."),
    ("film_*_*g.png", "Video of the release of {} g",
     "The last frame, and the path of the tip until then."),
)  # fmt: skip
"""Pattern, heading and caption of the images of measurements; {} is the mass [g]."""
INCHES = 8.0
"""Width of such an image; figures have ten inches, so its letters are smaller."""
EDGE_MM = 4.0
"""Margin around the shapes of a finger [mm]."""


def write_calibration_report(
    result: CalibrationResult | ExtensionResult,
    directory: str | Path,
    loaded: LoadedProblem | None = None,
) -> list[Path]:
    """Draw the figures of a calibration and write ``report.html``; return all paths.

    Args:
        result: The calibration.
        directory: Output directory.
        loaded: Problem with its photographs and videos; default: their images are those that are
            in the directory.

    Raises:
        ResultError: The directory cannot be written.
    """
    directory = Path(directory)
    if isinstance(result, ExtensionResult):
        name, draw = result.problem.name, CALIBRATIONS.load(result.problem.kind, "images")
        drawn = [*draw(result, directory), *_draw_estimate(result, directory)]
    else:
        name, drawn = result.finger.name, _draw_fits(result, directory)
        if loaded is not None:
            draw_evidence(loaded, directory)
    figures = [Figure(title, path, text) for title, path, text in drawn if path is not None]
    figures += _images_in(directory)
    html = render_html(
        "calibration.html.j2",
        figures=figures,
        title=f"Calibration of {name}",
        summary=_summary(result),
        warnings=result.warnings,
        credibility=_credibility(result),
        advice=[
            [capitalize(item.measurement), f"{item.information:.2f}", item.parameter,
             f"{100 * item.now:.3g} %", f"{100 * item.then:.3g} %"]
            for item in result.advice[:6]
        ],
        stages=[_stage(stage, set(result.undetermined)) for stage in result.stages],
    )  # fmt: skip
    return [*with_numbers(part.path for part in figures), write_text(directory / REPORT, html)]


def _draw_fits(result: CalibrationResult, directory: Path) -> list[Drawn]:
    relative = ""
    if result.problem.zero == "unloaded":
        relative = ", with angles relative to the image without a weight"
    held_out = any(load.held_out for load in result.problem.hung)
    return [
        ("Shapes under weights", draw_shapes(result, directory / "shapes.png"),
         f"Joint points measured (rings) and simulated (dots){relative}."
         + " The weights of held-out shapes were not used." * held_out),
        ("Angles", draw_angles(result, directory / "angles.png"),
         f"Simulated over measured angles, one colour per joint{relative}."
         + " Open markers: held out." * held_out),
        ("Releases", draw_releases(result, directory / "releases.png"),
         "Settling times and overshoots after the release of a weight."),
        ("Settling", draw_settling(result, directory / "settling.png"),
         "Height of the tip after the release. Dots: extrema that count as overshoots; dashed: "
         "settling time."),
        ("Tip force", draw_forces(result, directory / "forces.png"),
         "Force of the tip on a horizontal frictionless plate, and its residual."),
        ("Uncertainty of the parameters", draw_parameters(result, directory / "parameters.png"),
         "Bars: 95 % intervals (an arrowhead where one exceeds the panel); open and red: not "
         "determined by the measurements; dotted: bounds."),
        *_draw_estimate(result, directory),
    ]  # fmt: skip


def _draw_estimate(result: EstimatedParameters, directory: Path) -> list[Drawn]:
    swarms = any(len(step.fitness) > 1 for stage in result.stages for step in stage.history)
    search = "Objective of the best parameters so far."
    if swarms:
        search = "Objective over the iterations. Dots: particles; line: best so far."
    correlated = "Strongly correlated parameters cannot be identified separately."
    return [
        ("Correlation", draw_correlation(result, directory / "correlation.png"), correlated),
        ("Search", draw_fitness(result, directory / "fitness.png"), search),
    ]


def _summary(result: EstimatedParameters) -> str:
    fits = []
    for stage in result.stages:
        text = f"{stage.name} to {_residual_text(stage.residual, stage.residual_unit)} rms"
        if math.isfinite(stage.held_out_residual):
            text += f" (held out {_residual_text(stage.held_out_residual, stage.residual_unit)})"
        fits.append(text)
    unknown, count = len(result.undetermined), len(result.parameters)
    determined = f"The measurements determine all parameters ({count})."
    if unknown:
        determined = f"The measurements do not determine {unknown} of {count} parameters."
    return (
        f"Method {result.method}, seed {result.seed}: {'; '.join(fits)}. {result.evaluations} "
        f"parameter sets were simulated. {determined}"
    )


def _credibility(result: CalibrationResult | ExtensionResult) -> dict[str, Any]:
    """Return the texts of the section on credibility."""
    verdict = result.credibility
    model_error = getattr(result.problem, "model_error", 0.0)
    return {
        "credible": verdict.credible,
        "sentence": capitalize(verdict.sentence) + ".",
        "findings": [
            (capitalize(finding.sentence) + ".", finding.refutes) for finding in verdict.findings
        ],
        "tests": [
            [test.stage, _residual_text(test.residual, test.unit),
             _residual_text(test.error, test.unit), test.source, f"{test.chi_square:.3g}",
             str(test.freedom), f"{test.p_value:.2g}"]
            for test in verdict.tests
        ],
        "note": "χ² compares squared residuals with the error of a measurement and a model error "
        f"of {100 * model_error:g} % of the measured value; p is the probability of such "
        "a χ² or a larger one by chance. Errors are declared (field errors of the "
        "problem), estimated from repeated measurements, or assumed.",
        "plausible": all(quantity.plausible for quantity in verdict.quantities),
        "quantities": [
            [quantity.name, f"{quantity.value:.3g} {quantity.unit}",
             f"{quantity.low:g} … {quantity.high:g} {quantity.unit}",
             "" if quantity.plausible else f"✗ {quantity.hint}"]
            for quantity in verdict.quantities
        ],
    }  # fmt: skip


def _residual_text(value: float, unit: str) -> str:
    shown = {"rad": (DEGREES, "°"), "m": (1e3, " mm"), "s": (1e3, " ms"), "N": (1.0, " N")}
    factor, name = shown[unit]
    return f"{value * factor:.3g}{name}"


def _stage(stage: StageResult, unknown: set[str]) -> dict[str, Any]:
    residual = _residual_text(stage.residual, stage.residual_unit)
    fit = f"Objective {stage.fitness:.4g}, residual {residual} rms"
    fit += f", {stage.evaluations} evaluations."
    if stage.name in ("dampers", "torques"):
        fit += " Standard errors include those of estimated springs."
    combinations = (*stage.uncertainty.determined, *stage.uncertainty.undetermined)
    return {
        "name": stage.name,
        "unit": "value" if stage.name == "arm" else stage.units[0],
        "rows": _parameter_rows(stage, unknown),
        "fit": fit,
        "combinations": [
            *filter(None, [stage.sum_sentence]),
            *(item.sentence for item in combinations),
        ],
    }


def _parameter_rows(stage: StageResult, unknown: set[str]) -> list[tuple[str, ...]]:
    """Name, value, standard error, bounds and remark of each parameter."""
    rows: list[tuple[str, ...]] = []
    for name, unit, value, error, part, (lower_end, upper_end), (low, high), on in stage.parameters:
        error_text = "unknown" if np.isinf(part) else "more than ten times the value"
        if part < HUGE:
            error_text = f"{error:.2g}" + (f" ({100 * part:.2g} %)" if unit else "")
        bounded = not (lower_end < low or upper_end > high)  # the joint estimate has no bounds
        near = bounded and min(value - low, high - value) < NEAR * (high - low)
        bound = "on its bound" if on else "near its bound" if near else ""
        remark = ", ".join(filter(None, (bound, "not determined" if name in unknown else "")))
        shown = f"{value:.4g} {unit}" if stage.name == "arm" else f"{value:.4g}"
        known = bool(np.isfinite([lower_end, upper_end]).all())
        interval = f"{lower_end:.4g} … {upper_end:.4g}" if known else "not determined"
        rows.append((name, shown, error_text, interval, f"{low:.4g} … {high:.4g}", remark))
    return rows


def _named_wrong(result: CalibrationResult, stage: str) -> list[int]:
    """Return the numbers of the measured values of a stage that the verdict names as wrong."""
    findings = result.credibility.findings
    return [number for finding in findings if finding.stage == stage for number in finding.values]


def draw_shapes(result: CalibrationResult, path: str | Path) -> Path | None:
    """Draw measured and simulated shapes under weights (Hadi et al. 2025, Figure 6).

    Returns:
        None without measured angles.
    """
    loads = sorted(result.problem.hung, key=lambda load: load.mass)
    if not loads or "springs" not in result.residual:
        return None

    stiffness = finger_values(result.finger, "stiffness")[None]
    simulated = VirtualExperiments(result.problem).hung(stiffness, loads)
    columns = min(len(loads), 4)
    rows = -(-len(loads) // columns)
    used = [load for load in result.problem.hung if not load.held_out]
    owners = np.repeat(np.arange(len(used)), [len(load.angles) for load in used])
    wrong = [used[owners[value]] for value in _named_wrong(result, "springs")]
    pairs = [
        (_line(result, np.array(load.angles)), _line(result, angles[0]))
        for load, angles in zip(loads, simulated, strict=True)
    ]
    seen = np.concatenate([line for pair in pairs for line in pair])
    low, high = seen.min(axis=0) - EDGE_MM, seen.max(axis=0) + EDGE_MM
    wide = (style.WIDTH - 0.65 - 0.3 * (columns - 1)) / columns
    tall = wide * float((high - low)[1] / (high - low)[0])
    with style.figure(path, 0.7 + (tall + 0.4) * rows) as (figure, table):
        panels = style.subplots(
            figure, len(loads), columns, margins=(0.55, 0.1, 0.5, 0.55), gaps=(0.3, 0.45)
        )
        for index, (axes, load, angles) in enumerate(zip(panels, loads, simulated, strict=True)):
            name, (rings, dots) = f"{MM * load.mass:g} g", pairs[index]
            axes.plot(*dots.T, color=style.POSITION, marker=".", ms=4, label="simulated")
            # open rings, so that neither curve hides the other
            axes.plot(*rings.T, "o", color=style.LOST, mfc="none", ms=7, label="measured")
            table.add_points(f"{name} measured", "xz", "mm", rings)
            table.add_points(f"{name} simulated", "xz", "mm", dots)
            left = DEGREES * np.sqrt(np.mean(np.square(angles[0] - np.array(load.angles))))
            suffix = ", held out" * load.held_out + ", named wrong" * any(load is x for x in wrong)
            axes.set_title(f"{name}{suffix}: {left:.2f}° rms")
            axes.set_aspect("equal")
            axes.set_xlim(low[0], high[0])
            axes.set_ylim(low[1], high[1])
            axes.tick_params(labelleft=index % columns == 0)
            if index % columns == 0:
                axes.set_ylabel("z [mm]")
            if index + columns >= len(loads):
                axes.set_xlabel("x [mm]")
        style.legend(figure)
    return Path(path)


def _line(result: CalibrationResult, angles: Array) -> Array:
    """Joint positions (x, z) for the observed angles, (n, 2) [mm]."""
    finger = result.finger
    whole = np.zeros(len(finger.joints))
    whole[: len(angles)] = angles
    return MM * joint_positions(finger, whole)[: len(angles) + 1, ::2]


def draw_angles(result: CalibrationResult, path: str | Path) -> Path | None:
    """Draw simulated against measured angles, and the residual of each joint."""
    if "springs" not in result.residual or result.problem.static_objective != "angles":
        return None
    stage = result.stage("springs")
    with style.figure(path, 3.2) as (figure, table):
        both, left = style.subplots(figure, 2, margins=(0.6, 0.8, 0.5, 0.35))
        every = np.concatenate([stage.measured, stage.simulated]) * DEGREES
        ends = [float(every.min()), float(every.max())]
        both.plot(ends, ends, color=style.MUTED, lw=0.8)
        left.axhline(0.0, color=style.MUTED, lw=0.8)
        wrong = np.isin(np.arange(len(stage.labels)), _named_wrong(result, "springs"))
        names, held = np.array(stage.labels), np.array(stage.held_out_labels)
        for labels, measured, simulated, suffix, marker in (
            (names[~wrong], stage.measured[~wrong], stage.simulated[~wrong], "", "o"),
            (names[wrong], stage.measured[wrong], stage.simulated[wrong], " named wrong", "x"),
            (held, stage.held_out_measured, stage.held_out_simulated, " held out", "o"),
        ):
            joints = [label.split()[0] for label in labels.tolist()]
            for index, joint in enumerate(dict.fromkeys(joints)):
                some = [i for i, name in enumerate(joints) if name == joint]
                x, y = measured[some] * DEGREES, simulated[some] * DEGREES
                color = style.SERIES[index % len(style.SERIES)]
                face = "white" if "held" in suffix else color
                both.plot(x, y, marker, ms=4, color=color, mfc=face)
                table.add({f"{joint}{suffix} measured [°]": x, f"{joint}{suffix} simulated [°]": y})
                label = None if suffix else joint
                left.plot(x, y - x, marker, ms=4, color=color, mfc=face, label=label)
        marks = "; open: held out" * (len(held) > 0) + "; ×: named wrong" * int(wrong.any())
        both.set_title(f"simulated angle [°]{marks}")
        left.set_title("simulated − measured [°]")
        for axes in (both, left):
            axes.set_xlabel("measured [°]")
        left.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return Path(path)


def draw_releases(result: CalibrationResult, path: str | Path) -> Path | None:
    """Draw settling times and overshoots by weight (Hadi et al. 2025, Figures 7a, b)."""
    if "dampers" not in result.residual or result.problem.release_objective != "settling":
        return None
    from matplotlib.ticker import MaxNLocator

    stage = result.stage("dampers")
    every = [
        *zip(stage.labels, stage.measured, stage.simulated, strict=True),
        *zip((f"{label}\nheld out" for label in stage.held_out_labels),
             stage.held_out_measured, stage.held_out_simulated, strict=True),
    ]  # fmt: skip
    with style.figure(path, 2.8) as (figure, table):
        panels = style.subplots(figure, 2, margins=(0.6, 0.15, 0.65, 0.6))
        for axes, label in zip(panels, ("settling time [s]", "overshoots"), strict=True):
            start = label.partition("[")[0].strip() + " "
            rows = [(name.removeprefix(start), *values) for name, *values in every
                    if name.startswith(start)]  # fmt: skip
            rows.sort(key=lambda row: float(row[0].split()[0]))
            names, measured, simulated = zip(*rows, strict=True)
            positions = np.arange(len(rows))
            axes.bar(positions - 0.2, measured, 0.38, color=style.SERIES[3], label="measured")
            axes.bar(positions + 0.2, simulated, 0.38, color=style.SERIES[0], label="simulated")
            axes.set_xticks(positions, names)
            axes.grid(visible=False, axis="x")
            weights = [name.replace("\n", ", ") for name in names]
            table.add({"weight": weights, f"measured {label}": measured,
                       f"simulated {label}": simulated})  # fmt: skip
            axes.set_title(label)
            axes.set_xlabel("weight released")
        panels[1].yaxis.set_major_locator(MaxNLocator(integer=True))
        style.legend(figure)
    return Path(path)


def draw_settling(result: CalibrationResult, path: str | Path) -> Path | None:
    """Draw the tip height after each release, with overshoots (Hadi et al. 2025, Figure 4)."""
    releases = sorted(result.problem.releases, key=lambda item: item.mass)
    if not releases or "dampers" not in result.residual:
        return None
    stiffness, damping = (finger_values(result.finger, kind) for kind in ("stiffness", "damping"))
    rig = VirtualExperiments(result.problem)
    time, heights = rig.released(stiffness[None], damping[None], releases)
    columns = min(len(releases), 2)
    rows = -(-len(releases) // columns)
    with style.figure(path, 0.8 + 1.9 * rows) as (figure, table):
        panels = style.subplots(
            figure, len(releases), columns, margins=(0.6, 0.15, 0.5, 0.55), gaps=(0.5, 0.5)
        )
        for index, (axes, item) in enumerate(zip(panels, releases, strict=True)):
            simulated = (time, heights[0, index])
            _settling_panel(axes, table, item, simulated, result.problem.release_rule)
            if index % columns == 0:
                axes.set_ylabel("height of the tip [mm]")
            if index // columns == rows - 1:
                axes.set_xlabel("time [s]")
        style.legend(figure)
    return Path(path)


def _settling_panel(
    axes: Axes, table: style.Table, release: Release, simulated: tuple[Array, Array], rule: str
) -> None:
    """Draw the times [s] and heights [m] of one release, with its overshoots."""
    from softgrasp.continuum.settling import settling

    time, height = simulated
    settled, name = settling(time, height, rule), f"{MM * release.mass:g} g tip height"
    middle = float(np.mean(height[len(height) // 2 :]))
    table.plot(
        axes, time, MM * (height - middle), f"{name} simulated [mm]", color=style.POSITION,
        lw=1.1, label="simulated",
    )  # fmt: skip
    if release.times:
        measured = np.array(release.heights)
        measured -= np.mean(measured[len(measured) // 2 :])
        table.plot(
            axes, release.times, MM * measured, f"{name} measured [mm]", color=style.LOST, lw=0.8,
            label="measured",
        )  # fmt: skip
    table.plot(
        axes, settled.extremum_times, MM * (settled.extremum_heights - middle),
        f"{name} counted [mm]", ls="", marker="o", ms=3.5, color=style.TARGET, label="counted",
    )  # fmt: skip
    if np.isfinite(settled.time):
        axes.axvline(settled.time, color=style.MUTED, lw=0.9, ls="--")
    title = f"{MM * release.mass:g} g{', held out' if release.held_out else ''}: "
    title += f"{settled.overshoots}, {settled.time:.3f} s"
    if release.overshoots is not None:
        title += f"; measured {release.overshoots}, {release.settling_time:.3f} s"
    axes.set_title(title)


def draw_forces(result: CalibrationResult, path: str | Path) -> Path | None:
    """Draw tip force against pressure, and its residual (Hadi et al. 2025, Figures 5b and 7c)."""
    forces = result.problem.forces
    if not forces or "torques" not in result.residual:
        return None
    ends = max(force.pressure for force in forces)
    grid = [TipForce(pressure=float(p), force=0.0) for p in np.linspace(0.0, ends, 41)]
    stiffness, gain = (finger_values(result.finger, kind)[None] for kind in ("stiffness", "gain"))
    rig = VirtualExperiments(result.problem.replace(finger=result.finger))
    curve, there = (rig.forces(stiffness, gain, loads)[0] for loads in (grid, forces))
    with style.figure(path, 2.9) as (figure, table):
        left, right = style.subplots(figure, 2)
        pressures = [p.pressure / 1e3 for p in grid]
        table.plot(left, pressures, curve, "simulated force [N]", "pressure [kPa]",
                   color=style.POSITION, label="simulated")  # fmt: skip
        for held_out, name in ((False, "measured"), (True, "measured, held out")):
            some = [i for i, item in enumerate(forces) if item.held_out == held_out]
            if not some:
                continue
            x = np.array([forces[i].pressure / 1e3 for i in some])
            y = np.array([forces[i].force for i in some])
            face = "white" if held_out else style.LOST
            table.add({f"pressure, {name} [kPa]": x, f"force, {name} [N]": y,
                       f"simulated − {name} [N]": there[some] - y})  # fmt: skip
            for axes, values in ((left, y), (right, there[some] - y)):
                axes.plot(x, values, "o", color=style.LOST, mfc=face, ms=4, label=name)
        left.set_title("force at the tip [N]")
        right.set_title("simulated − measured [N]")
        right.axhline(0.0, color=style.MUTED, lw=0.8)
        left.legend()
        for axes in (left, right):
            axes.set_xlabel("pressure [kPa]")
    return Path(path)


def draw_parameters(result: EstimatedParameters, path: str | Path) -> Path | None:
    """Draw parameters with 95 % intervals and bounds, one panel per stage.

    Returns:
        None if no stage has several parameters.
    """
    stages = [stage for stage in result.stages if len(stage.names) > 1]
    if not stages:
        return None
    with style.figure(path, 2.9) as (figure, table):
        for axes, stage in zip(style.subplots(figure, len(stages)), stages, strict=True):
            unit, factor = _display_unit(stage)
            low, high = _interval_bars(stage).T
            columns = {"value": stage.values, "standard error": stage.uncertainty.errors,
                       "95 % from": low, "95 % to": high,
                       "lower bound": stage.lower, "upper bound": stage.upper}  # fmt: skip
            table.add({f"{stage.name} parameter": stage.names})
            table.add({f"{stage.name} {k} [{unit}]": factor * v for k, v in columns.items()})
            _parameters(axes, stage, set(result.undetermined))
    return Path(path)


def _parameters(axes: Axes, stage: StageResult, unknown: set[str]) -> None:
    unit, factor = _display_unit(stage)
    values, width = stage.values * factor, (stage.upper - stage.lower) * factor
    # infinite intervals are limited to twice the range
    ends = np.clip(_interval_bars(stage).T * factor, values - 2 * width, values + 2 * width)
    indices = np.arange(len(stage.names))
    low, high = float((stage.lower * factor).min()), float((stage.upper * factor).max())
    bottom = max(float(ends[0].min()), low - BEYOND * (high - low))
    top = min(float(ends[1].max()), high + BEYOND * (high - low))
    spare = 0.08 * (high - low)
    floor, ceiling = min(low, bottom) - spare, max(high, top) + spare
    axes.set_ylim(floor, ceiling)
    for index, name in enumerate(stage.names):
        known = name not in unknown
        color = style.EDGE if known else style.LOST
        axes.errorbar(
            index, values[index], yerr=np.abs(ends[:, index] - values[index])[:, None],
            color=color, fmt="o", ms=5, capsize=3, lw=1.3, mfc=color if known else "white",
        )  # fmt: skip
        # arrowheads where a bar exceeds the panel
        clipped = ((ends[0, index] < floor, 0.0, "v"), (ends[1, index] > ceiling, 1.0, "^"))
        for edge, marker in [(edge, marker) for beyond, edge, marker in clipped if beyond]:
            axes.plot([index], [edge], marker, ms=6, mew=0, color=color, clip_on=False,
                      transform=axes.get_xaxis_transform())  # fmt: skip
    for bound in (stage.lower, stage.upper):
        axes.hlines(bound * factor, indices - 0.5, indices + 0.5, color=style.MUTED, lw=0.8, ls=":")
    axes.set_xticks(indices, stage.names)
    axes.set_title(f"{stage.name} [{unit}]")


def _interval_bars(stage: StageResult) -> Array:
    """Return the 95 % intervals, (p, 2); from standard errors where intervals are unknown."""
    reach = 1.96 * np.nan_to_num(stage.uncertainty.errors, nan=np.inf, posinf=np.inf)
    about = np.stack([stage.values - reach, stage.values + reach], axis=1)
    return np.where(np.isfinite(stage.intervals), stage.intervals, about)


def _display_unit(stage: StageResult) -> tuple[str, float]:
    """Display unit and factor of the parameters of a stage."""
    if not stage.names[0].startswith(SYMBOLS[stage.name]):
        return stage.units[0], 1.0
    return SHOWN_AS[SYMBOLS[stage.name]]


def draw_correlation(result: EstimatedParameters, path: str | Path) -> Path | None:
    """Draw the correlation matrices of the estimates, one panel per stage.

    Returns:
        None if no stage has several parameters.
    """
    stages = [stage for stage in result.stages if len(stage.names) > 1]
    if not stages:
        return None
    count = len(stages)
    with style.figure(path, 3.4, 0.6 + 3.1 * count) as (figure, table):
        panels = style.subplots(figure, count, margins=(0.5, 0.8, 0.4, 0.35), gaps=(0.7, 0.3))
        for axes, stage in zip(panels, stages, strict=True):
            unknown = ~np.isfinite(stage.uncertainty.relative)
            shown = np.where(unknown | unknown[:, None], np.nan, stage.uncertainty.correlation)
            table.add({f"{stage.name} parameter": stage.names})
            table.add({f"{stage.name} correlation with {name}": row for name, row in
                       zip(stage.names, shown, strict=True)})  # fmt: skip
            axes.set_facecolor(style.RULE)
            heat_map = axes.imshow(shown, vmin=-1, vmax=1, cmap="RdBu_r")
            marks = np.arange(len(stage.names))
            axes.set_xticks(marks, stage.names)
            axes.set_yticks(marks, stage.names)
            axes.set_title(stage.name)
            axes.grid(visible=False)
        figure.colorbar(heat_map, cax=axes.inset_axes((1.06, 0.0, 0.05, 1.0)))
    return Path(path)


def draw_fitness(result: EstimatedParameters, path: str | Path) -> Path | None:
    """Draw the objective of all particles and the best so far (Hadi et al. 2025, Figure 8).

    Stages of less than ``MIN_STEPS`` steps, such as those of the joint estimate, have no panel.

    Returns:
        None where no stage has one.
    """
    searched = [stage for stage in result.stages if len(stage.history) >= MIN_STEPS]
    if not searched:
        return None
    with style.figure(path, 3.0) as (figure, table):
        panels = style.subplots(
            figure, len(searched), margins=(0.85, 0.15, 0.5, 0.35), gaps=(0.8, 0.3)
        )
        for axes, stage in zip(panels, searched, strict=True):
            unit = ""
            if isinstance(result, CalibrationResult) and stage.residual_unit:
                unit = _objective_unit(result.problem, stage)
            _fitness(axes, table, stage, unit)
    return Path(path)


def _objective_unit(problem: CalibrationProblem, stage: StageResult) -> str:
    if stage.name == "dampers" and problem.release_objective == "settling":
        return "s"
    squared = f"{stage.residual_unit}²"
    if stage.name == "torques":
        return {"squares": squared, "product": ""}.get(problem.force_objective, "N")
    return squared


def _fitness(axes: Axes, table: style.Table, stage: StageResult, unit: str) -> None:
    quantity = f"objective [{unit}]" if unit else "objective"
    swarm = [step for step in stage.history if len(step.fitness) > 1]
    for number, step in enumerate(swarm, start=1):
        axes.plot(
            np.full(len(step.fitness), number), step.fitness, ls="", marker=".", ms=2.5,
            color=style.SERIES[0], alpha=0.35, mew=0,
        )  # fmt: skip
    best = [step.best for step in stage.history]
    steps = "iteration" if len(swarm) == len(stage.history) else "step"
    table.plot(axes, np.arange(1, len(best) + 1), best, f"{stage.name} best {quantity}", steps,
               color=style.LOST, lw=1.4)  # fmt: skip
    if swarm:
        sizes = [len(step.fitness) for step in swarm]
        table.add({
            f"{stage.name} {steps} of particle": np.repeat(np.arange(len(swarm)) + 1, sizes),
            f"{stage.name} particle {quantity}": np.concatenate([item.fitness for item in swarm]),
        })  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlabel(steps)
    axes.locator_params(axis="x", integer=True)
    axes.set_ylabel(quantity)
    axes.set_title(f"{stage.name}, {stage.evaluations} evaluations")


# Photographs and videos


def draw_evidence(loaded: LoadedProblem, directory: Path) -> None:
    """Draw the steps of every photograph, and the tip path over every video's last frame.

    Raises:
        ResultError: The directory cannot be written.
    """
    from softgrasp.vision.figures import annotate_frame, steps_image

    for number, (mass, photo) in enumerate(loaded.photos, start=1):
        file = directory / f"photo_{number}_{1e3 * mass:g}g.png"
        write_png(file, steps_image(photo), INCHES)
    for number, (mass, track) in enumerate(loaded.tracks, start=1):
        frame = annotate_frame(track, len(track.time) - 1)
        write_png(directory / f"film_{number}_{1e3 * mass:g}g.png", frame, INCHES)


def _images_in(directory: Path) -> list[Figure]:
    """Return the images of measurements in a directory."""
    images = []
    for pattern, title, caption in EVIDENCE:
        paths = directory.glob(pattern)
        for path in sorted(paths, key=lambda path: int(path.stem.split("_")[1])):
            mass = path.stem.split("_", 2)[2].removesuffix("g")
            images.append(Figure(title.format(mass), path, caption))
    return images
