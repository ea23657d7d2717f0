"""What a calibration has found, and how it got there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from softgrasp.calibration.certainty import Combination, Uncertainty
from softgrasp.calibration.search import Step
from softgrasp.calibration.stages import StageName
from softgrasp.description.calibration import CalibrationProblem, ExtensionProblem
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array


class CalibrationStatus(Enum):
    """How it ended, as a sentence."""

    DONE = "parameters found"
    AT_BOUNDS = "parameters found, some of them on their bounds"


@dataclass(frozen=True)
class StageModel:
    """A model of the stiffness among several.

    Args:
        model: ``per-joint``, ``smooth`` or ``uniform``.
        parameters: How many.
        residual: Root mean square of what is left.
        aic: Akaike's criterion, corrected for few measurements; smaller is better; infinite where
            there are too few.
        cross_validation: Root mean square error of loads that were left out one after the other.
        held_out: And of those kept for validation; NaN where there are none.
    """

    model: str
    parameters: int
    residual: float
    aic: float
    cross_validation: float
    held_out: float


@dataclass(frozen=True)
class StageResult:
    """One stage.

    Args:
        name: ``springs``, ``dampers`` or ``torques``, or ``arm``.
        names: Of the parameters.
        units: Of each; empty for a number whose errors are not told as parts of it.
        values: (p,).
        lower: Bounds, (p,).
        upper: Bounds, (p,).
        on_bound: Names of parameters on a bound.
        certainty: How sure they are.
        sum_sentence: What forces say of gains of pressure; empty for other stages.
        residual: Root mean square of what is left, in ``residual_unit``; no counts.
        residual_unit: rad, m, s or N.
        fitness: The objective there.
        labels: What each measurement is.
        measured: (m,).
        simulated: With the parameters, (m,).
        held_out_labels: Of measurements kept for validation.
        held_out_measured: (h,).
        held_out_simulated: (h,).
        held_out_residual: As ``residual``; NaN where there are none.
        history: Steps of the optimiser.
        evaluations: Parameter sets that were simulated.
        models: Of the stiffness, compared; empty for other stages.
    """

    name: StageName
    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    lower: Array
    upper: Array
    on_bound: tuple[str, ...]
    uncertainty: Uncertainty
    sum_sentence: str
    residual: float
    residual_unit: str
    fitness: float
    labels: tuple[str, ...]
    measured: Array
    simulated: Array
    held_out_labels: tuple[str, ...]
    held_out_measured: Array
    held_out_simulated: Array
    held_out_residual: float
    history: tuple[Step, ...]
    evaluations: int
    models: tuple[StageModel, ...]


@dataclass(frozen=True, kw_only=True)
class EstimatedParameters:
    """What was found, of a finger or of an arm.

    Args:
        method: How it was looked for.
        seed: Of everything random.
        stages: In their order.
        warnings: What a user must know, as sentences.
        status: How it ended.
    """

    method: str
    seed: int
    stages: tuple[StageResult, ...]
    warnings: tuple[str, ...]
    status: CalibrationStatus

    def stage(self, name: str) -> StageResult:
        """One stage by its name.

        Raises:
            KeyError: It was not done.
        """
        named: dict[str, StageResult] = {one.name: one for one in self.stages}
        return named[name]

    @property
    def parameters(self) -> dict[str, float]:
        """What was found, by name; SI."""
        return {n: float(v) for s in self.stages for n, v in zip(s.names, s.values, strict=True)}

    @property
    def standard_errors(self) -> dict[str, float]:
        """Of each parameter; infinite where the measurements say nothing."""
        pairs = [
            (name, float(error))
            for stage in self.stages
            for name, error in zip(stage.names, stage.uncertainty.errors, strict=True)
        ]
        return dict(pairs)

    @property
    def determined(self) -> tuple[Combination, ...]:
        """Combinations of parameters that the measurements fix."""
        return tuple(c for stage in self.stages for c in stage.uncertainty.determined)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Names of parameters with a standard error above a third of them, or on a bound."""
        from softgrasp.calibration.certainty import KNOWN

        return tuple(
            name
            for stage in self.stages
            for name, part in zip(stage.names, stage.uncertainty.relative, strict=True)
            if not part <= KNOWN or name in stage.on_bound
        )

    @property
    def residual(self) -> dict[str, float]:
        """Root mean square of what is left, by stage, in rad, m, s or N."""
        return {stage.name: stage.residual for stage in self.stages}

    @property
    def history(self) -> dict[str, tuple[Step, ...]]:
        """Steps of the optimiser, by stage."""
        return {stage.name: stage.history for stage in self.stages}

    @property
    def evaluations(self) -> int:
        """Parameter sets that were simulated."""
        return sum(stage.evaluations for stage in self.stages)


@dataclass(frozen=True, kw_only=True)
class CalibrationResult(EstimatedParameters):
    """What was found of a finger; ``EstimatedParameters`` has the rest.

    Args:
        problem: What was measured.
        together: Whether all stages were fitted at once in the end.
        finger: With the parameters found.
    """

    problem: CalibrationProblem
    together: bool
    finger: SoftFinger


@dataclass(frozen=True, kw_only=True)
class ExtensionResult(EstimatedParameters, ABC):
    """Result of a calibration problem that an extension adds.

    Args:
        problem: The problem.
    """

    problem: ExtensionProblem

    @abstractmethod
    def save_calibrated(self, directory: Path) -> Path:
        """Write the description with the calibrated parameters and return its path.

        Raises:
            ResultError: The directory cannot be written.
        """
