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
    with style.figure(path, ROW_HEIGHT * len(rows) + 0.7) as figure:
        grid = figure.add_gridspec(len(rows), columns)
        heads: dict[int, Axes] = {}
        for i, row in enumerate(rows):
            for j, (joint, title, unit, factor) in enumerate(row):
                axes = figure.add_subplot(grid[i, j], sharex=heads.get(0), sharey=heads.get(j))
                heads.setdefault(j, axes)
                _draw_joint(axes, result, joint, factor)
                axes.set_title(f"{title} [{unit}]", pad=3)
                axes.tick_params(labelbottom=i == len(rows) - 1)
        for axes in heads.values():
            _widen(axes)
        figure.supxlabel("time [s]", fontsize=8.5)
        figure.legend(handles=_keys(), loc="outside upper center", ncols=6)
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
    axes.margins(x=0.0)
    axes.text(
        1.0, 1.02, f"ends at {position[-1]:.1f}", transform=axes.transAxes, ha="right",
        va="bottom", fontsize=7, color=style.MUTED,
    )  # fmt: skip


def _widen(axes: Axes) -> None:
    low, high = axes.get_ylim()
    missing = max(LEAST_SPAN - (high - low), 0.0)
    axes.set_ylim(low - 0.5 * missing, high + 0.5 * missing)


def _keys() -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Line2D([], [], color=style.POSITION, lw=1.4, label="position"),
        Line2D([], [], color=style.TARGET, ls=(0, (4, 2)), lw=1.2, label="target"),
        Patch(color=style.ESTABLISHED, alpha=0.45, label="its phalanx in contact"),
        Patch(color=style.ESTABLISHED, alpha=0.18, label="a later phalanx in contact"),
    ]
