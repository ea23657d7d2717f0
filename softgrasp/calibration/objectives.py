"""How far a simulated finger is from the measured one; plain functions over the last axis.

Leading axes of what is simulated are particles; a number that is not one makes the whole fitness
``nan``, which optimisers take as a failure.
"""

from __future__ import annotations

import numpy as np

from softgrasp.mechanics.transforms import Array


def root_mean_square(left: Array) -> float:
    """Of what is left of a fit, in its own unit."""
    return float(np.sqrt(np.square(left).mean()))


def squared_angles(simulated: Array, measured: Array) -> Array:
    """Mean squared error of joint angles [rad²], (...,); eq (4) of paper 000.

    Args:
        simulated: [rad], (..., N).
        measured: [rad], (N,).
    """
    return np.asarray(np.square(simulated - measured).mean(axis=-1))


def squared_heights(simulated: Array, measured: Array) -> Array:
    """Mean squared error of heights of joint points [m²], (...,); what paper 000's repository has.

    There they are in pixels, and the last angle moves none of them.
    """
    return squared_angles(simulated, measured)


def settling_error(times: Array, counts: Array, time: Array, count: Array) -> Array:
    """|ΔT|·(1 + |Δn|), summed over loads [s], (...,); eq (5) of paper 000.

    Args:
        times: Simulated settling times [s], (..., L).
        counts: Simulated overshoots, (..., L).
        time: Measured [s], (L,).
        count: Measured, (L,).
    """
    return np.asarray((np.abs(times - time) * (1.0 + np.abs(counts - count))).sum(axis=-1))


def squared_trace(simulated: Array, measured: Array) -> Array:
    """Mean squared error of a whole tracked motion [m²], (...,)."""
    return squared_angles(simulated, measured)


def absolute_forces(simulated: Array, measured: Array) -> Array:
    """|ΔF| summed over pressures [N], (...,); eq (7) of paper 000."""
    return np.asarray(np.abs(simulated - measured).sum(axis=-1))


def product_of_forces(simulated: Array, measured: Array) -> Array:
    """Product of |ΔF| over pressures, (...,), as in paper 000's repository.

    One pressure that is met exactly makes it zero, whatever the others are.
    """
    return np.asarray(np.abs(simulated - measured).prod(axis=-1))


def squared_forces(simulated: Array, measured: Array) -> Array:
    """Mean squared error of forces [N²], (...,)."""
    return squared_angles(simulated, measured)
