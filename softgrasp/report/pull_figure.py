"""Pulls of a hold test: how far the object went in the hand under a growing force."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.build import names
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.report.series import thinned
from softgrasp.simulation.posed_result import PosedResult
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.told_hold import PullTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEYOND = 2.0
"""The axis of ways ends at this many times the largest way until slip."""


def draw_pulls(result: GraspResult, path: str | Path) -> Path:
    """Draw the object's way since the closed state over the force of each pull.

    The point is where all contacts slip; the line across, friction µ·ΣN of the closed hand.

    Args:
        result: The run.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    assert result.hold is not None  # there are pulls
    pulls = result.hold.pulls
    with style.figure(path, 3.4) as figure:
        grid = style.panels(figure, 1, 1, margins=(0.75, 0.1, 0.55, 0.55), gaps=(0.0, 0.0))
        axes = figure.add_subplot(grid[0])
        # a wrist gives way to the pull
        position = _in_palm(result) if result.scene.on_wrist else result.object_position
        for pull, color in zip(pulls, cycle(style.SERIES)):
            _draw_pull(axes, result.time, position, pull, color)
        axes.axvline(pulls[0].friction_N, color=style.MUTED, lw=0.8, ls="--", label="µ·ΣN")
        widest = max(1e3 * pull.drop_m for pull in pulls)
        axes.set_ylim(0.0, max(BEYOND * widest, 1e-3))
        axes.set_xlim(left=0.0)
        axes.set_title("Way of the object in the hand [mm]")
        axes.set_xlabel("pulling force [N]")
        axes.legend(loc="upper left", ncols=min(len(pulls) + 1, 4), frameon=False, fontsize=8)
    return Path(path)


def _draw_pull(axes: Axes, time: Array, position: Array, pull: PullTest, color: str) -> None:
    first = min(int(np.searchsorted(time, pull.start_s, side="right")), len(time) - 1)
    rows = (time > pull.start_s) & (time <= pull.end_s)  # at its start the last pull ends
    force = pull.rate_N_s * (time[rows] - pull.start_s)
    displacement_mm = 1e3 * np.linalg.norm(position[rows] - position[first], axis=1)
    axes.plot(*thinned(force, displacement_mm), color=color, label=pull.name)
    if pull.slip_force_N is not None:
        axes.plot(
            pull.slip_force_N,
            np.interp(pull.slip_force_N, force, displacement_mm),
            "o",
            color=color,
        )


def _in_palm(result: GraspResult) -> Array:
    """Positions of the object in the frame of the palm while it is pulled, (T, 3) [m]."""
    posed, palm = PosedResult(result), names.hand_body(result.scene.hand)
    relative_positions = np.zeros_like(result.object_position)
    assert result.hold is not None  # there are pulls
    begin = np.searchsorted(result.time, result.hold.pulls[0].start_s)
    for row in range(int(begin), len(relative_positions)):
        body = posed.pose(float(result.time[row])).body(palm)
        relative_positions[row] = body.xmat.reshape(3, 3).T @ (
            result.object_position[row] - body.xpos
        )
    return relative_positions
