"""Window for picking the reference line and the cuts of a finger in its image; image of the result.

In the window the left button adds a point, the right button or Backspace removes the last one,
Enter finishes and Escape cancels. The bending angles are shown as soon as one piece is picked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from softgrasp.errors import BackendUnavailable, DescriptionError, SoftgraspError
from softgrasp.io.files import atomic_path
from softgrasp.vision.image import Image, degrees
from softgrasp.vision.point_picking import PickMeasurement, Picks, angles_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import Event, KeyEvent, MouseEvent
    from matplotlib.figure import Figure

LINE, CHORD, EDGE = "#1e50e6", "#14963c", "#78c88c"
"""Colours of the reference line, the chords of the pieces, and the cuts."""
DPI = 100.0
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
        figure: Empty figure; the next four are those of ``pick_in_window``.
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
        self._image, self._axes = image, figure.add_subplot()
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
        points = np.array(self._points).reshape(-1, 2)
        cuts = points[2:]
        if self.edges:
            cuts = cuts[: len(cuts) // 2 * 2].reshape(-1, 2, 2)
        return Picks(cuts, points[:2])

    def _draw(self) -> None:
        picks = self._so_far()
        view = (self._axes.get_xlim(), self._axes.get_ylim()) if self._axes.images else None
        draw_picks(self._axes, self._image, picks)
        loose = np.array(self._points[2 + picks.cuts.size // 2 :]).reshape(-1, 2)
        self._axes.plot(*loose.T, "o", color=EDGE)
        if view is not None:  # the user may have zoomed
            self._axes.set(xlim=view[0], ylim=view[1])
        text = f"{self._next()}\n{KEYS}\n{self._angles(picks)}"
        self._axes.set_title(text, fontsize=9, parse_math=False)
        self._axes.figure.canvas.draw_idle()

    def _angles(self, picks: Picks) -> str:
        if len(picks.cuts) < 2:
            return ""
        try:
            return angles_text(self._measure(picks))
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


# Drawing


def draw_picks(axes: Axes, image: Image, picks: Picks, size: float = 5.0) -> None:
    """Draw an image, and in it the reference line, the cuts and the chords; clears the axes.

    Args:
        axes: Axes; their units become pixels of the image.
        image: RGB image, (height, width, 3).
        picks: Picked points.
        size: Diameter of a point [pt].
    """
    height, width = image.shape[:2]
    axes.clear()
    # (0, 0) is the outer corner of the first pixel
    axes.imshow(image, extent=(0.0, width, height, 0.0))
    axes.set_axis_off()
    cuts = picks.points
    lines = [(pair, EDGE) for pair in cuts if len(pair) == 2]
    lines += [(np.zeros((0, 2)) if picks.line is None else np.asarray(picks.line), LINE)]
    for points, color in [*lines, (cuts.mean(axis=1), CHORD)]:
        axes.plot(*points.T, "o-", color=color, lw=0.3 * size, ms=size, markeredgecolor="white",
                  markeredgewidth=0.15 * size)  # fmt: skip


def draw_measurement(
    axes: Axes, image: Image, measured: PickMeasurement, *, size: float, sigmas: bool = True
) -> None:
    """Draw picks, and each angle beside its chord (Xiang et al. 2024, Fig. 3); clears the axes.

    Args:
        axes: Axes; their units become pixels of the image.
        image: RGB image, (height, width, 3).
        measured: Measurement in it.
        size: Height of the letters [pt].
        sigmas: Whether standard deviations are shown beside the angles.
    """
    draw_picks(axes, image, measured.picks, 0.45 * size)
    cuts = measured.picks.points
    middles = cuts.mean(axis=1)
    chords = np.diff(middles, axis=0)
    # on the outer side of the bend
    side = np.sign(chords[0, 0] * chords[-1, 1] - chords[0, 1] * chords[-1, 0]) or 1.0
    away = 0.5 * np.linalg.norm(cuts[:, -1] - cuts[:, 0], axis=1).max() + 0.05 * image.shape[1]
    for middle, chord, angle, sigma in zip(
        0.5 * (middles[1:] + middles[:-1]), chords, np.degrees(measured.angles),
        np.degrees(measured.sigmas), strict=True,
    ):  # fmt: skip
        x, y = (middle + side * away * np.array([chord[1], -chord[0]]) / np.hypot(*chord)).tolist()
        text = degrees(float(angle)) + (f" ± {sigma:.1f}°" if sigmas else "")
        axes.text(x, y, text, fontsize=size, ha="center", va="center",
                  bbox={"boxstyle": "round,pad=0.1", "color": "white", "alpha": 0.7})  # fmt: skip


def save_overlay(image: Image, measured: PickMeasurement, path: str | Path) -> Path:
    """Write the image, in its own size, with picks and angles, as a PNG.

    Args:
        image: RGB image, (height, width, 3).
        measured: Measurement in it.
        path: ``.png`` file to write.

    Raises:
        DescriptionError: ``path`` does not end in .png.
        ResultError: The file cannot be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if Path(path).suffix.lower() != ".png":
        raise DescriptionError(f"expected a .png file, found '{path}'")
    height, width = image.shape[:2]
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
    size = max(0.015 * width, 8.0)
    draw_measurement(figure.add_axes((0.0, 0.0, 1.0, 1.0)), image, measured, size=size)
    with atomic_path(path) as temporary:
        FigureCanvasAgg(figure).print_figure(temporary, dpi=DPI, format="png")
    return Path(path)
