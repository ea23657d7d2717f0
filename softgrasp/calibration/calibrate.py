"""Calibrate a soft finger: fit stiffness, damping and pressure gains to measurements.

``calibrate`` fits stage by stage, each with the results of the previous stages: springs,
dampers, torques (Hadi et al. 2025). The optimiser is a particle swarm, least squares, or both.
A problem that an extension adds, such as that of a hydraulic arm, has one stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack, overload

import numpy as np

from softgrasp.calibration.assessment import MODELS, assessed, remarks, stage_model, with_posterior
from softgrasp.calibration.credibility import Credibility, assess_credibility
from softgrasp.calibration.measurement_checks import without_copies
from softgrasp.calibration.next_measurements import Advice, next_measurements
from softgrasp.calibration.objectives import finger_values
from softgrasp.calibration.optimizers import Swarm, least_squares_search, swarm_search
from softgrasp.calibration.posterior import Posterior, joint_posterior, without_creep
from softgrasp.calibration.result import (
    CalibrationResult,
    CalibrationStatus,
    ExtensionResult,
    StageResult,
    fitted_finger,
)
from softgrasp.calibration.stages import (
    STAGES,
    Journal,
    Progress,
    Search,
    VirtualExperiments,
    stage_of,
)
from softgrasp.description.calibration import CalibrationProblem, ExtensionProblem, ForceObjective
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.extensions import CALIBRATIONS
from softgrasp.mechanics.transforms import Array

METHODS = ("map", "least-squares", "pso", "pso+least-squares")


class Options(TypedDict, total=False):
    """Keyword options of ``calibrate``."""

    stages: Sequence[str] | None
    swarm: Swarm | None
    out: str | Path | None
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
    method: str = "map",
    seed: int = 0,
    *,
    stages: Sequence[str] | None = None,
    swarm: Swarm | None = None,
    out: str | Path | None = None,
    models: bool = True,
    progress: Progress | None = None,
) -> CalibrationResult | ExtensionResult:
    """Fit the constants of a finger, or of a hydraulic arm, to measurements.

    Those of a finger are stiffness, damping and pressure gains, those of an arm are named in its
    problem. A stage without measurements is skipped, and the finger keeps its values there. The
    fit of a finger is then assessed (``CalibrationResult.credibility``); copies of a measurement
    count once.

    Args:
        problem: Finger or arm, and its measurements.
        method: ``map``, the maximum a posteriori of stiffness and gains with systematic errors
            (``calibration.posterior``), and least squares for dampers; or stage by stage by
            ``least-squares``, ``pso``, the particle swarm of Hadi et al. (2025), or
            ``pso+least-squares``.
        seed: Seed of the swarm; nothing else is random.
        stages: Stages of ``springs``, ``dampers`` and ``torques``; default: those with
            measurements. Not for an arm.
        swarm: Settings of the swarm; default: those of the repository of Hadi et al. (2025).
        out: Directory of the journal of evaluations, with which an interrupted calibration
            resumes.
        models: Whether to compare models of the stiffness with fewer parameters.
        progress: Progress callback.

    Raises:
        DescriptionError: No such method or stage, no measurements for any stage, or options for
            fingers with an arm.
        ResultError: The directory belongs to another problem, or cannot be written.
    """
    _check(method, stages, seed)
    swarm, requested = swarm or Swarm(), None if stages is None else tuple(stages)
    if isinstance(problem, ExtensionProblem):
        if requested is not None:
            message = f"expected no value for an {problem.kind}, which has one stage"
            raise DescriptionError(message, field="stages")
        directory = None if out is None else Path(out)
        run = CALIBRATIONS.load(problem.kind, "run")
        result: ExtensionResult = run(problem, method, seed, swarm, directory, progress)
        return result
    distinct, copies = without_copies(problem)
    problem = _with_objective(distinct, method)
    experiments = VirtualExperiments(problem)
    whole = f"{problem.model_dump_json()} {method} {seed} {swarm} {requested}"
    journal = Journal(None if out is None else Path(out), whole)
    posterior, advice = _posterior(problem, experiments, method, requested, seed)
    known = {} if posterior is None else _by_stage(posterior)
    if posterior is not None:
        problem = without_creep(problem, posterior.creep[0])
    settings = (method, swarm, seed)
    done = _stages(problem, experiments, journal, requested, settings, progress, known)
    experiments.stiffening = fitted_finger(problem, done).stiffness_pressure
    if models and done[0].name == "springs":
        compared = tuple(stage_model(problem, experiments, one) for one in MODELS)
        done[0] = replace(done[0], models=compared)
    if progress is not None:
        progress("assessing the fit", 1.0)
    credibility = _credibility_of(problem, experiments, done, copies)
    return CalibrationResult(
        problem=problem,
        method=method,
        seed=seed,
        finger=fitted_finger(problem, done),
        stages=tuple(done),
        warnings=remarks(problem, done, method) + (posterior.warnings if posterior else ()),
        status=_status(done, credibility),
        credibility=credibility,
        posterior=posterior,
        advice=advice,
    )


def _posterior(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    method: str,
    requested: tuple[str, ...] | None,
    seed: int,
) -> tuple[Posterior | None, tuple[Advice, ...]]:
    """Return the joint estimate and what to measure next, where there are angles to fit."""
    fitted = any(not one.held_out for one in problem.hung)
    if method != "map" or not fitted or (requested is not None and "springs" not in requested):
        return None, ()
    if problem.static_objective == "heights":
        raise DescriptionError(
            "expected angles with method map, found heights; choose least-squares",
            field="static_objective",
        )
    if requested is not None and "torques" not in requested:
        problem = problem.replace(forces=(), bends=())
    posterior = joint_posterior(problem, experiments, seed=seed)
    return posterior, next_measurements(problem, experiments, posterior)


def _by_stage(posterior: Posterior) -> dict[str, tuple[Posterior, slice]]:
    """Return the parts of springs and, where forces were fitted, torques."""
    count = len(posterior.names)
    gains = [i for i, name in enumerate(posterior.names) if name.startswith("alpha")]
    first = gains[0] if gains else count
    parts = {"springs": slice(0, first)}
    if gains:
        parts["torques"] = slice(first, count)
    return {name: (posterior, part) for name, part in parts.items()}


def _stages(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    journal: Journal,
    requested: tuple[str, ...] | None,
    settings: tuple[str, Swarm, int],
    progress: Progress | None,
    known: Mapping[str, tuple[Posterior, slice]],
) -> list[StageResult]:
    """Fit one stage after the other; ``settings`` are method, swarm and seed.

    Stages in ``known`` take their parameters from the joint estimate.
    """
    done: list[StageResult] = []
    for name in STAGES:
        stiffness = finger_values(fitted_finger(problem, done), "stiffness")
        stage = stage_of(name, problem, experiments, stiffness)
        if requested is not None and name not in requested:
            continue
        if stage is None and requested is not None:
            raise DescriptionError(f"{name}: expected measurements, found none to fit")
        if stage is None:
            continue
        search = Search(stage, journal, progress)
        position = _estimate(search, known.get(name), settings)
        checked = stage_of(name, problem, experiments, stiffness, held_out=True)
        behind = next(((one, experiments) for one in done if one.name == "springs"), None)
        try:
            one = assessed(search, position, checked, problem, stiffness, behind)
            done.append(with_posterior(one, *known[name]) if name in known else one)
        except DescriptionError as error:
            verdict = _credibility_of(problem, experiments, done, ())
            if verdict.credible:
                raise
            raise DescriptionError(f"{verdict.sentence}; {error}") from error
    if not done:
        raise DescriptionError("expected measurements for at least one stage, found none")
    return done


def _estimate(
    search: Search, known: tuple[Posterior, slice] | None, settings: tuple[str, Swarm, int]
) -> Array:
    """Return the parameters of a stage, from the joint estimate or by its own search."""
    if known is None:
        return optimum_of(search, *settings)
    posterior, part = known
    position = posterior.values[part]
    search.fitness(position[None], fraction=1.0)
    return position


def _credibility_of(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    done: Sequence[StageResult],
    copies: tuple[tuple[str, str], ...],
) -> Credibility:
    """Assess the least-squares fit of each stage, as systematic errors must show in residuals."""
    stiffness = finger_values(fitted_finger(problem, done), "stiffness")
    fitted = {}
    for one in done:
        stage = stage_of(one.name, problem, experiments, stiffness)
        assert stage is not None  # it was fitted
        start = np.clip(one.values, one.lower, one.upper)
        smooth = stage.smooth
        search = Search(stage)
        fitted[one.name] = least_squares_search(search, start) if smooth else one.values
    return assess_credibility(problem, experiments, fitted, stiffness, copies)


def _status(done: Sequence[StageResult], credibility: Credibility) -> CalibrationStatus:
    if not credibility.credible:
        return CalibrationStatus.NOT_CREDIBLE
    edge = any(stage.on_bound for stage in done)
    return CalibrationStatus.AT_BOUNDS if edge else CalibrationStatus.DONE


def _check(method: str, stages: Sequence[str] | None, seed: int) -> None:
    for value, known in ((method, METHODS), *((stage, STAGES) for stage in stages or ())):
        if value not in known:
            message = f"expected one of {', '.join(known)}, found '{value}'"
            raise DescriptionError(f"{message}; {did_you_mean(value, known)}")
    if not 0 <= seed < 2**32:
        raise DescriptionError(f"expected a number from 0 to 2³² − 1, found {seed}", field="seed")


def _with_objective(problem: CalibrationProblem, method: str) -> CalibrationProblem:
    """Replace the force objective ``auto`` by the objective that it selects."""
    if problem.force_objective != "auto":
        return problem
    smooth = method in ("map", "least-squares")
    smallest: ForceObjective = "squares" if smooth else "absolute"
    return problem.replace(force_objective=smallest)


def optimum_of(search: Search, method: str, swarm: Swarm, seed: int) -> Array:
    """Return the optimal parameters of a stage by the chosen method, (p,).

    Args:
        search: Search to evaluate; its history is filled.
        method: One of ``METHODS``.
        swarm: Settings of a swarm.
        seed: Seed of the swarm.
    """
    start = search.stage.block.middle
    if method in ("least-squares", "map"):
        return least_squares_search(search, start)
    position = swarm_search(search, swarm, seed)
    if method == "pso+least-squares" and search.stage.smooth:
        position = least_squares_search(search, position)
        if search.best_position is not None:
            # least squares may leave an objective that is no sum of squares worse than it was
            position = search.best_position
    return position
