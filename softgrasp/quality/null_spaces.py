"""Null spaces of the grasp matrix and hand Jacobian: internal forces and graspability.

Prattichizzo and Trinkle, Grasping, Springer Handbook of Robotics 2016, table 38.4. Bases are
orthonormal columns; a space of dimension zero has no columns. G is a grasp matrix, (6, c), or (3,
c) in the plane; J a hand Jacobian, (c, m).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.quality.inputs import numbers

RANK_TOLERANCE = 1e-9
"""Singular values below this fraction of the largest one are taken as zero."""


@dataclass(frozen=True)
class Graspability:
    """Orthonormal bases of the four null spaces of a grasp."""

    internal: Array
    """Null space of G: contact forces with zero resultant wrench on the object, (c, i)."""
    indeterminate: Array
    """Null space of Gᵀ: twists of the object that the contacts do not resist, (6 or 3, i)."""
    redundant: Array
    """Null space of J: joint motions that do not move the contact points, (m, i)."""
    structural: Array
    """Null space of Jᵀ: contact forces that the structure bears without joint torques, (c, i)."""

    @property
    def graspable(self) -> bool:
        """Whether internal forces exist."""
        return bool(self.internal.shape[1] > 0)

    @property
    def object_indeterminate(self) -> bool:
        """Whether the object can move while the contact points stay fixed."""
        return bool(self.indeterminate.shape[1] > 0)

    @property
    def hand_redundant(self) -> bool:
        """Whether joints can move while the contact points stay fixed."""
        return bool(self.redundant.shape[1] > 0)

    @property
    def defective(self) -> bool:
        """Whether joint torques can neither control nor reveal some contact forces."""
        return bool(self.structural.shape[1] > 0)

    @property
    def hyperstatic(self) -> bool:
        """Whether joint torques cannot control some internal forces: null(Jᵀ) ∩ null(G) ≠ 0."""
        both = np.hstack([self.internal, self.structural])
        return bool(null_space(both).shape[1] > 0)


def graspability(G: ArrayLike, J: ArrayLike) -> Graspability:
    """Compute internal, redundant, structural and indeterminate spaces of a grasp.

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).

    Raises:
        DescriptionError: G and J of different contacts, or numbers that are not finite.
    """
    grasp, hand = pair(G, J)
    return Graspability(
        null_space(grasp), null_space(grasp.T), null_space(hand), null_space(hand.T)
    )


def internal_forces(G: ArrayLike) -> Array:
    """Compute an orthonormal basis E of the internal forces, the null space of G, (c, i).

    Columns are contact forces in contact frames, contact by contact. A hand whose joints can exert
    any contact force can exert all of them.

    Args:
        G: Grasp matrix, (6 or 3, c).
    """
    return null_space(numbers(G, "G", (None, None)))


def controllable_internal_forces(
    G: ArrayLike, J: ArrayLike, compliance: ArrayLike, synergies: ArrayLike | None = None
) -> Array:
    """Compute an orthonormal basis of the internal forces that a compliant hand can exert, (c, i).

    The image of (1 − G⁺ₖ G) K J [S] with G⁺ₖ = K Gᵀ (G K Gᵀ)⁻¹ and K the inverse of ``compliance``:
    the contact forces that joint motions leave once the object is at rest (Prattichizzo, Malvezzi,
    Gabiccini and Bicchi, On motion and force controllability of precision grasps with hands
    actuated by soft synergies, IEEE Trans. Robotics 29(6), 2013).

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).
        compliance: Compliance of contacts, joints and synergies in series, as of
            ``contact_compliance``, (c, c) [m/N].
        synergies: Synergy matrix S, joint motions per actuator, (m, z).
    """
    grasp, hand = pair(G, J)
    stiff = np.linalg.inv(numbers(compliance, "compliance", (len(hand), len(hand))))
    moved = (
        hand if synergies is None else hand @ numbers(synergies, "synergies", (hand.shape[1], None))
    )
    squeeze = stiff @ moved
    back = np.linalg.pinv(grasp @ stiff @ grasp.T, rcond=RANK_TOLERANCE, hermitian=True)
    left = squeeze - stiff @ grasp.T @ (back @ (grasp @ squeeze))
    internal = null_space(grasp)
    # projected onto the internal forces to remove rounding
    return internal @ range_space(internal.T @ left, float(np.linalg.norm(squeeze)))


def null_space(matrix: Array) -> Array:
    """Compute an orthonormal basis of the null space of a matrix, (columns, dimension)."""
    if 0 in matrix.shape:
        return np.eye(matrix.shape[1])
    _, values, right = np.linalg.svd(matrix)
    rank = int((values > RANK_TOLERANCE * max(values[0], np.finfo(float).tiny)).sum())
    return np.asarray(right[rank:].T)


def range_space(matrix: Array, scale: float) -> Array:
    """Compute an orthonormal basis of the range of a matrix, (r, dimension).

    Args:
        matrix: Any matrix, (r, c).
        scale: Singular values below 1e-9 times it are taken as zero.
    """
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(left[:, values > RANK_TOLERANCE * max(scale, np.finfo(float).tiny)])


def pair(G: ArrayLike, J: ArrayLike) -> tuple[Array, Array]:
    """Convert G and J to arrays and check that they belong to the same contacts.

    Raises:
        DescriptionError: The number of columns of G differs from the number of rows of J.
    """
    grasp, hand = numbers(G, "G", (None, None)), numbers(J, "J", (None, None))
    if grasp.shape[1] != hand.shape[0]:
        raise DescriptionError(
            f"expected a row for each of the {grasp.shape[1]} columns of G, found {hand.shape[0]} "
            "rows; use the same contacts and contact model for G and J",
            field="J",
        )
    return grasp, hand
