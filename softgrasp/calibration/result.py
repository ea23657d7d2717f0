"""Results of a calibration, and their files ``calibration.json`` and ``finger.yaml``.

The same calibration gives the same bytes: nothing in the files depends on the clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from softgrasp._version import __version__
from softgrasp.calibration.credibility import Credibility
from softgrasp.calibration.files import LoadedProblem, as_tuples
from softgrasp.calibration.next_measurements import Advice
from softgrasp.calibration.objectives import block_of, with_values
from softgrasp.calibration.posterior import Posterior
from softgrasp.calibration.stages import KIND_OF, StageName, Step
from softgrasp.calibration.uncertainty import KNOWN, Combination, Uncertainty
from softgrasp.continuum.settling import from_webots
from softgrasp.description.calibration import CalibrationProblem, ExtensionProblem
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError, ResultError
from softgrasp.extensions import CALIBRATIONS
from softgrasp.io.files import atomic_path, json_text, plain_data, remove_written, write_text
from softgrasp.io.finger_ensemble import ensemble_path, save_finger_ensemble
from softgrasp.io.hand import UNSURE, save_finger
from softgrasp.io.input_limits import read_arrays, read_json, result_loader
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.image import Image

DOCUMENT, ARRAYS, FINGER = "calibration.json", "calibration.npz", "finger.yaml"
ENSEMBLE = ensemble_path(FINGER).name
ENSEMBLE_SIZE = 200
FIGURES = (
    *("shapes", "angles", "releases", "settling", "forces"),
    *("parameters", "correlation", "fitness", "boxes", "overlays"),
)
WRITTEN = (
    *(DOCUMENT, ARRAYS, FINGER, ENSEMBLE, "report.html", "photo_*_*g.png", "film_*_*g.png"),
    *(f"{name}{suffix}" for name in FIGURES for suffix in (".png", ".csv")),
)
"""Files that a calibration writes, besides those of an extension."""
EVIDENCE = (
    ("photo_*_*g.png", "Photograph with {} g", "From the photograph to joint points and angles."),
    ("film_*_*g.png", "Video of the release of {} g",
     "The last frame, and the path of the tip until then."),
)  # fmt: skip
"""Pattern, heading and caption of the images of measurements; {} is the mass [g]."""
OVERLAYS = "overlays.png"
OUTLINES = "Outlines read from the photographs, and those of the calibrated finger."
"""Caption of ``OVERLAYS``."""
RESIDUAL = "residual_rms_"
"""Begin of the key of a stage's residual, which ends with the unit."""
SCHEMA_VERSION = 2
INCHES = 8.0
"""Width of such an image; figures have ten inches, so its letters are smaller."""


class CalibrationStatus(Enum):
    """How a calibration ended, as a sentence."""

    DONE = "parameters found"
    AT_BOUNDS = "parameters found, some of them on their bounds"
    NOT_CREDIBLE = "the fit is not credible"


@dataclass(frozen=True)
class StageModel:
    """A stiffness model in a comparison.

    Args:
        model: ``per-joint``, ``smooth`` or ``uniform``.
        parameters: Number of parameters.
        residual: Root mean square of the residuals.
        aic: Akaike's criterion, corrected for few measurements; smaller is better; infinite with
            too few.
        cross_validation: Root mean square error of loads left out one after the other.
        held_out: Root mean square error of the held-out loads; NaN where there are none.
    """

    model: str
    parameters: int
    residual: float
    aic: float
    cross_validation: float
    held_out: float


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
        models: Compared stiffness models; empty for other stages.
        intervals: 95 % intervals, (p, 2); None in results of earlier versions.
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
    models: tuple[StageModel, ...]
    intervals: Array | None = None
    removable: float = 0.0


@dataclass(frozen=True, kw_only=True)
class EstimatedParameters:
    """Fitted parameters of a finger or of an arm.

    Args:
        method: Optimisation method.
        seed: Seed of everything random.
        stages: Results of the stages in their order.
        warnings: Warnings for the user, as sentences.
        status: How the calibration ended.
        credibility: Verdict on the fit; None in results of earlier versions.
    """

    method: str
    seed: int
    stages: tuple[StageResult, ...]
    warnings: tuple[str, ...]
    status: CalibrationStatus
    credibility: Credibility | None = None

    def stage(self, name: str) -> StageResult:
        """Return the result of a calibration stage by its name.

        Raises:
            KeyError: There is no such stage.
        """
        named: dict[str, StageResult] = {one.name: one for one in self.stages}
        return named[name]

    @property
    def parameters(self) -> dict[str, float]:
        """Fitted parameters by name, in SI."""
        return {n: float(v) for s in self.stages for n, v in zip(s.names, s.values, strict=True)}

    @property
    def standard_errors(self) -> dict[str, float]:
        """Standard error of each parameter; infinite where it is undetermined."""
        return {
            name: float(error)
            for stage in self.stages
            for name, error in zip(stage.names, stage.uncertainty.errors, strict=True)
        }

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % interval of each parameter; infinite where it is undetermined."""
        return {
            name: (float(low), float(high))
            for stage in self.stages
            if stage.intervals is not None
            for name, (low, high) in zip(stage.names, stage.intervals, strict=True)
        }

    @property
    def determined(self) -> tuple[Combination, ...]:
        """Combinations of parameters that the measurements determine."""
        return tuple(c for stage in self.stages for c in stage.uncertainty.determined)

    @property
    def undetermined(self) -> tuple[str, ...]:
        """Names of parameters with a relative standard error above one third, or on a bound."""
        return tuple(
            name
            for stage in self.stages
            for name, part in zip(stage.names, stage.uncertainty.relative, strict=True)
            if not part <= KNOWN or name in stage.on_bound
        )

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
        advice: What to measure next, the most informative first.
    """

    problem: CalibrationProblem
    finger: SoftFinger
    posterior: Posterior | None = None
    advice: tuple[Advice, ...] = ()


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

    ``calibration.json`` has the parameters; ``calibration.npz`` the steps of the optimisers and
    the numbers that JSON cannot hold.

    Raises:
        ResultError: The directory cannot be written.
    """
    directory = Path(directory)
    written = [write_text(directory / DOCUMENT, json_text(document(result))), directory / ARRAYS]
    with atomic_path(directory / ARRAYS) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **_arrays(result))
    if isinstance(result, ExtensionResult):
        return [*written, result.save_calibrated(directory)]
    written.append(save_finger(calibrated_finger(result), directory / FINGER))
    if result.posterior is not None:
        written.append(_write_ensemble(result, result.posterior, directory))
    return written


def _write_ensemble(result: CalibrationResult, posterior: Posterior, directory: Path) -> Path:
    """Write samples of the joint estimate, joint by joint as in ``finger.yaml``.

    Dampers are drawn from a log-normal distribution with their standard error.
    """
    problem, columns = result.problem, {}
    drawn = {"springs": posterior.samples[:ENSEMBLE_SIZE, : len(result.stages[0].names)]}
    drawn["torques"] = posterior.samples[:ENSEMBLE_SIZE, len(result.stages[0].names) :]
    rng = np.random.default_rng(result.seed)
    for stage in result.stages:
        values = drawn.get(stage.name, np.zeros((0, 0)))
        if not values.size:
            known = np.nan_to_num(stage.uncertainty.relative, nan=0.0, posinf=0.0)
            scatter = rng.standard_normal((ENSEMBLE_SIZE, len(stage.names)))
            values = stage.values * np.exp(known * scatter)
        kind = KIND_OF[stage.name]
        joints = block_of(problem, kind).of_joints(values)
        for index, column in enumerate(np.moveaxis(joints, -1, 0), start=1):
            columns[f"{kind}_{index}"] = column
    # as from_webots adds it to the damping of finger.yaml
    for index in range(1, len(problem.finger.joints) + 1):
        if f"damping_{index}" in columns and f"stiffness_{index}" in columns:
            added = problem.damping_timestep * columns[f"stiffness_{index}"]
            columns[f"damping_{index}"] = columns[f"damping_{index}"] + added
    return save_finger_ensemble(calibrated_finger(result), columns, directory / FINGER)


def calibrated_finger(result: CalibrationResult) -> SoftFinger:
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


def fitted_finger(problem: CalibrationProblem, stages: Sequence[StageResult]) -> SoftFinger:
    """Return the finger of a problem with the values of stages."""
    finger = problem.finger
    for one in stages:
        block = block_of(problem, KIND_OF[one.name])
        finger = with_values(finger, block.kind, block.of_joints(one.values))
        if (stiffening := block.stiffening(one.values)) is not None:
            finger = finger.replace(stiffness_pressure=float(stiffening))
    return finger


def document(result: CalibrationResult | ExtensionResult) -> dict[str, Any]:
    """Convert a result to the content of ``calibration.json``; null where a value is unknown."""
    extra: dict[str, Any] = {}
    if isinstance(result, CalibrationResult):
        extra = {
            "damping_timestep_s": result.problem.damping_timestep,
            "advice": result.advice,
        }
    if result.credibility is not None:
        extra["credibility"] = result.credibility.document()
    whole: dict[str, Any] = plain_data({
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
    } | extra)  # fmt: skip
    return whole


def _stage(stage: StageResult) -> dict[str, Any]:
    sure, several = stage.uncertainty, stage.name == "arm"
    return {
        "name": stage.name,
        "unit": stage.units[0],
        "parameters": {
            name: {
                "value": value,
                "standard_error": error,
                "relative_error": part,
                "interval_95": interval,
                "bounds": [low, high],
                "on_bound": name in stage.on_bound,
            }
            | ({"unit": unit} if several else {})
            for name, value, error, part, interval, low, high, unit in zip(
                stage.names,
                stage.values,
                sure.errors,
                sure.relative,
                interval_ends(stage),
                stage.lower,
                stage.upper,
                stage.units,
                strict=True,
            )
        },
        "correlation": sure.correlation,
        "determined": [_combination(one) for one in sure.determined],
        "undetermined": [_combination(one) for one in sure.undetermined],
        "sum": stage.sum_sentence or None,
        "objective": stage.fitness,
        f"{RESIDUAL}{stage.residual_unit}": stage.residual,
        f"held_out_rms_{stage.residual_unit}": stage.held_out_residual,
        "evaluations": stage.evaluations,
        "measurements": _compared(stage.labels, stage.measured, stage.simulated),
        "held_out": _compared(
            stage.held_out_labels, stage.held_out_measured, stage.held_out_simulated
        ),
        "models": stage.models,
    }


def _compared(labels: Sequence[str], measured: Array, simulated: Array) -> list[dict[str, Any]]:
    """Return what was measured beside what was simulated."""
    rows = zip(labels, measured, simulated, strict=True)
    return [{"what": what, "measured": x, "simulated": y} for what, x, y in rows]


def interval_ends(stage: StageResult) -> Array:
    """Return the 95 % intervals of a stage, (p, 2); NaN where they are unknown."""
    if stage.intervals is not None:
        return stage.intervals
    return np.full((len(stage.names), 2), np.nan)


def _combination(one: Combination) -> dict[str, Any]:
    return {"weights": one.weights, "relative_error": one.error, "sentence": one.sentence}


def _arrays(result: EstimatedParameters) -> dict[str, Array]:
    """Return arrays of all stages that ``calibration.json`` lacks, or has only rounded."""
    arrays: dict[str, Array] = {}
    for stage in result.stages:
        sure, steps = stage.uncertainty, stage.history
        parts: dict[str, Any] = {
            "errors": sure.errors,
            "relative": sure.relative,
            "determined": [one.error for one in sure.determined],
            "undetermined": [one.error for one in sure.undetermined],
            "noise": sure.noise,
            "intervals": interval_ends(stage),
            "removable": stage.removable,
            "held_out": stage.held_out_simulated,
            "held_out_residual": stage.held_out_residual,
            "models": [[m.residual, m.aic, m.cross_validation, m.held_out] for m in stage.models],
            "positions": np.concatenate([step.positions for step in steps]) if steps else [],
            "fitness": np.concatenate([step.fitness for step in steps]) if steps else [],
            "sizes": [len(step.fitness) for step in steps],
            "best": [step.best for step in steps],
            "evaluations": [step.evaluations for step in steps],
        }
        arrays |= {f"{stage.name}/{name}": np.asarray(part) for name, part in parts.items()}
    return arrays


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
    directory = Path(directory)
    path = directory / DOCUMENT
    try:
        data = read_json(path)
        version = data["schema_version"]
        if version != SCHEMA_VERSION:
            raise ResultError(f"{path}: expected schema_version {SCHEMA_VERSION}, found {version}")
        path = directory / ARRAYS
        arrays = read_arrays(path)
        return _result_from(data, tuple(_stage_from(one, arrays) for one in data["stages"]))
    except OSError as error:
        raise ResultError(
            f"{path}: expected a calibration, found: {error.strerror or error}"
        ) from error
    except (ValueError, KeyError, TypeError, BadZipFile, DescriptionError) as error:
        raise ResultError(f"{path}: damaged: {error}") from error


def _result_from(
    data: dict[str, Any], stages: tuple[StageResult, ...]
) -> CalibrationResult | ExtensionResult:
    """Make a result from the content of ``calibration.json`` and its stages.

    Raises:
        KeyError: A field is missing.
        ValueError: The calibration is of a kind that no extension adds.
        DescriptionError: The problem is not valid.
    """
    fields: dict[str, Any] = {
        "method": data["method"],
        "seed": data["seed"],
        "stages": stages,
        "warnings": tuple(data["warnings"]),
        "status": CalibrationStatus[data["status"]],
    }
    verdict = data.get("credibility")
    fields["credibility"] = None if verdict is None else Credibility.from_document(verdict)
    if "finger" in data["problem"]:
        problem = CalibrationProblem(**data["problem"])
        finger = fitted_finger(problem, stages)
        fields["advice"] = tuple(Advice(**one) for one in data.get("advice", ()))
        return CalibrationResult(problem=problem, finger=finger, **fields)
    for kind in CALIBRATIONS:
        if kind in data["problem"]:
            problem = CALIBRATIONS.load(kind, "problem")(**as_tuples(data["problem"]))
            result: ExtensionResult = CALIBRATIONS.load(kind, "result")(problem, fields)
            return result
    raise ValueError(
        f"problem: expected the calibration of a finger or one with {', '.join(CALIBRATIONS)}, "
        f"found {', '.join(data['problem'])}"
    )


def _stage_from(data: dict[str, Any], arrays: dict[str, Array]) -> StageResult:
    """Make the result of a stage from its part of ``calibration.json`` and its arrays."""
    name, parameters = data["name"], data["parameters"].values()
    stored = {key.removeprefix(f"{name}/"): value for key, value in arrays.items()
           if key.startswith(f"{name}/")}  # fmt: skip
    ends = np.cumsum(stored["sizes"])[:-1].astype(int)
    steps = zip(
        np.split(stored["positions"], ends), np.split(stored["fitness"], ends),
        stored["best"].tolist(), stored["evaluations"].tolist(), strict=True,
    )  # fmt: skip
    unit = next(key for key in data if key.startswith(RESIDUAL)).removeprefix(RESIDUAL)
    held_out = data["held_out"]
    bounds = np.array([one["bounds"] for one in parameters])
    models = zip(data["models"], stored["models"].tolist(), strict=True)
    return StageResult(
        name=name,
        names=tuple(data["parameters"]),
        units=tuple(one.get("unit", data["unit"]) for one in parameters),
        values=np.array([one["value"] for one in parameters]),
        lower=bounds[:, 0],
        upper=bounds[:, 1],
        on_bound=tuple(key for key, one in data["parameters"].items() if one["on_bound"]),
        uncertainty=Uncertainty(
            errors=stored["errors"],
            relative=stored["relative"],
            correlation=np.array(data["correlation"]),
            determined=_combinations(data["determined"], stored["determined"]),
            undetermined=_combinations(data["undetermined"], stored["undetermined"]),
            noise=float(stored["noise"]),
        ),
        sum_sentence=data["sum"] or "",
        residual=data[f"{RESIDUAL}{unit}"],
        residual_unit=unit,
        fitness=data["objective"],
        labels=tuple(one["what"] for one in data["measurements"]),
        measured=np.array([one["measured"] for one in data["measurements"]]),
        simulated=np.array([one["simulated"] for one in data["measurements"]]),
        held_out_labels=tuple(one["what"] for one in held_out),
        held_out_measured=np.array([one["measured"] for one in held_out]),
        held_out_simulated=stored["held_out"],
        held_out_residual=float(stored["held_out_residual"]),
        history=tuple(Step(*step) for step in steps) if stored["sizes"].size else (),
        evaluations=data["evaluations"],
        models=tuple(StageModel(one["model"], one["parameters"], *rest) for one, rest in models),
        intervals=stored.get("intervals"),
        removable=float(stored.get("removable", 0.0)),
    )


def _combinations(data: list[dict[str, Any]], errors: Array) -> tuple[Combination, ...]:
    return tuple(
        Combination(tuple(one["weights"]), error, one["sentence"])
        for one, error in zip(data, errors.tolist(), strict=True)
    )


def clear_earlier(directory: Path) -> None:
    """Remove the files of an earlier calibration, so that no outdated figure remains.

    Files that no run wrote stay.
    """
    written = [pattern for kind in CALIBRATIONS for pattern in CALIBRATIONS.load(kind).written]
    remove_written(directory, (*WRITTEN, *written))


# Images


def draw_evidence(loaded: LoadedProblem, directory: Path) -> list[tuple[str, Path, str]]:
    """Draw the steps of every photograph, and the tip path over every video's last frame.

    Returns:
        Heading, file and caption of each.

    Raises:
        ResultError: The directory cannot be written.
    """
    from softgrasp.vision.debug_figures import annotated_frame, steps_image

    for number, (mass, photo) in enumerate(loaded.photos, start=1):
        _written(steps_image(photo), directory / f"photo_{number}_{1e3 * mass:g}g.png")
    for number, (mass, track) in enumerate(loaded.tracks, start=1):
        frame = annotated_frame(track, len(track.time) - 1)
        _written(frame, directory / f"film_{number}_{1e3 * mass:g}g.png")
    return evidence_in(directory)


def evidence_in(directory: Path) -> list[tuple[str, Path, str]]:
    """Return heading, file and caption of the measurement images in a directory."""
    images = []
    for pattern, title, caption in EVIDENCE:
        paths = directory.glob(pattern)
        for path in sorted(paths, key=lambda path: int(path.stem.split("_")[1])):
            mass = path.stem.split("_", 2)[2].removesuffix("g")
            images.append((title.format(mass), path, caption))
    overlays = directory / OVERLAYS
    return [("Outlines", overlays, OUTLINES)] * overlays.exists() + images


def _written(image: Image, path: Path) -> Path:
    from PIL import Image

    dots = image.shape[1] / INCHES
    with atomic_path(path) as temporary:
        Image.fromarray(image).save(temporary, dpi=(dots, dots))
    return path
