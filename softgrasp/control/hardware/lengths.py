"""Tendon lengths ↔ bending: three tendon lengths say how a segment is bent and how long it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.control.bends import curvature_of, vector_of
from softgrasp.description.bendable import Chamber, Tendon
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array


def tendon_lengths(
    kappa: float, phi: float, length: float, actuators: Sequence[Tendon | Chamber]
) -> Array:
    """Lengths of tendons or chambers, ℓⱼ = ℓ − rⱼ (u cos αⱼ + v sin αⱼ), u, v = κℓ (cos φ, sin φ).

    Exact for constant curvature; shape (n,) [m].
    """
    return np.asarray(length + _arms(actuators) @ (length * vector_of(kappa, phi)))


def bend_of_lengths(
    lengths: ArrayLike, actuators: Sequence[Tendon | Chamber], phi_before: float = 0.0
) -> tuple[float, float, float]:
    """κ [1/m], φ [rad] and length [m] that fit the lengths of three or more drives best.

    Raises:
        DescriptionError: Fewer than three drives, or drives in one line through the backbone.
    """
    matrix = np.column_stack([np.ones(len(actuators)), _arms(actuators)])
    if np.linalg.matrix_rank(matrix) < 3:
        raise DescriptionError(
            f"expected three or more drives around the backbone, found {len(actuators)}",
            field="actuation",
        )
    length, u, v = np.linalg.lstsq(matrix, np.asarray(lengths, dtype=float), rcond=None)[0]
    kappa, phi = curvature_of(np.array([u, v]) / length, phi_before)
    return kappa, phi, float(length)


def _arms(actuators: Sequence[Tendon | Chamber]) -> Array:
    """(−r cos α, −r sin α) of each drive [m], (n, 2)."""
    return np.array([[-d.radius * np.cos(d.angle), -d.radius * np.sin(d.angle)] for d in actuators])
