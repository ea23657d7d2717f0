"""Stages of a finger calibration: what is fitted to which measurements, and how it is evaluated.

Springs (stiffness) are fitted to joint angles under weights, then dampers (damping) to releases,
then torques (pressure gains) to tip forces or free bending (Hadi et al. 2025). A ``Stage`` maps
parameters to simulated measurements by the ``VirtualExperiments`` of the finger. ``Search``
evaluates parameter sets for the optimisers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softgrasp.calibration import objectives
from softgrasp.calibration.objectives import Block, Kind, block_of
from softgrasp.continuum.settling import settling
from softgrasp.continuum.statics import (
    HungRig,
    Loads,
    PlanarChain,
    Pressed,
    PressedSlopes,
    Rest,
    height_slopes,
    joint_positions,
    pressed,
    pressed_slopes,
    rest,
)
from softgrasp.description.calibration import CalibrationProblem, FreeBend, HungAngles, Release
from softgrasp.description.calibration import TipForce as Force
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_dynamics import ReleaseTestRig

StageName = Literal["springs", "dampers", "torques", "arm", "curves"]
"""Name of a stage; ``arm`` is the single stage of a hydraulic arm, ``curves`` that of a twin."""
KIND_OF: dict[StageName, Kind] = {"springs": "stiffness", "dampers": "damping", "torques": "gain"}
"""Kind of parameter that each stage fits."""
STAGES = tuple(KIND_OF)
WATCHED = 1.6
"""Duration of a simulated release over the measured settling time [–]."""
SHORTEST = 0.6
"""Shortest duration of a simulated release [s]."""
ANGLE_STEP = 1e-5
"""Step of differences of the tip by joint angles [rad]."""
Values = Callable[[Array], Array]
Progress = Callable[[str, float], None]
"""Progress callback: description of the current step, and completed fraction."""


@dataclass(frozen=True)
class Stage:
    """One least-squares problem of a calibration: its parameters, measurements and objective.

    Args:
        name: Name of the stage.
        block: Parameters to fit.
        simulate: Parameters (B, p) → simulated measurements (B, m); NaN where simulation fails.
        measured: Measured values, (m,).
        labels: Description of each measured value.
        unit: Unit of the residuals.
        misfit: Simulated (B, m) and measured values → objective, smaller is better, (B,).
        counts: Number of values at the end that are counts, which are not differentiable.
    """

    name: StageName
    block: Block
    simulate: Values
    measured: Array
    labels: tuple[str, ...]
    unit: str
    misfit: Callable[[Array, Array], Array] = objectives.mean_squared_error
    counts: int = 0

    @property
    def smooth(self) -> bool:
        """Whether simulated values are differentiable in the parameters."""
        return self.counts == 0

    @property
    def timed(self) -> NDArray[np.bool_]:
        """Values that residual and uncertainty use: all but counts, (m,)."""
        return np.arange(len(self.measured)) < len(self.measured) - self.counts

    def fitness(self, values: Array) -> Array:
        """Compute the objective of simulated measurements (B, m), (B,)."""
        return self.misfit(values, self.measured)

    def reread(self, measured: Array, simulate: Values | None = None) -> Stage:
        """Return the same with other measured values, (m,), and another simulation of them."""
        how, squares = simulate or self.simulate, objectives.mean_squared_error
        return replace(self, measured=measured, simulate=how, misfit=squares, counts=0)

    def only(self, kept: NDArray[np.bool_]) -> Stage:
        """Return the same with a part of the measured values, (m,)."""
        labels = tuple(np.array(self.labels)[kept].tolist())
        part = self.reread(self.measured[kept], lambda p: self.simulate(p)[:, kept])
        return replace(part, labels=labels)


def stage_of(
    name: StageName,
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    stiffness: Array,
    *,
    held_out: bool = False,
) -> Stage | None:
    """Return a calibration stage by its name; None where it has no measurements.

    Args:
        name: Name of the stage.
        problem: Calibration problem.
        experiments: Virtual experiments of its finger.
        stiffness: Stiffness for the later stages, joint by joint [N·m/rad], (n,), or (B, n) for
            as many parameter sets.
        held_out: Whether to use the measurements held out for validation.
    """
    if name == "springs":
        return springs(problem, experiments, held_out=held_out)
    make = dampers if name == "dampers" else torques
    return make(problem, experiments, stiffness, held_out=held_out)


def springs(
    problem: CalibrationProblem, experiments: VirtualExperiments, *, held_out: bool = False
) -> Stage | None:
    """Return the stage that fits stiffness to angles under weights; None without weights."""
    loads = [load for load in problem.hung if load.held_out == held_out]
    if not loads:
        return None
    block = block_of(problem, "stiffness")
    by_height = problem.static_objective == "heights"

    def read(angles: list[Array]) -> Array:
        shown = [experiments.heights(part) for part in angles] if by_height else angles
        return np.concatenate(shown, axis=-1)

    measured = read([np.array(load.angles) for load in loads])
    labels = [f"q{i + 1} at {1e3 * x.mass:g} g" for x in loads for i in range(len(x.angles))]
    return Stage(
        "springs", block, lambda p: read(experiments.hung(block.of_joints(p), loads)), measured,
        tuple(labels), "m" if by_height else "rad",
    )  # fmt: skip


def dampers(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    stiffness: Array,
    *,
    held_out: bool = False,
) -> Stage | None:
    """Return the stage that fits damping to releases, given joint stiffness (n,), or None."""
    by_trace = problem.release_objective == "trace"
    releases = [
        release
        for release in problem.releases
        if release.held_out == held_out
        and (release.times if by_trace else release.settling_time is not None)
    ]
    if not releases:
        return None
    block = block_of(problem, "damping")
    names = [f"{1e3 * release.mass:g} g" for release in releases]

    def simulate(parameters: Array) -> Array:
        joined = experiments.traces if by_trace else experiments.settled
        return np.concatenate(joined(*_joints(stiffness, block, parameters), releases), axis=-1)

    if by_trace:
        traces = [np.array(release.heights) - np.mean(release.heights) for release in releases]
        labels = [f"height {name}" for name, x in zip(names, traces, strict=True) for _ in x]
        measured = np.concatenate(traces)
        return Stage("dampers", block, simulate, measured, tuple(labels), "m")
    values = [release.settling_time or 0.0 for release in releases]
    values += [float(release.overshoots or 0) for release in releases]
    labels = [f"settling time {name}" for name in names] + [f"overshoots {n}" for n in names]
    return Stage(
        "dampers", block, simulate, np.array(values), tuple(labels), "s",
        objectives.settling_error, counts=len(releases),
    )  # fmt: skip


def torques(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    stiffness: Array,
    *,
    held_out: bool = False,
) -> Stage | None:
    """Return the stage that fits pressure gains to tip forces or, without any, to free bending."""
    pressing = any(not force.held_out for force in problem.forces)
    if problem.stiffness_pressure:  # which free bending shows
        pressing &= all(bend.held_out for bend in problem.bends)
    forces = [force for force in problem.forces if pressing and force.held_out == held_out]
    bends = [bend for bend in problem.bends if not pressing and bend.held_out == held_out]
    block = block_of(problem, "gain")
    if not forces and not bends:
        return None
    if not forces:
        labels = [
            f"q{i + 1} at {x.pressure / 1e3:g} kPa" for x in bends for i in range(len(x.angles))
        ]

        def bent(parameters: Array) -> Array:
            joints, stiffening = _joints(stiffness, block, parameters), block.stiffening(parameters)
            shown = experiments.bends(*joints, bends, stiffening)
            return np.concatenate(shown, axis=-1)

        measured = np.concatenate([np.array(bend.angles) for bend in bends])
        return Stage("torques", block, bent, measured, tuple(labels), "rad")
    misfit = {
        "auto": objectives.absolute_forces,
        "absolute": objectives.absolute_forces,
        "product": objectives.product_of_forces,
        "squares": objectives.mean_squared_error,
    }[problem.force_objective]
    return Stage(
        "torques", block,
        lambda p: experiments.forces(
            *_joints(stiffness, block, p), forces, stiffening=block.stiffening(p)
        ),
        np.array([force.force for force in forces]),
        tuple(f"force at {force.pressure / 1e3:g} kPa" for force in forces), "N", misfit,
    )  # fmt: skip


def _joints(stiffness: Array, block: Block, parameters: Array) -> tuple[Array, Array]:
    """Return stiffness, (n,) or (B, n), and parameters (B, p) joint by joint, (B, n) each."""
    k = np.broadcast_to(stiffness, (len(parameters), stiffness.shape[-1]))
    return k, block.of_joints(parameters)


# Virtual experiments


class VirtualExperiments:
    """Simulate dead weights, releases, a plate under the tip and free bending of a finger.

    Parameters are passed joint by joint, B sets of them; where simulation fails the result is
    NaN.
    """

    def __init__(self, problem: CalibrationProblem) -> None:
        """Set up the experiments of a problem."""
        self._problem = problem
        self.chain = PlanarChain.of(problem.finger)
        self.stiffening = problem.finger.stiffness_pressure
        """Stiffening by pressure where none is passed [1/Pa]."""
        self._release = ReleaseTestRig(problem.finger)

    def hung(self, stiffness: Array, loads: Sequence[HungAngles]) -> list[Array]:
        """Compute measured joint angles under each weight [rad], a list of (B, observed)."""
        masses = np.array([load.mass for load in loads])
        rig = HungRig(masses, relative=self._problem.zero == "unloaded")
        angles = rig.angles(self.chain, stiffness)
        return [angles[:, i, : len(load.angles)] for i, load in enumerate(loads)]

    def tip_heights(self, stiffness: Array, masses: Array) -> Array:
        """Compute the height of the tip under weights [kg] for stiffness (n,), (l,) [m]."""
        angles = HungRig(masses).angles(self.chain, stiffness[None])[0]
        return np.asarray(self.chain.tip(angles)[:, 1])

    def heights(self, angles: Array) -> Array:
        """Compute heights of the points after each joint from the first one [m], (..., n)."""
        observed, joints = angles.shape[-1], len(self._problem.finger.joints)
        whole = np.zeros((*angles.shape[:-1], joints))
        whole[..., :observed] = angles  # later joints do not move earlier points
        points = joint_positions(self._problem.finger, whole)[..., 2]
        return np.asarray(points[..., 1 : observed + 1] - points[..., :1])

    def settled(
        self, stiffness: Array, damping: Array, releases: Sequence[Release]
    ) -> tuple[Array, Array]:
        """Simulate releases; return settling times [s] and overshoots, (B, L) each."""
        time, heights = self.released(stiffness, damping, releases)
        rule = self._problem.release_rule
        settlings = [[settling(time, height, rule)[:2] for height in row] for row in heights]
        counts, times = np.moveaxis(np.array(settlings, dtype=float), -1, 0)
        return times, np.where(np.isfinite(times), counts, np.nan)

    def released(
        self, stiffness: Array, damping: Array, releases: Sequence[Release]
    ) -> tuple[Array, Array]:
        """Simulate releases; return times (T,) [s] and heights of the tip (B, L, T) [m].

        The duration exceeds the measured settling times.
        """
        longest = max(release.settling_time or 0.0 for release in releases)
        tracked = max((release.times[-1] for release in releases if release.times), default=0.0)
        duration = max(WATCHED * longest, tracked, SHORTEST)
        return self.simulate_releases(stiffness, damping, releases, duration)

    def traces(self, stiffness: Array, damping: Array, releases: Sequence[Release]) -> list[Array]:
        """Simulate tracked heights relative to their mean [m], a list of (B, T)."""
        duration = max(release.times[-1] for release in releases) + 1e-3
        time, heights = self.simulate_releases(stiffness, damping, releases, duration)
        traces = []
        for index, item in enumerate(releases):
            rows = np.array([np.interp(item.times, time, row) for row in heights[:, index]])
            traces.append(rows - rows.mean(axis=1, keepdims=True))
        return traces

    def forces(
        self, stiffness: Array, gains: Array, forces: Sequence[Force], wider: ArrayLike = 0.0,
        stiffening: Array | None = None,
    ) -> Array:  # fmt: skip
        """Compute the force of the plate on the tip [N], (B, P).

        With a ``wider`` gap [m], (B,), and a ``stiffening`` by pressure [1/Pa], (B,).
        """
        # repeats at one pressure are one simulation
        pressures, inverse = np.unique([force.pressure for force in forces], return_inverse=True)
        free = rest(stiffness, self.chain.weight, np.zeros(1))
        moments = pressures[:, None] * gains[:, None, :]
        springs = self._stiffened(stiffness, pressures, stiffening)
        pressing = self._pressed(springs, free, moments, wider)
        return np.asarray(pressing.force[:, inverse])

    def force_slopes(
        self, stiffness: Array, gains: Array, forces: Sequence[Force], wider: float = 0.0
    ) -> tuple[Array, Array, Array, Array]:
        """Compute forces of the plate on the tip, and their derivatives.

        Args:
            stiffness: Joint by joint [N·m/rad], (n,).
            gains: Moments over pressure [N·m/Pa], (n,).
            forces: Measured forces, with their pressures.
            wider: Distance of the plate beyond the gap of the problem [m].

        Returns:
            Forces [N] (P,), derivatives by stiffness and by gains, (P, n) each, and by the
            distance of the plate [N/m], (P,).
        """
        pressures, inverse = np.unique([force.pressure for force in forces], return_inverse=True)
        free, pressing, by = self._linearized(stiffness, gains, pressures, wider)
        plate = height_slopes(self.chain, free)[0]
        stiffened = self._stiffened(np.ones((1, len(stiffness))), pressures)[0]
        by_stiffness = by.stiffness * stiffened + by.plate[:, None] * plate
        by_gains = by.moments * pressures[:, None]
        return (
            pressing.force[inverse], by_stiffness[inverse], by_gains[inverse], -by.plate[inverse]
        )  # fmt: skip

    def friction_effect(self, stiffness: Array, gains: Array, forces: Sequence[Force]) -> Array:
        """Compute the change of each force by friction at the plate, over µ and the force, (P,).

        The tip slides towards the clamp as the finger bends; friction µ·F holds it back, with the
        moments µ·F·dx/dq of the joints q.

        Args:
            stiffness: Joint by joint [N·m/rad], (n,).
            gains: Moments over pressure [N·m/Pa], (n,).
            forces: Measured forces, with their pressures.
        """
        pressures = np.array([force.pressure for force in forces])
        _, pressing, by = self._linearized(stiffness, gains, pressures)
        steps = ANGLE_STEP * np.eye(len(stiffness))
        ahead, behind = (
            self.chain.tip(pressing.angles[:, None] + sign * steps)[..., 0] for sign in (1.0, -1.0)
        )
        effect = (by.moments * (ahead - behind)).sum(axis=1) / (2.0 * ANGLE_STEP)
        return np.asarray(np.nan_to_num(effect))

    def _linearized(
        self, stiffness: Array, gains: Array, pressures: Array, wider: float = 0.0
    ) -> tuple[Rest, Pressed, PressedSlopes]:
        """Return the shape at rest and those pressed at pressures (P,), with slopes."""
        free = rest(stiffness[None], self.chain.weight, np.zeros(1))
        springs = self._stiffened(stiffness[None], pressures)
        batch = self._pressed(springs, free, (pressures[:, None] * gains)[None], wider)
        pressing = Pressed(batch.angles[0], batch.force[0])
        by = pressed_slopes(self.chain, pressing, springs[0], self.chain.weight)
        return free, pressing, by

    def _stiffened(
        self, stiffness: Array, pressures: Array, stiffening: Array | None = None
    ) -> Array:
        """Return the stiffness at pressures [Pa], (B, P, n), of the one without, (B, n)."""
        increase = np.reshape(self.stiffening if stiffening is None else stiffening, (-1, 1, 1))
        return np.asarray(stiffness[:, None] * (1.0 + increase * pressures[:, None]))

    def _pressed(
        self, stiffness: Array, free: Rest, moments: Array, wider: ArrayLike = 0.0
    ) -> Pressed:
        """Press tips on a plate below their height without pressure.

        Stiffness and moments are (B, P, n).
        """
        plate = self.chain.tip(free.angles)[:, 1] - (self._problem.plate_gap + np.asarray(wider))
        weight = Loads(*(term[None, None] for term in self.chain.weight))
        return pressed(self.chain, stiffness, weight, moments, plate[:, None])

    def bends(
        self, stiffness: Array, gains: Array, bends: Sequence[FreeBend],
        stiffening: Array | None = None,
    ) -> list[Array]:  # fmt: skip
        """Compute joint angles under each pressure [rad], a list of (B, observed)."""
        pressures = np.array([bend.pressure for bend in bends])
        moments = pressures[:, None] * gains[:, None, :]
        springs = self._stiffened(stiffness, pressures, stiffening)
        angles = rest(springs, self.chain.weight, moments).angles
        return [angles[:, i, : len(item.angles)] for i, item in enumerate(bends)]

    def simulate_releases(
        self, stiffness: Array, damping: Array, releases: Sequence[Release], duration: float
    ) -> tuple[Array, Array]:
        """Simulate releases of one duration [s]; return times (T,) [s], heights (B, L, T) [m]."""
        masses = np.array([release.mass for release in releases])
        start = HungRig(masses).angles(self.chain, stiffness)
        count = start.shape[1]
        k, c = (np.repeat(array, count, axis=0) for array in (stiffness, damping))
        c = c + self._problem.damping_timestep * k
        recording = self._release.release(k, c, start.reshape(-1, start.shape[-1]), duration)
        return recording.time, recording.height.reshape(len(stiffness), count, -1)


# Evaluation


@dataclass(frozen=True)
class Step:
    """One iteration of an optimiser: a swarm of parameter sets, or a single set.

    Args:
        positions: Parameter sets, (B, p).
        fitness: Objective of each; NaN where simulation failed, (B,).
        best: Best objective so far.
        evaluations: Number of parameter sets simulated so far.
    """

    positions: Array
    fitness: Array
    best: float
    evaluations: int


@dataclass
class Search:
    """Evaluate parameter sets of a stage and record the history."""

    stage: Stage
    progress: Progress | None = None
    evaluations: int = 0
    best: float = np.inf
    best_position: Array | None = None
    history: list[Step] = field(default_factory=list)

    def values(self, positions: Array) -> Array:
        """Simulate the measurements of parameter sets (B, p), (B, m)."""
        self.evaluations += len(positions)
        return self.stage.simulate(positions)

    def fitness(self, positions: Array, *, fraction: float = 0.0) -> Array:
        """Evaluate the objective of parameter sets as a step of the history, (B,).

        Args:
            positions: Parameter sets, (B, p).
            fraction: Completed fraction of the search after this step.
        """
        fitness = self.stage.fitness(self.values(positions))
        self.record(positions, fitness, fraction)
        return fitness

    def record(self, positions: Array, fitness: Array, fraction: float = 0.0) -> None:
        """Add a step to the history."""
        if np.isfinite(fitness).any():
            best = int(np.nanargmin(fitness))
            if fitness[best] < self.best:
                self.best, self.best_position = float(fitness[best]), positions[best].copy()
        self.history.append(Step(positions.copy(), fitness.copy(), self.best, self.evaluations))
        if self.progress is not None:
            text = (
                f"{self.stage.name}: best fitness {self.best:.3g}, {self.evaluations} evaluations"
            )
            self.progress(text, fraction)
