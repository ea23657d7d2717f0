"""From contact stiffness and damping in SI units to MuJoCo's reference acceleration."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.mechanics.transforms import Array


def direct_solref(
    stiffness: float, damping: float, inverse_mass: ArrayLike, impedance: float
) -> Array:
    """``solref`` (n, 2) in MuJoCo's direct format for contacts of K [N/m] and D [N·s/m].

    MuJoCo's contact force is f = (a_ref − a)/R with a_ref = −k·δ/d − b·v and
    R = A·(1 − d)/d. At rest a = 0, so f/δ = K asks for k = K·(1 − d)·A, and likewise b.

    Args:
        stiffness: K, normal force over penetration at rest [N/m].
        damping: D, normal force over approach speed [N·s/m].
        inverse_mass: A of each pair, shape (n,) [1/kg].
        impedance: Constant constraint impedance d, 0 < d < 1 [–].

    Returns:
        Rows (−k, −b).
    """
    inverse_mass = np.asarray(inverse_mass, dtype=float)
    return -np.stack([stiffness * inverse_mass, damping * inverse_mass], -1) * (1.0 - impedance)


def implicit_inertia(timestep: float, stiffness: ArrayLike, damping: ArrayLike) -> Array:
    """Inertia that an implicit integrator adds to a joint: h·c + h²·k [kg·m² or kg].

    Args:
        timestep: h [s].
        stiffness: Position gain k of each joint [N·m/rad or N/m], shape (n,).
        damping: Velocity gain and viscous friction c of each joint, shape (n,).
    """
    return timestep * np.asarray(damping, dtype=float) + timestep**2 * np.asarray(
        stiffness, dtype=float
    )
