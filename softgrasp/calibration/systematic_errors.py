"""Systematic errors of a finger's measurements that may explain the residuals of a fit.

Each is a ``Nuisance``, one more parameter, which ``refits`` tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from softgrasp.calibration.refits import DEGREES, Nuisance, single_values
from softgrasp.calibration.stages import Stage, VirtualExperiments
from softgrasp.continuum.statics import HungRig, Loads, PlanarChain, rest
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.mechanics.transforms import Array

ANGLE_STEP, RELATIVE_STEP, PRESSURE_STEP, GAP_STEP = 1e-4, 1e-4, 1e2, 1e-5
"""Steps of central differences by nuisances [rad, –, Pa, m]."""
SERIES = 0.05
"""Smallest relative difference between repeated series that is reported [–]."""


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
        pull: Angle between the force of the weights and the vertical, positive away from the
            clamp [rad].
    """

    chain: PlanarChain
    masses: Array
    angles: tuple[Array, ...]
    tilt: float = 0.0
    overhang: float = 0.0
    relative: bool = False
    hung_link: int | None = None
    pull: float = 0.0

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
            self.masses, self.tilt, self.overhang, relative=self.relative,
            hung_link=self.hung_link, pull=self.pull,
        )  # fmt: skip
        angles = rig.angles(self.chain, stiffness)
        parts = [angles[:, i, : len(one)] for i, one in enumerate(self.angles)]
        return np.concatenate(parts, axis=-1)

    def fitted(self, stiffness: Array) -> HungFinger:
        """Return the same with simulated angles, which have no noise, for a stiffness (n,)."""
        ends = np.cumsum([len(one) for one in self.angles])[:-1]
        simulated = np.nan_to_num(self.simulate(stiffness[None])[0])
        return replace(self, angles=tuple(np.split(simulated, ends)))

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
        stage: ``springs`` with angles, ``dampers`` with tracks, or ``torques``; others have none.
        stiffness: Stiffness joint by joint [N·m/rad], (n,).
        position: Fitted parameters of the stage, (p,).
    """
    if stage.name == "springs" and stage.unit == "rad":
        rig = HungFinger.of(problem)
        return [
            *_of_rig(rig, stiffness), *_of_angles(rig.fitted(stiffness), stage.labels),
            *_of_columns(rig),
        ]  # fmt: skip
    if stage.name == "dampers" and stage.unit == "m":
        return list(_of_tracks(problem))
    if stage.name == "torques" and stage.unit == "N":
        return _of_forces(problem, experiments, stage, stiffness, position)
    if stage.name == "torques":
        return list(_of_bends(problem, experiments.chain, stage, stiffness, position))
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
        effect(lambda x: replace(rig, overhang=x), RELATIVE_STEP), " %", 100.0, 0.1, (-2.0, 2.0),
    )  # fmt: skip
    yield Nuisance(
        "the weights pull at {} from the vertical, [away from|towards] the clamp, as by an oblique "
        "string",
        effect(lambda x: replace(rig, pull=x), ANGLE_STEP), "°", DEGREES, 5.0 / DEGREES,
        (-0.25 * np.pi, 0.25 * np.pi),
    )  # fmt: skip
    step, loaded = RELATIVE_STEP * heaviest, rig.masses > 0.0
    if loaded.sum() > 1:
        yield Nuisance(
            "every weight is {} [heavier|lighter] than named, as with [a hook or a|a] scale "
            "without tare",
            effect(partial(_heavier, rig, loaded), step), " g", 1e3,
            0.02 * heaviest,
        )  # fmt: skip
    for level in np.unique(rig.masses[loaded])[1:].tolist():
        yield Nuisance(
            f"the weights from {1e3 * level:g} g on are {{}} [heavier|lighter] than named",
            effect(partial(_heavier, rig, rig.masses >= level), step), " g", 1e3, 0.05 * level,
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
    """Yield offsets of one joint in all pictures, and errors of one value.

    Args:
        rig: With simulated angles: effects that contain the noise would always explain it.
        labels: Description of each angle.
    """
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
    for level in np.unique(rig.masses).tolist() if len(set(labels)) < len(labels) else ():
        yield Nuisance(
            f"the angles of all rows of {1e3 * level:g} g are {{}} too [large|small]",
            measured * (masses == level), " %", 100.0, 0.1,
        )  # fmt: skip
    yield from _of_series(labels, measured)
    yield from _of_unloading(rig, labels, masses)
    rows = np.concatenate([np.full(len(row), i) for i, row in enumerate(rig.angles)])
    first = np.concatenate([np.arange(len(one)) == 0 for one in rig.angles])
    for row in range(1, len(rig.angles)):
        yield Nuisance(
            f"the first angle is {{}} too [large|small] from row {row + 1} on, "
            f"{1e3 * rig.masses[row]:g} g, as where the clamp slips or the camera moves",
            (first & (rows >= row)).astype(float), "°", DEGREES, material,
        )  # fmt: skip
    for row in range(2, len(rig.angles) - 1):
        yield Nuisance(
            f"the angles from row {row + 1} on, {1e3 * rig.masses[row]:g} g, are {{}} too "
            "[large|small] for those before, as of another finger, camera or room temperature",
            measured * (rows >= row), " %", 100.0, 0.08, (-0.6, 0.6),
        )  # fmt: skip
    yield from single_values(labels, material)


def _series(labels: Sequence[str]) -> NDArray[np.intp]:
    """Return how many equal labels stand before each, (m,): the number of its series."""
    return np.array([labels[:i].count(label) for i, label in enumerate(labels)])


def _of_series(labels: Sequence[str], expected: Array) -> Iterator[Nuisance]:
    """Yield systematic differences between the repeats of a measurement.

    Args:
        labels: Equal ones are repeats, in the order in which they were measured.
        expected: Simulated values, (m,).
    """
    number = _series(labels).astype(float)
    largest = float(np.abs(expected).max())
    if 0 < number.max() < len(labels) // 3:
        later = np.where(number > 0.0, expected, 0.0)
        name = "values of repeated series are {} [larger|smaller] than those of the first series"
        yield Nuisance(
            f"{name}, as with loading and unloading or creep", later, " %", 100.0, SERIES
        )
        yield Nuisance(
            "each repeated series is {} [higher|lower] than the one before, as with a sensor that "
            "drifts", largest * number, " % of the largest value", 100.0, 0.2 * SERIES,
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
        Nuisance("the pressures are {} [higher|lower] than named, as with [|absolute pressures "
                 "or with ]a sensor without tare",
                 np.nan_to_num(slope), " kPa", 1e-3, 0.03 * float(pressures.max())),
    ]  # fmt: skip
    by_gap = experiments.force_slopes(stiffness, alpha[0], forces)[3]
    results.append(
        Nuisance("the plate is {} [farther from|nearer to] the tip than described", by_gap, " mm",
                 1e3, 1e-3, (-0.05, 0.05))
    )  # fmt: skip
    results += _of_series(stage.labels, at(0.0))
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


def _of_bends(
    problem: CalibrationProblem, chain: PlanarChain, stage: Stage, stiffness: Array,
    position: Array,
) -> Iterator[Nuisance]:  # fmt: skip
    """Yield a load, a tilt, an offset of the pressure, and offsets and errors of angles."""
    gains = stage.block.of_joints(position[None])[0]
    bends = [one for one in problem.bends if not one.held_out]
    pressures = np.array([one.pressure for one in bends])
    kept = np.concatenate([np.arange(len(stiffness)) < len(one.angles) for one in bends])

    def effect(step: float, kind: str) -> Array:
        def at(change: float) -> Array:
            shift = change if kind == "pressure" else 0.0
            moments = np.maximum(pressures + shift, 0.0)[:, None] * gains
            masses = np.full(len(bends), change if kind == "mass" else 0.0)
            loads = HungRig(masses, tilt=change if kind == "tilt" else 0.0).loads(chain)
            one = Loads(loads.cosine[0], loads.sine[0])
            return np.asarray(rest(stiffness[None], one, moments).angles.ravel()[kept])

        return np.nan_to_num((at(step) - at(-step)) / (2.0 * step))

    number = np.concatenate([np.arange(len(one.angles)) for one in bends])
    mass = sum(link.mass for link in problem.finger.links)
    yield Nuisance("a weight of {} hangs at the tip, as one that was left there",
                   effect(RELATIVE_STEP * mass, "mass"), " g", 1e3, 0.1 * mass,
                   (0.0, 20.0 * mass))  # fmt: skip
    yield Nuisance(
        "the clamp is tilted or the camera rolled by {}, positive where the tip is lower",
        (number == 0) + effect(ANGLE_STEP, "tilt"), "°", DEGREES, 1.0 / DEGREES,
    )  # fmt: skip
    yield Nuisance(
        "the pressures are {} [higher|lower] than named, as with a sensor without tare",
        effect(PRESSURE_STEP, "pressure"), " kPa", 1e-3, 0.03 * float(pressures.max()),
        (-float(pressures.max()), 0.9 * float(pressures.max())),
    )  # fmt: skip
    unpressurised = rest(stiffness[None], chain.weight, np.zeros((len(bends), 1))).angles.ravel()
    yield Nuisance(
        "the angles are relative to those of the finger without pressure",
        -np.nan_to_num(unpressurised[kept]), "", 1.0, 0.6, (0.6, 1.5),
    )  # fmt: skip
    simulated = np.nan_to_num(stage.simulate(position[None])[0])
    applied = np.repeat(pressures, [len(one.angles) for one in bends])
    for level in np.unique(pressures)[1:].tolist():
        yield Nuisance(
            f"the angles from {level / 1e3:g} kPa on are {{}} too [large|small] for those below, "
            "as with a leak or another regulator",
            simulated * (applied >= level), " %", 100.0, 0.08,
        )  # fmt: skip
    for joint in range(int(number.max()) + 1):
        yield Nuisance(
            f"the angle of joint {joint + 1} is {{}} too [large|small] at every pressure",
            (number == joint).astype(float), "°", DEGREES, 1.0 / DEGREES,
        )  # fmt: skip
    yield from single_values(stage.labels, 1.0 / DEGREES)


def _of_tracks(problem: CalibrationProblem) -> Iterator[Nuisance]:
    """Yield a drift of all tracks of the tip."""
    tracks = [one for one in problem.releases if one.times and not one.held_out]
    swing = max(max(one.heights) - min(one.heights) for one in tracks)
    over = [np.array(one.times) / one.times[-1] for one in tracks]
    yield Nuisance(
        "the tracks drift [upwards|downwards] by {} until their end, as where the camera moves",
        np.concatenate([one - one.mean() for one in over]), " mm", 1e3, 0.05 * swing,
    )  # fmt: skip
