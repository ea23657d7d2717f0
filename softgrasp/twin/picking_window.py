"""Window for picking the reference line and the cuts of a finger in its image.

The left button adds a point, the right button or Backspace removes the last one, Enter finishes and
Escape cancels. The bending angles are shown as soon as one piece is picked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np

from softgrasp.errors import BackendUnavailable, SoftgraspError
from softgrasp.mechanics.transforms import Array
from softgrasp.twin.point_picking import CHORD, LINE, PickMeasurement, Picks, angles_text
from softgrasp.vision.image import Color, Image

if TYPE_CHECKING:
    from matplotlib.backend_bases import Event, KeyEvent, MouseEvent
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

KEYS = "Right click or Backspace: remove the last point. Enter: finish. Esc: cancel."
LEFT, RIGHT = 1, 3
"""Mouse buttons."""


def pick_in_window(
    image: Image, pieces: int, edges: bool, measure: Callable[[Picks], PickMeasurement]
) -> Picks | None:
    """Let the user pick points in a window; return them, or None where the user cancels.

    Args:
        image: RGB image, (height, width, 3).
        pieces: Number of pieces of the finger.
        edges: Whether each cut is picked at both edges of the finger.
        measure: Computes the shown angles from picks; its errors are shown, too.

    Raises:
        BackendUnavailable: No window can be opened.
    """
    figure, show, close = open_figure()
    window = PickingWindow(figure, image, pieces, edges, measure, close)
    show()
    return window.picks


def open_figure() -> tuple[Figure, Callable[[], None], Callable[[], None]]:
    """Open an empty window; return its figure, and a function to show and one to close it.

    Raises:
        BackendUnavailable: There is no display, or no library of windows.
    """
    from matplotlib import pyplot as plt

    cause: object = "no display, or no library of windows such as tkinter"
    try:
        figure = plt.figure("softgrasp twin pick", figsize=(11.0, 9.0), layout="constrained")
    except (ImportError, RuntimeError) as error:
        cause = error
    else:
        if figure.canvas.manager is not None and figure.canvas.required_interactive_framework:
            return figure, plt.show, lambda: plt.close(figure)
        plt.close(figure)
    raise BackendUnavailable(
        f"picking needs a window, which cannot be opened here: {cause}; give the points by --points"
    )


class PickingWindow:
    """Clicked points in an image: the reference line first, then the cuts from the base to the tip.

    Args:
        figure: Empty figure.
        image: RGB image, (height, width, 3).
        pieces: Number of pieces of the finger.
        edges: Whether each cut is picked at both edges of the finger.
        measure: Computes the shown angles from picks.
        close: Called when the user finishes or cancels.
    """

    def __init__(
        self,
        figure: Figure,
        image: Image,
        pieces: int,
        edges: bool,
        measure: Callable[[Picks], PickMeasurement],
        close: Callable[[], None],
    ) -> None:
        self.pieces, self.edges = pieces, edges
        self.picks: Picks | None = None
        """Picked points; None until the user finishes."""
        self._measure, self._close = measure, close
        self._points: list[tuple[float, float]] = []
        self._axes = figure.add_subplot()
        height, width = image.shape[:2]
        # (0, 0) is the outer corner of the first pixel
        self._axes.imshow(image, extent=(0.0, width, height, 0.0))
        self._axes.set_axis_off()
        self._line = self._add_line(LINE)
        self._chords, self._cuts = self._add_line(CHORD), self._add_line(CHORD, "none")
        figure.canvas.mpl_connect("button_press_event", self._clicked)
        figure.canvas.mpl_connect("key_press_event", self._typed)
        self._draw()

    @property
    def total(self) -> int:
        """Number of points to pick."""
        return 2 + (self.pieces + 1) * (1 + self.edges)

    @property
    def title(self) -> str:
        """Text above the image: the next point, the keys, the angles so far or an error."""
        return str(self._axes.get_title())

    def _add_line(self, color: Color, style: str = "-") -> Line2D:
        rgb = (color[0] / 255.0, color[1] / 255.0, color[2] / 255.0)
        (line,) = self._axes.plot(
            [], [], ls=style, lw=1.5, color=rgb, marker="o", ms=5.0, markeredgecolor="white"
        )
        return line

    def _clicked(self, event: Event) -> None:
        mouse = cast("MouseEvent", event)
        toolbar = getattr(mouse.canvas, "toolbar", None)
        if mouse.inaxes is not self._axes or (toolbar is not None and toolbar.mode):
            return  # a click beside the image, or one that zooms
        if mouse.button == RIGHT:
            self._remove()
        elif mouse.button == LEFT and len(self._points) < self.total:
            assert mouse.xdata is not None
            assert mouse.ydata is not None
            self._points.append((mouse.xdata, mouse.ydata))
            self._draw()

    def _typed(self, event: Event) -> None:
        key = cast("KeyEvent", event).key
        if key == "backspace":
            self._remove()
        elif key == "escape":
            self._close()
        elif key == "enter" and len(self._points) == self.total:
            self.picks = self._so_far()
            self._close()

    def _remove(self) -> None:
        if self._points:
            self._points.pop()
            self._draw()

    def _so_far(self) -> Picks:
        """Return the reference line and all complete cuts."""
        points = np.array(self._points)
        cuts = points[2:]
        if self.edges:
            cuts = cuts[: len(cuts) // 2 * 2].reshape(-1, 2, 2)
        return Picks(cuts, points[:2])

    def _draw(self) -> None:
        points = np.array(self._points).reshape(-1, 2)
        self._line.set_data(*points[:2].T)
        self._cuts.set_data(*points[2:].T)
        middles = points[2:]
        if self.edges:
            middles = middles[: len(middles) // 2 * 2].reshape(-1, 2, 2).mean(axis=1)
        self._chords.set_data(*middles.T)
        text = f"{self._next()}\n{KEYS}\n{self._angles(middles)}"
        self._axes.set_title(text, fontsize=9, parse_math=False)
        self._axes.figure.canvas.draw_idle()

    def _angles(self, middles: Array) -> str:
        if len(middles) < 2:
            return ""
        try:
            return angles_text(self._measure(self._so_far()))
        except SoftgraspError as error:
            return str(error)

    def _next(self) -> str:
        """Return an instruction for the next point."""
        count = len(self._points)
        if count == self.total:
            return "All points are picked: Enter accepts the angles."
        if count < 2:
            return (
                f"Reference line: click its {('start, away from', 'end, towards')[count]} the tip."
            )
        cut, edge = divmod(count - 2, 1 + self.edges)
        name = {0: "the base", self.pieces: "the tip"}.get(cut, f"cut {cut}")
        where = f"at the {('first', 'other')[edge]} edge" if self.edges else "on the middle line"
        return f"Click {name} {where}."
