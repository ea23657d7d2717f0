"""Joint trajectories against their targets, joint by joint (paper 004, Fig 8)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.render.phases import has_phases
from softgrasp.report import style
from softgrasp.report.phase_marks import LANE_HEIGHT, draw_lane, mark_phases
from softgrasp.report.series import DrivePanel, drive_rows, spans, thinned, touching
from softgrasp.simulation.result import GraspResult

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

ROW_HEIGHT = 1.2
LEAST_SPAN = 1.0
"""Least height of a panel in its unit, so that a joint that stands still looks so."""

BEYOND = 1.0
"""A curve ends this many ranges of the joint outside its limits."""


def draw_joints(result: GraspResult, path: str | Path) -> Path:
    """Draw where each joint went and where it was sent: a row a finger, a column a joint.

    A soft finger has its pressure and its curvature in its row.

    Args:
        result: The run.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    rows = list(drive_rows(result))
    columns = max(map(len, rows))
    lane = LANE_HEIGHT if has_phases(result) else 0.0
    with style.figure(path, ROW_HEIGHT * len(rows) + 0.8 + lane, numbers=False) as figure:
        grid = style.panels(figure, len(rows), columns, margins=(0.6, 0.1, 0.5, 0.55 + lane))
        if has_phases(result):
            draw_lane(figure, result)
        heads: dict[tuple[int, str, bool], Axes] = {}
        for i, row in enumerate(rows):
            for j, drive in enumerate(row):
                first = next(iter(heads.values()), None)
                # what carries the hand goes farther than its joints
                place = (j, drive.unit, drive.limits is None)
                axes = figure.add_subplot(grid[i, j], sharex=first, sharey=heads.get(place))
                heads.setdefault(place, axes)
                _draw_drive(axes, result, drive, brief=columns > 3)
                axes.tick_params(labelbottom=all(len(below) <= j for below in rows[i + 1 :]))
        for axes in heads.values():
            style.least_span(axes, LEAST_SPAN)
        style.edge_labels(figure, y=_quantity(rows))
        style.legend(figure, _keys(result))
    return Path(path)


def _draw_drive(axes: Axes, result: GraspResult, drive: DrivePanel, *, brief: bool) -> None:
    place = axes.get_xaxis_transform()
    if has_phases(result):
        mark_phases(axes, result, named=False)
    for bodies, color in ((drive.later, style.LATER), (drive.own, style.ESTABLISHED)):
        bars = [(begin, end - begin) for begin, end in spans(result.time, touching(result, bodies))]
        axes.broken_barh(bars, (0, 1), color=color, lw=0, transform=place)
    if drive.target is not None:
        target = thinned(result.time, drive.target)
        axes.plot(*target, color=style.TARGET, ls=(0, (4, 2)), lw=1.2)
    shown = drive.values
    if drive.limits is not None:
        low, high = drive.limits
        # a joint that broke away in a diverged run would leave nothing else to be seen
        shown = np.clip(shown, low - BEYOND * (high - low), high + BEYOND * (high - low))
    axes.plot(*thinned(result.time, shown), color=style.POSITION, lw=1.3)
    style.time_limits(axes, result.time)
    axes.set_title(drive.title, fontsize=8 if brief else 9)
    ending = f"{style.signed(drive.values[-1], 1)}{drive.unit}"
    style.note(axes, ending if brief else f"ends at {ending}")


def _quantity(rows: list[list[DrivePanel]]) -> str:
    units = sorted({drive.unit.strip() for row in rows for drive in row})
    if units == ["°"]:
        return "joint angle [°]"
    if units == ["/m", "kPa"]:
        return "pressure [kPa], curvature [1/m]"
    told = " or ".join(unit.replace("/m", "1/m") if unit == "/m" else unit or "–" for unit in units)
    names = ["joint variable"]
    names += ["pressure, curvature"] if "kPa" in units else []
    titles = [drive.title for row in rows for drive in row]
    names += ["tendon"] if any(title.endswith("tendon") for title in titles) else []
    names += ["torque"] if "N·m" in units else []
    names += ["synergy"] if "" in units else []
    return f"{', '.join(names)} [{told}]"


def _keys(result: GraspResult) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    keys: list[Artist] = [Line2D([], [], color=style.POSITION, lw=1.4, label="value")]
    touched = "its finger in contact"
    if result.scene.hand.fingers:
        keys.append(Line2D([], [], color=style.TARGET, ls=(0, (4, 2)), lw=1.2, label="target"))
        touched = "its phalanx in contact"
    keys.append(Patch(color=style.ESTABLISHED, label=touched))
    if result.scene.hand.fingers:
        keys.append(Patch(color=style.LATER, label="a later phalanx in contact"))
    return keys
