"""Live view of a twin in a browser, with commands; images and videos of a twin.

``TwinView`` shows the rows of the loop on a web page: arm, flange and fingers, curves and
events. ``CommandPanel`` has one set of buttons per browser: a command needs the key from the
terminal of the twin and a confirmation in the same browser within a short time, so a page of
another site that reaches the port cannot send commands. ``VentButton`` needs neither.
``TwinCamera`` renders images.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import viser

from softgrasp.mechanics import Array
from softgrasp.rendering import Camera, frame_points, open_renderer, stamp, write_frames, write_png
from softgrasp.twin.description import KPA, Twin
from softgrasp.twin.model import TwinModel
from softgrasp.twin.piecewise_bending import TwinShape
from softgrasp.twin.pneumatic_controller import Command, CommandQueue
from softgrasp.twin.record import TwinRow
from softgrasp.viewer import DrawnModel, Page, RunningChart, plain, set_camera

SECONDS = 20.0
"""Duration of the curves [s]."""
AROUND = 0.18
"""Margin around the centres of the bodies on the page [–]."""
STATES = {
    "connecting": "not connected, commands are not sent",
    "idle": "connected, both triggers off",
    "pressurised": "connected, a trigger is on",
    "stopping": "venting, until that is confirmed",
    "stopped": "vented",
    "fault": "fault, commands are not sent",
}
EXPIRES = 10.0
"""Time after which an unconfirmed command is discarded [s]."""
NOTHING = "no pending command"
CLOSE, OPEN, VENT = "Close", "Open", "Vent"
SIZE, FPS = (960, 640), 24
"""Size of images [pixels], and frames per second of videos."""
AZIMUTH_DEG, ELEVATION_DEG, MARGIN = 145.0, -14.0, 0.12
Image = npt.NDArray[np.uint8]

# Web page


class TwinView:
    """A twin on a browser page.

    Args:
        page: Web page.
        twin: Digital twin.
        queue: Receiver of commands; without it the page only shows.
        state: Returns the state of the connection.
        key: Key that must be typed before a command is accepted.
    """

    def __init__(
        self,
        page: Page,
        twin: Twin,
        queue: CommandQueue | None = None,
        state: Callable[[], str] = str,
        key: str = "",
    ) -> None:
        self._page, self.twin, self._state = page, twin, state
        self._bodies = TwinModel(twin)
        self._model = DrawnModel(page.server.scene, self._bodies.model)
        self._row: TwinRow | None = None
        self._log: deque[str] = deque(maxlen=12)
        self._lock, self._aimed, self._ended = threading.Lock(), False, threading.Event()
        gui = page.server.gui
        if queue is not None:
            self.vent = VentButton(gui, queue)
        self._words = gui.add_markdown("waiting for the first reading", order=-2)
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

    def __call__(self, row: TwinRow) -> None:
        """Store a row for the next update; returns at once."""
        with self._lock:
            self._row = row
            self._log.extendleft(f"{row.time:8.2f} s  {event}" for event in row.events)
        if row.pressures is not None:
            self._pressure.add(row.time, [KPA * value for value in row.pressures])
        if row.shape is not None:
            self._curvature.add(row.time, row.shape.curvatures.tolist())
            self._tip.add(row.time, (1e3 * row.shape.tips[0]).tolist())

    def close(self) -> None:
        """Stop updating."""
        self._ended.set()
        self._thread.join(timeout=2.0)

    def _refresh(self) -> None:
        shown: TwinRow | None = None
        while not self._ended.wait(1.0 / 15.0):
            with self._lock:
                row, log = self._row, list(self._log)
            if row is not None and row is not shown:
                shown = row
                self.show(row, log)

    def show(self, row: TwinRow, log: list[str]) -> None:
        """Show a recorded row and the previous events."""
        with self._page.server.atomic():
            if row.shape is not None:
                data = self._bodies.pose(row.shape, row.joints)
                self._model.pose(data)
                self._aim(np.concatenate([data.geom_xpos, row.shape.tips]))
            for chart in (self._pressure, self._curvature, self._tip):
                chart.draw()
            self._words.content = self._status_text(row)
            self._events.content = "\n\n".join(map(plain, log)) or "none yet"

    def _aim(self, points: Array) -> None:
        """Aim the cameras of new browsers so that points on robot and gripper are visible."""
        if self._aimed:
            return
        self._aimed = True
        x, y, _ = points[-1]
        camera = frame_points(
            points,
            azimuth_deg=float(np.degrees(np.arctan2(y, x))) + 70.0,
            elevation_deg=-12.0,
            aspect=1.0,
            margin=AROUND,
        )
        set_camera(self._page, camera)

    def _status_text(self, row: TwinRow) -> str:
        pressures = row.pressures
        now = "no reading" if pressures is None else f"{KPA * pressures[0]:.1f} kPa"
        bend = (
            "" if row.shape is None else f", each finger bent by {np.degrees(row.shape.bend):.1f}°"
        )
        return (
            f"**{STATES.get(self._state(), self._state())}**\n\n{now}{bend}\n\n"
            f"answer after {1e3 * row.latency:.1f} ms, cycle {1e3 * row.lateness:.1f} ms late"
        )


# Commands


class VentButton:
    """Button that vents the gripper at once, without key and confirmation."""

    def __init__(self, gui: viser.GuiApi, queue: CommandQueue) -> None:
        self._queue = queue
        self.button = gui.add_button(VENT, color="red", hint="Both triggers off at once", order=-4)
        self.message = gui.add_markdown("", visible=False, order=-3)
        self.button.on_click(lambda _: self.send())

    def send(self) -> None:
        """Send the command; show the reason where it is refused."""
        refused = self._queue.send(Command(positive_on=False, negative_on=False))
        self.message.content = f"**not vented: {plain(refused)}**"
        self.message.visible = bool(refused)


class CommandPanel:
    """Command buttons of one browser.

    Args:
        gui: GUI of that browser.
        twin: Digital twin with the limits of the targets.
        queue: Receiver of the commands.
        key: Key that must be typed first.
        clock: Clock [s].
    """

    def __init__(
        self,
        gui: viser.GuiApi,
        twin: Twin,
        queue: CommandQueue,
        key: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue, self._key, self._clock = queue, key, clock
        self._pending: tuple[float, Command] | None = None
        limits = twin.controller.map.writes
        with gui.add_folder("Commands", order=-1):
            self.key = gui.add_text("key", "", hint="Printed in the terminal of the twin.")
            low, high = limits.positive_target.limits
            self.positive = _slider(gui, "positive / kPa", max(low, 0.0), high)
            low, high = limits.negative_target.limits
            self.negative = _slider(gui, "negative / kPa", low, min(high, 0.0))
            self.buttons = {name: gui.add_button(name) for name in (CLOSE, OPEN)}
            self.message = gui.add_markdown(NOTHING)
            self.confirm, self.cancel = gui.add_button("Confirm"), gui.add_button("Cancel")
        self.buttons[CLOSE].on_click(lambda _: self.ask(CLOSE))
        self.buttons[OPEN].on_click(lambda _: self.ask(OPEN))
        self.confirm.on_click(lambda _: self.send())
        self.cancel.on_click(lambda _: self.forget())

    def ask(self, name: str) -> None:
        """Propose the command of a button, to be confirmed."""
        if not hmac.compare_digest(self.key.value.strip().encode(), self._key.encode()):
            self.message.content = (
                "**type the key first**; it is printed in the terminal of the twin"
            )
            return
        command = Command(positive_on=name == CLOSE, negative_on=name == OPEN)
        if name == CLOSE:
            command = command._replace(positive_target=self.positive.value / KPA)
        else:
            command = command._replace(negative_target=self.negative.value / KPA)
        self._pending = (self._clock(), command)
        self.message.content = f"**waits for a confirmation:** {command.words}"

    def send(self) -> None:
        """Send the proposed command of this browser if it has not expired."""
        pending, self._pending = self._pending, None
        if pending is None:
            self.message.content = NOTHING
        elif self._clock() - pending[0] > EXPIRES:
            self.message.content = f"not sent: it was not confirmed within {EXPIRES:g} s"
        else:
            refused = self._queue.send(pending[1])
            self.message.content = f"not sent: {plain(refused)}" if refused else NOTHING

    def forget(self) -> None:
        """Discard the proposed command."""
        self._pending = None
        self.message.content = NOTHING


def _slider(gui: viser.GuiApi, name: str, low: float, high: float) -> viser.GuiSliderHandle[float]:
    """Add a slider between two pressures [Pa]; it starts in the middle."""
    low, high = KPA * low, KPA * max(high, low + 1.0)
    return gui.add_slider(name, low, high, 0.1, round(0.5 * (low + high), 1))


# Images


class TwinCamera:
    """Renderer of a twin from a fixed view; one shape gives one image, bit for bit.

    Args:
        twin: Digital twin.
        renderer: ``auto``, ``gl`` or ``raycast``.

    Raises:
        BackendUnavailable: The requested renderer is not available.
    """

    def __init__(self, twin: Twin, renderer: str = "auto") -> None:
        self._bodies = TwinModel(twin)
        self._renderer = open_renderer(self._bodies.model, *SIZE, renderer)
        self.note = self._renderer.description

    def draw(self, shape: TwinShape, joints: Array | None) -> Image:
        """Render a shape, (height, width, 3).

        Args:
            shape: Shape of the fingers.
            joints: Joint angles of the arm [rad].
        """
        return self._renderer.draw(self._bodies.pose(shape, joints), self._camera(shape))

    def write(self, shape: TwinShape, joints: Array | None, path: Path) -> Path:
        """Render a shape into a ``.png`` file.

        Raises:
            ResultError: The file cannot be written.
        """
        return write_png(path, self.draw(shape, joints))

    def close(self) -> None:
        """Release the renderer."""
        self._renderer.close()

    def _camera(self, shape: TwinShape) -> Camera:
        """Place the camera so that flange and fingers are visible for every bend."""
        reach = float(np.sum(self._bodies.twin.finger.lengths))
        roots = shape.roots[:, :3, 3]
        ends = roots + reach * shape.roots[:, :3, 2]
        behind = roots - 0.05 * shape.roots[:, :3, 2]
        cloud = np.concatenate([roots, ends, behind])
        aspect = SIZE[0] / SIZE[1]
        return frame_points(
            cloud, azimuth_deg=AZIMUTH_DEG, elevation_deg=ELEVATION_DEG, aspect=aspect,
            margin=MARGIN,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def record_twin_video(
    camera: TwinCamera,
    shapes: Sequence[tuple[TwinShape, Array | None, str]],
    path: Path,
    progress: Callable[[float], None] | None = None,
) -> Path:
    """Render shapes as a video with ``FPS`` frames per second.

    Args:
        camera: Renderer.
        shapes: Shape of the fingers, joint angles of the arm, and text on the image.
        path: ``.mp4`` file to write.
        progress: Called with the completed fraction.

    Raises:
        BackendUnavailable: ffmpeg is not available.
        ResultError: There is no shape, or the video cannot be written.
    """

    def frames() -> Iterator[Image]:
        for index, (shape, joints, words) in enumerate(shapes):
            image = camera.draw(shape, joints).copy()
            stamp(image, words)
            yield image
            if progress is not None:
                progress((index + 1) / len(shapes))

    return write_frames(path, frames(), FPS)
