"""Draw measurements in photographs and videos, for visual checks.

``steps_image`` shows all steps from a photograph to joint angles (Hadi et al. 2025, Fig. 3);
``annotated_frame`` shows a frame of a tracked video with the outline, the tip and its path.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.contour import find_outline
from softgrasp.vision.image import (
    INK,
    SHEET,
    Bools,
    Color,
    Image,
    degrees,
    draw_dot,
    draw_line,
    opencv,
    write,
)
from softgrasp.vision.joint_angles import PhotoMeasurement
from softgrasp.vision.segmentation import segment
from softgrasp.vision.tip_tracking import TipTrack
from softgrasp.vision.video_reader import open_video

QUIET: Color = (120, 128, 138)
FRAME: Color = (214, 219, 225)
PALE: Color = (250, 203, 180)
SOLID: Color = (222, 92, 44)
TOP: Color = (20, 110, 190)
BOTTOM: Color = (222, 92, 44)
SKELETON: Color = (20, 40, 70)
MIN_WIDTH = 480
COLUMNS = 3
GAP, TITLE = 0.016, 0.032
"""Distance between panels and height of a title, over the width of the figure [–]."""
FADED = 0.35
"""Remaining contrast of the photograph under lines [–]."""
CLEAR, LABEL_STEPS = 1.1, 200
"""Distance between a label and the outline in letter heights, and largest number of steps to find
it."""
FRAME_WIDTH = 960
"""Narrower frames are magnified to at least this width [pixels]."""
BRIGHT_PATH = 0.05
"""Duration of the latest part of the path, which is drawn bright [s]."""
OUTLINE, PATH, OLD_PATH = (20, 20, 20), (215, 40, 90), (235, 160, 175)
LETTERS = 26.0
"""Height of the letters on a frame [pixels]."""
LONGEST_BAR = 0.22
"""Largest length of a scale bar over the width of the image [–]."""


def steps_image(measurement: PhotoMeasurement, width: int = 1280) -> Image:
    """Draw the photograph, masks, their intersection, fitted lines, joints and angles as panels.

    Args:
        measurement: Measurement of a photograph.
        width: Width of the figure [pixels].

    Returns:
        RGB image, (height, width, 3).

    Raises:
        DescriptionError: The figure would be too small to read.
        BackendUnavailable: OpenCV is not installed.
    """
    if width < MIN_WIDTH:
        raise DescriptionError(
            f"expected a width of at least {MIN_WIDTH} pixels, found {width}", field="width"
        )
    height, across = measurement.image.shape[:2]
    layout = _Layout(width, across / height)
    sheet = Pillow.new("RGB", (layout.width, layout.height), SHEET)
    cells = [(0, 0), (1, 0), (2, 0), (0, 1), (0, 2)]
    for number, (cell, (title, panel)) in enumerate(
        zip(cells, _small_panels(measurement, layout.small), strict=True), start=1
    ):
        _lay(sheet, layout, panel, layout.corner(*cell), f"{number}  {title}")
    large, (x, y) = _joints_panel(measurement, layout.large), layout.corner(1, 1)
    hinges = measurement.convention == "hinges"
    title = "their rotations" if hinges else "differences of direction (eq 3)"
    _lay(sheet, layout, large, (x, y), f"6  Joints and {title}")
    below = y + large.shape[0] + 0.5 * (layout.gap + layout.title)
    write(ImageDraw.Draw(sheet), (x, below), _summary(measurement), 0.5 * layout.title, color=QUIET)
    return np.array(sheet)


@dataclass(frozen=True)
class _Layout:
    """Positions of the panels: five small ones, and the sixth as large as four of them."""

    width: int
    aspect: float

    @property
    def gap(self) -> int:
        return max(round(GAP * self.width), 6)

    @property
    def title(self) -> int:
        return max(round(TITLE * self.width), 18)

    @property
    def small(self) -> tuple[int, int]:
        across = (self.width - (COLUMNS + 1) * self.gap) // COLUMNS
        return across, round(across / self.aspect)

    @property
    def large(self) -> tuple[int, int]:
        """Size of the sixth panel, which has a line of text below."""
        across = 2 * self.small[0] + self.gap
        return across, round(across / self.aspect)

    @property
    def height(self) -> int:
        return self.gap + 3 * self._row

    @property
    def _row(self) -> int:
        return self.title + self.small[1] + self.gap

    def corner(self, column: int, row: int) -> tuple[int, int]:
        """Upper left corner of a panel, below its title."""
        across = self.small[0] + self.gap
        return self.gap + column * across, self.gap + self.title + row * self._row


def _small_panels(measurement: PhotoMeasurement, size: tuple[int, int]) -> list[tuple[str, Image]]:
    seen = measurement.segmentation
    photo = measurement.image
    titles = ("Differs from the empty image", "The photograph there")
    if seen.colour is not None:
        first, last = seen.colour.hue_deg
        titles = ("Darker than paper", f"Hue {round(first) % 360}° to {last:.0f}°")
    coloured = np.where(seen.coloured[..., None], photo, np.uint8(255))
    both = _painted(PALE, seen.both)
    both[seen.finger] = SOLID
    return [
        ("Photograph", _fitted(photo, size)),
        (titles[0], _fitted(_painted(INK, seen.not_white), size)),
        (titles[1], _fitted(coloured, size)),
        ("Both, cleaned", _fitted(both, size)),
        ("Top and bottom line", _lines_panel(measurement, size)),
    ]


def _fitted(image: Image, size: tuple[int, int]) -> Image:
    cv2 = opencv()
    smaller = size[0] <= image.shape[1]
    return np.asarray(
        cv2.resize(image, size, interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR)
    )


def _painted(color: Color, mask: Bools) -> Image:
    return np.where(mask[..., None], np.array(color, np.uint8), np.uint8(255))


def _lines_panel(measurement: PhotoMeasurement, size: tuple[int, int]) -> Image:
    panel, scale = _faded(measurement.image, size)
    thick = max(round(size[0] / 160), 2)
    draw_line(panel, scale * measurement.outline.top, TOP, thick)
    draw_line(panel, scale * measurement.outline.bottom, BOTTOM, thick)
    return panel


def _faded(image: Image, size: tuple[int, int]) -> tuple[Image, float]:
    """Return a pale copy of this size, and the ratio of its size to the original's."""
    fitted = _fitted(image, size).astype(np.float32)
    pale = 255.0 - FADED * (255.0 - fitted)
    return np.ascontiguousarray(np.rint(pale).astype(np.uint8)), size[0] / image.shape[1]


def _lay(
    sheet: Pillow.Image, layout: _Layout, panel: Image, corner: tuple[int, int], title: str
) -> None:
    x, y = corner
    sheet.paste(Pillow.fromarray(panel), corner)
    drawing = ImageDraw.Draw(sheet)
    height, width = panel.shape[:2]
    drawing.rectangle((x - 1, y - 1, x + width, y + height), outline=FRAME)
    write(drawing, (x, y - 0.5 * layout.title), title, 0.62 * layout.title)


def _joints_panel(measurement: PhotoMeasurement, size: tuple[int, int]) -> Image:
    panel, scale = _faded(measurement.image, size)
    points = scale * measurement.points_px
    draw_line(panel, scale * measurement.outline.points, QUIET, max(round(size[0] / 500), 1))
    pitch = float(np.linalg.norm(np.diff(points, axis=0), axis=1).min())
    letters = float(np.clip(0.30 * pitch, 10.0, 0.035 * size[0]))
    labels = _label_positions(measurement, points, scale, letters)[: len(measurement.angles)]
    for point, label in zip(points, labels, strict=False):
        away = label - point
        short = label - 0.9 * letters * away / max(float(np.linalg.norm(away)), 1e-9)
        draw_line(panel, np.array([point, short]), QUIET, 1)
    thick = max(size[0] / 240, 1.5)
    draw_line(panel, points, SKELETON, round(thick))
    for index, point in enumerate(points):
        is_tip = index == len(measurement.joints_px)
        draw_dot(panel, point, 2.2 * thick, SHEET)
        draw_dot(panel, point, 1.5 * thick, TOP if is_tip else SOLID)
    drawn = Pillow.fromarray(panel)
    writing = ImageDraw.Draw(drawn)
    for angle, (x, y) in zip(np.degrees(measurement.angles), labels, strict=True):
        write(writing, (x, y), degrees(float(angle)), letters, middle=True)
    if measurement.metres_per_px is not None:
        _draw_scale(writing, size, 1.2 * letters, measurement.metres_per_px / scale, letters)
    return np.array(drawn)


def _label_positions(
    measurement: PhotoMeasurement, points: Array, scale: float, letters: float
) -> Array:
    """Place labels beyond the smooth side, where a drooping finger spreads them, (n, 2)."""
    cv2 = opencv()
    headings = np.arctan2(*np.gradient(points, axis=0).T[::-1])
    outward = np.stack([np.sin(headings), -np.cos(headings)], axis=-1)
    if not measurement.notched_below:
        outward = -outward
    outline = (scale * measurement.outline.points).astype(np.float32)[:, None]
    positions = points.copy()
    for position, direction in zip(positions, outward, strict=True):
        for _ in range(LABEL_STEPS):
            position += 0.25 * letters * direction
            if cv2.pointPolygonTest(outline, position.tolist(), True) < -CLEAR * letters:
                break
    return positions.clip(letters, None)


def _draw_scale(
    writing: ImageDraw.ImageDraw,
    size: tuple[int, int],
    left: float,
    metres_per_px: float,
    letters: float,
) -> None:
    """Draw a bar of a round number of millimetres above the lower border, from a column on."""
    max_length = LONGEST_BAR * size[0] * metres_per_px * 1e3
    length = max((n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500) if n <= max_length), default=1)
    down = size[1] - 1.2 * letters
    right = left + length * 1e-3 / metres_per_px
    writing.line([(left, down), (right, down)], fill=INK, width=max(round(letters / 7), 2))
    write(
        writing, (0.5 * (left + right), down - 0.9 * letters), f"{length} mm", letters, middle=True
    )


def _summary(measurement: PhotoMeasurement) -> str:
    height, width = measurement.image.shape[:2]
    parts = [f"{width} by {height} pixels", f"base at {degrees(np.degrees(measurement.tilt))}"]
    if measurement.metres_per_px is not None:
        parts.append(f"{1e3 * measurement.metres_per_px:.3g} mm per pixel")
    return ", ".join(parts)


# Frames of tracked videos


def annotated_frame(track: TipTrack, index: int) -> Image:
    """Draw one frame of a tracked video with the finger's outline, the tip and its path so far.

    Args:
        track: Tracked tip.
        index: Index of the frame in the track, from 0; negative from its end.

    Returns:
        RGB image, (height, width, 3); magnified by an integer to at least 960 pixels in width.

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
        raise DescriptionError(
            f"expected {track.first_frame + count} frames, found fewer", file=track.path
        )
    return _annotated(frame, track, at)


def _annotated(frame: Image, track: TipTrack, index: int) -> Image:
    """Draw the outline, where one is detected, the tip and its path up to frame ``index``."""
    cv2 = opencv()
    zoom = -(-FRAME_WIDTH // frame.shape[1])
    canvas = cv2.resize(frame, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_CUBIC)
    outline = _finger_outline(frame, track)
    if outline is not None:
        draw_line(canvas, zoom * outline, OUTLINE, 2, closed=True)
    path = zoom * track.pixels[: index + 1]
    draw_line(canvas, path, OLD_PATH, 2)
    draw_line(canvas, path[-round(BRIGHT_PATH * track.frame_rate) - 1 :], PATH, 3)
    draw_dot(canvas, path[-1], 10.0, INK)
    draw_dot(canvas, path[-1], 8.0, SHEET)
    draw_dot(canvas, path[-1], 3.0, PATH)
    time, height = float(track.time[index]), float(1e3 * track.height[index])
    rows, columns = canvas.shape[:2]
    drawn = Pillow.fromarray(canvas)
    writing = ImageDraw.Draw(drawn)
    text = f"{time:.3f} s   tip {height:+.1f} mm"
    write(writing, (LETTERS, rows - 1.2 * LETTERS), text, LETTERS)
    left = (1.0 - LONGEST_BAR) * columns - LETTERS
    _draw_scale(writing, (columns, rows), left, track.pixel_size / zoom, LETTERS)
    return np.array(drawn)


def _finger_outline(frame: Image, track: TipTrack) -> Array | None:
    """Return the outline of the finger (n, 2) [pixels]; None where none is detected."""
    try:
        return find_outline(segment(frame, track.colour)).points
    except DescriptionError:
        return None
