"""Check measured bending angles of pieces, as a calibration checks its measurements.

A cubic follows angles in any unit, so most mistakes leave no residual. ``assess_curves`` compares
sizes with those of soft fingers and pieces with one another, and tests what does leave residuals
by the machinery of calibrations (``softgrasp.calibration.StageFit``). Two columns of whole pieces
that are exchanged cannot be seen: every piece has its own curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from softgrasp.calibration import (
    AngleTable,
    Block,
    Credibility,
    Finding,
    Hypothesis,
    Nuisance,
    PlausibleQuantity,
    Stage,
    StageFit,
    doubt,
    implausible,
    rounding_step,
    single_values,
    stop_of,
)
from softgrasp.mechanics import Array
from softgrasp.twin.description import KPA
from softgrasp.twin.piecewise_bending import TERMS, FitReport
from softgrasp.units import PRESSURE_UNITS, TABLE_PRESSURES

DEGREES = 180.0 / math.pi
MODEL_ERROR = 0.03
"""Error of cubic curves relative to an angle [–]."""
UNITS = PRESSURE_UNITS | TABLE_PRESSURES
"""Units that may be mistaken for kPa [Pa]."""
ATMOSPHERE, NEAR = 101_325.0, 4e3
"""Standard atmosphere, and largest distance from it at which angles vanish that are called those of
absolute pressures [Pa]."""
BENT = 0.2
"""Bend without pressure, over its range, from which absolute pressures are considered [–]."""
MATERIAL = 0.05
"""Smallest deviation of several rows, over the largest angle, that is reported [–]."""
UNLIKE = 8.0
"""Ratio of the curvature of a piece and of the others from which it is reported [–]."""
IN_RAD, QUIET = (15.0, 200.0), 10.0
"""The same of a column in rad, and smallest ratio of scatters then, as noise is in rad, too [–]."""
ALIKE, LIKELIER = 0.35, 6.0
"""Smallest noise of the bend of a piece over that of the first one, and gain of the logarithm of
the likelihood from which angles are called sums [–]."""
STEEP, TYPICAL = 5.0, (0.02, 1.5)
"""Largest curvature over pressure, and its usual range [rad/m/kPa]."""
ROUND = 0.01
"""Largest distance of round pressures from their steps, over the step [–]."""
EQUAL, STILL = 3, "as in a dead band"
"""Fewest pressures with equal angles that are no copies, and words for them."""
MAX_ROWS = 24
"""Number of rows up to which all exchanges of two rows are tried."""


def assess_curves(report: FitReport) -> Credibility:
    """Assess whether measured angles can be those of a soft finger under these pressures.

    Args:
        report: Fit of the angles, with their standard deviation where it is known.
    """
    fit = CurveFit.of(report.pressures, report.angles, CurveErrors(report.sigma))
    quantities = tuple(_quantities(report))
    sizes = implausible(quantities)
    test, named, alternatives, _ = fit.assess()
    checked = [*sizes, *_pressures(report, unusual=not sizes), *_copies(report)]
    if not any(STILL in item.sentence for item in named):
        checked += _still(report)
    if not alternatives:
        checked += [*_unlike_pieces(report), *_directions(report)]
    if not (alternatives or named):
        checked += _sums(report)
    findings = sorted([*checked, *named], key=lambda element: not element.refutes)
    return Credibility((test,), quantities, tuple(findings), tuple(alternatives))


# Sizes


def _quantities(report: FitReport) -> Iterator[PlausibleQuantity]:
    kilo = KPA * report.pressures
    highest = float(np.abs(kilo).max())
    yield PlausibleQuantity("highest pressure", highest, 1.0, 1000.0, "kPa",
                            "compare kPa, bar, psi and Pa")  # fmt: skip
    yield PlausibleQuantity("lowest pressure", float(kilo.min()), -102.0, 1000.0, "kPa",
                            "they are those above the atmosphere; compare kPa and Pa")  # fmt: skip
    bend = float(np.ptp(report.angles.sum(axis=1)))
    yield PlausibleQuantity("range of the bend of all pieces together", DEGREES * bend, 3.0, 1080.0,
                            "°", "compare degrees and radians")  # fmt: skip
    if 1.0 <= highest <= 1000.0 and 3.0 <= DEGREES * bend <= 1080.0:
        hint = f"compare lengths and the unit of the pressures{_units(_steepness(report))}"
        yield PlausibleQuantity("curvature over pressure", _steepness(report), 0.005, STEEP,
                                "rad/m/kPa", hint)  # fmt: skip


def _steepness(report: FitReport) -> float:
    """Return the change of the curvature of the whole finger over that of pressure [rad/m/kPa]."""
    bend = float(np.ptp(report.angles.sum(axis=1)))
    return bend / sum(report.fit.lengths) / (KPA * float(np.ptp(report.pressures)))


def _units(steepness: float) -> str:
    """Name the units of pressure with which a curvature over pressure is usual."""
    low, high = TYPICAL
    named = [x for x, size in UNITS.items() if low < steepness / (KPA * size) < high]
    return (
        f", such as {' or '.join(x for x in named if x != 'kPa')} instead of kPa" if named else ""
    )


# Checks that need no residuals


def _pressures(report: FitReport, *, unusual: bool) -> Iterator[Finding]:
    """Yield other meanings of the pressures; and steep curves, where these are ``unusual``."""
    steepness = _steepness(report)
    known = [*_convert(report), *_absolute(report)]
    yield from known
    if unusual and not known and steepness > TYPICAL[1]:
        yield doubt(
            f"curves: the curvature over pressure is {steepness:.2g} rad/m/kPa, above the "
            f"{TYPICAL[1]:g} of most soft fingers; compare the unit of the pressures"
            f"{_units(steepness)}"
        )


def _convert(report: FitReport) -> Iterator[Finding]:
    """Yield a unit in which pressures are round that are not in kPa, or a column that is."""
    kilo = np.unique(KPA * report.pressures)
    if rounding_step(kilo, ROUND) is not None:
        return
    for unit, size in UNITS.items():
        step = rounding_step(KPA * size * kilo, ROUND)
        if step is not None and step >= 1.0:
            yield doubt(
                f"curves: the pressures are multiples of {step:g} kPa if they are in {unit}, not "
                "in kPa",
                refutes=True,
            )
            return
    steps = [rounding_step(column) for column in (DEGREES * report.angles).T]
    if sum(step is not None for step in steps) == 1 and len(steps) > 1:
        piece = next(k for k, step in enumerate(steps, 1) if step is not None)
        yield doubt(
            f"curves: the angles of piece {piece} are round, and the pressures are not; are these "
            "columns exchanged?",
            refutes=True,
        )


def _absolute(report: FitReport) -> Iterator[Finding]:
    """Yield that the finger is straight at one atmosphere, and bent at none."""
    order = np.argsort(report.pressures)
    pressures, bend = report.pressures[order], report.angles.sum(axis=1)[order]
    if not pressures[0] <= ATMOSPHERE <= pressures[-1]:
        return
    straight = float(np.interp(ATMOSPHERE, pressures, bend))
    slope = float(np.interp(ATMOSPHERE + NEAR, pressures, bend)) - straight
    empty = float(np.interp(0.0, pressures, bend))
    bent = abs(empty) > BENT * float(np.ptp(bend)) or pressures[0] > ATMOSPHERE - NEAR
    if bent and abs(straight) < abs(slope):
        yield doubt(
            "curves: the finger is straight at 101 kPa; the pressures are absolute, not above the "
            "atmosphere",
            refutes=True,
        )


def _copies(report: FitReport) -> Iterator[Finding]:
    """Yield rows, or columns, that are equal to the last digit."""
    rows, pieces = report.angles, report.angles.T
    coarse = len(pieces) == 1 or rounding_step(DEGREES * rows.ravel()) is not None
    for a, b in combinations(range(len(rows)), 2):
        alike = (rows == rows[a]).all(axis=1)  # more than two are no copies
        copied = alike[b] and alike.sum() == 2 and rows[a].any() and not coarse
        if copied and report.pressures[a] != report.pressures[b]:
            yield doubt(
                f"curves: the angles of rows {a + 1} and {b + 1} are equal to the last digit; one "
                "of them is a copy",
                refutes=True,
            )
            return
    for a, b in combinations(range(len(pieces)), 2):
        if pieces[a].any() and (pieces[a] == pieces[b]).all():
            yield doubt(
                f"curves: the columns of pieces {a + 1} and {b + 1} are equal; one is a copy",
                refutes=True,
            )
            return


def _still(report: FitReport) -> Iterator[Finding]:
    """Yield pressures under which the angles are equal to the last digit, or no longer grow."""
    rows, kilo = report.angles, KPA * report.pressures
    alike = (rows == rows[:, None]).all(axis=2)
    equal = alike[int(alike.sum(axis=1).argmax())]
    levels = np.unique(kilo[equal])
    if len(levels) >= EQUAL and rows.shape[1] > 1:
        yield doubt(
            f"curves: the angles do not change from {levels[0]:g} to {levels[-1]:g} kPa, {STILL}",
            refutes=True,
        )
        return
    forwards = np.sign((kilo - kilo.mean()) @ rows)
    for sign, word in ((1.0, "up"), (-1.0, "down")):
        stop = stop_of(sign * kilo, sign * forwards * rows)
        if stop is not None:
            yield doubt(
                f"curves: the angles no longer grow from {sign * stop:g} kPa {word}wards; does the "
                "finger touch a stop, or is the supply limited?"
            )


def _unlike_pieces(report: FitReport) -> Iterator[Finding]:
    """Yield a piece that bends far less, or far more, than the others."""
    curved = np.ptp(report.angles, axis=0) / np.array(report.fit.lengths)
    for piece in range(len(curved) if len(curved) > 1 else 0):
        others, scatter = np.delete(curved, piece), np.delete(report.scatter, piece)
        ratio = float(np.median(others)) / max(float(curved[piece]), 1e-12)
        quiet = float(np.median(scatter)) > QUIET * float(report.scatter[piece])
        noisy = float(np.median(scatter)) > 1e-9
        start = f"curves: piece {piece + 1} bends {ratio:.3g} times less per length than the others"
        if IN_RAD[0] < ratio < IN_RAD[1] and (quiet or not noisy):
            yield doubt(f"{start}, as where its angles are in rad, not in degrees", refutes=True)
        elif ratio > UNLIKE:
            yield doubt(f"{start}; does something hold it, or is its column in another unit?")
        elif ratio < 1.0 / UNLIKE and len(curved) > 2:
            yield doubt(
                f"curves: piece {piece + 1} bends {1.0 / ratio:.3g} times more per length than the "
                "others; is its column in another unit?"
            )


def _sums(report: FitReport) -> Iterator[Finding]:
    """Yield that angles are sums from the base, whose differences have independent noise."""
    steps = np.diff(report.residuals, axis=1, prepend=0.0)
    apart = np.sqrt(np.square(steps).mean(axis=0))
    if len(apart) < 2 or apart.min() < max(ALIKE * apart[0], 1e-9):
        return
    gain = len(steps) * float(np.log(report.rms / apart).sum())
    if gain > LIKELIER:
        yield doubt(
            "curves: the noise grows from piece to piece as that of sums; the angles are "
            "directions of the ends of the pieces, not bends of each piece",
            refutes=True,
        )


def _directions(report: FitReport) -> Iterator[Finding]:
    """Yield pieces that bend backwards as the pressure rises, all of them or one."""
    away = report.pressures - report.pressures.mean()
    falling = away @ report.angles < 0.0
    if falling.all():
        yield doubt(
            "curves: all pieces bend towards negative angles as the pressure rises; do the angles "
            "have the other sign (a mirrored photograph: --anticlockwise)?"
        )
    elif len(falling) > 2 and min(falling.sum(), (~falling).sum()) == 1:
        piece = int(np.argmax(falling if falling.sum() == 1 else ~falling)) + 1
        yield doubt(f"curves: piece {piece} bends against all others; does it have the other sign?")


# Checks by residuals


@dataclass(frozen=True)
class CurveErrors:
    """Errors of measured angles.

    Args:
        sigma: Standard deviation of an angle, where known [rad].
        model_error: Error of the curves relative to an angle [–].
    """

    sigma: float | None
    model_error: float = MODEL_ERROR

    def measurement_error(self, unit: str) -> float | None:  # noqa: ARG002  (one unit)
        """Return the declared error of an angle; None where there is none."""
        return self.sigma


@dataclass(frozen=True)
class CurveFit(StageFit):
    """Cubic curves of all pieces.

    Args:
        problem: Errors.
        stage: Stage with orthogonal polynomials.
        position: Their coefficients, (4·n,).
        pressures: Pressures [Pa], (m,).
        angles: Angles [rad], (m, n).
        numbers: Number of each row in the table, from 0, (m,).
    """

    pressures: Array
    angles: Array
    numbers: tuple[int, ...]

    @classmethod
    def of(
        cls, pressures: Array, angles: Array, errors: CurveErrors,
        numbers: tuple[int, ...] | None = None,
    ) -> CurveFit:  # fmt: skip
        """Fit curves to angles (m, n) at pressures (m,)."""
        stage = _stage(pressures, angles)
        rows = numbers or tuple(range(len(pressures)))
        return cls(errors, stage, _linear(stage), pressures, angles, rows)

    def fitted(self, stage: Stage, start: Array | None = None) -> Array:  # noqa: ARG002
        """Fit another stage, which is linear in its parameters."""
        return _linear(stage)

    def without(self, values: NDArray[np.bool_]) -> CurveFit:
        """Return the fit without the rows of some values."""
        kept = ~values.reshape(self.angles.shape).any(axis=1)
        numbers = tuple(np.array(self.numbers)[kept].tolist())
        assert isinstance(self.problem, CurveErrors)
        return self.of(self.pressures[kept], self.angles[kept], self.problem, numbers)

    def table(self) -> AngleTable:
        """Return the rows, with those between two others, such as a dead band."""
        evaluate = _evaluation(self.pressures)

        def at(parameters: Array, loads: Array, _row: int) -> Array:
            return np.asarray(evaluate(parameters[None], loads / KPA)[0])

        count, pieces = self.angles.shape
        return AngleTable(
            KPA * self.pressures, (pieces,) * count, "kPa", at, self.numbers, runs=True,
            material=MATERIAL * float(np.abs(self.angles).max()),
        )  # fmt: skip

    def hypotheses(self) -> Iterator[Hypothesis]:
        """Yield a loop, errors of single values, and orders of pressures and single pieces."""
        labels, pieces = list(self.stage.labels), self.angles.shape[1]
        again = np.array([labels[:i].count(label) > 0 for i, label in enumerate(labels)])
        if again.any():
            low, high = self.pressures.min(), self.pressures.max()
            loop = np.maximum((self.pressures - low) * (high - self.pressures), 0.0)
            yield Nuisance(
                "angles of repeated pressures are {} [larger|smaller] than the first ones in the "
                "middle of the range, as with loading and unloading",
                np.repeat(loop / max(float(loop.max()), 1e-12), pieces) * again, "°",
                MATERIAL * float(np.abs(self.angles).max()),
            )  # fmt: skip
        yield from single_values(labels, 1.0 / DEGREES)
        p, angles, kilo = self.pressures, self.angles, KPA * self.pressures
        bend, levels = angles.sum(axis=1), np.sort(p)
        yield "the pressures are in the reverse order", _stage(p[::-1], angles)
        for word, forwards in (("rise", 1.0), ("fall", -1.0)):
            ranks = np.argsort(np.argsort(forwards * bend))
            words = f"the pressures are shuffled, and {word} with the angles"
            yield words, _stage(levels[ranks], angles)
        rows = range(len(p))
        for a, b in combinations(rows, 2) if len(p) <= MAX_ROWS else pairwise(rows):
            if p[a] != p[b]:
                order = np.arange(len(p))
                order[[a, b]] = b, a
                words = f"the rows of {kilo[a]:g} and {kilo[b]:g} kPa are exchanged"
                yield words, _stage(p[order], angles)
        upwards = np.argsort(p, kind="stable")
        for piece in range(angles.shape[1]):
            item = angles[:, piece]
            rising = np.empty_like(item)
            others = bend - item if angles.shape[1] > 1 else item
            falls = float((p - p.mean()) @ others) < 0.0
            rising[upwards] = np.sort(item)[::-1] if falls else np.sort(item)
            name = f"the angles of piece {piece + 1} are"
            for words, column in (
                (f"{name} in the reverse order", item[::-1]),
                (f"{name} those of the row before", np.append(item[1:], item[-1])),
                (f"{name} those of the row after", np.append(item[0], item[:-1])),
                (f"{name} shuffled", rising),
            ):
                changed = angles.copy()
                changed[:, piece] = column
                yield words, _stage(p, changed)


def _evaluation(pressures: Array) -> Callable[[Array, Array], Array]:
    """Return the evaluation of orthogonal polynomials over pressures (m,).

    It takes coefficients (B, 4·n) and pressures (b,), and returns angles (B, b, n).
    """
    scale = float(np.abs(pressures).max()) or 1.0
    root = np.linalg.qr(np.vander(pressures / scale, TERMS, increasing=True), mode="r")
    inverse = np.linalg.pinv(root)

    def evaluate(parameters: Array, at: Array) -> Array:
        basis = np.vander(at / scale, TERMS, increasing=True) @ inverse
        return np.asarray(basis @ parameters.reshape(len(parameters), TERMS, -1))

    return evaluate


def _stage(pressures: Array, angles: Array) -> Stage:
    """Return the least-squares problem of cubic curves through angles (m, n)."""
    evaluate, pieces = _evaluation(pressures), angles.shape[1]
    names = tuple(f"c{term}{piece}" for term in range(TERMS) for piece in range(1, pieces + 1))
    bound = np.full(len(names), 10.0 * math.sqrt(len(angles)) * (float(np.abs(angles).max()) + 1.0))
    block = Block("curves", names, "rad", -bound, bound, (False,) * len(names), None, np.zeros(0))
    labels = tuple(f"the angle of piece {piece + 1} at {KPA * pressure:g} kPa"
                   for pressure in pressures.tolist() for piece in range(pieces))  # fmt: skip
    return Stage(
        "curves", block, lambda c: evaluate(c, pressures).reshape(len(c), -1), angles.ravel(),
        labels, "rad",
    )  # fmt: skip


def _linear(stage: Stage) -> Array:
    """Solve a stage that is linear in its parameters, (p,)."""
    slopes = stage.simulate(np.eye(len(stage.block.names))).T
    return np.asarray(np.linalg.lstsq(slopes, stage.measured, rcond=None)[0])
