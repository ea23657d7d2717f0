"""Where the tip of a finger is in every frame of a film.

Paper 000 follows "the corner with the highest x-value" of the outline; which corner that is changes
as the finger turns, and the height jumps. Here one material point is followed: the middle of the
end face, which is marked in the first frame. The end of the finger there, with its edges and a rim
of background, is the patch that is found again in every frame, turned and shifted. It is always the
first frame's patch, so errors do not add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.colour import FingerColour
from softgrasp.vision.picture import Image, checked_image, mirrored
from softgrasp.vision.tip_following import follow
from softgrasp.vision.tip_start import TipStart, length_in, tip_start
from softgrasp.vision.video import Video, open_video

SIDES = ("right", "left")


@dataclass(frozen=True, eq=False)
class TipTrack:
    """The way of the tip through a film of T frames.

    Pixel coordinates are (column, row); (0, 0) is the outer corner of the upper left pixel.
    """

    path: Path
    """The film, or the folder of its frames."""
    frame_rate: float
    """[1/s]"""
    pixel_size: float
    """Edge of a pixel at the finger [m]."""
    pixels: Array
    """Of the tip, (T, 2)."""
    angles: Array
    """Of the end of the finger since the first frame, from +x to +y: clockwise as one sees it
    [rad], (T,)."""
    likeness: Array
    """Correlation of the end of the finger with that in the first frame, at most 1 [–], (T,)."""
    first_frame: int
    """Number of the first frame that was looked at."""
    tip_side: str
    """Where the tip is: right or left."""
    colour: FingerColour
    """Of the finger, given or read from the first frame."""

    @cached_property
    def time(self) -> Array:
        """From the first frame that was looked at [s], (T,)."""
        return np.arange(len(self.pixels)) / self.frame_rate

    @cached_property
    def height(self) -> Array:
        """Of the tip above its place in the first frame, upwards [m], (T,)."""
        return np.asarray((self.pixels[0, 1] - self.pixels[:, 1]) * self.pixel_size)


def track_tip(
    path: str | Path,
    *,
    frame_rate: float | None = None,
    pixel_size: float | None = None,
    finger_length: float | None = None,
    tip_side: str = "right",
    tip: tuple[float, float] | None = None,
    colour: FingerColour | None = None,
    first_frame: int = 0,
    last_frame: int | None = None,
) -> TipTrack:
    """Follow the tip of a finger through a film (paper 000, II-B).

    The finger lies more or less level and is seen from the side, before a background that is
    lighter and has less colour. The height is not smoothed: that belongs to the rule of
    :func:`softgrasp.continuum.settling.settling`.

    Args:
        path: A film, or a folder whose pictures in the order of their names are its frames.
        frame_rate: At which it was taken [1/s]; the film's where not given. Films in slow motion
            state the rate at which they play.
        pixel_size: Edge of a pixel at the finger [m]; or else
        finger_length: From the finger's first visible section to its tip [m], which is measured in
            the last frame, where the finger is at rest.
        tip_side: Where the tip is: ``right`` or ``left``.
        tip: Its column and row in the first frame [pixels]; looked for where not given.
        colour: Of the finger; the dominant one of the first frame where not given.
        first_frame: Number of the frame to begin with, such as that of the release.
        last_frame: Number of the frame to end with; the film's last where not given.

    Raises:
        BackendUnavailable: OpenCV is missing.
        DescriptionError: No film, no frames, no finger in the first frame, no tip in another one,
            no frame rate, no scale, or numbers out of range; names the film and the frame.
    """
    _refuse(path, pixel_size, finger_length, tip_side, first_frame, last_frame)
    video = open_video(path, frame_rate)
    flip = tip_side == "left"
    frames = _upright(islice(video.frames(), first_frame, _after(last_frame)), flip)
    first = next(frames, None)
    if first is None:
        raise DescriptionError(
            f"expected a frame {first_frame}, found a film that ends before", file=video.path
        )
    if tip is not None and flip:
        tip = (first.shape[1] - tip[0], tip[1])
    start = _started(video, first, colour, tip, first_frame)
    poses, last = follow(video, start, first, frames, first_frame)
    if pixel_size is None:
        assert finger_length is not None
        pixel_size = finger_length / _length(video, last, start.colour)
    pixels = np.array([pose.position for pose in poses])
    angles = np.array([pose.angle for pose in poses])
    if flip:
        pixels[:, 0], angles = first.shape[1] - pixels[:, 0], -angles
    likeness = np.array([pose.likeness for pose in poses])
    return TipTrack(
        video.path,
        video.frame_rate,
        pixel_size,
        pixels,
        angles,
        likeness,
        first_frame,
        tip_side,
        start.colour,
    )


def _started(
    video: Video,
    frame: Image,
    colour: FingerColour | None,
    tip: tuple[float, float] | None,
    number: int,
) -> TipStart:
    try:
        return tip_start(checked_image(frame), colour, tip)
    except DescriptionError as error:
        raise DescriptionError(f"frame {number}: {error.message}", file=video.path) from None


def _length(video: Video, last: Image, colour: FingerColour) -> float:
    try:
        return length_in(last, colour)
    except DescriptionError as error:
        raise DescriptionError(f"last frame: {error.message}", file=video.path) from None


def _upright(frames: Iterable[Image], flip: bool) -> Iterator[Image]:
    return (mirrored(frame) if flip else frame for frame in frames)


def _after(last_frame: int | None) -> int | None:
    return None if last_frame is None else last_frame + 1


def _refuse(
    path: str | Path,
    pixel_size: float | None,
    finger_length: float | None,
    tip_side: str,
    first_frame: int,
    last_frame: int | None,
) -> None:
    if tip_side not in SIDES:
        raise DescriptionError(f"expected 'right' or 'left', found '{tip_side}'", field="tip_side")
    if pixel_size is None and finger_length is None:
        raise DescriptionError(
            "expected a scale, found none; give pixel_size in metres, or finger_length in metres",
            file=path,
        )
    for field, value in {"pixel_size": pixel_size, "finger_length": finger_length}.items():
        if value is not None and not 0.0 < value < math.inf:
            raise DescriptionError(f"expected a length above 0, found {value}", field=field)
    if first_frame < 0 or (last_frame is not None and last_frame <= first_frame):
        raise DescriptionError(
            f"expected frames 0 ≤ first < last, found {first_frame} and {last_frame}",
            field="first_frame",
        )
