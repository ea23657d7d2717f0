"""Comparisons as files: ``crosscheck.json`` and ``crosscheck.npz``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softgrasp._version import __version__
from softgrasp.crosschecks.finding import Finding
from softgrasp.crosschecks.grasp_runs import GraspRuns
from softgrasp.crosschecks.release_runs import ReleaseRuns
from softgrasp.crosschecks.result import CrosscheckResult
from softgrasp.formats.atomic import atomic_path, write_text

DOCUMENT, ARRAYS = "crosscheck.json", "crosscheck.npz"
WRITTEN = (DOCUMENT, ARRAYS, "report.html", "crosscheck_*.png", "crosscheck_*.csv")
"""Everything that a comparison writes."""
SCHEMA_VERSION = 1


def save_crosscheck(result: CrosscheckResult, directory: str | Path) -> list[Path]:
    """Write a comparison's document and its time series; returns their paths.

    Raises:
        ResultError: The folder cannot be written.
    """
    directory = Path(directory)
    text = json.dumps(document(result), indent=2, ensure_ascii=False, allow_nan=False)
    with atomic_path(directory / ARRAYS) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays(result))
    return [write_text(directory / DOCUMENT, text + "\n"), directory / ARRAYS]


def clear_earlier(directory: Path) -> None:
    """Remove what an earlier comparison wrote, so that no figure stands beside other numbers.

    Only in a folder with a ``crosscheck.json``; other files stay.
    """
    if not (directory / DOCUMENT).is_file():
        return
    for pattern in WRITTEN:
        for file in directory.glob(pattern):
            file.unlink()


def document(result: CrosscheckResult) -> dict[str, Any]:
    """A comparison as the content of ``crosscheck.json``; null where nothing is known."""
    kind = "release" if isinstance(result.runs, ReleaseRuns) else "grasp"
    return {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "kind": kind,
        "name": result.title,
        "backends": list(result.backends),
        "passed": result.passed,
        "message": result.summary,
        "quick": result.quick,
        "again": result.again,
        "findings": [_finding(finding) for finding in result.findings],
        "engines": {
            name: {"version": engine.version, **engine.parameters}
            for name, engine in result.engines.items()
        },
        "tolerances": result.tolerances.model_dump(),
        "warnings": list(result.warnings),
        "wall_time_s": result.wall_time,
        "subject": result.subject.model_dump(mode="json", exclude_defaults=True),
    }


def arrays(result: CrosscheckResult) -> dict[str, NDArray[Any]]:
    """Time series by name; those of an engine begin with its name and a dot."""
    if isinstance(result.runs, ReleaseRuns):
        return _of_releases(result.runs)
    return _of_grasps(result.runs)


def _of_releases(runs: ReleaseRuns) -> dict[str, NDArray[Any]]:
    first = next(iter(runs.moving))
    arrays: dict[str, NDArray[Any]] = {"time": runs.motion(first).time, "rest_angles": runs.rest}
    for name, motions in runs.moving.items():
        arrays[f"{name}.timesteps"] = np.array(list(motions))
        arrays[f"{name}.joint_angles"] = np.stack([one.angles for one in motions.values()])
        arrays[f"{name}.rest_angles"] = runs.resting[name].angles[-1]
    if runs.without_hk is not None:
        arrays["without_hk.joint_angles"] = runs.without_hk.angles
    return arrays


def _of_grasps(runs: GraspRuns) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    for name, result in runs.resting.items():
        for key, array in result.trajectory().items():
            arrays[f"{name}.{key}"] = array
    if runs.held:
        arrays["loads"] = np.array(runs.loads)
        for name, held in runs.held.items():
            arrays[f"{name}.held"] = np.array(held)
    return arrays


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.name,
        "quantity": finding.quantity,
        "unit": finding.unit,
        "values": {name: _finite(value) for name, value in finding.values.items()},
        "difference": _finite(finding.difference),
        "difference_unit": finding.difference_unit,
        "tolerance": finding.tolerance,
        "worst": finding.worst,
        "passed": finding.passed,
        "note": finding.note,
    }


def _finite(value: float | str) -> float | str | None:
    if isinstance(value, str):
        return value
    return float(value) if math.isfinite(value) else None
