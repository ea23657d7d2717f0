"""Contacts over time, phalanx by phalanx (paper 004, Figs 7, 9 and 10B)."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softgrasp.build.names import parts
from softgrasp.rendering.keyframes import body_label, has_phases
from softgrasp.report import style
from softgrasp.report.phase_marks import PHASE_BAR_HEIGHT, draw_phase_bar, mark_phases, phase_key
from softgrasp.report.quantities import newtons
from softgrasp.report.series import body_rows, merged, peaks, spans
from softgrasp.simulation.result import GraspResult, column
from softgrasp.simulation.told_contacts import BodyContact

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

ROW_HEIGHT, PANEL_HEIGHT, PALM_GAP = 1.15, 0.85, 0.25
"""Of a row with its title, of its panel, and between rows that share no axes [in]."""
NOTE_WIDTH, NOTE_HEIGHT = 170, 0.16
"""Letters in a line at the lower edge, and its height [in]."""
LONG_TITLE = 10
"""Letters of a title beside which there is room for a few words only."""
MAX_EDGES = 20
"""Contacts that are lost more often than this chatter; single lines would hide them."""
FINEST = 1.5e-3
"""Stretches nearer to one another than this part of the run are drawn as one."""
TOP_PERCENTILE, HEADROOM = 99.0, 1.5
"""The force axis ends this far above what contacts rest on; impacts are named, not drawn."""


def draw_contacts(result: GraspResult, path: str | Path) -> Path:
    """Draw when each body touched and how hard: a row a finger, a column a phalanx.

    Bodies that never touched are left out and named below. The palm has a row of its own.

    Args:
        result: The run.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    touched = {one.body for one in result.contacts if one.first_touch_s is not None}
    cells, palm = _cells(result, touched), [one for one in _palms(result) if one in touched]
    rows, columns = (1 + max((cell[k] for cell in cells), default=-1) for k in range(2))
    lines = fill(_untouched(result, touched), NOTE_WIDTH)
    note = NOTE_HEIGHT * (lines.count("\n") + 1) if lines else 0.0
    bar_height = PHASE_BAR_HEIGHT if has_phases(result) else 0.0
    below = len(palm) * (ROW_HEIGHT + PALM_GAP)
    height = max(ROW_HEIGHT * rows + below - (0.0 if rows else PALM_GAP), ROW_HEIGHT)
    height += 0.75 + bar_height + note
    with style.figure(path, height, numbers=False) as figure:
        if has_phases(result):
            draw_phase_bar(figure, result)
        if cells:
            margins = (0.6, 0.1, 0.5 + note + below, 0.55 + bar_height)
            _draw_fingers(
                result, figure, cells, style.panels(figure, rows, columns, margins=margins)
            )
        for index, body in enumerate(reversed(palm)):
            at = 0.5 + note + index * (ROW_HEIGHT + PALM_GAP)
            _draw_body(_wide(figure, at), result, body, brief=False)
        if not touched:
            _draw_nothing(_wide(figure, 0.5 + note), result)
        style.edge_labels(figure, y="normal force [N]", above=note)
        figure.text(0.06, 0.06 / height, lines, fontsize=7, color=style.MUTED, va="bottom")
        style.legend(figure, _keys(result))
    return Path(path)


def _palms(result: GraspResult) -> list[str]:
    return [contact.body for contact in result.contacts if not contact.finger]


def _untouched(result: GraspResult, touched: set[str]) -> str:
    """The bodies that have no panel."""
    rest = [body_label(one) for one in result.contacts if one.body not in touched]
    soft = {digit.name for digit in result.scene.hand.soft_fingers}
    if soft or not rest:  # of the many links of soft fingers nobody expects all
        return ""
    return f"Never touched: {', '.join(rest)}."


def _cells(result: GraspResult, touched: set[str]) -> dict[tuple[int, int], str]:
    """Row and column of each body that touched: a row a finger, a column a phalanx of all."""
    rows_of_fingers: dict[str, dict[int, str]] = {}
    soft = {digit.name for digit in result.scene.hand.soft_fingers}
    for row in body_rows(result):
        finger, _ = parts(result.scene.hand)[row[0]]
        bodies = row if finger in soft else _phalanges(result, finger)
        touched_columns = {k: body for k, body in enumerate(bodies) if body in touched}
        if touched_columns:
            rows_of_fingers[finger] = touched_columns
    # the same phalanges stand below one another; those of no finger take no room
    used = sorted({k for touched_columns in rows_of_fingers.values() for k in touched_columns})
    return {
        (i, used.index(k)): body
        for i, touched_columns in enumerate(rows_of_fingers.values())
        for k, body in touched_columns.items()
    }


def _phalanges(result: GraspResult, finger: str) -> list[str]:
    """Bodies of a finger in the order of its phalanges, one without a shape as a gap."""
    (described,) = (one for one in result.scene.hand.fingers if one.name == finger)
    return [body for row in described.phalanges for body in described.bodies_of(row) or [""]]


def _draw_fingers(
    result: GraspResult, figure: Figure, cells: dict[tuple[int, int], str], grid: GridSpec
) -> None:
    shared: Axes | None = None
    for (i, j), body in cells.items():
        shared = figure.add_subplot(grid[i, j], sharex=shared, sharey=shared)
        lowest = i == max(row for row, column in cells if column == j)
        leftmost = j == min(column for row, column in cells if row == i)
        shared.tick_params(labelbottom=lowest, labelleft=leftmost)
        _draw_body(shared, result, body, brief=grid.ncols > 3)


def _wide(figure: Figure, at: float) -> Axes:
    """A panel over the whole width, so high above the lower edge [in]."""
    width, height = figure.get_size_inches().tolist()
    return figure.add_axes((0.6 / width, at / height, 1.0 - 0.7 / width, PANEL_HEIGHT / height))


def _draw_nothing(axes: Axes, result: GraspResult) -> None:
    axes.set_title("nothing touched the object")
    axes.plot(result.time[[0, -1]], [0.0, 0.0], color=style.FORCE, lw=0.8)
    axes.set_ylim(0.0, HEADROOM * 2.0 * result.scene.closure.threshold)
    style.time_limits(axes, result.time)


def _draw_body(axes: Axes, result: GraspResult, body: str, *, brief: bool) -> None:
    which = column(result.contact_bodies, body)
    contact, force = result.contact_of(body), result.normal_force[:, which]
    if has_phases(result):
        mark_phases(axes, result, named=False)
    elif result.hold is not None:
        axes.axvspan(result.hold.start_s, result.simulated_time, color=style.HOLD, lw=0)
    _shade(axes, result, force > 0.0, style.TOUCHING)
    _shade(axes, result, result.in_contact[:, which], style.ESTABLISHED)
    if result.hold is not None and not has_phases(result):
        # the shade of a contact hides that of the hold test
        axes.axvline(result.hold.start_s, 0.0, 0.8, color=style.MUTED, lw=0.9, ls=":")
    if len(contact.lost_s) <= MAX_EDGES:
        transform = axes.get_xaxis_transform()
        axes.vlines(contact.established_s, 0, 1, style.EDGE, lw=1.1, transform=transform)
        axes.vlines(contact.lost_s, 0, 1, style.LOST, "dashed", lw=0.8, transform=transform)
    axes.plot(*peaks(result.time, force), color=style.FORCE, lw=0.8)
    style.time_limits(axes, result.time)
    bodies = [body] if not contact.finger else [b.body for b in result.contacts if b.finger]
    axes.set_ylim(0.0, _top(result, bodies))
    title = body_label(contact)
    axes.set_title(title)
    style.annotate(axes, _story(contact, brief or len(title) > LONG_TITLE))
    if force.max() > axes.get_ylim()[1]:
        _name_peak(axes, result, float(result.time[force.argmax()]), float(force.max()))


def _name_peak(axes: Axes, result: GraspResult, time: float, force: float) -> None:
    """An arrowhead where the curve leaves the panel, and how far it goes beside it."""
    transform = axes.get_xaxis_transform()
    axes.plot(
        [time], [1.0], "^", ms=5, mew=0, color=style.FORCE, transform=transform, clip_on=False
    )
    late = time > 0.7 * float(result.time[-1])
    axes.annotate(
        f"peak {newtons(force)}", (time, 0.94), (-6.0 if late else 6.0, 0.0), xycoords=transform,
        textcoords="offset points", ha="right" if late else "left", va="top", fontsize=7.5,
        color=style.INK, bbox={"facecolor": "white", "alpha": 0.9, "lw": 0, "pad": 1.5},
    )  # fmt: skip


def _shade(axes: Axes, result: GraspResult, on: NDArray[np.bool_], color: str) -> None:
    apart = FINEST * (result.time[-1] - result.time[0])
    bars = [(begin, end - begin) for begin, end in merged(spans(result.time, on), apart)]
    transform = axes.get_xaxis_transform()
    axes.broken_barh(bars, (0, 1), color=color, lw=0, transform=transform)


def _story(contact: BodyContact, brief: bool) -> str:
    if contact.first_touch_s is None:
        return "" if brief else "no contact"
    if contact.in_contact:
        since, force = f"{contact.established_s[-1]:.3f} s", newtons(contact.normal_force_N)
        return f"{since}, {force}" if brief else f"established {since}, {force} at the end"
    if not contact.lost_s:
        return "touched" if brief else f"touched {contact.first_touch_s:.3f} s, never established"
    if brief:
        return f"lost {contact.lost_s[-1]:.3f} s"
    times = f"{len(contact.lost_s)} times, last " if len(contact.lost_s) > 1 else ""
    return f"touched {contact.first_touch_s:.3f} s, lost {times}{contact.lost_s[-1]:.3f} s"


def _top(result: GraspResult, bodies: list[str]) -> float:
    """Upper end of the force axis of some bodies [N]."""
    columns = [column(result.contact_bodies, body) for body in bodies]
    forces = result.normal_force[:, columns]
    steady = forces[result.in_contact[:, columns]]
    forces = steady if steady.size else forces[forces > 0.0]
    largest = float(np.percentile(forces, TOP_PERCENTILE)) if forces.size else 0.0
    return HEADROOM * max(largest, 2.0 * result.scene.closure.threshold)


def _keys(result: GraspResult) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    keys: list[Artist] = [
        Line2D([], [], color=style.FORCE, lw=1.0, label="normal force"),
        Patch(color=style.TOUCHING, label="touching"),
        Patch(color=style.ESTABLISHED, label="contact established"),
        Line2D([], [], color=style.LOST, lw=0.8, ls=(0, (3, 2)), label="contact lost"),
    ]
    if has_phases(result):
        keys.append(phase_key())
    elif result.hold is not None:
        keys.append(Patch(color=style.HOLD, label="lifting" if result.scene.lift else "hold test"))
    return keys
