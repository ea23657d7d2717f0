"""Figures of a grasp over time: joints, actuators and objects, and their CSV tables.

``draw_joints`` plots joint positions against their targets (one row per finger), ``draw_object``
the translation and the Euler angles of each object, ``overlay_objects`` the object motion of
several runs in one figure. Each writes ``path`` (``.png``) and a CSV table with one row per
millisecond, and raises ``ResultError`` where a file cannot be written.

Displacements are relative to the start, in the world frame, in millimetres; rotations are
intrinsic z-y-x Euler angles in degrees, unwrapped. The layout follows Figures 8, 11 and 12 of
Pozzi, Achilli, Valigi and Malvezzi, "Modeling and Simulation of Robotic Grasping in Simulink
Through Simscape Multibody", Frontiers in Robotics and AI 2022.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, cycle
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.closure_base import ClosureActuator
from softgrasp.description.contact import SuctionCup
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.soft_finger import MountedSoftFinger
from softgrasp.evaluation.result import GraspResult, PhaseSpan, column
from softgrasp.mechanics.transforms import Array, euler_from_quaternions, relative_quaternions
from softgrasp.model import names
from softgrasp.rendering.keyframes import choose_shown_phases, has_phases
from softgrasp.report import style
from softgrasp.report.grasp_text import let_go_s, out_of_hand
from softgrasp.report.style import signed

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


TIME = "time [s]"
APART = 1e-3
"""Smallest time between two rows of a CSV table [s]."""
Columns = dict[str, Array]


BEYOND = 1.0
"""Curves are clipped this many joint ranges outside the limits."""

MIN_OBJECT_SPAN = 0.1
"""Minimum span of a panel [mm or deg]; smaller motion is rounding."""
MARGIN = 0.14
"""Free space above and below the curves over their span, for annotations."""
KEY_LETTERS, KEY_HEIGHT = 150, 0.19
"""Characters in a line of the legend (a handle counts as eight), and its height [in]."""
TRANSLATIONS = ("x", "y", "z")
ROTATIONS = ("ψ about x", "θ about y", "φ about z")
"""Intrinsic z-y-x Euler angles, named as in Pozzi et al. (2022)."""

MAX_POINTS = 2000
"""Maximum number of points of a curve."""

UNITS = {"rad": ("°", 180.0 / np.pi), "m": (" mm", 1e3), "": ("", 1.0)}
"""Displayed unit and factor of actuator units; other units are displayed unchanged."""

CLOSING = "#e4ecd9"
"""Background of the closure."""


class ActuatorPanel(NamedTuple):
    """Curves of one joint or actuator, or of the pressure or curvature of a soft finger."""

    title: str
    unit: str
    """Suffix of a number: ``°``, `` mm``, `` kPa`` or ``/m``."""
    limits: tuple[float, float] | None
    """Lower and upper limit in the unit."""
    values: Array
    """Values in the unit, (T,)."""
    target: Array | None = None
    """Targets in the unit, (T,)."""
    phalanx_bodies: Sequence[str] = ()
    """Bodies that it moves directly."""
    later: Sequence[str] = ()
    """More distal bodies that move with them."""


def _target(result: GraspResult, name: str) -> Array:
    return result.joint_target[:, column(result.actuator_names, name)]


def _position(result: GraspResult, joint: str) -> Array:
    return result.joint_position[:, column(result.joint_names, joint)]


def draw_joints(result: GraspResult, path: str | Path) -> Path:
    """Draw position and target of each joint over time: one row per finger, one column per joint.

    The row of a soft finger shows its pressure and curvature.
    """
    rows = list(actuator_rows(result))
    columns = max(map(len, rows))
    with style.figure(path, 1.2 * len(rows) + 0.8) as (figure, table):
        table.add(sample(_joint_columns(result, chain.from_iterable(rows))))
        grid = style.panels(figure, len(rows), columns, margins=(0.6, 0.1, 0.5, 0.55))
        heads: dict[tuple[int, str, bool], Axes] = {}
        for i, row in enumerate(rows):
            for j, panel in enumerate(row):
                first = next(iter(heads.values()), None)
                # the wrist moves farther than the joints of the hand
                axis_key = (j, panel.unit, panel.limits is None)
                axes = figure.add_subplot(grid[i, j], sharex=first, sharey=heads.get(axis_key))
                heads.setdefault(axis_key, axes)
                _draw_panel(axes, result, panel, brief=columns > 3)
                axes.tick_params(labelbottom=all(len(below) <= j for below in rows[i + 1 :]))
        for axes in heads.values():
            style.set_min_span(axes, 1.0)
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
        target = thin(result.time, panel.target)
        axes.plot(*target, color=style.TARGET, ls=(0, (4, 2)), lw=1.2)
    shown = panel.values
    if panel.limits is not None:
        low, high = panel.limits
        # a joint of a diverged run would hide all other curves
        shown = np.clip(shown, low - BEYOND * (high - low), high + BEYOND * (high - low))
    axes.plot(*thin(result.time, shown), color=style.POSITION, lw=1.3)
    style.time_limits(axes, result.time)
    axes.set_title(panel.title, fontsize=8 if brief else 9)
    ending = f"{signed(panel.values[-1], 1)}{panel.unit}"
    style.annotate(axes, ending if brief else f"ends at {ending}")


def _quantity(rows: list[list[ActuatorPanel]]) -> str:
    units = sorted({panel.unit.strip() for row in rows for panel in row})
    if units == ["°"]:
        return "joint angle [°]"
    return f"value [{' or '.join({'/m': '1/m', '': '–'}.get(unit, unit) for unit in units)}]"


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


def draw_object(result: GraspResult, path: str | Path) -> Path:
    """Draw translation and Euler angles of each object since the start."""
    count = len(result.objects)
    with style.figure(path, 3.3 * count) as (figure, table):
        columns: Columns = {TIME: result.time}
        for index, motion in enumerate(result.objects):
            moved, rotation = displacement_mm(result, index), rotation_deg(result, index)
            columns |= {f"{motion.name} {x} [mm]": moved[:, i] for i, x in enumerate("xyz")}
            columns |= {f"{motion.name} about {x} [°]": rotation[:, i] for i, x in enumerate("xyz")}
        table.add(sample(columns))
        gaps = (0.6, 1.05)
        grid = style.panels(figure, count, 2, margins=(0.55, 0.1, 0.75, 0.3), gaps=gaps)
        for index, motion in enumerate(result.objects):
            left, right = figure.add_subplot(grid[index, 0]), figure.add_subplot(grid[index, 1])
            whose = "T" if count == 1 else f"{motion.name}: t"
            title_start = "R" if count == 1 else f"{motion.name}: r"
            _draw_run(left, result, displacement_mm(result, index), TRANSLATIONS, " mm")
            left.set_title(f"{whose}ranslation since the start [mm]")
            _draw_run(right, result, rotation_deg(result, index), ROTATIONS, "°")
            right.set_title(f"{title_start}otation since the start, Euler z-y-x [°]")
    return Path(path)


def _draw_run(
    axes: Axes, result: GraspResult, values: Array, names: Sequence[str], unit: str
) -> None:
    let_go = let_go_s(result)  # the last contact with an object that was lost
    end = -1 if let_go is None else int(np.searchsorted(result.time, let_go))
    for axis, (name, color) in enumerate(zip(names, style.AXES_COLORS, strict=True)):
        # the distance of an undisturbed fall is not a property of the grasp
        fell = out_of_hand(result) and end < 0
        label = name if fell else f"{name}: {signed(values[end, axis], 3)}{unit}"
        axes.plot(*thin(result.time, values[:, axis]), color=color, label=label)
    margin = 0.3 if has_phases(result) else MARGIN  # for the phase names at the top
    axes.margins(y=margin)
    if end >= 0:
        seen = values[: end + 1]
        spare = margin * max(float(np.ptp(seen)), MIN_OBJECT_SPAN)
        axes.set_ylim(float(seen.min()) - spare, float(seen.max()) + spare)
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3, borderaxespad=0.0,
        columnspacing=1.2, handlelength=1.4, fontsize=8,
    )  # fmt: skip
    axes.set_xlabel("time [s]", labelpad=1)
    style.time_limits(axes, result.time)
    style.set_min_span(axes, MIN_OBJECT_SPAN)
    _mark_events(axes, result)


def _mark_events(axes: Axes, result: GraspResult) -> None:
    """Mark phases or hold test, the first contact, and the last contact of a lost object."""
    if has_phases(result):
        mark_phases(axes, result, named=True)
    elif result.hold is not None:
        axes.axvspan(result.hold.start_s, result.simulated_time, color=style.HOLD, lw=0)
        _annotate(axes, result.hold.start_s, "hold test")
    let_go = let_go_s(result)
    if let_go is not None:
        axes.axvline(let_go, color=style.LOST, lw=0.9, ls=(0, (3, 2)))
        axes.set_xlabel("time [s]; values at the last contact (red line)", labelpad=1)
    touches = [event.time_s for event in result.events if event.kind == "touching"]
    if touches:
        axes.axvline(touches[0], color=style.MUTED, lw=0.9, ls=":")
        if has_phases(result):  # their names are at the top
            _annotate(axes, touches[0], "first contact", height=0.09)
        else:
            width = 0.16 * result.time[-1]
            near = result.hold is not None and result.hold.start_s - touches[0] < width
            _annotate(axes, touches[0], "first contact", before=near)


def _annotate(
    axes: Axes, time: float, text: str, *, height: float = 0.985, before: bool = False
) -> None:
    axes.text(
        time, height, f" {text} ", transform=axes.get_xaxis_transform(),
        ha="right" if before else "left", va="top", fontsize=7, color=style.MUTED,
    )  # fmt: skip


def overlay_objects(
    results: Sequence[GraspResult],
    labels: Sequence[str],
    path: str | Path,
    *,
    dpi: float | None = None,
) -> Path:
    """Draw the object motion of several runs in one figure, with dots per inch of ``style``.

    Components in which no object moves by ``MIN_OBJECT_SPAN`` are a line of text; the table has
    all.
    """
    titles = [f"{name} [mm]" for name in TRANSLATIONS] + [f"{name} [°]" for name in ROTATIONS]
    series = [(r.time, np.hstack([displacement_mm(r), rotation_deg(r)])) for r in results]
    columns = max(KEY_LETTERS // (max(map(len, labels)) + 8), 1)
    keys = KEY_HEIGHT * (-(-len(labels) // columns) - 1)
    spans_moved = np.max([np.ptp(values, axis=0) for _, values in series], axis=0)
    moving = np.flatnonzero(spans_moved >= MIN_OBJECT_SPAN).tolist() or [0, 1, 2]
    still = [title for k, title in enumerate(titles) if k not in moving]
    across = min(len(moving), 3)
    rows = -(-len(moving) // across)
    latest = max((times for times, _ in series), key=lambda times: times[-1])
    with style.figure(path, 1.3 + 1.65 * rows + keys, dpi=dpi) as (figure, table):
        for (times, values), label in zip(series, labels, strict=True):
            columns_of_run = zip((f"{label}: {title}" for title in titles), values.T, strict=True)
            table.add(sample({TIME: times, **dict(columns_of_run)}))
        margins = (0.55, 0.1, 0.7, 0.6 + keys)
        grid = style.panels(figure, rows, across, margins=margins, gaps=(0.55, 0.3))
        for index, column in enumerate(moving):
            axes = figure.add_subplot(grid[index])
            lines = [
                axes.plot(*thin(times, values[:, column]), color=color, label=label)[0]
                for (times, values), label, color in zip(series, labels, cycle(style.SERIES))
            ]
            axes.set_title(titles[column])
            axes.tick_params(labelbottom=index + across >= len(moving))
            style.time_limits(axes, latest)
            _fit_to_grasps(axes, results, [values[:, column] for _, values in series])
            style.set_min_span(axes, MIN_OBJECT_SPAN)
        style.edge_labels(figure, above=0.16)
        if still:
            style.footnote(figure, f"Below {MIN_OBJECT_SPAN:g} in all runs: {', '.join(still)}.")
        style.legend(figure, lines, columns=columns)
    return Path(path)


def _fit_to_grasps(axes: Axes, results: Sequence[GraspResult], values: Sequence[Array]) -> None:
    """Fit the value axis to the motion in the hand; free fall would flatten all other curves."""
    if not any(out_of_hand(result) for result in results):
        return
    parts = []
    for result, series in zip(results, values, strict=True):
        end = let_go_s(result) if out_of_hand(result) else result.time[-1]
        parts.append(series[result.time <= (result.time[0] if end is None else end)])
    seen = np.concatenate(parts)
    low, high = float(seen.min()), float(seen.max())
    spare = MARGIN * max(high - low, MIN_OBJECT_SPAN)
    axes.set_ylim(low - spare, high + spare)


def sample(columns: Columns) -> Columns:
    """Select one row per millisecond, and the last, of columns over time.

    The first column is the time [s]; ``trajectory.npz`` has all control samples.
    """
    times = next(iter(columns.values()))
    step = max(round(APART / (times[1] - times[0])), 1) if len(times) > 1 else 1
    rows = np.unique([*range(0, len(times), step), len(times) - 1])
    return {name: values[rows] for name, values in columns.items()}


def _joint_columns(result: GraspResult, panels: Iterable[ActuatorPanel]) -> Columns:
    """Values and targets of all joints and actuators."""
    columns: Columns = {TIME: result.time}
    for panel in panels:
        unit = {"": "", "/m": " [1/m]"}.get(panel.unit, f" [{panel.unit.strip()}]")
        columns[f"{panel.title}{unit}"] = panel.values
        if panel.target is not None:
            columns[f"{panel.title} target{unit}"] = panel.target
    return columns


def actuator_rows(result: GraspResult) -> Iterator[list[ActuatorPanel]]:
    """Panels of all fingers, row by row: joints, or pressure and curvature.

    Wrist joints, tendons, motors and synergies follow.
    """
    known = set(result.contact_bodies.tolist())
    for finger in result.scene.hand.fingers:
        inside = (finger.bodies_of(row) for row in finger.phalanges)
        bodies = [[body for body in row if body in known] for row in inside]
        yield [
            _joint_panel(result, finger, row, bodies[index], [*chain(*bodies[index + 1 :])])
            for index, row in enumerate(finger.phalanges)
        ]
    if result.scene.hand.model is not None and (numbers := _number_panels(result)):
        yield numbers
    if result.vacuum is not None:
        yield _vacuum_panels(result, result.vacuum)
    for index, digit in enumerate(result.scene.hand.soft_fingers):
        yield _soft_panels(result, index, digit)
    yield from _wrist_rows(result)
    yield from _mechanism_rows(result)


def _joint_panel(
    result: GraspResult, finger: Finger, row: Phalanx, phalanx_bodies: list[str], later: list[str]
) -> ActuatorPanel:
    unit, factor = ("°", 180.0 / np.pi) if row.joint == "revolute" else (" mm", 1e3)
    low, high = (factor * limit for limit in row.limits)
    name, title = finger.joint_of(row), f"{finger.name} {row.joint_name}".replace("_", " ")
    title = row.joint_name if finger.verbatim_names else title
    commands = [item.name for item in result.scene.actuators if item.joint == name]
    target = factor * _target(result, commands[0]) if commands else None
    values = factor * _position(result, name)
    return ActuatorPanel(title, unit, (low, high), values, target, phalanx_bodies, later)


def _actuator_panel(result: GraspResult, actuator: ClosureActuator) -> ActuatorPanel:
    """Panel of an actuator on several joints: displacement of a servo, else its force."""
    command = actuator.actuator
    unit, factor = UNITS.get(command.unit, (f" {command.unit}", 1.0))
    low, high = (factor * limit for limit in command.limits)
    target = factor * _target(result, command.name)
    title = command.name.replace("_", " ")
    if not actuator.stiffness:
        return ActuatorPanel(title, unit, (low, high), target)
    columns = [column(result.joint_names, joint) for joint, _ in actuator.arms]
    length = result.joint_position[:, columns] @ np.array([arm for _, arm in actuator.arms])
    values = factor * (length - actuator.zero)
    return ActuatorPanel(title, unit, (low, high), values, target)


def _number_panels(result: GraspResult) -> list[ActuatorPanel]:
    """Return actuators whose targets are not joint variables, such as tendons."""
    return [
        ActuatorPanel(f"target of {command.name}", "", command.limits,
                      _target(result, command.name), None, command.stops)
        for command in result.scene.actuators
        if command.joint is None and command.unit != "Pa" and command.limits[1] > command.limits[0]
    ]  # fmt: skip


def _vacuum_panels(result: GraspResult, vacuum: Array) -> list[ActuatorPanel]:
    """Return the difference of pressure of each suction cup, and its target."""
    cups = [(b, cup) for b, cup in result.scene.hand.adhesions if isinstance(cup, SuctionCup)]
    return [
        ActuatorPanel("vacuum" if len(cups) == 1 else f"vacuum of {body}", " kPa",
                      (0.0, 1e-3 * cup.pressure), 1e-3 * vacuum[:, index],
                      1e-3 * _target(result, f"{body}_adhesion"), [body])
        for index, (body, cup) in enumerate(cups)
    ]  # fmt: skip


def _soft_panels(result: GraspResult, index: int, digit: MountedSoftFinger) -> list[ActuatorPanel]:
    assert result.pressure is not None
    assert result.curvature is not None
    links = [names.soft_link(digit.name, link) for link in range(len(digit.finger.links))]
    low, high = (1e-3 * limit for limit in digit.limits)
    pressure, curvature = 1e-3 * result.pressure[:, index], result.curvature[:, index]
    return [
        ActuatorPanel(f"{digit.name} pressure", " kPa", (low, high), pressure, None, links),
        ActuatorPanel(f"{digit.name} curvature", "/m", None, curvature, None, links),
    ]


def _wrist_rows(result: GraspResult) -> Iterator[list[ActuatorPanel]]:
    """Prismatic joints, and revolute ones if they moved, of a wrist that follows a sequence."""
    known = result.joint_names.tolist()
    for joints in (names.WRIST_JOINTS[:3], names.WRIST_JOINTS[3:]):
        if not set(joints) <= set(known):
            continue
        is_angle = joints != names.WRIST_JOINTS[:3]
        unit, factor = ("°", 180.0 / np.pi) if is_angle else (" mm", 1e3)
        if is_angle and not any(_target(result, name).any() for name in joints):
            continue
        yield [
            ActuatorPanel(name.replace("_", " "), unit, None, factor * _position(result, name),
                          factor * _target(result, name))
            for name in joints
        ]  # fmt: skip


def _mechanism_rows(result: GraspResult) -> Iterator[list[ActuatorPanel]]:
    """Panels of tendons, motors and synergies."""
    panels = [
        _actuator_panel(result, actuator)
        for actuator in result.scene.mechanism.actuators
        if actuator.rate
    ]
    across = max((len(finger.phalanges) for finger in result.scene.hand.fingers), default=1)
    for first in range(0, len(panels), across):
        yield panels[first : first + across]


def body_rows(result: GraspResult) -> list[list[str]]:
    """Bodies with contact geometry, one list per finger, without the palm.

    Of a soft finger only the links that touched the object are included.
    """
    hand = result.scene.hand
    touched = {contact.body for contact in result.contacts if contact.first_touch_s is not None}
    soft = {digit.name for digit in hand.soft_fingers}
    rows: dict[str, list[str]] = {}
    for body, (finger, _) in names.parts(hand).items():
        if finger not in soft or body in touched:
            rows.setdefault(finger, []).append(body)
    return list(rows.values())


def touching(result: GraspResult, bodies: Sequence[str]) -> NDArray[np.bool_]:
    """Whether contact is established with any of the bodies, (T,)."""
    columns = [column(result.contact_bodies, body) for body in bodies]
    return np.asarray(result.in_contact[:, columns].any(axis=1))


def displacement_mm(result: GraspResult, index: int = 0) -> Array:
    """Displacement of an object's centre since the start, (T, 3) [mm], world frame."""
    position, _ = result.tracks[index]
    return np.asarray(1e3 * (position - position[0]))


def rotation_deg(result: GraspResult, index: int = 0) -> Array:
    """Rotation since the start about x, y, z (intrinsic z-y-x), unwrapped, (T, 3) [deg]."""
    _, quaternion = result.tracks[index]
    rotations = relative_quaternions(quaternion, quaternion[0])
    return np.asarray(np.degrees(np.unwrap(euler_from_quaternions(rotations), axis=0)))


def mark_phases(axes: Axes, result: GraspResult, *, named: bool) -> None:
    """Shade the closure and every second phase of a run; write their names where ``named``."""
    transform = axes.get_xaxis_transform()
    for phase, color in _shades(result):
        axes.axvspan(phase.start_s, phase.end_s, color=color, lw=0, zorder=-1)
        if named:
            axes.text(
                phase.start_s, 0.985, f" {phase.name}", transform=transform, rotation="vertical",
                ha="left", va="top", fontsize=6.5, color=style.MUTED,
            )  # fmt: skip


def shade_phases(axes: Axes, result: GraspResult) -> None:
    """Shade the phases of a run, or its hold test."""
    if has_phases(result):
        mark_phases(axes, result, named=False)
    elif result.hold is not None:
        axes.axvspan(result.hold.start_s, result.simulated_time, color=style.HOLD, lw=0)


def _shades(result: GraspResult) -> list[tuple[PhaseSpan, str]]:
    closing = result.closing
    return [
        (phase, CLOSING if phase is closing else (style.HOLD, "#ffffff")[index % 2])
        for index, phase in enumerate(choose_shown_phases(result))
    ]


def spans(times: Array, on: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """Intervals (begin, end) [s] in which a boolean signal (T,) is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    last = len(times) - 1
    return [(float(times[a]), float(times[min(b, last)])) for a, b in edges.reshape(-1, 2).tolist()]


def merge(intervals: list[tuple[float, float]], apart: float) -> list[tuple[float, float]]:
    """Join intervals whose gaps are at most ``apart`` [s]."""
    merged_spans: list[tuple[float, float]] = []
    for begin, end in intervals:
        if merged_spans and begin - merged_spans[-1][1] <= apart:
            begin = merged_spans.pop()[0]
        merged_spans.append((begin, end))
    return merged_spans


def thin(times: Array, values: Array) -> tuple[Array, Array]:
    """Select at most ``MAX_POINTS`` evenly spaced rows of times (T,) and values (T, …)."""
    rows = np.linspace(0, len(times) - 1, min(len(times), MAX_POINTS)).round().astype(int)
    return times[rows], values[rows]


def peaks(times: Array, values: Array) -> tuple[Array, Array]:
    """Reduce times and values (T,) to at most ``MAX_POINTS`` rows, the maximum of each interval."""
    chunk = -(-len(times) // MAX_POINTS)
    begins = np.arange(0, len(times), chunk)
    return times[begins], np.maximum.reduceat(values, begins)
