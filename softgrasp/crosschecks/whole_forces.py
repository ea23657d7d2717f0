"""Forces that can be compared with those of Webots, whose touch sensors give the whole force.

A run in Webots has the size of the whole contact force as its normal force, and no friction. So
where it is among the engines, √(N² + T²) is what is compared of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from softgrasp.crosschecks.grasp_runs import GraspRuns
from softgrasp.simulation.result import GraspResult

WHOLE = "webots"
"""The engine that does not tell normal force and friction apart."""


def comparable(runs: GraspRuns) -> GraspRuns:
    """Runs whose normal forces are the same quantity in all engines; the same runs without Webots.

    Args:
        runs: As they were simulated.
    """
    if WHOLE not in runs.closing:
        return runs
    return replace(
        runs,
        closing={name: whole_force(run) for name, run in runs.closing.items()},
        resting={name: whole_force(run) for name, run in runs.resting.items()},
        finer={
            name: {step: whole_force(run) for step, run in runs_by_step.items()}
            for name, runs_by_step in runs.finer.items()
        },
    )


def whole_force(result: GraspResult) -> GraspResult:
    """The run with the size of the whole contact force of each body as its normal force.

    Of several contacts of a body the sizes have been added up, so that it is exact for one.
    """
    return replace(result, normal_force=np.hypot(result.normal_force, result.friction_force))


def force_name(names: Iterable[str]) -> str:
    """What is compared between some engines."""
    return "Whole contact force" if WHOLE in names else "Normal force"


def whole_force_note(names: Iterable[str]) -> list[str]:
    """The remark beside it; none without Webots."""
    if WHOLE not in names:
        return []
    return [
        f"{WHOLE} measures the whole contact force only, so √(N² + T²) of the others is compared "
        "with it"
    ]
