"""Credibility of the calibration of an arm: whether recordings and model can belong together.

The residuals are assessed by a χ² test against the errors of recording and model, by F tests of
offsets and delays, and by other readings of the axes; and copies and implausible quantities are
reported, as for fingers (``calibration.credibility``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from softgrasp.calibration import (
    Assessment,
    Credibility,
    Finding,
    Hypothesis,
    MisfitTest,
    Nuisance,
    PlausibleQuantity,
    Stage,
    StageFit,
    implausible,
)
from softgrasp.mechanics import Array

ArmCalibrationProblem = Any
ArmMotion = Any
"""Of ``hydraulics.calibration``, which imports this module."""
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
    fit = ArmFit(
        problem, stage, position, [motion for motion in problem.motions if not motion.held_out]
    )
    test = fit.misfit_test()
    done = fit.assess() if test.rejected else Assessment(test, [], [], fit)
    quantities = tuple(_quantities(problem))
    findings = [*_copies(problem), *implausible(quantities), *done.findings]
    findings.sort(key=lambda one: not one.refutes)
    return Credibility((test,), quantities, tuple(findings), tuple(done.alternatives))


@dataclass(frozen=True)
class ArmFit(StageFit):
    """Fit of an arm to recorded motions."""

    motions: list[ArmMotion]

    def misfit_test(self) -> MisfitTest:
        """Test the residuals by χ², with a model error relative to the motion."""
        stage, declared = self.stage, self.problem.measurement_error(self.stage.unit)
        error = ASSUMED[stage.unit] if declared is None else declared
        # relative to the motion, as most of a coordinate may be the length of the arm
        spans = np.concatenate([
            np.broadcast_to(np.ptp(np.array(motion.rows), axis=0), np.shape(motion.rows)).ravel()
            for motion in self.motions
        ])  # fmt: skip
        source = "assumed" if declared is None else "declared"
        by_model = self.problem.model_error * spans
        return self.chi_square(error, source, by_model, len(self.position))

    def hypotheses(self) -> Iterator[Hypothesis]:
        """Yield an offset of each recorded column, a delay of each motion, and other axes."""
        simulated = self.stage.simulate(self.position[None])[0]
        unit, material = ("mm", 5e-3) if self.stage.unit == "m" else ("°", 0.02)
        ends = np.cumsum([np.size(motion.rows) for motion in self.motions])
        columns = [motion.columns for motion in self.motions]
        number = np.concatenate([
            np.tile(np.arange(len(names)), len(one.rows))
            for one, names in zip(self.motions, columns, strict=True)
        ])  # fmt: skip
        if all(names == columns[0] for names in columns):
            for index, name in enumerate(columns[0]):
                effect = (number == index).astype(float)
                sentence = f"{name} is {{}} too large in all rows"
                yield Nuisance(sentence, effect, unit, material)
        for one, end in zip(self.motions, ends.tolist(), strict=True):
            rows = simulated[end - np.size(one.rows) : end].reshape(np.shape(one.rows))
            effect = np.zeros(len(simulated))
            slopes = np.gradient(rows, np.array(one.times), axis=0)
            effect[end - rows.size : end] = -np.nan_to_num(slopes).ravel()
            sentence = f"the recording of {one.name or 'a motion'} is {{}} late"
            yield Nuisance(sentence, effect, "ms", 5e-3)
        width = 3 if self.motions[0].ends else 2
        rows = self.stage.measured.reshape(-1, width)
        for reading, axes in AXES.items():
            if width == 3 or "z" not in reading:
                columns = [sign * rows[:, column] for column, sign in axes[:width]]
                yield reading, self.stage.reread(np.column_stack(columns).ravel())


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
        points = np.concatenate([np.array(motion.ends).reshape(-1, 3) for motion in motions])
        reach = float(np.linalg.norm(points, axis=1).max()) / length
        yield PlausibleQuantity("distance of the recorded ends from the base over the arm's length",
                                reach, 0.1, 1.5, "", "compare mm and m")  # fmt: skip
    else:
        bend = max(abs(x) for motion in motions for row in motion.bends for x in row)
        yield PlausibleQuantity("largest recorded bend", math.degrees(bend), 0.1, 400.0, "°",
                                "compare degrees and radians")  # fmt: skip
    pressures = [p for motion in motions for p in (*motion.pressures, *(motion.start or ()))]
    highest = max(map(abs, pressures), default=0.0)
    if highest > 0.0:
        yield PlausibleQuantity("highest pressure", highest / 1e3, 1.0, 5000.0, "kPa",
                                "pressures are in Pa")  # fmt: skip
    longest = max(motion.times[-1] for motion in motions)
    yield PlausibleQuantity("longest recording", longest, 0.02, 600.0, "s",
                            "compare s and ms")  # fmt: skip
