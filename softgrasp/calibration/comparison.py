"""Models of the stiffness with fewer parameters, by Akaike's criterion and loads left out."""

from __future__ import annotations

import math

import numpy as np

from softgrasp.calibration.benches import VirtualExperiments
from softgrasp.calibration.journal import Journal
from softgrasp.calibration.least_squares import least_squares_search
from softgrasp.calibration.objectives import root_mean_square
from softgrasp.calibration.result import StageModel
from softgrasp.calibration.search import Search
from softgrasp.calibration.stages import Stage, springs
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.mechanics.transforms import Array

MODELS = ("uniform", "smooth", "per-joint")


def compare_models(
    problem: CalibrationProblem, experiments: VirtualExperiments
) -> tuple[StageModel, ...]:
    """All models of the stiffness, each at its least squares; fewer parameters first."""
    return tuple(_stage_model(problem, experiments, model) for model in MODELS)


def _stage_model(
    problem: CalibrationProblem, experiments: VirtualExperiments, model: str
) -> StageModel:
    stage = springs(problem, experiments, model=model)
    assert stage is not None  # the stage of springs was done
    position = _fitted(stage)
    left = stage.simulate(position[None])[0] - stage.measured
    checked = springs(problem, experiments, held_out=True, model=model)
    held = math.nan
    if checked is not None:
        held = root_mean_square(checked.simulate(position[None])[0] - checked.measured)
    return StageModel(
        model=model,
        parameters=len(position),
        residual=root_mean_square(left),
        aic=_criterion(left, len(position)),
        cross_validation=_cross_validated(problem, experiments, model),
        held_out=held,
    )


def _fitted(stage: Stage) -> Array:
    return least_squares_search(Search(stage, Journal(None, "")), stage.block.middle)


def _criterion(left: Array, parameters: int) -> float:
    """Akaike's, with the correction for few measurements; the noise is a parameter, too."""
    count, free = len(left), parameters + 1
    if count <= free + 1:
        return math.inf
    likelihood = count * math.log(max(float(np.square(left).mean()), 1e-300))
    return likelihood + 2.0 * free * count / (count - free - 1)


def _cross_validated(
    problem: CalibrationProblem, experiments: VirtualExperiments, model: str
) -> float:
    """Root mean square over loads that were left out one after the other; NaN for a single one."""
    loads = [load for load in problem.hung if not load.held_out]
    if len(loads) < 2:
        return math.nan
    squares: list[float] = []
    for left_out in loads:
        marked = tuple(load.replace(held_out=load is left_out) for load in loads)
        part = problem.replace(hung=marked)
        stage = springs(part, experiments, model=model)
        checked = springs(part, experiments, held_out=True, model=model)
        assert stage is not None
        assert checked is not None
        position = _fitted(stage)
        squares += np.square(checked.simulate(position[None])[0] - checked.measured).tolist()
    return math.sqrt(sum(squares) / len(squares))
