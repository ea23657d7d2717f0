"""What a worker does: rows of a plan by their numbers."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep_plan import SweepPlan
from softgrasp.errors import SoftgraspError
from softgrasp.simulation.closure_run import max_rows
from softgrasp.simulation.native import native_pays
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.together import BatchItem, BatchRunner
from softgrasp.sweeps.fields import scene_of, start_noise
from softgrasp.sweeps.kept import Kept
from softgrasp.sweeps.rows import failed_row, row_of
from softgrasp.sweeps.sampling import combinations

PARENT_CHECK_PERIOD = 0.5
"""Time between two looks at whether the parent still lives [s]."""

Row = dict[str, Any]


class Rows:
    """The rows of a plan."""

    def __init__(self, plan: SweepPlan, kept: Kept | None = None) -> None:
        """Take a plan.

        Args:
            plan: The plan.
            kept: What is kept besides rows; None where nothing is.
        """
        self._plan, self._kept = plan, kept
        self._combinations = combinations(plan)
        steps_per_core = plan.size * total_steps(plan.scene) // (os.cpu_count() or 1)
        self._together = BatchRunner(
            compiled=native_pays(steps_per_core), quality_rate=0.0 if plan.quality else None
        )

    def inputs(self, row: int) -> Row:
        """Number and axes of a row, and its noise."""
        noise = start_noise(self._plan, row)
        values = self._combinations[row // self._plan.repeats]
        row_values: Row = {"row": row} | values
        if noise is not None:
            row_values |= dict(
                zip(("noise_x_m", "noise_y_m", "noise_z_m"), noise.position, strict=True)
            )
            row_values["noise_rad"] = float(np.linalg.norm(noise.rotation))
        return row_values

    def compute(self, rows: Sequence[int]) -> list[Row]:
        """Simulate some rows; a grasp that cannot be simulated is a row with an error."""
        computed, results = [], {}
        scenes = [self._scene(row) for row in rows]
        for row, item in zip(rows, self._together.simulate(scenes), strict=True):
            computed.append(self.inputs(row) | _outcome(item))
            if isinstance(item.result, GraspResult) and self._kept is not None:
                results[row] = item.result
        if self._kept is not None:
            self._kept.write(results)
        return computed

    def _scene(self, row: int) -> GraspScene | Exception:
        values = self._combinations[row // self._plan.repeats]
        try:
            return scene_of(self._plan, values, start_noise(self._plan, row))
        except Exception as error:  # noqa: BLE001 - one bad grasp does not end a sweep
            return error


def total_steps(scene: GraspScene) -> int:
    """Physics steps that a grasp may take, for what the scene says of them."""
    timestep = scene.timestep or scene.control_period
    return max(round(max_rows(scene) * scene.control_period / timestep), 1)


def _outcome(item: BatchItem) -> Row:
    result = item.result
    if isinstance(result, GraspResult):
        return row_of(result) | {"wall_build_s": item.build_time}
    if isinstance(result, SoftgraspError):
        return failed_row(str(result))
    return failed_row(f"internal error: {type(result).__name__}: {result}")


_ROWS: Rows | None = None


def start_worker(plan: SweepPlan, kept: Kept | None, parent: int) -> None:
    """Make this process a worker that ends with its parent and leaves Ctrl-C to it."""
    global _ROWS
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _ROWS = Rows(plan, kept)


def compute(rows: Sequence[int]) -> list[Row]:
    """Simulate some rows in a worker."""
    assert _ROWS is not None  # start_worker ran first
    return _ROWS.compute(rows)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_PERIOD)
    os._exit(1)
