"""Frames of a film with what the tracker saw in them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.opencv import opencv
from softgrasp.vision.outline import find_outline
from softgrasp.vision.picture import Image
from softgrasp.vision.segmentation import segment
from softgrasp.vision.tip_track import TipTrack
from softgrasp.vision.video import open_video

WIDTH = 960
"""Narrower frames are magnified to at least this [pixels]."""
BRIGHT = 0.05
"""The latest part of the path that is bright [s]."""
INK, PAPER = (25, 25, 25), (255, 255, 255)
OUTLINE, PATH, OLD_PATH = (20, 20, 20), (215, 40, 90), (235, 160, 175)
BITS = 4
"""Binary places of a pixel that lines are drawn to."""
BARS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Lengths of a scale bar [m]."""


def annotated_frame(track: TipTrack, index: int) -> Image:
    """One frame of a track's film with the finger's outline, the tip and its path so far.

    Args:
        track: What was tracked.
        index: Of the instant in the track, from 0; negative from its end.

    Returns:
        Red first, (height, width, 3); magnified by a whole number to at least 960 pixels.

    Raises:
        BackendUnavailable: OpenCV is missing.
        DescriptionError: There is no such instant, or the film is no longer there.
    """
    count = len(track.pixels)
    if not -count <= index < count:
        raise DescriptionError(f"expected an instant of {count}, found {index}", field="index")
    at = index % count
    frames = islice(_frames(track), at, None)
    frame = next(frames, None)
    if frame is None:
        raise DescriptionError(
            f"expected {track.first_frame + count} frames, found fewer", file=track.path
        )
    return annotated(frame, track, at)


def annotated_frames(track: TipTrack) -> Iterator[Image]:
    """All of them, in order; for a film.

    Raises:
        BackendUnavailable: OpenCV is missing.
        DescriptionError: The film is no longer there.
    """
    frames = zip(range(len(track.pixels)), _frames(track), strict=False)
    return (annotated(frame, track, index) for index, frame in frames)


def annotated(frame: Image, track: TipTrack, index: int) -> Image:
    """A frame with the outline, the tip and its path so far; without outline where none is found.

    Args:
        frame: Red first, (h, w, 3).
        track: What was tracked.
        index: Of its instant that the frame shows.
    """
    cv2 = opencv()
    zoom = -(-WIDTH // frame.shape[1])
    canvas = cv2.resize(frame, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_CUBIC)
    outline = _outline(frame, track)
    if outline is not None:
        _line(canvas, zoom * outline, OUTLINE, 2, closed=True)
    path = zoom * track.pixels[: index + 1]
    _line(canvas, path, OLD_PATH, 2)
    _line(canvas, path[-round(BRIGHT * track.frame_rate) - 1 :], PATH, 3)
    _point(canvas, path[-1])
    time, height = float(track.time[index]), float(1e3 * track.height[index])
    rows, columns = canvas.shape[:2]
    _text(canvas, f"{time:.3f} s   tip {height:+.1f} mm", (24, rows - 28))
    _scale_bar(canvas, track.pixel_size / zoom, (columns - 24, rows - 28))
    return np.asarray(canvas)


def _frames(track: TipTrack) -> Iterator[Image]:
    frames = open_video(track.path, track.frame_rate).frames()
    return islice(frames, track.first_frame, None)


def _outline(frame: Image, track: TipTrack) -> Array | None:
    try:
        return find_outline(segment(frame, track.colour)).points
    except DescriptionError:
        return None


def _line(
    canvas: Any, points: Array, colour: tuple[int, int, int], width: int, *, closed: bool = False
) -> None:
    cv2 = opencv()
    # OpenCV puts (0, 0) into the middle of a pixel
    whole = np.round((points - 0.5) * 2**BITS).astype(np.int32)
    cv2.polylines(canvas, [whole], closed, colour, width, cv2.LINE_AA, BITS)


def _point(canvas: Any, point: Array) -> None:
    cv2 = opencv()
    center = tuple(np.round((point - 0.5) * 2**BITS).astype(int).tolist())
    cv2.circle(canvas, center, 9 * 2**BITS, PAPER, -1, cv2.LINE_AA, BITS)
    cv2.circle(canvas, center, 9 * 2**BITS, INK, 2, cv2.LINE_AA, BITS)
    cv2.circle(canvas, center, 3 * 2**BITS, PATH, -1, cv2.LINE_AA, BITS)


def _text(canvas: Any, words: str, corner: tuple[int, int], *, ends: bool = False) -> None:
    """Dark letters with a light rim, legible on anything; from a place, or up to it."""
    cv2 = opencv()
    font, size = cv2.FONT_HERSHEY_SIMPLEX, 0.9
    if ends:
        corner = (corner[0] - cv2.getTextSize(words, font, size, 2)[0][0], corner[1])
    for colour, width in ((PAPER, 6), (INK, 2)):
        cv2.putText(canvas, words, corner, font, size, colour, width, cv2.LINE_AA)


def _scale_bar(canvas: Any, pixel_size: float, end: tuple[int, int]) -> None:
    cv2 = opencv()
    max_length = 0.2 * canvas.shape[1] * pixel_size
    length = max((bar for bar in BARS if bar <= max_length), default=BARS[0])
    begin = (round(end[0] - length / pixel_size), end[1])
    for colour, width in ((PAPER, 8), (INK, 4)):
        cv2.line(canvas, begin, end, colour, width, cv2.LINE_AA)
    _text(canvas, f"{1e3 * length:g} mm", (end[0], end[1] - 16), ends=True)
