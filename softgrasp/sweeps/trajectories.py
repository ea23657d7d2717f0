"""Whole trajectories of some grasps in one compressed file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.simulation.result import GraspResult

FOLDER = "trajectories"


def packed(results: Mapping[int, GraspResult]) -> bytes:
    """A ``.npz`` with the arrays of ``trajectory.npz`` under ``ROW/NAME``, such as ``12/time``."""
    arrays = {
        f"{row}/{name}": array
        for row, result in results.items()
        for name, array in result.trajectory().items()
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def trajectories(folder: str | Path) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
    """Row and arrays of every grasp whose trajectory a sweep has kept, file by file."""
    for path in sorted(Path(folder, FOLDER).glob("rows-*.npz")):
        with np.load(path) as stored:
            rows: dict[int, dict[str, NDArray[Any]]] = {}
            for key in stored.files:
                row, _, name = key.partition("/")
                rows.setdefault(int(row), {})[name] = stored[key]
        yield from rows.items()
