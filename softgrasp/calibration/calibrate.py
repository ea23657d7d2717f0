"""Springs, then dampers, then torques: each stage with what the ones before have found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from softgrasp.calibration.assessment import assessed
from softgrasp.calibration.benches import Benches
from softgrasp.calibration.comparison import compare_models
from softgrasp.calibration.journal import Journal
from softgrasp.calibration.least_squares import least_squares_search
from softgrasp.calibration.parameters import KINDS, block_of, own_values, with_values
from softgrasp.calibration.result import CalibrationResult, CalibrationStatus, StageResult
from softgrasp.calibration.search import Progress, Search
from softgrasp.calibration.stages import STAGES, stage_of
from softgrasp.calibration.swarm import Swarm, swarm_search
from softgrasp.calibration.together import fitted_together
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array

METHODS = ("pso", "least-squares", "pso+least-squares")


def calibrate(
    problem: CalibrationProblem,
    method: str = "least-squares",
    seed: int = 0,
    *,
    stages: Sequence[str] | None = None,
    swarm: Swarm | None = None,
    out: str | Path | None = None,
    threads: int = 1,
    together: bool = False,
    models: bool = True,
    progress: Progress | None = None,
) -> CalibrationResult:
    """Find a finger's stiffness, damping and gains of pressure from what was measured.

    A stage without measurements is left out, and the finger keeps its own values there.

    Args:
        problem: The finger and its measurements.
        method: ``least-squares``; ``pso``, paper 000's particle swarm; or ``pso+least-squares``.
        seed: Of the swarm; nothing else is random.
        stages: Of ``springs``, ``dampers`` and ``torques``; where not given, those that were
            measured.
        swarm: Its settings; those of paper 000 where not given.
        out: Folder where evaluations are kept, so that a killed calibration goes on.
        threads: Of the physics; the result does not depend on them.
        together: Whether to fit the parameters of all stages at once in the end, by least squares
            from where the stages have ended, each weighted by what it left.
        models: Whether to compare models of the stiffness with fewer parameters.
        progress: Called now and then.

    Raises:
        DescriptionError: No such method or stage, or nothing was measured for any stage.
        ResultError: The folder belongs to another problem, or cannot be written.
    """
    for value, known in ((method, METHODS), *((stage, STAGES) for stage in stages or ())):
        if value not in known:
            raise DescriptionError(f"expected one of {', '.join(known)}, found '{value}'; "
                                   f"{did_you_mean(value, known)}")  # fmt: skip
    if not 0 <= seed < 2**32:
        raise DescriptionError(f"expected a number from 0 to 2³² − 1, found {seed}", field="seed")
    swarm = swarm or Swarm()
    benches, finger = Benches(problem, threads), problem.finger
    whole = (
        f"{problem.model_dump_json()} {method} {seed} {swarm} {stages and list(stages)} {together}"
    )
    journal = Journal(None if out is None else Path(out), whole)
    done: list[StageResult] = []
    for name, kind in zip(STAGES, KINDS, strict=True):
        stiffness = own_values(finger, "stiffness")
        stage = stage_of(name, problem, benches, stiffness)
        if stages is not None and name not in stages:
            continue
        if stage is None and stages is not None:
            raise DescriptionError(f"{name}: expected measurements, found none to fit")
        if stage is None:
            continue
        search = Search(stage, journal, progress)
        position = _found(search, method, swarm, seed)
        checked = stage_of(name, problem, benches, stiffness, held_out=True)
        behind = next(((one, benches) for one in done if one.name == "springs"), None)
        told = assessed(search, position, checked, problem, stiffness, behind)
        if name == "springs" and models:
            told = replace(told, models=compare_models(problem, benches))
        done.append(told)
        finger = with_values(finger, kind, stage.block.of_joints(position))
    if not done:
        raise DescriptionError("expected measurements for at least one stage, found none")
    if together:
        done = fitted_together(problem, benches, done, journal, progress)
        for one in done:
            kind = KINDS[STAGES.index(one.name)]
            finger = with_values(finger, kind, block_of(problem, kind).of_joints(one.values))
    status = CalibrationStatus.DONE
    if any(stage.on_bound for stage in done):
        status = CalibrationStatus.AT_BOUNDS
    return CalibrationResult(
        problem=problem,
        method=method,
        seed=seed,
        together=together,
        finger=finger,
        stages=tuple(done),
        warnings=_warnings(problem, done, method),
        status=status,
    )


def _found(search: Search, method: str, swarm: Swarm, seed: int) -> Array:
    start = search.stage.block.middle
    if method == "least-squares":
        return least_squares_search(search, start)
    position = swarm_search(search, swarm, seed)
    if method == "pso+least-squares" and search.stage.smooth:
        position = least_squares_search(search, position)
        if search.best_position is not None and method != "least-squares":
            # least squares may leave an objective that is no sum of squares worse than it was
            position = search.best_position
    return position


def _warnings(
    problem: CalibrationProblem, stages: Sequence[StageResult], method: str
) -> tuple[str, ...]:
    told = [text for stage in stages for text in _of_stage(problem, stage, method)]
    done = {stage.name for stage in stages}
    if "torques" in done and problem.bends and any(not one.held_out for one in problem.forces):
        told.append("torques: found from forces of the tip alone; free bending was not looked at")
    if problem.release_objective == "trace":
        unused = sum(not one.times for one in problem.releases)
        if unused:
            told.append(f"dampers: {unused} releases without a track were not looked at")
    kept = {
        "springs": [one.held_out for one in problem.hung],
        "dampers": [one.held_out for one in problem.releases],
        "torques": [one.held_out for one in problem.forces]
        + [one.held_out for one in problem.bends],
    }
    told += [
        f"{name}: all measurements are held out, so the finger keeps its own values"
        for name, marks in kept.items()
        if marks and all(marks)
    ]
    return tuple(told)


def _of_stage(problem: CalibrationProblem, stage: StageResult, method: str) -> list[str]:
    told = []
    if (
        stage.name == "dampers"
        and method == "least-squares"
        and problem.release_objective == "settling"
        and len(stage.names) > 1
    ):
        told.append(
            "dampers: counts have no slopes to follow, so one common damping was looked for; "
            "method pso looks for each"
        )
    other = stage.residual_unit == "N" and problem.force_objective != "squares"
    if other and method == "least-squares":
        told.append(
            "torques: least squares make the sum of squares smallest, not the objective "
            f"'{problem.force_objective}'"
        )
    if stage.on_bound:
        told.append(
            f"{stage.name}: {', '.join(stage.on_bound)} on a bound; the measurements want "
            "to go farther, or do not determine it"
        )
    if np.isnan(stage.certainty.noise):
        told.append(
            f"{stage.name}: {len(stage.names)} parameters from {len(stage.measured)} measurements; "
            "none is left to judge how sure they are"
        )
    hidden = [one for one in stage.certainty.undetermined if np.isinf(one.error)]
    if hidden:
        terms = "; ".join(one.sentence.partition(":")[0] for one in hidden)
        told.append(
            f"{stage.name}: {len(stage.names)} parameters from {len(stage.measured)} measurements; "
            f"not determined at all: {terms}"
        )
    if stage.sum_sentence:
        told.append(f"{stage.name}: {stage.sum_sentence}")
    return told
