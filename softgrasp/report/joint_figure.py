"""Joint trajectories against their targets, joint by joint (paper 004, Fig 8)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softgrasp.report import style
from softgrasp.report.series import behind, joint_rows, spans, thinned, touching
from softgrasp.simulation.result import GraspResult

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

ROW_HEIGHT = 1.2
LEAST_SPAN = 1.0
"""Least height of a panel [deg or mm], so that a joint that stands still looks so."""


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
        heads: dict[int, Axes] = {}
        for i, row in enumerate(rows):
            for j, (joint, title, unit, factor) in enumerate(row):
                axes = figure.add_subplot(grid[i, j], sharex=heads.get(0), sharey=heads.get(j))
                heads.setdefault(j, axes)
                _draw_joint(axes, result, joint, factor)
                axes.set_title(f"{title} [{unit}]")
                axes.tick_params(labelbottom=i == len(rows) - 1)
        for axes in heads.values():
            style.least_span(axes, LEAST_SPAN)
        style.edge_labels(figure)
        style.legend(figure, _keys())
    return Path(path)


def _draw_joint(axes: Axes, result: GraspResult, joint: str, factor: float) -> None:
    own, later = behind(result, joint)
    for bodies, opacity in ((later, 0.18), (own, 0.45)):
        for begin, end in spans(result.time, touching(result, bodies)):
            axes.axvspan(begin, end, color=style.ESTABLISHED, alpha=opacity, lw=0)
    column = result.joint_names.index(joint)
    position = factor * result.joint_position[:, column]
    if joint in result.actuator_names:
        target = factor * result.joint_target[:, result.actuator_names.index(joint)]
        axes.plot(*thinned(result.time, target), color=style.TARGET, ls=(0, (4, 2)), lw=1.2)
    axes.plot(*thinned(result.time, position), color=style.POSITION, lw=1.3)
    style.time_limits(axes, result.time)
    style.note(axes, f"ends at {style.signed(position[-1], 1)}")


def _keys() -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Line2D([], [], color=style.POSITION, lw=1.4, label="position"),
        Line2D([], [], color=style.TARGET, ls=(0, (4, 2)), lw=1.2, label="target"),
        Patch(color=style.ESTABLISHED, alpha=0.45, label="its phalanx in contact"),
        Patch(color=style.ESTABLISHED, alpha=0.18, label="a later phalanx in contact"),
    ]
