"""Payload and held objects of the shipped hands against the grip force of their servos.

Both grasps of every shipped hand with position-controlled servos close around the shipped objects,
with no limit and with several grip forces; the hold test then shows which are held. The payload is
the largest mass of the 60 mm ball that is held, by bisection.

    python benchmarks/grip_force.py                       # all hands: about half an hour
    python benchmarks/grip_force.py four_finger --forces 3,5
"""

from __future__ import annotations

import argparse
import math
import warnings
from typing import Any

import softgrasp as sg
from softgrasp import assets

GRASPS = ("precision", "power")
LIGHTEST, HEAVIEST = 0.005, 20.0
"""Masses between which the payload is searched [kg]."""
BISECTIONS = 7


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
    """Return the largest mass of the 60 mm ball that is held [kg]; 0 where none is."""
    volume = math.pi / 6.0 * 0.06**3
    low, high = LIGHTEST, HEAVIEST
    if not is_held(closed(hand, grasp, "sphere", density=low / volume)):
        return 0.0
    for _ in range(BISECTIONS):
        middle = math.sqrt(low * high)
        held = is_held(closed(hand, grasp, "sphere", density=middle / volume))
        low, high = (middle, high) if held else (low, middle)
    return low


def row(name: str, grasp: str, force: float | None) -> str:
    """Return the table row of a hand with a grip force."""
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
    """Print the table in Markdown."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("hands", nargs="*", default=assets.names("hands"))
    parser.add_argument("--forces", default="3,5", help="grip forces [N], separated by commas")
    arguments = parser.parse_args()
    print("| hand | grasp | grip force N | payload kg | held | normal forces N | not held |")
    print("|---|---|---|---|---|---|---|")
    forces = [None, *(float(force) for force in arguments.forces.split(","))]
    for name in arguments.hands:
        if not sg.load_hand(name).fingers:
            continue
        for grasp in GRASPS:
            for force in forces:
                print(row(name, grasp, force), flush=True)


if __name__ == "__main__":
    main()
