"""Where a patch of one picture is in another, turned and shifted, to a small part of a pixel.

Gauss and Newton's method on the squared difference, with the patch's gradients (the inverse
compositional form of Baker and Matthews, "Lucas–Kanade 20 years on", IJCV 2004). Brightness and
contrast are found along with the pose, so a lamp that flickers does no harm.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.vision.opencv import opencv

Floats = NDArray[np.float32]

ROUNDS, CLOSE = 20, 2e-3
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
        for _ in range(ROUNDS):
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
