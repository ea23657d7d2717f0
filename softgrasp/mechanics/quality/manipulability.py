"""Manipulability: ellipsoids of velocity and force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.mechanics.quality.checks import known, numbers
from softgrasp.mechanics.quality.graspability import RANK_TOLERANCE, paired
from softgrasp.mechanics.transforms import Array

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
