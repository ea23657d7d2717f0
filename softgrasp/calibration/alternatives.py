"""Systematic errors and other readings of measurements that would explain the residuals of a fit.

A *nuisance* is one more parameter, such as the tilt of the base, with the derivative of every
measured value by it. An F test of the residuals shows whether it explains more than noise can
(Seber and Lee, *Linear Regression Analysis*, 2003, ch. 4). A *reading* is another meaning of
the same numbers, such as forces in grams; the stage is fitted again with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from softgrasp.calibration.objectives import root_mean_square, squared_angles
from softgrasp.calibration.optimizers import least_squares_search
from softgrasp.calibration.stages import Journal, Search, Stage, VirtualExperiments
from softgrasp.continuum.statics import HungRig, PlanarChain
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.mechanics.transforms import Array

FIRST_COLUMN = "the first column is no joint, and the others belong to the joint before"
"""Reading that leaves measured values out, and fits better for this reason, too."""
BETTER = 3.0
"""Ratio of relative residuals from which another reading is reported [–]."""
SLIGHTLY, LIKELIER = 1.45, 12.0
"""Ratio and gain of the logarithm of the likelihood from which one is reported, too [–]."""
MAX_HALVINGS = 8
"""Number of start values that are tried for a reading."""
MAX_SWAPPED = 8
"""Number of loads up to which swapped rows are tried in all pairs."""
ATMOSPHERE = 101_325.0
"""Standard atmosphere, between absolute and gauge pressure [Pa]."""
PRESSURE_UNITS = {
    "bar": 100.0, "psi": 6.894757, "MPa": 1e3, "mbar": 0.1, "mmHg": 0.1333224, "Pa": 1e-3,
}  # fmt: skip
"""Size of units that may be mistaken for kPa [kPa]."""
DEGREES = 180.0 / np.pi
ANGLE_STEP, RELATIVE_STEP, PRESSURE_STEP, GAP_STEP = 1e-4, 1e-4, 1e2, 1e-5
"""Steps of central differences by nuisances [rad, –, Pa, m]."""


@dataclass(frozen=True)
class Nuisance:
    """A systematic error with its effect on every measured value of a stage.

    Args:
        name: Sentence with ``{}`` for the estimate in ``unit``, and ``[heavier|lighter]`` for words
            that depend on its sign; without both for one whose size is 1.
        effect: Change of the simulated values by one unit of SI, (m,).
        unit: Unit of the sentence.
        factor: From SI to that unit.
        material: Smallest size that is reported [SI].
        limits: Range of possible sizes [SI].
    """

    name: str
    effect: Array
    unit: str
    factor: float
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
        size = self.factor * estimate
        if "[" in self.name:
            size = abs(size)
        shown = f"{size:.0f}" if abs(size) >= 100.0 else f"{size:.2g}"
        text = self.name.format(f"{shown}{self.unit}")
        return re.sub(r"\[(.*?)\|(.*?)\]", lambda x: x[1] if estimate > 0.0 else x[2], text)


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


# Statics with systematic errors


@dataclass(frozen=True)
class HungFinger:
    """Finger under weights, with systematic errors of the test rig.

    Args:
        chain: Geometry and masses.
        masses: Weights at the tip [kg], (l,).
        angles: Measured angles of each weight [rad].
        tilt: Rotation of the base, positive towards −z [rad].
        overhang: Distance of the weight beyond the tip, over the length of the last link [–].
        relative: Whether angles are those beyond the angles without a weight.
        hung_link: Number of the link at whose beginning the weights hang; None for the tip.
    """

    chain: PlanarChain
    masses: Array
    angles: tuple[Array, ...]
    tilt: float = 0.0
    overhang: float = 0.0
    relative: bool = False
    hung_link: int | None = None

    @classmethod
    def of(cls, problem: CalibrationProblem) -> HungFinger:
        """Take finger and weights, without those held out, from a problem."""
        loads = [one for one in problem.hung if not one.held_out]
        masses = np.array([one.mass for one in loads])
        angles = tuple(np.array(x.angles) for x in loads)
        relative = problem.zero == "unloaded"
        return cls(PlanarChain.of(problem.finger), masses, angles, relative=relative)

    @property
    def measured(self) -> Array:
        """All measured angles [rad], (m,)."""
        return np.concatenate(self.angles)

    def simulate(self, stiffness: Array) -> Array:
        """Compute all angles for stiffness (B, n), (B, m) [rad]."""
        rig = HungRig(
            self.masses, self.tilt, self.overhang, relative=self.relative, hung_link=self.hung_link
        )
        angles = rig.angles(self.chain, stiffness)
        parts = [angles[:, i, : len(one)] for i, one in enumerate(self.angles)]
        return np.concatenate(parts, axis=-1)

    def scaled(self, *, length: float = 1.0, mass: float = 1.0) -> HungFinger:
        """Return the same with a longer and heavier finger."""
        chain = self.chain
        return replace(
            self,
            chain=PlanarChain(length * chain.steps, length * chain.centres, mass * chain.masses),
        )


# Nuisances


def nuisances_of(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array,
    position: Array,
) -> list[Nuisance]:  # fmt: skip
    """Return the systematic errors that a stage can show, each with its effect.

    Args:
        problem: Calibration problem.
        experiments: Virtual experiments of its finger.
        stage: ``springs`` with angles, or ``torques`` with forces; other stages have none.
        stiffness: Stiffness joint by joint [N·m/rad], (n,).
        position: Fitted parameters of the stage, (p,).
    """
    if stage.name == "springs" and stage.unit == "rad":
        rig = HungFinger.of(problem)
        return [*_of_rig(rig, stiffness), *_of_angles(rig, stage.labels)]
    if stage.name == "torques" and stage.unit == "N":
        return _of_forces(problem, experiments, stage, stiffness, position)
    return []


def _of_rig(rig: HungFinger, stiffness: Array) -> Iterator[Nuisance]:
    """Yield tilt, hook, single weights, load point and mass of the finger."""

    def effect(change: Callable[[float], HungFinger], step: float) -> Array:
        ahead, behind = (change(sign * step).simulate(stiffness[None])[0] for sign in (1.0, -1.0))
        return np.asarray(np.nan_to_num((ahead - behind) / (2.0 * step)))

    heaviest = float(rig.masses.max())
    first = np.concatenate([np.arange(len(one)) == 0 for one in rig.angles]).astype(float)
    yield Nuisance(
        "the clamp is tilted or the camera rolled by {}, positive where the tip is lower (a plumb "
        "line in a photograph distinguishes them)",
        (not rig.relative) * first + effect(lambda x: replace(rig, tilt=x), ANGLE_STEP),
        "°", DEGREES, 0.5 / DEGREES,
    )  # fmt: skip
    yield Nuisance(
        "the finger weighs {} [more|less] than described",
        effect(lambda x: rig.scaled(mass=1.0 + x), RELATIVE_STEP), " %", 100.0, 0.1,
        (-0.8, 4.0),
    )  # fmt: skip
    if heaviest <= 0.0:
        return
    yield Nuisance(
        "the weights hang {} of the last link [beyond|before] the tip",
        effect(lambda x: replace(rig, overhang=x), RELATIVE_STEP), " %", 100.0, 0.1,
    )  # fmt: skip
    step, loaded = RELATIVE_STEP * heaviest, rig.masses > 0.0
    if loaded.sum() > 1:
        yield Nuisance(
            "every weight is {} [heavier|lighter] than named, as with [a hook or a|a] scale "
            "without tare",
            effect(partial(_heavier, rig, loaded), step), " g", 1e3,
            0.02 * heaviest,
        )  # fmt: skip
    for index in np.flatnonzero(loaded).tolist():
        one = np.arange(len(rig.masses)) == index
        yield Nuisance(
            f"the weight of {1e3 * rig.masses[index]:g} g is {{}} [heavier|lighter] than named",
            effect(partial(_heavier, rig, one), step), " g", 1e3,
            0.05 * float(rig.masses[index]),
        )  # fmt: skip


def _heavier(rig: HungFinger, which: NDArray[np.bool_], mass: float) -> HungFinger:
    """Return the same with some weights heavier by ``mass`` [kg]."""
    return replace(rig, masses=rig.masses + mass * which)


def _of_angles(rig: HungFinger, labels: tuple[str, ...]) -> Iterator[Nuisance]:
    """Yield offsets of one joint in all pictures, and errors of one value."""
    material = 0.5 / DEGREES
    number = np.concatenate([np.arange(len(one)) for one in rig.angles])
    if len(rig.angles) > 1:
        for joint in range(int(number.max()) + 1):
            effect = (number == joint).astype(float)
            yield Nuisance(
                f"the angle of joint {joint + 1} is {{}} too [large|small] under every weight",
                effect, "°", DEGREES, material,
            )  # fmt: skip
    measured = rig.measured
    weights = zip(rig.masses, rig.angles, strict=True)
    masses = np.concatenate([np.full(len(row), mass) for mass, row in weights])
    if masses.max() > 0.0:
        yield Nuisance(
            "the angles under the heaviest weight are {} too [large|small], and those under other "
            "weights in proportion, as where creep had not ended under [light|heavy] weights or "
            "where springs [soften|stiffen]",
            measured * masses / masses.max(), " %", 100.0, 0.1, (-0.6, 0.6),
        )  # fmt: skip
    yield from _of_series(labels, measured, 0.05)
    yield from _of_unloading(rig, labels, masses)
    rows = np.concatenate([np.full(len(row), i) for i, row in enumerate(rig.angles)])
    for row in range(2, len(rig.angles) - 1):
        yield Nuisance(
            f"the angles from row {row + 1} on, {1e3 * rig.masses[row]:g} g, are {{}} too "
            "[large|small] for those before, as of another finger, camera or room temperature",
            measured * (rows >= row), " %", 100.0, 0.08, (-0.6, 0.6),
        )  # fmt: skip
    yield from _of_swaps(rig, measured)
    yield from _of_columns(rig)
    for index, label in enumerate(labels):
        effect = (np.arange(len(labels)) == index).astype(float)
        yield Nuisance(f"{label} is {{}} too [large|small]", effect, "°", DEGREES, material)


def _series(labels: Sequence[str]) -> NDArray[np.intp]:
    """Return how many equal labels stand before each, (m,): the number of its series."""
    return np.array([labels[:i].count(label) for i, label in enumerate(labels)])


def _of_series(labels: Sequence[str], measured: Array, material: float) -> Iterator[Nuisance]:
    """Yield systematic differences between the repeats of a measurement.

    Args:
        labels: Equal ones are repeats, in the order in which they were measured.
        measured: Measured values, (m,).
        material: Smallest relative difference that is reported [–].
    """
    number = _series(labels).astype(float)
    largest = float(np.abs(measured).max())
    if 0 < number.max() < len(labels) // 3:
        later = np.where(number > 0.0, measured, 0.0)
        name = "values of repeated series are {} [larger|smaller] than those of the first series"
        yield Nuisance(
            f"{name}, as with loading and unloading or creep", later, " %", 100.0, material
        )
        yield Nuisance(
            "each repeated series is {} [higher|lower] than the one before, as with a sensor that "
            "drifts", largest * number, " % of the largest value", 100.0, 0.2 * material,
        )  # fmt: skip


def _of_unloading(rig: HungFinger, labels: Sequence[str], masses: Array) -> Iterator[Nuisance]:
    """Yield angles of repeated series that are larger, the more so the lighter the weight."""
    number = _series(labels)
    if number.max() == 0 or rig.masses.max() <= 0.0:
        return
    top = rig.angles[int(rig.masses.argmax())]
    joint = np.concatenate([np.arange(len(row)) for row in rig.angles])
    largest = top[np.minimum(joint, len(top) - 1)]
    yield Nuisance(
        "angles of repeated series are [larger|smaller] than those of the first by {} of the angle "
        "under the heaviest weight where the weight is light, as with loading and unloading",
        np.asarray(largest * (1.0 - masses / masses.max()) * (number > 0), dtype=float),
        " %", 100.0, 0.03,
    )  # fmt: skip


def _of_columns(rig: HungFinger) -> Iterator[Nuisance]:
    """Yield columns that are shifted by a row; the effect of size 1 is the whole shift."""
    if len({len(one) for one in rig.angles}) > 1 or len(rig.angles) < 3:
        return
    table = np.array(rig.angles)
    for joint in range(table.shape[1]):
        for word, step in (("before", 1), ("after", -1)):
            effect = np.zeros_like(table)
            inner = slice(0, -1) if step > 0 else slice(1, None)
            effect[inner, joint] = (table - np.roll(table, -step, axis=0))[inner, joint]
            yield Nuisance(
                f"the angles of joint {joint + 1} are those of the row {word}",
                effect.ravel(), "", 1.0, 0.6, (0.6, 1.5),
            )  # fmt: skip


def _of_swaps(rig: HungFinger, measured: Array) -> Iterator[Nuisance]:
    """Yield exchanges of two successive rows; the effect of size 1 is the whole exchange."""
    ends = np.cumsum([len(one) for one in rig.angles])
    grams = 1e3 * rig.masses
    for row, (a, b) in enumerate(pairwise(rig.angles)):
        if len(a) == len(b) and grams[row] != grams[row + 1]:
            effect = np.zeros_like(measured)
            effect[ends[row] - len(a) : ends[row]] = a - b
            effect[ends[row] : ends[row] + len(b)] = b - a
            yield Nuisance(
                f"rows {row + 1} and {row + 2}, of {grams[row]:g} and {grams[row + 1]:g} g, are "
                "exchanged", effect, "", 1.0, 0.6, (0.6, 1.5),
            )  # fmt: skip


def _of_forces(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array,
    position: Array,
) -> list[Nuisance]:  # fmt: skip
    """Return tare of the scale, offset of the pressure, and errors of one pressure."""
    forces = [one for one in problem.forces if not one.held_out]
    pressures = np.array([one.pressure for one in forces])
    largest = float(np.abs(stage.measured).max())
    k, alpha = stiffness[None], stage.block.of_joints(position[None])

    def at(shift: float) -> Array:
        shifted = [one.replace(pressure=max(one.pressure + shift, 0.0)) for one in forces]
        return np.asarray(experiments.forces(k, alpha, shifted)[0])

    slope = (at(2.0 * PRESSURE_STEP) - at(0.0)) / (2.0 * PRESSURE_STEP)
    results = [
        Nuisance("the scale shows {} too [much|little], as without tare", np.ones(len(forces)),
                 " N", 1.0, 0.03 * largest),
        Nuisance("the pressures are {} [higher|lower] than named, as with [|absolute pressures, "
                 "with a gap between tip and plate, or with ]a sensor without tare",
                 np.nan_to_num(slope), " kPa", 1e-3, 0.03 * float(pressures.max())),
    ]  # fmt: skip
    results += _of_series(stage.labels, stage.measured, 0.05)
    for pressure in np.unique(pressures)[2:-1].tolist():
        name = (
            f"the forces from {pressure / 1e3:g} kPa on are {{}} too [large|small], as of a scale "
        )
        results.append(
            Nuisance(f"{name}whose zero changed", (pressures >= pressure).astype(float), " N", 1.0,
                     0.03 * largest)
        )  # fmt: skip
    for pressure in np.unique(pressures).tolist():
        effect = (pressures == pressure).astype(float)
        name = f"the force at {pressure / 1e3:g} kPa is {{}} too [large|small]"
        results.append(Nuisance(name, effect, " N", 1.0, 2.0 * problem.model_error * largest))
    return results


# Readings


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
    results = []
    for reading, other in readings:
        fitted = least_squares_search(Search(other, Journal(None, "")), _start(other))
        residual = _relative(other, fitted)
        ratio = now / max(residual, 1e-12)
        likelier = ratio > SLIGHTLY and len(stage.measured) * math.log(ratio) > LIKELIER
        if ratio >= BETTER or likelier:
            results.append(Alternative(stage.name, reading, ratio))
    return sorted(results, key=lambda one: -one.ratio)


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
    if min(len(one) for one in rig.angles) > 2:
        rigs.append((FIRST_COLUMN, angles(lambda x: x[1:])))
    count = len(rig.masses)
    for a, b in combinations(range(count if count <= MAX_SWAPPED else 0), 2):
        order = list(range(count))
        order[a], order[b] = b, a
        grams = 1e3 * rig.masses
        swapped = replace(rig, masses=rig.masses[order])
        rigs.append((f"the rows of {grams[a]:g} g and {grams[b]:g} g are exchanged", swapped))
    for reading, other in rigs:
        yield reading, _springs_of(other, stage)


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


def _springs_of(rig: HungFinger, stage: Stage) -> Stage:
    measured, block = rig.measured, stage.block
    return replace(
        stage,
        simulate=lambda p: rig.simulate(block.of_joints(p)),
        measured=measured,
        fitness=lambda values: squared_angles(values, measured),
        timed=np.ones(len(measured), dtype=bool),
    )


def _read_forces(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array
) -> Iterator[tuple[str, Stage]]:
    forces = [one for one in problem.forces if not one.held_out]
    block = stage.block

    def of(pressures: Array, measured: Array) -> Stage:
        moved = [forces[0].replace(pressure=max(float(p), 0.0)) for p in pressures]

        def simulate(parameters: Array) -> Array:
            k = np.broadcast_to(stiffness, (len(parameters), len(stiffness)))
            return experiments.forces(k, block.of_joints(parameters), moved)

        return replace(
            stage, simulate=simulate, measured=measured,
            fitness=lambda values: squared_angles(values, measured),
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
        change: Callable[[Array], Array] = np.asarray, factor: float = 1.0, shift: float = 0.0
    ) -> Stage:
        moved = [one.replace(pressure=max(factor * one.pressure + shift, 0.0)) for one in bends]
        measured = np.concatenate([change(np.array(one.angles)) for one in bends])

        def simulate(parameters: Array) -> Array:
            k = np.broadcast_to(stiffness, (len(parameters), len(stiffness)))
            angles = experiments.bends(k, stage.block.of_joints(parameters), moved)
            return np.concatenate(angles, axis=-1)

        return replace(
            stage, simulate=simulate, measured=measured,
            fitness=lambda values: squared_angles(values, measured),
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
