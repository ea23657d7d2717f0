"""Springs, then dampers, then torques: each stage with what the ones before have found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from softgrasp.calibration.benches import Benches
from softgrasp.calibration.certainty import certainty
from softgrasp.calibration.comparison import compare_models
from softgrasp.calibration.first_mode import first_mode
from softgrasp.calibration.journal import Journal
from softgrasp.calibration.least_squares import jacobian, least_squares_search, scale_of
from softgrasp.calibration.parameters import KINDS, own_values, with_values
from softgrasp.calibration.result import CalibrationResult, CalibrationStatus, StageResult
from softgrasp.calibration.search import Progress, Search
from softgrasp.calibration.stages import STAGES, Stage, dampers, springs, torques
from softgrasp.calibration.swarm import Swarm, swarm_search
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array

METHODS = ("pso", "least-squares", "pso+least-squares")
EDGE = 1e-4
"""A parameter is on a bound where it is nearer, over the width between them."""


def calibrate(
    problem: CalibrationProblem,
    method: str = "least-squares",
    seed: int = 0,
    *,
    stages: Sequence[str] = STAGES,
    swarm: Swarm | None = None,
    out: str | Path | None = None,
    threads: int = 1,
    models: bool = True,
    progress: Progress | None = None,
) -> CalibrationResult:
    """Find a finger's stiffness, damping and gains of pressure from what was measured.

    A stage without measurements is left out, and the finger keeps its own values there.

    Args:
        problem: The finger and its measurements.
        method: ``least-squares``; ``pso``, paper 000's particle swarm; or ``pso+least-squares``.
        seed: Of the swarm; nothing else is random.
        stages: Of ``springs``, ``dampers`` and ``torques``.
        swarm: Its settings; those of paper 000 where not given.
        out: Folder where evaluations are kept, so that a killed calibration goes on.
        threads: Of the physics; the result does not depend on them.
        models: Whether to compare models of the stiffness with fewer parameters.
        progress: Called now and then.

    Raises:
        DescriptionError: No such method or stage, or nothing was measured for any stage.
        ResultError: The folder belongs to another problem, or cannot be written.
    """
    for value, known in ((method, METHODS), *((stage, STAGES) for stage in stages)):
        if value not in known:
            raise DescriptionError(f"expected one of {', '.join(known)}, found '{value}'; "
                                   f"{did_you_mean(value, known)}")  # fmt: skip
    swarm = swarm or Swarm()
    benches, finger = Benches(problem, threads), problem.finger
    whole = f"{problem.model_dump_json()} {method} {seed} {swarm} {list(stages)}"
    journal = Journal(None if out is None else Path(out), whole)
    done: list[StageResult] = []
    for name, kind in zip(STAGES, KINDS, strict=True):
        stage = _stage(name, problem, benches, own_values(finger, "stiffness"))
        if name not in stages or stage is None:
            continue
        search = Search(stage, journal, progress)
        position = _found(search, method, swarm, seed)
        checked = _stage(name, problem, benches, own_values(finger, "stiffness"), held_out=True)
        springs_now = own_values(finger, "stiffness")
        told = _told(search, position, checked, problem, springs_now)
        if name == "springs" and models:
            told = replace(told, models=compare_models(problem, benches))
        done.append(told)
        finger = with_values(finger, kind, stage.block.of_joints(position))
    if not done:
        raise DescriptionError("expected measurements for at least one stage, found none")
    status = CalibrationStatus.DONE
    if any(stage.on_bound for stage in done):
        status = CalibrationStatus.AT_BOUNDS
    sentences = _warnings(done, method)
    return CalibrationResult(problem, method, seed, finger, tuple(done), sentences, status)


def _stage(
    name: str, problem: CalibrationProblem, benches: Benches, stiffness: Array, *,
    held_out: bool = False,
) -> Stage | None:  # fmt: skip
    if name == "springs":
        return springs(problem, benches, held_out=held_out)
    make = dampers if name == "dampers" else torques
    return make(problem, benches, stiffness, held_out=held_out)


def _found(search: Search, method: str, swarm: Swarm, seed: int) -> Array:
    start = search.stage.block.middle
    if method == "least-squares":
        return least_squares_search(search, start)
    position = swarm_search(search, swarm, seed)
    if method == "pso+least-squares" and search.stage.smooth:
        position = least_squares_search(search, position)
    return position


def _told(
    search: Search, position: Array, checked: Stage | None, problem: CalibrationProblem,
    stiffness: Array,
) -> StageResult:  # fmt: skip
    stage = search.stage
    block, timed = stage.block, stage.timed
    simulated = search.values(position[None])[0]
    if not np.isfinite(simulated).all():
        raise DescriptionError(
            f"{stage.name}: no parameter set between the bounds can be simulated"
        )
    slopes = np.nan_to_num(jacobian(search, position, simulated))[timed]
    scale = scale_of(position, block.upper, block.lower, block.relative)
    left = simulated - stage.measured
    near = EDGE * (block.upper - block.lower)
    edge = (position - block.lower < near) | (block.upper - position < near)
    sure = certainty(slopes, scale, left[timed], block.names)
    held = np.zeros(0) if checked is None else checked.simulate(position[None])[0]
    held_measured = np.zeros(0) if checked is None else checked.measured
    return StageResult(
        name=stage.name,
        names=block.names,
        unit=block.unit,
        values=position,
        lower=block.lower,
        upper=block.upper,
        on_bound=tuple(name for name, on in zip(block.names, edge, strict=True) if on),
        certainty=sure,
        sum_sentence=_sum_sentence(stage, slopes / scale, position, problem, stiffness),
        residual=_rms(left[timed]),
        residual_unit=stage.unit,
        fitness=float(stage.fitness(simulated[None])[0]),
        labels=stage.labels,
        measured=stage.measured,
        simulated=simulated,
        held_out_labels=() if checked is None else checked.labels,
        held_out_measured=held_measured,
        held_out_simulated=held,
        held_out_residual=np.nan
        if checked is None
        else _rms((held - held_measured)[checked.timed]),
        history=tuple(search.history),
        evaluations=search.evaluations,
        models=(),
    )


def _sum_sentence(
    stage: Stage, slopes: Array, position: Array, problem: CalibrationProblem, stiffness: Array
) -> str:
    """What a stage says of the sum of its parameters, and little of each; empty for springs."""
    names = stage.block.names
    if stage.name == "dampers":
        mode = first_mode(problem.finger, stiffness)
        damping = stage.block.of_joints(position) + problem.damping_timestep * stiffness
        listed = " ".join(f"{weight:.3f}" for weight in mode.weights)
        return (
            f"releases say little more than the damping of the first mode, Σ w·c = "
            f"{mode.weights @ stage.block.of_joints(position):.4g} N·m·s/rad with w = ({listed}); "
            f"it is at {mode.frequency:.4g} Hz, with {100 * mode.ratio(damping):.3g} % of critical "
            "damping"
        )
    if stage.name != "torques" or stage.unit != "N" or len(names) == 1:
        return ""
    return _force_sentence(slopes, position, problem, names)


def _force_sentence(
    slopes: Array, gains: Array, problem: CalibrationProblem, names: tuple[str, ...]
) -> str:
    """What tip forces say of gains: F = P·Σ w·alpha as long as the shape changes little."""
    pressures = np.array([one.pressure for one in problem.forces if not one.held_out])
    weights = pressures @ slopes / np.square(pressures).sum()
    listed = " ".join(f"{weight:.2f}" for weight in weights)
    return (
        f"only the sum Σ w·alpha = {weights @ gains:.4g} N/Pa is determined by tip forces, "
        f"w = ({listed})/m for {names[0]} … {names[-1]}"
    )


def _warnings(stages: Sequence[StageResult], method: str) -> tuple[str, ...]:
    told = []
    for stage in stages:
        if stage.name == "dampers" and method == "least-squares" and stage.residual_unit == "s":
            told.append(
                "dampers: counts have no slopes to follow, so one common damping was looked for; "
                "method pso looks for each"
            )
        if stage.on_bound:
            told.append(
                f"{stage.name}: {', '.join(stage.on_bound)} on a bound; the measurements want "
                "to go farther, or do not determine it"
            )
        if len(stage.measured) < len(stage.names):
            hidden = [c for c in stage.certainty.undetermined if not np.isfinite(c.error)]
            told.append(
                f"{stage.name}: {len(stage.names)} parameters from {len(stage.measured)} "
                f"measurements; not determined at all: "
                + "; ".join(c.sentence.partition(":")[0] for c in hidden)
            )
        if stage.sum_sentence:
            told.append(f"{stage.name}: {stage.sum_sentence}")
    return tuple(told)


def _rms(left: Array) -> float:
    return float(np.sqrt(np.square(left).mean()))
