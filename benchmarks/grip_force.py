"""Payload and held objects of the shipped hands against the grip force of their servos.

Both grasps of every shipped hand with position-controlled servos close around the shipped objects,
with no limit and with several grip forces; the hold test then shows which are held. The payload is
the largest mass of the 60 mm ball that is held: from the heaviest of a grid on, then by bisection.

    python benchmarks/grip_force.py --write               # all hands: docs/data/grip_force.md
    python benchmarks/grip_force.py four_finger --forces 3,5
"""

from __future__ import annotations

import argparse
import math
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import softgrasp as sg
from softgrasp import assets

GRASPS = ("precision", "power")
MASSES = (20.0, 6.3, 2.0, 0.63, 0.2, 0.063, 0.02, 0.005)
"""Masses of the ball from which the payload is searched [kg]."""
BISECTIONS = 5
EXTRA_FORCES = {"four_finger": (7.0,), "human_24dof": (7.0,), "dlr_hit_ii": (7.0,)}
EXTRA_FORCES["dlr_hit_ii_coupled"] = (7.0,)
"""Grip forces that are the default of a hand, or were candidates [N]."""
WITHOUT = ("two_hands", "half_hand", "four_finger_paper004", "hybrid_gripper")
"""Hands whose default is not one of these (docs/closures.md)."""
TABLE = Path(__file__).parents[1] / "docs" / "data" / "grip_force.md"
HEAD = (
    "| hand | grasp | grip force N | payload kg | held | normal forces N | not held |",
    "|---|---|---|---|---|---|---|",
)


def closed(hand: Any, grasp: str, name: str, **changes: Any) -> sg.GraspResult | None:
    """Close a hand around a shipped object and test the hold; None where it starts in the hand."""
    scene = sg.GraspScene(
        hand=hand,
        object=sg.load_object(name, **changes),
        grasp=grasp,
        success=sg.SuccessCriterion(),
    )
    try:
        return sg.simulate(scene)
    except sg.SoftgraspError:
        return None


def is_held(result: sg.GraspResult | None) -> bool:
    """Return whether an object was held."""
    return result is not None and bool(result.held)


def payload(hand: Any, grasp: str) -> float:
    """Return the largest mass of the 60 mm ball that is held [kg]; 0 where none is.

    A ball that is lost may be lighter than one that is held: fingers push it away.
    """

    def holds(mass: float) -> bool:
        return is_held(closed(hand, grasp, "sphere", density=mass / volume))

    volume = math.pi / 6.0 * 0.06**3
    if holds(MASSES[0]):
        return MASSES[0]
    brackets = ((low, high) for high, low in pairwise(MASSES) if holds(low))
    low, high = next(brackets, (0.0, 0.0))
    for _ in range(BISECTIONS if low else 0):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def row(job: tuple[str, str, float | None]) -> str:
    """Return the table row of a hand, a grasp and a grip force."""
    warnings.simplefilter("ignore")
    name, grasp, force = job
    hand = sg.load_hand(name).replace(grip_force=force)
    objects = assets.names("objects")
    results = {obj: closed(hand, grasp, obj) for obj in objects}
    lost = [obj for obj, result in results.items() if not is_held(result)]
    press = [
        sum(contact.normal_force_N for contact in result.contacts)
        for result in results.values()
        if result is not None and result.held
    ]
    limit = "none" if force is None else f"{force:g}"
    spread = f"{min(press):.1f} … {max(press):.1f}" if press else "–"
    held = f"{len(objects) - len(lost)}/{len(objects)}"
    without = ", ".join(lost) or "–"
    cells = (name, grasp, limit, f"{payload(hand, grasp):.2f}", held, spread, without)
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table in Markdown, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("hands", nargs="*", default=assets.names("hands"))
    parser.add_argument("--forces", default="3,5", help="grip forces [N], separated by commas")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    arguments = parser.parse_args()
    forces = [None, *(float(force) for force in arguments.forces.split(","))]
    jobs = [
        (name, grasp, force)
        for name in arguments.hands
        if sg.load_hand(name).fingers and name not in WITHOUT
        for grasp in GRASPS
        for force in (*forces, *EXTRA_FORCES.get(name, ()))
    ]
    lines = [*HEAD]
    with ProcessPoolExecutor() as pool:
        for line in pool.map(row, jobs):
            print(line, flush=True)
            lines.append(line)
    if arguments.write:
        TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
