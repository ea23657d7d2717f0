"""Videos of fingers that move as is known: the test bench of the tracker."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from softgrasp.continuum.statics import joint_positions
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_dynamics import FingerMotion
from softgrasp.vision.image import Image, opencv

FINE = 4
"""Polygons are filled so many times finer than the image, then averaged."""
SUBPIXEL_BITS = 6
FILLS = 0.7
"""Part of the image's width that the straight finger takes."""
ASPECT = 0.75
"""Height over width."""
BASE = (0.1, 0.38)
"""Where the finger's first joint is, in widths from the left and heights from the top, less its
first link."""
SPACING = 0.4e-3
"""Of the points of the outline along the finger [m]."""
BLEND = 1e-3
"""So far from a joint the skin follows both links [m]."""
WALL, FINGER = (236.0, 232.0, 228.0), (70.0, 120.0, 190.0)
"""Colours, red first."""
SHADE = 30.0
"""By how much the wall is darker in the lower right corner."""
NOISE_MARGIN = 96
"""One field of noise serves all frames, shifted at random by less than so many pixels each way."""


@dataclass(frozen=True)
class SyntheticVideo:
    """A video of a planar finger's motion, seen from the side; every frame is drawn when asked for.

    The base is on the left and z points up. The image is lit unevenly, slightly out of focus and
    noisy; the same seed makes the same video.
    """

    motion: FingerMotion
    width: int = 640
    frame_rate: float = 960.0
    noise: float = 3.0
    blur: float = 0.7
    seed: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width [px], both even."""
        return round(ASPECT * self.width / 2) * 2, self.width

    @property
    def finger_length(self) -> float:
        """Of the straight finger with its first link [m]."""
        finger = self.motion.finger
        return finger.tip[0] - _beginning(finger)

    @property
    def pixel_size(self) -> float:
        """Edge of a pixel [m]."""
        return self.finger_length / (FILLS * self.width)

    @cached_property
    def time(self) -> Array:
        """Of the frames [s], (T,)."""
        last = float(self.motion.time[-1])
        return np.arange(int(last * self.frame_rate + 1e-6) + 1) / self.frame_rate

    @cached_property
    def height(self) -> Array:
        """Of the tip in the finger's base frame: the truth [m], (T,)."""
        return np.interp(self.time, self.motion.time, self.motion.tip_position[:, 2])

    @cached_property
    def tip_pixels(self) -> Array:
        """Column and row of the tip: the truth, (T, 2)."""
        tips = joint_positions(self.motion.finger, self._angles)[:, -1]
        return self._pixels(tips[:, [0, 2]])

    def frames(self) -> Iterator[Image]:
        """Images, red first, (height, width, 3) each."""
        cv2 = opencv()
        rng = np.random.default_rng(self.seed)
        rows, columns = self.shape
        size = (rows + NOISE_MARGIN, columns + NOISE_MARGIN, 3)
        noise = np.round(self.noise * rng.standard_normal(size, dtype=np.float32)).astype(np.int16)
        wall = self._wall()
        colour = np.full_like(wall, FINGER)
        for outline in self._pixels(_outlines(self.motion.finger, self._angles)):
            image = wall.copy()
            self._paint(image, colour, outline)
            down, right = rng.integers(NOISE_MARGIN, size=2)
            grain = noise[down : down + rows, right : right + columns]
            yield cv2.add(image, grain, dtype=cv2.CV_8U)

    @cached_property
    def _angles(self) -> Array:
        motion = self.motion
        columns = [np.interp(self.time, motion.time, angle) for angle in motion.joint_angles.T]
        return np.stack(columns, axis=1)

    def _pixels(self, positions: Array) -> Array:
        rows, columns = self.shape
        right = BASE[0] * columns - _beginning(self.motion.finger) / self.pixel_size
        origin = np.array([right, BASE[1] * rows])
        return origin + positions / self.pixel_size * (1.0, -1.0)

    def _wall(self) -> Image:
        rows, columns = self.shape
        down, right = np.mgrid[0 : 1 : rows * 1j, 0 : 1 : columns * 1j]
        shade = 0.5 * SHADE * (down + right)
        return np.asarray(np.asarray(WALL) - shade[..., None] + 0.5, dtype=np.uint8)

    def _paint(self, image: Image, colour: Image, outline: Array) -> None:
        """The finger before the wall; only the part of the image that it is in is painted."""
        cv2 = opencv()
        margin = 2 + math.ceil(4.0 * self.blur)
        low = np.maximum(outline.min(axis=0).astype(int) - margin, 0)
        high = np.minimum(outline.max(axis=0).astype(int) + 1 + margin, self.shape[::-1])
        if (high <= low).any():
            return
        cover = _cover(outline - low, high - low, self.blur)
        part = (slice(low[1], high[1]), slice(low[0], high[0]))
        image[part] = cv2.blendLinear(image[part], colour[part], 1.0 - cover, cover)


def _cover(outline: Array, size: NDArray[np.int_], blur: float) -> NDArray[np.float32]:
    """Part of each pixel that lies within an outline, (height, width)."""
    cv2 = opencv()
    columns, rows = (int(pixels) for pixels in size)
    fine = np.zeros((rows * FINE, columns * FINE), np.uint8)
    corners = outline * FINE - 0.5  # OpenCV puts (0, 0) into the middle of a pixel
    whole = np.round(corners * 2**SUBPIXEL_BITS).astype(np.int32)
    cv2.fillPoly(fine, [whole], 255, shift=SUBPIXEL_BITS)
    cover = cv2.resize(fine, (columns, rows), interpolation=cv2.INTER_AREA)
    if blur > 0.0:
        cover = cv2.GaussianBlur(cover, (0, 0), blur)
    return np.asarray(cover, dtype=np.float32) / np.float32(255.0)


def _beginning(finger: SoftFinger) -> float:
    return finger.links[0].center[0] - 0.5 * finger.links[0].size[0]


def _outlines(finger: SoftFinger, angles: Array) -> Array:
    """Corners around the finger, x and z [m], for angles (T, n); (T, corners, 2)."""
    corners = _straight_outline(finger)
    hinges = np.array([joint.position for joint in finger.joints])[:, [0, 2]]
    positions = joint_positions(finger, angles)[:, :-1, [0, 2]]
    angles_absolute = np.cumsum(angles, axis=1)
    moved = np.broadcast_to(corners, (len(angles), *corners.shape)).copy()
    for index, (hinge, angle) in enumerate(zip(hinges, angles_absolute.T, strict=True)):
        weight = np.clip((corners[:, 0] - hinge[0]) / (2.0 * BLEND) + 0.5, 0.0, 1.0)[:, None]
        x, z = (corners - hinge).T
        cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
        carried = np.stack([x * cosine + z * sine, z * cosine - x * sine], axis=2)
        moved += weight * (positions[:, None, index] + carried - moved)
    return moved


def _straight_outline(finger: SoftFinger) -> Array:
    """Bellows above, flat below: x and z of the straight finger's corners [m], (corners, 2)."""
    hinges = np.array([joint.position for joint in finger.joints])
    begin, end = _beginning(finger), finger.tip[0]
    along = np.linspace(begin, end, round((end - begin) / SPACING) + 1)
    bounds = np.array([begin, *hinges[:, 0], end])
    link = np.clip(np.searchsorted(bounds, along, side="right") - 1, 0, len(finger.links) - 1)
    middle = np.array([part.center[2] for part in finger.links])
    half = 0.5 * np.array([part.size[2] for part in finger.links])
    weight = (along - bounds[link]) / np.diff(bounds)[link]
    # the first link and the end of the last one are square
    weight = np.where((link == 0) & (weight < 0.5), 0.5, weight)
    weight = np.where((link == len(half) - 1) & (weight > 0.5), 0.5, weight)
    valley = np.interp(along, hinges[:, 0], hinges[:, 2])
    above = valley + ((middle + half)[link] - valley) * (1.0 - np.abs(2.0 * weight - 1.0) ** 4)
    centers = 0.5 * (bounds[1:] + bounds[:-1])
    below = np.interp(along, centers, middle - half)
    upper, lower = np.stack([along, above], axis=1), np.stack([along, below], axis=1)
    return np.concatenate([upper, lower[::-1]])
