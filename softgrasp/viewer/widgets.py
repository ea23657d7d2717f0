"""Panel elements of the browser viewer: time charts, actuator sliders and the grasp form."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import viser
from viser import uplot

from softgrasp.description.actuation import Actuator
from softgrasp.description.hand import Hand
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.viewer.scene_markers import NUMBER_LABELS, Choices

HEIGHT, LABEL_WIDTH = 210, 62
"""Height of a chart, and width of its y labels [px]."""
MAX_ROWS = 400
"""Maximum number of samples of a chart."""
COLORS = (
    "#2a78b5", "#d1622b", "#3a9a5b", "#8a5bb8", "#b5487a", "#5a6b7b",
    "#2aa5a0", "#b58b2a", "#6a4fd1", "#c03a3a", "#4f8a10", "#7f6a4a",
)  # fmt: skip
MARGIN, HIDDEN_OFFSET = 0.05, 20.0
"""Margin above the highest value, and offset of hidden samples below the lowest, both over the
value range; uPlot charts of viser do not support gaps."""

SHOWN_IN = {"rad": ("°", 180.0 / np.pi), "m": ("mm", 1e3), "Pa": ("kPa", 1e-3)}
"""Displayed units and conversion factors of actuator units."""
STEPS, DIGITS = 500, 1
"""Steps of a slider, and decimals of values with a unit."""
MARKUP = str.maketrans({mark: f"\\{mark}" for mark in "\\`*[]<>&{}|~"} | {"\n": " ", "\r": " "})
"""Characters that begin markup or HTML in the texts of a page."""
LOCKED = 1e-6
"""Range of a slider of a fixed actuator."""

AS_DESCRIBED, NONE = "as described", "none"
"""Form values for settings of the description, and for no object."""
GRASPS = ("power", "precision")


def plain(text: str) -> str:
    """Return one line of Markdown that shows a text as it is.

    Texts of files, of devices and of servers could have HTML in them, which a page would run.
    """
    return text.translate(MARKUP)


class ActuatorSliders:
    """One slider per actuator, grouped by finger.

    ``move`` is called with the targets of all actuators [rad, m, Pa, …] when the user moves one.
    """

    def __init__(self, gui: viser.GuiApi, hand: Hand, moved: Callable[[list[float]], None]) -> None:
        self._actuators, self._moved, self._is_updating = hand.actuators, moved, False
        groups: dict[str, list[Actuator]] = {}
        for actuator in hand.actuators:
            groups.setdefault(_finger_of(hand, actuator), []).append(actuator)
        made: dict[str, viser.GuiInputHandle[float]] = {}
        for name, members in groups.items():
            with gui.add_folder(name, expand_by_default=len(hand.actuators) <= 12):
                made |= {actuator.name: self._add(gui, actuator, name) for actuator in members}
        self.handles = [made[actuator.name] for actuator in hand.actuators]

    @property
    def targets(self) -> list[float]:
        """Actuator targets within their limits [rad, m, Pa, …]."""
        pairs = zip(self.handles, self._actuators, strict=True)
        return [float(np.clip(item.value / _display_unit(d)[1], *d.limits)) for item, d in pairs]

    def put(self, targets: Sequence[float]) -> None:
        """Set the sliders without calling ``move``."""
        self._is_updating = True
        for handle, actuator, target in zip(self.handles, self._actuators, targets, strict=True):
            handle.value = target * _display_unit(actuator)[1]  # type: ignore[misc]
        self._is_updating = False

    def _add(
        self, gui: viser.GuiApi, actuator: Actuator, group: str
    ) -> viser.GuiInputHandle[float]:
        unit, per = _display_unit(actuator)
        digits = DIGITS if unit else None
        low, high = (_round(per * end, digits) for end in actuator.limits)
        step = _round((high - low) / STEPS, digits) or 10.0**-DIGITS
        high = max(high, low + LOCKED)
        name = actuator.name.removesuffix("_pressure").removeprefix(f"{group}_")
        label, start = f"{name} / {unit}" if unit else name, _round(per * actuator.start, digits)
        hint = f"{actuator.label}, {actuator.format_values(*actuator.limits)}"
        slider = gui.add_slider(label, low, high, step, min(max(start, low), high), hint=hint)

        @slider.on_update
        def _(_: object) -> None:
            if not self._is_updating:
                self._moved(self.targets)

        return slider


def _finger_of(hand: Hand, actuator: Actuator) -> str:
    for finger in hand.fingers:
        if actuator.joint in [finger.joint_of(row) for row in finger.phalanges]:
            return finger.name
    return "pressures" if actuator.unit == "Pa" else "actuators"


def _display_unit(actuator: Actuator) -> tuple[str, float]:
    return SHOWN_IN.get(actuator.unit, (actuator.unit, 1.0))


def _round(value: float, digits: int | None) -> float:
    return float(value) if digits is None else round(float(value), digits)


class TimeChart:
    """Chart over time with a line at the current time.

    Args:
        gui: The panel.
        title: Title with unit.
        time: Times [s], (t,).
        curves: Values by legend label, (t,) each.
    """

    def __init__(
        self, gui: viser.GuiApi, title: str, time: Array, curves: Mapping[str, Array]
    ) -> None:
        count = min(len(time), MAX_ROWS)
        rows = np.unique(np.linspace(0, len(time) - 1, count).round().astype(int))
        self._time = np.asarray(time, dtype=float)[rows]
        self._curves = [np.asarray(curve, dtype=float)[rows] for curve in curves.values()]
        values = np.concatenate([*self._curves, [0.0]])
        values = values[np.isfinite(values)]
        self._low, self._high = float(values.min()), float(values.max())
        self._high += MARGIN * (self._high - self._low) or 1.0
        lines = [*map(_line, curves, cycle(COLORS)), _line("now", "#22272e")]
        scales = {"y": uplot.Scale(range=(self._low, self._high))}
        self._handle = _add_chart(gui, title, self._data(float(self._time[0])), lines, scales)

    def move(self, time: float) -> None:
        """Move the line to a time [s]."""
        self._handle.data = self._data(time)

    def _data(self, time: float) -> tuple[Array, ...]:
        """Chart data; the time line is a curve that is hidden except at one time."""
        at = int(np.searchsorted(self._time, time))
        hidden = self._low - HIDDEN_OFFSET * (self._high - self._low)
        curves = []
        for curve in self._curves:
            there = np.interp(time, self._time, curve)
            curves.append(np.nan_to_num(np.insert(curve, at, 3 * [there]), nan=hidden))
        line = np.full(len(self._time) + 3, hidden)
        line[at : at + 3] = self._low, self._high, self._low
        return (np.insert(self._time, at, 3 * [time]), *curves, line)


def _add_chart(
    gui: viser.GuiApi, title: str, data: tuple[Array, ...], lines: Sequence[uplot.Series],
    scales: dict[str, uplot.Scale],
) -> viser.GuiUplotHandle:  # fmt: skip
    """Add a chart over time."""
    return gui.add_uplot(
        data,
        series=(uplot.Series(label="t / s"), *lines),
        scales={"x": uplot.Scale(time=False), **scales},
        axes=(uplot.Axis(), uplot.Axis(size=LABEL_WIDTH)),
        title=title,
        height=HEIGHT,
        padding=(9, 24, 0, 0),
    )


def _line(name: str, color: str) -> uplot.Series:
    return uplot.Series(label=name, stroke=color, width=1.5)


class RunningChart:
    """Chart of the last seconds of a running process.

    Args:
        gui: The panel.
        title: Title with unit.
        names: Names of the curves.
        seconds: Length of the time window [s].
    """

    def __init__(self, gui: viser.GuiApi, title: str, names: Sequence[str], seconds: float) -> None:
        self._seconds = seconds
        self._rows: deque[tuple[float, ...]] = deque([(0.0, *[0.0] * len(names))])
        lines = [*map(_line, names, cycle(COLORS))]
        self._handle = _add_chart(gui, title, self._data(), lines, {})
        self._rows.clear()

    def add(self, time: float, values: Sequence[float]) -> None:
        """Add values at a time [s]; may be called from another thread than ``draw``."""
        self._rows.append((time, *values))
        while self._rows[0][0] < time - self._seconds:
            self._rows.popleft()

    def draw(self) -> None:
        """Update the chart."""
        if self._rows:
            self._handle.data = self._data()

    def _data(self) -> tuple[Array, ...]:
        every = max(1, len(self._rows) // MAX_ROWS)
        rows = np.array(list(self._rows))[::-1][::every][::-1]  # includes the newest one
        return tuple(np.ascontiguousarray(column) for column in rows.T)


class GraspForm:
    """Form with the settings of a grasp and buttons to start and stop it.

    Args:
        gui: The panel.
        choices: Initial settings; hands, objects and closures are names to choose from.
        changed: Called with the choices when another hand or object is selected.
        started: Called with the choices when the grasp is started.
        refused: Called with an error message for an invalid field.
        used: Values of hand and object for numeric fields that the choices leave open, by field
            name.
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        choices: Choices,
        *,
        hands: Sequence[str],
        objects: Sequence[str],
        closures: Sequence[str],
        changed: Callable[[Choices], None],
        started: Callable[[Choices], None],
        refused: Callable[[str], None],
        used: Mapping[str, float] | None = None,
    ) -> None:
        self._refused = refused
        chosen = {name: getattr(choices, name) for name in NUMBER_LABELS}
        open_fields = {name: value for name, value in (used or {}).items() if chosen[name] is None}
        self._used = {name: _format_number(value) for name, value in open_fields.items()}

        def select(label: str, names: Sequence[str], start: str) -> viser.GuiDropdownHandle[str]:
            # a file that is no name precedes the names
            options = tuple(names) if start in names else (start, *names)
            return gui.add_dropdown(label, options, initial_value=start)

        with gui.add_folder("Grasp"):
            self.hand = select("hand", hands, choices.hand)
            self.object = select("object", (NONE, *objects), choices.object or NONE)
            self.grasp = select("grasp", (AS_DESCRIBED, *GRASPS), choices.grasp or AS_DESCRIBED)
            self.numbers: dict[str, viser.GuiInputHandle[str]] = {}
            for name, label in NUMBER_LABELS.items():
                text = self._used.get(name) or _format_number(chosen[name])
                self.numbers[name] = gui.add_text(label, text, hint=f"empty: {AS_DESCRIBED}")
            closure = choices.closure or AS_DESCRIBED
            self.closure = select("closure", (AS_DESCRIBED, *closures), closure)
            hint = "9.81 m/s² down during the closure"
            self.gravity = gui.add_checkbox("gravity", choices.gravity, hint=hint)
            hint = "gravity increases after the closure"
            self.hold = gui.add_checkbox("hold test", choices.hold, hint=hint)
            self.start = gui.add_button("Start the grasp", disabled=choices.object is None)
            self.stop = gui.add_button("Stop", color="gray", visible=False)
            self.progress = gui.add_progress_bar(0.0, visible=False, animated=True)
        for field in (self.hand, self.object):
            field.on_update(lambda _: self._notify(changed))
        self.start.on_click(lambda _: self._notify(started))

    @property
    def choices(self) -> Choices:
        """The current settings.

        Raises:
            DescriptionError: A numeric field is invalid.
        """
        numbers: dict[str, Any] = {
            name: _number(name, field.value)
            for name, field in self.numbers.items()
            if field.value.strip() != self._used.get(name)  # the user changed it
        }
        return Choices(
            hand=self.hand.value,
            object=None if self.object.value == NONE else self.object.value,
            grasp=_choose(self.grasp.value),
            closure=_choose(self.closure.value),
            gravity=self.gravity.value,
            hold=self.hold.value,
            **numbers,
        )

    def show_progress(self, done: float | None) -> None:
        """Show the completed fraction of the simulation, 0 to 1; None hides the bar."""
        running = done is not None
        for field in (self.hand, self.object, self.start):
            field.disabled = running
        self.stop.visible = running
        self.progress.visible = running
        self.progress.value = float(round(100.0 * min(max(done or 0.0, 0.0), 1.0)))  # type: ignore[misc]

    def _notify(self, to: Callable[[Choices], None]) -> None:
        try:
            choices = self.choices
        except DescriptionError as error:
            self._refused(str(error))
            return
        to(choices)


def _format_number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _choose(value: str) -> str | None:
    return None if value == AS_DESCRIBED else value


def _number(name: str, text: str) -> float | None:
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0.0 <= value < math.inf or (value == 0.0 and name == "density"):
        condition = "above 0" if name == "density" else "at least 0"
        raise DescriptionError(f"expected a number {condition}, found '{text}'", field=name)
    return value
