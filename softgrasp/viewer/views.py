"""Views of the browser viewer: hand, result, and the workbench that switches between them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import viser

from softgrasp import assets
from softgrasp.description.closure import CLOSURES
from softgrasp.description.scene import GraspScene
from softgrasp.errors import SimulationError, SoftgraspError
from softgrasp.evaluation.result import GraspResult
from softgrasp.io.files import write_text
from softgrasp.model.names import object_bodies
from softgrasp.pipeline import simulate
from softgrasp.rendering.camera import Camera
from softgrasp.rendering.keyframes import Playback
from softgrasp.rendering.video import framing
from softgrasp.viewer.page import Announcement, Page, record, serve, set_camera
from softgrasp.viewer.scene_markers import (
    Choices,
    DrawnModel,
    GraspMarks,
    HandMarks,
    MakeScene,
    PosedHand,
    choose_hand,
    hand_bodies,
    hand_camera,
    list_seen_points,
    targets_between,
)
from softgrasp.viewer.widgets import ActuatorSliders, GraspForm, TimeChart, plain

MAX_CLOSURE_TIME = 2.0
"""Assumed maximum duration of a closure, for the progress bar [s]."""


SPEEDS = {"1 ×": 1.0, "0.5 ×": 0.5, "0.2 ×": 0.2, "0.1 ×": 0.1}
SLIDER_STEPS, MIN_TIME = 1000, 1e-3
PLAYER = "The player shows the time of the run in seconds; arrows are forces on the object."
MAX_FRAMES = 250
"""Maximum number of frames of a saved result scene."""


class Workbench:
    """Interactive page that shows a hand, simulates its grasps and shows their results.

    Errors are shown as messages on the page.

    Raises:
        SoftgraspError: The initial settings are invalid.
    """

    def __init__(
        self,
        page: Page,
        choices: Choices,
        make_scene: MakeScene,
        words: Callable[[GraspResult], str],
    ) -> None:
        self._page, self.choices = page, choices
        self._make_scene, self._words = make_scene, words
        self._busy, self._stopped = threading.RLock(), threading.Event()
        self._worker = ThreadPoolExecutor(max_workers=1)
        self._message: viser.GuiMarkdownHandle | None = None
        self.hand: HandView | None = None
        self.result: ResultView | None = None
        self.form: GraspForm | None = None
        self.running: Future[GraspResult] | None = None
        problem = self._show_hand(choices)
        if problem is not None:
            raise problem

    @property
    def message_text(self) -> str:
        """The current message; empty without one."""
        return "" if self._message is None else self._message.content

    def show_message(self, message: str) -> None:
        """Show a message at the top of the panel; an empty one is hidden."""
        if self._message is not None:
            self._message.content, self._message.visible = plain(message), bool(message)

    def show_hand(self, choices: Choices) -> None:
        """Show the selected hand with its object, or an error message."""
        try:
            with self._busy:
                problem = self._show_hand(choices)
                self.show_message("" if problem is None else f"⚠ {problem}")
        except SoftgraspError as error:
            self.show_message(f"⚠ {error}")

    def start(self, choices: Choices) -> None:
        """Simulate the grasp in the background, then show the result."""
        with self._busy:
            if self.running is not None or self.form is None:
                return
            self.choices = choices
            self.show_message("")
            self._stopped.clear()
            self.form.show_progress(0.0)
            self.running = self._worker.submit(self._run_simulation, choices, self.form)
        self.running.add_done_callback(self._on_finished)

    def stop(self) -> None:
        """Cancel the running simulation."""
        self._stopped.set()

    def step(self, passed: float) -> None:
        """Advance the playback of a result by a real time [s]."""
        with self._busy:
            if self.result is not None:
                self.result.step(passed)

    def serve(self) -> None:
        """Serve until interrupted, then cancel a running simulation."""
        try:
            serve(self.step)
        finally:
            self.close()

    def save(self, path: Path) -> Path:
        """Write the current view as a self-contained HTML file.

        Raises:
            ResultError: The file cannot be written.
        """
        shown = self.result or self.hand
        assert shown is not None
        return shown.save(path)

    def close(self) -> None:
        """Cancel a running simulation."""
        self.stop()
        self._worker.shutdown(cancel_futures=True)

    def _show_hand(self, choices: Choices) -> SoftgraspError | None:
        """Show a hand; without the object, and with the error, if both are incompatible."""
        problem = None
        try:
            posed, scene = choose_hand(choices, self._make_scene)
        except SoftgraspError as error:
            if choices.object is None:
                raise
            problem = error
            posed, scene = choose_hand(choices.replace(object=None), self._make_scene)
        with self._page.server.atomic():
            self._clear()
            self.choices = choices
            self.form = self._add_form(choices, {} if scene is None else numbers_of(scene))
            self.hand = HandView(self._page, posed, scene)
            aim(self._page, self.hand.camera)
        return problem

    def _show_result(self, result: GraspResult) -> None:
        with self._busy, self._page.server.atomic():
            self._clear()
            gui, choices = self._page.server.gui, self.choices
            back = gui.add_button("Back to the hand")
            back.on_click(lambda _: self.show_hand(choices))
            warnings = [f"⚠ {message}" for message in result.warnings]
            command = f"Equivalent command: {choices.command}"
            words = "\n\n".join([self._words(result), *warnings, command])
            self.result = ResultView(self._page, result, words)
            aim(self._page, self.result.camera)

    def _clear(self) -> None:
        """Remove all elements except the message."""
        self.hand = self.result = self.form = None
        server = self._page.server
        server.gui.reset()
        server.scene.reset()
        server.gui.main_panel.dock_right()
        self._message = server.gui.add_markdown("", visible=False)

    def _add_form(self, choices: Choices, used: Mapping[str, float]) -> GraspForm:
        hands, objects = (sorted(assets.names(kind)) for kind in ("hands", "objects"))
        form = GraspForm(
            self._page.server.gui, choices, hands=hands, objects=objects, closures=list(CLOSURES),
            changed=self.show_hand, started=self.start, used=used,
            refused=lambda message: self.show_message(f"⚠ {message}"),
        )  # fmt: skip
        form.stop.on_click(lambda _: self.stop())
        return form

    def _run_simulation(self, choices: Choices, form: GraspForm) -> GraspResult:
        scene = self._make_scene(choices)
        max_duration = MAX_CLOSURE_TIME if scene.duration is None else scene.duration

        def progress(now: float) -> None:
            if self._stopped.is_set():
                raise SimulationError(f"stopped at {now:.3f} s of the run")
            form.show_progress(now / (max_duration + scene.time_besides_closing))

        return simulate(scene, progress=progress)

    def _on_finished(self, run: Future[GraspResult]) -> None:
        with self._busy:
            self.running = None
            if self.form is not None:
                self.form.show_progress(None)
            error = run.exception()
            if error is None:
                self._show_result(run.result())
            elif isinstance(error, SoftgraspError):
                self.show_message(f"⚠ {error}")
            else:  # exceptions of the worker thread are not visible otherwise
                reason = f"{type(error).__name__}: {error}"
                self.show_message(f"⚠ the simulation failed with an internal error: {reason}")


def numbers_of(scene: GraspScene) -> dict[str, float]:
    """Values of the numeric form fields of a scene."""
    obj, contact = scene.object, scene.requested_contact
    numbers = {} if obj.density is None else {"density": obj.density}
    if contact.kinetic_friction == contact.static_friction:
        numbers["friction"] = contact.static_friction
    return numbers


def aim(page: Page, camera: Camera) -> None:
    """Set the camera of all current and future browser clients."""
    set_camera(page, camera)
    start = page.server.initial_camera
    for browser in page.server.get_clients().values():
        browser.camera.position, browser.camera.look_at = start.position, start.look_at


class HandView:
    """View of a hand with actuator sliders, joint frames and grasp centres."""

    def __init__(self, page: Page, posed: PosedHand, scene: GraspScene | None = None) -> None:
        self._page, self.posed, self.hand = page, posed, posed.hand
        self._scene, hand = scene, posed.hand
        self._busy = threading.RLock()
        self.camera = hand_camera(posed, scene)
        self._model = DrawnModel(page.server.scene, self.posed.model)
        size = float(np.ptp(list_seen_points(posed), axis=0).max())
        self._marks = HandMarks(page.server.scene, self.posed, size)
        self._add_choices()
        self.sliders = self._add_sliders()
        self._update_opacity()
        self.show(targets_between(hand, 0.0))

    def show(self, targets: list[float]) -> None:
        """Show the hand with actuator targets [rad, m, Pa, …] and update the sliders."""
        with self._busy, self._page.server.atomic():
            self.sliders.put(targets)
            self._draw(targets)

    def save(self, path: Path) -> Path:
        """Write the closing and opening hand as a self-contained HTML file.

        Raises:
            ResultError: The file cannot be written.
        """

        def frames() -> Iterator[None]:
            for fraction in (1.0 - np.cos(np.linspace(0.0, 2.0 * np.pi, 50))) / 2.0:
                self.show(targets_between(self.hand, float(fraction)))
                yield

        with self._busy:
            return write_text(path, record(self._page, frames(), self._announcement))

    @property
    def _announcement(self) -> Announcement:
        suffix = "" if self._scene is None else f" with {self._scene.object.name}"
        sentence = "The hand closes and opens (kinematics only)."
        return Announcement(f"{self.hand.name}{suffix}", sentence)

    def _draw(self, targets: list[float]) -> None:
        self._model.pose(self.posed.pose(targets))
        self._marks.draw()

    def _add_sliders(self) -> ActuatorSliders:
        gui = self._page.server.gui

        def moved(targets: list[float]) -> None:
            with self._busy, self._page.server.atomic():
                self._draw(targets)

        with gui.add_folder("Joints"):
            together = gui.add_slider("close / %", 0.0, 100.0, 1.0, 0.0)
            sliders = ActuatorSliders(gui, self.hand, moved)

        @together.on_update
        def _(_: object) -> None:
            self.show(targets_between(self.hand, together.value / 100.0))

        return sliders

    def _update_opacity(self) -> None:
        """Make the hand transparent if joint frames are shown."""
        is_hand = np.isin(self.posed.model.geom_bodyid, hand_bodies(self.posed))
        geoms = np.flatnonzero(is_hand).tolist()
        self._model.fade(geoms, 0.55 if self._marks.frames else 1.0)

    def _add_choices(self) -> None:
        gui, marks = self._page.server.gui, self._marks
        with gui.add_folder("Shown"):
            frames = gui.add_checkbox("joint frames", marks.frames)
            centers = gui.add_checkbox("grasp centres", marks.centers)
            shapes = gui.add_checkbox("collision shapes", initial_value=False)

        def changed(_: object) -> None:
            marks.frames, marks.centers = frames.value, centers.value
            with self._busy, self._page.server.atomic():
                self._model.show_collisions(shown=shapes.value)
                self._update_opacity()
                marks.draw()

        for box in (frames, centers, shapes):
            box.on_update(changed)


class ResultView:
    """View of a result with timeline, contacts, forces and curves, and its summary in words."""

    def __init__(self, page: Page, result: GraspResult, words: str) -> None:
        self._page, self._result = page, result
        scene = result.scene
        # the first paragraph is the outcome
        message = f"{words.partition(chr(10) * 2)[0]} {PLAYER}"
        self._announcement = Announcement(f"{scene.hand.name} grasps {scene.object.name}", message)
        self._playback = Playback(result)
        self.camera = framing([self._playback])
        set_camera(page, self.camera)
        drawn = page.server.scene
        self._model = DrawnModel(drawn, self._playback.model)
        self._marks = GraspMarks(drawn, self._playback, self.camera)
        self._begin, self._end = (float(end) for end in result.time[[0, -1]])
        self._time, self._playing = self._end, False
        self._busy = threading.RLock()
        model = self._playback.model
        body_ids = [model.body(name).id for name in object_bodies(result.scene)]
        self._object_geoms = np.flatnonzero(np.isin(model.geom_bodyid, body_ids)).tolist()
        self._charts: list[TimeChart] = []
        page.server.gui.add_markdown("\n\n".join(map(plain, words.split("\n\n"))))
        self._add_timeline()
        self._add_choices()
        self._charts = self._add_charts()
        self.show(self._end)

    def show(self, time: float) -> None:
        """Show the state at a time [s]."""
        with self._busy, self._page.server.atomic():
            self._time = float(np.clip(time, self._begin, self._end))
            self._model.pose(self._playback.pose(self._time))
            self._model.paint(self._playback.colors(self._time))
            self._marks.pose(self._time)
            for chart in self._charts:
                chart.move(self._time)

    def step(self, passed: float) -> None:
        """Advance the playback by a real time [s]; at the end it restarts."""
        if not self._playing:
            return
        then = self._time + passed * SPEEDS[self._speed.value]
        self._slider.value = self._begin if self._time >= self._end else min(then, self._end)  # type: ignore[misc]

    def serve(self) -> None:
        """Serve until interrupted."""
        serve(self.step)

    def save(self, path: Path, frames: int = MAX_FRAMES) -> Path:
        """Write the animated scene as a self-contained HTML file with a number of frames.

        Raises:
            ResultError: The file cannot be written.
        """
        return write_text(path, self.html(frames))

    def html(self, frames: int = MAX_FRAMES) -> str:
        """Record the animated scene as HTML with a number of frames."""
        times, now = np.linspace(self._begin, self._end, frames).tolist(), self._time

        def frames_shown() -> Iterator[None]:
            for time in times:
                self.show(time)
                yield

        step = (self._end - self._begin) / max(frames - 1, 1)
        with self._busy:
            text = record(self._page, frames_shown(), self._announcement, max(step, MIN_TIME))
            self.show(now)
        return text

    def _add_timeline(self) -> None:
        gui = self._page.server.gui
        steps = max(self._end - self._begin, MIN_TIME) / SLIDER_STEPS
        digits = min(-math.floor(math.log10(steps)), 3)
        step = 10.0**-digits
        # the number field shows the decimals of the end values and fits five digits
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
                press.client.send_file_download("grasp.html", self.html().encode())

    def _add_choices(self) -> None:
        gui = self._page.server.gui
        with gui.add_folder("Shown"):
            forces = gui.add_checkbox("forces", self._marks.forces)
            through = gui.add_checkbox("transparent object", initial_value=True)
            shapes = gui.add_checkbox("collision shapes", initial_value=False)

        def changed(_: object) -> None:
            self._marks.forces = forces.value
            self._model.fade(self._object_geoms, 0.45 if through.value else 1.0)
            self._model.show_collisions(shown=shapes.value)
            self.show(self._time)

        changed(None)
        for box in (forces, through, shapes):
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
