"""Other readings of measurements that would explain the residuals of a fit.

A *reading* is another meaning of the same numbers, such as forces in grams; the stage is fitted
again with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from softgrasp.calibration.objectives import mean_squared_error, root_mean_square
from softgrasp.calibration.optimizers import least_squares_search
from softgrasp.calibration.stages import Search, Stage, VirtualExperiments
from softgrasp.calibration.systematic_errors import DEGREES, HungFinger
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.mechanics.transforms import Array

FIRST_COLUMN = "the first column is no joint, and the others belong to the joint before"
"""Reading that leaves measured values out, and fits better for this reason, too."""
BETTER = 3.0
"""Ratio of relative residuals from which another reading is reported [–]."""
SLIGHTLY, LIKELIER = 1.45, 12.0
"""Ratio and gain of the logarithm of the likelihood from which one is reported, too [–]."""
NEGLIGIBLE = 0.01
"""Residual over the measured values, both rms, below which its pattern does not matter [–]."""
MAX_HALVINGS = 8
"""Number of start values that are tried for a reading."""
GAPS = (2e-3, 4e-3, 8e-3, 16e-3)
"""Distances of the plate beyond the described one that are tried [m]."""
MAX_SWAPPED = 8
"""Number of loads up to which swapped rows are tried in all pairs."""
MAX_ROWS = 24
"""Number of rows up to which exchanges of successive ones are tried."""
WIDER = 20.0
"""Factor by which bounds are widened where a parameter is on one of them [–]."""
ATMOSPHERE = 101_325.0
"""Standard atmosphere, between absolute and gauge pressure [Pa]."""
PRESSURE_UNITS = {
    "bar": 100.0, "psi": 6.894757, "MPa": 1e3, "mbar": 0.1, "mmHg": 0.1333224, "Pa": 1e-3,
}  # fmt: skip
"""Size of units that may be mistaken for kPa [kPa]."""


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


def better_readings(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array,
    position: Array,
) -> list[Alternative]:  # fmt: skip
    """Fit a stage with other readings of its measurements; return those that fit much better.

    Args:
        problem: Calibration problem.
        experiments: Virtual experiments of its finger.
        stage: Stage as it was fitted.
        stiffness: Stiffness joint by joint [N·m/rad], (n,).
        position: Fitted parameters, (p,).

    Returns:
        Readings whose relative residual is at least ``BETTER`` times smaller, or ``SLIGHTLY`` with
        a logarithm of the likelihood that is larger by ``LIKELIER``, the best first.
    """
    if stage.name == "springs" and stage.unit == "rad":
        readings = _read_angles(problem, stage)
    elif stage.name == "torques":
        read = _read_forces if stage.unit == "N" else _read_bending
        readings = read(problem, experiments, stage, stiffness)
    else:
        return []
    now = _relative(stage, position)
    results = [*_beyond_bounds(stage, position, now)]
    for reading, other in readings:
        fitted = least_squares_search(Search(other), _start(other))
        ratio = now / max(_relative(other, fitted), 1e-12)
        if _is_better(reading, ratio, len(stage.measured)):
            results.append(Alternative(stage.name, reading, ratio))
    return sorted(results, key=lambda one: -one.ratio)


def _is_better(reading: str, ratio: float, count: int) -> bool:
    """Return whether a reading of ``count`` values fits so much better that it is reported."""
    likelier = ratio > SLIGHTLY and count * math.log(ratio) > LIKELIER
    return ratio >= BETTER or (likelier and reading != FIRST_COLUMN)


def _beyond_bounds(stage: Stage, position: Array, now: float) -> Iterator[Alternative]:
    """Yield a fit with wider bounds, where a parameter is on one of them and it fits better."""
    block = stage.block
    low, high = on_bounds(stage, position)
    known = block.cells is None and all(block.relative)
    if now < NEGLIGIBLE or not known or not (low | high).any():
        return
    wider = replace(block, lower=block.lower / WIDER, upper=block.upper * WIDER)
    other = replace(stage, block=wider)
    fitted = least_squares_search(Search(other), position)
    ratio = now / max(_relative(other, fitted), 1e-12)
    left = (fitted < block.lower) | (fitted > block.upper)
    values = ", ".join(
        f"{name} = {value:.3g}"
        for name, value, shown in zip(block.names, fitted, left, strict=True) if shown
    )  # fmt: skip
    reading = (
        f"the {block.kind} may leave its bounds ({values} {block.unit}); widen the bounds, or see "
        "whether something holds these joints"
    )
    if _is_better(reading, ratio, len(stage.measured)):
        yield Alternative(stage.name, reading, ratio)


def on_bounds(stage: Stage, position: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which parameters are on the lower and on the upper bound, (p,) each."""
    block, margin = stage.block, 1e-3
    low = position <= (1.0 + margin) * block.lower
    return np.asarray(low), np.asarray(position >= (1.0 - margin) * block.upper)


def _start(stage: Stage) -> Array:
    """Return the middle of the bounds, or a point nearer to the lower ones that is simulated."""
    lower, middle = stage.block.lower, stage.block.middle
    for halvings in range(MAX_HALVINGS):
        start = np.asarray(lower + (middle - lower) * 0.5**halvings)
        if np.isfinite(stage.simulate(start[None])).all():
            return start
    return middle


def _relative(stage: Stage, position: Array) -> float:
    """Compute the residual over the measured values, both as root mean squares [–]."""
    left = np.nan_to_num(stage.simulate(position[None])[0] - stage.measured, nan=1e6)
    return root_mean_square(left) / max(root_mean_square(stage.measured), 1e-12)


def _read_angles(problem: CalibrationProblem, stage: Stage) -> Iterator[tuple[str, Stage]]:
    rig = HungFinger.of(problem)

    def angles(change: Callable[[Array], Array]) -> HungFinger:
        return replace(rig, angles=tuple(change(one) for one in rig.angles))

    rigs: list[tuple[str, HungFinger]] = [
        ("the angles have the other sign (a mirrored photograph: flip)", angles(np.negative)),
        ("the angles are in rad, not in degrees", angles(lambda x: x * DEGREES)),
        ("the angles are in degrees, not in rad", angles(lambda x: x / DEGREES)),
        ("the angles are directions of the links, not rotations of the joints",
         angles(lambda x: np.diff(x, prepend=0.0))),
        ("the angles are directions of the links against the last one",
         angles(lambda x: x - np.append(x[1:], 0.0))),
        ("the angles are directions of the links against the vertical",
         angles(lambda x: np.diff(0.5 * np.pi - x, prepend=0.0))),
        ("each row has the change since the row before", replace(rig, angles=_summed(rig))),
        ("the joints are numbered from the tip", angles(lambda x: x[::-1])),
        ("the weights are in kg, not in g", replace(rig, masses=1e3 * rig.masses)),
        ("the weights are in g, not in kg", replace(rig, masses=1e-3 * rig.masses)),
        ("the weights are in ounces, not in g", replace(rig, masses=28.3495 * rig.masses)),
        ("the weights are in pounds, not in g", replace(rig, masses=453.592 * rig.masses)),
        ("the weights are in N, not in g", replace(rig, masses=101.972 * rig.masses)),
        ("the weights are in mN, not in g", replace(rig, masses=0.101972 * rig.masses)),
        ("the weights named are those added, and their sum hung",
         replace(rig, masses=_changed(rig.masses, np.cumsum))),
        ("the weights named are sums, and only the last one hung",
         replace(rig, masses=_changed(rig.masses, partial(np.diff, prepend=0.0)))),
        ("each row has the angles of the row before",
         replace(rig, masses=np.append(_row_before(rig.masses), rig.masses[:-1]))),
        ("each row has the angles of the row after",
         replace(rig, masses=np.append(rig.masses[1:], rig.masses[-1:]))),
        *((f"the weights hang at joint {joint + 1}, not at the tip", replace(rig, hung_link=joint))
          for joint in range(1, len(rig.chain.steps))),
        ("the weights are in the reverse order", replace(rig, masses=rig.masses[::-1])),
        ("the finger's masses are in g, not in kg", rig.scaled(mass=1e-3)),
        ("the finger's masses are in kg, not in g", rig.scaled(mass=1e3)),
        *((f"the finger's mass is {factor:g} times that described", rig.scaled(mass=factor))
          for factor in (0.25, 0.5, 2.0, 4.0)),
        ("the finger's lengths are in mm, not in m", rig.scaled(length=1e-3)),
        ("the finger's lengths are in m, not in mm", rig.scaled(length=1e3)),
        ("the finger's lengths are in inches, not in mm", rig.scaled(length=25.4)),
    ]  # fmt: skip
    unloaded = "the angles are relative to those without a weight (zero: unloaded)"
    rigs += [(unloaded, replace(rig, relative=True))] * (not rig.relative)
    rigs += [
        (f"the angles of joint {joint + 1} have the other sign", angles(partial(_negated, joint)))
        for joint in range(max(len(one) for one in rig.angles))
    ]
    columns = min(len(one) for one in rig.angles)
    if columns > 2:
        rigs.append((FIRST_COLUMN, angles(lambda x: x[1:])))
    for a, b in combinations(range(columns), 2):
        rigs.append(
            (
                f"the columns of joints {a + 1} and {b + 1} are exchanged",
                angles(partial(_exchanged, a, b)),
            )
        )
    rigs += [*_exchanged_weights(rig), *_reversed_series(rig)]
    for reading, other in rigs:
        yield reading, _springs_of(other, stage)


def _exchanged_weights(rig: HungFinger) -> Iterator[tuple[str, HungFinger]]:
    """Yield exchanges of two weights in all rows, and of two successive rows of several series."""
    levels = np.unique(rig.masses).tolist()
    for a, b in combinations(levels if len(levels) <= MAX_SWAPPED else [], 2):
        masses = np.where(rig.masses == a, b, np.where(rig.masses == b, a, rig.masses))
        words = f"the rows of {1e3 * a:g} g and {1e3 * b:g} g are exchanged"
        yield words, replace(rig, masses=masses)
    if len(levels) == len(rig.masses) or len(rig.masses) > MAX_ROWS:
        return
    for row, (first, second) in enumerate(pairwise(rig.masses.tolist())):
        if first != second:
            masses = rig.masses.copy()
            masses[[row, row + 1]] = second, first
            words = f"rows {row + 1} and {row + 2}, of {1e3 * first:g} and {1e3 * second:g} g, are "
            yield f"{words}exchanged", replace(rig, masses=masses)


def _reversed_series(rig: HungFinger) -> Iterator[tuple[str, HungFinger]]:
    """Yield the reverse order of the weights of one of several series."""
    count = len(set(rig.masses.tolist()))
    series = len(rig.masses) // count
    if series < 2 or len(rig.masses) % count:
        return
    for number in range(series):
        span = slice(number * count, (number + 1) * count)
        masses = rig.masses.copy()
        masses[span] = masses[span][::-1]
        words = f"the weights of series {number + 1} are in the reverse order"
        yield words, replace(rig, masses=masses)


def _row_before(masses: Array) -> float:
    """Return the weight before the first one, at their distance [kg]."""
    return max(float(2.0 * masses[0] - masses[1]), 0.0) if len(masses) > 1 else float(masses[0])


def _changed(masses: Array, change: Callable[[Array], Array]) -> Array:
    """Change the levels of weights, ascending, whatever their order and repeats."""
    levels, index = np.unique(masses, return_inverse=True)
    return np.asarray(change(levels)[index])


def _negated(joint: int, values: Array) -> Array:
    """Return the values with the other sign of one."""
    return np.where(np.arange(len(values)) == joint, -values, values)


def _exchanged(a: int, b: int, values: Array) -> Array:
    """Return the values with two of them exchanged."""
    order = np.arange(len(values))
    order[[a, b]] = b, a
    return values[order]


def _summed(rig: HungFinger) -> tuple[Array, ...]:
    """Add the angles of each row to those of the rows before, in each series of growing weights."""
    rows: list[Array] = []
    for index, one in enumerate(rig.angles):
        first = index == 0 or rig.masses[index] <= rig.masses[index - 1]
        rows.append(one if first or len(one) != len(rows[-1]) else one + rows[-1])
    return tuple(rows)


def _springs_of(rig: HungFinger, stage: Stage) -> Stage:
    measured, block = rig.measured, stage.block
    return replace(
        stage,
        simulate=lambda p: rig.simulate(block.of_joints(p)),
        measured=measured,
        fitness=lambda values: mean_squared_error(values, measured),
        timed=np.ones(len(measured), dtype=bool),
    )


def _read_forces(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array
) -> Iterator[tuple[str, Stage]]:
    forces = [one for one in problem.forces if not one.held_out]
    block = stage.block

    def of(pressures: Array, measured: Array, wider: float = 0.0) -> Stage:
        moved = [forces[0].replace(pressure=max(float(p), 0.0)) for p in pressures]

        def simulate(parameters: Array) -> Array:
            k = np.broadcast_to(stiffness, (len(parameters), len(stiffness)))
            return experiments.forces(k, block.of_joints(parameters), moved, wider)

        return replace(
            stage, simulate=simulate, measured=measured,
            fitness=lambda values: mean_squared_error(values, measured),
        )  # fmt: skip

    pressure = np.array([one.pressure for one in forces])
    force = stage.measured
    units = {"grams": 9.80665e-3, "kilograms": 9.80665, "mN": 1e-3, "pounds": 4.448222,
             "ounces": 0.2780139}  # fmt: skip
    for unit, factor in units.items():
        yield f"the forces are in {unit}, not in N", of(pressure, factor * force)
    for unit, factor in PRESSURE_UNITS.items():
        yield f"the pressures are in {unit}, not in kPa", of(factor * pressure, force)
    yield "the pressures are absolute, not above the atmosphere", of(pressure - ATMOSPHERE, force)
    levels = np.unique(pressure)
    index = np.searchsorted(levels, pressure)
    if len(levels) > 3:
        inner, outer = index > 0, index < len(levels) - 1
        before, after = levels[index[inner] - 1], levels[index[outer] + 1]
        yield "each force belongs to the pressure before", of(before, force[inner])
        yield "each force belongs to the pressure after", of(after, force[outer])
    for gap in GAPS:
        yield f"the plate is about {1e3 * gap:g} mm farther from the tip", of(pressure, force, gap)
    yield "the forces have the other sign", of(pressure, -force)
    yield "the forces are in the reverse order", of(pressure, force[::-1])
    for a, b in combinations(levels.tolist() if len(levels) <= MAX_SWAPPED else [], 2):
        swapped = np.where(pressure == a, b, np.where(pressure == b, a, pressure))
        yield f"the forces at {a / 1e3:g} and {b / 1e3:g} kPa are exchanged", of(swapped, force)


def _read_bending(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array
) -> Iterator[tuple[str, Stage]]:
    bends = [one for one in problem.bends if not one.held_out]

    def of(
        change: Callable[[Array], Array] = np.asarray, factor: float = 1.0, shift: float = 0.0,
        pressures: Sequence[float] | None = None,
    ) -> Stage:  # fmt: skip
        used = pressures or [factor * one.pressure + shift for one in bends]
        moved = [x.replace(pressure=max(p, 0.0)) for x, p in zip(bends, used, strict=True)]
        measured = np.concatenate([change(np.array(one.angles)) for one in bends])

        def simulate(parameters: Array) -> Array:
            k = np.broadcast_to(stiffness, (len(parameters), len(stiffness)))
            angles = experiments.bends(k, stage.block.of_joints(parameters), moved)
            return np.concatenate(angles, axis=-1)

        return replace(
            stage, simulate=simulate, measured=measured,
            fitness=lambda values: mean_squared_error(values, measured),
        )  # fmt: skip

    yield (
        "the angles have the other sign (a mirrored photograph, or a finger upside down)",
        of(np.negative),
    )
    yield "the angles are in rad, not in degrees", of(lambda x: x * DEGREES)
    yield "the angles are in degrees, not in rad", of(lambda x: x / DEGREES)
    yield (
        "the angles are directions of the links, not rotations of the joints",
        of(lambda x: np.diff(x, prepend=0.0)),
    )
    yield "the joints are numbered from the tip", of(lambda x: x[::-1])
    for unit, factor in PRESSURE_UNITS.items():
        yield f"the pressures are in {unit}, not in kPa", of(factor=factor)
    yield "the pressures are absolute, not above the atmosphere", of(shift=-ATMOSPHERE)
    pressures = [one.pressure for one in bends]
    yield "the pressures are in the reverse order", of(pressures=pressures[::-1])
    for a, b in combinations(range(len(bends) if len(bends) <= MAX_SWAPPED else 0), 2):
        order = _exchanged(a, b, np.array(pressures)).tolist()
        names = f"{pressures[a] / 1e3:g} and {pressures[b] / 1e3:g} kPa"
        yield f"the rows of {names} are exchanged", of(pressures=order)
