"""Panel elements of the browser viewer: time charts, actuator sliders and the grasp form."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle

import numpy as np
import viser
from viser import uplot

from softgrasp.description.actuation import Actuator
from softgrasp.description.hand import Hand
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.viewer.scene_markers import NUMBER_LABELS, Choices

HEIGHT, NUMBERS = 210, 62
"""Of a chart, and of the numbers at its side [pixels]."""
PADDING = (9, 24, 0, 0)
"""Above, right, below and left of the curves, or the highest number would be cut [pixels]."""
MAX_ROWS = 400
"""A chart shows about so many rows, evenly spread."""
COLORS = (
    "#2a78b5", "#d1622b", "#3a9a5b", "#8a5bb8", "#b5487a", "#5a6b7b",
    "#2aa5a0", "#b58b2a", "#6a4fd1", "#c03a3a", "#4f8a10", "#7f6a4a",
)  # fmt: skip
NOW = "#22272e"
MARGIN, FAR = 0.05, 20.0
"""Space over the highest value, and how far below the lowest one what is not seen lies, both over
the height of the chart. The charts of the page know no gaps."""

SHOWN_IN = {"rad": ("°", 180.0 / np.pi), "m": ("mm", 1e3), "Pa": ("kPa", 1e-3)}
"""Units on the page, and how many of them are one of the description's."""
STEPS, DIGITS = 500, 1
"""Of a slider, and of the numbers at its side where they have a unit."""
MAX_EXPANDED = 12
"""The sliders of a hand with more are folded away, finger by finger."""
LOCKED = 1e-6
"""Width of a slider that cannot be moved."""

AS_DESCRIBED, NONE = "as described", "none"
"""What stands in the form where nothing is asked for, and where there is no object."""
GRASPS = ("power", "precision")


class ActuatorSliders:
    """One slider a drive.

    Args:
        gui: The panel.
        hand: The hand.
        moved: Called with the targets of all drives [rad, m, Pa, …] where somebody moves one.
    """

    def __init__(self, gui: viser.GuiApi, hand: Hand, moved: Callable[[list[float]], None]) -> None:
        self._actuators, self._moved, self._still = hand.actuators, moved, False
        groups: dict[str, list[Actuator]] = {}
        for actuator in hand.actuators:
            groups.setdefault(_finger_of(hand, actuator), []).append(actuator)
        made: dict[str, viser.GuiInputHandle[float]] = {}
        for name, members in groups.items():
            with gui.add_folder(name, expand_by_default=len(hand.actuators) <= MAX_EXPANDED):
                made |= {actuator.name: self._add(gui, actuator, name) for actuator in members}
        self.handles = [made[actuator.name] for actuator in hand.actuators]

    @property
    def targets(self) -> list[float]:
        """Of the drives [rad, m, Pa, …], inside their limits."""
        pairs = zip(self.handles, self._actuators, strict=True)
        return [float(np.clip(one.value / _shown(d)[1], *d.limits)) for one, d in pairs]

    def put(self, targets: Sequence[float]) -> None:
        """Put the sliders where targets are, without telling that they have moved."""
        self._still = True
        for one, actuator, target in zip(self.handles, self._actuators, targets, strict=True):
            one.value = target * _shown(actuator)[1]  # type: ignore[misc]
        self._still = False

    def _add(
        self, gui: viser.GuiApi, actuator: Actuator, group: str
    ) -> viser.GuiInputHandle[float]:
        unit, per = _shown(actuator)
        digits = DIGITS if unit else None
        low, high = (_rounded(per * end, digits) for end in actuator.limits)
        step = _rounded((high - low) / STEPS, digits) or 10.0**-DIGITS
        high = max(high, low + LOCKED)
        name = actuator.name.removesuffix("_pressure").removeprefix(f"{group}_")
        slider = gui.add_slider(
            f"{name} / {unit}" if unit else name,
            low,
            high,
            step,
            min(max(_rounded(per * actuator.start, digits), low), high),
            hint=f"{actuator.label}, {actuator.format_values(*actuator.limits)}",
        )

        @slider.on_update
        def _(_: object) -> None:
            if not self._still:
                self._moved(self.targets)

        return slider


def _finger_of(hand: Hand, actuator: Actuator) -> str:
    for finger in hand.fingers:
        if actuator.joint in [finger.joint_of(row) for row in finger.phalanges]:
            return finger.name
    return "pressures" if actuator.unit == "Pa" else "actuators"


def _shown(actuator: Actuator) -> tuple[str, float]:
    return SHOWN_IN.get(actuator.unit, (actuator.unit, 1.0))


def _rounded(value: float, digits: int | None) -> float:
    return float(value) if digits is None else round(float(value), digits)


class TimeChart:
    """Curves over time in the panel of a page.

    Args:
        gui: The panel.
        title: What stands over it, with the unit.
        time: (t,) [s].
        curves: By what stands in the legend, (t,) each.
    """

    def __init__(
        self, gui: viser.GuiApi, title: str, time: Array, curves: Mapping[str, Array]
    ) -> None:
        rows = _thinned(len(time))
        self._time = np.asarray(time, dtype=float)[rows]
        self._curves = [np.asarray(curve, dtype=float)[rows] for curve in curves.values()]
        values = np.concatenate([*self._curves, [0.0]])
        values = values[np.isfinite(values)]
        self._low, self._high = float(values.min()), float(values.max())
        self._high += MARGIN * (self._high - self._low) or 1.0
        names = [*curves]
        self._handle = gui.add_uplot(
            self._data(float(self._time[0])),
            series=(
                uplot.Series(label="t / s"),
                *map(_line, names, cycle(COLORS)),
                _line("now", NOW),
            ),
            scales={"x": uplot.Scale(time=False), "y": uplot.Scale(range=(self._low, self._high))},
            axes=(uplot.Axis(), uplot.Axis(size=NUMBERS)),
            title=title,
            height=HEIGHT,
            padding=PADDING,
        )

    def move(self, time: float) -> None:
        """Put the line at an instant [s]."""
        self._handle.data = self._data(time)

    def _data(self, time: float) -> tuple[Array, ...]:
        """The curves, and the line as one more of them, that is out of sight but at an instant."""
        at = int(np.searchsorted(self._time, time))
        sunk = self._low - FAR * (self._high - self._low)
        curves = []
        for curve in self._curves:
            there = np.interp(time, self._time, curve)
            curves.append(np.nan_to_num(np.insert(curve, at, 3 * [there]), nan=sunk))
        line = np.full(len(self._time) + 3, sunk)
        line[at : at + 3] = self._low, self._high, self._low
        return (np.insert(self._time, at, 3 * [time]), *curves, line)


def _thinned(rows: int) -> Array:
    """Numbers of at most so many rows, evenly spread, the last one too."""
    return np.unique(np.linspace(0, rows - 1, min(rows, MAX_ROWS)).round().astype(int))


def _line(name: str, color: str) -> uplot.Series:
    return uplot.Series(label=name, stroke=color, width=1.5)


class RunningChart:
    """Curves of the last seconds.

    Args:
        gui: The panel.
        title: What stands over it, with the unit.
        names: Of the curves.
        seconds: How far back they go [s].
    """

    def __init__(self, gui: viser.GuiApi, title: str, names: Sequence[str], seconds: float) -> None:
        self._seconds = seconds
        self._rows: deque[tuple[float, ...]] = deque([(0.0, *[0.0] * len(names))])
        self._handle = gui.add_uplot(
            self._data(),
            series=(uplot.Series(label="t / s"), *map(_line, names, cycle(COLORS))),
            scales={"x": uplot.Scale(time=False)},
            axes=(uplot.Axis(), uplot.Axis(size=NUMBERS)),
            title=title,
            height=HEIGHT,
            padding=PADDING,
        )
        self._rows.clear()

    def add(self, time: float, values: Sequence[float]) -> None:
        """Add an instant [s]; may be called from another thread than ``draw``."""
        self._rows.append((time, *values))
        while self._rows[0][0] < time - self._seconds:
            self._rows.popleft()

    def draw(self) -> None:
        """Show what was added."""
        if self._rows:
            self._handle.data = self._data()

    def _data(self) -> tuple[Array, ...]:
        every = max(1, len(self._rows) // MAX_ROWS)
        rows = np.array(list(self._rows))[::-1][::every][::-1]  # the newest one too
        return tuple(np.ascontiguousarray(column) for column in rows.T)


class GraspForm:
    """The form.

    Args:
        gui: The panel.
        choices: What stands in it at first.
        hands: Names of hands.
        objects: Names of objects.
        closures: Names of closures.
        changed: Called with the choices where another hand or object is chosen.
        started: Called with the choices where the grasp is to start.
        refused: Called with a sentence where a field cannot be understood.
        used: What stands in the fields of numbers that the choices leave open: what hand and object
            say, by the names of the fields.
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
        self._used = {
            name: _written(value) for name, value in (used or {}).items() if chosen[name] is None
        }
        with gui.add_folder("Grasp"):
            self.hand = gui.add_dropdown(
                "hand", _with(hands, choices.hand), initial_value=choices.hand
            )
            object_name = choices.object or NONE
            self.object = gui.add_dropdown(
                "object", _with((NONE, *objects), object_name), initial_value=object_name
            )
            self.grasp = gui.add_dropdown(
                "grasp", (AS_DESCRIBED, *GRASPS), initial_value=choices.grasp or AS_DESCRIBED
            )
            self.numbers = {
                name: gui.add_text(
                    label,
                    self._used.get(name) or _written(chosen[name]),
                    hint=f"empty: {AS_DESCRIBED}",
                )
                for name, label in NUMBER_LABELS.items()
            }
            self.closure = gui.add_dropdown(
                "closure", (AS_DESCRIBED, *closures), initial_value=choices.closure or AS_DESCRIBED
            )
            self.gravity = gui.add_checkbox(
                "gravity", choices.gravity, hint="9.81 m/s² down while the hand closes"
            )
            self.hold = gui.add_checkbox(
                "hold test", choices.hold, hint="let gravity grow after the closure"
            )
            self.start = gui.add_button("Start the grasp", disabled=choices.object is None)
            self.stop = gui.add_button("Stop", color="gray", visible=False)
            self.progress = gui.add_progress_bar(0.0, visible=False, animated=True)
        for field in (self.hand, self.object):
            field.on_update(lambda _: self._pass_on(changed))
        self.start.on_click(lambda _: self._pass_on(started))

    @property
    def choices(self) -> Choices:
        """What it asks for.

        Raises:
            DescriptionError: A number is none, or is not above 0.
        """
        return Choices(
            hand=self.hand.value,
            object=None if self.object.value == NONE else self.object.value,
            grasp=_chosen(self.grasp.value),
            closure=_chosen(self.closure.value),
            gravity=self.gravity.value,
            hold=self.hold.value,
            **{name: self._chosen_number(name) for name in self.numbers},
        )

    def _chosen_number(self, name: str) -> float | None:
        """None where the field is as it was: a number that nobody asked for."""
        text = self.numbers[name].value
        return None if text.strip() == self._used.get(name) else _number(name, text)

    def show_progress(self, done: float | None) -> None:
        """Show how much of the simulation is done, 0 to 1; None ends it."""
        running = done is not None
        for field in (self.hand, self.object, self.start):
            field.disabled = running
        self.stop.visible = running
        self.progress.visible = running
        self.progress.value = float(round(100.0 * min(max(done or 0.0, 0.0), 1.0)))  # type: ignore[misc]

    def _pass_on(self, to: Callable[[Choices], None]) -> None:
        try:
            choices = self.choices
        except DescriptionError as error:
            self._refused(str(error))
            return
        to(choices)


def _written(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _with(names: Sequence[str], chosen: str) -> tuple[str, ...]:
    """The names, and first the one that was chosen, where it is a file."""
    return tuple(names) if chosen in names else (chosen, *names)


def _chosen(value: str) -> str | None:
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
