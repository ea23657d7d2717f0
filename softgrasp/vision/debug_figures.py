"""One picture of all steps from a photograph to joint angles, after Fig. 3 of paper 000."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image as Pillow
from PIL import ImageDraw

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
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
"""Room between panels, and height of a title, over the width of the sheet."""
FADED = 0.35
"""How much of the photograph is left under lines."""
CLEAR, LABEL_STEPS = 1.1, 200
"""Room between a label and the outline in heights of its letters, and steps to find it."""


@dataclass(frozen=True)
class _Layout:
    """Where the panels are: five small ones, and the sixth as large as four of them."""

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
        """The sixth panel, of the same shape as the others; a line of facts fits below it."""
        across = 2 * self.small[0] + self.gap
        return across, round(across / self.aspect)

    @property
    def height(self) -> int:
        return self.gap + 3 * self._row

    @property
    def _row(self) -> int:
        return self.title + self.small[1] + self.gap

    def corner(self, column: int, row: int) -> tuple[int, int]:
        """Upper left corner of a panel, its title above it."""
        across = self.small[0] + self.gap
        return self.gap + column * across, self.gap + self.title + row * self._row


def steps_image(measurement: PhotoMeasurement, width: int = 1280) -> Image:
    """The photograph, both masks, what they have in common, the two lines, joints and angles.

    Args:
        measurement: What was measured.
        width: Of the picture [pixels].

    Returns:
        Red, green and blue, (height, width, 3).

    Raises:
        DescriptionError: The picture would be too small to read.
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
    _lay(sheet, layout, large, (x, y), f"6  {_angles_title(measurement)}")
    below = y + large.shape[0] + 0.5 * (layout.gap + layout.title)
    write(ImageDraw.Draw(sheet), (x, below), _summary(measurement), 0.5 * layout.title, color=QUIET)
    return np.array(sheet)


def _small_panels(measurement: PhotoMeasurement, size: tuple[int, int]) -> list[tuple[str, Image]]:
    seen = measurement.segmentation
    first, last = seen.colour.hue_deg
    photo = measurement.image
    coloured = np.where(seen.coloured[..., None], photo, np.uint8(255))
    return [
        ("Photograph", _fitted(photo, size)),
        ("Darker than paper", _fitted(_painted(INK, seen.not_white), size)),
        (f"Hue {round(first) % 360}° to {last:.0f}°", _fitted(coloured, size)),
        ("Both, cleaned", _fitted(_both(seen.both, seen.finger), size)),
        ("Top and bottom line", _lines_panel(measurement, size)),
    ]


def _angles_title(measurement: PhotoMeasurement) -> str:
    if measurement.convention == "hinges":
        return "Joints and their rotations"
    return "Joints and differences of direction (eq 3)"


def _summary(measurement: PhotoMeasurement) -> str:
    height, width = measurement.image.shape[:2]
    parts = [f"{width} by {height} pixels", f"base at {degrees(np.degrees(measurement.tilt))}"]
    if measurement.metres_per_px is not None:
        parts.append(f"{1e3 * measurement.metres_per_px:.3g} mm per pixel")
    return ", ".join(parts)


def _lines_panel(measurement: PhotoMeasurement, size: tuple[int, int]) -> Image:
    panel, scale = _faded(measurement.image, size)
    thick = max(round(size[0] / 160), 2)
    draw_line(panel, scale * measurement.outline.top, TOP, thick)
    draw_line(panel, scale * measurement.outline.bottom, BOTTOM, thick)
    return panel


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
        _draw_scale(writing, size, measurement.metres_per_px / scale, letters)
    return np.array(drawn)


def _label_positions(
    measurement: PhotoMeasurement, points: Array, scale: float, letters: float
) -> Array:
    """Beyond the smooth side, where a drooping finger spreads them, (n, 2)."""
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
    writing: ImageDraw.ImageDraw, size: tuple[int, int], metres_per_px: float, letters: float
) -> None:
    """A bar of a round number of millimetres in the lower left corner."""
    max_length = 0.22 * size[0] * metres_per_px * 1e3
    length = max((n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500) if n <= max_length), default=1)
    left, down = 1.2 * letters, size[1] - 1.2 * letters
    right = left + length * 1e-3 / metres_per_px
    writing.line([(left, down), (right, down)], fill=INK, width=max(round(letters / 7), 2))
    write(
        writing, (0.5 * (left + right), down - 0.9 * letters), f"{length} mm", letters, middle=True
    )


def _both(both: Bools, finger: Bools) -> Image:
    painted = _painted(PALE, both)
    painted[finger] = SOLID
    return painted


def _painted(color: Color, mask: Bools) -> Image:
    return np.where(mask[..., None], np.array(color, np.uint8), np.uint8(255))


def _fitted(image: Image, size: tuple[int, int]) -> Image:
    cv2 = opencv()
    smaller = size[0] <= image.shape[1]
    return np.asarray(
        cv2.resize(image, size, interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR)
    )


def _faded(image: Image, size: tuple[int, int]) -> tuple[Image, float]:
    """A pale copy of this size, and its size over the original's."""
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
