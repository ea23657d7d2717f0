"""The light of a photograph, read from the white paper in it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from softgrasp.mechanics.transforms import Array

Floats = npt.NDArray[np.float32]

DEGREE = 2
"""Of the polynomial over the picture, in x and in y."""
PAPER = 0.5
"""Saturation over the range of saturations in the picture, below which a pixel may be paper [–]."""
DARKER = 0.05
"""What is darker than the surface by this is no paper: a clamp, a shadow, print [–]."""
LIGHT = 0.3
"""The paper is lighter than this, or it is no paper [–]."""
_SAMPLES, _ROUNDS = 96, 8


def in_white_light(image: Floats) -> Floats:
    """The picture as if lit evenly by white light: the white paper in it becomes 1.

    A polynomial surface in each channel is laid through what may be paper; what lies well below it
    is taken out and the surface laid again.

    Args:
        image: Red, green and blue from 0 to 1, (h, w, 3).

    Returns:
        The picture over the surfaces, at most 1, (h, w, 3).
    """
    step = max(image.shape[1] // _SAMPLES, 1)
    few = (slice(step // 2, None, step),) * 2
    rows, columns = (_powers(count) for count in image.shape[:2])
    samples = image[few].reshape(-1, 3).astype(float)
    terms = (rows[few[0], None, :, None] * columns[None, few[1], None, :]).reshape(len(samples), -1)
    kept = _may_be_paper(samples)
    weights = np.zeros((terms.shape[1], 3))
    ridge = 1e-6 * len(terms) * np.eye(terms.shape[1])  # where paper is seen on one side only
    for _ in range(_ROUNDS):
        if kept.sum() <= terms.shape[1]:
            return image
        chosen = terms[kept]
        weights = np.linalg.solve(chosen.T @ chosen + ridge, chosen.T @ samples[kept])
        kept &= (samples > terms @ weights - DARKER).all(axis=1)
    even = np.empty_like(image)
    for channel in range(3):
        grid = weights[:, channel].reshape(DEGREE + 1, DEGREE + 1)
        surface = (rows @ grid @ columns.T).clip(min=LIGHT * LIGHT).astype(np.float32)
        np.minimum(image[..., channel] / surface, 1.0, out=even[..., channel])
    return even


def _powers(count: int) -> Array:
    return np.linspace(-1.0, 1.0, count)[:, None] ** np.arange(DEGREE + 1)


def _may_be_paper(samples: Array) -> npt.NDArray[np.bool_]:
    """Which pixels (n, 3) are light and have little colour."""
    brightest, darkest = samples.max(axis=1), samples.min(axis=1)
    saturation = (brightest - darkest) / np.maximum(brightest, 1e-6)
    limit = PAPER * (np.quantile(saturation, 0.02) + np.quantile(saturation, 0.98))
    return np.asarray((saturation <= limit) & (brightest > LIGHT))
