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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.contour import find_outline, refuse_cut
from softgrasp.vision.image import Bools, Image, checked_image, mirrored, opencv
from softgrasp.vision.segmentation import FingerColour, Segmentation, segment
from softgrasp.vision.video import Video, open_video

# --------------------
# Frames of a film with what the tracker saw in them.


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


# --------------------
# The end of a finger from frame to frame.


SOFTENING = 1.0
"""Standard deviation of the blur against noise before a patch is compared [pixels]."""
LIKELY = 0.9
"""A patch correlates with what it is taken for by at least [–]; in all films tried, by 0.98."""
FARTHEST = 1.5
"""Where the end is lost it is looked for again at most so far from where it was, in its sizes."""
CLEARANCE = 12.0
"""Of the patch from where the frame is cut off [pixels]."""


def follow(
    video: Video, start: TipStart, first: Image, frames: Iterable[Image], number: int
) -> tuple[list[Pose], Image]:
    """Find the end of the finger in a film's frames one by one.

    Args:
        video: The film, for the sentence of the error.
        start: What the first frame shows.
        first: The first frame.
        frames: Those after it.
        number: Of the first frame.

    Returns:
        Where the end is in all frames, and the last of them.

    Raises:
        DescriptionError: It is not found in a frame; names it.
    """
    patch = Patch(_soft(signal(first, start.weights)), start.patch, start.tip)
    poses = [patch.locate(_soft(signal(first, start.weights)), Pose(start.tip, 0.0, 1.0))]
    last = first
    for last in frames:
        number += 1
        before = poses[max(len(poses) - 2, 0)]
        # a material point goes on as it went
        guess = Pose(
            2.0 * poses[-1].position - before.position, 2.0 * poses[-1].angle - before.angle, LIKELY
        )
        pose = _located(patch, last, guess, start)
        if pose.likeness < LIKELY:
            pose = _detected_again(patch, last, start, poses[-1], pose)
        if pose.likeness < LIKELY:
            column, row = poses[-1].position
            raise DescriptionError(
                f"frame {number}: expected the end of the finger near column {column:.0f}, row "
                f"{row:.0f}, found nothing like it: a correlation of {pose.likeness:.2f} with the "
                f"first frame, less than {LIKELY:g}",
                file=video.path,
            )
        poses.append(pose)
    return poses, last


def _located(patch: Patch, frame: Image, guess: Pose, start: TipStart) -> Pose:
    """Where the patch is near a guess; only the part of the frame around it is looked at."""
    reach = patch.reach + CLEARANCE
    corner = np.maximum(np.floor(guess.position - reach), 0.0).astype(int)
    right, below = np.ceil(guess.position + reach).astype(int)
    part = frame[corner[1] : max(below, 0), corner[0] : max(right, 0)]
    if min(part.shape[:2]) < 2:
        return guess._replace(likeness=0.0)
    located = patch.locate(
        _soft(signal(part, start.weights)), guess._replace(position=guess.position - corner)
    )
    return located._replace(position=located.position + corner)


def _detected_again(patch: Patch, frame: Image, start: TipStart, before: Pose, lost: Pose) -> Pose:
    """The patch where a finger ends in the whole frame, if that is near, or what was lost."""
    try:
        again = tip_start(frame, start.colour)
    except DescriptionError:
        return lost
    if np.linalg.norm(again.tip - before.position) > FARTHEST * patch.reach:
        return lost
    located = _located(patch, frame, Pose(again.tip, again.heading - start.heading, 0.0), start)
    return located if located.likeness > lost.likeness else lost


def _soft(image: Floats) -> Floats:
    return np.asarray(opencv().GaussianBlur(image, (0, 0), SOFTENING))


# --------------------
# The tip of a finger in one frame of a film, and what is looked for in the others.


PART = 0.15
"""Of the finger's length that is followed, from the tip on [–]."""
COARSE, SECTIONS = (0.04, 0.12), (0.02, 0.07)
"""Where before its end the finger is cut to find the axis there, first and then, in its lengths."""
ROUNDS = 6
RIM = 0.03
"""Width of the background around it that is followed with it, in lengths of the finger [–]."""
MIN_RIM = 4
"""The same, at least [pixels]."""


@dataclass(frozen=True, eq=False)
class TipStart:
    """The end of the finger in one frame.

    Args:
        tip: Middle of the end face: column and row [pixels], (2,).
        heading: Of the finger there, from +x to +y [rad].
        patch: Which pixels are followed, (h, w).
        weights: Of red, green and blue; 1 more in sum on the finger than beside it, (3,).
        colour: Of the finger.
    """

    tip: Array
    heading: float
    patch: Bools
    weights: Array
    colour: FingerColour


def tip_start(
    frame: Image, colour: FingerColour | None = None, tip: tuple[float, float] | None = None
) -> TipStart:
    """Find the end of a finger that points to the right.

    Args:
        frame: Red first, (h, w, 3).
        colour: Of the finger; the dominant one where not given.
        tip: Where it is known [pixels].

    Raises:
        DescriptionError: No finger there, or a border of the picture cuts it off.
    """
    seen = segment(frame, colour)
    refuse_cut(seen.finger)
    length = _extent(seen.finger)
    position, heading = _end(seen, length)
    if tip is not None:
        position = np.array(tip, dtype=float)
    patch, rim = _patch(seen.finger, position, heading, length)
    finger = np.median(frame[patch & seen.finger], axis=0)
    difference = finger - np.median(frame[rim], axis=0)
    weights = difference / float(difference @ difference)
    return TipStart(position, heading, patch, weights, seen.colour)


def signal(frame: Image, weights: Array) -> Floats:
    """The one channel in which finger and background differ by 1, (h, w)."""
    cv2 = opencv()
    return np.asarray(cv2.transform(frame.astype(np.float32), weights[None].astype(np.float32)))


def length_in(frame: Image, colour: FingerColour) -> float:
    """Of a finger that points to the right, along its middle [pixels].

    Raises:
        DescriptionError: No finger there, or its base is beyond the left border.
    """
    seen = segment(frame, colour)
    refuse_cut(seen.finger)
    if seen.finger[:, 0].any():
        raise DescriptionError(
            "expected the finger's base in the picture, to tell its length, found it beyond the "
            "border; give pixel_size"
        )
    tip, _ = _end(seen, _extent(seen.finger))
    rows, columns = np.nonzero(seen.finger)
    counts = np.bincount(columns)
    used = np.flatnonzero(counts)
    middles = np.bincount(columns, rows + 0.5)[used] / counts[used]
    line = np.polynomial.Polynomial.fit(used + 0.5, middles, 2)
    begin = find_outline(seen).points[:, 0].min()
    along = np.linspace(begin, tip[0], 100)
    return float(np.hypot(np.diff(along), np.diff(line(along))).sum())


def _extent(finger: Bools) -> float:
    """Diagonal of the box around it [pixels]."""
    rows, columns = np.nonzero(finger)
    return float(np.hypot(np.ptp(rows), np.ptp(columns)))


def _end(seen: Segmentation, length: float) -> tuple[Array, float]:
    """Tip (2,) [pixels] and heading [rad].

    The axis runs through the middles of two sections near the end, and the tip is where it leaves
    the finger; both are across the axis, so it is found by iteration.
    """
    rows, columns = np.nonzero(seen.finger)
    pixels = np.stack([columns, rows], axis=1) + 0.5
    away = np.linalg.norm(pixels - pixels[columns.argmax()], axis=1) / length
    tip = pixels[away < PART].mean(axis=0)
    step = tip - pixels[(away > PART) & (away < 2.0 * PART)].mean(axis=0)
    outline = find_outline(seen).points
    for sections in (*ROUNDS * (COARSE,), *ROUNDS * (SECTIONS,)):
        axis = step / np.linalg.norm(step)
        across = np.array([-axis[1], axis[0]])
        along, beside = (outline - tip) @ axis, (outline - tip) @ across
        end = float(along.max())
        near, far = (part * length for part in sections)
        outer, inner = (_middle(along, beside, end - position) for position in (near, far))
        slope = (outer - inner) / (far - near)
        tip = tip + end * axis + (outer + slope * near) * across
        step = axis + slope * across
    return tip, float(np.arctan2(step[1], step[0]))


def _middle(along: Array, beside: Array, position: float) -> float:
    """Between the two sides of a closed curve, those next to the axis, at a place along."""
    ahead = np.roll(along, -1)
    at = np.flatnonzero((along < position) != (ahead < position))
    fraction = (position - along[at]) / (ahead[at] - along[at])
    sides = beside[at] + fraction * (np.roll(beside, -1)[at] - beside[at])
    left, right = sides[sides < 0.0], sides[sides >= 0.0]
    if not (len(left) and len(right)):  # the axis is outside
        return float(sides[np.abs(sides).argmin()])
    return 0.5 * float(left.max() + right.min())


def _patch(finger: Bools, tip: Array, heading: float, length: float) -> tuple[Bools, Bools]:
    """Which pixels are followed, and which of them are background for sure, (h, w) each."""
    rim = max(round(RIM * length), MIN_RIM)
    rows, columns = np.indices(finger.shape)
    along = (columns + 0.5 - tip[0]) * np.cos(heading) + (rows + 0.5 - tip[1]) * np.sin(heading)
    beside = (rows + 0.5 - tip[1]) * np.cos(heading) - (columns + 0.5 - tip[0]) * np.sin(heading)
    near = (along > -PART * length) & (np.abs(beside) < PART * length)
    wide, narrow = _grown(finger, rim), _grown(finger, 2)
    return near & wide, near & wide & ~narrow


def _grown(mask: Bools, pixels: int) -> Bools:
    cv2 = opencv()
    brush = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * pixels + 1,) * 2)
    return np.asarray(cv2.dilate(mask.astype(np.uint8), brush) > 0)


# --------------------
# Where a patch of one picture is in another, turned and shifted, to a small part of a pixel.
#
# Gauss and Newton's method on the squared difference, with the patch's gradients (the inverse
# compositional form of Baker and Matthews, "Lucas–Kanade 20 years on", IJCV 2004). Brightness and
# contrast are found along with the pose, so a lamp that flickers does no harm.


Floats = NDArray[np.float32]

REGISTRATION_ROUNDS, CLOSE = 20, 2e-3
"""Steps at most, and the last one [pixels]."""


class Pose(NamedTuple):
    """Of the patch's reference point."""

    position: Array
    """Column and row, (2,) [pixels]."""
    angle: float
    """From +x to +y, which is clockwise as one sees the picture [rad]."""
    likeness: float
    """Correlation with the patch, at most 1 [–]."""


class Patch:
    """A part of a picture that is looked for in others.

    Args:
        picture: One channel, (h, w).
        mask: Which of its pixels make the patch, (h, w).
        place: The point whose motion is told, (2,) [pixels].
    """

    def __init__(self, image: Floats, mask: NDArray[np.bool_], position: Array) -> None:
        rows, columns = np.nonzero(mask)
        self._offsets = np.stack([columns + 0.5, rows + 0.5], axis=1) - position
        self._values, spread = _normalised(image[rows, columns].astype(float))
        down, right = np.gradient(image.astype(float))
        gradient = np.stack([right[rows, columns], down[rows, columns]], axis=1) / spread
        x, y = self._offsets.T
        self._reach = float(np.hypot(x, y).max())
        by_rotation = gradient[:, 1] * x - gradient[:, 0] * y
        # level and contrast are what the last two columns stand for
        steps = np.column_stack([gradient, by_rotation, np.ones(len(x)), self._values])
        self._solver = np.linalg.pinv(steps)[:3]

    @property
    def reach(self) -> float:
        """Of the farthest pixel from the reference point [pixels]."""
        return self._reach

    def locate(self, image: Floats, guess: Pose) -> Pose:
        """The pose in another picture, (h, w), near a guess."""
        position, angle = np.array(guess.position, dtype=float), guess.angle
        for _ in range(REGISTRATION_ROUNDS):
            seen = self._seen(image, position, angle)
            right, down, more = self._solver @ (seen - self._values)
            # the step was found for the patch; the pose takes its inverse
            angle -= more
            position -= _rotated(np.array([right, down]), angle)
            if abs(right) + abs(down) + self._reach * abs(more) < CLOSE:
                break
        return Pose(position, angle, float(self._seen(image, position, angle) @ self._values))

    def _seen(self, image: Floats, position: Array, angle: float) -> Array:
        cv2: Any = opencv()
        points = (position + _rotated(self._offsets, angle) - 0.5).astype(np.float32)
        x, y = points.T
        sampled = cv2.remap(image, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return _normalised(sampled.ravel().astype(float))[0]


def _rotated(vectors: Array, angle: float) -> Array:
    cosine, sine = np.cos(angle), np.sin(angle)
    x, y = vectors[..., 0], vectors[..., 1]
    return np.stack([cosine * x - sine * y, sine * x + cosine * y], axis=-1)


def _normalised(values: Array) -> tuple[Array, float]:
    """Less their mean and divided by what is left, and that."""
    centred = values - values.mean()
    spread = float(np.linalg.norm(centred))
    return (centred / spread if spread > 0.0 else centred), spread
