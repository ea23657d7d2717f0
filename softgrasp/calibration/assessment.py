"""Assess the fit of a calibration stage: residuals, uncertainty and warnings.

``assess`` makes the result of a stage at its optimum. The covariance there is σ²(JᵀJ)⁻¹, with σ²
estimated from the residuals; it assumes errors that are independent and of equal variance. The
singular value decomposition of J separates combinations of parameters that the measurements
determine from those that they do not. To first order a spring error dθ changes the simulation of
dampers and torques by G·dθ, and their fit responds by −J⁺·G·dθ. A joint estimate replaces all of
these by its samples. ``remarks`` collects the warnings for the user.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from softgrasp.calibration.objectives import block_of, root_mean_square
from softgrasp.calibration.optimizers import NUDGE, WIDE, jacobian
from softgrasp.calibration.posterior import Posterior
from softgrasp.calibration.result import (
    HUGE,
    KNOWN,
    Combination,
    StageResult,
    Uncertainty,
)
from softgrasp.calibration.stages import Search, Stage, VirtualExperiments, stage_of
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_dynamics import first_mode

EDGE = 1e-4
"""Distance from a bound, over the width of the bounds, at which a parameter counts as on it [–]."""
SPREAD = 1.0 / math.sqrt(12.0)
"""Standard deviation of a uniform distribution between two bounds, over their distance [–]."""
CONVERGED = 0.01
"""Share of squared residuals that a Gauss–Newton step may remove at an optimum [–]."""
WIDEST = 1e3
"""Largest factor between a parameter and an end of its interval; beyond, it has none [–]."""
SMALL = 0.25
"""Weights below this fraction of the largest are omitted in sentences [–]."""
ROUNDING = 1e-9
"""Singular values below this fraction of the largest are taken as zero [–]."""
DETERMINING: dict[str, str] = {
    "springs": "photographs that show these joints, under heavier weights,",
    "dampers": "tracked tips (release_objective: trace), or damping_model: uniform,",
    "torques": "angles of the free finger under pressure (bends), or gain_model: uniform,",
    "arm": "motions that bend every section, with loads,",
}
"""What would determine parameters of a stage without an interval."""
WEAK = 1e-6
"""Directions whose effect is below this fraction of the largest are left out [–]."""


@dataclass(frozen=True)
class OfFinger:
    """Inputs of the assessment of a stage of a finger, other than the stage.

    Args:
        problem: Calibration problem.
        experiments: Virtual experiments of the finger.
        stiffness: Stiffness with which the stage was fitted, joint by joint [N·m/rad], (n,).
        springs: Result of the springs stage; None before it, and without it.
        joint: Joint estimate and the part of its parameters that are those of the stage; None
            where the stage was fitted alone.
    """

    problem: CalibrationProblem
    experiments: VirtualExperiments
    stiffness: Array
    springs: StageResult | None
    joint: tuple[Posterior, slice] | None


def assess(
    search: Search, position: Array, checked: Stage | None, finger: OfFinger | None = None
) -> StageResult:
    """Compute residuals, uncertainty and warnings of a calibration stage at its optimum.

    Args:
        search: Finished search.
        position: Optimal parameters, (p,).
        checked: The same stage with the held-out measurements; None where there are none.
        finger: Finger whose stage it is; None for a problem that an extension adds.

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
    left = (simulated - stage.measured)[timed]
    near = EDGE * (block.upper - block.lower)
    edge = (position - block.lower < near) | (block.upper - position < near)
    sure, intervals = _uncertainty(stage, position, slopes, left, finger)
    bounded = finger is None or finger.joint is None  # the joint estimate has no bounds
    if checked is None:  # nothing is held out
        nothing = stage.reread(np.zeros(0), lambda p: np.zeros((len(p), 0)))
        checked = replace(nothing, labels=())
    held = checked.simulate(position[None])[0]
    return StageResult(
        name=stage.name,
        names=block.names,
        units=block.units or tuple(block.unit * relative for relative in block.relative),
        values=position,
        lower=block.lower,
        upper=block.upper,
        on_bound=tuple(np.array(block.names)[edge & bounded].tolist()),
        uncertainty=sure,
        sum_sentence=_sum_sentence(stage, slopes, position, finger) if finger else "",
        residual=root_mean_square(left),
        residual_unit=stage.unit,
        fitness=float(stage.fitness(simulated[None])[0]),
        labels=stage.labels,
        measured=stage.measured,
        simulated=simulated,
        held_out_labels=checked.labels,
        held_out_measured=checked.measured,
        held_out_simulated=held,
        held_out_residual=root_mean_square((held - checked.measured)[checked.timed]),
        history=tuple(search.history),
        evaluations=search.evaluations,
        intervals=intervals,
        removable=_removable(slopes, left, edge) if stage.smooth else 0.0,
    )


def _removable(slopes: Array, left: Array, edge: NDArray[np.bool_]) -> float:
    """Return the share of squared residuals that one Gauss–Newton step would remove [–]."""
    free = slopes[:, ~edge]
    total = float(left @ left)
    if not free.size or total <= 0.0:
        return 0.0
    step = np.linalg.lstsq(free, left, rcond=WEAK)[0]
    return float(np.square(free @ step).sum()) / total


def _sum_sentence(stage: Stage, slopes: Array, position: Array, finger: OfFinger) -> str:
    """Describe the combination of parameters that a stage determines; empty for springs."""
    problem, names = finger.problem, stage.block.names
    if stage.name == "dampers":
        mode, joints = first_mode(problem.finger, finger.stiffness), stage.block.of_joints(position)
        damping = joints + problem.damping_timestep * finger.stiffness
        listed = " ".join(f"{weight:.3f}" for weight in mode.weights)
        return (
            "releases say little more than the damping of the first mode, Σ w·c = "
            f"{mode.weights @ joints:.4g} N·m·s/rad with w = ({listed}); it is at "
            f"{mode.frequency:.4g} Hz, with {100 * mode.ratio(damping):.3g} % of critical damping"
        )
    pressures = np.array([force.pressure for force in problem.forces if not force.held_out])
    forces = stage.name == "torques" and stage.unit == "N" and pressures.any()
    if not forces or len(names) == 1 or stage.block.stiffens:
        return ""
    # F = P·Σ w·alpha for small changes of shape
    weights = pressures @ (slopes / stage.block.scale(position)) / np.square(pressures).sum()
    listed = " ".join(f"{weight:.2f}" for weight in weights)
    return (
        f"only the sum Σ w·alpha = {weights @ position:.4g} N/Pa is determined by tip forces, "
        f"w = ({listed})/m for {names[0]} … {names[-1]}"
    )


# Uncertainty


def _uncertainty(
    stage: Stage, position: Array, slopes: Array, left: Array, finger: OfFinger | None
) -> tuple[Uncertainty, Array]:
    """Return the uncertainty of the parameters of a stage, and their 95 % intervals, (p, 2).

    Intervals are those of Student's t, of logarithms where errors are relative; infinite, or from
    0, where an error is infinite or spans more than a factor of ``WIDEST``. Those of a joint
    estimate are quantiles of its samples.
    """
    block = stage.block
    sure = uncertainty(slopes, block.scale(position), left, block.names)
    if finger is not None and finger.joint is not None:
        return _of_joint_estimate(sure, *finger.joint, block.relative)
    if finger is not None and finger.springs is not None:
        sure = _with_springs(sure, slopes, stage, position, finger, finger.springs)
    wide = float(stats.t.ppf(0.975, max(len(left) - len(position), 1)))
    logarithmic = np.array(block.relative) & (position > 0.0)
    span = np.where(logarithmic, wide * sure.relative, 0.0)
    factor = np.exp(np.where(span > math.log(WIDEST), np.inf, span))
    half = np.where(logarithmic, 0.0, wide * sure.errors)
    return sure, np.stack([position / factor - half, position * factor + half], axis=1)


def uncertainty(
    slopes: Array, scale: Array, residual: Array, names: tuple[str, ...]
) -> Uncertainty:
    """Estimate the uncertainty from the Jacobian at the optimum.

    Directions without effect have infinite errors, and so have all where the noise cannot be
    estimated.

    Args:
        slopes: Change of measured values over relative changes of parameters, (m, p).
        scale: Scale of each parameter, (p,).
        residual: Residuals, (m,).
        names: Names of the parameters.
    """
    count, parameter_count = slopes.shape
    _, singular, directions = np.linalg.svd(slopes, full_matrices=True)
    singular = np.concatenate([singular, np.zeros(parameter_count - len(singular))])
    rank = int((singular > ROUNDING * max(singular.max(initial=0.0), 1e-300)).sum())
    freedom = count - rank
    noise = float(np.sqrt(np.square(residual).sum() / freedom)) if freedom > 0 else np.nan
    # correlations do not depend on the noise
    inverse_singular = 1.0 / singular[:rank]
    covariance = (directions[:rank].T * np.square(inverse_singular)) @ directions[:rank]
    hidden = np.square(directions[rank:]).sum(axis=0) > 1e-6
    relative = np.where(hidden | np.isnan(noise), np.inf, noise * np.sqrt(np.diag(covariance)))
    spread = np.concatenate([noise * inverse_singular, np.full(parameter_count - rank, np.inf)])
    deviation = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / np.outer(deviation, deviation)
    combinations = _combinations(directions, spread, names)
    return Uncertainty(relative * scale, relative, correlation, *combinations, noise)


def _of_joint_estimate(
    sure: Uncertainty, joint: Posterior, part: slice, is_relative: Sequence[bool]
) -> tuple[Uncertainty, Array]:
    """Return uncertainty, with the noise of ``sure``, and intervals of a part of an estimate."""
    errors = joint.errors[part]
    relative = errors / np.where(is_relative, np.abs(joint.values[part]), 1.0)
    correlation = joint.correlation[part, part]
    squares, directions = np.linalg.eigh(correlation * np.outer(relative, relative))
    spread = np.sqrt(np.maximum(squares, 0.0))
    combinations = _combinations(directions.T, spread, joint.names[part])
    intervals = np.stack([joint.low[part], joint.high[part]], axis=1)
    return Uncertainty(errors, relative, correlation, *combinations, sure.noise), intervals


def _with_springs(
    sure: Uncertainty, slopes: Array, stage: Stage, position: Array, finger: OfFinger,
    springs: StageResult,
) -> Uncertainty:  # fmt: skip
    """Add the effect of stiffness errors to the parameter errors of a later calibration stage.

    No spring error is taken larger than its bounds permit.
    """
    block, count = block_of(finger.problem, "stiffness"), len(springs.values)
    nudge = (NUDGE if stage.smooth else WIDE) * block.scale(springs.values)
    steps = np.diag(nudge)
    points = block.of_joints(np.concatenate([springs.values + steps, springs.values - steps]))
    moved = stage_of(stage.name, finger.problem, finger.experiments, points)
    assert moved is not None  # the stage itself is there
    values = moved.simulate(np.tile(position, (2 * count, 1)))[:, stage.timed]
    by_springs = np.nan_to_num((values[:count] - values[count:]) / (2.0 * nudge)[:, None]).T
    answers = -np.linalg.pinv(slopes, rcond=WEAK) @ by_springs
    deviation = np.minimum(springs.uncertainty.errors, SPREAD * (springs.upper - springs.lower))
    correlation = springs.uncertainty.correlation.copy()
    np.fill_diagonal(correlation, 1.0)  # also for springs without any effect on the measurements
    covariance = correlation * np.outer(deviation, deviation)
    added = np.einsum("ij,jk,ik->i", answers, covariance, answers)
    relative = np.sqrt(np.square(sure.relative) + np.maximum(added, 0.0))
    return replace(sure, errors=relative * stage.block.scale(position), relative=relative)


def _combinations(
    directions: Iterable[Array], errors: Array, names: tuple[str, ...]
) -> tuple[tuple[Combination, ...], tuple[Combination, ...]]:
    """Return the determined and the other combinations along directions, (p,) each."""
    rows = zip(directions, errors.tolist(), strict=True)
    every = [_combination(row, error, names) for row, error in rows]
    known = tuple(finding for finding in every if finding.error <= KNOWN)
    return known, tuple(finding for finding in every if not finding.error <= KNOWN)


def _combination(weights: Array, error: float, names: tuple[str, ...]) -> Combination:
    # rounded, so that equal weights keep their order
    largest = int(np.abs(weights).round(6).argmax())
    weights = weights * np.sign(weights[largest])
    shown = np.flatnonzero(np.abs(weights) >= SMALL * abs(weights[largest]))
    shown = shown[np.argsort(-np.abs(weights[shown]).round(6), kind="stable")]
    terms = " ".join(
        f"{'−' if weights[i] < 0.0 else '+'} {abs(weights[i]):.2f}·d{names[i]}/{names[i]}"
        for i in shown
    ).removeprefix("+ ")
    if len(shown) == 1:
        terms = names[largest]
    if np.isnan(error):
        known = "fitted exactly; no measurement is left to estimate its error"
    elif not np.isfinite(error):
        known = "not determined at all, no measurement changes with it"
    elif error > HUGE:
        known = "not determined, its standard error is more than ten times itself"
    elif error > KNOWN:
        known = f"not determined, its standard error is {100 * error:.0f} %"
    else:
        known = f"determined to {100 * error:.2g} %"
    return Combination(tuple(weights.tolist()), float(error), f"{terms}: {known}")


# Warnings


def remarks(
    problem: CalibrationProblem, stages: Sequence[StageResult], method: str
) -> tuple[str, ...]:
    """Return the warnings of a calibration, as sentences."""
    messages = []
    for stage in stages:
        messages += [*_remarks_on_method(problem, stage, method), *remarks_on_fit(stage)]
    used_forces = any(not force.held_out for force in problem.forces)
    if problem.bends and used_forces and any(stage.name == "torques" for stage in stages):
        messages.append("torques: fitted to tip forces only; free bending was not used")
    unused = sum(not release.times for release in problem.releases)
    if problem.release_objective == "trace" and unused:
        messages.append(f"dampers: {unused} releases without a track were not used")
    measured: dict[str, Sequence[Any]] = {"springs": problem.hung, "dampers": problem.releases,
                "torques": (*problem.forces, *problem.bends)}  # fmt: skip
    messages += [
        f"{name}: all measurements are held out, so the finger keeps its values"
        for name, rows in measured.items()
        if rows and all(row.held_out for row in rows)
    ]
    return tuple(messages)


def _remarks_on_method(
    problem: CalibrationProblem, stage: StageResult, method: str
) -> Iterator[str]:
    """Yield warnings on what a method does with the measurements of a stage."""
    counts = stage.name == "dampers" and problem.release_objective == "settling"
    if counts and method in ("least-squares", "map") and len(stage.names) > 1:
        yield (
            "dampers: counts have no gradients, so one common damping was fitted; method pso fits "
            "each"
        )
    other = stage.residual_unit == "N" and problem.force_objective != "squares"
    if other and method == "least-squares":
        yield (
            "torques: least squares minimise the sum of squares, not the objective "
            f"'{problem.force_objective}'"
        )
    if method == "pso" and stage.removable > CONVERGED:
        yield (
            f"{stage.name}: the swarm has not converged; least squares from here would lower the "
            f"sum of squares by about {100 * stage.removable:.2g} %, and standard errors are those "
            "of an optimum; method pso+least-squares refines it"
        )


def remarks_on_fit(stage: StageResult) -> list[str]:
    """Return warnings on the fit of a stage: bounds, undetermined parameters, noise."""
    messages = []
    if stage.on_bound:
        are, them = ("are", "them") if len(stage.on_bound) > 1 else ("is", "it")
        messages.append(
            f"{', '.join(stage.on_bound)} {are} on a bound; the best fit is beyond it, or the "
            f"measurements do not determine {them}"
        )
    counts = f"{len(stage.names)} parameters from {len(stage.measured)} measurements"
    if np.isnan(stage.uncertainty.noise):
        messages.append(f"{counts}; none is left to estimate their errors")
    wide = [
        parameter.name
        for parameter in stage.parameters
        if not np.isfinite(parameter.interval_95).all()
    ]
    if wide:
        are, them = ("are", "them") if len(wide) > 1 else ("is", "it")
        messages.append(
            f"{', '.join(wide)} {are} not determined by these measurements; "
            f"{DETERMINING[stage.name]} would determine {them}"
        )
    hidden = [item for item in stage.uncertainty.undetermined if np.isinf(item.error)]
    if hidden:
        terms = "; ".join(item.sentence.partition(":")[0] for item in hidden)
        messages.append(f"{counts}; not determined at all: {terms}")
    if stage.sum_sentence:
        messages.append(stage.sum_sentence)
    return [f"{stage.name}: {message}" for message in messages]
