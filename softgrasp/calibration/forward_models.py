"""First vibration mode of a finger, whose damping releases determine."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array
from softgrasp.sim.soft_dynamics import small_motion


class FirstMode(NamedTuple):
    """First mode about equilibrium under the finger's weight."""

    frequency: float
    """Natural frequency [Hz]."""
    weights: Array
    """Weights of the joints' dampers: modal damping is Σ weights·c; their sum is one, (n,)."""
    inertia: float
    """Modal inertia, with weights whose sum is one [kg·m²]."""

    def ratio(self, damping: Array) -> float:
        """Return the damping ratio for dampers (n,) [–]."""
        rate = 2.0 * math.pi * self.frequency
        return float(self.weights @ damping) / (2.0 * rate * self.inertia)


def first_mode(finger: SoftFinger, stiffness: Array) -> FirstMode:
    """Compute the first mode of a planar finger with springs (n,) [N·m/rad].

    Solves K φ = ω² M φ, with the stiffness of springs and weight, and MuJoCo's inertia matrix.
    """
    inertia, slopes = small_motion(finger, stiffness)
    values, modes = eigh(slopes, inertia)
    squares = np.square(modes[:, 0])
    return FirstMode(
        frequency=math.sqrt(values[0]) / (2.0 * math.pi),
        weights=squares / squares.sum(),
        inertia=1.0 / float(squares.sum()),
    )
