"""Which of many grasps is best: by any numeric column, or by what the hold test showed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from softgrasp.description.grasp_plan import PERTURBATION, GraspPlan
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array
from softgrasp.sweeps.rows import COLUMNS

if TYPE_CHECKING:
    import pandas as pd

RANKED = "CLOSED"
"""Only grasps that end so are ranked: the others have let go, or never touched."""
LARGEST = ("quality_", "contacts", "hold_directions", "hold_lifted_m", "hold_slip_force_N")
"""How the names of columns begin of which more is better."""
SMALLEST = (
    "displacement_m",
    "rotation_rad",
    "hold_drop_m",
    "hold_rotation_rad",
    "hold_creep_m_s",
    "contacts_lost",
)
"""Columns of which less is better."""
TEXTS = ("status", "error", "contact_order", "trajectory_sha256", "held")
DRIFT = {PERTURBATION: "hold_drop_m"}
"""What decides between equal scores; elsewhere how far the closure moved the object."""


def largest_is_best(plan: GraspPlan) -> bool:
    """Whether the largest number of the column that a plan ranks by is best.

    Raises:
        DescriptionError: There is no such numeric column, or nothing says which end is best.
    """
    name = plan.rank_by
    numeric = [column for column in COLUMNS if column not in TEXTS and "wall" not in column]
    if name != PERTURBATION and name not in numeric:
        raise DescriptionError(
            f"expected {PERTURBATION} or a numeric column of sweeps, found '{name}'; "
            f"{did_you_mean(name, [PERTURBATION, *numeric])}",
            field="rank_by",
        )
    if plan.best is not None:
        return plan.best == "largest"
    if name == PERTURBATION or (name.startswith(LARGEST) and name not in SMALLEST):
        return True
    if name in SMALLEST:
        return False
    raise DescriptionError(
        f"expected largest or smallest with rank_by '{name}', found none", field="best"
    )


def require_scored(plan: GraspPlan) -> None:
    """Refuse a plan whose scene leaves the column that it ranks by empty.

    Raises:
        DescriptionError: The column needs a hold test, pulls, directions or a rigid object.
    """
    name, success = plan.rank_by, plan.scene.success
    if name == "hold_slip_force_N" and not (success and success.pulls):
        needs = "pulls in the scene's criterion"
    elif name == "hold_directions" and not (success and success.directions):
        needs = "directions in the scene's criterion"
    elif name.startswith("hold_") and not (success or plan.scene.lift):
        needs = "a hold test or a lift in the scene"
    elif name == "quality_epsilon" and plan.scene.object.elasticity is not None:
        needs = "a rigid object"
    else:
        return
    raise DescriptionError(f"expected {needs} to rank by '{name}', found none", field="rank_by")


def scores(plan: GraspPlan, table: pd.DataFrame) -> Array:
    """What every row of a sweep is ranked by, (n,); NaN where it is not ranked."""
    values = _numbers(table, "hold_directions" if plan.rank_by == PERTURBATION else plan.rank_by)
    return np.where((table["status"] == RANKED).to_numpy(dtype=bool), values, np.nan)


def order(plan: GraspPlan, table: pd.DataFrame) -> list[int]:
    """Places of rows in a sweep's table from best to worst, those without a score last.

    Equal scores go by drift, and equal drifts by the number of the row.

    Raises:
        DescriptionError: As ``largest_is_best``.
    """
    score = scores(plan, table)
    key = -score if largest_is_best(plan) else score
    drift = _numbers(table, DRIFT.get(plan.rank_by, "displacement_m"))
    rows = table["row"].to_numpy(dtype=int)
    return [int(row) for row in np.lexsort((rows, drift, key, np.isnan(score)))]


def _numbers(table: pd.DataFrame, column: str) -> Array:
    return np.asarray(table[column].to_numpy(dtype=float, na_value=np.nan))
