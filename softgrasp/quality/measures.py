"""Quality measures from the singular values of grasp matrix and hand-object Jacobian.

Names and definitions after Roa and Suárez, Grasp quality measures: review and performance,
Autonomous Robots 38, 2015. All depend on the units of length unless moments are divided by a
``torque_scale``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.mechanics.transforms import Array
from softgrasp.quality.contact_models import known, numbers
from softgrasp.quality.null_spaces import RANK_TOLERANCE, paired


def min_singular_value(G: ArrayLike) -> float:
    """σmin(G), of 6 (planar 3) singular values: least wrench of contact forces of length 1.

    0 where the grasp matrix has not full row rank. Larger is better (Li and Sastry 1988; the
    minimum singular value of SynGrasp).

    Args:
        G: Grasp matrix, (6 or 3, c).
    """
    return float(_values(G)[-1])


def ellipsoid_volume(G: ArrayLike) -> float:
    """√det(G Gᵀ) = Π σᵢ: volume of the ellipsoid of wrenches, over that of a unit ball.

    All contact forces count alike, |λ| ≤ 1; larger is better (Li and Sastry 1988).

    Args:
        G: Grasp matrix, (6 or 3, c).
    """
    return float(np.prod(_values(G)))


def isotropy(G: ArrayLike) -> float:
    """σmin(G)/σmax(G), 0…1: grasp isotropy index; 1 where all wrenches come as easily.

    Kim, Oh, Yi and Suh 2001; SGgraspIsotropyIndex of SynGrasp.

    Args:
        G: Grasp matrix, (6 or 3, c).
    """
    values = _values(G)
    return float(values[-1] / values[0]) if values[0] > 0.0 else 0.0


def distance_to_singularity(G: ArrayLike, J: ArrayLike) -> float:
    """σmin of the hand-object Jacobian H = (G⁺)ᵀ J, of min(6, m) singular values.

    How far a posture is from losing a motion of the object; larger is better (Shimoga 1996;
    SGdistSingularConfiguration of SynGrasp).

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).
    """
    return float(_jacobian_values(G, J)[-1])


def manipulability_volume(G: ArrayLike, J: ArrayLike) -> float:
    """√det(H Hᵀ) of H = (G⁺)ᵀ J: volume of the object's manipulability ellipsoid.

    Over that of a unit ball; 0 where the joints cannot move the object every way, so with fewer
    than 6 (planar 3) joints; larger is better (Yoshikawa 1985; SGmanipEllipsoidVolume of SynGrasp).

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).
    """
    jacobian = hand_object_jacobian(G, J)
    return float(np.prod(_values(jacobian)))


def uniformity_of_transformation(G: ArrayLike, J: ArrayLike) -> float:
    """σmax/σmin of H = (G⁺)ᵀ J, the condition number, 1…inf; 1 is the best, smaller is better.

    In spite of its name it grows as the transformation gets less uniform. SGunifTransf of SynGrasp
    is this max/min, too (Salisbury and Craig 1982).

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).
    """
    values = _jacobian_values(G, J)
    return float(values[0] / values[-1]) if values[-1] > 0.0 else float("inf")


def _jacobian_values(G: ArrayLike, J: ArrayLike) -> Array:
    values = np.linalg.svd(hand_object_jacobian(G, J), compute_uv=False)
    return _without_rounding(np.asarray(values))


def _values(matrix: ArrayLike) -> Array:
    """As many singular values as there are rows."""
    matrix_array = numbers(matrix, "G", (None, None))
    values = np.zeros(len(matrix_array))
    singular = np.linalg.svd(matrix_array, compute_uv=False)
    values[: len(singular)] = singular
    return _without_rounding(values)


def _without_rounding(values: Array) -> Array:
    return np.where(values > RANK_TOLERANCE * values.max(initial=0.0), values, 0.0)


# --------------------
# Manipulability: ellipsoids of velocity and force.


KINDS = ("velocity", "force")


@dataclass(frozen=True)
class Manipulability:
    """An ellipsoid of what joints of unit length (|q̇| = 1, or |τ| = 1) can do."""

    axes: Array
    """Unit directions as columns, in the order of ``lengths``; (r, min(r, m))."""
    lengths: Array
    """Semi-axes, from the longest to the shortest; inf where a force needs no torque."""

    @property
    def measure(self) -> float:
        """√det(J Jᵀ), the product of the semi-axes (Yoshikawa 1985); volume over a unit ball's."""
        return float(np.prod(self.lengths))

    @property
    def isotropy(self) -> float:
        """Shortest over longest semi-axis, 0…1."""
        longest, shortest = self.lengths[0], self.lengths[-1]
        return float(shortest / longest) if np.isfinite(longest) and longest > 0.0 else 0.0


def manipulability(J: ArrayLike, kind: str = "velocity") -> Manipulability:
    """The ellipsoid of velocities J q̇ for |q̇| = 1, or of forces f with |Jᵀ f| = 1.

    The force ellipsoid has the same axes and the reciprocal lengths: where motion is fast, force
    is weak (Yoshikawa, Manipulability of robotic mechanisms, Int. J. Robotics Research 4(2), 1985).

    Args:
        J: Any Jacobian, (r, m); for an object in a hand that of ``hand_object_jacobian``.
        kind: ``"velocity"`` or ``"force"``.

    Raises:
        DescriptionError: Unknown kind, or numbers that are not finite.
    """
    known(kind, KINDS, "kind")
    left, values, _ = np.linalg.svd(numbers(J, "J", (None, None)), full_matrices=False)
    floor = RANK_TOLERANCE * values[0] if len(values) else 0.0
    values = np.where(values > floor, values, 0.0)
    if len(values) < len(left):  # fewer joints than directions: some are out of reach
        left, values = np.linalg.svd(left)[0], np.append(values, np.zeros(len(left) - len(values)))
    if kind == "velocity":
        return Manipulability(left, values)
    with np.errstate(divide="ignore"):
        return Manipulability(left[:, ::-1], 1.0 / values[::-1])


def hand_object_jacobian(G: ArrayLike, J: ArrayLike) -> Array:
    """H = (G⁺)ᵀ J: twist of the object from joint speeds, (6 or 3, m).

    The least-squares solution of Gᵀ ẋ = J q̇, exact where the contacts can all be kept (as
    SynGrasp's HO; Shimoga, Robot grasp synthesis algorithms: a survey, 1996).

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).
    """
    grasp, hand = paired(G, J)
    return np.asarray(np.linalg.pinv(grasp, rcond=RANK_TOLERANCE).T @ hand)
