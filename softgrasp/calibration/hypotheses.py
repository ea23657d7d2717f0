"""Table of what may be wrong with the measurements of a finger, one hypothesis a row.

A row is a *nuisance*, one more parameter with its effect on every measured value, or a *reading*,
another meaning of the same numbers, such as forces in grams. ``refits`` tests both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.calibration.refits import (
    DEGREES,
    FARTHER,
    FIRST_COLUMN,
    Hypothesis,
    Nuisance,
    Reading,
    single_values,
)
from softgrasp.calibration.stages import Stage, VirtualExperiments, torques
from softgrasp.continuum.statics import GRAVITY, HungRig, Loads, PlanarChain, rest
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.mechanics.transforms import Array

ANGLE_STEP, RELATIVE_STEP, PRESSURE_STEP, MOMENT_STEP = 1e-4, 1e-4, 1e2, 1e-6
"""Steps of central differences by nuisances [rad, –, Pa, N·m]."""
SERIES = 0.05
"""Smallest relative difference between repeated series that is reported [–]."""
GAPS = (2e-3, 4e-3, 8e-3, 16e-3)
"""Distances of the plate beyond the described one that are tried [m]."""
MAX_SWAPPED = 8
"""Number of loads up to which swapped rows are tried in all pairs."""
MAX_ROWS = 24
"""Number of rows up to which exchanges of successive ones are tried."""
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


def hypotheses_of(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array,
    position: Array,
) -> Iterator[Hypothesis]:  # fmt: skip
    """Yield the hypotheses about faults of the measurements of a stage.

    Args:
        problem: Calibration problem.
        experiments: Virtual experiments of its finger.
        stage: ``springs`` with angles, ``dampers`` with tracks, or ``torques``; others have none.
        stiffness: Stiffness joint by joint [N·m/rad], (n,).
        position: Fitted parameters of the stage, (p,).
    """
    if stage.name == "springs" and stage.unit == "rad":
        rig = HungFinger.of(problem)
        yield from _errors_of_rig(rig, stiffness)
        yield from _errors_of_angles(rig.fitted(stiffness), stage.labels)
        yield from _shift_columns(rig)
        for words, other in _readings_of_weights(rig):
            yield words, _springs_of(other, stage)
    elif stage.name == "dampers" and stage.unit == "m":
        yield _drift(problem)
    elif stage.name == "torques":
        forces = stage.unit == "N"
        errors = _errors_of_forces if forces else _errors_of_bends
        yield from errors(problem, experiments, stage, stiffness, position)
        yield from _readings_under_pressure(problem, experiments, stage, stiffness)


# Angles under weights


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
        pull: Angle between the force of the weights and the vertical, positive away from the
            clamp [rad].
        moment: Moment on every joint, positive downwards [N·m].
    """

    chain: PlanarChain
    masses: Array
    angles: tuple[Array, ...]
    tilt: float = 0.0
    overhang: float = 0.0
    relative: bool = False
    hung_link: int | None = None
    pull: float = 0.0
    moment: float = 0.0

    @classmethod
    def of(cls, problem: CalibrationProblem) -> HungFinger:
        """Take finger and weights, without those held out, from a problem."""
        loads = [reading for reading in problem.hung if not reading.held_out]
        masses = np.array([load.mass for load in loads])
        angles = tuple(np.array(x.angles) for x in loads)
        relative = problem.zero == "unloaded"
        return cls(PlanarChain.of(problem.finger), masses, angles, relative=relative)

    @property
    def measured(self) -> Array:
        """All measured angles [rad], (m,)."""
        return np.concatenate(self.angles)

    @property
    def rows(self) -> NDArray[np.intp]:
        """Number of the row of each angle, (m,)."""
        return np.repeat(np.arange(len(self.angles)), [len(angle) for angle in self.angles])

    @property
    def joints(self) -> NDArray[np.intp]:
        """Number of the joint of each angle, (m,)."""
        return np.concatenate([np.arange(len(angle)) for angle in self.angles])

    def simulate(self, stiffness: Array) -> Array:
        """Compute all angles for stiffness (B, n), (B, m) [rad]."""
        rig = HungRig(
            self.masses, self.tilt, self.overhang, relative=self.relative,
            hung_link=self.hung_link, pull=self.pull, moment=self.moment,
        )  # fmt: skip
        return np.asarray(rig.angles(self.chain, stiffness)[:, self.rows, self.joints])

    def fitted(self, stiffness: Array) -> HungFinger:
        """Return the same with simulated angles, which have no noise, for a stiffness (n,)."""
        simulated = np.nan_to_num(self.simulate(stiffness[None])[0])
        ends = np.cumsum([len(angle) for angle in self.angles])[:-1]
        return replace(self, angles=tuple(np.split(simulated, ends)))

    def scaled(self, *, length: float = 1.0, mass: float = 1.0) -> HungFinger:
        """Return the same with a longer and heavier finger."""
        chain = self.chain
        scaled = PlanarChain(length * chain.steps, length * chain.centres, mass * chain.masses)
        return replace(self, chain=scaled)

    def read(self, change: Callable[[Array], Array]) -> HungFinger:
        """Return the same with other angles of each row."""
        return replace(self, angles=tuple(change(angle) for angle in self.angles))

    def weighing(self, masses: Any) -> HungFinger:
        """Return the same with other weights [kg], (l,)."""
        return replace(self, masses=np.asarray(masses))

    def heavier(self, which: NDArray[np.bool_], mass: float) -> HungFinger:
        """Return the same with some weights heavier by a mass [kg]."""
        return self.weighing(self.masses + mass * which)


def _springs_of(rig: HungFinger, stage: Stage) -> Stage:
    return stage.reread(rig.measured, lambda p: rig.simulate(stage.block.of_joints(p)))


def _errors_of_rig(rig: HungFinger, stiffness: Array) -> Iterator[Nuisance]:
    """Yield tilt, mass of the finger, load point, pull, hook and single weights."""

    def effect(change: Callable[[float], HungFinger], step: float) -> Array:
        ahead, behind = (change(sign * step).simulate(stiffness[None])[0] for sign in (1.0, -1.0))
        return np.asarray(np.nan_to_num((ahead - behind) / (2.0 * step)))

    heaviest, loaded = float(rig.masses.max()), rig.masses > 0.0
    yield Nuisance(
        "the clamp is tilted or the camera rolled by {}, positive where the tip is lower (a plumb "
        "line in a photograph distinguishes them)",
        (not rig.relative) * (rig.joints == 0) + effect(lambda x: replace(rig, tilt=x), ANGLE_STEP),
        "°", 0.5 / DEGREES,
    )  # fmt: skip
    yield Nuisance(
        "the finger weighs {} [more|less] than described",
        effect(lambda x: rig.scaled(mass=1.0 + x), RELATIVE_STEP), "%", 0.1, (-0.8, 4.0),
    )  # fmt: skip
    yield Nuisance(
        "the tip is [pulled down|lifted] by {} under every weight, as by a tube or a string",
        effect(lambda x: rig.weighing(rig.masses + x / GRAVITY), RELATIVE_STEP), "N",
        max(0.02 * GRAVITY * heaviest, 0.01),
    )  # fmt: skip
    yield Nuisance(
        "a moment of {} bends every joint [down|up] under every weight, as of a pressure that was "
        "left in the finger",
        effect(lambda x: replace(rig, moment=x), MOMENT_STEP), "mN·m", 1e-3,
    )  # fmt: skip
    if heaviest <= 0.0:
        return
    yield Nuisance(
        "the weights hang {} of the last link [beyond|before] the tip",
        effect(lambda x: replace(rig, overhang=x), RELATIVE_STEP), "%", 0.1, (-2.0, 2.0),
    )  # fmt: skip
    yield Nuisance(
        "the weights pull at {} from the vertical, [away from|towards] the clamp, as by an oblique "
        "string",
        effect(lambda x: replace(rig, pull=x), ANGLE_STEP), "°", 5.0 / DEGREES,
        (-0.25 * np.pi, 0.25 * np.pi),
    )  # fmt: skip
    weights = [
        (f"the weights from {1e3 * level:g} g on are", rig.masses >= level, 0.05 * level, "")
        for level in np.unique(rig.masses[loaded])[1:].tolist()
    ] + [
        (f"the weight of {1e3 * mass:g} g is", np.arange(len(rig.masses)) == row, 0.05 * mass, "")
        for row, mass in enumerate(rig.masses.tolist()) if mass > 0.0
    ]  # fmt: skip
    if loaded.sum() > 1:
        hook = ", as with [a hook or a|a] scale without tare"
        weights.insert(0, ("every weight is", loaded, 0.02 * heaviest, hook))
    for words, which, material, cause in weights:
        by_mass = effect(partial(rig.heavier, which), RELATIVE_STEP * heaviest)
        yield Nuisance(f"{words} {{}} [heavier|lighter] than named{cause}", by_mass, "g", material)


def _errors_of_angles(rig: HungFinger, labels: tuple[str, ...]) -> Iterator[Nuisance]:
    """Yield errors of joints, rows, series and single values.

    Args:
        rig: With simulated angles: effects that contain the noise would always explain it.
        labels: Description of each angle.
    """
    material, measured, rows, joints = 0.5 / DEGREES, rig.measured, rig.rows, rig.joints
    count, masses = len(rig.angles), rig.masses[rows]
    grams = [f"{1e3 * mass:g} g" for mass in rig.masses]
    for joint in range(int(joints.max()) + 1 if count > 1 else 0):
        words = f"the angle of joint {joint + 1} is {{}} too [large|small] under every weight"
        yield Nuisance(words, (joints == joint).astype(float), "°", material)
    if masses.max() > 0.0:
        yield Nuisance(
            "the angles under the heaviest weight are {} too [large|small], and those under other "
            "weights in proportion, as where creep had not ended under [light|heavy] weights or "
            "where springs [soften|stiffen]",
            measured * masses / masses.max(), "%", 0.1, (-0.6, 0.6),
        )  # fmt: skip
    for level in np.unique(rig.masses).tolist() if len(set(labels)) < len(labels) else ():
        words = f"the angles of all rows of {1e3 * level:g} g are {{}} too [large|small]"
        yield Nuisance(words, measured * (masses == level), "%", 0.1)
    yield from _errors_of_series(labels, measured)
    yield from _unloading(rig, labels)
    for row in range(1, count):
        yield Nuisance(
            f"the first angle is {{}} too [large|small] from row {row + 1} on, {grams[row]}, as "
            "where the clamp slips or the camera moves",
            ((joints == 0) & (rows >= row)).astype(float), "°", material,
        )  # fmt: skip
    for row in range(2, count - 1):
        yield Nuisance(
            f"the angles from row {row + 1} on, {grams[row]}, are {{}} too [large|small] for those "
            "before, as of another finger, camera or room temperature",
            measured * (rows >= row), "%", 0.08, (-0.6, 0.6),
        )  # fmt: skip
    yield from single_values(labels, material)


def _series(labels: Sequence[str]) -> NDArray[np.intp]:
    """Return how many equal labels stand before each, (m,): the number of its series."""
    return np.array([labels[:i].count(label) for i, label in enumerate(labels)])


def _errors_of_series(labels: Sequence[str], expected: Array) -> Iterator[Nuisance]:
    """Yield systematic differences between the repeats of a measurement.

    Args:
        labels: Equal ones are repeats, in the order in which they were measured.
        expected: Simulated values, (m,).
    """
    number = _series(labels).astype(float)
    if 0 < number.max() < len(labels) // 3:
        yield Nuisance(
            "values of repeated series are {} [larger|smaller] than those of the first series, as "
            "with loading and unloading or creep", expected * (number > 0.0), "%", SERIES,
        )  # fmt: skip
        yield Nuisance(
            "each repeated series is {} of the largest value [higher|lower] than the one before, "
            "as with a sensor that drifts",
            float(np.abs(expected).max()) * number, "%", 0.2 * SERIES,
        )  # fmt: skip


def _unloading(rig: HungFinger, labels: Sequence[str]) -> Iterator[Nuisance]:
    """Yield angles of repeated series that are larger, the more so the lighter the weight."""
    number = _series(labels)
    if number.max() > 0 and rig.masses.max() > 0.0:
        heaviest = rig.angles[int(rig.masses.argmax())]
        largest = heaviest[np.minimum(rig.joints, len(heaviest) - 1)]
        lighter = 1.0 - rig.masses[rig.rows] / rig.masses.max()
        yield Nuisance(
            "angles of repeated series are [larger|smaller] than those of the first by {} of the "
            "angle under the heaviest weight where the weight is light, as with loading and "
            "unloading", largest * lighter * (number > 0), "%", 0.03,
        )  # fmt: skip


def _shift_columns(rig: HungFinger) -> Iterator[Nuisance]:
    """Yield columns that are shifted by a row; the effect of size 1 is the whole shift."""
    if len({len(angle) for angle in rig.angles}) > 1 or len(rig.angles) < 3:
        return
    table = np.array(rig.angles)
    for joint in range(table.shape[1]):
        for word, step in (("before", 1), ("after", -1)):
            effect = np.zeros_like(table)
            inner = slice(0, -1) if step > 0 else slice(1, None)
            effect[inner, joint] = (table - np.roll(table, -step, axis=0))[inner, joint]
            words = f"the angles of joint {joint + 1} are those of the row {word}"
            yield Nuisance(words, effect.ravel(), "", 0.6, (0.6, 1.5))


def _readings_of_weights(rig: HungFinger) -> Iterator[tuple[str, HungFinger]]:
    """Yield other meanings of angles, weights and finger."""
    masses, joints = rig.masses, len(rig.chain.steps)
    before = 2.0 * masses[0] - masses[1] if len(masses) > 1 else masses[0]
    columns = min(len(angle) for angle in rig.angles)
    yield from ((f"the angles {words}", rig.read(change)) for words, change in ANGLES.items())
    yield ("the angles are directions of the links against the last one",
           rig.read(lambda x: x - np.append(x[1:], 0.0)))  # fmt: skip
    yield ("the angles are directions of the links against the vertical",
           rig.read(lambda x: np.diff(0.5 * np.pi - x, prepend=0.0)))  # fmt: skip
    yield "each row has the change since the row before", replace(rig, angles=_sum(rig))
    for unit, factor in MASS_UNITS.items():
        yield f"the weights are in {unit}, not in g", rig.weighing(factor * masses)
    yield "the weights are in g, not in kg", rig.weighing(1e-3 * masses)
    levels, index = np.unique(masses, return_inverse=True)
    yield ("the weights named are those added, and their sum hung",
           rig.weighing(np.cumsum(levels)[index]))  # fmt: skip
    yield ("the weights named are sums, and only the last one hung",
           rig.weighing(np.diff(levels, prepend=0.0)[index]))  # fmt: skip
    yield ("each row has the angles of the row before",
           rig.weighing(np.append(max(before, 0.0), masses[:-1])))  # fmt: skip
    yield ("each row has the angles of the row before, and the first one those of the last",
           rig.weighing(np.roll(masses, 1)))  # fmt: skip
    yield "the weights named are those added in each row", rig.weighing(_add(masses))
    yield ("each row has the angles of the row after",
           rig.weighing(np.append(masses[1:], masses[-1:])))  # fmt: skip
    for joint in range(1, joints):
        hung = replace(rig, hung_link=joint)
        yield f"the weights hang at joint {joint + 1}, not at the tip", hung
    yield "the weights are in the reverse order", rig.weighing(masses[::-1])
    yield "the finger's masses are in g, not in kg", rig.scaled(mass=1e-3)
    yield "the finger's masses are in kg, not in g", rig.scaled(mass=1e3)
    for factor in (0.25, 0.5, 2.0, 4.0):
        yield f"the finger's mass is {factor:g} times that described", rig.scaled(mass=factor)
    yield "the finger's lengths are in mm, not in m", rig.scaled(length=1e-3)
    yield "the finger's lengths are in m, not in mm", rig.scaled(length=1e3)
    yield "the finger's lengths are in inches, not in mm", rig.scaled(length=25.4)
    if not rig.relative:
        words = "the angles are relative to those without a weight (zero: unloaded)"
        yield words, replace(rig, relative=True)
    for joint in range(max(len(angle) for angle in rig.angles)):
        other = rig.read(partial(_negate, joint))
        yield f"the angles of joint {joint + 1} have the other sign", other
    if columns > 2:
        yield FIRST_COLUMN, rig.read(lambda x: x[1:])
    for a, b in combinations(range(columns), 2):
        words = f"the columns of joints {a + 1} and {b + 1} are exchanged"
        yield words, rig.read(partial(_exchange, a, b))
    yield from _exchange_rows(rig)


def _exchange_rows(rig: HungFinger) -> Iterator[tuple[str, HungFinger]]:
    """Yield exchanges of two weights in all rows, and, in several series, orders of some rows."""
    masses, levels = rig.masses, np.unique(rig.masses).tolist()
    for a, b in combinations(levels if len(levels) <= MAX_SWAPPED else [], 2):
        swapped = np.where(masses == a, b, np.where(masses == b, a, masses))
        yield f"the rows of {1e3 * a:g} g and {1e3 * b:g} g are exchanged", rig.weighing(swapped)
    if len(levels) == len(masses):
        return
    for row, (a, b) in enumerate(pairwise(masses.tolist()) if len(masses) <= MAX_ROWS else ()):
        if a != b:
            words = f"rows {row + 1} and {row + 2}, of {1e3 * a:g} and {1e3 * b:g} g, are exchanged"
            yield words, rig.weighing(_exchange(row, row + 1, masses))
    series, incomplete = divmod(len(masses), len(levels))
    for number in range(0 if incomplete else series):
        span = slice(number * len(levels), (number + 1) * len(levels))
        other = masses.copy()
        other[span] = other[span][::-1]
        words = f"the weights of series {number + 1} are in the reverse order"
        yield words, rig.weighing(other)


def _add(masses: Array) -> Array:
    """Add the weight of each row to those before, from each row without a weight on."""
    sums = np.cumsum(masses)
    start = np.maximum.accumulate(np.where(masses == 0.0, np.arange(len(masses)), -1))
    return np.asarray(sums - np.where(start >= 0, sums[np.maximum(start, 0)], 0.0))


def _negate(joint: int, angles: Array) -> Array:
    """Return angles of a row with the other sign at one joint."""
    return np.where(np.arange(len(angles)) == joint, -angles, angles)


def _exchange(a: int, b: int, values: Array) -> Array:
    """Return the values with two of them exchanged."""
    order = np.arange(len(values))
    order[[a, b]] = b, a
    return np.asarray(values[order])


def _sum(rig: HungFinger) -> tuple[Array, ...]:
    """Add the angles of each row to those of the rows before, in each series of growing weights."""
    rows: list[Array] = []
    for index, angle in enumerate(rig.angles):
        first = index == 0 or rig.masses[index] <= rig.masses[index - 1]
        rows.append(angle if first or len(angle) != len(rows[-1]) else angle + rows[-1])
    return tuple(rows)


# Forces and angles under pressure


def _errors_of_forces(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array,
    position: Array,
) -> Iterator[Nuisance]:  # fmt: skip
    """Yield tare of the scale, offset of the pressure, gap of the plate, errors of pressures."""
    forces = [force for force in problem.forces if not force.held_out]
    pressures = np.array([force.pressure for force in forces])
    largest, levels = float(np.abs(stage.measured).max()), np.unique(pressures)
    alpha = stage.block.of_joints(position[None])

    def at(shift: float) -> Array:
        shifted = [force.replace(pressure=max(force.pressure + shift, 0.0)) for force in forces]
        return np.asarray(experiments.forces(stiffness[None], alpha, shifted)[0])

    slope = (at(2.0 * PRESSURE_STEP) - at(0.0)) / (2.0 * PRESSURE_STEP)
    tare, ones = "the scale shows {} too [much|little], as without tare", np.ones(len(forces))
    yield Nuisance(tare, ones, "N", 0.03 * largest)
    yield Nuisance(
        "the pressures are {} [higher|lower] than named, as with [|absolute pressures or with ]a "
        "sensor without tare", np.nan_to_num(slope), "kPa", 0.03 * float(pressures.max()),
    )  # fmt: skip
    by_gap = experiments.force_slopes(stiffness, alpha[0], forces)[3]
    words = "the plate is {} [farther from|nearer to] the tip than described"
    yield Nuisance(words, by_gap, "mm", 1e-3, (-0.05, 0.05))
    yield from _errors_of_series(stage.labels, at(0.0))
    for level in levels[2:-1].tolist():
        words = f"the forces from {level / 1e3:g} kPa on are {{}} too [large|small], as of a scale "
        effect = (pressures >= level).astype(float)
        yield Nuisance(f"{words}whose zero changed", effect, "N", 0.03 * largest)
    for level in levels.tolist():
        words = f"the force at {level / 1e3:g} kPa is {{}} too [large|small]"
        effect = (pressures == level).astype(float)
        yield Nuisance(words, effect, "N", 2.0 * problem.model_error * largest)


def _errors_of_bends(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array,
    position: Array,
) -> Iterator[Nuisance]:  # fmt: skip
    """Yield a load, a tilt, an offset of the pressure, and offsets and errors of angles."""
    chain, gains = experiments.chain, stage.block.of_joints(position[None])[0]
    bends = [bend for bend in problem.bends if not bend.held_out]
    pressures = np.array([bend.pressure for bend in bends])
    rows = np.repeat(np.arange(len(bends)), [len(bend.angles) for bend in bends])
    joints = np.concatenate([np.arange(len(bend.angles)) for bend in bends])
    highest, mass = float(pressures.max()), sum(link.mass for link in problem.finger.links)

    def at(*, shift: float = 0.0, mass: float = 0.0, tilt: float = 0.0) -> Array:
        moments = np.maximum(pressures + shift, 0.0)[:, None] * gains
        loads = HungRig(np.full(len(bends), mass), tilt=tilt).loads(chain)
        item = Loads(loads.cosine[0], loads.sine[0])
        return np.asarray(rest(stiffness[None], item, moments).angles[rows, joints])

    def effect(name: str, step: float) -> Array:
        return np.nan_to_num((at(**{name: step}) - at(**{name: -step})) / (2.0 * step))

    yield Nuisance("a weight of {} hangs at the tip, as one that was left there",
                   effect("mass", RELATIVE_STEP * mass), "g", 0.1 * mass,
                   (0.0, 20.0 * mass))  # fmt: skip
    yield Nuisance(
        "the clamp is tilted or the camera rolled by {}, positive where the tip is lower",
        (joints == 0) + effect("tilt", ANGLE_STEP), "°", 1.0 / DEGREES,
    )  # fmt: skip
    yield Nuisance(
        "the pressures are {} [higher|lower] than named, as with a sensor without tare",
        effect("shift", PRESSURE_STEP), "kPa", 0.03 * highest, (-highest, 0.9 * highest),
    )  # fmt: skip
    unpressurised = rest(stiffness[None], chain.weight, np.zeros((len(bends), 1))).angles
    yield Nuisance(
        "the angles are relative to those of the finger without pressure",
        -np.nan_to_num(unpressurised[rows, joints]), "", 0.6, (0.6, 1.5),
    )  # fmt: skip
    simulated = np.nan_to_num(stage.simulate(position[None])[0])
    for level in np.unique(pressures)[1:].tolist():
        yield Nuisance(
            f"the angles from {level / 1e3:g} kPa on are {{}} too [large|small] for those below, "
            "as with a leak or another regulator",
            simulated * (pressures[rows] >= level), "%", 0.08,
        )  # fmt: skip
    for joint in range(int(joints.max()) + 1):
        words = f"the angle of joint {joint + 1} is {{}} too [large|small] at every pressure"
        yield Nuisance(words, (joints == joint).astype(float), "°", 1.0 / DEGREES)
    yield from single_values(stage.labels, 1.0 / DEGREES)


def _readings_under_pressure(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array
) -> Iterator[Reading]:
    """Yield other readings of forces, or of angles, under pressures."""
    field, value = ("forces", "force") if stage.unit == "N" else ("bends", "angles")
    rows = [item for item in getattr(problem, field) if not item.held_out]
    pressure = np.array([row.pressure for row in rows])
    levels, index = np.unique(pressure, return_inverse=True)

    def of(pressures: Array, change: Callable[[Array], Array] = np.asarray) -> Stage:
        moved = tuple(
            row.replace(**{"pressure": max(p, 0.0), value: _as_field(change(getattr(row, value)))})
            for row, p in zip(rows, pressures.tolist(), strict=True) if np.isfinite(p)
        )  # fmt: skip
        return _torques_of(problem.replace(**{field: moved}), experiments, stiffness)

    if stage.unit == "N":
        for unit, factor in FORCE_UNITS.items():
            yield f"the forces are in {unit}, not in N", of(pressure, partial(np.multiply, factor))
        yield "the forces have the other sign", of(pressure, np.negative)
        for gap in GAPS:
            wider = problem.replace(plate_gap=problem.plate_gap + gap)
            other = _torques_of(wider, VirtualExperiments(wider), stiffness)
            yield f"the plate is about {1e3 * gap:g} mm {FARTHER}", other
    else:
        for words, change in ANGLES.items():
            yield f"the angles {words}", of(pressure, change)
    for unit, factor in PRESSURE_UNITS.items():
        yield f"the pressures are in {unit}, not in kPa", of(factor * pressure)
    yield "the pressures are absolute, not above the atmosphere", of(pressure - ATMOSPHERE)
    yield "the pressures are in the reverse order", of(pressure[::-1])
    if len(levels) > 3:
        beside = np.concatenate([[np.nan], levels, [np.nan]])
        yield f"each {value} belongs to the pressure before", of(beside[index])
        yield f"each {value} belongs to the pressure after", of(beside[index + 2])
    for a, b in combinations(levels.tolist() if len(levels) <= MAX_SWAPPED else [], 2):
        swapped = np.where(pressure == a, b, np.where(pressure == b, a, pressure))
        yield f"the {field} at {a / 1e3:g} and {b / 1e3:g} kPa are exchanged", of(swapped)


def _torques_of(
    problem: CalibrationProblem, experiments: VirtualExperiments, stiffness: Array
) -> Stage:
    stage = torques(problem, experiments, stiffness)
    assert stage is not None  # rows are left
    return stage


def _as_field(values: Array) -> Any:
    """Return changed values as a measurement holds them."""
    plain = values.tolist()
    return tuple(plain) if isinstance(plain, list) else plain


# Tracks of the tip


def _drift(problem: CalibrationProblem) -> Nuisance:
    """Return a drift of all tracks of the tip."""
    tracks = [release for release in problem.releases if release.times and not release.held_out]
    swing = max(max(track.heights) - min(track.heights) for track in tracks)
    over = [np.array(track.times) / track.times[-1] for track in tracks]
    return Nuisance(
        "the tracks drift [upwards|downwards] by {} until their end, as where the camera moves",
        np.concatenate([item - item.mean() for item in over]), "mm", 0.05 * swing,
    )  # fmt: skip
