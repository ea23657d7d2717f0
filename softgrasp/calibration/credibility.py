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
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from scipy import stats

from softgrasp.calibration.alternatives import (
    Alternative,
    Nuisance,
    better_readings,
    nuisances_of,
)
from softgrasp.calibration.forward_models import first_mode
from softgrasp.calibration.objectives import root_mean_square
from softgrasp.calibration.optimizers import jacobian
from softgrasp.calibration.stages import (
    Journal,
    Search,
    Stage,
    StageName,
    VirtualExperiments,
    stage_of,
)
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
MIN_REPEATS = 3
"""Degrees of freedom among repeated measurements from which their spread is the error."""
RATE = (1.25, 1.8)
"""Ratio of measured and simulated frequency of releases from which it is reported, and from
which the fit is not credible [–]."""
DEVIATING = 1e-4
"""Probability of a scatter of repeats by chance below which it is reported [–]."""
UNLIKELY_CAUSE = 1e-4
"""The same for the F tests of all systematic errors of a stage together [–]."""
EXPLAINED = 0.3
"""Share of the sum of squares that one systematic error must explain to be reported [–]."""
SEVERE = 0.8
"""Share from which the fit is not credible [–]."""
NEGLIGIBLE = 0.01
"""Residual over the measured values, both rms, below which its pattern does not matter [–]."""
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


@dataclass(frozen=True)
class PlausibleQuantity:
    """A quantity with the range in which soft fingers are known.

    Args:
        name: Name.
        value: Value [unit].
        low: Lower end [unit].
        high: Upper end [unit].
        unit: Unit.
        hint: What would explain a value outside.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str
    hint: str

    @property
    def plausible(self) -> bool:
        """Whether the value is in the range."""
        return self.low <= self.value <= self.high


@dataclass(frozen=True)
class Finding:
    """A reason to doubt a fit.

    Args:
        stage: Stage; empty for the whole problem.
        sentence: Reason.
        refutes: Whether the fit is not credible for this reason alone.
    """

    stage: str
    sentence: str
    refutes: bool


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
    quantities = tuple(_quantities(problem))
    findings = [Finding(stage, sentence, refutes=False) for stage, sentence in copies]
    findings += [*_equal_angles(problem), *_equal_times(problem), *_deviating_repeats(problem)]
    findings += implausible(quantities)
    for name, position in fitted.items():
        stage = stage_of(name, problem, experiments, stiffness)
        assert stage is not None  # it was fitted
        used = stage.block.of_joints(position) if name == "springs" else stiffness
        fit = _Fit(problem, stage, position, experiments, used)
        test = fit.misfit_test()
        tests.append(test)
        rejected = test.p_value < UNLIKELY
        findings += misfit_findings(test)
        if name != "springs" and any(one.refutes for one in findings if one.stage == "springs"):
            continue  # it was fitted with springs that are wrong
        doubtful = test.p_value < DOUBTFUL or (
            test.source == "assumed" and test.chi_square > ASSUMED_FRACTION * test.freedom
        )
        explained = fit.systematic_errors()
        readings = better_readings(problem, experiments, stage, used, position) if (
            doubtful or explained
        ) else []  # fmt: skip
        alternatives += readings
        findings += explained + list(_readings(readings, rejected))
        if name == "dampers":
            findings += fit.frequency()
    findings.sort(key=lambda one: not one.refutes)
    return Credibility(tuple(tests), quantities, tuple(findings), tuple(alternatives))


def implausible(quantities: Sequence[PlausibleQuantity]) -> list[Finding]:
    """Return a finding for each quantity outside of its range."""
    return [
        Finding("", f"{one.name} is {one.value:.3g} {one.unit}, expected {one.low:g} to "
                f"{one.high:g} {one.unit}; {one.hint}", refutes=True)
        for one in quantities if not one.plausible
    ]  # fmt: skip


def misfit_findings(test: MisfitTest) -> list[Finding]:
    """Return the finding that refutes a fit by its χ² test; none where it passes."""
    if test.p_value >= UNLIKELY:
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
        others = [one.reading for one in alternatives[1:3] if one.ratio > 0.5 * best.ratio]
        more = f"; nearly as good: {'; '.join(others)}" if others else ""
        sentence = f"the residual is {best.ratio:.2g} times smaller if {best.reading}{more}"
        yield Finding(best.stage, f"{best.stage}: {sentence}", refutes=rejected)


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
        search = Search(self.stage, Journal(None, ""))
        at = search.values(self.position[None])[0]
        return np.asarray(np.nan_to_num(jacobian(search, self.position, at))[self.stage.timed])

    def _determined(self) -> int:
        """Number of combinations of parameters that the measurements determine."""
        singular = np.linalg.svd(self._slopes(), compute_uv=False)
        return int((singular > DETERMINED * max(float(singular.max(initial=0.0)), 1e-300)).sum())

    def explained_by(self, nuisances: Sequence[Nuisance]) -> list[Finding]:
        """Test one more parameter at a time; report the one that explains most.

        Args:
            nuisances: Systematic errors with their effects on the timed values.
        """
        left = self.residuals
        slopes = self._slopes() if nuisances else np.zeros((len(left), 0))
        basis, singular, _ = np.linalg.svd(slopes, full_matrices=False)
        basis = basis[:, singular > DETERMINED * singular.max(initial=0.0)]

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
            chance = float(stats.f.sf(ratio, 1, freedom)) * len(nuisances)  # Bonferroni
            if chance < UNLIKELY_CAUSE and fraction > EXPLAINED and abs(estimate) > one.material:
                tested.append((fraction, estimate, one, effect))
        return self._explained(sorted(tested, key=lambda row: -row[0]))

    def _explained(self, tested: list[Any]) -> list[Finding]:
        if not tested:
            return []
        fraction, estimate, best, effect = tested[0]
        alike = [
            one.name.format(f"{one.factor * size:.2g}{one.unit}")
            for _, size, one, other in tested[1:3]
            if abs(effect @ other) > RELATED * np.linalg.norm(effect) * np.linalg.norm(other)
        ]
        also = f", or {' or '.join(alike)}" if alike else ""
        value = f"{best.factor * estimate:.2g}{best.unit}"
        sentence = (
            f"{self.stage.name}: {best.name.format(value)}{also}: this alone explains "
            f"{100 * fraction:.3g} % of the squared residuals"
        )
        return [Finding(self.stage.name, sentence, refutes=fraction > SEVERE)]


@dataclass(frozen=True)
class _Fit(StageFit):
    """Fit of a stage of a finger."""

    problem: CalibrationProblem
    experiments: VirtualExperiments
    stiffness: Array

    def systematic_errors(self) -> list[Finding]:
        """Test one more parameter at a time; report the one that explains most."""
        stage, left = self.stage, self.residuals
        if root_mean_square(left) < NEGLIGIBLE * root_mean_square(stage.measured[stage.timed]):
            return []
        nuisances = nuisances_of(
            self.problem, self.experiments, stage, self.stiffness, self.position
        )
        return self.explained_by(nuisances)

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
        if max(ratio, 1.0 / ratio) < RATE[0]:
            return []
        mode = first_mode(self.problem.finger, self.stiffness)
        sentence = (
            f"dampers: releases oscillate {ratio:.2g} times as fast as springs and masses do "
            f"({mode.frequency:.3g} Hz); compare the frame rate, the counting of overshoots, the "
            "masses and lengths of the finger, and its stiffness"
        )
        return [Finding("dampers", sentence, refutes=max(ratio, 1.0 / ratio) > RATE[1])]


# Whole problem


def _equal_angles(problem: CalibrationProblem) -> list[Finding]:
    findings = []
    for a, b in combinations(problem.hung, 2):
        if a.mass != b.mass and len(a.angles) > 1 and any(a.angles) and a.angles == b.angles:
            sentence = (
                f"springs: the angles under {1e3 * a.mass:g} g and {1e3 * b.mass:g} g are equal to "
                "the last digit; one of them is a copy"
            )
            findings.append(Finding("springs", sentence, refutes=True))
    return findings


def _equal_times(problem: CalibrationProblem) -> list[Finding]:
    times = [one.settling_time for one in problem.releases if one.settling_time]
    if len(times) < MIN_REPEATS or len(set(times)) > 1:
        return []
    sentence = f"dampers: all {len(times)} settling times are equal to the last digit, like copies"
    return [Finding("dampers", sentence, refutes=False)]


def _deviating_repeats(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield the pressure whose repeated forces scatter far more than the others, by an F test."""
    groups = [group for group in _repeated_forces(problem).values() if len(group) > 1]
    squares = np.array([np.square(np.array(one) - np.mean(one)).sum() for one in groups])
    freedom = np.array([len(one) - 1 for one in groups])
    if len(groups) < MIN_REPEATS:
        return
    worst = int((squares / freedom).argmax())
    others = (squares.sum() - squares[worst]) / (freedom.sum() - freedom[worst])
    ratio = squares[worst] / freedom[worst] / max(others, 1e-12)
    chance = stats.f.sf(ratio, freedom[worst], freedom.sum() - freedom[worst]) * len(groups)
    if chance < DEVIATING:
        pressure = [p for p, group in _repeated_forces(problem).items() if len(group) > 1][worst]
        listed = ", ".join(f"{force:.3g}" for force in groups[worst])
        yield Finding(
            "torques",
            f"torques: the repeated forces at {pressure / 1e3:g} kPa, {listed} N, differ "
            f"{math.sqrt(ratio):.2g} times as much as those at other pressures; one of them may "
            "be wrong",
            refutes=False,
        )


def _repeated_forces(problem: CalibrationProblem) -> dict[float, list[float]]:
    """Return the forces at each pressure, without those held out."""
    groups: dict[float, list[float]] = defaultdict(list)
    for one in problem.forces:
        if not one.held_out:
            groups[one.pressure].append(one.force)
    return groups


def _quantities(problem: CalibrationProblem) -> Iterator[PlausibleQuantity]:
    """Yield quantities with the ranges in which soft fingers of grippers and hands lie."""
    finger = problem.finger
    along = [joint.position for joint in finger.joints]
    length = float(np.linalg.norm(np.array(finger.tip) - np.array(along[0])))
    mass = sum(link.mass for link in finger.links)
    yield PlausibleQuantity("length of the finger", 1e3 * length, 10.0, 1000.0, "mm",
                            "lengths are in m")  # fmt: skip
    yield PlausibleQuantity("mass of the finger", 1e3 * mass, 0.5, 2000.0, "g",
                            "masses are in kg")  # fmt: skip
    yield PlausibleQuantity("mass of the finger over its length", mass / length, 0.02, 10.0, "kg/m",
                            "compare units of mass and length")  # fmt: skip
    hung = [one for one in problem.hung if not one.held_out]
    if hung:
        largest = max(abs(angle) for one in hung for angle in one.angles)
        yield PlausibleQuantity("largest joint angle", math.degrees(largest), 0.3, 100.0, "°",
                                "compare degrees and radians")  # fmt: skip
        heaviest = max(one.mass for one in hung)
        if heaviest > 0.0:
            yield PlausibleQuantity("heaviest weight over the finger's mass", heaviest / mass, 0.01,
                                    100.0, "", "compare g and kg")  # fmt: skip
    yield from _pressure_quantities(problem)
    times = [one.settling_time for one in problem.releases if one.settling_time]
    if times:
        for word, value in (("shortest", min(times)), ("longest", max(times))):
            yield PlausibleQuantity(f"{word} settling time", value, 0.01, 30.0, "s",
                                    "compare s and ms")  # fmt: skip
    traced = [one for one in problem.releases if one.times]
    if traced:
        swing = max(max(one.heights) - min(one.heights) for one in traced)
        yield PlausibleQuantity("swing of the tip over the finger's length", swing / length, 1e-3,
                                2.0, "", "compare the scale of the pictures")  # fmt: skip


def _pressure_quantities(problem: CalibrationProblem) -> Iterator[PlausibleQuantity]:
    applied = [one.pressure for one in problem.forces] + [one.pressure for one in problem.bends]
    highest = max(applied, default=0.0)
    if highest <= 0.0:
        return
    yield PlausibleQuantity("highest pressure", highest / 1e3, 1.0, 1000.0, "kPa",
                            "compare kPa, bar and Pa")  # fmt: skip
    forces = [one for one in problem.forces if one.pressure > 0.0]
    if forces:
        pressures = np.array([one.pressure for one in forces]) / 1e3
        slope = float(pressures @ [one.force for one in forces] / (pressures @ pressures))
        yield PlausibleQuantity("force per pressure", slope, 1e-4, 0.5, "N/kPa",
                                "compare N, g and kPa")  # fmt: skip
    repeated = [np.array(one) for one in _repeated_forces(problem).values() if len(one) > 1]
    if repeated and any(one.any() for one in repeated):
        spread = root_mean_square(np.concatenate([one - one.mean() for one in repeated]))
        level = root_mean_square(np.concatenate(repeated))
        yield PlausibleQuantity("spread of repeated forces over the forces", 100 * spread / level,
                                0.0, 10.0, "%", "compare loading and unloading, friction at the "
                                "tip and leaks")  # fmt: skip
