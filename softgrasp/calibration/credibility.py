"""Credibility of a calibration: whether its measurements and its model can belong together.

A fit always ends with numbers. ``assess_credibility`` assesses them by

- a χ² test of every stage, systematic errors, other readings and wrong rows (``refits``);
- copies among the measurements, and checks that need no fit (``measurement_checks``);
- a table of plausible quantities, such as force per pressure or settling times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.calibration.hypotheses import PRESSURE_UNITS, hypotheses_of
from softgrasp.calibration.measurement_checks import (
    Finding,
    PlausibleQuantity,
    doubt,
    implausible,
    measurement_findings,
    plausible_quantities,
)
from softgrasp.calibration.objectives import root_mean_square
from softgrasp.calibration.optimizers import least_squares_search
from softgrasp.calibration.refits import (
    LEAVES,
    Alternative,
    AngleTable,
    Hypothesis,
    MisfitTest,
    StageFit,
)
from softgrasp.calibration.stages import Search, StageName, VirtualExperiments, stage_of
from softgrasp.calibration.track_checks import Tracks, series_findings
from softgrasp.description.calibration import CalibrationProblem, FreeBend, HungAngles
from softgrasp.io.files import plain_data
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_dynamics import first_mode

RATE = (2.5, 4.0)
"""Logarithm of the ratio of measured and simulated frequency of releases, over its standard error,
from which it is reported, and from which a slower finger refutes the fit [–]."""
FASTER = 1.8
"""Ratio from which a faster one does: silicone is stiffer in vibration than at rest [–]."""
COUNTED = 0.03
"""Standard error of the frequency of one release, from overshoots and settling time [–]."""
WIDER = 20.0
"""Factor by which bounds are widened where a parameter is on one of them [–]."""
KNOWN = 0.3
"""Relative standard error of a stiffness below which it is compared with the others [–]."""
UNEVEN, UNEVEN_BOUND, SURELY = 8.0, 4.0, 3.0
"""Ratio of a stiffness and the median from which it is reported, the same on a bound, and the same
two standard errors nearer to the median [–]."""
MIN_RISE, RISE = 1e-3, (0.6, 1.6)
"""Smallest rise of a released tip that is compared [m], and usual range of the measured one over
that of the springs [–]."""
BENDING = (0.75, 1.33)
"""Usual range of the angles under pressure over those that gains from tip forces give [–]."""


@dataclass(frozen=True)
class Credibility:
    """Verdict on a fit, with its reasons.

    Args:
        tests: χ² test of each stage.
        quantities: Plausible quantities.
        findings: Reasons for doubt, those that refute first.
        alternatives: Other readings that fit better, the best first.
    """

    tests: tuple[MisfitTest, ...]
    quantities: tuple[PlausibleQuantity, ...]
    findings: tuple[Finding, ...]
    alternatives: tuple[Alternative, ...] = field(default=())

    @property
    def credible(self) -> bool:
        """Whether nothing refutes the fit."""
        return not any(finding.refutes for finding in self.findings)

    @property
    def sentence(self) -> str:
        """Verdict in one sentence, with the main reason."""
        if self.credible:
            doubts = len(self.findings)
            text = f", with {doubts} reservation{'s' * (doubts > 1)}" if doubts else ""
            if any(test.source == "assumed" for test in self.tests):
                text += "; errors of measurement are assumed, not declared"
            return f"the fit is credible{text}"
        refuting = [finding for finding in self.findings if finding.refutes]
        # a cause says more than a large residual, also where it is only a reservation
        stages = {item.stage for item in refuting}
        causes = [item for item in (*refuting, *self.findings) if item.stage in stages]
        misfits = {finding.sentence for test in self.tests for finding in test.findings}
        reason = next((cause for cause in causes if cause.sentence not in misfits), refuting[0])
        count = len(refuting) - (reason in refuting)
        more = f" (and {count} more)" if count else ""
        return f"the fit is not credible: {reason.sentence}{more}"

    def document(self) -> dict[str, Any]:
        """Convert to plain values for a JSON file; null where a number is not finite."""
        whole: dict[str, Any] = plain_data(self)
        return {"credible": self.credible, "sentence": self.sentence} | whole


def assess_credibility(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    fitted: Mapping[StageName, Array],
    stiffness: Array,
    copies: tuple[tuple[str, str], ...] = (),
) -> Credibility:
    """Assess the fit of a finger.

    Args:
        problem: Calibration problem.
        experiments: Virtual experiments of its finger.
        fitted: Parameters of each fitted stage, (p,): those with the smallest residuals, without
            systematic errors.
        stiffness: Stiffness of the later stages, joint by joint [N·m/rad], (n,).
        copies: Stage and sentence of each copied measurement.
    """
    tests: list[MisfitTest] = []
    alternatives: list[Alternative] = []
    checked = [*measurement_findings(problem), *series_findings(problem)]
    results: list[Finding] = []
    for name, position in fitted.items():
        stage = stage_of(name, problem, experiments, stiffness)
        assert stage is not None  # it was fitted
        used = stage.block.of_joints(position) if name == "springs" else stiffness
        fit = FingerFit(problem, stage, position, experiments, used)
        wrong_springs = any(
            finding.refutes and finding.stage == "springs" for finding in checked + results
        )
        if name != "springs" and wrong_springs:  # it was fitted with springs that are wrong
            tests.append(fit.misfit_test())
            results += tests[-1].findings
            continue
        known = any(finding.refutes and finding.stage == name for finding in checked)
        test, named, better, rest = fit.assess(known=known)
        assert isinstance(rest, FingerFit)
        tests.append(test)
        alternatives += better
        results += [*named, *rest.others()]
        problem = rest.problem  # without wrong rows
    quantities = tuple(plausible_quantities(problem))
    # what a wrong row alone makes doubtful is no finding of its own
    checked = [finding for finding in checked if finding.refutes]
    checked += [finding for finding in measurement_findings(problem) if not finding.refutes]
    findings = [Finding(stage, sentence, refutes=False) for stage, sentence in copies]
    findings += [*checked, *implausible(quantities), *results]
    findings.sort(key=lambda item: not item.refutes)
    return Credibility(tuple(tests), quantities, tuple(findings), tuple(alternatives))


@dataclass(frozen=True)
class FingerFit(StageFit):
    """Fit of a stage of a finger.

    Args:
        problem: Calibration problem.
        stage: Stage.
        position: Fitted parameters, (p,).
        experiments: Virtual experiments of the finger.
        stiffness: Stiffness joint by joint [N·m/rad], (n,).
    """

    problem: CalibrationProblem
    experiments: VirtualExperiments
    stiffness: Array

    def hypotheses(self) -> Iterator[Hypothesis]:
        """Return the hypotheses about faults of the measurements of the stage."""
        return hypotheses_of(
            self.problem, self.experiments, self.stage, self.stiffness, self.position
        )

    def better_readings(self) -> list[Alternative]:
        """Fit the stage with other readings and other bounds; return those that fit much better."""
        better = [*self._beyond_bounds(), *super().better_readings()]
        return sorted(better, key=lambda item: -item.ratio)

    def _on_bounds(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which parameters are on the lower and on the upper bound, (p,) each."""
        block, margin = self.stage.block, 1e-3
        low = self.position <= (1.0 + margin) * block.lower
        return np.asarray(low), np.asarray(self.position >= (1.0 - margin) * block.upper)

    def _beyond_bounds(self) -> list[Alternative]:
        """Fit the stage with wider bounds, where a parameter is on one of them, and compare."""
        block = self.stage.block
        known = block.cells is None and all(block.relative)
        if self.is_negligible or not known or not np.any(self._on_bounds()):
            return []
        wider = replace(block, lower=block.lower / WIDER, upper=block.upper * WIDER)
        other = replace(self.stage, block=wider)
        fitted = self.fitted(other, self.position)
        left = (fitted < block.lower) | (fitted > block.upper)
        names = ", ".join(name for name, beyond in zip(block.names, left, strict=True) if beyond)
        reading = (
            f"the {block.kind} {LEAVES} ({names}); widen the bounds, or see whether "
            "something holds these joints"
        )
        better = self.compared(reading, other, fitted)
        return [better] if better else []

    def table(self) -> AngleTable | None:
        """Return the rows that the stage fits; None where it fits no angles."""
        if self.stage.unit != "rad":
            return None
        block, name = self.stage.block, self._rows
        rows = [
            (i, item) for i, item in enumerate(getattr(self.problem, name)) if not item.held_out
        ]
        hanging = name == "hung"
        loads = [1e3 * item.mass if hanging else item.pressure / 1e3 for _, item in rows]

        def at(parameters: Array, loads: Array, row: int) -> Array:
            angles, joints = rows[row][1].angles, block.of_joints(parameters[None])
            if hanging:
                hung = [HungAngles(mass=1e-3 * x, angles=angles) for x in loads.tolist()]
                return np.concatenate(self.experiments.hung(joints, hung))
            bends = [FreeBend(pressure=1e3 * x, angles=angles) for x in loads.tolist()]
            return np.concatenate(self.experiments.bends(self.stiffness[None], joints, bends))

        counts = tuple(len(item.angles) for _, item in rows)
        numbers = tuple(number for number, _ in rows)
        return AngleTable(np.array(loads), counts, "g" if hanging else "kPa", at, numbers)

    @property
    def _rows(self) -> str:
        """Field of the problem with the rows of angles of the stage."""
        return "hung" if self.stage.name == "springs" else "bends"

    def without(self, values: NDArray[np.bool_]) -> FingerFit:
        """Return the fit without the rows of some values, which it holds out."""
        table = self.table()
        assert table is not None  # it named rows of it
        gone = {
            number for row, number in enumerate(table.numbers)
            if values[table.values(range(row, row + 1))].any()
        }  # fmt: skip
        rows = tuple(
            item.replace(held_out=item.held_out or number in gone)
            for number, item in enumerate(getattr(self.problem, self._rows))
        )
        problem = self.problem.replace(**{self._rows: rows})
        stage = stage_of(self.stage.name, problem, self.experiments, self.stiffness)
        assert stage is not None  # others are left
        position = least_squares_search(Search(stage), self.position)
        springs = stage.name == "springs"
        used = stage.block.of_joints(position) if springs else self.stiffness
        return FingerFit(problem, stage, position, self.experiments, used)

    def inherited(self) -> Array | None:
        """Return the effect of the stiffness of each joint on angles under pressure, (m, n)."""
        if self.stage.name != "torques" or self.stage.unit != "rad":
            return None
        simulated = np.nan_to_num(self.stage.simulate(self.position[None])[0])
        bends = [bend for bend in self.problem.bends if not bend.held_out]
        joint = np.concatenate([np.arange(len(bend.angles)) for bend in bends])
        parts = simulated[:, None] * (joint[:, None] == np.arange(joint.max() + 1))
        return np.asarray(parts / np.maximum(np.linalg.norm(parts, axis=0), 1e-12))

    def is_suspicious(self) -> bool:
        """Return whether a parameter is on a bound or unlike the others."""
        return bool(np.any(self._on_bounds()) or self.uneven_stiffness())

    def others(self) -> list[Finding]:
        """Compare the parameters with one another and with other measurements."""
        if self.stage.name == "dampers":
            return [*self.frequency(), *self.tracks(), *self.rise()]
        return self.uneven_stiffness() if self.stage.name == "springs" else self.bends()

    def uneven_stiffness(self) -> list[Finding]:
        """Compare the stiffness of each joint that is determined with that of the others."""
        stage = self.stage
        if stage.name != "springs" or stage.unit != "rad" or stage.block.cells is not None:
            return []
        slopes = self.slopes()
        error = root_mean_square(self.residuals)
        covariance = np.linalg.pinv(slopes.T @ slopes) * error**2
        errors = np.sqrt(np.diag(covariance))
        if (errors < KNOWN).sum() < 3:
            return []
        apart = np.log(self.position)
        apart -= np.median(apart[errors < KNOWN])
        sure = np.abs(apart) - 2.0 * errors > math.log(SURELY)
        worst = int(np.argmax(np.where(sure, np.abs(apart), 0.0)))
        ratio = math.exp(apart[worst])
        bounded = any(ends[worst] for ends in self._on_bounds())
        smallest = UNEVEN_BOUND if bounded else UNEVEN
        if not sure[worst] or max(ratio, 1.0 / ratio) < smallest:
            return []
        limit = f"more than {smallest:g} times" if ratio > 1.0 else f"less than 1/{smallest:g} of"
        sentence = (
            f"springs: {stage.block.names[worst]} is {limit} the median of the joints; do the "
            "weights hang elsewhere than at the tip, does something hold the finger, or are "
            "columns exchanged?"
        )
        return [doubt(sentence)]

    def bends(self) -> list[Finding]:
        """Compare the angles under pressure with those of gains that were fitted to forces."""
        by_forces = self.stage.unit == "N"
        bends = [bend for bend in self.problem.bends if by_forces and bend.pressure > 0.0]
        gains = self.stage.block.of_joints(self.position[None])
        simulated = self.experiments.bends(self.stiffness[None], gains, bends) if bends else []
        if not simulated:
            return []
        shown = np.concatenate(simulated, axis=-1)[0]
        measured = np.concatenate([np.array(bend.angles) for bend in bends])
        known = np.isfinite(shown)
        squares = float(shown[known] @ shown[known])
        ratio = float(shown[known] @ measured[known]) / squares if squares else 1.0
        if BENDING[0] < ratio < BENDING[1]:
            return []
        units = [unit for unit, factor in PRESSURE_UNITS.items() if 0.8 < ratio / factor < 1.25]
        hint = f", such as {' or '.join(units)} instead of kPa" if units else ""
        sentence = (
            f"torques: the angles under pressure are {ratio:.2g} times those that the gains from "
            f"tip forces give; compare the units of their pressures{hint}, and whether the scale "
            "is square to the force of the tip"
        )
        return [doubt(sentence)]

    def rise(self) -> list[Finding]:
        """Compare how far the tip rises after a release with how far the weight had bent it."""
        traced = [
            release for release in self.problem.releases if release.times and release.mass > 0.0
        ]
        for item in traced:
            bent, free = self.experiments.tip_heights(self.stiffness, np.array([item.mass, 0.0]))
            expected = float(free - bent)
            settled = float(np.median(item.heights[-max(len(item.heights) // 10, 3) :]))
            risen = settled - item.heights[0]
            if expected < MIN_RISE or not math.isfinite(expected):
                continue
            moves = "rises" if risen > 0.0 else "falls"
            start = (
                f"dampers: the tip {moves} by {1e3 * abs(risen):.3g} mm after the release of "
                f"{1e3 * item.mass:g} g, which had bent it down by {1e3 * expected:.3g} mm"
            )
            if risen < -0.3 * expected:
                words = "are heights measured downwards, as rows of an image are?"
                return [doubt(f"{start}; {words}", refutes=True)]
            if not RISE[0] < risen / expected < RISE[1]:
                words = (
                    "does the video begin at the release, and are its scale and the weight right?"
                )
                return [doubt(f"{start}; {words}")]
        return []

    def tracks(self) -> list[Finding]:
        """Compare tracked heights with other readings of them; if none fits, look for jumps."""
        if self.stage.unit != "m":
            return []
        tracks = Tracks.of(self.problem, self.experiments, self.stiffness, self.stage.block)
        return [*tracks.readings()] or [*tracks.jumps(self.residuals)]

    def frequency(self) -> list[Finding]:
        """Compare the frequency of releases with that of springs and masses."""
        if self.stage.unit != "s":
            return []
        measured = np.split(self.stage.measured, 2)
        simulated = np.split(self.stage.simulate(self.position[None])[0], 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = (measured[1] / measured[0]) / (simulated[1] / simulated[0])
        ratios = ratios[np.isfinite(ratios) & (ratios > 0.0)]
        if not ratios.size:
            return []
        ratio = float(np.exp(np.median(np.log(ratios))))
        # a frequency has half the relative error of the stiffness
        error = math.hypot(0.5 * self.problem.model_error, COUNTED / math.sqrt(len(ratios)))
        away = abs(math.log(ratio)) / error
        if away < RATE[0]:
            return []
        mode = first_mode(self.problem.finger, self.stiffness)
        delay = _common_delay(measured[0], simulated[0] * measured[1] / simulated[1])
        late = f"a clock that starts {delay:.2g} s before the release, " if delay else ""
        late += "a weight or hook that stayed on the tip, " if ratio < 1.0 else ""
        sentence = (
            f"dampers: releases oscillate {ratio:.3g} times as fast as springs and masses do "
            f"({mode.frequency:.3g} Hz); compare {late}the frame rate, the counting of overshoots, "
            "the masses and lengths of the finger, and its stiffness, which a camera that is not "
            "square to the finger or a tilted clamp falsifies"
        )
        refutes = ratio > FASTER or (ratio < 1.0 and away > RATE[1])
        return [doubt(sentence, refutes=refutes)]


def _common_delay(measured: Array, expected: Array) -> float | None:
    """Return the delay by which all times are later than expected; None where they are not.

    Args:
        measured: Measured settling times [s], (l,).
        expected: Those of the counted overshoots at the simulated frequency [s], (l,).
    """
    known = np.isfinite(measured) & np.isfinite(expected)
    later, times = (measured - expected)[known], expected[known]
    if len(later) < 3 or later.mean() <= 0.0:
        return None
    proportional = measured[known] - times * float(times @ measured[known]) / float(times @ times)
    if later.std() > 0.5 * root_mean_square(proportional):
        return None
    return float(later.mean())
