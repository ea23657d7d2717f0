"""Save and load a comparison of engines: ``crosscheck.json`` and all of its runs.

The runs of a grasp are results (``result.json`` and ``trajectory.npz``) in ``runs/ENGINE/``, those
of a release are arrays of ``crosscheck.npz``. A report depends on these files alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from softgrasp._version import __version__
from softgrasp.comparison.compare import CrosscheckResult
from softgrasp.comparison.criteria import Finding, Threshold, Tolerances
from softgrasp.comparison.runs import EngineProperties, GraspRuns, ReleaseRuns
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.scene import GraspScene
from softgrasp.errors import DescriptionError, ResultError, reason
from softgrasp.evaluation.result_files import load_result
from softgrasp.io.files import atomic_path, remove_written, write_text
from softgrasp.io.input_limits import read_arrays, read_json, result_loader
from softgrasp.sim.run_record import EngineRecord
from softgrasp.sim.soft_dynamics import FreeMotion, LinearMode

Arrays = dict[str, NDArray[Any]]

DOCUMENT, ARRAYS, RUNS = "crosscheck.json", "crosscheck.npz", "runs"
WRITTEN = (DOCUMENT, ARRAYS, RUNS, "report.html", "crosscheck_*.png", "crosscheck_*.csv")
"""Patterns of all files and directories of a comparison."""
SCHEMA_VERSION = 3
CLOSING, REST = "closing", "rest"
"""Names of runs besides their time steps."""
PLAIN = "without_hk"
"""Name of the motion with the dampers of Webots only."""


def save_crosscheck(result: CrosscheckResult, directory: str | Path) -> list[Path]:
    """Write a comparison as ``crosscheck.json``, and its runs; return the paths.

    Raises:
        ResultError: The directory cannot be written.
    """
    directory = Path(directory)
    if isinstance(result.runs, ReleaseRuns):
        with atomic_path(directory / ARRAYS) as temporary, temporary.open("wb") as stream:
            np.savez_compressed(stream, allow_pickle=False, **arrays(result.runs))
    else:
        runs = directory / RUNS
        for name, run in result.runs.closing.items():
            run.save(runs / name / CLOSING)
            for step, finer in result.runs.finer[name].items():
                finer.save(runs / name / f"{REST}_{step!r}")
    text = json.dumps(document(result), indent=2, ensure_ascii=False, allow_nan=False)
    written = ARRAYS if isinstance(result.runs, ReleaseRuns) else RUNS
    return [write_text(directory / DOCUMENT, text + "\n"), directory / written]


@result_loader
def load_crosscheck(directory: str | Path) -> CrosscheckResult:
    """Read a comparison from its directory.

    Raises:
        ResultError: A file is missing, damaged or of another version.
    """
    directory = Path(directory)
    path = directory / DOCUMENT
    try:
        data = read_json(path)
        version = data["schema_version"]
        if version != SCHEMA_VERSION:
            raise ResultError(
                f"{path}: expected schema_version {SCHEMA_VERSION}, found {version}; another "
                f"softgrasp wrote it: {data.get('rerun_command', 'softgrasp crosscheck')}"
            )
        runs: GraspRuns | ReleaseRuns
        if data["kind"] == "release":
            path = directory / ARRAYS
            arrays = read_arrays(path)
            runs = _release_runs(FingerRelease(**data["subject"]), data["runs"], arrays)
        else:
            runs = _grasp_runs(GraspScene(**data["subject"]), data["runs"], directory / RUNS)
        return _result_from(data, runs)
    except OSError as error:
        raise ResultError(
            f"{path}: expected a comparison of engines, found: {reason(error)}"
        ) from error
    except (ValueError, KeyError, TypeError, BadZipFile, DescriptionError) as error:
        raise ResultError(f"{path}: damaged: {error}") from error


def clear_earlier(directory: Path) -> None:
    """Remove the files of an earlier comparison; files that no run wrote stay."""
    remove_written(directory, WRITTEN)


def document(result: CrosscheckResult) -> dict[str, Any]:
    """Convert a comparison to the content of ``crosscheck.json``; unknown values are null."""
    runs = result.runs
    return {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "kind": "release" if isinstance(runs, ReleaseRuns) else "grasp",
        "name": result.title,
        "backends": list(result.backends),
        "passed": result.passed,
        "message": result.summary,
        "quick": result.quick,
        "rerun_command": result.rerun_command,
        "findings": [_finding(finding) for finding in result.findings],
        "engines": {
            name: {"version": engine.version, **engine.parameters}
            for name, engine in result.engines.items()
        },
        "tolerances": result.tolerances.model_dump(),
        "warnings": list(result.warnings),
        "wall_time_s": result.wall_time,
        "runs": _release_document(runs) if isinstance(runs, ReleaseRuns) else _grasp_document(runs),
        "subject": result.subject.model_dump(mode="json"),
    }


def _result_from(data: dict[str, Any], runs: GraspRuns | ReleaseRuns) -> CrosscheckResult:
    engines = {}
    for name, parameters in data["engines"].items():
        version = parameters.pop("version")
        engines[name] = EngineProperties(name, version, parameters)
    return CrosscheckResult(
        subject=runs.release if isinstance(runs, ReleaseRuns) else GraspScene(**data["subject"]),
        backends=tuple(data["backends"]),
        engines=engines,
        tolerances=Tolerances(**data["tolerances"]),
        findings=tuple(_finding_from(datum) for datum in data["findings"]),
        runs=runs,
        warnings=tuple(data["warnings"]),
        quick=data["quick"],
        wall_time=data["wall_time_s"],
        command=data["rerun_command"],
    )


def _finding(finding: Finding) -> dict[str, Any]:
    values = {field.name: getattr(finding, field.name) for field in fields(finding)}
    return values | {
        "values": {name: _finite(value) for name, value in finding.values.items()},
        "difference": _finite(finding.difference),
        "passed": finding.passed,
    }


def _finding_from(data: dict[str, Any]) -> Finding:
    values = {name: math.nan if value is None else value for name, value in data["values"].items()}
    difference = math.nan if data["difference"] is None else data["difference"]
    known = {name: value for name, value in data.items() if name != "passed"}
    return Finding(**(known | {"values": values, "difference": difference}))


def _finite(value: float | str) -> float | str | None:
    if isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else None


# Runs of a grasp


def _grasp_document(runs: GraspRuns) -> dict[str, Any]:
    return {
        "timesteps_s": {name: list(by_step) for name, by_step in runs.finer.items()},
        "thresholds": {name: list(one) for name, one in runs.thresholds.items()},
        "loads": list(runs.loads),
        "held": {name: list(held) for name, held in runs.held.items()},
        "lost": {name: list(lost) for name, lost in runs.lost.items()},
        "notes": list(runs.notes),
    }


def _grasp_runs(scene: GraspScene, data: dict[str, Any], directory: Path) -> GraspRuns:
    finer = {
        name: {step: load_result(directory / name / f"{REST}_{step!r}") for step in steps}
        for name, steps in data["timesteps_s"].items()
    }
    return GraspRuns(
        scene=scene.replace(self_contact=False),
        closing={name: load_result(directory / name / CLOSING) for name in finer},
        resting={name: next(iter(by_step.values())) for name, by_step in finer.items()},
        finer=finer,
        thresholds={name: Threshold(*one) for name, one in data["thresholds"].items()},
        loads=tuple(data["loads"]),
        held={name: tuple(held) for name, held in data["held"].items()},
        lost={name: tuple(lost) for name, lost in data["lost"].items()},
        notes=tuple(data["notes"]),
    )


# Motions of a release


def arrays(runs: ReleaseRuns) -> Arrays:
    """Return the arrays of all motions, as ``ENGINE.TIMESTEP.joint_angles``, and the rest shape."""
    stored: Arrays = {"rest_angles": runs.rest}
    for key, motion in _motions(runs).items():
        stored |= {
            f"{key}.time": motion.time,
            f"{key}.joint_angles": motion.angles,
            f"{key}.tip": motion.tip,
        }
    return stored


def _motions(runs: ReleaseRuns) -> dict[str, FreeMotion]:
    """All motions of a release by the names of their arrays."""
    motions = {f"{name}.{REST}": motion for name, motion in runs.resting.items()}
    for name, by_step in runs.moving.items():
        motions |= {f"{name}.{step!r}": motion for step, motion in by_step.items()}
    return motions if runs.without_hk is None else motions | {PLAIN: runs.without_hk}


def _release_document(runs: ReleaseRuns) -> dict[str, Any]:
    return {
        "timesteps_s": {name: list(by_step) for name, by_step in runs.moving.items()},
        "motions": {key: motion.engine._asdict() for key, motion in _motions(runs).items()},
        "linear_modes": [
            {"timestep_s": step} | mode._asdict() for step, mode in runs.linear.items()
        ],
        "notes": list(runs.notes),
    }


def _release_runs(
    release: FingerRelease, data: dict[str, Any], stored: Mapping[str, NDArray[Any]]
) -> ReleaseRuns:
    motions = {
        key: FreeMotion(
            stored[f"{key}.time"],
            stored[f"{key}.joint_angles"],
            stored[f"{key}.tip"],
            EngineRecord(**engine),
        )
        for key, engine in data["motions"].items()
    }
    steps: dict[str, list[float]] = data["timesteps_s"]
    return ReleaseRuns(
        release=release,
        rest=stored["rest_angles"],
        resting={name: motions[f"{name}.{REST}"] for name in steps},
        moving={name: {step: motions[f"{name}.{step!r}"] for step in by_name}
                for name, by_name in steps.items()},
        without_hk=motions.get(PLAIN),
        linear={datum["timestep_s"]: LinearMode(datum["frequency"], datum["ratio"])
                for datum in data["linear_modes"]},
        notes=tuple(data["notes"]),
    )  # fmt: skip
