"""Calibrate a soft finger: fit stiffness, damping and pressure gains to measurements.

``calibrate`` fits stage by stage, each with the results of the previous stages: springs,
dampers, torques (Hadi et al. 2025). The optimiser is a particle swarm, least squares, or both.
A problem that an extension adds, such as that of a hydraulic arm, has one stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack, overload

import numpy as np

from softgrasp.calibration.assessment import OfFinger, assess, remarks
from softgrasp.calibration.credibility import Credibility, assess_credibility
from softgrasp.calibration.measurement_checks import without_copies
from softgrasp.calibration.objectives import finger_values
from softgrasp.calibration.optimizers import Swarm, least_squares_search, swarm_search
from softgrasp.calibration.posterior import (
    Advice,
    Posterior,
    joint_posterior,
    next_measurements,
    without_creep,
)
from softgrasp.calibration.result import (
    CalibrationResult,
    CalibrationStatus,
    ExtensionResult,
    StageResult,
    apply_stages,
)
from softgrasp.calibration.stages import (
    STAGES,
    Progress,
    Search,
    Stage,
    VirtualExperiments,
    stage_of,
)
from softgrasp.description.calibration import CalibrationProblem, ExtensionProblem
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.extensions import CALIBRATIONS
from softgrasp.mechanics.transforms import Array

METHODS = ("map", "least-squares", "pso", "pso+least-squares")


class Options(TypedDict, total=False):
    """Keyword options of ``calibrate``."""

    stages: Sequence[str] | None
    swarm: Swarm | None
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
        progress: Progress callback.

    Raises:
        DescriptionError: No such method or stage, no measurements for any stage, or options for
            fingers with an arm.
    """
    _check(method, stages, seed)
    swarm, requested = swarm or Swarm(), None if stages is None else tuple(stages)
    if isinstance(problem, ExtensionProblem):
        if requested is not None:
            message = f"expected no value for an {problem.kind}, which has one stage"
            raise DescriptionError(message, field="stages")
        run = CALIBRATIONS.load(problem.kind, "run")
        result: ExtensionResult = run(problem, method, seed, swarm, progress)
        return result
    distinct, copies = without_copies(problem)
    if distinct.force_objective == "auto":
        squares = method in ("map", "least-squares")
        distinct = distinct.replace(force_objective="squares" if squares else "absolute")
    experiments = VirtualExperiments(distinct)
    fit = _Fit(distinct, experiments, method, seed, swarm, requested, progress)
    joint, advice = fit.joint_estimate()
    if joint is not None:
        distinct = without_creep(distinct, joint.creep[0])
        fit = replace(fit, problem=distinct)
    done = fit.stages(joint)
    fit.experiments.stiffening = apply_stages(distinct, done).stiffness_pressure
    if progress is not None:
        progress("assessing the fit", 1.0)
    credibility = fit.credibility(done, copies)
    return CalibrationResult(
        problem=distinct,
        method=method,
        seed=seed,
        finger=apply_stages(distinct, done),
        stages=tuple(done),
        warnings=remarks(distinct, done, method) + (joint.warnings if joint else ()),
        status=CalibrationStatus.of(done, credibility),
        credibility=credibility,
        posterior=joint,
        advice=advice,
    )


def _check(method: str, stages: Sequence[str] | None, seed: int) -> None:
    for value, known in ((method, METHODS), *((stage, STAGES) for stage in stages or ())):
        if value not in known:
            message = f"expected one of {', '.join(known)}, found '{value}'"
            raise DescriptionError(f"{message}; {did_you_mean(value, known)}")
    if not 0 <= seed < 2**32:
        raise DescriptionError(f"expected a number from 0 to 2³² − 1, found {seed}", field="seed")


@dataclass(frozen=True)
class _Fit:
    """What a finger is fitted to, and how; for the fields see ``calibrate``."""

    problem: CalibrationProblem
    experiments: VirtualExperiments
    method: str
    seed: int
    swarm: Swarm
    requested: tuple[str, ...] | None
    progress: Progress | None

    def joint_estimate(self) -> tuple[Posterior | None, tuple[Advice, ...]]:
        """Return the joint estimate and what to measure next, where there are angles to fit."""
        problem = self.problem
        requested = STAGES if self.requested is None else self.requested
        fitted = any(not reading.held_out for reading in problem.hung)
        if self.method != "map" or not fitted or "springs" not in requested:
            return None, ()
        if problem.static_objective == "heights":
            raise DescriptionError(
                "expected angles with method map, found heights; choose least-squares",
                field="static_objective",
            )
        if "torques" not in requested:
            problem = problem.replace(forces=(), bends=())
        joint = joint_posterior(problem, self.experiments, seed=self.seed)
        return joint, next_measurements(problem, self.experiments, joint)

    def stages(self, joint: Posterior | None) -> list[StageResult]:
        """Fit one stage after the other; parameters of a joint estimate are taken from it."""
        done: list[StageResult] = []
        for name in STAGES:
            if self.requested is not None and name not in self.requested:
                continue
            stiffness = finger_values(apply_stages(self.problem, done), "stiffness")
            stage = stage_of(name, self.problem, self.experiments, stiffness)
            if stage is not None:
                done.append(self._fitted(stage, stiffness, done, joint))
            elif self.requested is not None:
                raise DescriptionError(f"{name}: expected measurements, found none to fit")
        if not done:
            raise DescriptionError("expected measurements for at least one stage, found none")
        return done

    def _fitted(
        self, stage: Stage, stiffness: Array, done: Sequence[StageResult], joint: Posterior | None
    ) -> StageResult:
        """Fit a stage, with the joint stiffness (n,) of those that are done."""
        names, search = stage.block.names, Search(stage, self.progress)
        known = None
        if joint is not None and names[0] in joint.names:
            first = joint.names.index(names[0])
            known = joint, slice(first, first + len(names))
            position = joint.values[known[1]]
            search.fitness(position[None], fraction=1.0)
        else:
            position = optimum_of(search, self.method, self.swarm, self.seed)
        checked = stage_of(stage.name, self.problem, self.experiments, stiffness, held_out=True)
        springs = next((item for item in done if item.name == "springs"), None)
        finger = OfFinger(self.problem, self.experiments, stiffness, springs, known)
        try:
            return assess(search, position, checked, finger)
        except DescriptionError as error:
            verdict = self.credibility(done, ())
            if verdict.credible:
                raise
            raise DescriptionError(f"{verdict.sentence}; {error}") from error

    def credibility(
        self, done: Sequence[StageResult], copies: tuple[tuple[str, str], ...]
    ) -> Credibility:
        """Assess the least-squares fit of each stage: systematic errors must show in residuals."""
        problem, experiments = self.problem, self.experiments
        stiffness = finger_values(apply_stages(problem, done), "stiffness")
        fitted = {}
        for item in done:
            stage = stage_of(item.name, problem, experiments, stiffness)
            assert stage is not None  # it was fitted
            start = np.clip(item.values, item.lower, item.upper)
            fitted[item.name] = (
                least_squares_search(Search(stage), start) if stage.smooth else item.values
            )
        return assess_credibility(problem, experiments, fitted, stiffness, copies)


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
