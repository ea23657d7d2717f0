"""Which forces and motions a grasp has: the null spaces of G and J."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.quality.contact_models import numbers

RANK_TOLERANCE = 1e-9
"""Singular values below this share of the largest count as zero."""


@dataclass(frozen=True)
class Graspability:
    """Bases of the four null spaces of a grasp, orthonormal columns; none means none exist.

    Prattichizzo and Trinkle, Grasping, Springer Handbook of Robotics 2016, table 38.4.
    """

    internal: Array
    """Null space of G: contact forces without effect on the object; some make it graspable."""
    indeterminate: Array
    """Null space of Gᵀ: motions of the object that no contact sees."""
    redundant: Array
    """Null space of J: joint motions that leave the contact points where they are."""
    structural: Array
    """Null space of Jᵀ: forces that the links bear without joint torque; some make it defective."""

    @property
    def graspable(self) -> bool:
        """Internal forces exist."""
        return bool(self.internal.shape[1] > 0)

    @property
    def object_indeterminate(self) -> bool:
        """The object can move while the contact points stay."""
        return bool(self.indeterminate.shape[1] > 0)

    @property
    def hand_redundant(self) -> bool:
        """Joints can move while the contact points stay."""
        return bool(self.redundant.shape[1] > 0)

    @property
    def defective(self) -> bool:
        """Some contact forces cannot be told by, or made with, joint torques."""
        return bool(self.structural.shape[1] > 0)

    @property
    def hyperstatic(self) -> bool:
        """Some internal forces cannot be made with joint torques: null(Jᵀ) ∩ null(G) is not 0."""
        both = np.hstack([self.internal, self.structural])
        return bool(null_space(both).shape[1] > 0)


def graspability(G: ArrayLike, J: ArrayLike) -> Graspability:
    """Internal forces, redundant motions, structural forces and indeterminate object motions.

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).

    Raises:
        DescriptionError: G and J have different contacts, or numbers that are not finite.
    """
    grasp, hand = paired(G, J)
    return Graspability(
        null_space(grasp), null_space(grasp.T), null_space(hand), null_space(hand.T)
    )


def internal_forces(G: ArrayLike) -> Array:
    """E: an orthonormal basis of the contact forces that do nothing to the object, (c, i).

    The null space of G. Each column in contact frames, contact by contact; all of them can be
    made by a hand whose joints can make any contact force.

    Args:
        G: Grasp matrix, (6 or 3, c).
    """
    return null_space(numbers(G, "G", (None, None)))


def controllable_internal_forces(
    G: ArrayLike, J: ArrayLike, compliance: ArrayLike, synergies: ArrayLike | None = None
) -> Array:
    """An orthonormal basis of the internal forces that a compliant hand can make, (c, i).

    The image of (1 − G⁺ₖ G) K J [S] with G⁺ₖ = K Gᵀ (G K Gᵀ)⁻¹ and K the inverse of ``compliance``:
    what is left of squeezing once the object has come to rest (Prattichizzo, Malvezzi, Gabiccini
    and Bicchi, On motion and force controllability of precision grasps with hands actuated by soft
    synergies, IEEE Trans. Robotics 29(6), 2013).

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).
        compliance: Of contacts, joints and synergies as the contacts feel it, (c, c) [m/N].
        synergies: S, joint motions of the actuators, (m, z).
    """
    grasp, hand = paired(G, J)
    stiff = np.linalg.inv(numbers(compliance, "compliance", (len(hand), len(hand))))
    moved = (
        hand if synergies is None else hand @ numbers(synergies, "synergies", (hand.shape[1], None))
    )
    squeeze = stiff @ moved
    back = np.linalg.pinv(grasp @ stiff @ grasp.T, rcond=RANK_TOLERANCE, hermitian=True)
    left = squeeze - stiff @ grasp.T @ (back @ (grasp @ squeeze))
    internal = null_space(grasp)
    # all of it is internal but for rounding
    return internal @ range_space(internal.T @ left, float(np.linalg.norm(squeeze)))


def null_space(matrix: Array) -> Array:
    """Orthonormal columns that a matrix maps to zero; shape (columns, dimension of the space)."""
    if 0 in matrix.shape:
        return np.eye(matrix.shape[1])
    _, values, right = np.linalg.svd(matrix)
    rank = int((values > RANK_TOLERANCE * max(values[0], np.finfo(float).tiny)).sum())
    return np.asarray(right[rank:].T)


def range_space(matrix: Array, scale: float) -> Array:
    """Orthonormal columns that span what a matrix maps to.

    Args:
        matrix: (r, c).
        scale: Singular values below 1e-9 of it count as zero.
    """
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    return np.asarray(left[:, values > RANK_TOLERANCE * max(scale, np.finfo(float).tiny)])


def paired(G: ArrayLike, J: ArrayLike) -> tuple[Array, Array]:
    """G and J as arrays of the same contacts.

    Raises:
        DescriptionError: G has not as many columns as J has rows.
    """
    grasp, hand = numbers(G, "G", (None, None)), numbers(J, "J", (None, None))
    if grasp.shape[1] != hand.shape[0]:
        raise DescriptionError(
            f"expected a row for each of the {grasp.shape[1]} columns of G, found {hand.shape[0]} "
            "rows; G and J have the same contacts and the same model",
            field="J",
        )
    return grasp, hand
