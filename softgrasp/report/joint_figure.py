"""Joint trajectories against their targets, joint by joint (paper 004, Fig 8)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.rendering.keyframes import has_phases
from softgrasp.report import style
from softgrasp.report.phase_marks import PHASE_BAR_HEIGHT, draw_phase_bar, mark_phases
from softgrasp.report.series import ActuatorPanel, actuator_rows, spans, thinned, touching
from softgrasp.simulation.result import GraspResult

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

ROW_HEIGHT = 1.2
MIN_SPAN = 1.0
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
    rows = list(actuator_rows(result))
    columns = max(map(len, rows))
    bar_height = PHASE_BAR_HEIGHT if has_phases(result) else 0.0
    with style.figure(path, ROW_HEIGHT * len(rows) + 0.8 + bar_height, numbers=False) as figure:
        grid = style.panels(figure, len(rows), columns, margins=(0.6, 0.1, 0.5, 0.55 + bar_height))
        if has_phases(result):
            draw_phase_bar(figure, result)
        heads: dict[tuple[int, str, bool], Axes] = {}
        for i, row in enumerate(rows):
            for j, panel in enumerate(row):
                first = next(iter(heads.values()), None)
                # what carries the hand goes farther than its joints
                axis_key = (j, panel.unit, panel.limits is None)
                axes = figure.add_subplot(grid[i, j], sharex=first, sharey=heads.get(axis_key))
                heads.setdefault(axis_key, axes)
                _draw_panel(axes, result, panel, brief=columns > 3)
                axes.tick_params(labelbottom=all(len(below) <= j for below in rows[i + 1 :]))
        for axes in heads.values():
            style.set_min_span(axes, MIN_SPAN)
        style.edge_labels(figure, y=_quantity(rows))
        style.legend(figure, _keys(result))
    return Path(path)


def _draw_panel(axes: Axes, result: GraspResult, panel: ActuatorPanel, *, brief: bool) -> None:
    transform = axes.get_xaxis_transform()
    if has_phases(result):
        mark_phases(axes, result, named=False)
    for bodies, color in ((panel.later, style.LATER), (panel.phalanx_bodies, style.ESTABLISHED)):
        bars = [(begin, end - begin) for begin, end in spans(result.time, touching(result, bodies))]
        axes.broken_barh(bars, (0, 1), color=color, lw=0, transform=transform)
    if panel.target is not None:
        target = thinned(result.time, panel.target)
        axes.plot(*target, color=style.TARGET, ls=(0, (4, 2)), lw=1.2)
    shown = panel.values
    if panel.limits is not None:
        low, high = panel.limits
        # a joint that broke away in a diverged run would leave nothing else to be seen
        shown = np.clip(shown, low - BEYOND * (high - low), high + BEYOND * (high - low))
    axes.plot(*thinned(result.time, shown), color=style.POSITION, lw=1.3)
    style.time_limits(axes, result.time)
    axes.set_title(panel.title, fontsize=8 if brief else 9)
    ending = f"{style.signed(panel.values[-1], 1)}{panel.unit}"
    style.annotate(axes, ending if brief else f"ends at {ending}")


def _quantity(rows: list[list[ActuatorPanel]]) -> str:
    units = sorted({panel.unit.strip() for row in rows for panel in row})
    if units == ["°"]:
        return "joint angle [°]"
    if units == ["/m", "kPa"]:
        return "pressure [kPa], curvature [1/m]"
    units_text = " or ".join(
        unit.replace("/m", "1/m") if unit == "/m" else unit or "–" for unit in units
    )
    names = ["joint variable"]
    names += ["pressure, curvature"] if "kPa" in units else []
    titles = [panel.title for row in rows for panel in row]
    names += ["tendon"] if any(title.endswith("tendon") for title in titles) else []
    names += ["torque"] if "N·m" in units else []
    names += ["synergy"] if "" in units else []
    return f"{', '.join(names)} [{units_text}]"


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
