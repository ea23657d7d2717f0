"""What ranking is worth: the best of many poses survive a test that the ranking has not seen.

Hand, object, friction and offset were chosen with seeds 0 and 1, so that about a quarter of all
poses survive; what is asserted comes from another seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import fisher_exact

import softgrasp as sg
from softgrasp.sweeps.planner import PlannedGrasps
from softgrasp.sweeps.run import sweep

pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
pytest.importorskip("pyarrow", reason="pyarrow is the extra 'sweep'")

POSES, BEST, OTHERS = 240, 5, 50


def steel_cylinder() -> sg.GraspScene:
    """A steel cylinder with little friction, which the hand may well drop."""
    obj = sg.load_object("cylinder").weighing(density=7860.0)
    return sg.GraspScene(
        hand=sg.load_hand("four_finger"), object=obj, contact=sg.Contact(static_friction=0.3)
    )


def perturbation() -> sg.SuccessCriterion:
    """The six forces of DexGraspBench, each for half a second instead of two."""
    return sg.load_criterion("dexgraspbench").replace(direction_time=0.5)


def survived(planned: PlannedGrasps, rows: list[int]) -> Any:
    """Which candidates bear the perturbation test; those that never held cannot."""
    plan = planned.sweep_plan
    axes = tuple(axis.replace(values=tuple(axis.values[row] for row in rows)) for axis in plan.axes)
    scene = plan.scene.replace(success=perturbation())
    table = sweep(plan.replace(scene=scene, axes=axes), workers=2)
    return table["held"].fillna(False).to_numpy(dtype=bool)


@pytest.mark.slow
def test_the_best_five_survive_more_often_than_fifty_at_random() -> None:
    plan = sg.GraspPlan(
        scene=steel_cylinder(),
        candidates=POSES,
        poses=sg.PoseSampling(offset=0.05),
        seed=2,
        top=BEST,
    )
    planned = sg.plan_grasps(plan, workers=2)
    others = np.random.default_rng(1).choice(POSES, OTHERS, replace=False).tolist()
    held = survived(planned, [*planned.best_rows, *others])
    best, random = int(held[:BEST].sum()), int(held[BEST:].sum())
    contrast = [[best, BEST - best], [random, OTHERS - random]]
    chance = fisher_exact(contrast, alternative="greater").pvalue
    assert chance < 0.01, (best, random, chance, held.tolist(), planned.table["status"].tolist())
