"""Stiffness of a grasp: contacts, joints and synergies in series."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.quality.checks import numbers
from softgrasp.mechanics.quality.graspability import paired
from softgrasp.mechanics.transforms import Array


def contact_compliance(
    contact: ArrayLike,
    count: int,
    J: ArrayLike | None = None,
    joint: ArrayLike | None = None,
    synergies: ArrayLike | None = None,
    synergy: ArrayLike | None = None,
) -> Array:
    """Compliance that contacts feel, (c, c): Kc⁻¹ + J Kq⁻¹ Jᵀ + J S Kz⁻¹ Sᵀ Jᵀ.

    Args:
        contact: Kc [N/m, for spins N·m/rad]: one number, (c,) or (c, c).
        count: c, the number of contact forces.
        J: Hand Jacobian, (c, m).
        joint: Kq [N·m/rad or N/m]: one number, (m,) or (m, m); None for rigid joints.
        synergies: S, (m, z).
        synergy: Kz: one number, (z,) or (z, z); None for rigid actuators.

    Raises:
        DescriptionError: Wrong shapes, a stiffness that is not symmetric and positive, a
            stiffness of joints without J or of synergies without S.
    """
    whole = _inverse(contact, count, "contact")
    if joint is not None:
        hand = numbers(_needed(J, "J", "joint"), "J", (count, None))
        whole = whole + hand @ _inverse(joint, hand.shape[1], "joint") @ hand.T
    if synergy is not None:
        hand = numbers(_needed(J, "J", "synergy"), "J", (count, None))
        synergy_matrix = _needed(synergies, "synergies", "synergy")
        moved = hand @ numbers(synergy_matrix, "synergies", (hand.shape[1], None))
        whole = whole + moved @ _inverse(synergy, moved.shape[1], "synergy") @ moved.T
    return whole


def grasp_stiffness(
    G: ArrayLike,
    contact: ArrayLike,
    J: ArrayLike | None = None,
    joint: ArrayLike | None = None,
    synergies: ArrayLike | None = None,
    synergy: ArrayLike | None = None,
) -> Array:
    """K = G (Kc⁻¹ + J Kq⁻¹ Jᵀ + J S Kz⁻¹ Sᵀ Jᵀ)⁻¹ Gᵀ: wrench per object displacement, (6, 6).

    Loads that the grasp bears already, and with them the change of G and J, are left out (Cutkosky
    and Kao, Computing and controlling the compliance of a robotic hand, IEEE Trans. Robotics and
    Automation 5(2), 1989; with synergies Prattichizzo and others 2013, as SynGrasp).

    Args:
        G: Grasp matrix, (6 or 3, c).
        contact: As ``contact_compliance``, and all that follow.
        J: Hand Jacobian, (c, m).
        joint: Kq; None for rigid joints.
        synergies: S, (m, z).
        synergy: Kz; None for rigid actuators.
    """
    grasp = numbers(G, "G", (None, None))
    if J is not None:
        paired(G, J)
    compliance = contact_compliance(contact, grasp.shape[1], J, joint, synergies, synergy)
    stiffness = grasp @ np.linalg.solve(compliance, grasp.T)
    return np.asarray((stiffness + stiffness.T) / 2.0)


def stiffness_matrix(values: ArrayLike, size: int, field: str) -> Array:
    """One number, a diagonal or a matrix as a symmetric positive definite matrix (size, size).

    Raises:
        DescriptionError: It is none.
    """
    value_array = numbers(values, field)
    if value_array.ndim == 0:
        matrix = float(value_array) * np.eye(size)
    elif value_array.ndim == 1:
        matrix = np.diag(numbers(value_array, field, (size,)))
    else:
        matrix = numbers(value_array, field, (size, size))
    uneven = np.abs(matrix - matrix.T).max(initial=0.0)
    lowest = float(np.linalg.eigvalsh(matrix).min(initial=np.inf))
    if uneven > 1e-9 * np.abs(matrix).max(initial=0.0) or lowest <= 0.0:
        raise DescriptionError(
            f"expected a symmetric and positive definite stiffness, found {uneven:g} between "
            f"halves and the lowest eigenvalue {lowest:g}",
            field=field,
        )
    return matrix


def _inverse(values: ArrayLike, size: int, field: str) -> Array:
    return np.asarray(np.linalg.inv(stiffness_matrix(values, size, field)))


def _needed(value: ArrayLike | None, name: str, stiffness: str) -> ArrayLike:
    if value is None:
        raise DescriptionError(
            f"expected {name} with a stiffness {stiffness!r}, found none", field=name
        )
    return value
