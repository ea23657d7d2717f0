"""A page for a hand: it is turned and moved, takes an object, and the result is looked at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import viser

from softgrasp import library
from softgrasp.description.closures.known import CLOSURES
from softgrasp.description.scene import GraspScene
from softgrasp.errors import SimulationError, SoftgraspError
from softgrasp.render.camera import Camera
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.run import simulate
from softgrasp.view.choices import Choices, MakeScene
from softgrasp.view.grasp_form import GraspForm
from softgrasp.view.hand_view import HandView
from softgrasp.view.page import Page, set_camera
from softgrasp.view.posed_hand import chosen_hand
from softgrasp.view.recording import serve
from softgrasp.view.result_view import ResultView

LONGEST = 2.0
"""Of a closure whose end nobody knows, for the bar that shows how far it is [s]."""


class Workbench:
    """A page that shows a hand, simulates its grasps and shows their results.

    Mistakes appear on it as sentences.

    Args:
        page: The page.
        choices: What is shown first.
        make_scene: Makes the scene of a grasp.
        words: What happened in a result, in sentences.

    Raises:
        SoftgraspError: What is to be shown first cannot be.
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
        """The sentence that stands over everything; empty where there is none."""
        return "" if self._message is None else self._message.content

    def show_message(self, sentence: str) -> None:
        """Put a sentence over everything; nothing where it is empty."""
        if self._message is not None:
            self._message.content, self._message.visible = sentence, bool(sentence)

    def show_hand(self, choices: Choices) -> None:
        """Show the hand of choices, before their object; a sentence where that cannot be."""
        try:
            with self._busy:
                problem = self._show_hand(choices)
                self.show_message("" if problem is None else f"⚠ {problem}")
        except SoftgraspError as error:
            self.show_message(f"⚠ {error}")

    def start(self, choices: Choices) -> None:
        """Simulate the grasp beside what is shown, then show the result."""
        with self._busy:
            if self.running is not None or self.form is None:
                return
            self.choices = choices
            self.show_message("")
            self._stopped.clear()
            self.form.show_progress(0.0)
            self.running = self._worker.submit(self._simulated, choices, self.form)
        self.running.add_done_callback(self._ended)

    def stop(self) -> None:
        """Give the simulation up that runs."""
        self._stopped.set()

    def step(self, passed: float) -> None:
        """Go on by so much of real time [s] where a result plays."""
        with self._busy:
            if self.result is not None:
                self.result.step(passed)

    def serve(self) -> None:
        """Answer until interrupted; what runs then is given up."""
        try:
            serve(self.step)
        finally:
            self.close()

    def save(self, path: Path) -> Path:
        """Write what is shown as one file that any browser opens.

        Raises:
            ResultError: The place cannot be written.
        """
        shown = self.result or self.hand
        assert shown is not None
        return shown.save(path)

    def close(self) -> None:
        """Give up what runs."""
        self.stop()
        self._worker.shutdown(cancel_futures=True)

    def _show_hand(self, choices: Choices) -> SoftgraspError | None:
        """Show a hand; alone where it does not go with the object, and why."""
        problem = None
        try:
            posed, scene = chosen_hand(choices, self._make_scene)
        except SoftgraspError as error:
            if choices.object is None:
                raise
            problem = error
            posed, scene = chosen_hand(choices.replace(object=None), self._make_scene)
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
            warnings = [f"⚠ {sentence}" for sentence in result.warnings]
            again = f"The same on the command line: `{choices.command}`"
            words = "\n\n".join([self._words(result), *warnings, again])
            self.result = ResultView(self._page, result, words)
            aim(self._page, self.result.camera)

    def _clear(self) -> None:
        """Take everything off the page, but for the place of a sentence."""
        self.hand = self.result = self.form = None
        server = self._page.server
        server.gui.reset()
        server.scene.reset()
        server.gui.main_panel.dock_right()
        self._message = server.gui.add_markdown("", visible=False)

    def _add_form(self, choices: Choices, used: Mapping[str, float]) -> GraspForm:
        form = GraspForm(
            self._page.server.gui,
            choices,
            hands=sorted(library.names("hands")),
            objects=sorted(library.names("objects")),
            closures=list(CLOSURES),
            changed=self.show_hand,
            started=self.start,
            refused=lambda sentence: self.show_message(f"⚠ {sentence}"),
            used=used,
        )
        form.stop.on_click(lambda _: self.stop())
        return form

    def _simulated(self, choices: Choices, form: GraspForm) -> GraspResult:
        scene = self._make_scene(choices)
        longest = LONGEST if scene.duration is None else scene.duration

        def progress(now: float) -> None:
            if self._stopped.is_set():
                raise SimulationError(f"stopped at {now:.3f} s of the run")
            form.show_progress(now / (longest + scene.time_besides_closing))

        return simulate(scene, progress=progress)

    def _ended(self, run: Future[GraspResult]) -> None:
        with self._busy:
            self.running = None
            if self.form is not None:
                self.form.show_progress(None)
            error = run.exception()
            if error is None:
                self._show_result(run.result())
            elif isinstance(error, SoftgraspError):
                self.show_message(f"⚠ {error}")
            else:  # nobody else would say so: the run is on a thread of its own
                kind = type(error).__name__
                self.show_message(
                    f"⚠ the run failed in a way that is a mistake of softgrasp: {kind}: {error}"
                )


def numbers_of(scene: GraspScene) -> dict[str, float]:
    """What a scene has in the form's fields of numbers, where it is one number."""
    obj, contact = scene.object, scene.requested_contact
    numbers = {} if obj.density is None else {"density": obj.density}
    if contact.kinetic_friction == contact.static_friction:
        numbers["friction"] = contact.static_friction
    return numbers


def aim(page: Page, camera: Camera) -> None:
    """Have all browsers look from where a camera stands, those that are open already too."""
    set_camera(page, camera)
    start = page.server.initial_camera
    for browser in page.server.get_clients().values():
        browser.camera.position, browser.camera.look_at = start.position, start.look_at
