"""Results of a calibration, and their files ``calibration.json`` and ``finger.yaml``.

The same calibration gives the same bytes: nothing in the files depends on the clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from softgrasp._version import __version__
from softgrasp.calibration.credibility import Credibility
from softgrasp.calibration.objectives import block_of, with_values
from softgrasp.calibration.posterior import Advice, Posterior
from softgrasp.calibration.stages import KIND_OF, StageName, Step
from softgrasp.continuum.settling import from_webots
from softgrasp.description.calibration import CalibrationProblem, ExtensionProblem
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError, ResultError
from softgrasp.extensions import CALIBRATIONS
from softgrasp.io.files import json_text, plain_data, remove_written, write_text
from softgrasp.io.finger_ensemble import ensemble_path, save_finger_ensemble
from softgrasp.io.hand import UNSURE, save_finger
from softgrasp.io.input_limits import read_arrays, read_json, result_loader
from softgrasp.io.result import from_arrays, to_arrays, write_arrays
from softgrasp.mechanics.transforms import Array

DOCUMENT, ARRAYS, FINGER = "calibration.json", "calibration.npz", "finger.yaml"
ENSEMBLE = ensemble_path(FINGER).name
ENSEMBLE_SIZE = 200
FIGURES = (
    *("shapes", "angles", "releases", "settling", "forces"),
    *("parameters", "correlation", "fitness"),
)
WRITTEN = (
    *(DOCUMENT, ARRAYS, FINGER, ENSEMBLE, "report.html", "photo_*_*g.png", "film_*_*g.png"),
    *(f"{name}{suffix}" for name in FIGURES for suffix in (".png", ".csv")),
)
"""Files that a calibration writes, besides those of an extension."""
SCHEMA_VERSION = 4
KNOWN = 1.0 / 3.0
"""Largest relative standard error of a determined parameter or combination [–]."""
HUGE = 10.0
"""Relative errors above this are reported as not determined, without a number [–]."""


class CalibrationStatus(Enum):
    """How a calibration ended, as a sentence."""

    DONE = "parameters found"
    AT_BOUNDS = "parameters found, some of them on their bounds"
    NOT_CREDIBLE = "the fit is not credible"

    @classmethod
    def of(cls, stages: Sequence[StageResult], credibility: Credibility) -> CalibrationStatus:
        """Return how a calibration with these stages and this verdict ended."""
        if not credibility.credible:
            return cls.NOT_CREDIBLE
        return cls.AT_BOUNDS if any(stage.on_bound for stage in stages) else cls.DONE


@dataclass(frozen=True)
class Combination:
    """A direction in which all parameters change together, by relative amounts.

    Args:
        weights: Weight of each parameter; the sum of their squares is one, (p,).
        error: Relative standard error along it; infinite where no measurement changes, NaN where
            the noise cannot be estimated.
        sentence: Description in words.
    """

    weights: tuple[float, ...]
    error: float
    sentence: str


@dataclass(frozen=True)
class Uncertainty:
    """Uncertainty of the parameters of a stage.

    Args:
        errors: Standard errors, (p,); infinite where undetermined.
        relative: Errors over the parameters' scales, (p,).
        correlation: Correlation matrix, (p, p); zero with parameters that are not determined at
            all.
        determined: Determined combinations, the best first.
        undetermined: Other combinations.
        noise: Standard deviation of the residuals; NaN without more measurements than
            parameters.
    """

    errors: Array
    relative: Array
    correlation: Array
    determined: tuple[Combination, ...]
    undetermined: tuple[Combination, ...]
    noise: float


class Parameter(NamedTuple):
    """A fitted parameter of a stage; infinite errors and ends where it is undetermined."""

    name: str
    unit: str
    value: float
    standard_error: float
    relative_error: float
    interval_95: tuple[float, float]
    bounds: tuple[float, float]
    on_bound: bool


@dataclass(frozen=True)
class StageResult:
    """Result of one stage.

    Args:
        name: ``springs``, ``dampers`` or ``torques``, or ``arm``.
        names: Names of the parameters.
        units: Unit of each; empty for a number whose error is not relative.
        values: Fitted parameters, (p,).
        lower: Lower bounds, (p,).
        upper: Upper bounds, (p,).
        on_bound: Names of parameters on a bound.
        uncertainty: Uncertainty of the parameters.
        sum_sentence: Combination that the measurements determine, in words; may be empty.
        residual: Root mean square of the residuals, in ``residual_unit``; without counts.
        residual_unit: rad, m, s or N.
        fitness: Value of the objective.
        labels: Description of each measurement.
        measured: Measured values, (m,).
        simulated: Simulated values with the parameters, (m,).
        held_out_labels: Descriptions of the held-out measurements.
        held_out_measured: Measured values, (h,).
        held_out_simulated: Simulated values, (h,).
        held_out_residual: Like ``residual``; NaN where there are none.
        history: Steps of the optimiser.
        evaluations: Number of simulated parameter sets.
        intervals: 95 % intervals, (p, 2); infinite where they are not determined.
        removable: Share of the squared residuals that one more Gauss–Newton step would remove,
            about 0 at an optimum [–].
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
    intervals: Array
    removable: float

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters, in the order of ``names``."""
        sure = self.uncertainty
        columns = zip(
            self.names, self.units, self.values.tolist(), sure.errors.tolist(),
            sure.relative.tolist(), map(tuple, self.intervals.tolist()),
            zip(self.lower.tolist(), self.upper.tolist(), strict=True),
            (name in self.on_bound for name in self.names), strict=True,
        )  # fmt: skip
        return tuple(Parameter(*row) for row in columns)


@dataclass(frozen=True, kw_only=True)
class EstimatedParameters:
    """Fitted parameters of a finger or of an arm.

    Args:
        method: Optimisation method.
        seed: Seed of everything random.
        stages: Results of the stages in their order.
        warnings: Warnings for the user, as sentences.
        status: How the calibration ended.
        credibility: Verdict on the fit.
        advice: What to measure next, the most informative first; only of method ``map``.
    """

    method: str
    seed: int
    stages: tuple[StageResult, ...]
    warnings: tuple[str, ...]
    status: CalibrationStatus
    credibility: Credibility
    advice: tuple[Advice, ...] = ()

    def stage(self, name: str) -> StageResult:
        """Return the result of a calibration stage by its name.

        Raises:
            KeyError: There is no such stage.
        """
        named: dict[str, StageResult] = {stage.name: stage for stage in self.stages}
        return named[name]

    @property
    def _all_parameters(self) -> list[Parameter]:
        return [parameter for stage in self.stages for parameter in stage.parameters]

    @property
    def parameters(self) -> dict[str, float]:
        """Fitted parameters by name, in SI."""
        return {parameter.name: parameter.value for parameter in self._all_parameters}

    @property
    def standard_errors(self) -> dict[str, float]:
        """Standard error of each parameter; infinite where it is undetermined."""
        return {parameter.name: parameter.standard_error for parameter in self._all_parameters}

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % interval of each parameter; infinite where it is undetermined."""
        return {parameter.name: parameter.interval_95 for parameter in self._all_parameters}

    @property
    def determined(self) -> tuple[Combination, ...]:
        """Combinations of parameters that the measurements determine."""
        return tuple(c for stage in self.stages for c in stage.uncertainty.determined)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Names of parameters with a relative standard error above one third, or on a bound."""
        every = self._all_parameters
        return tuple(p.name for p in every if not p.relative_error <= KNOWN or p.on_bound)

    @property
    def residual(self) -> dict[str, float]:
        """Root mean square of the residuals by stage, in rad, m, s or N."""
        return {stage.name: stage.residual for stage in self.stages}

    @property
    def history(self) -> dict[str, tuple[Step, ...]]:
        """Steps of the optimiser by stage."""
        return {stage.name: stage.history for stage in self.stages}

    @property
    def evaluations(self) -> int:
        """Number of simulated parameter sets."""
        return sum(stage.evaluations for stage in self.stages)


@dataclass(frozen=True, kw_only=True)
class CalibrationResult(EstimatedParameters):
    """Result of the calibration of a finger; see also ``EstimatedParameters``.

    Args:
        problem: Calibration problem.
        finger: Finger with the fitted parameters.
        posterior: Joint estimate with its samples, where the method is ``map``; not in files.
    """

    problem: CalibrationProblem
    finger: SoftFinger
    posterior: Posterior | None = None


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


# Files


def save_calibration(
    result: CalibrationResult | ExtensionResult, directory: str | Path
) -> list[Path]:
    """Write the calibration and the calibrated finger or arm; return the paths.

    ``calibration.json`` has the problem and what a reader needs; ``calibration.npz`` the fields of
    ``EstimatedParameters`` with all digits.

    Raises:
        ResultError: The directory cannot be written.
    """
    directory = Path(directory)
    names = [field.name for field in fields(EstimatedParameters)]
    shared = EstimatedParameters(**{name: getattr(result, name) for name in names})
    written = [
        write_text(directory / DOCUMENT, json_text(document(result))),
        write_arrays(directory / ARRAYS, to_arrays(shared)),
    ]
    if isinstance(result, ExtensionResult):
        return [*written, result.save_calibrated(directory)]
    written.append(save_finger(apply_calibration(result), directory / FINGER))
    if result.posterior is not None:
        written.append(_write_ensemble(result, result.posterior, directory))
    return written


def _write_ensemble(result: CalibrationResult, posterior: Posterior, directory: Path) -> Path:
    """Write samples of the joint estimate, joint by joint as in ``finger.yaml``.

    Dampers are drawn from a log-normal distribution with their standard error.
    """
    problem, rng = result.problem, np.random.default_rng(result.seed)
    columns: dict[str, Array] = {}
    first, count = posterior.samples[:ENSEMBLE_SIZE], len(result.stages[0].names)
    drawn = {"springs": first[:, :count], "torques": first[:, count:]}
    for stage in result.stages:
        values = drawn.get(stage.name, np.zeros((0, 0)))
        if not values.size:
            known = np.nan_to_num(stage.uncertainty.relative, nan=0.0, posinf=0.0)
            scatter = rng.standard_normal((ENSEMBLE_SIZE, len(stage.names)))
            values = stage.values * np.exp(known * scatter)
        kind = KIND_OF[stage.name]
        joints = block_of(problem, kind).of_joints(values)
        columns |= {f"{kind}_{index}": column for index, column in enumerate(joints.T, start=1)}
    # as from_webots adds it to the damping of finger.yaml
    for index in range(1, len(problem.finger.joints) + 1):
        if f"damping_{index}" in columns and f"stiffness_{index}" in columns:
            added = problem.damping_timestep * columns[f"stiffness_{index}"]
            columns[f"damping_{index}"] = columns[f"damping_{index}"] + added
    return save_finger_ensemble(apply_calibration(result), columns, directory / FINGER)


def apply_calibration(result: CalibrationResult) -> SoftFinger:
    """Return the finger with all of its fitted damping and the source of its numbers."""
    stages = ", ".join(stage.name for stage in result.stages)
    source = (
        f"softgrasp {__version__}, calibrated by {result.method} (seed {result.seed}): {stages}"
    )
    if result.status is CalibrationStatus.NOT_CREDIBLE:
        source += f"; {result.status.value}"
    if result.undetermined:
        source += f"; {UNSURE}{', '.join(result.undetermined)}"
    has_damping = "dampers" in result.residual
    step = result.problem.damping_timestep if has_damping else 0.0
    return from_webots(result.finger, step).replace(source=source)


def apply_stages(problem: CalibrationProblem, stages: Sequence[StageResult]) -> SoftFinger:
    """Return the finger of a problem with the values of stages."""
    finger = problem.finger
    for stage in stages:
        block = block_of(problem, KIND_OF[stage.name])
        finger = with_values(finger, block.kind, block.of_joints(stage.values))
        if (stiffening := block.stiffening(stage.values)) is not None:
            finger = finger.replace(stiffness_pressure=float(stiffening))
    return finger


def document(result: CalibrationResult | ExtensionResult) -> dict[str, Any]:
    """Convert a result to the content of ``calibration.json``; null where a value is unknown."""
    whole = {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "method": result.method,
        "seed": result.seed,
        "status": result.status.name,
        "message": result.status.value,
        "parameters": result.parameters,
        "standard_errors": result.standard_errors,
        "undetermined": result.undetermined,
        "evaluations": result.evaluations,
        "warnings": result.warnings,
        "stages": [_stage(stage) for stage in result.stages],
        "problem": result.problem.model_dump(mode="json", exclude_defaults=True),
    }
    if isinstance(result, CalibrationResult):
        whole["damping_timestep_s"] = result.problem.damping_timestep
        whole["advice"] = result.advice
    plain: dict[str, Any] = plain_data(whole | {"credibility": result.credibility.document()})
    return plain


def _stage(stage: StageResult) -> dict[str, Any]:
    sure = stage.uncertainty
    parameters = {parameter.name: parameter._asdict() for parameter in stage.parameters}
    for parameter in parameters.values():
        del parameter["name"]
        unit = parameter.pop("unit")
        if stage.name == "arm":  # its parameters have different units
            parameter["unit"] = unit
    return {
        "name": stage.name,
        "unit": stage.units[0],
        "parameters": parameters,
        "correlation": sure.correlation,
        "determined": [_combination(item) for item in sure.determined],
        "undetermined": [_combination(item) for item in sure.undetermined],
        "sum": stage.sum_sentence or None,
        "objective": stage.fitness,
        f"residual_rms_{stage.residual_unit}": stage.residual,
        f"held_out_rms_{stage.residual_unit}": stage.held_out_residual,
        "evaluations": stage.evaluations,
        "measurements": _compare(stage.labels, stage.measured, stage.simulated),
        "held_out": _compare(
            stage.held_out_labels, stage.held_out_measured, stage.held_out_simulated
        ),
    }


def _combination(item: Combination) -> dict[str, Any]:
    return {"weights": item.weights, "relative_error": item.error, "sentence": item.sentence}


def _compare(labels: Sequence[str], measured: Array, simulated: Array) -> list[dict[str, Any]]:
    """Return what was measured beside what was simulated."""
    rows = zip(labels, measured, simulated, strict=True)
    return [{"what": what, "measured": x, "simulated": y} for what, x, y in rows]


def load_calibration(directory: str | Path) -> CalibrationResult:
    """Read the calibration of a finger from its directory.

    Raises:
        ResultError: A file is missing, damaged or of another version, or it is a calibration of
            another kind.
    """
    result = load_any_calibration(directory)
    if not isinstance(result, CalibrationResult):
        path = Path(directory) / DOCUMENT
        raise ResultError(f"{path}: expected the calibration of a finger, found another kind")
    return result


@result_loader
def load_any_calibration(directory: str | Path) -> CalibrationResult | ExtensionResult:
    """Read the calibration of a finger, or of a kind that an extension adds.

    Raises:
        ResultError: A file is missing, damaged or of another version.
    """
    path = Path(directory) / DOCUMENT
    try:
        data = read_json(path)
        version = data["schema_version"]
        if version != SCHEMA_VERSION:
            raise ResultError(f"{path}: expected schema_version {SCHEMA_VERSION}, found {version}")
        problem = _problem_from(data["problem"])
        path = path.with_name(ARRAYS)
        estimate = from_arrays(EstimatedParameters, read_arrays(path))
        if isinstance(problem, CalibrationProblem):
            finger = apply_stages(problem, estimate.stages)
            return CalibrationResult(problem=problem, finger=finger, **vars(estimate))
        restore = CALIBRATIONS.load(problem.kind, "result")
        result: ExtensionResult = restore(problem, vars(estimate))
        return result
    except OSError as error:
        raise ResultError(
            f"{path}: expected a calibration, found: {error.strerror or error}"
        ) from error
    except (ValueError, KeyError, TypeError, BadZipFile, DescriptionError) as error:
        raise ResultError(f"{path}: damaged: {error}") from error


def _problem_from(data: dict[str, Any]) -> CalibrationProblem | ExtensionProblem:
    """Make the problem of a saved calibration.

    Raises:
        ValueError: It is of a kind that no extension adds.
        DescriptionError: It is not valid.
    """
    if "finger" in data:
        return CalibrationProblem(**data)
    for kind in CALIBRATIONS:
        if kind in data:
            problem: ExtensionProblem = CALIBRATIONS.load(kind, "problem")(**data)
            return problem
    raise ValueError(
        f"problem: expected the calibration of a finger or one with {', '.join(CALIBRATIONS)}, "
        f"found {', '.join(data)}"
    )


def clear_earlier(directory: Path) -> None:
    """Remove the files of an earlier calibration, so that no outdated figure remains.

    Files that no run wrote stay.
    """
    written = [pattern for kind in CALIBRATIONS for pattern in CALIBRATIONS.load(kind).written]
    remove_written(directory, (*WRITTEN, *written))
