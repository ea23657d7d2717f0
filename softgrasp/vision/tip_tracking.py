"""Track the tip of a finger through a video (Hadi et al. 2025, section III-B).

Hadi et al. (2025) track the corner with the highest x, which becomes another one as the finger
rotates. Here the middle of the end face is located in the first frame, and the end of the finger
there, with a rim of background, is the patch that is located in every frame, rotated and shifted:
always the patch of the first frame, so errors do not accumulate. OpenCV's enhanced correlation
coefficient (``findTransformECCWithMask``; Evangelidis and Psarakis 2008) is invariant to brightness
and contrast, so flickering light does no harm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.contour import find_outline, refuse_cut
from softgrasp.vision.image import Bools, Floats, Image, check_image, open_video, opencv
from softgrasp.vision.segmentation import FingerColour, Segmentation, segment

SOFTENING = 1.0
"""Standard deviation of the blur against noise before patches are compared [pixels]."""
LIKELY = 0.9
"""Smallest correlation of a located patch [–]; in all videos tried it was at least 0.98."""
FARTHEST = 1.5
"""Largest distance from the last position at which a lost end is detected again, in sizes of the
patch [–]."""
CLEARANCE = 12.0
"""Margin around the patch within which a frame is searched [pixels]."""
PART = 0.15
"""Fraction of the finger's length that is tracked, from the tip on [–]."""
COARSE, SECTIONS = (0.04, 0.12), (0.02, 0.07)
"""Distances before the end of the two sections that define the axis, first and refined, in finger
lengths [–]."""
ROUNDS = 6
"""Iterations with each of the two."""
RIM, MIN_RIM = 0.03, 4
"""Width of the background around the finger that belongs to the patch, in finger lengths [–], and
its smallest value [pixels]."""
GRADIENT_MARGIN = 2
"""Rim around the patch that its gradients need [pixels]."""
MAX_ITERATIONS, TOLERANCE = 50, 1e-6
"""Largest number of iterations of the registration, and change of correlation that ends it."""


@dataclass(frozen=True, eq=False)
class TipTrack:
    """The path of the tip through a video of T frames.

    Pixel coordinates are (column, row); (0, 0) is the outer corner of the upper left pixel.
    """

    path: Path
    """Video file, or directory of its frames."""
    frame_rate: float
    """Frames per second [1/s]."""
    pixel_size: float
    """Side of a pixel at the finger [m]."""
    pixels: Array
    """Position of the tip, (T, 2)."""
    angles: Array
    """Rotation of the end of the finger since the first frame, from +x to +y (clockwise in the
    image) [rad], (T,)."""
    likeness: Array
    """Correlation of the end of the finger with that in the first frame, at most 1 [–], (T,)."""
    first_frame: int
    """Number of the first tracked frame."""
    colour: FingerColour
    """Colour of the finger, specified or measured in the first frame."""

    @cached_property
    def time(self) -> Array:
        """Time since the first tracked frame [s], (T,)."""
        return np.arange(len(self.pixels)) / self.frame_rate

    @cached_property
    def height(self) -> Array:
        """Height of the tip above its position in the first frame, upwards [m], (T,)."""
        return np.asarray((self.pixels[0, 1] - self.pixels[:, 1]) * self.pixel_size)


def track_tip(
    path: str | Path,
    *,
    frame_rate: float | None = None,
    pixel_size: float | None = None,
    finger_length: float | None = None,
    tip_side: str = "right",
    colour: FingerColour | None = None,
    first_frame: int = 0,
    last_frame: int | None = None,
) -> TipTrack:
    """Track the tip of a finger through a video (Hadi et al. 2025, III-B).

    The finger is about level and seen from the side, before a background that is lighter and
    less coloured. The height is not smoothed; that is part of the rule of
    :func:`softgrasp.continuum.settling.settling`.

    Args:
        path: Video, or directory of images that are its frames in the order of their names.
        frame_rate: Frames per second of the recording [1/s]; default: that stored in the video.
            Slow-motion videos store the rate of playback.
        pixel_size: Side of a pixel at the finger [m]; alternatively ``finger_length``.
        finger_length: Length from the finger's first visible section to its tip [m]; it is
            measured in the last frame, where the finger is at rest.
        tip_side: Side of the tip: ``right`` or ``left``.
        colour: Colour of the finger; default: the dominant one of the first frame.
        first_frame: Number of the first frame, such as that of the release.
        last_frame: Number of the last frame; default: the last of the video.

    Raises:
        BackendUnavailable: OpenCV is missing.
        DescriptionError: No video, no frames, no finger in the first frame, no tip in another
            one, no frame rate, no scale, or numbers out of range; names the video and the frame.
    """
    if tip_side not in ("right", "left"):
        raise DescriptionError(f"expected 'right' or 'left', found '{tip_side}'", field="tip_side")
    if pixel_size is None and finger_length is None:
        raise DescriptionError(
            "expected a scale, found none; specify pixel_size or finger_length in metres", file=path
        )
    for field, value in {"pixel_size": pixel_size, "finger_length": finger_length}.items():
        if value is not None and not 0.0 < value < math.inf:
            raise DescriptionError(f"expected a length above 0, found {value}", field=field)
    if first_frame < 0 or (last_frame is not None and last_frame <= first_frame):
        raise DescriptionError(
            f"expected frames 0 ≤ first < last, found {first_frame} and {last_frame}",
            field="first_frame",
        )
    video, flip = open_video(path, frame_rate), tip_side == "left"
    played = islice(video.frames(), first_frame, None if last_frame is None else last_frame + 1)
    frames = (np.ascontiguousarray(frame[:, :: -1 if flip else 1]) for frame in played)
    first = next(frames, None)
    if first is None:
        message = f"expected a frame {first_frame}, found a video that is shorter"
        raise DescriptionError(message, file=video.path)
    try:
        start = tip_start(check_image(first), colour)
    except DescriptionError as error:
        raise DescriptionError(f"frame {first_frame}: {error.message}", file=path) from None
    poses, last = _follow(video.path, start, first, frames, first_frame)
    if pixel_size is None:
        assert finger_length is not None
        try:
            pixel_size = finger_length / _length(last, start.colour)
        except DescriptionError as error:
            raise DescriptionError(f"last frame: {error.message}", file=path) from None
    pixels, angles, likeness = map(np.array, zip(*poses, strict=True))
    if flip:
        pixels[:, 0], angles = first.shape[1] - pixels[:, 0], -angles
    return TipTrack(
        video.path, video.frame_rate, pixel_size, pixels, angles, likeness, first_frame,
        start.colour,
    )  # fmt: skip


def _follow(
    path: Path, start: TipStart, first: Image, frames: Iterable[Image], number: int
) -> tuple[list[Pose], Image]:
    """Locate the end of the finger in the first and all following frames; return the last one too.

    Raises:
        DescriptionError: It is not detected in a frame; names it.
    """
    image = _soft(first, start)
    patch = Patch(image, start.patch, start.tip)
    poses, last = [patch.locate(image, Pose(start.tip, 0.0, 1.0))], first
    for later, last in enumerate(frames, start=number + 1):
        before, now = poses[max(len(poses) - 2, 0)], poses[-1]
        # predict a constant velocity
        guess = Pose(2.0 * now.position - before.position, 2.0 * now.angle - before.angle, LIKELY)
        pose = _locate(patch, last, guess, start)
        if pose.likeness < LIKELY:
            pose = max(pose, _detect(patch, last, start, now), key=lambda item: item.likeness)
        if pose.likeness < LIKELY:
            column, row = now.position
            raise DescriptionError(
                f"frame {later}: expected the end of the finger near column {column:.0f}, row "
                f"{row:.0f}, found nothing similar: a correlation of {pose.likeness:.2f} with the "
                f"first frame, less than {LIKELY:g}",
                file=path,
            )
        poses.append(pose)
    return poses, last


def _soft(frame: Image, start: TipStart) -> Floats:
    return np.asarray(opencv().GaussianBlur(signal(frame, start.weights), (0, 0), SOFTENING))


def _locate(patch: Patch, frame: Image, guess: Pose, start: TipStart) -> Pose:
    """Locate the tracked patch near a predicted pose, in the part of the frame around it."""
    reach = patch.reach + CLEARANCE
    corner = np.maximum(np.floor(guess.position - reach), 0.0).astype(int)
    right, below = np.ceil(guess.position + reach).astype(int)
    part = frame[corner[1] : max(below, 0), corner[0] : max(right, 0)]
    if min(part.shape[:2]) < 2:
        return guess._replace(likeness=0.0)
    moved = guess._replace(position=guess.position - corner)
    located = patch.locate(_soft(part, start), moved)
    return located._replace(position=located.position + corner)


def _detect(patch: Patch, frame: Image, start: TipStart, before: Pose) -> Pose:
    """Locate the end of a finger anywhere in the frame, not too far from its last pose."""
    with suppress(DescriptionError):
        again = tip_start(frame, start.colour)
        if np.linalg.norm(again.tip - before.position) <= FARTHEST * patch.reach:
            return _locate(patch, frame, Pose(again.tip, again.heading - start.heading, 0.0), start)
    return before._replace(likeness=0.0)


# Tip in one frame


@dataclass(frozen=True, eq=False)
class TipStart:
    """Position, heading and image patch of the finger's end in one frame.

    Args:
        tip: Middle of the end face: column and row [pixels], (2,).
        heading: Direction of the finger there, from +x to +y [rad].
        patch: Mask of the tracked pixels, (h, w).
        weights: Weights of red, green and blue whose sum is larger by 1 on the finger than
            beside it, (3,).
        colour: Colour of the finger.
    """

    tip: Array
    heading: float
    patch: Bools
    weights: Array
    colour: FingerColour


def tip_start(frame: Image, colour: FingerColour | None = None) -> TipStart:
    """Find the end of a finger that points to the right in an RGB image (h, w, 3).

    Its colour is by default the dominant one.

    Raises:
        DescriptionError: No finger there, or a border of the image cuts it off.
    """
    seen = segment(frame, colour)
    refuse_cut(seen.finger)
    tip, heading, length = _end(seen)
    patch, rim = _patch(seen.finger, tip, heading, length)
    difference = np.median(frame[patch & seen.finger], axis=0) - np.median(frame[rim], axis=0)
    weights = difference / float(difference @ difference)
    assert seen.colour is not None  # it was segmented by colour
    return TipStart(tip, heading, patch, weights, seen.colour)


def _end(seen: Segmentation) -> tuple[Array, float, float]:
    """Find the tip (2,) [pixels], heading [rad] and diagonal [pixels] of the finger.

    The axis runs through the middles of two sections near the end, and the tip is where it
    leaves the finger; both sections are perpendicular to the axis, hence the iteration.
    """
    rows, columns = np.nonzero(seen.finger)
    length = float(np.hypot(np.ptp(rows), np.ptp(columns)))
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
    return tip, float(np.arctan2(step[1], step[0])), length


def _middle(along: Array, beside: Array, position: float) -> float:
    """Return the middle between the two sides next to the axis, at a position along it."""
    ahead = np.roll(along, -1)
    at = np.flatnonzero((along < position) != (ahead < position))
    fraction = (position - along[at]) / (ahead[at] - along[at])
    sides = beside[at] + fraction * (np.roll(beside, -1)[at] - beside[at])
    left, right = sides[sides < 0.0], sides[sides >= 0.0]
    if not (len(left) and len(right)):  # the axis is outside
        return float(sides[np.abs(sides).argmin()])
    return 0.5 * float(left.max() + right.min())


def _patch(finger: Bools, tip: Array, heading: float, length: float) -> tuple[Bools, Bools]:
    """Return the mask of the tracked pixels and that of its background pixels, (h, w) each."""
    rim = max(round(RIM * length), MIN_RIM)
    rows, columns = np.indices(finger.shape)
    x, y = columns + 0.5 - tip[0], rows + 0.5 - tip[1]
    along = x * np.cos(heading) + y * np.sin(heading)
    beside = y * np.cos(heading) - x * np.sin(heading)
    near = (along > -PART * length) & (np.abs(beside) < PART * length)
    cv2, mask = opencv(), finger.astype(np.uint8)
    sizes = ((2 * pixels + 1,) * 2 for pixels in (rim, 2))
    brushes = (cv2.getStructuringElement(cv2.MORPH_ELLIPSE, size) for size in sizes)
    wide, narrow = (cv2.dilate(mask, brush) > 0 for brush in brushes)
    return near & wide, near & wide & ~narrow


def signal(frame: Image, weights: Array) -> Floats:
    """Compute the one channel in which finger and background differ by 1, (h, w)."""
    row = weights[None].astype(np.float32)
    return np.asarray(opencv().transform(frame.astype(np.float32), row))


def _length(frame: Image, colour: FingerColour) -> float:
    """Measure the length along the middle of a finger that points to the right [pixels]."""
    seen = segment(frame, colour)
    refuse_cut(seen.finger)
    if seen.finger[:, 0].any():
        raise DescriptionError(
            "expected the finger's base in the image, to measure its length, found it beyond the "
            "border; specify pixel_size"
        )
    tip = _end(seen)[0]
    rows, columns = np.nonzero(seen.finger)
    counts = np.bincount(columns)
    used = np.flatnonzero(counts)
    middles = np.bincount(columns, rows + 0.5)[used] / counts[used]
    line = np.polynomial.Polynomial.fit(used + 0.5, middles, 2)
    begin = find_outline(seen).points[:, 0].min()
    along = np.linspace(begin, tip[0], 100)
    return float(np.hypot(np.diff(along), np.diff(line(along))).sum())


# Registration


class Pose(NamedTuple):
    """Position and rotation of the tracked patch's reference point."""

    position: Array
    """Column and row, (2,) [pixels]."""
    angle: float
    """Rotation from +x to +y, clockwise in the image [rad]."""
    likeness: float
    """Correlation with the patch, at most 1 [–]."""


class Patch:
    """Region of an image that is to be located in other images.

    Args:
        image: One channel, (h, w).
        mask: Pixels of the region, (h, w).
        position: Point whose motion is measured: column and row [pixels], (2,).
    """

    def __init__(self, image: Floats, mask: Bools, position: Array) -> None:
        rows, columns = np.nonzero(mask)
        self.reach = float(np.hypot(columns + 0.5 - position[0], rows + 0.5 - position[1]).max())
        """Distance of the farthest pixel from the reference point [pixels]."""
        low = np.maximum(np.array([columns.min(), rows.min()]) - GRADIENT_MARGIN, 0)
        right, below = columns.max() + GRADIENT_MARGIN + 1, rows.max() + GRADIENT_MARGIN + 1
        part = (slice(low[1], below), slice(low[0], right))
        self._template = np.ascontiguousarray(image[part])
        self._mask = np.ascontiguousarray(mask[part], dtype=np.uint8)
        self._reference = position - low - 0.5  # OpenCV counts from the middle of the first pixel

    def locate(self, image: Floats, guess: Pose) -> Pose:
        """Refine a pose in another image, (h, w); likeness is 0 without convergence."""
        cv2 = opencv()
        rotation = _rotation(guess.angle)
        shift = guess.position - 0.5 - rotation @ self._reference
        warp = np.column_stack([rotation, shift]).astype(np.float32)
        try:
            likeness, warp = cv2.findTransformECCWithMask(
                self._template,
                image,
                self._mask,
                np.ones(image.shape, np.uint8),
                warp,
                cv2.MOTION_EUCLIDEAN,
                (cv2.TERM_CRITERIA_EPS | cv2.TERM_CRITERIA_COUNT, MAX_ITERATIONS, TOLERANCE),
                1,
            )
        except cv2.error:
            return guess._replace(likeness=0.0)
        rotation, shift = warp[:, :2].astype(float), warp[:, 2]
        step = rotation @ _rotation(guess.angle).T
        angle = guess.angle + float(np.arctan2(step[1, 0], step[0, 0]))
        return Pose(rotation @ self._reference + shift + 0.5, angle, float(likeness))


def _rotation(angle: float) -> Array:
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, -sine], [sine, cosine]])
