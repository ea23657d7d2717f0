"""Curvature as a vector: (u, v) = κ (cos φ, sin φ), smooth where a segment is straight."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.mechanics.transforms import Array

STRAIGHT = 1e-9
"""Curvature below which the bending plane keeps the angle that it had [1/m]."""


def vector_of(kappa: ArrayLike, phi: ArrayLike) -> Array:
    """(u, v) of curvatures [1/m] and plane angles [rad], (..., 2)."""
    kappa, phi = np.asarray(kappa, dtype=float), np.asarray(phi, dtype=float)
    return np.stack([kappa * np.cos(phi), kappa * np.sin(phi)], axis=-1)


def curvature_of(vector: ArrayLike, phi_before: float = 0.0) -> tuple[float, float]:
    """κ [1/m] and φ [rad] of (u, v); φ stays as before where the segment is straight."""
    u, v = np.asarray(vector, dtype=float).tolist()
    kappa = math.hypot(u, v)
    return (kappa, math.atan2(v, u)) if kappa > STRAIGHT else (kappa, phi_before)


def within(vector: Array, longest: float) -> Array:
    """A vector, shortened to a length."""
    length = float(np.hypot(*vector))
    return vector if length <= longest else vector * (longest / length)


def angle_within(angle: float, low: float, high: float) -> float:
    """The same direction as an angle between two bounds, or the nearer bound [rad]."""
    if angle < low:
        angle += math.tau * math.ceil((low - angle) / math.tau)
    elif angle > high:
        angle -= math.tau * math.ceil((angle - high) / math.tau)
    if low <= angle <= high:
        return angle
    return min(low, high, key=lambda bound: abs(math.remainder(angle - bound, math.tau)))
