"""A hand in a browser: its joints by sliders, with frames, limits and the places of its grasps."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from softgrasp.description.scene import GraspScene
from softgrasp.formats.atomic import write_text
from softgrasp.view.drawn_model import DrawnModel
from softgrasp.view.drive_sliders import ActuatorSliders
from softgrasp.view.hand_closing import (
    hand_bodies,
    hand_camera,
    seen_points,
    targets_between,
)
from softgrasp.view.hand_marks import HandMarks
from softgrasp.view.page import Page
from softgrasp.view.posed_hand import PosedHand
from softgrasp.view.recording import Announcement, recorded

THROUGH = 0.55
"""Opacity of a hand whose joints are shown."""
SAVED = 50
"""Instants of a saved scene: the hand closes, and opens again."""
"""Width over height of what a window has besides the panel."""


class HandView:
    """A hand on a page, before an object where there is one.

    Args:
        page: The page.
        posed: The hand.
        scene: The scene whose model it is in; the hand is alone where it is not given.
    """

    def __init__(self, page: Page, posed: PosedHand, scene: GraspScene | None = None) -> None:
        self._page, self.posed, self.hand = page, posed, posed.hand
        self._scene, hand = scene, posed.hand
        self._busy = threading.RLock()
        self.camera = hand_camera(posed, scene)
        self._model = DrawnModel(page.server.scene, self.posed.model)
        size = float(np.ptp(seen_points(posed), axis=0).max())
        self._marks = HandMarks(page.server.scene, self.posed, size)
        self._add_choices()
        self.sliders = self._add_sliders()
        self._see_inside()
        self.show(targets_between(hand, 0.0))

    def show(self, targets: list[float]) -> None:
        """Show the hand with its drives at targets [rad, m, Pa, …]; the sliders follow."""
        with self._busy, self._page.server.atomic():
            self.sliders.put(targets)
            self._draw(targets)

    def save(self, path: Path) -> Path:
        """Write the hand, closing and opening again, as one file that any browser opens.

        Raises:
            ResultError: The place cannot be written.
        """

        def frames() -> Iterator[None]:
            for fraction in (1.0 - np.cos(np.linspace(0.0, 2.0 * np.pi, SAVED))) / 2.0:
                self.show(targets_between(self.hand, float(fraction)))
                yield

        with self._busy:
            return write_text(path, recorded(self._page, frames(), self._announcement))

    @property
    def _announcement(self) -> Announcement:
        suffix = "" if self._scene is None else f" before {self._scene.object.name}"
        return Announcement(
            f"{self.hand.name}{suffix}", "The hand closes and opens; nothing is simulated."
        )

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

    def _see_inside(self) -> None:
        """Let the hand be seen through where it would hide what is shown of its joints."""
        is_hand = np.isin(self.posed.model.geom_bodyid, hand_bodies(self.posed))
        geoms = np.flatnonzero(is_hand).tolist()
        inside = self._marks.frames or self._marks.limits
        self._model.fade(geoms, THROUGH if inside else 1.0)

    def _add_choices(self) -> None:
        gui, marks = self._page.server.gui, self._marks
        with gui.add_folder("Shown"):
            frames = gui.add_checkbox("joint frames", marks.frames)
            limits = gui.add_checkbox("joint limits", marks.limits)
            centers = gui.add_checkbox("grasp places", marks.centers)
            shapes = gui.add_checkbox("collision shapes", initial_value=False)

        def changed(_: object) -> None:
            marks.frames, marks.limits, marks.centers = frames.value, limits.value, centers.value
            with self._busy, self._page.server.atomic():
                self._model.show_collisions(shown=shapes.value)
                self._see_inside()
                marks.draw()

        for box in (frames, limits, centers, shapes):
            box.on_update(changed)
