"""Springs, then dampers, then torques: each stage with what the ones before have found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from softgrasp.calibration.assessment import assessed
from softgrasp.calibration.benches import Benches
from softgrasp.calibration.comparison import compare_models
from softgrasp.calibration.journal import Journal
from softgrasp.calibration.least_squares import least_squares_search
from softgrasp.calibration.parameters import block_of, own_values, with_values
from softgrasp.calibration.remarks import remarks
from softgrasp.calibration.result import CalibrationResult, CalibrationStatus, StageResult
from softgrasp.calibration.search import Progress, Search
from softgrasp.calibration.stages import KIND_OF, STAGES, stage_of
from softgrasp.calibration.swarm import Swarm, swarm_search
from softgrasp.calibration.together import fitted_together
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.description.soft_finger import SoftFinger
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
        swarm: Its settings; those of the repository of paper 000 where not given.
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
    _check(method, stages, seed)
    swarm, asked = swarm or Swarm(), None if stages is None else tuple(stages)
    benches = Benches(problem, threads)
    whole = f"{problem.model_dump_json()} {method} {seed} {swarm} {asked} {together}"
    journal = Journal(None if out is None else Path(out), whole)
    done: list[StageResult] = []
    for name in STAGES:
        stiffness = own_values(_finger(problem, done), "stiffness")
        stage = stage_of(name, problem, benches, stiffness)
        if asked is not None and name not in asked:
            continue
        if stage is None and asked is not None:
            raise DescriptionError(f"{name}: expected measurements, found none to fit")
        if stage is None:
            continue
        search = Search(stage, journal, progress)
        position = _found(search, method, swarm, seed)
        checked = stage_of(name, problem, benches, stiffness, held_out=True)
        behind = next(((one, benches) for one in done if one.name == "springs"), None)
        done.append(assessed(search, position, checked, problem, stiffness, behind))
    if not done:
        raise DescriptionError("expected measurements for at least one stage, found none")
    if together:
        done = fitted_together(problem, benches, done, journal, progress)
    if models and done[0].name == "springs":
        done[0] = replace(done[0], models=compare_models(problem, benches))
    edge = any(stage.on_bound for stage in done)
    return CalibrationResult(
        problem=problem,
        method=method,
        seed=seed,
        together=together,
        finger=_finger(problem, done),
        stages=tuple(done),
        warnings=remarks(problem, done, method),
        status=CalibrationStatus.AT_BOUNDS if edge else CalibrationStatus.DONE,
    )


def _check(method: str, stages: Sequence[str] | None, seed: int) -> None:
    for value, known in ((method, METHODS), *((stage, STAGES) for stage in stages or ())):
        if value not in known:
            told = f"expected one of {', '.join(known)}, found '{value}'"
            raise DescriptionError(f"{told}; {did_you_mean(value, known)}")
    if not 0 <= seed < 2**32:
        raise DescriptionError(f"expected a number from 0 to 2³² − 1, found {seed}", field="seed")


def _finger(problem: CalibrationProblem, done: Sequence[StageResult]) -> SoftFinger:
    """The finger with what was found so far."""
    finger = problem.finger
    for one in done:
        kind = KIND_OF[one.name]
        finger = with_values(finger, kind, block_of(problem, kind).of_joints(one.values))
    return finger


def _found(search: Search, method: str, swarm: Swarm, seed: int) -> Array:
    start = search.stage.block.middle
    if method == "least-squares":
        return least_squares_search(search, start)
    position = swarm_search(search, swarm, seed)
    if method == "pso+least-squares" and search.stage.smooth:
        position = least_squares_search(search, position)
        if search.best_position is not None:
            # least squares may leave an objective that is no sum of squares worse than it was
            position = search.best_position
    return position
