"""What a worker does: rows of a plan by their numbers."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp.description.sweep_plan import SweepPlan
from softgrasp.errors import SoftgraspError
from softgrasp.formats.atomic import write_bytes
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.run import simulate
from softgrasp.sweeps.fields import scene_of, start_noise
from softgrasp.sweeps.rows import failed_row, row_of
from softgrasp.sweeps.sampling import combinations
from softgrasp.sweeps.trajectories import packed

PARENT_LOOKS = 0.5
"""Time between two looks at whether the parent still lives [s]."""

Row = dict[str, Any]


class Rows:
    """The rows of a plan."""

    def __init__(self, plan: SweepPlan, trajectories: Path | None = None) -> None:
        """Take a plan.

        Args:
            plan: The plan.
            trajectories: Folder for the trajectories; None where they are not kept.
        """
        self._plan, self._trajectories = plan, trajectories
        self._combinations = combinations(plan)

    def inputs(self, row: int) -> Row:
        """Number and axes of a row, and its noise."""
        noise = start_noise(self._plan, row)
        values = self._combinations[row // self._plan.repeats]
        found: Row = {"row": row} | values
        if noise is not None:
            found |= dict(zip(("noise_x_m", "noise_y_m", "noise_z_m"), noise.position, strict=True))
            found["noise_rad"] = float(np.linalg.norm(noise.rotation))
        return found

    def compute(self, rows: Sequence[int]) -> list[Row]:
        """Simulate some rows; a grasp that cannot be simulated is a row with an error."""
        found, results = [], {}
        for row in rows:
            begin = time.perf_counter()
            try:
                result = self._simulated(row)
                results[row] = result
                found.append(self.inputs(row) | row_of(result))
            except SoftgraspError as error:
                found.append(self.inputs(row) | failed_row(str(error), _since(begin)))
            except Exception as error:  # noqa: BLE001 - one bad grasp does not end a sweep
                told = f"internal error: {type(error).__name__}: {error}"
                found.append(self.inputs(row) | failed_row(told, _since(begin)))
        if self._trajectories is not None and results:
            name = f"rows-{min(rows):07d}-{max(rows):07d}.npz"
            write_bytes(self._trajectories / name, packed(results))
        return found

    def _simulated(self, row: int) -> GraspResult:
        values = self._combinations[row // self._plan.repeats]
        scene = scene_of(self._plan, values, start_noise(self._plan, row))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the result has them
            return simulate(scene)


_ROWS: Rows | None = None


def start_worker(plan: SweepPlan, trajectories: Path | None, parent: int) -> None:
    """Make this process a worker that ends with its parent and leaves Ctrl-C to it."""
    global _ROWS
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _ROWS = Rows(plan, trajectories)


def compute(rows: Sequence[int]) -> list[Row]:
    """Simulate some rows in a worker."""
    assert _ROWS is not None  # start_worker ran first
    return _ROWS.compute(rows)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_LOOKS)
    os._exit(1)


def _since(begin: float) -> float:
    return time.perf_counter() - begin
