"""Other readings of a finger's measurements that may explain the residuals of a fit.

A *reading* is another meaning of the same numbers, such as forces in grams; ``refits`` fits the
stage again with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.calibration.optimizers import least_squares_search
from softgrasp.calibration.refits import (
    FIRST_COLUMN,
    LEAVES,
    Alternative,
    Reading,
    StageFit,
)
from softgrasp.calibration.stages import Search, Stage, VirtualExperiments, torques
from softgrasp.calibration.systematic_errors import HungFinger
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.mechanics.transforms import Array

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
FORCE_UNITS = {
    "grams": 9.80665e-3, "kilograms": 9.80665, "mN": 1e-3, "pounds": 4.448222, "ounces": 0.2780139,
}  # fmt: skip
"""Size of units that may be mistaken for N [N]."""
MASS_UNITS = {
    "kg": 1e3, "ounces": 28.3495, "pounds": 453.592, "N": 101.972, "mN": 0.101972,
}  # fmt: skip
"""Size of units that may be mistaken for g [g]."""
ANGLES: dict[str, Callable[[Array], Array]] = {
    "have the other sign (a mirrored photograph: flip)": np.negative,
    "are in rad, not in degrees": np.degrees,
    "are in degrees, not in rad": np.radians,
    "are directions of the links, not rotations of the joints": partial(np.diff, prepend=0.0),
    "are numbered from the tip": np.flip,
}
"""Other meanings of the angles of a row, with the angles that they really are."""


def readings_of(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array
) -> Iterator[Reading]:
    """Yield other readings of the measurements of a stage.

    Args:
        problem: Calibration problem.
        experiments: Virtual experiments of its finger.
        stage: Stage as it was fitted.
        stiffness: Stiffness joint by joint [N·m/rad], (n,).
    """
    if stage.name == "springs" and stage.unit == "rad":
        yield from _read_angles(problem, stage)
    elif stage.name == "torques":
        yield from _read_pressed(problem, experiments, stage, stiffness)


def beyond_bounds(fit: StageFit) -> list[Alternative]:
    """Fit a stage with wider bounds, where a parameter is on one of them; return it if better."""
    block = fit.stage.block
    low, high = on_bounds(fit.stage, fit.position)
    known = block.cells is None and all(block.relative)
    if fit.is_negligible or not known or not (low | high).any():
        return []
    wider = replace(block, lower=block.lower / WIDER, upper=block.upper * WIDER)
    other = replace(fit.stage, block=wider)
    fitted = least_squares_search(Search(other), fit.position)
    left = (fitted < block.lower) | (fitted > block.upper)
    names = ", ".join(name for name, beyond in zip(block.names, left, strict=True) if beyond)
    reading = (
        f"the {block.kind} {LEAVES} ({names}); widen the bounds, or see whether "
        "something holds these joints"
    )
    better = fit.compared(reading, other, fitted)
    return [better] if better else []


def on_bounds(stage: Stage, position: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which parameters are on the lower and on the upper bound, (p,) each."""
    block, margin = stage.block, 1e-3
    low = position <= (1.0 + margin) * block.lower
    return np.asarray(low), np.asarray(position >= (1.0 - margin) * block.upper)


def _read_angles(problem: CalibrationProblem, stage: Stage) -> Iterator[Reading]:
    rig = HungFinger.of(problem)

    def angles(change: Callable[[Array], Array]) -> HungFinger:
        return replace(rig, angles=tuple(change(one) for one in rig.angles))

    rigs: list[tuple[str, HungFinger]] = [
        *((f"the angles {words}", angles(change)) for words, change in ANGLES.items()),
        ("the angles are directions of the links against the last one",
         angles(lambda x: x - np.append(x[1:], 0.0))),
        ("the angles are directions of the links against the vertical",
         angles(lambda x: np.diff(0.5 * np.pi - x, prepend=0.0))),
        ("each row has the change since the row before", replace(rig, angles=_summed(rig))),
        *((f"the weights are in {unit}, not in g", replace(rig, masses=factor * rig.masses))
          for unit, factor in MASS_UNITS.items()),
        ("the weights are in g, not in kg", replace(rig, masses=1e-3 * rig.masses)),
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
        (
            f"the angles of joint {joint + 1} have the other sign",
            angles(lambda x: np.where(np.arange(len(x)) == joint, -x, x)),  # noqa: B023  (at once)
        )
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
    return stage.reread(rig.measured, lambda p: rig.simulate(stage.block.of_joints(p)))


def _read_pressed(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array
) -> Iterator[Reading]:
    """Yield other readings of forces, or of angles, under pressures."""
    field, value = ("forces", "force") if stage.unit == "N" else ("bends", "angles")
    rows = [one for one in getattr(problem, field) if not one.held_out]
    pressure = np.array([one.pressure for one in rows])

    def of(pressures: Array, change: Callable[[Array], Array] = np.asarray) -> Stage:
        known = np.isfinite(pressures)
        moved = tuple(
            one.replace(**{"pressure": max(p, 0.0), value: _as_field(change(getattr(one, value)))})
            for one, p, is_known in zip(rows, pressures.tolist(), known, strict=True) if is_known
        )  # fmt: skip
        other = torques(problem.replace(**{field: moved}), experiments, stiffness)
        assert other is not None  # rows are left
        return other

    if stage.unit == "N":
        for unit, factor in FORCE_UNITS.items():
            yield f"the forces are in {unit}, not in N", of(pressure, partial(np.multiply, factor))
        yield "the forces have the other sign", of(pressure, np.negative)
    else:
        for words, change in ANGLES.items():
            yield f"the angles {words}", of(pressure, change)
    for unit, factor in PRESSURE_UNITS.items():
        yield f"the pressures are in {unit}, not in kPa", of(factor * pressure)
    yield "the pressures are absolute, not above the atmosphere", of(pressure - ATMOSPHERE)
    yield "the pressures are in the reverse order", of(pressure[::-1])
    levels = np.unique(pressure)
    index = np.searchsorted(levels, pressure)
    if len(levels) > 3:
        beside = np.concatenate([[np.nan], levels, [np.nan]])
        yield f"each {value} belongs to the pressure before", of(beside[index])
        yield f"each {value} belongs to the pressure after", of(beside[index + 2])
    for a, b in combinations(levels.tolist() if len(levels) <= MAX_SWAPPED else [], 2):
        swapped = np.where(pressure == a, b, np.where(pressure == b, a, pressure))
        yield f"the {field} at {a / 1e3:g} and {b / 1e3:g} kPa are exchanged", of(swapped)


def _as_field(values: Array) -> Any:
    """Return changed values as a measurement holds them."""
    plain = values.tolist()
    return tuple(plain) if isinstance(plain, list) else plain
