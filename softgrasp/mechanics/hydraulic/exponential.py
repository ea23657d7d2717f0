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
    found = one + small / TERMS
    for term in range(TERMS - 1, 0, -1):
        found = one + small @ found / term
    for _ in range(halvings):
        found = found @ found
    return np.asarray(found)


def affine_moves(matrices: Array, weights: Array, push: Array, time: float) -> Array:
    """How states of ẋ = A x + b move in a time, (..., n + 1, n + 1): x ↦ M[:n, :n] x + M[:n, n].

    Args:
        matrices: A, (..., n, n).
        weights: Twice the energy over the square of each state, (..., n): in coordinates of which
            the energy is the squared length, the matrices are well scaled.
        push: b, (n,).
        time: [s]
    """
    size = matrices.shape[-1]
    scale = np.sqrt(weights)
    whole = np.zeros((*matrices.shape[:-2], size + 1, size + 1))
    whole[..., :size, :size] = scale[..., :, None] * matrices / scale[..., None, :]
    largest = np.abs(push).max(initial=0.0) or 1.0
    whole[..., :size, size] = scale * push / largest
    moves = exponential(time * whole)
    moves[..., :size, :size] *= scale[..., None, :] / scale[..., :, None]
    moves[..., :size, size] *= largest / scale
    return moves
