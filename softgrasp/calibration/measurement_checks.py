"""Checks of measurements that need no fit: plausible quantities, copies, rounding, order, trends.

Each check returns findings, which a calibration reports with the results of its tests
(``credibility``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats

from softgrasp.calibration.objectives import root_mean_square
from softgrasp.description.calibration import CalibrationProblem, HungAngles, TipForce
from softgrasp.mechanics.transforms import Array

MIN_REPEATS = 3
"""Degrees of freedom among repeated measurements from which their spread is the error."""
DEVIATING = 1e-4
"""Probability of a scatter of repeats by chance below which it is reported [–]."""
INDEPENDENT = 0.01
"""Probability by chance of a growth of angles with the weight from which they do not depend on it
[–]."""
STRAIGHT = 2e-3
"""Largest distance of the angles from straight lines, over their range, from which they are called
straight [–]."""
COARSE = 0.03
"""Rounding step over the largest value from which it is reported [–]."""
MIN_ROUNDED = 6
"""Fewest values other than zero whose rounding is assessed."""
FLAT = 0.01
"""Growth of the force between two pressures, over the largest force, below which it is none [–]."""
EARLIER = 0.85
"""Settling time over that of a lighter weight below which the order is reported [–]."""


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


# Measurements


def measurement_findings(problem: CalibrationProblem) -> list[Finding]:
    """Check the measurements of a finger without a fit."""
    return [
        *_equal_angles(problem),
        *_constant_angles(problem),
        *_straight_angles(problem),
        *_subtracted_angles(problem),
        *_rounded_values(problem),
        *_equal_times(problem),
        *_falling_times(problem),
        *_saturated_forces(problem),
        *_deviating_repeats(problem),
    ]


def _used_rows(problem: CalibrationProblem) -> list[HungAngles]:
    return [one for one in problem.hung if not one.held_out]


def _table(problem: CalibrationProblem) -> tuple[Array, Array]:
    """Return weights, (l,), and the angles of the joints that all rows have, (l, n)."""
    rows = _used_rows(problem)
    count = min((len(one.angles) for one in rows), default=0)
    angles = np.array([one.angles[:count] for one in rows]).reshape(len(rows), count)
    return np.array([one.mass for one in rows]), angles


def _constant_angles(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield that the angles do not grow with the weight, by an F test of a slope for each joint."""
    masses, angles = _table(problem)
    if len(masses) < 4 or not angles.size or np.ptp(masses) == 0.0:
        return
    # without any one row, too, as a wrong one hides the growth of the others
    kept = [np.ones(len(masses), dtype=bool), *~np.eye(len(masses), dtype=bool)]
    if all(_growth_by_chance(masses[one], angles[one]) > INDEPENDENT for one in kept):
        sentence = (
            "springs: the angles do not depend on the weight; do the weights pull along the "
            "finger, which hangs down, or is it held?"
        )
        yield Finding("springs", sentence, refutes=True)


def _growth_by_chance(masses: Array, angles: Array) -> float:
    """Return the probability that angles (l, n) without growth show theirs over weights (l,)."""
    angles, masses = angles - angles.mean(axis=0), masses - masses.mean()
    squares = float(masses @ masses)
    if squares == 0.0:
        return 1.0
    slopes = masses @ angles / squares
    explained = float(np.square(np.outer(masses, slopes)).sum())
    rest = float(np.square(angles - np.outer(masses, slopes)).sum())
    count = angles.shape[1]
    freedom = count * (len(masses) - 2)
    ratio = explained / count / max(rest / freedom, 1e-30)
    return float(stats.f.sf(ratio, count, freedom))


def _straight_angles(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield that all angles lie on straight lines over the weight, which measured ones do not."""
    masses, angles = _table(problem)
    if len(set(masses.tolist())) < 4 or angles.shape[1] < 2:
        return
    lines = np.polynomial.polynomial.polyfit(masses, angles, 1)
    left = angles - np.polynomial.polynomial.polyval(masses, lines).T
    if np.ptp(angles) > 0.0 and np.abs(left).max() < STRAIGHT * np.ptp(angles):
        sentence = (
            "springs: all angles lie on straight lines over the weight, to "
            f"{math.degrees(np.abs(left).max()):.2g}°; are they computed instead of measured?"
        )
        yield Finding("springs", sentence, refutes=False)


def _subtracted_angles(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield that all angles without a weight are zero, which a finger with mass has not."""
    rows = [one for one in _used_rows(problem) if one.mass == 0.0]
    if rows and problem.zero != "unloaded" and not any(any(one.angles) for one in rows):
        sentence = (
            "springs: all angles without a weight are 0, although the finger has a mass; if they "
            "were subtracted from the others, specify zero: unloaded (--zero unloaded)"
        )
        yield Finding("springs", sentence, refutes=False)


def _rounded_values(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield coarse steps to which all angles or all forces are rounded."""
    step = _rounding_of_angles(problem)
    if step is not None:
        sentence = f"springs: all angles are multiples of {step:g}°; read them more finely"
        yield Finding("springs", sentence, refutes=False)
    forces = np.array([one.force for one in problem.forces])
    step = rounding_step(forces)
    if step is not None:
        sentence = f"torques: all forces are multiples of {step:g} N; read them more finely"
        yield Finding("torques", sentence, refutes=False)


def _rounding_of_angles(problem: CalibrationProblem) -> float | None:
    return rounding_step(np.degrees([angle for one in problem.hung for angle in one.angles]))


def rounding_step(values: Array) -> float | None:
    """Return the step of which all values are multiples; None where it is fine or there is none.

    Args:
        values: Values, (m,).
    """
    values = np.abs(np.asarray(values))
    values = values[values > 0.0]
    if len(values) < MIN_ROUNDED:
        return None
    for exponent in range(math.floor(math.log10(values.max())), -4, -1):
        for digit in (5.0, 2.5, 2.0, 1.0):
            step = digit * 10.0**exponent
            if step < COARSE * values.max():
                return None
            whole = values / step
            if np.abs(whole - whole.round()).max() < 1e-6 and len(set(whole.round())) > 2:
                return step
    return None


def _falling_times(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield the two weights of which the heavier one settles much earlier."""
    timed = sorted(
        (one.mass, one.settling_time) for one in problem.releases if one.settling_time is not None
    )
    falls = [(b[1] / a[1], a, b) for a, b in combinations(timed, 2) if b[0] > a[0]]
    ratio, light, heavy = min(falls, default=(1.0, (0.0, 0.0), (0.0, 0.0)))
    if len(timed) > 2 and ratio < EARLIER:
        sentence = (
            f"dampers: the finger settles within {heavy[1]:.3g} s after {1e3 * heavy[0]:g} g, but "
            f"within {light[1]:.3g} s after {1e3 * light[0]:g} g, which bend it less; are the "
            "releases exchanged?"
        )
        yield Finding("dampers", sentence, refutes=False)


def _equal_angles(problem: CalibrationProblem) -> list[Finding]:
    findings = []
    for a, b in combinations(problem.hung, 2):
        if a.mass != b.mass and len(a.angles) > 1 and any(a.angles) and a.angles == b.angles:
            sentence = (
                f"springs: the angles under {1e3 * a.mass:g} g and {1e3 * b.mass:g} g are equal to "
                "the last digit; one of them is a copy"
            )
            findings.append(Finding("springs", sentence, refutes=True))
    return findings if _rounding_of_angles(problem) is None else []


def _equal_times(problem: CalibrationProblem) -> list[Finding]:
    times = [one.settling_time for one in problem.releases if one.settling_time]
    if len(times) < MIN_REPEATS or len(set(times)) > 1:
        return []
    sentence = f"dampers: all {len(times)} settling times are equal to the last digit, like copies"
    return [Finding("dampers", sentence, refutes=False)]


def _saturated_forces(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield that forces no longer grow at the highest pressures."""
    groups = _repeated_forces(problem)
    pressures = sorted(groups)
    means = np.array([np.mean(groups[one]) for one in pressures])
    if len(means) < 4 or means.max() <= 0.0:
        return
    growth = np.diff(means) / means.max()
    flat = len(growth) - 1 - int(np.argmax(growth[::-1] > FLAT)) if (growth > FLAT).any() else -1
    if 0 <= flat < len(growth) - 1 and growth[: flat + 1].mean() > 5.0 * FLAT:
        sentence = (
            f"torques: the forces no longer grow from {pressures[flat + 1] / 1e3:g} kPa on, at "
            f"{means[flat + 1]:.3g} N; is the scale or the pressure sensor saturated, or the "
            "supply limited?"
        )
        yield Finding("torques", sentence, refutes=False)


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


def without_copies(
    problem: CalibrationProblem,
) -> tuple[CalibrationProblem, tuple[tuple[str, str], ...]]:
    """Drop measurements that are copies of others, to the last digit.

    Joint angles and settling times do not repeat to the last digit, so equal ones were copied.
    Forces of a scale may be equal; they are copies if those at three pressures or more all are.

    Returns:
        Problem with one of each copy, and stage and sentence of each finding.
    """
    results: list[tuple[str, str]] = []
    changes: dict[str, tuple[HungAngles, ...] | tuple[TipForce, ...]] = {}
    kept: list[HungAngles] = []
    copied: list[str] = []
    rounded = _rounding_of_angles(problem) is not None
    for one in problem.hung:
        same = [x for x in kept if x.angles == one.angles and x.mass == one.mass]
        if len(one.angles) > 1 and any(one.angles) and same and not rounded:
            copied.append(f"{1e3 * one.mass:g} g")
        else:
            kept.append(one)
    changes["hung"] = tuple(kept)
    if copied:
        rows = "row is a copy" if len(copied) == 1 else "rows are copies"
        weights = ", ".join(dict.fromkeys(copied))
        sentence = f"{len(copied)} {rows} of other rows, to the last digit ({weights}); "
        results.append(("springs", f"{sentence}each measurement counts once"))
    groups: dict[tuple[float, bool], list[TipForce]] = {}
    for force in problem.forces:
        groups.setdefault((force.pressure, force.held_out), []).append(force)
    repeated = [group for group in groups.values() if len(group) > 1 and group[0].pressure > 0.0]
    coarse = rounding_step(np.array([one.force for one in problem.forces])) is not None
    if (
        len(repeated) > 2
        and not coarse
        and all(len({x.force for x in group}) == 1 for group in repeated)
    ):
        results.append((
            "torques", "all repeated forces are equal to the last digit: copies count once",
        ))  # fmt: skip
        changes["forces"] = tuple(
            one for group in groups.values()
            for one in (group[:1] if group in repeated else group)
        )  # fmt: skip
    if not results:
        return problem, ()
    return problem.replace(**changes), tuple(results)


# Plausible quantities


def implausible(quantities: Sequence[PlausibleQuantity]) -> list[Finding]:
    """Return a finding for each quantity outside of its range."""
    return [
        Finding("", f"{one.name} is {one.value:.3g} {one.unit}, expected {one.low:g} to "
                f"{one.high:g} {one.unit}; {one.hint}", refutes=True)
        for one in quantities if not one.plausible
    ]  # fmt: skip


def plausible_quantities(problem: CalibrationProblem) -> Iterator[PlausibleQuantity]:
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
    volume = sum(math.prod(link.size) for link in finger.links)
    yield PlausibleQuantity("density of the finger's boxes", mass / volume, 20.0, 20_000.0, "kg/m³",
                            "compare the units of length (mm, cm) and of mass")  # fmt: skip
    hung = _used_rows(problem)
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
                                "compare N and g, and kPa, bar and psi")  # fmt: skip
    repeated = [np.array(one) for one in _repeated_forces(problem).values() if len(one) > 1]
    if repeated and any(one.any() for one in repeated):
        spread = root_mean_square(np.concatenate([one - one.mean() for one in repeated]))
        level = root_mean_square(np.concatenate(repeated))
        yield PlausibleQuantity("spread of repeated forces over the forces", 100 * spread / level,
                                0.0, 10.0, "%", "compare loading and unloading, friction at the "
                                "tip and leaks")  # fmt: skip
