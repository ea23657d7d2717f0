"""A finished run in a browser: scrub in time, with contacts, forces and curves in step."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import viser

from softgrasp.build.names import object_bodies
from softgrasp.formats.atomic import write_text
from softgrasp.render.playback import framing
from softgrasp.render.poses import Playback
from softgrasp.simulation.result import GraspResult
from softgrasp.view.chart import TimeChart
from softgrasp.view.drawn_model import DrawnModel
from softgrasp.view.grasp_marks import GraspMarks
from softgrasp.view.page import Page, set_camera
from softgrasp.view.recording import Announcement, recorded, serve

SPEEDS = {"1 ×": 1.0, "0.5 ×": 0.5, "0.2 ×": 0.2, "0.1 ×": 0.1}
SLIDER_STEPS, MIN_TIME = 1000, 1e-3
MAX_DIGITS = 3
"""Of a time, behind the point."""
PLAYER = "The player shows the time of the run in seconds; arrows are forces on the object."
SAVED_AS = "grasp.html"
THROUGH = 0.45
"""Opacity of an object that what touches it is seen through."""
MAX_FRAMES = 250
"""Instants of a saved scene."""


class ResultView:
    """A result on a page.

    Args:
        page: The page.
        result: The result.
        words: What happened, in sentences.
    """

    def __init__(self, page: Page, result: GraspResult, words: str) -> None:
        self._page, self._result = page, result
        scene = result.scene
        # words are paragraphs, the first of which says how it went
        sentence = f"{words.partition(chr(10) * 2)[0]} {PLAYER}"
        self._announcement = Announcement(f"{scene.hand.name} grasps {scene.object.name}", sentence)
        self._playback = Playback(result)
        self.camera = framing([self._playback])
        set_camera(page, self.camera)
        drawn = page.server.scene
        self._model = DrawnModel(drawn, self._playback.model)
        self._marks = GraspMarks(drawn, self._playback, self.camera)
        self._begin, self._end = (float(end) for end in result.time[[0, -1]])
        self._time, self._playing = self._end, False
        self._busy = threading.RLock()
        body_ids = [self._playback.model.body(name).id for name in object_bodies(result.scene)]
        self._object_geoms = np.flatnonzero(
            np.isin(self._playback.model.geom_bodyid, body_ids)
        ).tolist()
        self._charts: list[TimeChart] = []
        page.server.gui.add_markdown(words)
        self._add_timeline()
        self._add_choices()
        self._charts = self._add_charts()
        self.show(self._end)

    def show(self, time: float) -> None:
        """Show an instant [s]."""
        with self._busy, self._page.server.atomic():
            self._time = float(np.clip(time, self._begin, self._end))
            self._model.pose(self._playback.pose(self._time))
            self._model.paint(self._playback.colors(self._time))
            self._marks.pose(self._time)
            for chart in self._charts:
                chart.move(self._time)

    def step(self, passed: float) -> None:
        """Go on by so much of real time [s] where it plays; at the end it starts again."""
        if not self._playing:
            return
        then = self._time + passed * SPEEDS[self._speed.value]
        self._slider.value = self._begin if self._time >= self._end else min(then, self._end)  # type: ignore[misc]

    def serve(self) -> None:
        """Play and scrub until interrupted."""
        serve(self.step)

    def save(self, path: Path, frames: int = MAX_FRAMES) -> Path:
        """Write the moving scene as one file that any browser opens without a server.

        Args:
            path: The ``.html`` to write.
            frames: Instants that it shows.

        Raises:
            ResultError: The place cannot be written.
        """
        return write_text(path, self.html(frames))

    def html(self, frames: int = MAX_FRAMES) -> str:
        """The moving scene as HTML, shown at so many instants."""
        times, now = np.linspace(self._begin, self._end, frames).tolist(), self._time

        def frames_shown() -> Iterator[None]:
            for time in times:
                self.show(time)
                yield

        step = (self._end - self._begin) / max(frames - 1, 1)
        with self._busy:
            text = recorded(self._page, frames_shown(), self._announcement, max(step, MIN_TIME))
            self.show(now)
        return text

    def _add_timeline(self) -> None:
        gui = self._page.server.gui
        steps = max(self._end - self._begin, MIN_TIME) / SLIDER_STEPS
        digits = min(-math.floor(math.log10(steps)), MAX_DIGITS)
        step = 10.0**-digits
        # the box shows as many digits as the ends have, and has room for five
        last = math.ceil(round(self._end / step, 6)) * step
        begin, end = round(self._begin, digits), round(last, digits)
        with gui.add_folder("Time"):
            self._slider = gui.add_slider("t / s", begin, max(end, begin + step), step, end)
            self._speed = gui.add_dropdown("speed", list(SPEEDS), initial_value="0.5 ×")
            play = gui.add_button("Play")
            keep = gui.add_button("Save as one HTML file", color="gray")

        @self._slider.on_update
        def _(_: object) -> None:
            self.show(self._slider.value)

        @play.on_click
        def _(_: object) -> None:
            self._playing = not self._playing
            play.label = "Pause" if self._playing else "Play"

        @keep.on_click
        def _(press: viser.GuiEvent[viser.GuiButtonHandle]) -> None:
            if press.client is not None:
                press.client.send_file_download(SAVED_AS, self.html().encode())

    def _add_choices(self) -> None:
        gui = self._page.server.gui
        with gui.add_folder("Shown"):
            forces = gui.add_checkbox("forces", self._marks.forces)
            cones = gui.add_checkbox("friction cones", self._marks.cones)
            through = gui.add_checkbox("see through object", initial_value=True)
            shapes = gui.add_checkbox("collision shapes", initial_value=False)

        def changed(_: object) -> None:
            self._marks.forces, self._marks.cones = forces.value, cones.value
            self._model.fade(self._object_geoms, THROUGH if through.value else 1.0)
            self._model.show_collisions(shown=shapes.value)
            self.show(self._time)

        changed(None)
        for box in (forces, cones, through, shapes):
            box.on_update(changed)

    def _add_charts(self) -> list[TimeChart]:
        result, gui = self._result, self._page.server.gui
        bodies = result.contact_bodies.tolist()
        touched = [k for k in range(len(bodies)) if result.normal_force[:, k].any()]
        forces = {bodies[k]: result.normal_force[:, k] for k in touched}
        names = result.joint_names.tolist()
        joints = {name: result.joint_position[:, k] for k, name in enumerate(names)}
        log = result.quality_log
        with gui.add_folder("Curves"):
            charts = []
            if forces:
                charts.append(TimeChart(gui, "normal force / N", result.time, forces))
            charts.append(TimeChart(gui, "joints / rad or m", result.time, joints))
            if log is not None and len(log.time):
                quality = {"ε": log.epsilon, "margin": log.margin}
                charts.append(TimeChart(gui, "quality", log.time, quality))
        return charts
