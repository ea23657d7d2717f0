"""Which parameters are found from which measurements: springs, then dampers, then torques."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from softgrasp.calibration import objectives
from softgrasp.calibration.benches import VirtualExperiments
from softgrasp.calibration.parameters import Block, Kind, block_of
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.mechanics.transforms import Array

StageName = Literal["springs", "dampers", "torques", "arm"]
"""``arm`` is the one stage of a hydraulic arm."""
KIND_OF: dict[StageName, Kind] = {"springs": "stiffness", "dampers": "damping", "torques": "gain"}
"""What each stage finds."""
STAGES = tuple(KIND_OF)

Values = Callable[[Array], Array]


@dataclass(frozen=True)
class Stage:
    """A problem of its own.

    Args:
        name: Of the stage.
        block: What is found.
        simulate: Parameters (B, p) → what would be measured (B, m); NaN where it cannot be.
        measured: (m,).
        fitness: What is simulated (B, m) → how far from it, smaller is better, (B,).
        labels: What each measured value is.
        unit: Of the residuals.
        smooth: Whether small changes of parameters change what is simulated by little; not so for
            counts.
        timed: Which values say how well a fit is, and how sure: all, but no counts, (m,).
    """

    name: StageName
    block: Block
    simulate: Values
    measured: Array
    fitness: Values
    labels: tuple[str, ...]
    unit: str
    smooth: bool
    timed: Array


def stage_of(
    name: StageName,
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    stiffness: Array,
    *,
    held_out: bool = False,
) -> Stage | None:
    """One stage by its name; None where nothing was measured for it.

    Args:
        name: Which.
        problem: The problem.
        experiments: Of its finger.
        stiffness: Of the springs, for the stages behind them, joint by joint [N·m/rad], (n,), or
            (B, n) for as many parameter sets.
        held_out: Whether to take the measurements kept for validation.
    """
    if name == "springs":
        return springs(problem, experiments, held_out=held_out)
    make = dampers if name == "dampers" else torques
    return make(problem, experiments, stiffness, held_out=held_out)


def springs(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    *,
    held_out: bool = False,
    model: str | None = None,
) -> Stage | None:
    """Stiffness from the angles under weights; None where none were measured.

    Args:
        problem: The problem.
        experiments: Of its finger.
        held_out: Whether to take the measurements kept for validation.
        model: Of the stiffness, in place of the problem's own.
    """
    loads = [load for load in problem.hung if load.held_out == held_out]
    if not loads:
        return None
    block = block_of(problem, "stiffness", model)
    by_height = problem.static_objective == "heights"

    def read(angles: list[Array]) -> Array:
        shown = [experiments.heights(part) for part in angles] if by_height else angles
        return np.concatenate(shown, axis=-1)

    measured = read([np.array(load.angles) for load in loads])
    fitness = objectives.squared_heights if by_height else objectives.squared_angles
    labels = [f"q{i + 1} at {1e3 * x.mass:g} g" for x in loads for i in range(len(x.angles))]
    return Stage(
        name="springs",
        block=block,
        simulate=lambda p: read(experiments.hung(block.of_joints(p), loads)),
        measured=measured,
        fitness=lambda values: fitness(values, measured),
        labels=tuple(labels),
        unit="m" if by_height else "rad",
        smooth=True,
        timed=np.ones(len(measured), dtype=bool),
    )


def dampers(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    stiffness: Array,
    *,
    held_out: bool = False,
) -> Stage | None:
    """Damping from releases, with springs (n,) that are known; None where none were measured."""
    by_trace = problem.release_objective == "trace"
    releases = [
        one
        for one in problem.releases
        if one.held_out == held_out and (one.times if by_trace else one.settling_time is not None)
    ]
    if not releases:
        return None
    block = block_of(problem, "damping")
    names = [f"{1e3 * one.mass:g} g" for one in releases]
    if by_trace:
        traces = [np.array(one.heights) - np.mean(one.heights) for one in releases]
        measured = np.concatenate(traces)
        labels = [f"height {name}" for name, x in zip(names, traces, strict=True) for _ in x]
    else:
        times, counts = (
            np.array([float(getattr(one, field) or 0) for one in releases])
            for field in ("settling_time", "overshoots")
        )
        measured = np.concatenate([times, counts])
        labels = [f"settling time {name}" for name in names] + [f"overshoots {n}" for n in names]

    def simulate(parameters: Array) -> Array:
        k = np.broadcast_to(stiffness, (len(parameters), stiffness.shape[-1]))
        joined = experiments.traces if by_trace else experiments.settled
        return np.concatenate(joined(k, block.of_joints(parameters), releases), axis=-1)

    def fitness(values: Array) -> Array:
        if by_trace:
            return objectives.squared_trace(values, measured)
        simulated_times, simulated_counts = np.split(values, 2, axis=-1)
        return objectives.settling_error(simulated_times, simulated_counts, times, counts)

    timed = np.ones(len(measured), dtype=bool)
    timed[len(releases) :] = by_trace
    unit = "m" if by_trace else "s"
    return Stage(
        "dampers", block, simulate, measured, fitness, tuple(labels), unit, by_trace, timed
    )


def torques(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    stiffness: Array,
    *,
    held_out: bool = False,
) -> Stage | None:
    """Gains of pressure from tip forces, or where there are none from free bending."""
    pressing = any(not one.held_out for one in problem.forces)
    forces = [one for one in problem.forces if pressing and one.held_out == held_out]
    bends = [one for one in problem.bends if not pressing and one.held_out == held_out]
    block = block_of(problem, "gain")
    if not forces and not bends:
        return None

    def joints(parameters: Array) -> tuple[Array, Array]:
        k = np.broadcast_to(stiffness, (len(parameters), stiffness.shape[-1]))
        return k, block.of_joints(parameters)

    if not forces:
        angles = np.concatenate([np.array(one.angles) for one in bends])
        labels = [
            f"q{i + 1} at {x.pressure / 1e3:g} kPa" for x in bends for i in range(len(x.angles))
        ]
        return Stage(
            name="torques",
            block=block,
            simulate=lambda p: np.concatenate(experiments.bends(*joints(p), bends), axis=-1),
            measured=angles,
            fitness=lambda values: objectives.squared_angles(values, angles),
            labels=tuple(labels),
            unit="rad",
            smooth=True,
            timed=np.ones(len(angles), dtype=bool),
        )
    measured = np.array([one.force for one in forces])
    fitness = {
        "auto": objectives.absolute_forces,
        "absolute": objectives.absolute_forces,
        "product": objectives.product_of_forces,
        "squares": objectives.squared_forces,
    }[problem.force_objective]
    return Stage(
        name="torques",
        block=block,
        simulate=lambda p: experiments.forces(*joints(p), forces),
        measured=measured,
        fitness=lambda values: fitness(values, measured),
        labels=tuple(f"force at {one.pressure / 1e3:g} kPa" for one in forces),
        unit="N",
        smooth=True,
        timed=np.ones(len(measured), dtype=bool),
    )
