"""The tip of a finger in one frame of a film, and what is looked for in the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.colour import FingerColour
from softgrasp.vision.opencv import opencv
from softgrasp.vision.outline import find_outline, refuse_cut
from softgrasp.vision.picture import Bools, Image
from softgrasp.vision.registration import Floats
from softgrasp.vision.segmentation import Segmentation, segment

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
