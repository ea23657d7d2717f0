"""Test a fit by fitting it again: with other readings, without rows, with one more parameter.

One machinery for fingers (``credibility``), hydraulic arms and the curves of the twin. A kind of
fit lists what may be wrong with its measurements; ``StageFit.assess`` tries it:

- A χ² test compares residuals with the errors of measurement and model (Bevington and Robinson,
  *Data Reduction and Error Analysis for the Physical Sciences*, 2003, ch. 11).
- A *reading* is another meaning of the same numbers, such as forces in grams: the stage is fitted
  again with it.
- A *nuisance* is one more parameter, such as the tilt of the base, with the derivative of every
  measured value by it. An F test shows whether it explains more than noise can (Seber and Lee,
  *Linear Regression Analysis*, 2003, ch. 4 and 10).
- Rows are wrong if the others agree far better without them, by an F test (deletion of
  observations: Cook and Weisberg, *Residuals and Influence in Regression*, 1982, ch. 2). What they
  contain is compared with what the others predict: with another sign, unit, order or load, larger
  by a factor, constant, or wrong in one value; the Bayesian information criterion selects. The
  others are then assessed without them.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from softgrasp.calibration.measurement_checks import MIN_REPEATS, Finding
from softgrasp.calibration.objectives import root_mean_square
from softgrasp.calibration.optimizers import jacobian, least_squares_search
from softgrasp.calibration.stages import Search, Stage
from softgrasp.mechanics.transforms import Array

DEGREES = 180.0 / np.pi
FIRST_COLUMN = "the first column is no joint, and the others belong to the joint before"
"""Reading that leaves measured values out, and fits better for this reason, too."""
LEAVES, FARTHER = "may leave its bounds", "farther from the tip"
"""Words of readings that are no mistakes of the measurements: wider bounds, a gap of the plate."""
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
BETTER = 3.0
"""Ratio of relative residuals from which another reading is reported [–]."""
SLIGHTLY, LIKELIER = 1.45, 12.0
"""Ratio and gain of the logarithm of the likelihood from which one is reported, too [–]."""
NEGLIGIBLE = 0.01
"""Residual over the measured values, both rms, below which its pattern does not matter [–]."""
MAX_HALVINGS = 8
"""Number of start values that are tried for a reading."""
DETERMINED = 1e-2
"""Singular value over the largest from which a combination of parameters can absorb an error."""
CHANCE = 1e-4
"""Probability by chance, of all systematic errors or of all rows of a stage, below which one is
reported [–]."""
EXPLAINED = 0.3
"""Share of the sum of squares that one systematic error must explain to be reported [–]."""
RELATED = 0.9
"""Correlation of effects from which two systematic errors cannot be distinguished [–]."""
PREFERENCE = 1.5
"""Ratio of the residuals that a wrong row and a systematic error leave, below which the row is
reported [–]."""
SEVERE = 0.8
"""Share from which the fit is not credible [–]."""
BEST = 1.3
"""Ratio of the residuals that two causes leave, from which only the better one is reported [–]."""
MIN_ROWS = 3
"""Fewest rows of which one can be recognised as wrong."""
MAX_WRONG = 3
"""Largest number of wrong rows, or groups of them, that are reported one after the other."""
LOADS, BEYOND = 121, 3.0
"""Number of loads that are tried for a row, and largest one over the largest load [–]."""
ROW_EXPLAINED = 0.9
"""Smallest part of the squared deviation of a row that a reading must explain [–]."""
UNEXPLAINED = 0.2
"""The same part where none explains it, so that a systematic error of one parameter that explains
nearly as much is reported instead [–]."""
FACTOR = 1.08
"""Smallest factor between the angles of a row and those expected that is reported [–]."""
SAME = 0.06
"""Largest relative difference of two loads that are called the same [–]."""

FACTORS = {
    "°": DEGREES, "%": 100.0, "g": 1e3, "mm": 1e3, "ms": 1e3, "kPa": 1e-3, "N": 1.0, "mN·m": 1e3,
    "": 1.0,
}  # fmt: skip
"""From SI to the units of sentences."""


class AssessedProblem(Protocol):
    """Problem with the errors by which its fit is assessed."""

    @property
    def model_error(self) -> float:
        """Error of the model relative to a measured value [–]."""

    def measurement_error(self, unit: str) -> float | None:
        """Return the declared error of values in a unit; None where there is none."""


# What may be wrong


@dataclass(frozen=True)
class Nuisance:
    """A systematic error with its effect on every measured value of a stage.

    Args:
        name: Sentence with ``{}`` for the estimate in ``unit``, and ``[heavier|lighter]`` for words
            that depend on its sign; without both for one whose size is 1.
        effect: Change of the simulated values by one unit of SI, (m,).
        unit: Unit of the sentence, one of ``FACTORS``.
        material: Smallest size that is reported [SI].
        limits: Range of possible sizes [SI].
    """

    name: str
    effect: Array
    unit: str
    material: float
    limits: tuple[float, float] = (-np.inf, np.inf)

    @property
    def single(self) -> bool:
        """Whether it is an error of one measured value only."""
        return int(np.count_nonzero(self.effect)) == 1

    def is_material(self, estimate: float) -> bool:
        """Return whether an estimate [SI] is possible, and large enough to be reported."""
        low, high = self.limits
        return abs(estimate) > self.material and low <= estimate <= high

    def sentence(self, estimate: float) -> str:
        """Return the sentence with an estimate [SI]."""
        size = FACTORS[self.unit] * estimate
        if "[" in self.name:
            size = abs(size)
        shown = f"{size:.0f}" if abs(size) >= 100.0 else f"{size:.2g}"
        text = self.name.format(f"{shown}{' ' * (self.unit not in ('', '°'))}{self.unit}")
        return re.sub(r"\[(.*?)\|(.*?)\]", lambda x: x[1] if estimate > 0.0 else x[2], text)


def single_values(labels: Sequence[str], material: float) -> Iterator[Nuisance]:
    """Yield an error of each measured angle of at least ``material`` [rad]."""
    for label, effect in zip(labels, np.eye(len(labels)), strict=True):
        yield Nuisance(f"{label} is {{}} too [large|small]", effect, "°", material)


Reading = tuple[str, Stage]
"""What would have to be true, and the stage with the measurements read in this manner."""
Hypothesis = Nuisance | Reading
"""Something that may be wrong with measurements."""


@dataclass(frozen=True)
class AngleTable:
    """Rows of angles under loads.

    Args:
        loads: Load of each row [unit], (l,).
        counts: Number of angles of each row, (l,).
        unit: Unit of the loads.
        at: Parameters (p,), loads (b,) and a row → its simulated angles, (b, m) [rad].
        numbers: Number of each row in its table, from 0, (l,).
        runs: Whether successive rows inside of the table may be wrong together, too.
        material: Smallest rms deviation of several rows that is reported [rad].
    """

    loads: Array
    counts: tuple[int, ...]
    unit: str
    at: Callable[[Array, Array, int], Array]
    numbers: tuple[int, ...]
    runs: bool = False
    material: float = 0.0

    def values(self, rows: range) -> NDArray[np.bool_]:
        """Return which of all measured values belong to some rows, (m,)."""
        number = np.repeat(np.arange(len(self.counts)), self.counts)
        return np.asarray((number >= rows.start) & (number < rows.stop))

    def name(self, rows: range) -> str:
        """Return rows in words."""
        first, last = self.numbers[rows.start] + 1, self.numbers[rows.stop - 1] + 1
        if len(rows) > 1:
            ends = f"{self.loads[rows.start]:g} to {self.loads[rows.stop - 1]:g}"
            return f"rows {first} to {last}, of {ends} {self.unit}"
        return f"row {first}, of {self.loads[rows.start]:g} {self.unit}"

    def groups(self) -> list[range]:
        """Return single rows, and the last rows of the table, which may be wrong together."""
        count = len(self.loads)
        groups = [range(row, row + 1) for row in range(count)]
        groups += [range(row, count) for row in range(MIN_ROWS, count - 1)]
        if self.runs:
            longest = count // 3
            groups = [group for group in groups if len(group) <= longest]
            lengths = range(MIN_ROWS, longest + 1)
            groups += [range(a, a + n) for n in lengths for a in range(count - n)]
        return groups


# Results


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

    @property
    def doubtful(self) -> bool:
        """Whether other readings are worth a trial."""
        large = self.source == "assumed" and self.chi_square > ASSUMED_FRACTION * self.freedom
        return self.p_value < DOUBTFUL or large

    @property
    def findings(self) -> list[Finding]:
        """The finding that refutes the fit; none where it passes."""
        if not self.rejected:
            return []
        scale, unit = {"rad": (DEGREES, "°"), "m": (1e3, "mm")}.get(self.unit, (1.0, self.unit))
        sentence = (
            f"{self.stage}: residuals of {scale * self.residual:.3g} {unit} rms are larger than "
            f"the {self.source} error of {scale * self.error:.3g} {unit} permits (χ² = "
            f"{self.chi_square:.3g} with {self.freedom} degrees of freedom, p = {self.p_value:.1g})"
        )
        return [Finding(self.stage, sentence, refutes=True)]


@dataclass(frozen=True)
class Alternative:
    """A reading of the measurements that fits better.

    Args:
        stage: Stage.
        reading: What would have to be true.
        ratio: Relative residual as read, over that with the other reading [–].
    """

    stage: str
    reading: str
    ratio: float


class Assessment(NamedTuple):
    """Results of the tests of a fit, and the fit without faulty rows."""

    test: MisfitTest
    findings: list[Finding]
    alternatives: list[Alternative]
    """Other readings that fit better, the best first."""
    fit: StageFit
    """Fit without the rows that are wrong."""


def reading_findings(alternatives: Sequence[Alternative], refutes: bool) -> list[Finding]:
    """Return the finding that names the best of other readings, and those that are as good."""
    if not alternatives:
        return []
    best = alternatives[0]
    mistaken = not any(words in best.reading for words in (FIRST_COLUMN, LEAVES, FARTHER))
    severe = mistaken and 1.0 - best.ratio**-2 > SEVERE
    others = [
        alternative.reading
        for alternative in alternatives[1:5]
        if alternative.ratio > 0.5 * best.ratio
    ]
    more = f"; nearly as good: {'; '.join(others)}" if others else ""
    sentence = f"the residual is {best.ratio:.2g} times smaller if {best.reading}{more}"
    return [Finding(best.stage, f"{best.stage}: {sentence}", refutes or severe)]


# Tests of one stage


@dataclass(frozen=True)
class StageFit:
    """Fit of one stage with its tests; subclasses list possible faults of the measurements.

    Args:
        problem: Its errors.
        stage: Stage.
        position: Fitted parameters, (p,).
    """

    problem: AssessedProblem
    stage: Stage
    position: Array

    def hypotheses(self) -> Iterable[Hypothesis]:
        """Return the hypotheses about faults of the measurements."""
        return ()

    @cached_property
    def _hypotheses(self) -> tuple[Hypothesis, ...]:
        return tuple(self.hypotheses())

    def table(self) -> AngleTable | None:
        """Return the rows that the stage fits; None where it fits no rows of angles."""
        return None

    def inherited(self) -> Array | None:
        """Return effects of errors of earlier stages, which explain residuals first, (m, e)."""
        return None

    def without(self, values: NDArray[np.bool_]) -> StageFit:
        """Return the fit of the other measurements, without some values, (m,)."""
        stage = self.stage.only(~values)
        return replace(self, stage=stage, position=self.fitted(stage, self.position))

    def fitted(self, stage: Stage, start: Array | None = None) -> Array:
        """Fit another stage by least squares, (p,).

        Args:
            stage: Stage with the same parameters.
            start: Start; default: the middle of the bounds, or a point nearer to the lower ones.
        """
        if start is None:
            lower, middle = stage.block.lower, stage.block.middle
            points = (np.asarray(lower + (middle - lower) * 0.5**n) for n in range(MAX_HALVINGS))
            usable = (x for x in points if np.isfinite(stage.simulate(x[None])).all())
            start = next(usable, middle)
        return least_squares_search(Search(stage), start)

    @property
    def residuals(self) -> Array:
        """Measured minus simulated values, without counts."""
        simulated = self.stage.simulate(self.position[None])[0]
        return np.asarray((self.stage.measured - simulated)[self.stage.timed])

    def is_suspicious(self) -> bool:
        """Return whether other readings are worth a trial although the residuals are small."""
        return False

    def assess(self, *, known: bool = False) -> Assessment:
        """Test the fit; where rows are wrong, the others without them.

        Args:
            known: Whether the cause of a misfit is known: another reading has to be much better.
        """
        wrong: list[Finding] = []
        test, fit = self.misfit_test(), self
        values = np.arange(len(self.stage.measured))
        while True:
            now = fit.misfit_test() if wrong else test
            explained = [] if known else fit.explanation()
            tried = now.doubtful or bool(explained) or fit.is_suspicious()
            readings = fit.better_readings() if tried else []
            if known:
                readings = [reading for reading in readings if reading.ratio >= BETTER]
            best = max((x.ratio for x in readings if x.reading != FIRST_COLUMN), default=0.0)
            explained = [item for item in explained if _left(item) * best < BEST]
            if not explained or not explained[0].values or len(wrong) == MAX_WRONG:
                break
            # rows are wrong: whatever else is reported is true of the others
            (row,) = explained
            there = tuple(values[list(row.values)].tolist())
            wrong.append(replace(row, values=there, refutes=row.refutes or now.rejected))
            gone = np.isin(np.arange(len(values)), row.values)
            fit, values = fit.without(gone), values[~gone]
        for item in explained:
            worse = {x for x in readings if _left(item) * x.ratio * BEST < 1.0}
            worse |= {
                x for x in readings if x.reading == FIRST_COLUMN or x.reading in item.sentence
            }
            readings = [x for x in readings if x not in worse]
        findings = [*now.findings, *wrong, *reading_findings(readings, now.rejected), *explained]
        return Assessment(test, findings, readings, fit)

    def misfit_test(self) -> MisfitTest:
        """Test the residuals by χ² against the errors of measurement and model."""
        measured = self.stage.measured[self.stage.timed]
        by_model = self.problem.model_error * measured
        return self.chi_square(*self._error(measured), by_model, self._determined())

    def chi_square(self, error: float, source: str, by_model: Array, parameters: int) -> MisfitTest:
        """Test the residuals by χ² against a measurement error and errors of the model, (m,)."""
        left = self.residuals
        chi_square = float((np.square(left) / (error**2 + np.square(by_model))).sum())
        freedom = max(len(left) - parameters, 1)
        return MisfitTest(
            self.stage.name, self.stage.unit, error, source, root_mean_square(left), chi_square,
            freedom, float(stats.chi2.sf(chi_square, freedom)),
        )  # fmt: skip

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

    def slopes(self) -> Array:
        """Compute derivatives of the timed values over relative changes of parameters, (m, p)."""
        if not self.stage.smooth:
            return np.asarray(self.stage.measured[self.stage.timed][:, None])  # one damping
        search = Search(self.stage)
        at = search.values(self.position[None])[0]
        return np.asarray(np.nan_to_num(jacobian(search, self.position, at))[self.stage.timed])

    def _determined(self) -> int:
        """Number of combinations of parameters that the measurements determine."""
        singular = np.linalg.svd(self.slopes(), compute_uv=False)
        return int((singular > DETERMINED * max(float(singular.max(initial=0.0)), 1e-300)).sum())

    @property
    def is_negligible(self) -> bool:
        """Whether the residuals are so small that their pattern does not matter."""
        measured = self.stage.measured[self.stage.timed]
        return root_mean_square(self.residuals) < NEGLIGIBLE * root_mean_square(measured)

    def explanation(self) -> list[Finding]:
        """Report the systematic error, or the wrong rows, that explain most; none if none does."""
        if self.is_negligible:
            return []
        rows, errors = self.wrong_rows(), self.systematic_errors()
        if not rows or not errors:
            return [*rows, *errors]
        # a row that explains about as much is the simpler cause
        simpler = 1.0 - rows[0].fraction < PREFERENCE * (1.0 - errors[0].fraction)
        return rows if simpler else errors

    def _alone(self, words: str, fraction: float, values: tuple[int, ...] = ()) -> Finding:
        """Return the finding of an error that explains a part of the squared residuals."""
        sentence = f"{self.stage.name}: {words}: this alone explains {100 * fraction:.3g} % of the "
        severe = fraction > SEVERE
        return Finding(self.stage.name, f"{sentence}squared residuals", severe, fraction, values)

    # Other readings

    def better_readings(self) -> list[Alternative]:
        """Fit the stage with each other reading; return those that fit much better.

        Returns:
            Readings whose relative residual is at least ``BETTER`` times smaller, or ``SLIGHTLY``
            with a logarithm of the likelihood that is larger by ``LIKELIER``, the best first.
        """
        readings = (hypothesis for hypothesis in self._hypotheses if isinstance(hypothesis, tuple))
        better = [self.compared(words, stage, self.fitted(stage)) for words, stage in readings]
        return sorted((item for item in better if item), key=lambda element: -element.ratio)

    def compared(self, reading: str, other: Stage, position: Array) -> Alternative | None:
        """Compare the fit of another reading with this one; None where it is not better."""
        ratio = _relative(self.stage, self.position) / max(_relative(other, position), 1e-12)
        likelier = ratio > SLIGHTLY and len(self.stage.measured) * math.log(ratio) > LIKELIER
        is_better = ratio >= BETTER or (likelier and reading != FIRST_COLUMN)
        return Alternative(self.stage.name, reading, ratio) if is_better else None

    # One more parameter

    def systematic_errors(self) -> list[Finding]:
        """Test one more parameter at a time; report the one that explains most."""
        nuisances = [
            hypothesis for hypothesis in self._hypotheses if isinstance(hypothesis, Nuisance)
        ]
        left = self.residuals
        if not nuisances:
            return []
        basis, inherited = self.slopes(), self.inherited()
        for more in (None, inherited)[: 1 + (inherited is not None)]:
            together = basis if more is None else np.hstack([basis, more])
            basis, singular, _ = np.linalg.svd(together, full_matrices=False)
            basis = basis[:, singular > DETERMINED * singular.max(initial=0.0)]

        def projected(values: Array) -> Array:
            return np.asarray(values - basis @ (basis.T @ values))

        rest = projected(left)
        total, freedom = float(rest @ rest), len(left) - basis.shape[1] - 1
        tested = []
        for nuisance in nuisances:
            effect = projected(nuisance.effect)
            size = float(effect @ effect)
            if size <= 1e-3 * float(nuisance.effect @ nuisance.effect) or freedom < 2:
                continue  # the stage's own parameters have the same effect
            estimate = float(effect @ rest) / size
            fraction = estimate**2 * size / max(total, 1e-300)
            ratio = fraction * freedom / max(1.0 - fraction, 1e-12)
            # Bonferroni: errors of single values share one half, all others the other half
            alike = 2 * sum(other.single == nuisance.single for other in nuisances)
            chance = float(stats.f.sf(ratio, 1, freedom)) * alike
            if chance < CHANCE and fraction > EXPLAINED and nuisance.is_material(estimate):
                tested.append((fraction, estimate, nuisance, effect))
        tested.sort(key=lambda row: -row[0])
        if not tested:
            return []
        fraction, estimate, best, effect = tested[0]
        alternatives = [
            first.sentence(size)
            for _, size, first, second in tested[1:3]
            if abs(effect @ second) > RELATED * np.linalg.norm(effect) * np.linalg.norm(second)
        ]
        also = f", or {' or '.join(alternatives)}" if alternatives else ""
        return [self._alone(f"{best.sentence(estimate)}{also}", fraction)]

    # Rows left out

    def wrong_rows(self) -> list[Finding]:
        """Report the rows without which the others agree far better; none where there are none."""
        table = self.table()
        if table is None or len(table.loads) < MIN_ROWS:
            return []
        groups, determined = table.groups(), self._determined()
        total = float(np.square(self.residuals).sum())
        best: tuple[float, range, Array, float] | None = None
        for rows in groups:
            values = table.values(rows)
            freedom = len(values) - int(values.sum()) - determined
            if freedom < 2:
                continue
            part = self.stage.only(~values)
            fitted = self.fitted(part, self.position)
            noise = max(_squares(part, fitted) / freedom, 1e-20)
            ratio = (total - noise * freedom) / values.sum() / noise
            chance = float(stats.f.logsf(max(ratio, 0.0), values.sum(), freedom))
            if best is None or chance < best[0]:
                best = chance, rows, fitted, noise
        if best is None or best[0] + math.log(len(groups)) > math.log(CHANCE):
            return []
        _, rows, fitted, noise = best
        values = table.values(rows)
        expected = self.stage.simulate(fitted[None])[0][values]
        apart = expected - self.stage.measured[values]
        small = len(rows) > 1 and root_mean_square(apart) < table.material
        if not np.isfinite(expected).all() or small:
            return []
        words, left = _explain(self.stage, fitted, table, rows, expected, noise)
        if len(rows) > 1 and left >= float(apart @ apart):
            return []
        others = noise * (len(values) - values.sum() - determined)
        fraction = max(1.0 - (others + left) / total, 0.0)
        return [self._alone(words, float(fraction), tuple(np.flatnonzero(values).tolist()))]


def _left(item: Finding) -> float:
    """Return the residuals that a cause leaves, over those of the fit [–]."""
    return math.sqrt(max(1.0 - item.fraction, 0.0))


def _relative(stage: Stage, position: Array) -> float:
    """Compute the residual over the measured values, both as root mean squares [–]."""
    left = np.nan_to_num(stage.simulate(position[None])[0] - stage.measured, nan=1e6)
    return root_mean_square(left) / max(root_mean_square(stage.measured), 1e-12)


def _squares(stage: Stage, position: Array) -> float:
    return _apart(np.nan_to_num(stage.simulate(position[None])[0], nan=1e3), stage.measured)


# What explains rows


def _explain(
    stage: Stage, fitted: Array, table: AngleTable, rows: range, expected: Array, noise: float
) -> tuple[str, float]:
    """Return the sentence of the best explanation of rows, and the squares that it leaves."""
    measured = stage.measured[table.values(rows)]
    deviation = _apart(expected, measured)
    owner = "its" if len(rows) == 1 else "their"
    name, counts = table.name(rows), table.counts[rows.start : rows.stop]
    expected_rows = np.split(expected, np.cumsum(counts)[:-1])
    if table.runs and len(rows) > 1:
        block = measured.reshape(len(rows), -1)
        flat = _apart(np.broadcast_to(block.mean(axis=0), block.shape), block)
        if flat - block.size * noise < (1.0 - ROW_EXPLAINED) * deviation:
            words = (
                "angles do not change, as in a dead band, at a stop, or where missing values were"
            )
            return f"{name}: their {words} filled in", flat
    tried = []
    for words, change in READINGS.items():
        read = np.concatenate([change(row) for row in expected_rows])
        tried.append((f"{name}: {owner} {words}", _apart(read, measured), 0))
    factor = float(measured @ expected) / max(float(expected @ expected), 1e-20)
    if factor > 0.0 and max(factor, 1.0 / factor) > FACTOR:
        words = f"{name}: {owner} angles are {factor:.2g} times those that the other rows predict"
        words += ", as of another finger, camera or room temperature" * (len(rows) > 1)
        tried.append((words, _apart(factor * expected, measured), 1))
    if len(rows) == 1:
        load, left = _best_load(fitted, table, rows.start, measured)
        tried.append((f"{name}: {_load_words(table, rows.start, load)}", left, 1))
        labels = np.array(stage.labels)[table.values(rows)].tolist()
        tried.append(_single_value(labels, measured, expected))
    count = len(measured)

    def criterion(item: tuple[str, float, int]) -> float:
        return count * math.log(item[1] / count + noise) + item[2] * math.log(count)

    best = min(tried, key=criterion)
    if best[1] - count * noise > (1.0 - ROW_EXPLAINED) * deviation:
        apart = DEGREES * math.sqrt(deviation / count)
        # many rows without a cause are rather an error of all rows
        left = UNEXPLAINED * deviation if len(rows) == 1 else deviation
        return f"{name}, does not fit the others, by {apart:.2g}° rms", left
    return best[0], best[1]


def _apart(first: Array, second: Array) -> float:
    """Return the sum of the squared differences."""
    return float(np.square(first - second).sum())


READINGS: dict[str, Callable[[Array], Array]] = {
    "angles have the other sign (a mirrored photograph: flip)": np.negative,
    "angles are in rad, not in degrees": np.radians,
    "angles are in degrees, not in rad": np.degrees,
    "joints are numbered from the tip": np.flip,
    "angles are directions of the links, not rotations of the joints": np.cumsum,
    "angles belong to the joint before": lambda x: np.append(x[:1], x[:-1]),
    "angles belong to the joint after": lambda x: np.append(x[1:], x[-1:]),
}
"""Other readings of the angles of a row, with what it contains where expected angles are right."""


def _best_load(fitted: Array, table: AngleTable, row: int, measured: Array) -> tuple[float, float]:
    """Return the load under which a row fits best, and the squares that it leaves."""
    low, high = min(0.0, float(table.loads.min())), float(table.loads.max())
    loads = np.linspace(low, high if table.runs else BEYOND * high, LOADS)
    squares = np.square(table.at(fitted, loads, row) - measured).sum(axis=-1)
    squares = np.nan_to_num(squares, nan=np.inf)
    near = int(squares.argmin())
    fine = np.linspace(loads[max(near - 1, 0)], loads[min(near + 1, LOADS - 1)], 41)
    finer = np.nan_to_num(np.square(table.at(fitted, fine, row) - measured).sum(axis=-1), nan=1e3)
    best = int(finer.argmin())
    return float(fine[best]), float(finer[best])


def _load_words(table: AngleTable, row: int, load: float) -> str:
    """Describe the load of a row."""
    named = table.loads[row]
    words = f"its load was {load:.3g} {table.unit} rather than {named:g} {table.unit}"
    ratio = load / named if named > 0.0 else 0.0
    if 800.0 < ratio < 1250.0:
        return f"{words}, as where it is in k{table.unit}"
    others = np.delete(table.loads, row)
    nearest = float(others[np.abs(others - load).argmin()])
    if abs(nearest - load) < SAME * float(np.abs(table.loads).max()):
        return f"{words}, as that of the row of {nearest:g} {table.unit}"
    return words


def _single_value(labels: list[str], measured: Array, expected: Array) -> tuple[str, float, int]:
    """Describe one wrong value of a row, with the squares of the others and its two parameters."""
    apart = measured - expected
    worst = int(np.abs(apart).argmax())
    words = f"{labels[worst]} is {DEGREES * abs(apart[worst]):.2g}° too "
    words += "large" if apart[worst] > 0.0 else "small"
    if measured[worst] == 0.0:
        words += ", as a missing value that was filled with 0"
    return words, float(np.square(np.delete(apart, worst)).sum()), 2
