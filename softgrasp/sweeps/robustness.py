"""Robustness of planned grasps: how often they hold an object that is not where it was planned.

Each grasp that held the object is repeated with random errors of the object's start pose, as a
sweep of its own in the directory ``robustness`` of the plan. Grasps that did not hold it have 0.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.description.sweep import GraspPlan, SweepPlan
from softgrasp.mechanics.transforms import Array
from softgrasp.sweeps.run import Progress, read_sweep, sweep

if TYPE_CHECKING:
    import pandas as pd

DIRECTORY = "robustness"
"""Directory of the trials in that of a plan."""


def trials_of(plan: GraspPlan, swept: SweepPlan, held: list[int]) -> SweepPlan:
    """Return the plan of the trials, ``plan.trials`` rows of every grasp that held the object.

    Args:
        plan: The grasp plan.
        swept: Its sweep, one row per candidate.
        held: Rows of the grasps.
    """
    axes = tuple(
        axis.replace(values=tuple((axis.values or ())[row] for row in held)) for axis in swept.axes
    )
    # of its own, so that trials do not repeat what ranks the candidates
    seed = int(np.random.default_rng([plan.seed, len(swept.axes)]).integers(2**31))
    return swept.replace(axes=axes, repeats=plan.trials, noise=plan.noise, seed=seed, quality=False)


def list_held_rows(rows: pd.DataFrame) -> list[int]:
    """Return the rows of a sweep whose grasp held the object."""
    return [int(row) for row, held in zip(rows["row"], rows["held"], strict=True) if held is True]


def robustness(
    plan: GraspPlan,
    swept: SweepPlan,
    rows: pd.DataFrame,
    out: Path | None,
    workers: int | None = None,
    progress: Progress | None = None,
    executor: str = "local",
) -> Array:
    """Simulate the trials; return the fraction of each row that held the object, (n,).

    Args:
        plan: The grasp plan.
        swept: Its sweep.
        rows: Finished rows of that sweep.
        out: Directory of the grasp plan; nothing is written without it.
        workers: Number of processes.
        progress: Called with the number of finished trials and of all.
        executor: Of the simulations, as in ``sweep``.

    Raises:
        ResultError: The directory cannot be written, is in use, or belongs to another plan.
        SimulationError: No worker can start.
    """
    held = list_held_rows(rows.astype({"held": object}))
    if not held:
        return np.zeros(len(rows))
    directory = None if out is None else out / DIRECTORY
    trials = sweep(
        trials_of(plan, swept, held), directory, workers=workers, executor=executor,
        progress=progress,
    )  # fmt: skip
    return _fractions(plan, rows, held, trials)


def read_robustness(plan: GraspPlan, rows: pd.DataFrame, out: Path) -> Array:
    """Return the fractions of a finished search from its directory, (n,).

    Raises:
        ResultError: The trials are not finished, or a file is damaged.
    """
    held = list_held_rows(rows.astype({"held": object}))
    if not held:
        return np.zeros(len(rows))
    return _fractions(plan, rows, held, read_sweep(out / DIRECTORY)[1])


def _fractions(plan: GraspPlan, rows: pd.DataFrame, held: list[int], trials: pd.DataFrame) -> Array:
    passed = trials["held"].astype(object).eq(True).to_numpy(dtype=float)
    fractions = dict(zip(held, passed.reshape(-1, plan.trials).mean(axis=1), strict=True))
    return np.array([fractions.get(int(row), 0.0) for row in rows["row"]])
