"""Exponentials of many small matrices at once.

``scipy.linalg.expm`` takes them one by one through threads of BLAS, which costs milliseconds for a
matrix of four rows where the machine is busy; a step of a drive needs one per channel.
"""

from __future__ import annotations

import numpy as np

from softgrasp.mechanics.transforms import Array

SMALL, TERMS = 0.5, 15
"""Norm from which the power series is taken, and its terms: the rest is below 1e-17."""


def exponential(matrices: Array) -> Array:
    """The exponentials of matrices (..., n, n) by scaling, power series and squaring."""
    largest = float(np.abs(matrices).sum(axis=-1).max(initial=0.0))
    halvings = max(0, int(np.ceil(np.log2(max(largest, SMALL) / SMALL))))
    small = matrices / 2.0**halvings
    one = np.eye(matrices.shape[-1])
    result = one + small / TERMS
    for term in range(TERMS - 1, 0, -1):
        result = one + small @ result / term
    for _ in range(halvings):
        result = result @ result
    return np.asarray(result)


def affine_moves(matrices: Array, weights: Array, inputs: Array, time: float) -> Array:
    """How states of ẋ = A x + B y move in a time, with inputs y that stand still.

    The state after it is M[:n, :n] x + M[:n, n:] y, M (..., n + p, n + p).

    Args:
        matrices: A, (..., n, n).
        weights: Twice the energy over the square of each state, (..., n): in coordinates of which
            the energy is the squared length, the matrices are well scaled.
        inputs: B, (n, p) for all or (..., n, p).
        time: [s]
    """
    size = matrices.shape[-1]
    scale = np.sqrt(weights)
    width = size + inputs.shape[-1]
    whole = np.zeros((*matrices.shape[:-2], width, width))
    whole[..., :size, :size] = scale[..., :, None] * matrices / scale[..., None, :]
    scaled = scale[..., :, None] * inputs
    largest = np.abs(scaled).max(axis=-2, keepdims=True)
    largest = np.where(largest > 0.0, largest, 1.0)
    whole[..., :size, size:] = scaled / largest
    moves = exponential(time * whole)
    moves[..., :size, :size] *= scale[..., None, :] / scale[..., :, None]
    moves[..., :size, size:] *= largest / scale[..., :, None]
    return moves
