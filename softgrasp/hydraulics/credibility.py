"""Credibility of the calibration of an arm: whether recordings and model can belong together.

The residuals are assessed by a χ² test against the errors of recording and model, by F tests of
offsets and delays, and by other readings of the axes; and copies and implausible quantities are
reported, as for fingers (``calibration.credibility``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from softgrasp.calibration import (
    Alternative,
    Credibility,
    Finding,
    Journal,
    MisfitTest,
    Nuisance,
    PlausibleQuantity,
    Search,
    Stage,
    StageFit,
    implausible,
    least_squares_search,
    mean_squared_error,
    misfit_findings,
    root_mean_square,
)
from softgrasp.mechanics import Array

ArmCalibrationProblem = Any
ArmMotion = Any
"""Of ``hydraulics.calibration``, which imports this module."""
BETTER = 3.0
"""Ratio of residuals from which another reading is reported [–]."""
ASSUMED = {"m": 2e-3, "rad": math.radians(1.0)}
"""Error of a recorded value where none is declared, by unit."""
AXES = {
    "the axes x and y are exchanged": ((1, 1.0), (0, 1.0), (2, 1.0)),
    "x has the other sign": ((0, -1.0), (1, 1.0), (2, 1.0)),
    "y has the other sign": ((0, 1.0), (1, -1.0), (2, 1.0)),
    "x and y have the other sign (the base is rotated by 180°)": ((0, -1.0), (1, -1.0), (2, 1.0)),
    "z has the other sign": ((0, 1.0), (1, 1.0), (2, -1.0)),
}
"""Other readings of the axes: column and sign of x, y and z."""


def assess_arm(problem: ArmCalibrationProblem, stage: Stage, position: Array) -> Credibility:
    """Assess the fit of an arm.

    Args:
        problem: Calibration problem.
        stage: Its stage.
        position: Fitted parameters, (p,).
    """
    motions = [one for one in problem.motions if not one.held_out]
    fit = StageFit(problem, stage, position)
    test = _misfit_test(fit, motions)
    quantities = tuple(_quantities(problem))
    findings = [*_copies(problem), *implausible(quantities), *misfit_findings(test)]
    alternatives: list[Alternative] = []
    if test.rejected:
        findings += fit.explained_by(list(_nuisances(fit, motions)))
        alternatives = _readings(fit, motions)
        findings += [
            Finding(stage.name, f"{stage.name}: the residual is {one.ratio:.2g} times smaller if "
                    f"{one.reading}", refutes=True)
            for one in alternatives[:1]
        ]  # fmt: skip
    findings.sort(key=lambda one: not one.refutes)
    return Credibility((test,), quantities, tuple(findings), tuple(alternatives))


def _misfit_test(fit: StageFit, motions: list[ArmMotion]) -> MisfitTest:
    stage, declared = fit.stage, fit.problem.measurement_error(fit.stage.unit)
    error = ASSUMED[stage.unit] if declared is None else declared
    # relative to the motion, as most of a coordinate may be the length of the arm
    spans = np.concatenate([
        np.broadcast_to(np.ptp(np.array(one.rows), axis=0), np.shape(one.rows)).ravel()
        for one in motions
    ])  # fmt: skip
    left = fit.residuals
    variance = error**2 + np.square(fit.problem.model_error * spans)
    chi_square = float((np.square(left) / variance).sum())
    freedom = max(len(left) - len(fit.position), 1)
    return MisfitTest(
        stage=stage.name,
        unit=stage.unit,
        error=error,
        source="assumed" if declared is None else "declared",
        residual=root_mean_square(left),
        chi_square=chi_square,
        freedom=freedom,
        p_value=float(stats.chi2.sf(chi_square, freedom)),
    )


def _nuisances(fit: StageFit, motions: list[ArmMotion]) -> Iterator[Nuisance]:
    """Yield an offset of each recorded column, and a delay of each motion."""
    simulated = fit.stage.simulate(fit.position[None])[0]
    shown = ("mm", 1e3, 5e-3) if fit.stage.unit == "m" else ("°", math.degrees(1.0), 0.02)
    ends = np.cumsum([np.size(one.rows) for one in motions])
    columns = [one.columns for one in motions]
    number = np.concatenate([
        np.tile(np.arange(len(names)), len(one.rows))
        for one, names in zip(motions, columns, strict=True)
    ])  # fmt: skip
    if all(names == columns[0] for names in columns):
        for index, name in enumerate(columns[0]):
            effect = (number == index).astype(float)
            sentence = f"{name} is {{}} too large in all rows"
            yield Nuisance(sentence, effect, f" {shown[0]}", shown[1], shown[2])
    for one, end in zip(motions, ends.tolist(), strict=True):
        rows = simulated[end - np.size(one.rows) : end].reshape(np.shape(one.rows))
        effect = np.zeros(len(simulated))
        slopes = np.gradient(rows, np.array(one.times), axis=0)
        effect[end - rows.size : end] = -np.nan_to_num(slopes).ravel()
        sentence = f"the recording of {one.name or 'a motion'} is {{}} late"
        yield Nuisance(sentence, effect, " ms", 1e3, 5e-3)


def _readings(fit: StageFit, motions: list[ArmMotion]) -> list[Alternative]:
    """Fit the arm with other readings of the axes; return those that fit much better."""
    stage = fit.stage
    width = 3 if motions[0].ends else 2
    now, results = root_mean_square(fit.residuals), []
    rows = stage.measured.reshape(-1, width)
    for reading, axes in AXES.items():
        if width == 2 and "z" in reading:
            continue
        measured = np.column_stack([sign * rows[:, column] for column, sign in axes[:width]])
        other = _reread(stage, measured.ravel())
        fitted = least_squares_search(Search(other, Journal(None, "")), other.block.middle)
        left = root_mean_square(np.nan_to_num(
            other.simulate(fitted[None])[0] - other.measured, nan=1e6
        ))  # fmt: skip
        if left * BETTER <= now:
            results.append(Alternative(stage.name, reading, now / max(left, 1e-12)))
    return sorted(results, key=lambda one: -one.ratio)


def _reread(stage: Stage, measured: Array) -> Stage:
    return replace(
        stage, measured=measured, fitness=lambda values: mean_squared_error(values, measured)
    )


def _copies(problem: ArmCalibrationProblem) -> Iterator[Finding]:
    named = zip(problem.labels, problem.motions, strict=True)
    for (name, a), (other, b) in combinations(named, 2):
        if a.rows != b.rows or np.ptp(a.rows) == 0.0:
            continue
        same = (a.pressures, a.torques, a.start) == (b.pressures, b.torques, b.start)
        sentence = f"arm: the recordings of {name} and {other} are equal to the last digit; " + (
            "it counts twice" if same else "one of them is a copy"
        )
        yield Finding("arm", sentence, refutes=not same)


def _quantities(problem: ArmCalibrationProblem) -> Iterator[PlausibleQuantity]:
    motions = problem.motions
    length = sum(section.length for section in problem.arm.sections)
    if motions[0].ends:
        points = np.concatenate([np.array(one.ends).reshape(-1, 3) for one in motions])
        reach = float(np.linalg.norm(points, axis=1).max()) / length
        yield PlausibleQuantity("distance of the recorded ends from the base over the arm's length",
                                reach, 0.1, 1.5, "", "compare mm and m")  # fmt: skip
    else:
        bend = max(abs(x) for one in motions for row in one.bends for x in row)
        yield PlausibleQuantity("largest recorded bend", math.degrees(bend), 0.1, 400.0, "°",
                                "compare degrees and radians")  # fmt: skip
    pressures = [p for one in motions for p in (*one.pressures, *(one.start or ()))]
    highest = max(map(abs, pressures), default=0.0)
    if highest > 0.0:
        yield PlausibleQuantity("highest pressure", highest / 1e3, 1.0, 5000.0, "kPa",
                                "pressures are in Pa")  # fmt: skip
    longest = max(one.times[-1] for one in motions)
    yield PlausibleQuantity("longest recording", longest, 0.02, 600.0, "s",
                            "compare s and ms")  # fmt: skip
