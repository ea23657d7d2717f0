"""What uncertain springs do to the dampers and torques that are found with them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from softgrasp.calibration.benches import VirtualExperiments
from softgrasp.calibration.certainty import Uncertainty
from softgrasp.calibration.least_squares import NUDGE, WIDE, scale_of
from softgrasp.calibration.parameters import block_of
from softgrasp.calibration.result import StageResult
from softgrasp.calibration.stages import Stage, stage_of
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.mechanics.transforms import Array

SPREAD = 1.0 / math.sqrt(12.0)
"""Standard deviation of what may lie anywhere between two bounds, over their distance."""
WEAK = 1e-6
"""Directions in which measurements change by less than this part of the most are left out."""


def with_springs_behind(
    sure: Uncertainty,
    slopes: Array,
    stage: Stage,
    position: Array,
    springs: StageResult,
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
) -> Uncertainty:
    """Errors of parameters with what the errors of the springs add to them.

    To first order springs that are off by dθ move what is simulated by G·dθ, and the fit answers by
    −J⁺·G·dθ. No spring is less sure than its bounds say.

    Args:
        sure: For the springs as they were found.
        slopes: J, change of what is measured over relative changes of the parameters, (m, p).
        stage: The stage.
        position: Its parameters, (p,).
        springs: The stage of the springs.
        problem: The problem.
        experiments: Of its finger.
    """
    answers = -np.linalg.pinv(slopes, rcond=WEAK) @ _shifts(
        stage, position, springs, problem, experiments
    )
    width = SPREAD * (springs.upper - springs.lower)
    deviation = np.minimum(springs.uncertainty.errors, width)
    correlation = springs.uncertainty.correlation.copy()
    np.fill_diagonal(correlation, 1.0)  # also for springs that nothing measured changes with
    covariance = correlation * np.outer(deviation, deviation)
    added = np.einsum("ij,jk,ik->i", answers, covariance, answers)
    relative = np.sqrt(np.square(sure.relative) + np.maximum(added, 0.0))
    block = stage.block
    scale = scale_of(position, block.upper, block.lower, block.relative)
    return replace(sure, errors=relative * scale, relative=relative)


def _shifts(
    stage: Stage,
    position: Array,
    springs: StageResult,
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
) -> Array:
    """G, change of what is measured over changes of the springs' parameters, (m, s)."""
    block, count = block_of(problem, "stiffness"), len(springs.values)
    scale = scale_of(springs.values, springs.upper, springs.lower, block.relative)
    nudge = (NUDGE if stage.smooth else WIDE) * scale
    points = np.tile(springs.values, (2 * count, 1))
    points[np.arange(count), np.arange(count)] += nudge
    points[count + np.arange(count), np.arange(count)] -= nudge
    moved = stage_of(stage.name, problem, experiments, block.of_joints(points))
    assert moved is not None  # the stage itself is there
    values = moved.simulate(np.tile(position, (2 * count, 1)))[:, stage.timed]
    slopes = (values[:count] - values[count:]) / (2.0 * nudge)[:, None]
    return np.asarray(np.nan_to_num(slopes).T)
