"""Photographs of the finger of paper 000 under weights, each rendered once a process."""

from __future__ import annotations

from functools import cache

import numpy as np

import softgrasp as sg
from softgrasp.vision.synthetic_photos import SyntheticPhoto, synthetic_photo

FINGER = sg.io.load_finger("paper000")
LOADS = (0.0, 0.02, 0.04, 0.07, 0.1)
"""Weights at the tip [kg]."""
WIDTH = 1280


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
    """One with a checkerboard."""
    return synthetic_photo(FINGER, pose(0.04), WIDTH, checkerboard=True)


def rms_deg(errors: np.ndarray) -> float:
    """Root of the mean square [deg] of errors [rad]."""
    return float(np.degrees(np.sqrt(np.mean(np.square(errors)))))
