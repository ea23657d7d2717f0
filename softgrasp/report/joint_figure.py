"""Joint trajectories against their targets, joint by joint (paper 004, Fig 8)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.report import style
from softgrasp.report.series import JointPanel, behind, joint_rows, spans, thinned, touching
from softgrasp.simulation.result import GraspResult, column

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

ROW_HEIGHT = 1.2
LEAST_SPAN = 1.0
"""Least height of a panel [deg or mm], so that a joint that stands still looks so."""

BEYOND = 1.0
"""A curve ends this many ranges of the joint outside its limits."""


def draw_joints(result: GraspResult, path: str | Path) -> Path:
    """Draw where each joint went and where it was sent: a row a finger, a column a joint.

    Args:
        result: The run.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    rows = list(joint_rows(result))
    columns = max(map(len, rows))
    with style.figure(path, ROW_HEIGHT * len(rows) + 0.8) as figure:
        grid = style.panels(figure, len(rows), columns)
        heads: dict[tuple[int, str], Axes] = {}
        for i, row in enumerate(rows):
            for j, joint in enumerate(row):
                first = next(iter(heads.values()), None)
                place = (j, joint.unit)
                axes = figure.add_subplot(grid[i, j], sharex=first, sharey=heads.get(place))
                heads.setdefault(place, axes)
                _draw_joint(axes, result, joint, brief=columns > 3)
                axes.tick_params(labelbottom=i == len(rows) - 1)
        for axes in heads.values():
            style.least_span(axes, LEAST_SPAN)
        style.edge_labels(figure, y=_quantity(rows))
        style.legend(figure, _keys())
    return Path(path)


def _draw_joint(axes: Axes, result: GraspResult, joint: JointPanel, *, brief: bool) -> None:
    own, later = behind(result, joint.name)
    place = axes.get_xaxis_transform()
    for bodies, color in ((later, style.LATER), (own, style.ESTABLISHED)):
        bars = [(begin, end - begin) for begin, end in spans(result.time, touching(result, bodies))]
        axes.broken_barh(bars, (0, 1), color=color, lw=0, transform=place)
    position = joint.factor * result.joint_position[:, column(result.joint_names, joint.name)]
    if joint.name in result.actuator_names:
        target = joint.factor * result.joint_target[:, column(result.actuator_names, joint.name)]
        axes.plot(*thinned(result.time, target), color=style.TARGET, ls=(0, (4, 2)), lw=1.2)
    low, high = joint.limits
    # a joint that broke away in a diverged run would leave nothing else to be seen
    shown = np.clip(position, low - BEYOND * (high - low), high + BEYOND * (high - low))
    axes.plot(*thinned(result.time, shown), color=style.POSITION, lw=1.3)
    style.time_limits(axes, result.time)
    axes.set_title(joint.title, fontsize=8 if brief else 9)
    ending = f"{style.signed(position[-1], 1)}{joint.unit}"
    style.note(axes, ending if brief else f"ends at {ending}")


def _quantity(rows: list[list[JointPanel]]) -> str:
    units = {joint.unit.strip() for row in rows for joint in row}
    return f"joint {'angle' if units == {'°'} else 'variable'} [{' or '.join(sorted(units))}]"


def _keys() -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Line2D([], [], color=style.POSITION, lw=1.4, label="position"),
        Line2D([], [], color=style.TARGET, ls=(0, (4, 2)), lw=1.2, label="target"),
        Patch(color=style.ESTABLISHED, label="its phalanx in contact"),
        Patch(color=style.LATER, label="a later phalanx in contact"),
    ]
