"""Credibility of a calibration: whether its measurements and its model can belong together.

A fit always ends with numbers. ``assess_credibility`` assesses them by

- a χ² test of every stage: residuals against measurement error and model error;
- copies among the measurements;
- a table of plausible quantities, such as force per pressure or settling times;
- systematic errors that would explain the residuals, such as a tilted base or a tare, by an
  F test of one more parameter each;
- other readings of the measurements that would fit better, such as forces in grams.

References: Bevington and Robinson, *Data Reduction and Error Analysis for the Physical
Sciences* (2003), ch. 11, for χ²; Seber and Lee, *Linear Regression Analysis* (2003), ch. 4 and
10, for F tests and outliers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy import stats

from softgrasp.calibration.alternatives import (
    BETTER,
    FIRST_COLUMN,
    NEGLIGIBLE,
    PRESSURE_UNITS,
    Alternative,
    better_readings,
    on_bounds,
)
from softgrasp.calibration.forward_models import first_mode
from softgrasp.calibration.measurement_checks import (
    MIN_REPEATS,
    Finding,
    PlausibleQuantity,
    implausible,
    measurement_findings,
    plausible_quantities,
)
from softgrasp.calibration.objectives import root_mean_square
from softgrasp.calibration.optimizers import jacobian
from softgrasp.calibration.series_checks import series_findings
from softgrasp.calibration.stages import (
    Search,
    Stage,
    StageName,
    VirtualExperiments,
    stage_of,
)
from softgrasp.calibration.systematic_errors import Nuisance, nuisances_of
from softgrasp.calibration.track_checks import Tracks
from softgrasp.calibration.wrong_rows import table_of, wrong_rows
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.mechanics.transforms import Array

UNLIKELY = 1e-5
"""Probability by chance below which a test rejects [–]."""
DOUBTFUL = 0.01
"""The same below which other readings are tried."""
ASSUMED_FRACTION = 0.5
"""χ² over its degrees of freedom from which they are tried where the error is assumed, as good
measurements are better than that [–]."""
ASSUMED = {"rad": (math.radians(1.0), 0.0), "N": (0.01, 0.03), "s": (0.002, 0.1), "m": (1e-4, 0.2)}
"""Measurement error where none is declared, by unit: absolute [unit], and relative to the root
mean square of the measured values [–]. Angles: photographs of 320 pixels (docs/calibration.md)."""
RATE = (2.5, 4.0)
"""Logarithm of the ratio of measured and simulated frequency of releases, over its standard error,
from which it is reported, and from which a slower finger refutes the fit [–]."""
FASTER = 1.8
"""Ratio from which a faster one does: silicone is stiffer in vibration than at rest [–]."""
COUNTED = 0.03
"""Standard error of the frequency of one release, from overshoots and settling time [–]."""
UNLIKELY_CAUSE = 1e-4
"""The same for the F tests of all systematic errors of a stage together [–]."""
EXPLAINED = 0.3
"""Share of the sum of squares that one systematic error must explain to be reported [–]."""
SHOWN = 5
"""Number of other readings that a sentence names at most."""
KNOWN = 0.3
"""Relative standard error of a stiffness below which it is compared with the others [–]."""
UNEVEN, UNEVEN_BOUND, SURELY = 8.0, 4.0, 3.0
"""Ratio of a stiffness and the median from which it is reported, the same on a bound, and the same
two standard errors nearer to the median [–]."""
MIN_RISE, RISE = 1e-3, (0.6, 1.6)
"""Smallest rise of a released tip that is compared [m], and usual range of the measured one over
that of the springs [–]."""
BENDING = (0.6, 1.6)
"""Usual range of the angles under pressure over those that gains from tip forces give [–]."""
PREFERENCE = 1.5
"""Ratio of the residuals that a wrong row and a systematic error leave, below which the row is
reported [–]."""
SEVERE = 0.8
"""Share from which the fit is not credible [–]."""
DETERMINED = 1e-2
"""Singular value over the largest from which a combination of parameters can absorb an error."""
RELATED = 0.9
"""Correlation of effects from which two systematic errors cannot be distinguished [–]."""


@dataclass(frozen=True)
class MisfitTest:
    """χ² test of the residuals of a stage.

    Args:
        stage: Stage.
        unit: Unit of the residuals.
        error: Standard error of a measured value [unit].
        source: ``declared``, ``repeats`` or ``assumed``.
        residual: Root mean square of the residuals [unit].
        chi_square: Σ (residual/error)², with the model error added to the error.
        freedom: Measured values minus determined parameters.
        p_value: Probability of such a χ² or a larger one by chance.
    """

    stage: str
    unit: str
    error: float
    source: str
    residual: float
    chi_square: float
    freedom: int
    p_value: float

    @property
    def rejected(self) -> bool:
        """Whether the test rejects the fit."""
        return self.p_value < UNLIKELY


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
        return not any(one.refutes for one in self.findings)

    @property
    def sentence(self) -> str:
        """Verdict in a sentence."""
        if self.credible:
            doubts = len(self.findings)
            return "the fit is credible" + (f", with {doubts} reservation{'s' * (doubts > 1)}"
                                            if doubts else "")  # fmt: skip
        reasons = [one.sentence for one in self.findings if one.refutes]
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        return f"the fit is not credible: {reasons[0]}{more}"

    def document(self) -> dict[str, Any]:
        """Convert to plain values for a JSON file."""
        return {"credible": self.credible, "sentence": self.sentence} | asdict(self)

    @classmethod
    def from_document(cls, data: Mapping[str, Any]) -> Credibility:
        """Restore from ``document``."""
        return cls(
            tests=tuple(MisfitTest(**one) for one in data["tests"]),
            quantities=tuple(PlausibleQuantity(**one) for one in data["quantities"]),
            findings=tuple(Finding(**one) for one in data["findings"]),
            alternatives=tuple(Alternative(**one) for one in data["alternatives"]),
        )


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
    quantities = tuple(plausible_quantities(problem))
    findings = [Finding(stage, sentence, refutes=False) for stage, sentence in copies]
    checked = [*measurement_findings(problem), *series_findings(problem)]
    findings += checked
    findings += implausible(quantities)
    for name, position in fitted.items():
        stage = stage_of(name, problem, experiments, stiffness)
        assert stage is not None  # it was fitted
        used = stage.block.of_joints(position) if name == "springs" else stiffness
        fit = _Fit(problem, stage, position, experiments, used)
        test = fit.misfit_test()
        tests.append(test)
        rejected = test.rejected
        findings += misfit_findings(test)
        if name != "springs" and any(one.refutes for one in findings if one.stage == "springs"):
            continue  # it was fitted with springs that are wrong
        doubtful = test.p_value < DOUBTFUL or (
            test.source == "assumed" and test.chi_square > ASSUMED_FRACTION * test.freedom
        )
        explained = fit.explanation()
        uneven = fit.uneven_stiffness()
        doubtful = doubtful or bool(explained or uneven) or fit.on_bound
        known = any(one.refutes and one.stage == name for one in checked)
        readings = better_readings(problem, experiments, stage, used, position) if doubtful else []
        if known:  # the cause; another reading has to be much better
            explained, readings = [], [one for one in readings if one.ratio >= BETTER]
        alternatives += readings
        findings += [*uneven, *_readings(readings, rejected)]
        findings += [one for one in explained if not one.is_worse_than(readings)]
        if name == "torques" and stage.unit == "N":
            findings += fit.bends()
        if name == "dampers":
            findings += [*fit.frequency(), *fit.tracks(), *fit.rise()]
    findings.sort(key=lambda one: not one.refutes)
    return Credibility(tuple(tests), quantities, tuple(findings), tuple(alternatives))


def misfit_findings(test: MisfitTest) -> list[Finding]:
    """Return the finding that refutes a fit by its χ² test; none where it passes."""
    if not test.rejected:
        return []
    scale, unit = _shown(test.unit)
    sentence = (
        f"{test.stage}: residuals of {scale * test.residual:.3g} {unit} rms are larger than the "
        f"{test.source} error of {scale * test.error:.3g} {unit} permits (χ² = "
        f"{test.chi_square:.3g} with {test.freedom} degrees of freedom, p = {test.p_value:.1g})"
    )
    return [Finding(test.stage, sentence, refutes=True)]


def _shown(unit: str) -> tuple[float, str]:
    return {"rad": (math.degrees(1.0), "°"), "m": (1e3, "mm")}.get(unit, (1.0, unit))


def _readings(alternatives: list[Alternative], rejected: bool) -> Iterator[Finding]:
    if alternatives:
        best = alternatives[0]
        others = [one.reading for one in alternatives[1:SHOWN] if one.ratio > 0.5 * best.ratio]
        more = f"; nearly as good: {'; '.join(others)}" if others else ""
        sentence = f"the residual is {best.ratio:.2g} times smaller if {best.reading}{more}"
        yield Finding(best.stage, f"{best.stage}: {sentence}", refutes=rejected)


@dataclass(frozen=True)
class Explanation(Finding):
    """Systematic error that explains the residuals of a stage.

    Args:
        fraction: Share of the squared residuals that it explains [–].
    """

    fraction: float

    def is_worse_than(self, readings: Sequence[Alternative]) -> bool:
        """Return whether another reading leaves residuals of less than half the size."""
        left = 0.5 * math.sqrt(max(1.0 - self.fraction, 0.0))
        return any(1.0 / one.ratio < left for one in readings if one.reading != FIRST_COLUMN)


def _alone(fraction: float) -> str:
    """Return the end of the sentence of an error that explains a part of the residuals."""
    return f": this alone explains {100 * fraction:.3g} % of the squared residuals"


# Tests of one stage


class AssessedProblem(Protocol):
    """Problem with the errors by which its fit is assessed."""

    @property
    def model_error(self) -> float:
        """Error of the model relative to a measured value [–]."""

    def measurement_error(self, unit: str) -> float | None:
        """Return the declared error of values in a unit; None where there is none."""


@dataclass(frozen=True)
class StageFit:
    """Fit of one stage with its tests.

    Args:
        problem: Its errors.
        stage: Stage.
        position: Fitted parameters, (p,).
    """

    problem: AssessedProblem
    stage: Stage
    position: Array

    @property
    def residuals(self) -> Array:
        """Measured minus simulated values, without counts."""
        simulated = self.stage.simulate(self.position[None])[0]
        return np.asarray((self.stage.measured - simulated)[self.stage.timed])

    def misfit_test(self) -> MisfitTest:
        """Test the residuals by χ² against the errors of measurement and model."""
        stage = self.stage
        measured = stage.measured[stage.timed]
        error, source = self._error(measured)
        left = self.residuals
        variance = error**2 + np.square(self.problem.model_error * measured)
        chi_square = float((np.square(left) / variance).sum())
        freedom = max(len(left) - self._determined(), 1)
        return MisfitTest(
            stage=stage.name,
            unit=stage.unit,
            error=error,
            source=source,
            residual=root_mean_square(left),
            chi_square=chi_square,
            freedom=freedom,
            p_value=float(stats.chi2.sf(chi_square, freedom)),
        )

    def _error(self, measured: Array) -> tuple[float, str]:
        declared = self.problem.measurement_error(self.stage.unit)
        if declared is not None:
            return declared, "declared"
        groups: dict[str, list[float]] = defaultdict(list)
        labels = [x for x, timed in zip(self.stage.labels, self.stage.timed, strict=True) if timed]
        for label, value in zip(labels, measured.tolist(), strict=True):
            groups[label].append(value)
        freedom = sum(len(group) - 1 for group in groups.values())
        if freedom >= MIN_REPEATS and not self.stage.labels[0].startswith("height"):
            squares = sum(float(np.square(np.array(x) - np.mean(x)).sum()) for x in groups.values())
            return max(math.sqrt(squares / freedom), 1e-12), "repeats"
        absolute, relative = ASSUMED[self.stage.unit]
        return max(absolute, relative * root_mean_square(measured)), "assumed"

    def _slopes(self) -> Array:
        if not self.stage.smooth:
            return np.asarray(self.stage.measured[self.stage.timed][:, None])  # one damping
        search = Search(self.stage)
        at = search.values(self.position[None])[0]
        return np.asarray(np.nan_to_num(jacobian(search, self.position, at))[self.stage.timed])

    def _determined(self) -> int:
        """Number of combinations of parameters that the measurements determine."""
        singular = np.linalg.svd(self._slopes(), compute_uv=False)
        return int((singular > DETERMINED * max(float(singular.max(initial=0.0)), 1e-300)).sum())

    def explained_by(
        self, nuisances: Sequence[Nuisance], inherited: Array | None = None
    ) -> list[Explanation]:
        """Test one more parameter at a time; report the one that explains most.

        Args:
            nuisances: Systematic errors with their effects on the timed values.
            inherited: Effects of errors of earlier stages, which explain residuals first, (m, e).
        """
        left = self.residuals
        slopes = self._slopes() if nuisances else np.zeros((len(left), 0))
        basis, singular, _ = np.linalg.svd(slopes, full_matrices=False)
        basis = basis[:, singular > DETERMINED * singular.max(initial=0.0)]
        if inherited is not None:
            basis, singular, _ = np.linalg.svd(np.hstack([basis, inherited]), full_matrices=False)
            basis = basis[:, singular > DETERMINED * singular.max()]

        def projected(values: Array) -> Array:
            return np.asarray(values - basis @ (basis.T @ values))

        rest = projected(left)
        total, freedom = float(rest @ rest), len(left) - basis.shape[1] - 1
        tested = []
        for one in nuisances:
            effect = projected(one.effect)
            size = float(effect @ effect)
            if size <= 1e-3 * float(one.effect @ one.effect) or freedom < 2:
                continue  # the stage's own parameters have the same effect
            estimate = float(effect @ rest) / size
            fraction = estimate**2 * size / max(total, 1e-300)
            ratio = fraction * freedom / max(1.0 - fraction, 1e-12)
            # Bonferroni: errors of single values share one half, all others the other half
            alike = 2 * sum(other.single == one.single for other in nuisances)
            chance = float(stats.f.sf(ratio, 1, freedom)) * alike
            if chance < UNLIKELY_CAUSE and fraction > EXPLAINED and one.is_material(estimate):
                tested.append((fraction, estimate, one, effect))
        return self._explained(sorted(tested, key=lambda row: -row[0]))

    def _explained(self, tested: list[Any]) -> list[Explanation]:
        if not tested:
            return []
        fraction, estimate, best, effect = tested[0]
        alike = [
            one.sentence(size)
            for _, size, one, other in tested[1:3]
            if abs(effect @ other) > RELATED * np.linalg.norm(effect) * np.linalg.norm(other)
        ]
        also = f", or {' or '.join(alike)}" if alike else ""
        sentence = f"{self.stage.name}: {best.sentence(estimate)}{also}{_alone(fraction)}"
        return [Explanation(self.stage.name, sentence, fraction > SEVERE, fraction)]


@dataclass(frozen=True)
class _Fit(StageFit):
    """Fit of a stage of a finger."""

    problem: CalibrationProblem
    experiments: VirtualExperiments
    stiffness: Array

    def systematic_errors(self) -> list[Explanation]:
        """Test one more parameter at a time; report the one that explains most."""
        nuisances = nuisances_of(
            self.problem, self.experiments, self.stage, self.stiffness, self.position
        )
        return self.explained_by(nuisances, self._of_stiffness())

    def _of_stiffness(self) -> Array | None:
        """Return the effect of the stiffness of each joint on angles under pressure, (m, n)."""
        if self.stage.name != "torques" or self.stage.unit != "rad":
            return None
        simulated = np.nan_to_num(self.stage.simulate(self.position[None])[0])
        bends = [one for one in self.problem.bends if not one.held_out]
        joint = np.concatenate([np.arange(len(one.angles)) for one in bends])
        parts = simulated[:, None] * (joint[:, None] == np.arange(joint.max() + 1))
        return np.asarray(parts / np.maximum(np.linalg.norm(parts, axis=0), 1e-12))

    @property
    def _is_negligible(self) -> bool:
        """Whether the residuals are so small that their pattern does not matter."""
        measured = self.stage.measured[self.stage.timed]
        return root_mean_square(self.residuals) < NEGLIGIBLE * root_mean_square(measured)

    def explanation(self) -> list[Explanation]:
        """Report the systematic error, or the wrong row, that explains most; none if none does."""
        if self._is_negligible:
            return []
        rows, errors = self.wrong_rows(), self.systematic_errors()
        if not rows or not errors:
            return [*rows, *errors]
        # a row that explains about as much is the simpler cause
        simpler = 1.0 - rows[0].fraction < PREFERENCE * (1.0 - errors[0].fraction)
        return rows if simpler else errors

    def wrong_rows(self) -> list[Explanation]:
        """Report the rows of angles that do not fit the others."""
        table = table_of(self.problem, self.experiments, self.stage, self.stiffness)
        if table is None:
            return []
        row = wrong_rows(self.stage, self.position, table, self._determined())
        if row is None:
            return []
        words, fraction = row
        sentence = f"{self.stage.name}: {words}{_alone(fraction)}"
        return [Explanation(self.stage.name, sentence, fraction > SEVERE, fraction)]

    @property
    def on_bound(self) -> bool:
        """Whether a parameter is on a bound."""
        low, high = on_bounds(self.stage, self.position)
        return bool((low | high).any())

    def uneven_stiffness(self) -> list[Finding]:
        """Compare the stiffness of each joint that is determined with that of the others."""
        stage = self.stage
        if stage.name != "springs" or stage.unit != "rad" or stage.block.cells is not None:
            return []
        slopes = self._slopes()
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
        bounded = any(ends[worst] for ends in on_bounds(stage, self.position))
        smallest = UNEVEN_BOUND if bounded else UNEVEN
        if not sure[worst] or max(ratio, 1.0 / ratio) < smallest:
            return []
        name, value = stage.block.names[worst], self.position[worst]
        sentence = (
            f"springs: {name} = {value:.3g} N·m/rad is {ratio:.2g} times the median of the "
            "joints; do the weights hang elsewhere than at the tip, does something "
            "hold the finger, or are columns exchanged?"
        )
        return [Finding("springs", sentence, refutes=False)]

    def bends(self) -> list[Finding]:
        """Compare the angles under pressure with those of gains that were fitted to forces."""
        bends = [one for one in self.problem.bends if one.pressure > 0.0]
        gains = self.stage.block.of_joints(self.position[None])
        simulated = self.experiments.bends(self.stiffness[None], gains, bends) if bends else []
        if not simulated:
            return []
        shown = np.concatenate(simulated, axis=-1)[0]
        measured = np.concatenate([np.array(one.angles) for one in bends])
        known = np.isfinite(shown)
        squares = float(shown[known] @ shown[known])
        ratio = float(shown[known] @ measured[known]) / squares if squares else 1.0
        if BENDING[0] < ratio < BENDING[1]:
            return []
        units = [unit for unit, factor in PRESSURE_UNITS.items() if 0.8 < ratio / factor < 1.25]
        hint = f", such as {' or '.join(units)} instead of kPa" if units else ""
        sentence = (
            f"torques: the angles under pressure are {ratio:.2g} times those that the gains from "
            f"tip forces give; compare the units of their pressures{hint}"
        )
        return [Finding("torques", sentence, refutes=False)]

    def rise(self) -> list[Finding]:
        """Compare how far the tip rises after a release with how far the weight had bent it."""
        traced = [one for one in self.problem.releases if one.times and one.mass > 0.0]
        for one in traced:
            bent, free = self.experiments.tip_heights(self.stiffness, np.array([one.mass, 0.0]))
            expected = float(free - bent)
            settled = float(np.median(one.heights[-max(len(one.heights) // 10, 3) :]))
            risen = settled - one.heights[0]
            if expected < MIN_RISE or not math.isfinite(expected):
                continue
            moves = "rises" if risen > 0.0 else "falls"
            start = (
                f"dampers: the tip {moves} by {1e3 * abs(risen):.3g} mm after the release of "
                f"{1e3 * one.mass:g} g, which had bent it down by {1e3 * expected:.3g} mm"
            )
            if risen < -0.3 * expected:
                return [Finding("dampers", f"{start}; are heights measured downwards, as rows of "
                                "an image are?", refutes=True)]  # fmt: skip
            if not RISE[0] < risen / expected < RISE[1]:
                return [Finding("dampers", f"{start}; does the video begin at the release, and "
                                "are its scale and the weight right?", refutes=False)]  # fmt: skip
        return []

    def tracks(self) -> list[Finding]:
        """Compare tracked heights with other readings of them, and look for jumps."""
        if self.stage.unit != "m":
            return []
        tracks = Tracks.of(self.problem, self.experiments, self.stiffness, self.stage.block)
        return [*tracks.jumps(self.residuals), *tracks.readings()]

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
        sentence = (
            f"dampers: releases oscillate {ratio:.3g} times as fast as springs and masses do "
            f"({mode.frequency:.3g} Hz); compare {late}the frame rate, the counting of overshoots, "
            "the masses and lengths of the finger, and its stiffness, which a camera that is not "
            "square to the finger or a tilted clamp falsifies"
        )
        refutes = ratio > FASTER or (ratio < 1.0 and away > RATE[1])
        return [Finding("dampers", sentence, refutes)]


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
