"""Checks of measurements that need no fit: plausible quantities, copies, rounding, order, trends.

Each check returns findings, which a calibration reports with the results of its tests
(``credibility``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

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
GROWING, FALLEN = 0.5, 0.7
"""Growth of the bend in successive rows of one weight from which it is reported, and bend over that
of the row before below which another series begins [–]."""
STRAIGHT = 2e-3
"""Largest distance of the angles from straight lines, over their range, from which they are called
straight [–]."""
COARSE = 0.03
"""Rounding step over the largest value from which it is reported [–]."""
MIN_ROUNDED = 6
"""Fewest values other than zero whose rounding is assessed."""
FLAT = 0.01
"""Growth of the force between two pressures, over the largest force, below which it is none [–]."""
MIN_STILL = 10
"""Fewest samples of a track that are assessed."""
STILL_SWING = 0.1
"""Motion in the samples before a track stands still, over its whole range, from which the tip was
lost [–]."""
MOVING_STEP, COPIED = 0.02, 0.3
"""Step between samples over the range from which the tip moves, and fraction of copies then [–]."""
UNLIKE = 8.0
"""Ratio of the growth of an angle and that of the joints beside from which it is reported [–]."""
OTHER_RATE, SAME_RATE = 1.6, 1.3
"""Ratio of the overshoots per second of one release and their median from which it is reported,
and largest one of all others [–]."""
STOPPED = 0.15
"""Growth of the angles with the weight over the usual one, below which they no longer grow [–]."""
MIN_SCATTER = math.radians(0.1)
"""Scatter of the mean angle of a row that is assumed in any case [rad]."""
EVIDENT = 10.0
"""Smallest growth that is missing, over the scatter of mean angles, at which that is reported
[–]."""
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
    def space(self) -> str:
        """Separator between value and unit: a space; empty without a unit."""
        return " " * bool(self.unit)

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
        fraction: Share of the squared residuals of the stage that it explains [–]; 0 if unknown.
        values: Numbers, from 0, of the measured values of the stage that are wrong.
    """

    stage: str
    sentence: str
    refutes: bool
    fraction: float = 0.0
    values: tuple[int, ...] = ()


def doubt(sentence: str, *, refutes: bool = False) -> Finding:
    """Return the finding of a sentence that begins with its stage, such as ``springs: …``."""
    return Finding(sentence.partition(":")[0], sentence, refutes)


# Measurements


def measurement_findings(problem: CalibrationProblem) -> list[Finding]:
    """Check the measurements of a finger without a fit."""
    return [
        *_equal_angles(problem),
        *_constant_angles(problem),
        *_straight_angles(problem),
        *_find_subtracted_angles(problem),
        *_find_saturated_angles(problem),
        *_growing_repeats(problem),
        *_unlike_joints(problem),
        *_find_rounded_values(problem),
        *_equal_times(problem),
        *_uncounted_overshoots(problem),
        *_unlike_releases(problem),
        *_still_tracks(problem),
        *_find_copied_samples(problem),
        *_falling_times(problem),
        *_find_saturated_forces(problem),
        *_deviating_repeats(problem),
    ]


def _table(problem: CalibrationProblem) -> tuple[Array, Array]:
    """Return weights, (l,), and the angles of the joints that all rows have, (l, n)."""
    rows = [reading for reading in problem.hung if not reading.held_out]
    count = min((len(row.angles) for row in rows), default=0)
    angles = np.array([row.angles[:count] for row in rows]).reshape(len(rows), count)
    return np.array([row.mass for row in rows]), angles


def _constant_angles(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield that the angles do not grow with the weight, by an F test of a slope for each joint."""
    masses, angles = _table(problem)
    if len(masses) < 4 or not angles.size or np.ptp(masses) == 0.0:
        return
    # without any one row, too, as a wrong one hides the growth of the others
    kept = [np.ones(len(masses), dtype=bool), *~np.eye(len(masses), dtype=bool)]
    if all(_growth_by_chance(masses[item], angles[item]) > INDEPENDENT for item in kept):
        yield doubt(
            "springs: the angles do not depend on the weight; do the weights pull along the "
            "finger, which hangs down, or is it held?",
            refutes=True,
        )


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
        yield doubt(
            "springs: all angles lie on straight lines over the weight, to "
            f"{math.degrees(np.abs(left).max()):.2g}°; are they computed instead of measured?"
        )


def _growing_repeats(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield that angles grow from row to row under one weight, by an F test of a slope.

    Rows that are held out count, too: all rows of that weight are. A series begins where the angles
    fall, as a row without a weight may have been subtracted.
    """
    every = tuple(reading.replace(held_out=False) for reading in problem.hung)
    masses, angles = _table(problem.replace(hung=every))
    bend = np.abs(angles.sum(axis=1))
    begins = np.diff(masses, prepend=-1.0) != 0.0
    begins[1:] |= bend[1:] < FALLEN * bend[:-1]
    for first, end in pairwise([*np.flatnonzero(begins).tolist(), len(masses)]):
        rows, growth = angles[first:end], bend[end - 1] - bend[first]
        if masses[first] == 0.0 or len(rows) < MIN_REPEATS or not growth > GROWING * bend[first]:
            continue
        if _growth_by_chance(np.arange(len(rows), dtype=float), rows) < INDEPENDENT:
            yield doubt(
                f"springs: the angles grow by {100 * growth / bend[first]:.2g} % in {len(rows)} "
                f"successive rows of {1e3 * masses[first]:g} g; are the weights those that were "
                "added, and their sum hung?",
                refutes=True,
            )
            return


def _find_saturated_angles(problem: CalibrationProblem) -> Iterator[Finding]:
    stop = stop_of(*_table(problem))
    if stop is not None:
        yield doubt(
            f"springs: the angles no longer grow from {1e3 * stop:g} g on; does the finger or the "
            "weight touch the table or a stop?"
        )


def stop_of(loads: Array, angles: Array) -> float | None:
    """Return the load from which the mean angle no longer grows, by a t test; None without one.

    Args:
        loads: Load of each row, (l,).
        angles: Angles [rad], (l, n).
    """
    levels = np.unique(loads)
    if len(levels) < 4 or not angles.size:
        return None
    means = np.array([angles[loads == level].mean() for level in levels])
    growth = np.diff(means) / np.diff(levels)
    usual = float(np.median(growth[:-1]))
    flat = growth < STOPPED * usual
    if usual <= 0.0 or not flat[-1] or flat[:2].any():
        return None
    first = len(flat) - int(np.argmin(flat[::-1]))
    heavy = loads >= levels[first]
    missing = usual * (levels[-1] - levels[first]) - (means[-1] - means[first])
    scatter = _scatter(loads[~heavy], angles[~heavy]) * math.sqrt(len(levels) / len(loads))
    return float(levels[first]) if missing >= EVIDENT * scatter else None


def _unlike_joints(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield joints without angles, copied columns, and a joint unlike those beside it."""
    masses, angles = _table(problem)
    if len(masses) < 3 or np.ptp(masses) == 0.0:
        return
    unread = [str(joint + 1) for joint in np.flatnonzero(~angles.any(axis=0)).tolist()]
    if unread and angles.any():
        yield doubt(
            f"springs: all angles of joint{'s' * (len(unread) > 1)} {', '.join(unread)} are 0; "
            "leave out the columns of joints that were not observed"
        )
        return
    for a, b in combinations(range(angles.shape[1]), 2):
        if (angles[:, a] == angles[:, b]).all():
            yield doubt(
                f"springs: the columns of joints {a + 1} and {b + 1} are equal; one is a copy",
                refutes=True,
            )
            return
    slopes, errors = _slopes(masses, angles)
    for joint in range(1, angles.shape[1] - 1):
        outer = slopes[[joint - 1, joint + 1]]
        if (np.abs(outer) < 3.0 * errors[[joint - 1, joint + 1]]).any():
            continue
        beside, growth = math.sqrt(abs(outer[0] * outer[1])), abs(slopes[joint])
        more = growth - 3.0 * errors[joint] > UNLIKE * beside
        if more or growth + 3.0 * errors[joint] < beside / UNLIKE:
            yield doubt(
                f"springs: joint {joint + 1} bends far {'more' if more else 'less'} under weights "
                f"than the joints beside it ({math.degrees(1e-3 * growth):.2g} instead of about "
                f"{math.degrees(1e-3 * beside):.2g} ° per g); does something hold it, or is its "
                "column in another unit?"
            )


def _slopes(masses: Array, angles: Array) -> tuple[Array, Array]:
    """Return the growth of each joint angle with the weight, and its error [rad/kg], (n,) each."""
    away = masses - masses.mean()
    slopes = away @ angles / (away @ away)
    left = angles - angles.mean(axis=0) - np.outer(away, slopes)
    variance = np.square(left).sum(axis=0) / max(len(masses) - 2, 1) / (away @ away)
    return slopes, np.sqrt(variance)


def _scatter(masses: Array, angles: Array) -> float:
    """Return the scatter of the mean angle of a row about parabolas over the weight [rad]."""
    degree = min(2, len(set(masses.tolist())) - 1)
    lines = np.polynomial.polynomial.polyfit(masses, angles, degree)
    left = angles - np.polynomial.polynomial.polyval(masses, lines).T
    return float(np.sqrt(np.square(left).mean() / angles.shape[1])) + MIN_SCATTER


def _find_subtracted_angles(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield that all angles without a weight are zero, which a finger with mass has not."""
    rows = [reading for reading in problem.hung if reading.mass == 0.0 and not reading.held_out]
    if rows and problem.zero != "unloaded" and not any(any(row.angles) for row in rows):
        yield doubt(
            "springs: all angles without a weight are 0, although the finger has a mass; if they "
            "were subtracted from the others, specify zero: unloaded (--zero unloaded)"
        )


def _find_rounded_values(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield coarse steps to which all angles or all forces are rounded."""
    step = _rounding_of_angles(problem)
    if step is not None:
        yield doubt(f"springs: all angles are multiples of {step:g}°; read them more finely")
    forces = np.array([force.force for force in problem.forces])
    step = rounding_step(forces)
    if step is not None:
        yield doubt(f"torques: all forces are multiples of {step:g} N; read them more finely")


def _rounding_of_angles(problem: CalibrationProblem) -> float | None:
    return rounding_step(
        np.degrees([angle for reading in problem.hung for angle in reading.angles])
    )


def rounding_step(values: Array, tolerance: float = 1e-6) -> float | None:
    """Return the step of which all values are multiples; None where it is fine or there is none.

    Args:
        values: Values, (m,).
        tolerance: Largest distance from a multiple, over the step [–].
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
            if np.abs(whole - whole.round()).max() < tolerance and len(set(whole.round())) > 2:
                return step
    return None


def _falling_times(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield that the order of the weights is reversed, or a heavier one that settles early."""
    counted = sorted(
        (release.mass, release.settling_time, release.overshoots)
        for release in problem.releases
        if release.settling_time is not None and release.overshoots is not None
    )
    if len(counted) > 2 and all(
        b[0] > a[0] and b[1] < a[1] and b[2] < a[2] for a, b in pairwise(counted)
    ):
        yield doubt(
            "dampers: heavier weights settle earlier, after fewer overshoots, one and all; they "
            "bend the finger farther: are the releases exchanged?",
            refutes=True,
        )
        return
    timed = [(mass, seconds) for mass, seconds, _ in counted]
    falls = [(b[1] / a[1], a, b) for a, b in combinations(timed, 2) if b[0] > a[0]]
    ratio, light, heavy = min(falls, default=(1.0, (0.0, 0.0), (0.0, 0.0)))
    if len(timed) > 2 and ratio < EARLIER:
        yield doubt(
            f"dampers: the finger settles within {heavy[1]:.3g} s after {1e3 * heavy[0]:g} g, but "
            f"within {light[1]:.3g} s after {1e3 * light[0]:g} g, which bend it less; are the "
            "releases exchanged, or is one of the times wrong?"
        )


def _equal_angles(problem: CalibrationProblem) -> Iterator[Finding]:
    if _rounding_of_angles(problem) is not None:
        return
    hung = [("springs", f"{1e3 * reading.mass:g} g", reading.angles) for reading in problem.hung]
    bent = [("torques", f"{bend.pressure / 1e3:g} kPa", bend.angles) for bend in problem.bends]
    for (stage, load, angles), (other, load_b, angles_b) in combinations(hung + bent, 2):
        known = stage == other and load != load_b and len(angles) > 1 and any(angles)
        if known and angles == angles_b:
            yield doubt(
                f"{stage}: the angles under {load} and {load_b} are equal to the last digit; one "
                "of them is a copy",
                refutes=True,
            )


def _uncounted_overshoots(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield that no release has overshoots although the finger settles late."""
    timed = [release for release in problem.releases if release.settling_time is not None]
    if timed and not any(row.overshoots for row in timed):
        yield doubt(
            f"dampers: no overshoots are counted in {len(timed)} releases, as of a finger that "
            "creeps to rest; were they not counted?"
        )


def _equal_times(problem: CalibrationProblem) -> list[Finding]:
    times = [release.settling_time for release in problem.releases if release.settling_time]
    if len(times) < MIN_REPEATS or len(set(times)) > 1:
        return []
    count = len(times)
    return [doubt(f"dampers: all {count} settling times are equal to the last digit, like copies")]


def _unlike_releases(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield the release whose overshoots per second are not those of all others."""
    timed = [
        release for release in problem.releases if release.settling_time and release.overshoots
    ]
    if len(timed) < 3:
        return
    rates = np.array([(row.overshoots or 0) / (row.settling_time or 1.0) for row in timed])
    apart = np.abs(np.log(rates / np.median(rates)))
    worst = int(apart.argmax())
    if apart[worst] > math.log(OTHER_RATE) and np.delete(apart, worst).max() < math.log(SAME_RATE):
        yield doubt(
            f"dampers: the release of {1e3 * timed[worst].mass:g} g has {rates[worst]:.3g} "
            f"overshoots per second, the others about {np.median(rates):.3g}; is its settling time "
            "or its number of overshoots wrong?"
        )


def _still_tracks(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield the track that is constant, to the last digit, from the middle of a motion on."""
    for item in (x for x in problem.releases if x.times):
        heights = np.array(item.heights)
        moving = np.flatnonzero(np.diff(heights) != 0.0)
        last = int(moving[-1]) + 1 if moving.size else 0
        still = len(heights) - last
        before = heights[max(last - 2 * MIN_STILL, 0) : last + 1]
        if still >= MIN_STILL and np.ptp(before) > STILL_SWING * np.ptp(heights):
            yield doubt(
                f"dampers: the track of {1e3 * item.mass:g} g is constant from "
                f"{item.times[last]:.3g} s on, in the middle of a motion; was the tip lost?",
                refutes=True,
            )
            return


def _find_copied_samples(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield the track whose samples are copies of those before while the tip moves."""
    for item in (x for x in problem.releases if x.times):
        heights = np.array(item.heights)
        steps = np.abs(np.diff(heights))
        # a step and both of its neighbours: copies have a real step beside them
        near = np.maximum(steps[1:], steps[:-1])
        moving = near > MOVING_STEP * np.ptp(heights)
        copies = np.minimum(steps[1:], steps[:-1]) == 0.0
        if moving.sum() >= MIN_STILL and copies[moving].mean() > COPIED:
            yield doubt(
                f"dampers: in the track of {1e3 * item.mass:g} g samples are copies of those "
                "before while the tip moves; was the video converted from another frame rate?"
            )
            return


def _find_saturated_forces(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield that forces no longer grow at the highest pressures."""
    groups = _find_repeated_forces(problem)
    pressures = sorted(groups)
    means = np.array([np.mean(groups[pressure]) for pressure in pressures])
    if len(means) < 4 or means.max() <= 0.0:
        return
    growth = np.diff(means) / means.max()
    flat = len(growth) - 1 - int(np.argmax(growth[::-1] > FLAT)) if (growth > FLAT).any() else -1
    if 0 <= flat < len(growth) - 1 and growth[: flat + 1].mean() > 5.0 * FLAT:
        yield doubt(
            f"torques: the forces no longer grow from {pressures[flat + 1] / 1e3:g} kPa on, at "
            f"{means[flat + 1]:.3g} N; is the scale or the pressure sensor saturated, or the "
            "supply limited?"
        )


def _deviating_repeats(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield the pressure whose repeated forces scatter far more than the others, by an F test."""
    repeated = {p: x for p, x in _find_repeated_forces(problem).items() if len(x) > 1}
    if len(repeated) < MIN_REPEATS:
        return
    groups = list(repeated.values())
    squares = np.array([np.square(np.array(item) - np.mean(item)).sum() for item in groups])
    freedom = np.array([len(item) - 1 for item in groups])
    worst = int((squares / freedom).argmax())
    others = (squares.sum() - squares[worst]) / (freedom.sum() - freedom[worst])
    ratio = squares[worst] / freedom[worst] / max(others, 1e-12)
    chance = stats.f.sf(ratio, freedom[worst], freedom.sum() - freedom[worst]) * len(groups)
    if chance < DEVIATING:
        pressure, forces = list(repeated.items())[worst]
        listed = ", ".join(f"{force:.3g}" for force in forces)
        yield doubt(
            f"torques: the repeated forces at {pressure / 1e3:g} kPa, {listed} N, differ "
            f"{math.sqrt(ratio):.2g} times as much as those at other pressures; one of them may "
            "be wrong"
        )


def _find_repeated_forces(problem: CalibrationProblem) -> dict[float, list[float]]:
    """Return the forces at each pressure, without those held out."""
    groups: dict[float, list[float]] = defaultdict(list)
    for force in problem.forces:
        if not force.held_out:
            groups[force.pressure].append(force.force)
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
    for reading in problem.hung:
        same = [x for x in kept if x.angles == reading.angles and x.mass == reading.mass]
        if len(reading.angles) > 1 and any(reading.angles) and same and not rounded:
            copied.append(f"{1e3 * reading.mass:g} g")
        else:
            kept.append(reading)
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
    coarse = rounding_step(np.array([item.force for item in problem.forces])) is not None
    if (
        len(repeated) > 2
        and not coarse
        and all(len({x.force for x in group}) == 1 for group in repeated)
    ):
        results.append((
            "torques", "all repeated forces are equal to the last digit: copies count once",
        ))  # fmt: skip
        changes["forces"] = tuple(
            item for group in groups.values()
            for item in (group[:1] if group in repeated else group)
        )  # fmt: skip
    if not results:
        return problem, ()
    return problem.replace(**changes), tuple(results)


# Plausible quantities


def implausible(quantities: Sequence[PlausibleQuantity]) -> list[Finding]:
    """Return a finding for each quantity outside of its range."""
    return [
        Finding(
            "",
            f"{quantity.name} is {quantity.value:.3g}{quantity.space}{quantity.unit}, expected "
            f"{quantity.low:g} to {quantity.high:g}{quantity.space}{quantity.unit}; "
            f"{quantity.hint}",
            refutes=True,
        )
        for quantity in quantities
        if not quantity.plausible
    ]


def plausible_quantities(problem: CalibrationProblem) -> Iterator[PlausibleQuantity]:
    """Yield quantities with the ranges in which soft fingers of grippers and hands lie."""
    finger, hung = problem.finger, [reading for reading in problem.hung if not reading.held_out]
    length = math.dist(finger.tip, finger.joints[0].position)
    mass = sum(link.mass for link in finger.links)
    density = mass / sum(math.prod(link.size) for link in finger.links)
    heaviest = max((reading.mass for reading in hung), default=0.0)
    released = max((release.mass for release in problem.releases), default=0.0)
    times = [release.settling_time for release in problem.releases if release.settling_time]
    swings = [max(track.heights) - min(track.heights) for track in problem.releases if track.times]
    angles = [math.degrees(abs(angle)) for reading in hung for angle in reading.angles]
    rows: list[tuple[str, float | None, float, float, str, str]] = [
        ("length of the finger", 1e3 * length, 10.0, 1000.0, "mm", "lengths are in m"),
        ("mass of the finger", 1e3 * mass, 0.5, 2000.0, "g", "masses are in kg"),
        ("mass of the finger over its length", mass / length, 0.02, 10.0, "kg/m",
         "compare units of mass and length"),
        ("density of the finger's boxes", density, 20.0, 20_000.0, "kg/m³",
         "compare the units of length (mm, cm) and of mass"),
        ("largest joint angle", max(angles, default=None), 0.3, 100.0, "°",
         "compare degrees and radians"),
        ("spread of repeated angles", _spread_of_angles(problem), 0.0, 2.5, "°",
         "compare the rows of each weight"),
        ("heaviest weight over the finger's mass", heaviest / mass or None, 0.01, 100.0, "",
         "compare g and kg"),
        *_pressure_quantities(problem),
        ("heaviest released weight over the finger's mass", released / mass or None, 0.01, 100.0,
         "", "compare g and kg"),
        ("shortest settling time", min(times, default=None), 0.01, 30.0, "s", "compare s and ms"),
        ("longest settling time", max(times, default=None), 0.01, 30.0, "s", "compare s and ms"),
        ("swing of the tip over the finger's length", max(swings, default=0.0) / length or None,
         1e-3, 2.0, "", "compare the scale of the pictures"),
    ]  # fmt: skip
    for name, value, low, high, unit, hint in rows:
        if value is not None:
            yield PlausibleQuantity(name, value, low, high, unit, hint)


def _spread_of_angles(problem: CalibrationProblem) -> float | None:
    """Return the rms deviation of rows of one weight from their mean [°]; None without repeats."""
    masses, angles = _table(problem)
    groups = [angles[masses == level] for level in np.unique(masses)]
    left = [group - group.mean(axis=0) for group in groups if len(group) > 1]
    return math.degrees(root_mean_square(np.concatenate(left))) if left and angles.size else None


def _pressure_quantities(
    problem: CalibrationProblem,
) -> Iterator[tuple[str, float | None, float, float, str, str]]:
    applied = [force.pressure for force in problem.forces] + [
        bend.pressure for bend in problem.bends
    ]
    highest = max(applied, default=0.0)
    if highest <= 0.0:
        return
    yield "highest pressure", highest / 1e3, 1.0, 1000.0, "kPa", "compare kPa, bar and Pa"
    forces = [force for force in problem.forces if force.pressure > 0.0]
    if forces:
        pressures = np.array([force.pressure for force in forces]) / 1e3
        slope = float(pressures @ [force.force for force in forces] / (pressures @ pressures))
        hint = "compare N and g, and kPa, bar and psi"
        yield "force per pressure", slope, 1e-4, 0.5, "N/kPa", hint
    repeated = [
        np.array(force) for force in _find_repeated_forces(problem).values() if len(force) > 1
    ]
    if repeated and any(group.any() for group in repeated):
        spread = root_mean_square(np.concatenate([group - group.mean() for group in repeated]))
        level = root_mean_square(np.concatenate(repeated))
        hint = "compare loading and unloading, friction at the tip and leaks"
        spread_name = "spread of repeated forces over the forces"
        yield spread_name, 100 * spread / level, 0.0, 10.0, "%", hint
