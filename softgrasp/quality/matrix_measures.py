"""Null spaces and quality measures from the singular values of grasp matrices and Jacobians.

Null spaces (internal forces, graspability) after Prattichizzo and Trinkle, Grasping, Springer
Handbook of Robotics 2016, table 38.4: orthonormal columns, none for a dimension of zero.
Names and definitions after Roa and Suárez, Grasp quality measures: review and performance,
Autonomous Robots 38, 2015. G is a grasp matrix, (6, c), or (3, c) in the plane; J a hand Jacobian,
(c, m); H = (G⁺)ᵀ J the hand-object Jacobian. All measures depend on the unit of length unless
moments are divided by a ``torque_scale``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.quality.inputs import known, numbers

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


KINDS = ("velocity", "force")


@dataclass(frozen=True)
class Manipulability:
    """Ellipsoid of velocities for |q̇| = 1, or of forces for |τ| = 1."""

    axes: Array
    """Unit directions as columns, in the order of ``lengths``; (r, min(r, m))."""
    lengths: Array
    """Semi-axes in descending order; inf where a force needs no torque."""

    @property
    def measure(self) -> float:
        """√det(J Jᵀ), product of the semi-axes: volume over the unit ball's (Yoshikawa 1985)."""
        return float(np.prod(self.lengths))

    @property
    def isotropy(self) -> float:
        """Ratio of the shortest to the longest semi-axis, 0…1."""
        longest, shortest = self.lengths[0], self.lengths[-1]
        return float(shortest / longest) if np.isfinite(longest) and longest > 0.0 else 0.0


# Measures of the grasp matrix


def min_singular_value(G: ArrayLike) -> float:
    """Compute σmin(G): the smallest wrench of contact forces of unit length.

    The smallest of 6 (planar 3) singular values; 0 where G has not full row rank. Larger is better
    (Li and Sastry 1988; the minimum singular value of SynGrasp).

    Args:
        G: Grasp matrix, (6 or 3, c).
    """
    return float(_values(G)[-1])


def smallest_singular_value(
    points: ArrayLike, center: ArrayLike, present: ArrayLike | None = None
) -> Array:
    """Compute σmin of the grasp matrix of hard fingers in a form independent of units, (...) [–].

    Moments are divided by the root mean square distance of the contacts from the centre (Li and
    Sastry, Task-oriented optimal grasping, IEEE J. Robotics and Automation 4(1), 1988). It does not
    depend on the normals; 0 where the contacts do not resist some motion.

    Args:
        points: Contact points in any frame, (..., n, 3) [m].
        center: Centre of mass in the same frame, (..., 3) [m].
        present: Which points there are, (..., n); all by default.
    """
    positions, about = np.asarray(points, dtype=float), np.asarray(center, dtype=float)
    shape = positions.shape[:-1]
    counted = np.ones(shape, dtype=bool) if present is None else np.asarray(present, dtype=bool)
    arms = np.where(counted[..., None], positions - about[..., None, :], 0.0)
    count = counted.sum(axis=-1)
    length = np.sqrt(np.square(arms).sum(axis=-1).sum(axis=-1) / np.maximum(count, 1))
    resisted = (count >= 2) & (length > 0.0)
    x, y, z = np.moveaxis(arms / np.where(resisted, length, 1.0)[..., None, None], -1, 0)
    blocks = np.zeros((*shape, 6, 3))  # contact frames along the axes
    blocks[..., range(3), range(3)] = counted[..., None]
    blocks[..., 3, 1], blocks[..., 3, 2], blocks[..., 4, 0] = -z, y, z
    blocks[..., 4, 2], blocks[..., 5, 0], blocks[..., 5, 1] = -x, -y, x
    matrix = np.moveaxis(blocks, -3, -2).reshape(*shape[:-1], 6, 3 * shape[-1])
    if shape[-1] < 2:
        return np.zeros(shape[:-1])
    return np.where(resisted, np.linalg.svd(matrix, compute_uv=False)[..., -1], 0.0)


def ellipsoid_volume(G: ArrayLike) -> float:
    """Compute √det(G Gᵀ) = Π σᵢ: volume of the wrench ellipsoid over that of the unit ball.

    The ellipsoid is the image of the contact forces |λ| ≤ 1; larger is better (Li and Sastry 1988).

    Args:
        G: Grasp matrix, (6 or 3, c).
    """
    return float(np.prod(_values(G)))


def isotropy(G: ArrayLike) -> float:
    """Compute the grasp isotropy index σmin(G)/σmax(G), 0…1; larger is better.

    1 where equal contact forces make equal wrenches in all directions (Kim, Oh, Yi and Suh 2001;
    SGgraspIsotropyIndex of SynGrasp).

    Args:
        G: Grasp matrix, (6 or 3, c).
    """
    values = _values(G)
    return float(values[-1] / values[0]) if values[0] > 0.0 else 0.0


# Measures of the hand-object Jacobian


def hand_object_jacobian(G: ArrayLike, J: ArrayLike) -> Array:
    """Compute H = (G⁺)ᵀ J from joint speeds to the twist of the object, (6 or 3, m).

    The least-squares solution of Gᵀ ẋ = J q̇, exact where all contacts can be kept (as
    SynGrasp's HO; Shimoga, Robot grasp synthesis algorithms: a survey, 1996).

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).
    """
    grasp, hand = pair(G, J)
    return np.asarray(np.linalg.pinv(grasp, rcond=RANK_TOLERANCE).T @ hand)


def distance_to_singularity(G: ArrayLike, J: ArrayLike) -> float:
    """Compute σmin(H), of min(6, m) singular values of the hand-object Jacobian.

    The distance of a posture from one in which the hand cannot move the object in some direction;
    larger is better (Shimoga 1996; SGdistSingularConfiguration of SynGrasp).

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).
    """
    return float(_jacobian_values(G, J)[-1])


def manipulability_volume(G: ArrayLike, J: ArrayLike) -> float:
    """Compute √det(H Hᵀ): volume of the object's manipulability ellipsoid over the unit ball's.

    0 where the joints cannot move the object in every direction, so with fewer than 6 (planar 3)
    joints; larger is better (Yoshikawa 1985; SGmanipEllipsoidVolume of SynGrasp).

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).
    """
    jacobian = hand_object_jacobian(G, J)
    return float(np.prod(_values(jacobian)))


def uniformity_of_transformation(G: ArrayLike, J: ArrayLike) -> float:
    """Compute the condition number σmax(H)/σmin(H), 1…inf; smaller is better.

    In spite of its name it grows as the transformation gets less uniform, as SGunifTransf of
    SynGrasp does (Salisbury and Craig 1982).

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).
    """
    values = _jacobian_values(G, J)
    return float(values[0] / values[-1]) if values[-1] > 0.0 else float("inf")


# Manipulability ellipsoids


def manipulability(J: ArrayLike, kind: str = "velocity") -> Manipulability:
    """Compute the ellipsoid of velocities J q̇ for |q̇| = 1, or of forces f with |Jᵀ f| = 1.

    The force ellipsoid has the same axes and the reciprocal lengths (Yoshikawa, Manipulability of
    robotic mechanisms, Int. J. Robotics Research 4(2), 1985).

    Args:
        J: Any Jacobian, (r, m), such as that of ``hand_object_jacobian``.
        kind: ``"velocity"`` or ``"force"``.

    Raises:
        DescriptionError: Unknown kind, or numbers that are not finite.
    """
    known(kind, KINDS, "kind")
    left, values, _ = np.linalg.svd(numbers(J, "J", (None, None)), full_matrices=False)
    floor = RANK_TOLERANCE * values[0] if len(values) else 0.0
    values = np.where(values > floor, values, 0.0)
    if len(values) < len(left):  # fewer joints than directions
        left, values = np.linalg.svd(left)[0], np.append(values, np.zeros(len(left) - len(values)))
    if kind == "velocity":
        return Manipulability(left, values)
    with np.errstate(divide="ignore"):
        return Manipulability(left[:, ::-1], 1.0 / values[::-1])


# Singular values


def _values(matrix: ArrayLike) -> Array:
    """Compute singular values, padded with zeros to the number of rows."""
    matrix_array = numbers(matrix, "G", (None, None))
    values = np.zeros(len(matrix_array))
    singular = np.linalg.svd(matrix_array, compute_uv=False)
    values[: len(singular)] = singular
    return _without_rounding(values)


def _jacobian_values(G: ArrayLike, J: ArrayLike) -> Array:
    """Compute the singular values of the hand-object Jacobian."""
    values = np.linalg.svd(hand_object_jacobian(G, J), compute_uv=False)
    return _without_rounding(np.asarray(values))


def _without_rounding(values: Array) -> Array:
    """Replace singular values at rounding level by zero."""
    return np.where(values > RANK_TOLERANCE * values.max(initial=0.0), values, 0.0)
