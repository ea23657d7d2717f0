"""All stages at once: least squares over all parameters, from where the stages have ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from softgrasp.calibration.assessment import assessed
from softgrasp.calibration.benches import VirtualExperiments
from softgrasp.calibration.certainty import Uncertainty, uncertainty
from softgrasp.calibration.journal import Journal
from softgrasp.calibration.least_squares import jacobian, least_squares_search, scale_of
from softgrasp.calibration.parameters import Block, block_of, finger_values
from softgrasp.calibration.result import StageResult
from softgrasp.calibration.search import Progress, Search
from softgrasp.calibration.stages import KIND_OF, Stage, Values, stage_of
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

MIN_NOISE = 1e-9
"""Residual over the largest measurement that still weighs: exact data are not infinitely sure."""


def fitted_together(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    done: Sequence[StageResult],
    journal: Journal,
    progress: Progress | None = None,
) -> list[StageResult]:
    """Stages with the parameters that fit all of their measurements at once.

    Each measurement is weighted by the noise that its own stage has left. Counts have no slopes to
    follow; dampers from them stay as they are, and are judged again with the new springs.

    Args:
        problem: The problem.
        experiments: Of its finger.
        done: The stages one after the other.
        journal: Where evaluations are kept.
        progress: Called now and then.

    Raises:
        DescriptionError: There are no two stages that can be fitted at once.
    """
    parts = [one for one in done if _blocks(problem, experiments, one)]
    if len(parts) < 2:
        names = ", ".join(one.name for one in parts) or "none"
        raise DescriptionError(
            f"expected two stages or more that can be fitted together, found {names}; counts of "
            "releases cannot"
        )
    ends = np.cumsum([0, *(len(one.values) for one in parts)])
    slices = [slice(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
    stage = _joined(problem, experiments, parts, slices)
    search = Search(stage, journal, progress)
    position = least_squares_search(search, np.concatenate([one.values for one in parts]))
    sure = _uncertainty(search, position)
    spent = search.evaluations
    stiffness = _stiffness(problem, parts, slices, position)
    where = dict(zip([one.name for one in parts], slices, strict=True))
    results: list[StageResult] = []
    for one in done:
        part = where.get(one.name)
        again = stage_of(one.name, problem, experiments, stiffness)
        assert again is not None
        checked = stage_of(one.name, problem, experiments, stiffness, held_out=True)
        alone = Search(again, Journal(None, ""))
        values = one.values if part is None else position[part]
        behind = next(
            ((result, experiments) for result in results if result.name == "springs"), None
        )
        result = assessed(alone, values, checked, problem, stiffness, None if part else behind)
        result = replace(
            result,
            history=one.history,
            evaluations=one.evaluations + spent + alone.evaluations,
            models=one.models,
        )
        if part is not None:
            result = replace(result, uncertainty=_part(sure, part, result.uncertainty))
        results.append(result)
        spent = 0  # told once
    return results


def _blocks(problem: CalibrationProblem, experiments: VirtualExperiments, one: StageResult) -> bool:
    stage = stage_of(one.name, problem, experiments, finger_values(problem.finger, "stiffness"))
    return stage is not None and stage.smooth


def _joined(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    parts: Sequence[StageResult],
    slices: Sequence[slice],
) -> Stage:
    """One stage whose residuals are those of all, over what each has left."""
    weights = [1.0 / max(_noise(one), MIN_NOISE * np.abs(one.measured).max()) for one in parts]
    measured = np.concatenate([w * one.measured for w, one in zip(weights, parts, strict=True)])

    def simulate(positions: Array) -> Array:
        stiffness = _stiffness(problem, parts, slices, positions)
        values = []
        for one, part, weight in zip(parts, slices, weights, strict=True):
            stage = stage_of(one.name, problem, experiments, stiffness)
            assert stage is not None
            values.append(weight * stage.simulate(positions[:, part]))
        return np.concatenate(values, axis=-1)

    fitness: Values = lambda values: np.asarray(np.square(values - measured).mean(axis=-1))  # noqa: E731
    relative = [r for one in parts for r in block_of(problem, KIND_OF[one.name]).relative]
    block = Block(
        kind="stiffness",
        names=tuple(name for one in parts for name in one.names),
        unit="",
        lower=np.concatenate([one.lower for one in parts]),
        upper=np.concatenate([one.upper for one in parts]),
        relative=tuple(relative),
        cells=None,
        positions=np.zeros(0),
    )
    labels = tuple(label for one in parts for label in one.labels)
    everything = np.ones(len(measured), dtype=bool)
    return Stage("springs", block, simulate, measured, fitness, labels, "", True, everything)


def _noise(one: StageResult) -> float:
    if np.isnan(one.uncertainty.noise):
        raise DescriptionError(
            f"{one.name}: expected more measurements than the fit needs, to weigh them by what is "
            f"left, found {len(one.measured)}"
        )
    return one.uncertainty.noise


def _stiffness(
    problem: CalibrationProblem,
    parts: Sequence[StageResult],
    slices: Sequence[slice],
    positions: Array,
) -> Array:
    """Joint by joint, (..., n), of parameters (..., p)."""
    for one, part in zip(parts, slices, strict=True):
        if one.name == "springs":
            return block_of(problem, "stiffness").of_joints(positions[..., part])
    return finger_values(problem.finger, "stiffness")


def _uncertainty(search: Search, position: Array) -> Uncertainty:
    block = search.stage.block
    values = search.values(position[None])[0]
    slopes = np.nan_to_num(jacobian(search, position, values))
    scale = scale_of(position, block.upper, block.lower, block.relative)
    return uncertainty(slopes, scale, values - search.stage.measured, block.names)


def _part(sure: Uncertainty, part: slice, alone: Uncertainty) -> Uncertainty:
    """What all measurements say of the parameters of one stage; combinations are its own."""
    return replace(
        alone,
        errors=sure.errors[part],
        relative=sure.relative[part],
        correlation=sure.correlation[part, part],
    )
