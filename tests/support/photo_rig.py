"""Photographs of a cast finger by a renderer that shares no assumption with the reader.

Polygons are filled in slices from the far side to the near one, each projected by a pinhole camera,
and the image goes through a lens, a sensor and JPEG. Valleys are arcs that roll with their links,
flanks are straight and may lean, crests are flat, and the skin is a smooth curve.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from PIL import Image as Pillow
from scipy.interpolate import PchipInterpolator

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.vision.image import Image, opencv

FINE, SUBPIXEL, SLICES, ARC = 2, 4, 5, 9
SKIN, END = 0.010, 0.0085
"""Height of the smooth side over the joints, and of the end face [m]."""
BEGIN = 0.0092
"""Visible length before the first joint [m]."""


@dataclass(frozen=True)
class PhotoRig:
    """A clamped finger before paper, and the camera that photographs it.

    Lengths of the valley are relative to the distance of the joints, angles are in degrees,
    colours in RGB from 0 to 255.
    """

    finger: SoftFinger
    width: int = 960
    fillet: float = 0.0
    """Radius of the valleys' ground, which touches the joint."""
    lean: float = 0.0
    """Shift of the crest towards the tip."""
    depth: float = 0.5
    colour: tuple[float, float, float] = (190.0, 84.0, 44.0)
    opacity: float = 1.0
    paper: tuple[float, float, float] = (236.0, 233.0, 228.0)
    distance: float = 3.0
    """Of the camera [m]."""
    thickness: float = 0.02
    """Of the finger [m]."""
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0
    """Of the camera [deg]."""
    base: float = 0.0
    """Direction of the clamped base, positive downwards [deg]."""
    blur: float = 0.6
    defocus: float = 0.0
    """Radius of the circle of confusion [pixels]."""
    noise: float = 0.01
    gain: float = 1.0
    """Exposure."""
    jpeg: int | None = 90
    markers: tuple[float, float, float] | None = None
    """Colour of dots on the joints and the tip."""
    clamp: bool = True
    weight: bool = False
    turned: Literal["", "mirrored", "upside down"] = ""
    seed: int = 0

    def with_(self, **changes: object) -> PhotoRig:
        """Return a changed copy."""
        return replace(self, **changes)

    def photo(self, angles: np.ndarray) -> Image:
        """Photograph the finger with these joint angles [rad]."""
        return self._developed(self._drawn(np.asarray(angles, dtype=float)))

    @property
    def length(self) -> float:
        """Visible length of the straight finger [m]."""
        return self.finger.tip[0] - self.finger.joints[0].position[0] + BEGIN

    def film(self, angles: np.ndarray, shutter: int = 1) -> Iterator[Image]:
        """Film a motion."""
        for number, first in enumerate(range(0, len(angles) - shutter + 1, shutter)):
            frame = self.with_(seed=self.seed + number)
            drawn = [frame._drawn(angle) for angle in angles[first : first + shutter]]
            yield frame._developed(np.mean(drawn, axis=0))

    def empty(self) -> Image:
        """Photograph clamp and paper only."""
        return self.with_(seed=self.seed + 7)._developed(self._drawn(None))

    # Scene

    def _drawn(self, angles: np.ndarray | None) -> np.ndarray:
        cv2 = opencv()
        height, width = FINE * round(0.75 * self.width), FINE * self.width
        down, right = np.meshgrid(
            np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij"
        )
        light = (1.0 - 0.10 * (right - 0.3) ** 2 - 0.06 * (down + 0.4) ** 2).astype(np.float32)
        canvas = light[..., None] * np.array(self.paper, np.float32)
        canvas += 1.5 * _texture((height, width), self.seed)[..., None]
        if angles is not None:
            parts = self._parts(angles)
            for index, depth in enumerate(np.linspace(0.5, -0.5, SLICES)):
                shade = 0.72 + 0.04 * index
                covered = np.zeros((height, width), np.uint8)
                for part in parts:
                    self._fill(covered, part, depth * self.thickness)
                mask = covered > 0
                lit = 1.0 if index == SLICES - 1 else shade
                skin = light[mask][:, None] * np.array(self.colour, np.float32) * lit
                share = 1.0 - (1.0 - self.opacity) ** (1.0 / SLICES)
                canvas[mask] += share * (skin - canvas[mask])
            self._add_markers(canvas, angles)
            if self.weight:
                self._add_weight(canvas, angles)
        if self.clamp:
            block = np.array([[-0.5, -0.012], [-0.008, -0.012], [-0.008, 0.014], [-0.5, 0.014]])
            covered = np.zeros((height, width), np.uint8)
            self._fill(covered, block @ _rotation(self.base).T, -0.6 * self.thickness)
            canvas[covered > 0] = (66.0, 68.0, 72.0)
        size = (self.width, round(0.75 * self.width))
        return np.asarray(cv2.resize(canvas, size, interpolation=cv2.INTER_AREA))

    def _fill(self, covered: np.ndarray, points: np.ndarray, depth: float) -> None:
        pixels = FINE * self.project(np.insert(points, 1, depth, axis=1)) - 0.5
        fixed = np.rint(pixels * 2**SUBPIXEL).astype(np.int32)
        opencv().fillPoly(covered, [fixed[:, None]], 255, shift=SUBPIXEL)

    def project(self, points: np.ndarray) -> np.ndarray:
        """Project points (n, 3) of the finger's frame [m] to pixels (n, 2) of the camera."""
        span = self.finger.tip[0] + 0.010
        focal = 0.76 * self.width / span * self.distance
        centre = np.array([0.5 * span, 0.0, -0.22 * span])
        yaw, pitch = np.radians([self.yaw, self.pitch])
        turn = np.array(
            [[np.cos(yaw), np.sin(yaw), 0.0], [-np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]]
        )
        nod = np.array(
            [[1.0, 0.0, 0.0], [0.0, np.cos(pitch), -np.sin(pitch)],
             [0.0, np.sin(pitch), np.cos(pitch)]]
        )  # fmt: skip
        seen = (np.asarray(points) - centre) @ (nod @ turn).T
        x, z = (seen[:, [0, 2]] / (self.distance + seen[:, 1:2])).T * focal
        flat = np.stack([x, -z], axis=1) @ _rotation(-self.roll).T
        return flat + 0.5 * np.array([self.width, 0.75 * self.width])

    # Finger

    def points(self, angles: np.ndarray) -> np.ndarray:
        """Return joints and tip, (n + 1, 2): x and z [m]."""
        rest = np.array([joint.position for joint in self.finger.joints] + [self.finger.tip])
        steps = np.diff(rest[:, [0, 2]], axis=0)
        headings = np.radians(self.base) + np.cumsum(angles)
        moved = [_rotation(np.degrees(h)) @ step for h, step in zip(headings, steps, strict=True)]
        return np.cumsum(np.vstack([rest[:1, [0, 2]], moved]), axis=0)

    def _parts(self, angles: np.ndarray) -> list[np.ndarray]:
        points = self.points(angles)
        steps = np.diff(points, axis=0)
        lengths = np.linalg.norm(steps, axis=1)
        along = steps / lengths[:, None]
        down = np.stack([along[:, 1], -along[:, 0]], axis=1)
        base = _rotation(self.base)
        start = points[0] + base @ [-BEGIN, 0.0]
        before = points[0] - start
        parts = []
        for index in range(len(steps)):
            profile = self._bellow(last=index == len(steps) - 1)
            at = points[index] + lengths[index] * (
                profile[:, :1] * along[index] + profile[:, 1:] * down[index]
            )
            parts.append(at)
        first = self._bellow(last=False)
        first = first[first[:, 0] >= 0.5]
        length = float(np.linalg.norm(before))
        edge = base @ [1.0, 0.0]
        below = base @ [0.0, -1.0]
        parts.append(
            np.vstack([start, start + 0.5 * length * below,
                       start + length * (first[:, :1] * edge + first[:, 1:] * below)])
        )  # fmt: skip
        parts.append(self._body(points, along, down, start, base))
        return parts

    def _bellow(self, *, last: bool) -> np.ndarray:
        """Profile below the line of the joints from one joint to the next, over its length."""
        crest = (0.38 + self.lean, 0.62 + self.lean)
        r, depth = self.fillet, self.depth
        rising, falling = _flank(r, crest[0], depth), _flank(r, 1.0 - crest[1], depth)
        if last:
            height = 0.5 * END / 0.0113
            return np.vstack([rising, [[crest[0] + 0.1, depth], [1.0, height], [1.0, 0.0]]])
        mirrored = falling[::-1] * [-1.0, 1.0] + [1.0, 0.0]
        return np.vstack([rising, mirrored])

    def _body(
        self,
        points: np.ndarray,
        along: np.ndarray,
        down: np.ndarray,
        start: np.ndarray,
        base: np.ndarray,
    ) -> np.ndarray:
        """Body above the line of the joints, with a smooth skin."""
        middles = 0.5 * (points[1:] + points[:-1])
        heights = np.linspace(SKIN, 0.65 * END, len(middles))
        above = middles - heights[:, None] * down
        up = base @ [0.0, 1.0]
        end = points[-1] - 0.5 * END * down[-1]
        low = points[-1] + 0.5 * END * down[-1]
        begin = [start + SKIN * up, start + SKIN * up + base @ [0.005, 0.0]]
        knots = np.vstack([begin, above, end])
        reach = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(knots, axis=0), axis=1)))
        skin = PchipInterpolator(reach, knots)(np.linspace(0.0, reach[-1], 120))
        return np.vstack([skin, end, low, points[::-1], start])

    # Things on it

    def _add_markers(self, canvas: np.ndarray, angles: np.ndarray) -> None:
        if self.markers is None:
            return
        for point in self.points(angles):
            circle = np.linspace(0.0, 2.0 * np.pi, 40)
            ring = point + 0.0011 * np.stack([np.cos(circle), np.sin(circle)], axis=1)
            covered = np.zeros(canvas.shape[:2], np.uint8)
            self._fill(covered, ring, -0.5 * self.thickness)
            canvas[covered > 0] = self.markers

    def _add_weight(self, canvas: np.ndarray, angles: np.ndarray) -> None:
        tip = self.points(angles)[-1]
        for half, top, bottom in ((0.00012, 0.0, -0.007), (0.002, -0.007, -0.011)):
            box = tip + np.array([[-half, top], [half, top], [half, bottom], [-half, bottom]])
            covered = np.zeros(canvas.shape[:2], np.uint8)
            self._fill(covered, box, 0.0)
            canvas[covered > 0] = (120.0, 122.0, 126.0)

    # Camera

    def _developed(self, canvas: np.ndarray) -> Image:
        cv2 = opencv()
        seen = canvas.astype(np.float32)
        if self.defocus:
            size = int(np.ceil(self.defocus)) + 1
            y, x = np.mgrid[-size : size + 1, -size : size + 1]
            disc = np.clip(self.defocus + 0.5 - np.hypot(x, y), 0.0, 1.0).astype(np.float32)
            seen = cv2.filter2D(seen, -1, disc / disc.sum(), borderType=cv2.BORDER_REPLICATE)
        if self.blur:
            seen = cv2.GaussianBlur(seen, (0, 0), self.blur)
        rng = np.random.default_rng(self.seed)
        seen = self.gain * seen / 255.0
        spread = self.noise * np.sqrt(0.3 + 0.7 * np.clip(seen, 0.0, 1.0))
        seen = seen + spread * rng.standard_normal(seen.shape, dtype=np.float32)
        image = np.rint(255.0 * seen.clip(0.0, 1.0)).astype(np.uint8)
        if self.turned == "mirrored":
            image = np.ascontiguousarray(image[:, ::-1])
        if self.turned == "upside down":
            image = np.ascontiguousarray(image[::-1, ::-1])
        if self.jpeg is None:
            return image
        stream = io.BytesIO()
        Pillow.fromarray(image).save(stream, format="JPEG", quality=self.jpeg)
        return np.asarray(Pillow.open(io.BytesIO(stream.getvalue())).convert("RGB"))


def _flank(radius: float, crest: float, depth: float) -> np.ndarray:
    """Half a valley from the joint (0, 0): a quarter of an arc, a straight flank, the crest."""
    slope = np.arctan2(depth - radius, max(crest - radius, 1e-3))
    turn = np.linspace(0.0, slope, ARC)
    arc = radius * np.stack([np.sin(turn), 1.0 - np.cos(turn)], axis=1)
    return np.vstack([arc, [[crest, depth]]])


def _rotation(degrees: float) -> np.ndarray:
    """Rotation of x and z by an angle that is positive downwards."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, s], [-s, c]])


def _texture(shape: tuple[int, int], seed: int) -> np.ndarray:
    """Unevenness of paper, standard deviation 1."""
    cv2 = opencv()
    coarse = np.random.default_rng(1000 + seed).standard_normal((24, 32)).astype(np.float32)
    return np.asarray(cv2.resize(coarse, shape[::-1], interpolation=cv2.INTER_CUBIC))
