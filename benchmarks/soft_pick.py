"""Objects of YCB picked from a table by a soft gripper, whose poses and pressures are searched.

FOLDER has the meshes of the YCB Object and Model Set (Calli et al. 2015), which are not part of
softgrasp: one folder each, such as ``012_strawberry/google_16k/textured.obj``. Masses are the
published ones. Each object is searched, picked, lifted by 100 mm and held for two seconds; the last
frames of up to ten are drawn.

    python benchmarks/soft_pick.py FOLDER PICTURE.png [HAND [OBJECT …]]
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
from measured import machine

import softgrasp as sg
from softgrasp.description.scene import GraspScene
from softgrasp.evaluation.result import GraspResult
from softgrasp.model.shapes import extent
from softgrasp.rendering.video import render_key_frames

HAND = "soft_gripper"
DRAWN, COLUMNS = 10, 5
SIZE = (400, 400)
"""Size of a frame [pixels]."""


class Pick(NamedTuple):
    """An object and what became of it."""

    name: str
    result: GraspResult | None
    refusal: str
    seconds: float
    """Wall time of the search and the pick."""


def main() -> None:
    """Pick all objects; print a table and draw the last frames."""
    folder, drawing, hand_name, *names = [*sys.argv[1:3], *(sys.argv[3:] or [HAND])]
    hand = searched(sg.load_hand(hand_name))
    files = sorted(Path(folder).glob("*/google_16k/textured.obj"))
    chosen = [file for file in files if not names or file.parts[-3] in names]
    print(f"{hand_name}; softgrasp on {machine()}\n")
    print("| object | size [mm] | mass [g] | pressure [kPa] | lifted [mm] | drift [mm] | outcome |")
    print("|---|---|---|---|---|---|---|")
    picks = []
    for file in chosen:
        picks.append(pick(hand, file))
        print(row(picks[-1]), flush=True)
    held = [item for item in picks if item.result is not None and item.result.held]
    print(f"\nheld {len(held)} of {len(picks)}, "
          f"{sum(item.seconds for item in picks) / len(picks):.1f} s each")  # fmt: skip
    draw(picks[:DRAWN], Path(drawing))


def searched(hand: sg.description.Hand) -> sg.description.Hand:
    """Return a hand whose poses and pressures are searched, as by ``--pressure auto``."""
    power = hand.grasps.power.replace(per_object=True)
    return hand.replace(grasps=hand.grasps.replace(power=power, precision=power))


def pick(hand: sg.description.Hand, file: Path) -> Pick:
    """Pick one object from a table."""
    begin = time.perf_counter()
    try:
        scene = GraspScene(
            hand=hand, object=sg.load_object(file), surroundings=(sg.description.Table(),),
            gravity=True, lift=sg.description.Lift(),
        )  # fmt: skip
        result, refusal = sg.simulate(scene), ""
    except sg.SoftgraspError as error:
        result, refusal = None, str(error)
    return Pick(file.parts[-3], result, refusal, time.perf_counter() - begin)


def row(picked: Pick) -> str:
    """Return a line of the table."""
    result = picked.result
    if result is None:
        return f"| {picked.name} | | | | | | {picked.refusal} |"
    size = " × ".join(f"{1e3 * edge:.0f}" for edge in extent(result.scene.object.shape))
    hold, mass = result.hold, result.scene.object.mass or 0.0
    lifted, drift = (hold.lifted_m or 0.0, hold.drop_m) if hold is not None else (0.0, 0.0)
    outcome = "held" if result.held else result.outcome.name.lower()
    return (
        f"| {picked.name} | {size} | {1e3 * mass:.0f} | {1e-3 * result.pressure[-1, 0]:.0f} | "
        f"{1e3 * lifted:.0f} | {1e3 * drift:.2f} | {outcome} |"
    )


def draw(picks: list[Pick], path: Path) -> None:
    """Draw the last frames with names, pressures and outcomes."""
    rows = -(-len(picks) // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(2.2 * COLUMNS, 2.5 * rows), squeeze=False)
    for panel in axes.flat:
        panel.set_axis_off()
    for panel, (name, result, _, _) in zip(axes.flat, picks, strict=False):
        if result is None:
            continue
        (frame,) = render_key_frames(result, [float(result.time[-1])], size=SIZE)
        panel.imshow(frame)
        outcome = "held" if result.held else result.outcome.name.lower()
        panel.set_title(f"{name}\n{1e-3 * result.pressure[-1, 0]:.0f} kPa, {outcome}", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
