"""What ranks of planned grasps are worth: rank correlation with trials of displaced objects.

Grasps of a plan that hold their object are repeated with an object displaced by 5 mm and 5 degrees
(standard deviations), often; the fraction that holds is the truth. The score ``robustness`` is the
same fraction of twelve other trials. Only grasps that hold the object where it was planned count.

    python benchmarks/robust_rank.py --write              # docs/data/robust_rank.md, ten minutes
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import softgrasp as sg
from softgrasp.io.scene import load_criterion
from softgrasp.sweeps.planner import robustness

PAIRS = (("three_fingered", "sphere"), ("allegro_right", "sphere_35"), ("four_finger", "sphere"))
"""Hands and objects; the number of trials was not chosen by them."""
TRUTH = 20
"""Trials that are the truth of a grasp."""
SCORES = {
    "robustness": 1.0, "quality_epsilon": 1.0, "quality_min_singular": 1.0, "predicted": 1.0,
    "displacement_m": -1.0,
}  # fmt: skip
"""Columns and the sign with which they rank."""
TABLE = Path(__file__).parents[1] / "docs" / "data" / "robust_rank.md"


def row(hand: str, name: str, candidates: int) -> str:
    """Return the table row of a hand and an object."""
    scene = sg.GraspScene(
        hand=sg.load_hand(hand),
        object=sg.load_object(name),
        grasp="precision",
        success=load_criterion("hold"),
    )
    plan = sg.description.GraspPlan(scene=scene, candidates=candidates, rank_by="robustness", top=1)
    planned = sg.plan_grasps(plan)
    table = planned.table
    with_epsilon = sg.sweep(planned.sweep_plan.replace(quality=True))
    order = table.sort_values("row").reset_index(drop=True)
    other = planned.plan.replace(trials=TRUTH, seed=planned.plan.seed + 1)
    order["quality_epsilon"] = with_epsilon.sort_values("row")["quality_epsilon"].to_numpy()
    order["truth"] = robustness(other, planned.sweep_plan, order, None)
    held = order[order["held"].astype(object).eq(True)]
    cells = [hand, name, f"{len(held)}/{candidates}", f"{held['truth'].mean():.2f}"]
    for column, sign in SCORES.items():
        values = sign * held[column].to_numpy(dtype=float)
        known = np.isfinite(values)
        both = held["truth"].to_numpy()[known], values[known]
        rho = float(spearmanr(*both).statistic) if known.sum() > 2 else float("nan")
        cells.append(f"{rho:+.2f}")
    best = held.sort_values("robustness", ascending=False).iloc[0] if len(held) else None
    by_contacts = held.sort_values("quality_min_singular", ascending=False)
    cells.append("–" if best is None else f"{best['truth']:.2f}")
    cells.append("–" if best is None else f"{by_contacts['truth'].iloc[0]:.2f}")
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table, or write it."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--candidates", type=int, default=14)
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    arguments = parser.parse_args()
    head = ("hand", "object", "held", "mean truth", *SCORES, "rank 1 by robustness",
            "rank 1 by min_singular")  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    print("\n".join(lines))
    for hand, name in PAIRS:
        lines.append(row(hand, name, arguments.candidates))
        print(lines[-1], flush=True)
    if arguments.write:
        TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
