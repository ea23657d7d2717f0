"""What a stage has found: residuals, how sure its parameters are, and what it says of their sum."""

from __future__ import annotations

import numpy as np

from softgrasp.calibration.benches import VirtualExperiments
from softgrasp.calibration.certainty import uncertainty
from softgrasp.calibration.first_mode import first_mode
from softgrasp.calibration.least_squares import jacobian, scale_of
from softgrasp.calibration.objectives import root_mean_square
from softgrasp.calibration.result import StageResult
from softgrasp.calibration.search import Search
from softgrasp.calibration.springs_behind import with_springs_behind
from softgrasp.calibration.stages import Stage
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

EDGE = 1e-4
"""A parameter is on a bound where it is nearer, over the width between them."""


def assessed(
    search: Search,
    position: Array,
    checked: Stage | None,
    problem: CalibrationProblem | None = None,
    stiffness: Array | None = None,
    springs: tuple[StageResult, VirtualExperiments] | None = None,
) -> StageResult:
    """The result of a stage.

    Args:
        search: That has come to its end.
        position: The parameters found, (p,).
        checked: The same stage with the measurements held out; None where there are none.
        problem: Of a finger.
        stiffness: Of its springs with which the stage was done, joint by joint [N·m/rad], (n,).
        springs: The stage that has found them, whose errors then add to those of this one.

    Raises:
        DescriptionError: Nothing can be simulated there.
    """
    stage = search.stage
    block, timed = stage.block, stage.timed
    simulated = search.values(position[None])[0]
    if not np.isfinite(simulated).all():
        raise DescriptionError(
            f"{stage.name}: expected parameters that can be simulated, found none on the way from "
            "the middle of the bounds; narrow the bounds"
        )
    slopes = np.nan_to_num(jacobian(search, position, simulated))[timed]
    scale = scale_of(position, block.upper, block.lower, block.relative)
    left = simulated - stage.measured
    near = EDGE * (block.upper - block.lower)
    edge = (position - block.lower < near) | (block.upper - position < near)
    sure = uncertainty(slopes, scale, left[timed], block.names)
    sentence = ""
    if problem is not None and stiffness is not None:
        sentence = _sum_sentence(stage, slopes / scale, position, problem, stiffness)
    if problem is not None and springs is not None:
        sure = with_springs_behind(sure, slopes, stage, position, springs[0], problem, springs[1])
    held = np.zeros(0) if checked is None else checked.simulate(position[None])[0]
    held_measured = np.zeros(0) if checked is None else checked.measured
    return StageResult(
        name=stage.name,
        names=block.names,
        units=block.units
        or tuple(block.unit if is_relative else "" for is_relative in block.relative),
        values=position,
        lower=block.lower,
        upper=block.upper,
        on_bound=tuple(name for name, on in zip(block.names, edge, strict=True) if on),
        uncertainty=sure,
        sum_sentence=sentence,
        residual=root_mean_square(left[timed]),
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
        else root_mean_square((held - held_measured)[checked.timed]),
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
    if not pressures.any():
        return ""
    weights = pressures @ slopes / np.square(pressures).sum()
    listed = " ".join(f"{weight:.2f}" for weight in weights)
    return (
        f"only the sum Σ w·alpha = {weights @ gains:.4g} N/Pa is determined by tip forces, "
        f"w = ({listed})/m for {names[0]} … {names[-1]}"
    )
