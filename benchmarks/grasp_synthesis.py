"""Success of synthesized grasps by DexGraspBench's protocol, and their cost.

``python benchmarks/grasp_synthesis.py --hands four_finger allegro/right_hand.xml --objects sphere``
prints one row per hand and object: grasps returned, successes under six forces, the first one,
processor time of synthesis and evaluation, and means of penetration and contacts.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import softgrasp as sg
from softgrasp.comparison.dexgraspbench import MASS, benchmark_grasps, benchmark_means
from softgrasp.sweeps.synthesis import placed_postures

OBJECTS = ("sphere", "cylinder", "cuboid", "capsule", "strawberry", "pear", "screwdriver", "mug")
FRICTION = 0.6


def row(hand: str, obj: str, count: int, seeds: int) -> str:
    """Synthesize grasps without looking at their simulation, and evaluate all of them."""
    described = sg.load_object(obj, mass=MASS)
    contact = sg.Contact(static_friction=FRICTION, dynamic_friction=FRICTION)
    scene = sg.GraspScene(hand=sg.load_hand(hand), object=described, contact=contact)
    plan = sg.description.GraspPlan(scene=scene, candidates=count, seeds=seeds)
    begin = time.process_time()
    postures = [one.posture for one in placed_postures(plan)]
    synthesis = time.process_time() - begin
    rows = benchmark_grasps(scene, postures)
    evaluation = time.process_time() - begin - synthesis
    means = benchmark_means(rows, postures)
    if not rows:
        return f"| {Path(hand).parent.name or hand} | {described.name} | 0 | | | | |"
    succeeded = sum(one.success for one in rows.values())
    return (
        f"| {Path(hand).parent.name or hand} | {described.name} | {len(rows)} | {succeeded} | "
        f"{'yes' if rows[0].success else 'no'} | {synthesis:.1f} + {evaluation:.1f} | "
        f"{1e3 * means['penetration']:.2f} | {means['contacts']:.1f} |"
    )


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore", sg.SoftgraspWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hands", nargs="+", default=["four_finger"])
    parser.add_argument("--objects", nargs="+", default=list(OBJECTS))
    parser.add_argument("--grasps", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=96)
    words = parser.parse_args()
    print("| hand | object | returned | succeed | first succeeds | CPU-s | depth mm | links |")
    print("|---|---|---|---|---|---|---|---|")
    for obj in words.objects:
        for hand in words.hands:
            print(row(hand, obj, words.grasps, words.seeds), flush=True)


if __name__ == "__main__":
    main()
