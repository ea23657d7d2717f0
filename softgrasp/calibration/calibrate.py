"""Springs, then dampers, then torques: each stage with what the ones before have found.

A problem that an extension adds has one stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack, overload

from softgrasp.calibration.assessment import assessed
from softgrasp.calibration.benches import VirtualExperiments
from softgrasp.calibration.comparison import compare_models
from softgrasp.calibration.finding import METHODS, optimum_of
from softgrasp.calibration.journal import Journal
from softgrasp.calibration.parameters import block_of, finger_values, with_values
from softgrasp.calibration.remarks import remarks
from softgrasp.calibration.result import (
    CalibrationResult,
    CalibrationStatus,
    ExtensionResult,
    StageResult,
)
from softgrasp.calibration.search import Progress, Search
from softgrasp.calibration.stages import KIND_OF, STAGES, stage_of
from softgrasp.calibration.swarm import Swarm
from softgrasp.calibration.together import fitted_together
from softgrasp.description.calibration import CalibrationProblem, ExtensionProblem, ForceObjective
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.extensions import CALIBRATIONS, load


class Options(TypedDict, total=False):
    """Those of ``calibrate``, by keyword."""

    stages: Sequence[str] | None
    swarm: Swarm | None
    out: str | Path | None
    threads: int
    together: bool
    models: bool
    progress: Progress | None


@overload
def calibrate(
    problem: CalibrationProblem, method: str = ..., seed: int = ..., **options: Unpack[Options]
) -> CalibrationResult: ...


@overload
def calibrate(
    problem: ExtensionProblem, method: str = ..., seed: int = ..., **options: Unpack[Options]
) -> ExtensionResult: ...


def calibrate(
    problem: CalibrationProblem | ExtensionProblem,
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
) -> CalibrationResult | ExtensionResult:
    """Find constants from what was measured: of a finger, or of a hydraulic arm.

    A finger's are stiffness, damping and gains of pressure, an arm's those that its problem names.

    A stage without measurements is left out, and the finger keeps its own values there.

    Args:
        problem: The finger or the arm, and its measurements.
        method: ``least-squares``; ``pso``, paper 000's particle swarm; or ``pso+least-squares``.
        seed: Of the swarm; nothing else is random.
        stages: Of ``springs``, ``dampers`` and ``torques``; where not given, those that were
            measured. An arm has none to choose from.
        swarm: Its settings; those of the repository of paper 000 where not given.
        out: Folder where evaluations are kept, so that a killed calibration goes on.
        threads: Of the physics; the result does not depend on them.
        together: Whether to fit the parameters of all stages at once in the end, by least squares
            from where the stages have ended, each weighted by what it left.
        models: Whether to compare models of the stiffness with fewer parameters.
        progress: Called now and then.

    Raises:
        DescriptionError: No such method or stage, or nothing was measured for any stage; stages,
            or fitting them together, are asked of an arm.
        ResultError: The folder belongs to another problem, or cannot be written.
    """
    _check(method, stages, seed)
    swarm, requested = swarm or Swarm(), None if stages is None else tuple(stages)
    if isinstance(problem, ExtensionProblem):
        if requested is not None or together:
            field = "together" if together else "stages"
            message = f"expected none for an {problem.kind}, which has one stage"
            raise DescriptionError(message, field=field)
        directory = None if out is None else Path(out)
        run = load(CALIBRATIONS[problem.kind].run)
        result: ExtensionResult = run(problem, method, seed, swarm, directory, progress)
        return result
    problem = _with_objective(problem, method)
    experiments = VirtualExperiments(problem, threads)
    whole = f"{problem.model_dump_json()} {method} {seed} {swarm} {requested} {together}"
    journal = Journal(None if out is None else Path(out), whole)
    done: list[StageResult] = []
    for name in STAGES:
        stiffness = finger_values(_finger(problem, done), "stiffness")
        stage = stage_of(name, problem, experiments, stiffness)
        if requested is not None and name not in requested:
            continue
        if stage is None and requested is not None:
            raise DescriptionError(f"{name}: expected measurements, found none to fit")
        if stage is None:
            continue
        search = Search(stage, journal, progress)
        position = optimum_of(search, method, swarm, seed)
        checked = stage_of(name, problem, experiments, stiffness, held_out=True)
        behind = next(((one, experiments) for one in done if one.name == "springs"), None)
        done.append(assessed(search, position, checked, problem, stiffness, behind))
    if not done:
        raise DescriptionError("expected measurements for at least one stage, found none")
    if together:
        done = fitted_together(problem, experiments, done, journal, progress)
    if models and done[0].name == "springs":
        done[0] = replace(done[0], models=compare_models(problem, experiments))
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


def _with_objective(problem: CalibrationProblem, method: str) -> CalibrationProblem:
    """The same with the objective of forces that ``auto`` stands for."""
    if problem.force_objective != "auto":
        return problem
    smallest: ForceObjective = "squares" if method == "least-squares" else "absolute"
    return problem.replace(force_objective=smallest)


def _check(method: str, stages: Sequence[str] | None, seed: int) -> None:
    for value, known in ((method, METHODS), *((stage, STAGES) for stage in stages or ())):
        if value not in known:
            message = f"expected one of {', '.join(known)}, found '{value}'"
            raise DescriptionError(f"{message}; {did_you_mean(value, known)}")
    if not 0 <= seed < 2**32:
        raise DescriptionError(f"expected a number from 0 to 2³² − 1, found {seed}", field="seed")


def _finger(problem: CalibrationProblem, done: Sequence[StageResult]) -> SoftFinger:
    """The finger with what was found so far."""
    finger = problem.finger
    for one in done:
        kind = KIND_OF[one.name]
        finger = with_values(finger, kind, block_of(problem, kind).of_joints(one.values))
    return finger
