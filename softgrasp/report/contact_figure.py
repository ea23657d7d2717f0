"""Contacts over time, phalanx by phalanx (paper 004, Figs 7, 9 and 10B)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softgrasp.render.instants import body_label
from softgrasp.render.phases import has_phases
from softgrasp.report import style
from softgrasp.report.phase_marks import LANE_HEIGHT, draw_lane, mark_phases, phase_key
from softgrasp.report.quantities import newtons
from softgrasp.report.series import body_rows, merged, peaks, spans
from softgrasp.simulation.result import GraspResult, column
from softgrasp.simulation.told_contacts import BodyContact

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

ROW_HEIGHT, PALM_GAP = 1.15, 0.25
LONG_TITLE = 10
"""Letters of a title beside which there is room for a few words only."""
MOST_EDGES = 20
"""Contacts that are lost more often than this chatter; single lines would hide them."""
FINEST = 1.5e-3
"""Stretches nearer to one another than this part of the run are drawn as one."""
TOP_PERCENTILE, HEADROOM = 99.0, 1.5
"""The force axis ends this far above what contacts rest on; impacts are named, not drawn."""


def draw_contacts(result: GraspResult, path: str | Path) -> Path:
    """Draw when each body touched and how hard: a row a finger, a column a phalanx.

    The palm has a row of its own where it touched.

    Args:
        result: The run.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    fingers, known = body_rows(result), set(result.contact_bodies.tolist())
    # a palm that never touched has nothing to show; the phalanges keep their places in the grid
    palm = [
        contact.body
        for contact in result.contacts
        if not contact.finger and contact.first_touch_s is not None
    ]
    columns, below = max(map(len, fingers), default=1), len(palm) * (ROW_HEIGHT + PALM_GAP)
    lane_height = LANE_HEIGHT if has_phases(result) else 0.0
    with style.figure(
        path, ROW_HEIGHT * len(fingers) + below + lane_height + 0.75, numbers=False
    ) as figure:
        top = 0.55 + lane_height
        upper = (0.6, 0.1, 0.5 + below, top)
        if has_phases(result):
            draw_lane(figure, result)
        grid = style.panels(figure, len(fingers), columns, margins=upper)
        shared: Axes | None = None
        for (i, j), body in _places(fingers, known):
            shared = figure.add_subplot(grid[i, j], sharex=shared, sharey=shared)
            shared.tick_params(labelbottom=i == len(fingers) - 1, labelleft=j == 0)
            _draw_body(shared, result, body, brief=columns > 3)
        for body in palm:
            lower = (0.6, 0.1, 0.5, ROW_HEIGHT * len(fingers) + top + PALM_GAP)
            lane = figure.add_subplot(style.panels(figure, 1, 1, margins=lower)[0])
            _draw_body(lane, result, body, brief=False)
        style.edge_labels(figure, y="normal force [N]")
        style.legend(figure, _keys(result))
    return Path(path)


def _places(fingers: list[list[str]], known: set[str]) -> Iterator[tuple[tuple[int, int], str]]:
    for i, row in enumerate(fingers):
        yield from (((i, j), body) for j, body in enumerate(row) if body in known)


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
    if len(contact.lost_s) <= MOST_EDGES:
        place = axes.get_xaxis_transform()
        axes.vlines(contact.established_s, 0, 1, style.EDGE, lw=1.1, transform=place)
        axes.vlines(contact.lost_s, 0, 1, style.LOST, "dashed", lw=0.8, transform=place)
    axes.plot(*peaks(result.time, force), color=style.FORCE, lw=0.8)
    style.time_limits(axes, result.time)
    bodies = [body] if not contact.finger else [b.body for b in result.contacts if b.finger]
    axes.set_ylim(0.0, _top(result, bodies))
    title = body_label(contact)
    axes.set_title(title)
    style.note(axes, _story(contact, brief or len(title) > LONG_TITLE))
    if force.max() > axes.get_ylim()[1]:
        axes.text(
            result.time[force.argmax()], 0.97 * axes.get_ylim()[1], f" peak {newtons(force.max())}",
            fontsize=6.5, color=style.MUTED, va="top",
        )  # fmt: skip


def _shade(axes: Axes, result: GraspResult, on: NDArray[np.bool_], color: str) -> None:
    apart = FINEST * (result.time[-1] - result.time[0])
    bars = [(begin, end - begin) for begin, end in merged(spans(result.time, on), apart)]
    place = axes.get_xaxis_transform()
    axes.broken_barh(bars, (0, 1), color=color, lw=0, transform=place)


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
