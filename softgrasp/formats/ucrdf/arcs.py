"""Frames along the backbone of a bendable at a state."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import polynomial
from numpy.polynomial.legendre import leggauss

from softgrasp.description.bendable import Bendable
from softgrasp.formats.ucrdf.states import BentState
from softgrasp.mechanics.pcc import segment_transform
from softgrasp.mechanics.transforms import Array, rotate_about

NODES = 16
"""Gauss–Legendre nodes of a panel; a panel turns by at most a half turn, which leaves 1e-15."""


def frames_along(part: Bendable, state: BentState, shares: Array) -> Array:
    """Frames at shares of the backbone's length, in its base frame, (n, 4, 4).

    Args:
        part: The bendable: its model and its kind of frames.
        state: Curvatures, plane and length.
        shares: Arc lengths over the length, above 0 and up to 1, shape (n,).
    """
    if len(state.kappas) == 1:
        return segment_transform(state.kappas[0], state.phi, state.length * shares, part.frame)
    angles = _angles(state, shares)
    along = np.stack([_planar_point(state, share) for share in shares])
    frames = rotate_about("y", angles)
    frames[:, 0, 3], frames[:, 2, 3] = along.T
    frames = rotate_about("z", state.phi) @ frames
    return frames if part.frame == "webster" else frames @ rotate_about("z", -state.phi)


def _angles(state: BentState, shares: Array) -> Array:
    """Tangent angles θ(s) = ∫ κ ds of a polynomial κ(s/ℓ) [rad]."""
    return np.asarray(polynomial.polyval(shares, state.length * polynomial.polyint(state.kappas)))


def _planar_point(state: BentState, share: float) -> Array:
    """(∫ sin θ ds, ∫ cos θ ds) up to a share of the length [m], (2,)."""
    turn = state.length * float(np.abs(state.kappas).sum())
    edges = np.linspace(0.0, share, 2 + int(turn / np.pi))
    nodes, weights = leggauss(NODES)
    half = np.diff(edges)[:, None] / 2.0
    at = edges[:-1, None] + half * (nodes + 1.0)
    angles = _angles(state, at)
    sides = np.stack([np.sin(angles), np.cos(angles)])
    return np.asarray(state.length * (sides * half * weights).sum(axis=(1, 2)))
