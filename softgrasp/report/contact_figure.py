"""Contacts over time, phalanx by phalanx (paper 004, Figs 7, 9 and 10B)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.render.instants import body_label
from softgrasp.report import style
from softgrasp.report.series import body_rows, peaks, spans
from softgrasp.simulation.result import BodyContact, GraspResult

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

ROW_HEIGHT = 1.2
TOP_PERCENTILE, HEADROOM = 99.0, 1.5
"""The force axis ends this far above what contacts rest on; impacts are named, not drawn."""


def draw_contacts(result: GraspResult, path: str | Path) -> Path:
    """Draw when each body touched and how hard: a row a finger, a column a phalanx, the palm.

    Args:
        result: The run.
        path: The ``.png`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    fingers = body_rows(result)
    known = set(result.contact_bodies)
    palm = [body for body in result.contact_bodies if not result.contact_of(body).finger]
    rows, columns = len(fingers) + len(palm), max(map(len, fingers))
    with style.figure(path, ROW_HEIGHT * rows + 0.7) as figure:
        grid = figure.add_gridspec(rows, columns)
        places = {b: grid[i, j] for i, row in enumerate(fingers) for j, b in enumerate(row)}
        places |= {body: grid[len(fingers) + k, :] for k, body in enumerate(palm)}
        shared: Axes | None = None
        for body in (body for body in places if body in known):
            axes = figure.add_subplot(places[body], sharex=shared, sharey=shared)
            shared = shared or axes
            _draw_body(axes, result, body)
            spec = axes.get_subplotspec()
            axes.label_outer() if spec is None or body not in palm else None
        if shared is not None:
            shared.set_ylim(0.0, _top(result))
            shared.set_xlim(*_limits(result))
        figure.supxlabel("time [s]", fontsize=8.5)
        figure.supylabel("normal force [N]", fontsize=8.5)
        figure.legend(handles=_keys(result), loc="outside upper center", ncols=6)
    return Path(path)


def _draw_body(axes: Axes, result: GraspResult, body: str) -> None:
    column = result.contact_bodies.index(body)
    contact, force = result.contact_of(body), result.normal_force[:, column]
    if result.hold is not None:
        axes.axvspan(result.hold.start_s, result.simulated_time, color=style.HOLD, lw=0)
    for begin, end in spans(result.time, force > 0.0):
        axes.axvspan(begin, end, color=style.TOUCHING, alpha=0.55, lw=0)
    for begin, end in spans(result.time, result.in_contact[:, column]):
        axes.axvspan(begin, end, color="white", lw=0)
        axes.axvspan(begin, end, color=style.ESTABLISHED, alpha=0.45, lw=0)
    for time in contact.established_s:
        axes.axvline(time, color=style.ESTABLISHED, lw=1.1)
    for time in contact.lost_s:
        axes.axvline(time, color=style.AXES_COLORS[0], lw=0.8, ls=(0, (3, 2)))
    axes.plot(*peaks(result.time, force), color=style.FORCE, lw=0.8)
    axes.set_title(body_label(contact.finger, contact.phalanx), pad=3)
    axes.text(
        1.0, 1.02, _story(contact, float(force.max())), transform=axes.transAxes, ha="right",
        va="bottom", fontsize=7, color=style.MUTED,
    )  # fmt: skip


def _story(contact: BodyContact, peak: float) -> str:
    if contact.first_touch_s is None:
        return "no contact"
    if contact.in_contact:
        return (
            f"established {contact.established_s[-1]:.3f} s, "
            f"{contact.normal_force_N:.3g} N at the end, peak {peak:.3g} N"
        )
    ending = f"lost {contact.lost_s[-1]:.3f} s" if contact.lost_s else "never established"
    return f"touched {contact.first_touch_s:.3f} s, {ending}, peak {peak:.3g} N"


def _top(result: GraspResult) -> float:
    """Upper end of the force axis [N]."""
    steady = result.normal_force[result.in_contact]
    forces = steady if steady.size else result.normal_force[result.normal_force > 0.0]
    largest = float(np.percentile(forces, TOP_PERCENTILE)) if forces.size else 0.0
    return HEADROOM * max(largest, 2.0 * result.scene.closure.threshold)


def _limits(result: GraspResult) -> tuple[float, float]:
    start, end = float(result.time[0]), float(result.time[-1])
    return start, end if end > start else start + result.scene.control_period


def _keys(result: GraspResult) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    keys: list[Artist] = [
        Line2D([], [], color=style.FORCE, lw=1.0, label="normal force"),
        Patch(color=style.TOUCHING, alpha=0.55, label="touching"),
        Patch(color=style.ESTABLISHED, alpha=0.45, label="contact established"),
        Line2D([], [], color=style.ESTABLISHED, lw=1.2, label="established"),
        Line2D([], [], color=style.AXES_COLORS[0], lw=0.8, ls=(0, (3, 2)), label="lost"),
    ]
    if result.hold is not None:
        keys.append(Patch(color=style.HOLD, label="hold test"))
    return keys
