"""A twin in a browser: arm, flange and fingers as they are, curves, events, and commands.

Commands need a second word. Everything that is shown is a row of the loop; the page has no numbers
of its own.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np

from softgrasp.build.twin_model import TwinModel
from softgrasp.description.twin import Twin
from softgrasp.mechanics.piece_bends import KPA
from softgrasp.mechanics.transforms import Array
from softgrasp.mechanics.twin_shape import TwinShape
from softgrasp.rendering.camera import Camera
from softgrasp.view.command_panel import CommandPanel, CommandSink
from softgrasp.viewer.page import Page, set_camera
from softgrasp.viewer.scene_markers import DrawnModel
from softgrasp.viewer.widgets import RunningChart

REFRESH = 15.0
"""Pictures a second."""
SECONDS = 20.0
"""Of the curves."""
AROUND = 2.6
"""Distance of the camera over that of the gripper from the robot's base."""
HEADING = (125.0, -12.0)
"""Azimuth and elevation of the camera [deg]."""
EVENTS = 12
"""Of the log that are shown, the newest first."""
STATES = {
    "running": "connected",
    "waiting": "waiting for the controller",
    "lost": "connection lost, commands are not sent",
    "stopping": "connection back, stopping safely",
}


class Shown(Protocol):
    """What the page needs to know of a row."""

    @property
    def time(self) -> float:
        """When the turn was due [s]."""

    @property
    def lateness(self) -> float:
        """Of its beginning [s]."""

    @property
    def latency(self) -> float:
        """Of the answer [s]."""

    @property
    def shape(self) -> TwinShape | None:
        """The fingers."""

    @property
    def joints(self) -> Array | None:
        """Of the arm [rad]."""

    @property
    def events(self) -> tuple[str, ...]:
        """What happened, in sentences."""

    @property
    def pressures(self) -> tuple[float, float, float] | None:
        """Measured one, positive and negative target [Pa]; None without a reading."""


class TwinView:
    """A twin on a page.

    Args:
        page: The page.
        twin: The twin.
        desk: Takes commands; without it the page only shows.
        state: Tells how the connection is.
        key: What has to be typed before a command is taken.
    """

    def __init__(
        self,
        page: Page,
        twin: Twin,
        queue: CommandSink | None = None,
        state: Callable[[], str] = str,
        key: str = "",
    ) -> None:
        self._page, self.twin, self._state = page, twin, state
        self._bodies = TwinModel(twin)
        self._model = DrawnModel(page.server.scene, self._bodies.model)
        self._row: Shown | None = None
        self._log: deque[str] = deque(maxlen=EVENTS)
        self._lock, self._aimed, self._ended = threading.Lock(), False, threading.Event()
        gui = page.server.gui
        self._words = gui.add_markdown("waiting for the first reading")
        self.panels: list[CommandPanel] = []
        if queue is not None:
            page.server.on_client_connect(
                lambda client: self.panels.append(CommandPanel(client.gui, twin, queue, key))
            )
        with gui.add_folder("Curves"):
            self._pressure = RunningChart(
                gui, "pressure / kPa", ("measured", "positive target", "negative target"), SECONDS
            )
            pieces = [f"piece {k + 1}" for k in range(len(twin.finger.lengths))]
            self._curvature = RunningChart(gui, "curvature / (1/m)", pieces, SECONDS)
            self._tip = RunningChart(gui, "tip of finger 1 / mm", ("x", "y", "z"), SECONDS)
        with gui.add_folder("Events"):
            self._events = gui.add_markdown("none yet")
        self._thread = threading.Thread(target=self._refresh, daemon=True)
        self._thread.start()

    def __call__(self, row: Shown) -> None:
        """Take a row; it is shown with the next picture. Takes no time."""
        with self._lock:
            self._row = row
            self._log.extendleft(f"{row.time:8.2f} s  {event}" for event in row.events)
        self._keep(row)

    def close(self) -> None:
        """Show nothing more."""
        self._ended.set()
        self._thread.join(timeout=2.0)

    def _keep(self, row: Shown) -> None:
        pressures = row.pressures
        if pressures is not None:
            self._pressure.add(row.time, [KPA * value for value in pressures])
        if row.shape is not None:
            self._curvature.add(row.time, row.shape.curvatures.tolist())
            self._tip.add(row.time, (1e3 * row.shape.tips[0]).tolist())

    def _refresh(self) -> None:
        shown: Shown | None = None
        while not self._ended.wait(1.0 / REFRESH):
            with self._lock:
                row, log = self._row, list(self._log)
            if row is None or row is shown:
                continue
            shown = row
            self.show(row, log)

    def show(self, row: Shown, log: list[str]) -> None:
        """Show a row and the events before it."""
        with self._page.server.atomic():
            if row.shape is not None:
                self._model.pose(self._bodies.pose(row.shape, row.joints))
                self._aim(row.shape)
            for chart in (self._pressure, self._curvature, self._tip):
                chart.draw()
            self._words.content = self._status_text(row)
            self._events.content = "\n\n".join(log) or "none yet"

    def _aim(self, shape: TwinShape) -> None:
        """Have browsers see the robot and its gripper; of a flange alone, the gripper."""
        if self._aimed:
            return
        self._aimed = True
        gripper = shape.tips.mean(axis=0)
        middle = gripper if self.twin.arm is None else 0.5 * gripper
        reach = 0.35 if self.twin.arm is None else AROUND * float(np.linalg.norm(gripper))
        set_camera(self._page, Camera(tuple(middle.tolist()), reach, *HEADING))

    def _status_text(self, row: Shown) -> str:
        pressures = row.pressures
        now = "no reading" if pressures is None else f"{KPA * pressures[0]:.1f} kPa"
        bend = (
            "" if row.shape is None else f", each finger bent by {np.degrees(row.shape.bend):.1f}°"
        )
        return (
            f"**{STATES.get(self._state(), self._state())}**\n\n{now}{bend}\n\n"
            f"answer after {1e3 * row.latency:.1f} ms, turn {1e3 * row.lateness:.1f} ms late"
        )
