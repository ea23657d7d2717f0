"""The slowest vibration of a finger: what releases say of its dampers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_dynamics import small_motion


class FirstMode(NamedTuple):
    """The slowest mode about rest under the finger's own weight."""

    frequency: float
    """[Hz]"""
    weights: Array
    """Damping of the mode is Σ weights·c over the joints; they sum to one, (n,)."""
    inertia: float
    """Of the mode, with weights that sum to one [kg·m²]."""

    def ratio(self, damping: Array) -> float:
        """Damping over critical damping, for dampers (n,) [–]."""
        rate = 2.0 * math.pi * self.frequency
        return float(self.weights @ damping) / (2.0 * rate * self.inertia)


def first_mode(finger: SoftFinger, stiffness: Array) -> FirstMode:
    """The first mode of a planar finger with springs (n,) [N·m/rad].

    From K φ = ω² M φ, with the stiffness of springs and weight and MuJoCo's inertia.
    """
    inertia, slopes = small_motion(finger, stiffness)
    values, modes = eigh(slopes, inertia)
    squares = np.square(modes[:, 0])
    return FirstMode(
        frequency=math.sqrt(values[0]) / (2.0 * math.pi),
        weights=squares / squares.sum(),
        inertia=1.0 / float(squares.sum()),
    )
