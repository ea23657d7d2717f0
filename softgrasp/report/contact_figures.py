"""Figures of contacts, grasp quality, sensors, pulls, ensembles, and rendered image rows.

Each ``draw_…`` function writes ``path`` (``.png``) and the CSV of its table, and raises
``ResultError`` where a file cannot be written.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.sensor import ForceTorqueSensor, TactileSensor
from softgrasp.evaluation.quality_log import QualityLog
from softgrasp.evaluation.result import (
    BodyContact,
    GraspResult,
    PeakForce,
    SensorReading,
    column,
)
from softgrasp.mechanics.transforms import Array
from softgrasp.model.names import parts
from softgrasp.rendering.keyframes import Playback, body_label, has_phases, key_frames
from softgrasp.rendering.overlay import Image
from softgrasp.rendering.video import framing, render_key_frames
from softgrasp.rendering.viewpoint import Viewpoint
from softgrasp.report import style
from softgrasp.report.grasp_text import let_go_s, out_of_hand
from softgrasp.report.style import newtons, signed
from softgrasp.report.time_series import (
    CLOSING,
    TIME,
    body_rows,
    merge,
    peaks,
    sample,
    shade_phases,
    spans,
    thin,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

    from softgrasp.sweeps.ensemble import EnsembleResult


ROW_HEIGHT, PANEL_HEIGHT, PALM_GAP = 1.15, 0.85, 0.25
"""Height of a row with its title, of its panel, and gap above the palm rows [in]."""
MAX_EDGES = 20
"""Contacts lost more often than this chatter; their single losses are not drawn."""
FINEST = 1.5e-3
"""Intervals closer than this fraction of the run are drawn as one."""
TOP_PERCENTILE, HEADROOM = 99.0, 1.5
"""The force axis ends at this percentile of established contacts times this factor; impacts are
annotated instead."""

QUALITY_HEADROOM = 1.25
SMALL_MARGIN, MIN_MARGIN = 0.2, 0.01
"""Friction margins below the first value get a smaller axis, which spans at least the second."""


Signals = tuple[str, Sequence[str], Array, Array]
"""Title of a panel, names of its signals, their reported and their true values (T, n)."""
COLUMNS, TACTILE_PANEL_HEIGHT = 4, 1.9
"""Maps per row, and height of one [in]."""
MAP = "YlGnBu"

SIZE = (584, 600)
"""Width and height of one image [px]."""
GAP, ABOVE = 12, 84
"""Space between images, and above them [px]."""
CAPTION_WIDTH = 32
"""Characters in a line of a caption."""


def draw_contacts(result: GraspResult, path: str | Path) -> Path:
    """Draw contact state and normal force of each body: one row per finger, one column per phalanx.

    Bodies that never touched the object have no panel. The palm has a separate row.
    """
    touched = {contact.body for contact in result.contacts if contact.first_touch_s is not None}
    cells = _cells(result, touched)
    palm = [item.body for item in result.contacts if not item.finger and item.body in touched]
    rows, columns = (1 + max((cell[k] for cell in cells), default=-1) for k in range(2))
    below = len(palm) * (ROW_HEIGHT + PALM_GAP)
    height = max(ROW_HEIGHT * rows + below - (0.0 if rows else PALM_GAP), ROW_HEIGHT)
    height += 0.75
    with style.figure(path, height) as (figure, table):
        table.add(sample(_contact_columns(result)))
        if cells:
            margins = (0.6, 0.1, 0.5 + below, 0.55)
            grid = style.panels(figure, rows, columns, margins=margins)
            _draw_fingers(result, figure, cells, grid)
        for index, body in enumerate(reversed(palm)):
            at = 0.5 + index * (ROW_HEIGHT + PALM_GAP)
            _draw_body(_full_width_panel(figure, at), result, body)
        if not touched:
            axes = _full_width_panel(figure, 0.5)
            axes.set_title("nothing touched the object")
            axes.plot(result.time[[0, -1]], [0.0, 0.0], color=style.FORCE, lw=0.8)
            axes.set_ylim(0.0, HEADROOM * 2.0 * result.scene.closure.threshold)
            style.time_limits(axes, result.time)
        style.edge_labels(figure, y="normal force [N]")
        style.legend(figure, _legend_entries(result))
    return Path(path)


def _contact_columns(result: GraspResult) -> dict[str, Array]:
    """Contact forces of each body of the hand, and whether contact is established (0 or 1)."""
    columns = {TIME: result.time}
    for index, body in enumerate(result.contact_bodies.tolist()):
        label = body_label(result.contact_of(body))
        columns[f"{label} normal force [N]"] = result.normal_force[:, index]
        columns[f"{label} friction force [N]"] = result.friction_force[:, index]
        columns[f"{label} in contact"] = result.in_contact[:, index].astype(float)
    return columns


def _cells(result: GraspResult, touched: set[str]) -> dict[tuple[int, int], str]:
    """Row (finger) and column (phalanx) of each body that touched the object."""
    rows_of_fingers: dict[str, dict[int, str]] = {}
    rigid = {finger.name: finger for finger in result.scene.hand.fingers}
    for bodies in body_rows(result):
        finger, _ = parts(result.scene.hand)[bodies[0]]
        if finger in rigid:  # in phalanx order; empty for a phalanx without geometry
            links = (rigid[finger].bodies_of(row) or [""] for row in rigid[finger].phalanges)
            bodies = [body for link in links for body in link]
        touched_columns = {k: body for k, body in enumerate(bodies) if body in touched}
        if touched_columns:
            rows_of_fingers[finger] = touched_columns
    # equal phalanges share a column; columns without any contact are dropped
    used = sorted({k for touched_columns in rows_of_fingers.values() for k in touched_columns})
    return {
        (i, used.index(k)): body
        for i, touched_columns in enumerate(rows_of_fingers.values())
        for k, body in touched_columns.items()
    }


def _draw_fingers(
    result: GraspResult, figure: Figure, cells: dict[tuple[int, int], str], grid: GridSpec
) -> None:
    shared: Axes | None = None
    for (i, j), body in cells.items():
        shared = figure.add_subplot(grid[i, j], sharex=shared, sharey=shared)
        lowest = i == max(row for row, column in cells if column == j)
        leftmost = j == min(column for row, column in cells if row == i)
        shared.tick_params(labelbottom=lowest, labelleft=leftmost)
        _draw_body(shared, result, body)


def _draw_body(axes: Axes, result: GraspResult, body: str) -> None:
    which = column(result.contact_bodies, body)
    contact, force = result.contact_of(body), result.normal_force[:, which]
    shade_phases(axes, result)
    _shade(axes, result, force > 0.0, style.TOUCHING)
    _shade(axes, result, result.in_contact[:, which], style.ESTABLISHED)
    if result.hold is not None and not has_phases(result):
        # contact shading hides the background of the hold test
        axes.axvline(result.hold.start_s, 0.0, 0.8, color=style.MUTED, lw=0.9, ls=":")
    if len(contact.lost_s) <= MAX_EDGES:
        transform = axes.get_xaxis_transform()
        axes.vlines(contact.established_s, 0, 1, style.EDGE, lw=1.1, transform=transform)
        axes.vlines(contact.lost_s, 0, 1, style.LOST, "dashed", lw=0.8, transform=transform)
    axes.plot(*peaks(result.time, force), color=style.FORCE, lw=0.8)
    style.time_limits(axes, result.time)
    bodies = [body] if not contact.finger else [b.body for b in result.contacts if b.finger]
    axes.set_ylim(0.0, _top(result, bodies))
    axes.set_title(body_label(contact))
    style.annotate(axes, _contact_annotation(contact))
    peak = next((item for item in result.peaks if item.body == body), None)
    if peak is not None and peak.force_N > axes.get_ylim()[1]:
        _annotate_peak(axes, result, peak)


def _shade(axes: Axes, result: GraspResult, on: NDArray[np.bool_], color: str) -> None:
    apart = FINEST * (result.time[-1] - result.time[0])
    bars = [(begin, end - begin) for begin, end in merge(spans(result.time, on), apart)]
    transform = axes.get_xaxis_transform()
    axes.broken_barh(bars, (0, 1), color=color, lw=0, transform=transform)


def _top(result: GraspResult, bodies: list[str]) -> float:
    """Upper limit of the force axis of the bodies [N]."""
    columns = [column(result.contact_bodies, body) for body in bodies]
    forces = result.normal_force[:, columns]
    steady = forces[result.in_contact[:, columns]]
    forces = steady if steady.size else forces[forces > 0.0]
    largest = float(np.percentile(forces, TOP_PERCENTILE)) if forces.size else 0.0
    return HEADROOM * max(largest, 2.0 * result.scene.closure.threshold)


def _contact_annotation(contact: BodyContact) -> str:
    if contact.in_contact:
        return f"{contact.established_s[-1]:.3f} s, {newtons(contact.normal_force_N)}"
    if contact.lost_s:
        return f"lost {contact.lost_s[-1]:.3f} s"
    return "" if contact.first_touch_s is None else "touched"


def _annotate_peak(axes: Axes, result: GraspResult, peak: PeakForce) -> None:
    """Mark with an arrowhead where the force is beyond the panel, and write its peak."""
    transform, time = axes.get_xaxis_transform(), peak.time_s
    doubt = "" if peak.resolved else " (not resolved)"
    axes.plot(
        [time], [1.0], "^", ms=5, mew=0, color=style.FORCE, transform=transform, clip_on=False
    )
    late = time > 0.7 * float(result.time[-1])
    text, shift = f"peak {newtons(peak.force_N)}{doubt}", (-6.0 if late else 6.0, 0.0)
    axes.annotate(
        text, (time, 0.94), shift, xycoords=transform,
        textcoords="offset points", ha="right" if late else "left", va="top", fontsize=7.5,
        color=style.INK, bbox={"facecolor": "white", "alpha": 0.9, "lw": 0, "pad": 1.5},
    )  # fmt: skip


def _full_width_panel(figure: Figure, at: float) -> Axes:
    """Add a full-width panel at a height above the lower edge [in]."""
    width, height = figure.get_size_inches().tolist()
    return figure.add_axes((0.6 / width, at / height, 1.0 - 0.7 / width, PANEL_HEIGHT / height))


def _legend_entries(result: GraspResult) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    keys: list[Artist] = [
        Line2D([], [], color=style.FORCE, lw=1.0, label="normal force"),
        Patch(color=style.TOUCHING, label="touching"),
        Patch(color=style.ESTABLISHED, label="contact established"),
        Line2D([], [], color=style.LOST, lw=0.8, ls=(0, (3, 2)), label="contact lost"),
    ]
    if has_phases(result):
        keys.append(Patch(facecolor=CLOSING, edgecolor=style.RULE, lw=0.6, label="closing"))
    elif result.hold is not None:
        keys.append(Patch(color=style.HOLD, label="lifting" if result.scene.lift else "hold test"))
    return keys


def draw_quality(result: GraspResult, path: str | Path) -> Path:
    """Draw ε and the friction margin of a run with a quality log over time."""
    log = result.quality_log
    assert log is not None  # checked by the caller
    with style.figure(path, 3.6) as (figure, table):
        columns = {TIME: log.time, "ε": log.epsilon, "friction margin": log.margin}
        table.add(sample(columns))  # the margin is empty without contact force
        grid = style.panels(figure, 2, 1, margins=(0.6, 0.1, 0.5, 0.3), gaps=(0.0, 0.42))
        above = figure.add_subplot(grid[0])
        below = figure.add_subplot(grid[1], sharex=above)
        for axes in (above, below):
            shade_phases(axes, result)
        _draw_epsilon(above, log)
        _draw_margin(below, log)
        above.tick_params(labelbottom=False)
        style.time_limits(below, result.time)
        style.edge_labels(figure)
    return Path(path)


def _draw_epsilon(axes: Axes, log: QualityLog) -> None:
    axes.plot(log.time, log.epsilon, color=style.POSITION)
    axes.set_ylim(0.0, max(QUALITY_HEADROOM * float(log.epsilon.max()), 0.05))
    axes.set_title("ε: the smallest wrench that breaks the grasp, per newton of its contacts [–]")
    if log.closed_at is None:
        style.annotate(axes, "no force closure")
        return
    axes.axvline(log.closed_at, color=style.EDGE, lw=1.1)
    axes.text(
        log.closed_at, 0.96 * axes.get_ylim()[1], f" force closure {log.closed_at:.2f} s ",
        ha="left" if log.closed_at < 0.7 * log.time[-1] else "right", va="top",
        fontsize=7.5, color=style.EDGE,
    )  # fmt: skip


def _draw_margin(axes: Axes, log: QualityLog) -> None:
    axes.plot(log.time, log.margin, color=style.INK)
    axes.axhline(0.0, color=style.LOST, lw=0.9, ls=(0, (3, 2)))
    finite = log.margin[np.isfinite(log.margin)]
    usual = float(np.percentile(finite, 95.0)) if finite.size else 1.0
    # a contact close to slipping throughout would be a line on the axis
    top = 1.05 if usual > SMALL_MARGIN else QUALITY_HEADROOM * max(usual, MIN_MARGIN)
    axes.set_ylim(-0.05 * top, top)
    if finite.size and finite.max() > top:
        style.annotate(axes, f"clipped; maximum {finite.max():.2f}")
    axes.set_title("friction margin 1 − |Ft|/(µ Fn) of the body closest to slipping [–]")
    if not np.isfinite(log.margin).any():
        style.annotate(axes, "no contact force")


def draw_sensors(result: GraspResult, path: str | Path) -> Path:
    """Draw the signals of each sensor, with the true value where the sensor model adds errors."""
    rows = _signal_rows(result)
    with style.figure(path, 1.7 * len(rows) + 0.7) as (figure, table):
        table.add(sample(_sensor_columns(result)))
        grid = style.panels(figure, len(rows), 2, margins=(0.6, 1.35, 0.5, 0.35), gaps=(1.75, 0.4))
        for index, row in enumerate(rows):
            for column, signals in enumerate(row):
                axes = figure.add_subplot(grid[index, column] if len(row) == 2 else grid[index, :])
                _draw_signals(axes, result.time, *signals)
        style.edge_labels(figure)
    return Path(path)


def _sensor_columns(result: GraspResult) -> dict[str, Array]:
    """Return the reported value of each channel, and the ideal value where they differ."""
    columns = {TIME: result.time}
    for name, reading in result.sensors.items():
        for index, channel in enumerate(reading.channels):
            reported, truth = reading.values[:, index], reading.truth[:, index]
            columns[f"{name}.{channel}"] = reported
            if not np.array_equal(reported, truth):
                columns[f"{name}.{channel} truth"] = truth
    return columns


def _signal_rows(result: GraspResult) -> list[list[Signals]]:
    """Return the signals of the panels, row by row."""
    rows: list[list[Signals]] = []
    if tactile := tactile_readings(result):
        names = [reading.sensor.name.removeprefix("tactile_") for reading in tactile]
        values = np.column_stack([reading.values.sum(axis=1) for reading in tactile])
        truth = np.column_stack([reading.truth.sum(axis=1) for reading in tactile])
        rows.append([("taxels of a sensor, sum [N]", names, values, truth)])
    for reading in result.sensors.values():
        panels = {"servo torque [N·m or N]": slice(None)}
        if isinstance(reading.sensor, ForceTorqueSensor):
            panels = {"force [N]": slice(0, 3), "torque [N·m]": slice(3, 6)}
        if not isinstance(reading.sensor, TactileSensor):
            rows.append([
                (f"{reading.sensor.name}: {quantity}", reading.channels[part],
                 reading.values[:, part], reading.truth[:, part])
                for quantity, part in panels.items()
            ])  # fmt: skip
    return rows


def _draw_signals(
    axes: Axes, time: Array, title: str, names: Sequence[str], values: Array, truth: Array
) -> None:
    colors = style.AXES_COLORS if len(names) == 3 else style.SERIES
    differs = not np.array_equal(values, truth)
    for index, (name, color) in enumerate(zip(names, cycle(colors))):
        line = thin(time, values[:, index])
        axes.plot(*line, color=color, lw=0.7 if differs else 1.2, alpha=0.6 if differs else 1.0)
        axes.plot([], [], color=color, lw=1.4, label=name.replace("_", " "))
        if differs:
            axes.plot(*thin(time, truth[:, index]), color=color, lw=1.3)
    axes.set_title(title)
    style.set_min_span(axes, 1e-3)
    if len(names) <= 8:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7.5, handlelength=1.2)
    if differs:
        style.annotate(axes, "pale: sensor; dark: true value")
    style.time_limits(axes, time)


def tactile_readings(result: GraspResult) -> list[SensorReading]:
    """Readings of the tactile sensors of a run."""
    readings = result.sensors.values()
    return [reading for reading in readings if isinstance(reading.sensor, TactileSensor)]


def draw_tactile(result: GraspResult, path: str | Path) -> Path:
    """Draw one map per tactile sensor at the last control sample, with a common scale."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    readings = tactile_readings(result)
    columns = min(len(readings), COLUMNS)
    rows = math.ceil(len(readings) / columns)
    top = max((float(np.abs(reading.values[-1]).max()) for reading in readings), default=0.0)
    scale = Normalize(0.0, top or 1.0)
    with style.figure(path, TACTILE_PANEL_HEIGHT * rows + 0.9) as (figure, table):
        panels = style.subplots(
            figure, len(readings), columns, margins=(0.55, 1.0, 0.55, 0.4), gaps=(0.3, 0.45)
        )
        for index, (axes, reading) in enumerate(zip(panels, readings, strict=True)):
            _draw_map(axes, reading, scale)
            along, around = np.indices(reading.taxels[-1].shape).reshape(2, -1)
            force = f"{reading.sensor.name} normal force [N]"
            table.add({"row": along, "column": around, force: reading.taxels[-1].ravel()})
            axes.tick_params(labelleft=index % columns == 0)
        style.edge_labels(figure, x="column, around the body", y="row, along the body")
        width, height = figure.get_size_inches().tolist()
        box = (1.0 - 0.75 / width, 0.55 / height, 0.13 / width, 1.0 - 0.95 / height)
        bar, label = figure.add_axes(box), "normal force of a taxel [N]"
        figure.colorbar(ScalarMappable(scale, MAP), cax=bar, label=label)
    return Path(path)


def _draw_map(axes: Axes, reading: SensorReading, scale: Normalize) -> None:
    forces = reading.taxels[-1]
    axes.imshow(
        forces, cmap=MAP, norm=scale, origin="lower", aspect="auto", interpolation="nearest"
    )
    axes.set_title(reading.sensor.name.removeprefix("tactile_").replace("_", " "))
    style.annotate(axes, f"{forces.sum():.2f} N")
    axes.set_xticks(range(0, forces.shape[1], max(forces.shape[1] // 8, 1)))
    axes.set_yticks(range(0, forces.shape[0], max(forces.shape[0] // 8, 1)))
    axes.grid(visible=False)


def draw_ensemble(ensemble: EnsembleResult, path: str | Path) -> Path:
    """Draw the bands of force and displacement over time.

    Raises:
        ResultError: The file cannot be written.
    """
    drawn = (
        ("sum of the normal forces on the object [N]", ensemble.force, 1.0),
        ("displacement of the object [mm]", ensemble.displacement, 1e3),
    )
    with style.figure(path, 3.0) as (figure, table):
        panels = style.subplots(figure, 2, margins=(0.6, 0.1, 0.5, 0.55))
        for axes, (title, band, factor) in zip(panels, drawn, strict=True):
            axes.set_title(title)
            if not band.time:
                continue
            time, low, median, high, nominal = (
                np.array(band.time),
                *(factor * np.array(x) for x in (band.low, band.median, band.high, band.nominal)),
            )
            color, label = style.SERIES[0], "2.5 to 97.5 %"
            axes.fill_between(time, low, high, color=color, alpha=0.25, lw=0, label=label)
            table.plot(axes, time, median, f"median of {title}", color=color, label="median")
            table.plot(axes, time, nominal, f"calibrated finger: {title}", color=style.INK,
                       ls="--", label="calibrated finger")  # fmt: skip
            table.add({"time [s]": time, f"2.5 % of {title}": low, f"97.5 % of {title}": high})
            style.time_limits(axes, time)
        style.edge_labels(figure)
        style.legend(figure)
    return Path(path)


def band_rows(ensemble: EnsembleResult) -> list[list[str]]:
    """Return table rows: quantity, calibrated finger, quantiles; lengths in mm."""
    from softgrasp.sweeps.ensemble import QUANTITIES

    rows = []
    for band in ensemble.bands:
        name = QUANTITIES[band.quantity]
        factor = 1e3 if name.endswith("[m]") else 1.0
        numbers = (band.nominal, band.low, band.median, band.high)
        cells = ["–" if x is None else f"{factor * x:.3g}" for x in numbers]
        rows.append([name.replace("[m]", "[mm]"), *cells])
    return rows


def strip_images(
    result: GraspResult, renderer: str = "auto", viewpoint: Viewpoint | None = None
) -> list[Image]:
    """Render the five key frames of a run, from a viewpoint or from one that is chosen for it.

    Raises:
        BackendUnavailable: The requested renderer is not available.
    """
    times = [time for time, _ in key_frames(result)]
    return render_key_frames(result, times, renderer=renderer, size=SIZE, viewpoint=viewpoint)


def draw_strip(result: GraspResult, path: str | Path, images: Sequence[Image]) -> Path:
    """Lay out the ``strip_images`` of a run side by side, as in Pozzi et al. (2022), Figure 10A."""
    times, captions = zip(*key_frames(result), strict=True)
    titles = [f"{time:.3f} s" for time in times]
    return _row(images, titles, captions, path)


def _row(
    images: Sequence[Image], titles: Sequence[str], captions: Sequence[str], path: str | Path
) -> Path:
    """Lay out images of one size in a row, at lower resolution if smaller than ``SIZE``."""
    wrap = partial(textwrap.fill, width=CAPTION_WIDTH)
    lines = ["\n".join(filter(None, map(wrap, caption.split("\n")))) for caption in captions]
    scale = images[0].shape[1] / SIZE[0]
    gap, above = round(scale * GAP), round(scale * ABOVE)
    below = round(scale * (24 + 46 * max(text.count("\n") + 1 for text in lines)))
    width = len(images) * (images[0].shape[1] + gap) + gap
    height = above + images[0].shape[0] + below
    dpi = scale * style.DPI
    with style.figure(path, height / dpi, width / dpi, dpi=dpi) as (figure, _):
        for column, (image, title, text) in enumerate(zip(images, titles, lines, strict=True)):
            left = gap + column * (image.shape[1] + gap)
            middle = (left + 0.5 * image.shape[1]) / width
            # without resampling, which would blur the images and double the file size
            figure.figimage(image, left, below)
            top = 1.0 - 0.75 * above / height
            figure.text(middle, top, title, ha="center", fontsize=9, fontweight="bold")
            figure.text(middle, (below - 12 * scale) / height, text, ha="center", va="top",
                        fontsize=7.5)  # fmt: skip
    return Path(path)


def final_poses(
    results: Sequence[GraspResult],
    labels: Sequence[str],
    path: str | Path,
    *,
    renderer: str = "auto",
    one_viewpoint: bool = True,
) -> Path:
    """Render the final states of several runs side by side (Pozzi et al. 2022, Figure 12C).

    Args:
        results: The runs, all of one hand.
        labels: Names of the runs.
        path: The ``.png`` to write.
        renderer: ``auto``, ``gl`` or ``raycast``.
        one_viewpoint: Whether all runs share one camera; otherwise each gets its best camera.

    Raises:
        BackendUnavailable: The requested renderer is not available.
        ResultError: The file cannot be written.
    """
    images = final_images(results, renderer=renderer, one_viewpoint=one_viewpoint, size=SIZE)
    return draw_final_images(results, images, labels, path)


def final_images(
    results: Sequence[GraspResult],
    *,
    renderer: str = "auto",
    one_viewpoint: bool = True,
    size: tuple[int, int] | None = None,
) -> list[Image]:
    """Render the images of ``final_poses`` in a size [px], by default ``SIZE``."""
    size = size or SIZE
    playbacks = [Playback(result) for result in results]
    groups = [playbacks] if one_viewpoint else [[playback] for playback in playbacks]
    cameras = [framing(group, size, only_ends=True) for group in groups]
    if one_viewpoint:
        cameras *= len(results)
    images = []
    for result, camera, playback in zip(results, cameras, playbacks, strict=True):
        images += render_key_frames(
            result, result.time[-1:].tolist(), renderer=renderer, size=size, camera=camera,
            playback=playback,
        )  # fmt: skip
    return images


def draw_final_images(
    results: Sequence[GraspResult],
    images: Sequence[Image],
    labels: Sequence[str],
    path: str | Path,
    captions: Sequence[str] = (),
) -> Path:
    """Lay out the images of ``final_images``; for the other arguments see ``final_poses``."""
    texts = [_move(result) for result in results]
    if captions:
        texts = [f"{text}\n{moved}" for text, moved in zip(captions, texts, strict=True)]
    return _row(images, labels, texts, path)


def _move(result: GraspResult) -> str:
    if out_of_hand(result):
        return "no longer in the hand" if let_go_s(result) is not None else "never in the hand"
    x, y, z = (signed(1e3 * part, 1) for part in result.object.displacement_m)
    return f"moved ({x}, {y}, {z}) mm"
