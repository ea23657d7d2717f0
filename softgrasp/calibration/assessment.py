"""Assess the fit of a calibration stage: residuals, uncertainty, model selection and warnings.

``assessed`` makes the result of a stage at its optimum. ``stage_model`` assesses a stiffness
model by Akaike's criterion (AICc) and leave-one-load-out cross-validation.
``propagate_stiffness_uncertainty`` adds the errors of the springs to those of dampers and
torques, to first order: a spring error dθ changes the simulation by G·dθ, and the fit responds
by −J⁺·G·dθ. ``remarks`` collects the warnings for the user.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from softgrasp.calibration.objectives import block_of, root_mean_square
from softgrasp.calibration.optimizers import NUDGE, WIDE, jacobian, least_squares_search, scale_of
from softgrasp.calibration.posterior import Posterior
from softgrasp.calibration.result import StageModel, StageResult
from softgrasp.calibration.stages import (
    Search,
    Stage,
    VirtualExperiments,
    springs,
    stage_of,
)
from softgrasp.calibration.uncertainty import Uncertainty, combinations_of, uncertainty
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_dynamics import first_mode

EDGE = 1e-4
"""Distance from a bound, over the width of the bounds, at which a parameter counts as on it [–]."""
MODELS = ("uniform", "smooth", "per-joint")
"""Stiffness models that are compared, those with fewer parameters first."""
SPREAD = 1.0 / math.sqrt(12.0)
"""Standard deviation of a uniform distribution between two bounds, over their distance [–]."""
CONVERGED = 0.01
"""Share of squared residuals that a Gauss–Newton step may remove at an optimum [–]."""
WIDEST = 1e3
"""Largest factor between a parameter and an end of its interval; beyond, it has none [–]."""
DETERMINING: dict[str, str] = {
    "springs": "photographs that show these joints, under heavier weights,",
    "dampers": "tracked tips (release_objective: trace), or damping_model: uniform,",
    "torques": "angles of the free finger under pressure (bends), or gain_model: uniform,",
    "arm": "motions that bend every section, with loads,",
}
"""What would determine parameters of a stage without an interval."""
WEAK = 1e-6
"""Directions whose effect is below this fraction of the largest are left out [–]."""


def assessed(
    search: Search,
    position: Array,
    checked: Stage | None,
    problem: CalibrationProblem | None = None,
    stiffness: Array | None = None,
    springs: tuple[StageResult, VirtualExperiments] | None = None,
) -> StageResult:
    """Compute residuals, uncertainty and warnings of a calibration stage at its optimum.

    Args:
        search: Finished search.
        position: Optimal parameters, (p,).
        checked: The same stage with the held-out measurements; None where there are none.
        problem: Problem of a finger.
        stiffness: Stiffness with which the stage was fitted, joint by joint [N·m/rad], (n,).
        springs: Result of the springs stage, whose errors are added to those of this stage.

    Raises:
        DescriptionError: The optimum cannot be simulated.
    """
    stage = search.stage
    block, timed = stage.block, stage.timed
    simulated = search.values(position[None])[0]
    if not np.isfinite(simulated).all():
        raise DescriptionError(
            f"{stage.name}: expected parameters that can be simulated, found none from the "
            "middle of the bounds on; narrow the bounds, or compare the units of pressures, "
            "weights and lengths"
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
        sure = propagate_stiffness_uncertainty(
            sure, slopes, stage, position, springs[0], problem, springs[1]
        )
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
        intervals=_intervals(position, sure, block.relative, len(left[timed])),
        removable=_removable(slopes, left[timed], edge) if stage.smooth else 0.0,
    )


def _intervals(position: Array, sure: Uncertainty, relative: tuple[bool, ...], count: int) -> Array:
    """Return 95 % intervals of Student's t, (p, 2), of logarithms where errors are relative.

    Infinite, or from 0, where an error is infinite or spans more than a factor of ``WIDEST``.
    """
    freedom = max(count - len(position), 1)
    wide = float(stats.t.ppf(0.975, freedom))
    logarithmic = np.array(relative) & (position > 0.0)
    span = np.where(logarithmic, wide * sure.relative, 0.0)
    factor = np.exp(np.where(span > math.log(WIDEST), np.inf, span))
    half = np.where(logarithmic, 0.0, wide * sure.errors)
    ends = [position / factor - half, position * factor + half]
    return np.stack(ends, axis=1)


def with_posterior(stage: StageResult, posterior: Posterior, part: slice) -> StageResult:
    """Replace standard errors, correlations and intervals by those of the joint estimate."""
    scale = np.where([bool(unit) for unit in stage.units], np.abs(stage.values), 1.0)
    errors = posterior.errors[part]
    relative, correlation = errors / scale, posterior.correlation[part, part]
    determined, undetermined = combinations_of(
        correlation * np.outer(relative, relative), stage.names
    )
    sure = replace(
        stage.uncertainty,
        errors=errors,
        relative=relative,
        correlation=correlation,
        determined=determined,
        undetermined=undetermined,
    )
    intervals = np.stack([posterior.low[part], posterior.high[part]], axis=1)
    return replace(stage, uncertainty=sure, intervals=intervals, on_bound=())


def _removable(slopes: Array, left: Array, edge: NDArray[np.bool_]) -> float:
    """Return the share of squared residuals that one Gauss–Newton step would remove [–]."""
    free = slopes[:, ~edge]
    total = float(left @ left)
    if not free.size or total <= 0.0:
        return 0.0
    step = np.linalg.lstsq(free, left, rcond=WEAK)[0]
    return float(np.square(free @ step).sum()) / total


def _sum_sentence(
    stage: Stage, slopes: Array, position: Array, problem: CalibrationProblem, stiffness: Array
) -> str:
    """Describe the combination of parameters that a stage determines; empty for springs."""
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
    if stage.name != "torques" or stage.unit != "N" or len(names) == 1 or stage.block.stiffens:
        return ""
    return _force_sentence(slopes, position, problem, names)


def _force_sentence(
    slopes: Array, gains: Array, problem: CalibrationProblem, names: tuple[str, ...]
) -> str:
    """Describe what tip forces determine: F = P·Σ w·alpha for small changes of shape."""
    pressures = np.array([one.pressure for one in problem.forces if not one.held_out])
    if not pressures.any():
        return ""
    weights = pressures @ slopes / np.square(pressures).sum()
    listed = " ".join(f"{weight:.2f}" for weight in weights)
    return (
        f"only the sum Σ w·alpha = {weights @ gains:.4g} N/Pa is determined by tip forces, "
        f"w = ({listed})/m for {names[0]} … {names[-1]}"
    )


# Uncertainty from the springs


def propagate_stiffness_uncertainty(
    sure: Uncertainty,
    slopes: Array,
    stage: Stage,
    position: Array,
    springs: StageResult,
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
) -> Uncertainty:
    """Add the effect of stiffness errors to the parameter errors of a later calibration stage.

    No spring error is taken larger than its bounds permit.

    Args:
        sure: Uncertainty with the springs as fitted.
        slopes: J, change of the measured values over relative changes of the parameters, (m, p).
        stage: Later stage.
        position: Its parameters, (p,).
        springs: Result of the springs stage.
        problem: Calibration problem.
        experiments: Virtual experiments of its finger.
    """
    answers = -np.linalg.pinv(slopes, rcond=WEAK) @ _shifts(
        stage, position, springs, problem, experiments
    )
    width = SPREAD * (springs.upper - springs.lower)
    deviation = np.minimum(springs.uncertainty.errors, width)
    correlation = springs.uncertainty.correlation.copy()
    np.fill_diagonal(correlation, 1.0)  # also for springs without any effect on the measurements
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
    """Return G, the derivatives of measured values by the springs' parameters, (m, s)."""
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


# Model selection


def stage_model(
    problem: CalibrationProblem, experiments: VirtualExperiments, model: str
) -> StageModel:
    """Fit a stiffness model by least squares, and assess it."""
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
    return least_squares_search(Search(stage), stage.block.middle)


def _criterion(left: Array, parameters: int) -> float:
    """Compute the corrected Akaike criterion (AICc); the noise counts as a parameter."""
    count, free = len(left), parameters + 1
    if count <= free + 1:
        return math.inf
    likelihood = count * math.log(max(float(np.square(left).mean()), 1e-300))
    return likelihood + 2.0 * free * count / (count - free - 1)


def _cross_validated(
    problem: CalibrationProblem, experiments: VirtualExperiments, model: str
) -> float:
    """Compute the leave-one-load-out root mean square error; NaN for a single load."""
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


# Warnings


def remarks(
    problem: CalibrationProblem, stages: Sequence[StageResult], method: str
) -> tuple[str, ...]:
    """Return the warnings of a calibration, as sentences."""
    messages = [text for stage in stages for text in _of_stage(problem, stage, method)]
    done = {stage.name for stage in stages}
    if "torques" in done and problem.bends and any(not one.held_out for one in problem.forces):
        messages.append("torques: fitted to tip forces only; free bending was not used")
    if problem.release_objective == "trace":
        unused = sum(not one.times for one in problem.releases)
        if unused:
            messages.append(f"dampers: {unused} releases without a track were not used")
    kept = {
        "springs": [one.held_out for one in problem.hung],
        "dampers": [one.held_out for one in problem.releases],
        "torques": [one.held_out for one in problem.forces]
        + [one.held_out for one in problem.bends],
    }
    messages += [
        f"{name}: all measurements are held out, so the finger keeps its values"
        for name, marks in kept.items()
        if marks and all(marks)
    ]
    return tuple(messages)


def _of_stage(problem: CalibrationProblem, stage: StageResult, method: str) -> list[str]:
    messages = []
    if (
        stage.name == "dampers"
        and method in ("least-squares", "map")
        and problem.release_objective == "settling"
        and len(stage.names) > 1
    ):
        messages.append(
            "dampers: counts have no gradients, so one common damping was fitted; method pso fits "
            "each"
        )
    other = stage.residual_unit == "N" and problem.force_objective != "squares"
    if other and method == "least-squares":
        messages.append(
            "torques: least squares minimise the sum of squares, not the objective "
            f"'{problem.force_objective}'"
        )
    if method == "pso" and stage.removable > CONVERGED:
        messages.append(
            f"{stage.name}: the swarm has not converged; least squares from here would lower the "
            f"sum of squares by about {100 * stage.removable:.2g} %, and standard errors are those "
            "of an optimum; method pso+least-squares refines it"
        )
    return messages + remarks_on_fit(stage)


def remarks_on_fit(stage: StageResult) -> list[str]:
    """Return warnings on the fit of a stage: bounds, undetermined parameters, noise."""
    messages = []
    if stage.on_bound:
        names, several = ", ".join(stage.on_bound), len(stage.on_bound) > 1
        messages.append(
            f"{stage.name}: {names} {'are' if several else 'is'} on a bound; the best fit "
            f"is beyond it, or the measurements do not determine {'them' if several else 'it'}"
        )
    if np.isnan(stage.uncertainty.noise):
        messages.append(
            f"{stage.name}: {len(stage.names)} parameters from {len(stage.measured)} measurements; "
            "none is left to estimate their errors"
        )
    ends = np.zeros(len(stage.names)) if stage.intervals is None else stage.intervals.sum(axis=1)
    wide = [name for name, end in zip(stage.names, ends.tolist(), strict=True)
            if not math.isfinite(end)]  # fmt: skip
    if wide:
        several = len(wide) > 1
        messages.append(
            f"{stage.name}: {', '.join(wide)} {'are' if several else 'is'} not determined by these "
            f"measurements; {DETERMINING[stage.name]} would determine {'them' if several else 'it'}"
        )
    hidden = [one for one in stage.uncertainty.undetermined if np.isinf(one.error)]
    if hidden:
        terms = "; ".join(one.sentence.partition(":")[0] for one in hidden)
        messages.append(
            f"{stage.name}: {len(stage.names)} parameters from {len(stage.measured)} measurements; "
            f"not determined at all: {terms}"
        )
    if stage.sum_sentence:
        messages.append(f"{stage.name}: {stage.sum_sentence}")
    return messages
