"""Photographs of the finger of Hadi et al. (2025) under weights, each rendered once a process."""

from dataclasses import replace
from functools import cache

import numpy as np

import softgrasp as sg
from softgrasp.vision.checkerboard import Checkerboard
from softgrasp.vision.image import Image
from softgrasp.vision.synthetic_photos import SyntheticPhoto, synthetic_photo

FINGER = sg.io.load_finger("paper000")
LOADS = (0.0, 0.02, 0.04, 0.07, 0.1)
"""Weights at the tip [kg]."""
WIDTH = 1280
SQUARE, MARGIN = 56, 45
"""Side of a square of the checkerboard, and its distance from the border [pixels]."""


@cache
def pose(load: float) -> np.ndarray:
    """Joint angles under gravity and a weight at the tip [rad]."""
    return sg.equilibrium(FINGER, tip_mass=load, error_estimate=False).joint_angles


@cache
def photo(load: float) -> SyntheticPhoto:
    """A clean photograph, 1280 pixels across."""
    return synthetic_photo(FINGER, pose(load), WIDTH)


@cache
def board_photo() -> SyntheticPhoto:
    """A photograph with a checkerboard of 5 × 7 inner corners in its lower left corner."""
    seen = synthetic_photo(FINGER, pose(0.04), WIDTH)
    rows, columns = np.indices((6, 8))
    squares = np.where((rows + columns) % 2 == 0, 10, 242).astype(np.uint8)
    card = np.pad(squares.repeat(SQUARE, 0).repeat(SQUARE, 1), SQUARE // 2, constant_values=242)
    image = seen.image.copy()
    image[-len(card) - MARGIN : -MARGIN, MARGIN : MARGIN + card.shape[1]] = card[..., None]
    return replace(seen, image=image)


def board() -> Checkerboard:
    """The checkerboard of that photograph, with its true size."""
    return Checkerboard(rows=5, columns=7, square=SQUARE * board_photo().metres_per_px)


def rms_deg(errors: np.ndarray) -> float:
    """Root of the mean square [deg] of errors [rad]."""
    return float(np.degrees(np.sqrt(np.mean(np.square(errors)))))


def with_faults(
    image: Image,
    *,
    light: float = 0.0,
    light_direction_deg: float = 0.0,
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0),
    hue_deg: float = 0.0,
    blur: float = 0.0,
    noise: float = 0.0,
    seed: int = 0,
) -> Image:
    """Change the light of an image, blur it and add noise."""
    import cv2

    seen = image.astype(np.float32) / 255.0
    if hue_deg:
        hsv = cv2.cvtColor(seen, cv2.COLOR_RGB2HSV)
        hsv[..., 0] = (hsv[..., 0] + hue_deg) % 360.0
        seen = cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)
    seen = seen * _brightness(image.shape[:2], light, light_direction_deg)[..., None]
    seen *= np.array(tint, dtype=np.float32)
    if blur:
        seen = cv2.GaussianBlur(seen, (0, 0), blur)
    if noise:
        grain = np.random.default_rng(seed).standard_normal(seen.shape, dtype=np.float32)
        seen = seen + np.float32(noise) * grain
    return np.rint(255.0 * seen.clip(0.0, 1.0)).astype(np.uint8)


def _brightness(shape: tuple[int, ...], light: float, direction_deg: float) -> np.ndarray:
    y, x = np.meshgrid(
        np.linspace(1.0, -1.0, shape[0]), np.linspace(-1.0, 1.0, shape[1]), indexing="ij"
    )
    angle = np.radians(direction_deg)
    along = np.cos(angle) * x + np.sin(angle) * y
    along /= max(float(np.abs(along).max()), 1e-12)
    return np.asarray((1.0 + light * along) / (1.0 + light), dtype=np.float32)
