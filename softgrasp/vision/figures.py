"""Figures of measurements in photographs and videos, and the window in which points are picked.

``steps_image`` shows all steps from a photograph to joint angles (Hadi et al. 2025, Fig. 3),
``annotate_frame`` a frame of a tracked video, ``save_overlay`` picked points and their angles.

In the window the left button adds a point, the right button or Backspace removes the last one,
Enter finishes and Escape cancels. The bending angles are shown as soon as one piece is picked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt
from matplotlib.backend_bases import MouseButton
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from softgrasp.errors import BackendUnavailable, DescriptionError, SoftgraspError
from softgrasp.io.files import atomic_path
from softgrasp.vision.contour import find_outline
from softgrasp.vision.image import Image, open_video
from softgrasp.vision.joint_angles import PhotoMeasurement
from softgrasp.vision.point_picking import PickMeasurement, Picks, angles_text
from softgrasp.vision.segmentation import segment
from softgrasp.vision.tip_tracking import TipTrack

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import Event, KeyEvent, MouseEvent

INK, QUIET, DARK = "#202832", "#78808a", "#142846"
TOP, BOTTOM, PALE = "#146ebe", "#de5c2c", "#facbb4"
PATH, OLD_PATH = "#d7285a", "#eba0af"
LINE, CHORD, EDGE = "#1e50e6", "#14963c", "#78c88c"
"""Colours of the reference line, the chords of the pieces, and the cuts."""
DPI = 72.0
"""Pixels per inch: a point of a line or a letter is a pixel."""
WIDTH, GAP, TITLE = 1280, 20, 40
"""Width of ``steps_image``, distance between its panels and height of a title [pixels]."""
FADED = 0.35
"""Remaining contrast of a photograph under lines [–]."""
FRAME_WIDTH = 960
"""Narrower frames are magnified to at least this width [pixels]."""
BRIGHT_PATH = 0.05
"""Duration of the latest part of the path, which is drawn bright [s]."""
LETTERS = 26.0
"""Height of the letters on a frame [pixels]."""
LONGEST_BAR = 0.22
"""Largest length of a scale bar over the width of the image [–]."""
KEYS = "Right click or Backspace: remove the last point. Enter: finish. Esc: cancel."


def steps_image(measurement: PhotoMeasurement) -> Image:
    """Draw the photograph, masks, their intersection, fitted lines, joints and angles as panels.

    The RGB image has the shape (height, 1280, 3).
    """
    rows, columns = measurement.image.shape[:2]
    across = (WIDTH - 4.0 * GAP) / 3.0
    down = across * rows / columns
    height = round(GAP + 3.0 * (TITLE + down + GAP))
    figure = _figure(WIDTH, height)
    grid = {
        "left": GAP / WIDTH, "right": 1.0 - GAP / WIDTH, "wspace": GAP / across,
        "bottom": GAP / height, "top": 1.0 - (GAP + TITLE) / height, "hspace": (GAP + TITLE) / down,
    }  # fmt: skip
    panels = figure.subplot_mosaic("012;355;455", gridspec_kw=grid)
    for number, (text, image, options) in enumerate(_panels(measurement)):
        axes = panels[str(number)]
        _show(axes, image, **options)
        axes.set_axis_on()
        axes.set(xticks=(), yticks=(), anchor="N")
        axes.set_title(f"{number + 1}  {text}", fontsize=22.0, loc="left")
    for line, color in ((measurement.outline.top, TOP), (measurement.outline.bottom, BOTTOM)):
        panels["4"].plot(*line.T, color=color, lw=2.7)
    _draw_joints(panels["5"], measurement, (2.0 * across + GAP) / columns)
    metres = measurement.metres_per_px
    text = f"{columns} by {rows} pixels, base at {degrees(np.degrees(measurement.tilt))}"
    text += "" if metres is None else f", {1e3 * metres:.3g} mm per pixel"
    panels["5"].set_xlabel(text, fontsize=20.0, loc="left", color=QUIET)
    return _pixels(figure)


def _panels(measurement: PhotoMeasurement) -> list[tuple[str, npt.NDArray[Any], dict[str, Any]]]:
    """Return titles and images of the panels, with options of ``imshow``."""
    seen, photo = measurement.segmentation, measurement.image
    titles = ("Differs from the empty image", "The photograph there")
    if seen.colour is not None:
        first, last = seen.colour.hue_deg
        titles = ("Darker than paper", f"Hue {round(first) % 360}° to {last:.0f}°")
    hinges = measurement.options.angles == "hinges"
    both = np.where(seen.finger, 2, seen.not_white & seen.coloured)
    return [
        ("Photograph", photo, {}),
        (titles[0], seen.not_white, {"cmap": ListedColormap(["white", INK])}),
        (titles[1], np.where(seen.coloured[..., None], photo, np.uint8(255)), {}),
        ("Both, cleaned", both, {"cmap": ListedColormap(["white", PALE, BOTTOM])}),
        ("Top and bottom line", photo, {"alpha": FADED}),
        (f"Joints and {'their rotations' if hinges else 'differences of direction (eq 3)'}", photo,
         {"alpha": FADED}),
    ]  # fmt: skip


def _draw_joints(axes: Axes, measurement: PhotoMeasurement, scale: float) -> None:
    """Draw outline, joints and angles; ``scale`` is that of the panel over the image."""
    points, outline = measurement.points_px, measurement.outline
    axes.plot(*outline.points.T, color=QUIET, lw=2.0)
    pitch = float(np.linalg.norm(np.diff(points, axis=0), axis=1).min())
    width = measurement.image.shape[1]
    letters = float(np.clip(0.3 * pitch, 10.0 / scale, 0.035 * width))
    below = measurement.options.notches == "bottom"
    smooth, side = (outline.top, 1.0) if below else (outline.bottom, -1.0)
    headings = np.arctan2(*np.gradient(points, axis=0).T[::-1])
    angles = np.degrees(measurement.angles)
    for point, heading, angle in zip(points, headings, angles, strict=False):
        # beyond the smooth side, where a drooping finger spreads the angles
        outward = side * np.array([np.sin(heading), -np.cos(heading)])
        offsets = smooth - point
        along = offsets @ outward
        aside = np.abs(offsets[:, 0] * outward[1] - offsets[:, 1] * outward[0])
        reach = along[np.where(along > 0.0, aside, np.inf).argmin()] + 1.6 * letters
        label = (point + reach * outward).clip(letters, None)
        axes.plot(*np.stack([point, label]).T, color=QUIET, lw=1.0)
        _write(axes, label, degrees(float(angle)), scale * letters, ha="center")
    size = max(0.014 * scale * width, 5.0)
    axes.plot(*points.T, color=DARK, lw=0.3 * size)
    joints = measurement.joints_px
    for part, color in ((joints, BOTTOM), (points[len(joints) :], TOP)):
        axes.plot(*part.T, "o", color=color, ms=size, mec="white", mew=0.25 * size)
    if measurement.metres_per_px is not None:
        _draw_scale(axes, 1.2 * letters, measurement.metres_per_px, letters, scale)


def annotate_frame(track: TipTrack, index: int) -> Image:
    """Draw one frame of a tracked video with the finger's outline, the tip and its path so far.

    The index of the frame in the track is from 0, or negative from its end. The RGB image (height,
    width, 3) is magnified by an integer to at least 960 pixels in width.

    Raises:
        BackendUnavailable: OpenCV is missing.
        DescriptionError: There is no such frame, or the video no longer exists.
    """
    count = len(track.pixels)
    if not -count <= index < count:
        raise DescriptionError(f"expected a frame of {count}, found {index}", field="index")
    at = index % count
    played = open_video(track.path, track.frame_rate).frames()
    frame = next(islice(played, track.first_frame + at, None), None)
    if frame is None:
        raise DescriptionError(f"expected a frame {at}, found fewer", file=track.path)
    rows, columns = frame.shape[:2]
    zoom = -(-FRAME_WIDTH // columns)
    figure = _figure(zoom * columns, zoom * rows)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    _show(axes, frame, interpolation="bicubic")
    with suppress(DescriptionError):  # where no outline is detected
        axes.plot(*find_outline(segment(frame, track.colour)).points.T, color=INK, lw=2.0)
    path = track.pixels[: at + 1]
    axes.plot(*path.T, color=OLD_PATH, lw=2.0)
    axes.plot(*path[-round(BRIGHT_PATH * track.frame_rate) - 1 :].T, color=PATH, lw=3.0)
    axes.plot(*path[-1], "o", color="white", ms=18.0, mec=INK, mew=2.0)
    axes.plot(*path[-1], "o", color=PATH, ms=6.0)
    letters = LETTERS / zoom
    text = f"{track.time[at]:.3f} s   tip {1e3 * track.height[at]:+.1f} mm"
    _write(axes, (letters, rows - 1.2 * letters), text, LETTERS)
    left = (1.0 - LONGEST_BAR) * columns - letters
    _draw_scale(axes, left, track.pixel_size, letters, zoom)
    return _pixels(figure)


def _draw_scale(
    axes: Axes, left: float, metres_per_px: float, letters: float, scale: float
) -> None:
    """Draw a bar of a round number of millimetres above the lower border, from a column on."""
    width, height = axes.get_xlim()[1], axes.get_ylim()[0]
    max_length = LONGEST_BAR * width * metres_per_px * 1e3
    length = max((n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500) if n <= max_length), default=1)
    right, down = left + length * 1e-3 / metres_per_px, height - 1.2 * letters
    axes.plot([left, right], [down, down], color=INK, lw=max(scale * letters / 7.0, 2.0))
    middle = (0.5 * (left + right), down - 0.9 * letters)
    _write(axes, middle, f"{length} mm", scale * letters, ha="center")


def _figure(width: float, height: float) -> Figure:
    """Make an empty figure of a size [pixels]."""
    return Figure(figsize=(width / DPI, height / DPI), dpi=DPI)


def _pixels(figure: Figure) -> Image:
    raw, (width, height) = BytesIO(), np.rint(DPI * figure.get_size_inches()).astype(int)
    figure.savefig(raw, format="raw", dpi=DPI)
    return np.frombuffer(raw.getvalue(), np.uint8).reshape(height, width, 4)[..., :3].copy()


def _show(axes: Axes, image: npt.NDArray[Any], **options: Any) -> None:
    """Show an image without axes; their units become its pixels, (0, 0) its outer corner."""
    height, width = image.shape[:2]
    axes.clear()
    axes.imshow(image, extent=(0.0, width, height, 0.0), **options)
    axes.set(xlim=(0.0, width), ylim=(height, 0.0), autoscale_on=False)
    axes.set_axis_off()


def _write(axes: Axes, position: Iterable[float], text: str, size: float, **options: Any) -> None:
    """Write a text on a light ground; its letters have a height of ``size`` points."""
    ground = {"boxstyle": "round,pad=0.1", "color": "white", "alpha": 0.7}
    x, y = position
    axes.text(x, y, text, fontsize=size, va="center", bbox=ground, **options)


def degrees(angle: float) -> str:
    """Format an angle [deg] such as ``-0.6°``; never ``-0.0°``."""
    return f"{round(angle, 1) + 0.0:.1f}°"


def _draw_picks(axes: Axes, image: Image, picks: Picks, size: float = 5.0) -> None:
    """Draw an image, and in it the reference line, cuts and chords; ``size`` is that of a point."""
    _show(axes, image)
    cuts = picks.points
    lines = [(pair, EDGE) for pair in cuts if len(pair) == 2]
    lines += [(np.zeros((0, 2)) if picks.line is None else np.asarray(picks.line), LINE)]
    for points, color in [*lines, (cuts.mean(axis=1), CHORD)]:
        axes.plot(*points.T, "o-", color=color, lw=0.3 * size, ms=size, mec="white",
                  mew=0.15 * size)  # fmt: skip


def draw_measurement(
    axes: Axes, image: Image, measured: PickMeasurement, *, size: float, sigmas: bool = True
) -> None:
    """Draw picks, and each angle beside its chord (Xiang et al. 2024, Fig. 3); clears the axes.

    The units of the axes become pixels of the RGB image (height, width, 3). Letters have a height
    of ``size`` [pt]; ``sigmas`` adds standard deviations.
    """
    _draw_picks(axes, image, measured.picks, 0.45 * size)
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
        label = middle + side * away * np.array([chord[1], -chord[0]]) / np.hypot(*chord)
        text = degrees(float(angle)) + (f" ± {sigma:.1f}°" if sigmas else "")
        _write(axes, label, text, size, ha="center")


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
    if Path(path).suffix.lower() != ".png":
        raise DescriptionError(f"expected a .png file, found '{path}'")
    height, width = image.shape[:2]
    figure = _figure(width, height)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    draw_measurement(axes, image, measured, size=max(0.02 * width, 11.0))
    with atomic_path(path) as temporary:
        figure.savefig(temporary, format="png")
    return Path(path)


# Window


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
        self.total = 2 + (pieces + 1) * (1 + edges)
        """Number of points to pick."""
        self._measure, self._close = measure, close
        self._points: list[tuple[float, float]] = []
        self._image, self._axes = image, figure.add_subplot()
        figure.canvas.mpl_connect("button_press_event", self._clicked)
        figure.canvas.mpl_connect("key_press_event", self._typed)
        self._draw()

    @property
    def title(self) -> str:
        """Text above the image: the next point, the keys, the angles so far or an error."""
        return str(self._axes.get_title())

    def _clicked(self, event: Event) -> None:
        mouse = cast("MouseEvent", event)
        toolbar = getattr(mouse.canvas, "toolbar", None)
        if mouse.inaxes is not self._axes or (toolbar is not None and toolbar.mode):
            return  # a click beside the image, or one that zooms
        if mouse.button == MouseButton.RIGHT:
            self._remove()
        elif mouse.button == MouseButton.LEFT and len(self._points) < self.total:
            self._points.append((cast("float", mouse.xdata), cast("float", mouse.ydata)))
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
        _draw_picks(self._axes, self._image, picks)
        loose = np.array(self._points[2 + picks.cuts.size // 2 :]).reshape(-1, 2)
        self._axes.plot(*loose.T, "o", color=EDGE)
        if view is not None:  # the user may have zoomed
            self._axes.set(xlim=view[0], ylim=view[1])
        text = f"{self._next()}\n{KEYS}\n{self._angles(picks)}"
        self._axes.set_title(text, fontsize=9, parse_math=False)
        self._axes.figure.canvas.draw_idle()

    def _angles(self, picks: Picks) -> str:
        try:
            return angles_text(self._measure(picks)) if len(picks.cuts) > 1 else ""
        except SoftgraspError as error:
            return str(error)

    def _next(self) -> str:
        """Return an instruction for the next point."""
        count = len(self._points)
        if count == self.total:
            return "All points are picked: Enter accepts the angles."
        if count < 2:
            end = ("start, away from", "end, towards")[count]
            return f"Reference line: click its {end} the tip."
        cut, edge = divmod(count - 2, 1 + self.edges)
        name = {0: "the base", self.pieces: "the tip"}.get(cut, f"cut {cut}")
        where = f"at the {('first', 'other')[edge]} edge" if self.edges else "on the middle line"
        return f"Click {name} {where}."
