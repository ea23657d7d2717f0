"""Stiffness of a grasp and its quasi-static response: contacts, joints and synergies in series.

Compliances of contacts Kc⁻¹, joints J Kq⁻¹ Jᵀ and actuators J S Kz⁻¹ Sᵀ Jᵀ add up to what a contact
force acts on; the grasp stiffness is G (…)⁻¹ Gᵀ (Cutkosky and Kao, Computing and controlling the
compliance of a robotic hand, IEEE Trans. Robotics and Automation 5(2), 1989). Forces that the grasp
bears already, and with them the change of G and J, are left out. Every stiffness is one number, a
diagonal or a symmetric positive definite matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.quality.inputs import numbers
from softgrasp.quality.matrix_measures import RANK_TOLERANCE, pair


@dataclass(frozen=True)
class QuasistaticMaps:
    """Changes per unit displacement of a reference and per unit external wrench.

    References are those of the synergies where there is an S, else those of the joints. Each field
    is a pair of matrices (per reference, per wrench).
    """

    motion: tuple[Array, Array]
    """Displacement and rotation of the object, (6, z) and (6, 6) [m, rad]."""
    forces: tuple[Array, Array]
    """Contact forces on the object, (c, z) and (c, 6) [N]."""
    joints: tuple[Array, Array]
    """Displacements of the joints, (m, z) and (m, 6) [rad or m]."""
    torques: tuple[Array, Array]
    """Joint torques Jᵀλ, (m, z) and (m, 6) [N·m or N]."""
    synergies: tuple[Array, Array]
    """Displacements of the synergies, or of the joints' references, (z, z) and (z, 6)."""


@dataclass(frozen=True)
class Response:
    """Change of a grasp under a load or motion; units as in ``QuasistaticMaps``."""

    motion: Array
    forces: Array
    joints: Array
    torques: Array
    synergies: Array


def contact_compliance(
    contact: ArrayLike,
    count: int,
    J: ArrayLike | None = None,
    joint: ArrayLike | None = None,
    synergies: ArrayLike | None = None,
    synergy: ArrayLike | None = None,
) -> Array:
    """Compute the compliance at the contacts, Kc⁻¹ + J Kq⁻¹ Jᵀ + J S Kz⁻¹ Sᵀ Jᵀ, (c, c).

    Args:
        contact: Contact stiffness Kc, one number, (c,) or (c, c) [N/m, for spins N·m/rad].
        count: c, number of components of the contact forces.
        J: Hand Jacobian, (c, m).
        joint: Joint stiffness Kq, one number, (m,) or (m, m) [N·m/rad or N/m]; None for rigid
            joints.
        synergies: Synergy matrix S, joint motions per actuator, (m, z).
        synergy: Actuator stiffness Kz, one number, (z,) or (z, z); None for rigid actuators.

    Raises:
        DescriptionError: Wrong shapes, a stiffness that is not symmetric and positive definite,
            joint stiffness without J, or actuator stiffness without S.
    """
    whole = _inverse(contact, count, "contact")
    if joint is not None:
        hand = numbers(_require(J, "J", "joint"), "J", (count, None))
        whole = whole + hand @ _inverse(joint, hand.shape[1], "joint") @ hand.T
    if synergy is not None:
        hand = numbers(_require(J, "J", "synergy"), "J", (count, None))
        synergy_matrix = _require(synergies, "synergies", "synergy")
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
    """Compute K = G (Kc⁻¹ + J Kq⁻¹ Jᵀ + J S Kz⁻¹ Sᵀ Jᵀ)⁻¹ Gᵀ, (6, 6), or (3, 3) in the plane.

    K maps displacements of the object to wrenches (Cutkosky and Kao 1989; with synergies
    Prattichizzo and others 2013, as SynGrasp).

    Args:
        G: Grasp matrix, (6 or 3, c).
        contact: Contact stiffness Kc, as for ``contact_compliance``.
        J: Hand Jacobian, (c, m).
        joint: Joint stiffness Kq; None for rigid joints.
        synergies: Synergy matrix S, (m, z).
        synergy: Actuator stiffness Kz; None for rigid actuators.
    """
    grasp = numbers(G, "G", (None, None))
    if J is not None:
        pair(G, J)
    compliance = contact_compliance(contact, grasp.shape[1], J, joint, synergies, synergy)
    stiffness = grasp @ np.linalg.solve(compliance, grasp.T)
    return np.asarray((stiffness + stiffness.T) / 2.0)


def quasistatic_maps(
    G: ArrayLike,
    J: ArrayLike,
    contact: ArrayLike,
    joint: ArrayLike | None = None,
    synergies: ArrayLike | None = None,
    synergy: ArrayLike | None = None,
) -> QuasistaticMaps:
    """Compute linear maps from references and external wrenches to motion, forces and torques.

    Solves λ = Kc (J q − Gᵀ u), G λ + w = 0, Jᵀ λ = Kq (q_ref − q), q_ref = S z and Sᵀ Jᵀ λ = Kz
    (z_ref − z) for small changes (Prattichizzo, Malvezzi and Bicchi, On motion and force
    controllability of grasping hands with postural synergies, RSS 2010; the maps V, P, Q, T, Y of
    SynGrasp).

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).
        contact: Contact stiffness Kc, as for ``contact_compliance``.
        joint: Joint stiffness Kq; None for rigid joints.
        synergies: Synergy matrix S, (m, z); None where every joint has its reference.
        synergy: Actuator stiffness Kz; None for rigid actuators.

    Raises:
        DescriptionError: Wrong shapes or stiffnesses, or the contacts do not resist some motion of
            the object.
    """
    grasp, hand = pair(G, J)
    count, joints = hand.shape
    synergy_matrix = (
        np.eye(joints) if synergies is None else numbers(synergies, "synergies", (joints, None))
    )
    compliance = contact_compliance(contact, count, hand, joint, synergy_matrix, synergy)
    moved = np.asarray(np.linalg.solve(compliance, hand @ synergy_matrix))
    lifted = np.asarray(np.linalg.solve(compliance, grasp.T))
    motion = _motion(grasp, lifted, moved)
    forces = (moved - lifted @ motion[0], -lifted @ motion[1])
    torques = (hand.T @ forces[0], hand.T @ forces[1])
    actual = (np.eye(synergy_matrix.shape[1]), np.zeros((synergy_matrix.shape[1], len(grasp))))
    if synergy is not None:
        soft = _inverse(synergy, synergy_matrix.shape[1], "synergy") @ synergy_matrix.T
        actual = (actual[0] - soft @ torques[0], actual[1] - soft @ torques[1])
    angles = (synergy_matrix @ actual[0], synergy_matrix @ actual[1])
    if joint is not None:
        soft = _inverse(joint, joints, "joint")
        angles = (angles[0] - soft @ torques[0], angles[1] - soft @ torques[1])
    return QuasistaticMaps(motion, forces, angles, torques, actual)


def quasistatic(
    G: ArrayLike,
    J: ArrayLike,
    contact: ArrayLike,
    joint: ArrayLike | None = None,
    synergies: ArrayLike | None = None,
    synergy: ArrayLike | None = None,
    *,
    wrench: ArrayLike | None = None,
    reference: ArrayLike | None = None,
) -> Response:
    """Compute the change of a grasp by an external wrench, displaced references, or both.

    Args:
        G: Grasp matrix, (6 or 3, c).
        J: Hand Jacobian, (c, m).
        contact: Contact stiffness Kc, as for ``contact_compliance``.
        joint: Joint stiffness Kq; None for rigid joints.
        synergies: Synergy matrix S, (m, z); None where every joint has its reference.
        synergy: Actuator stiffness Kz; None for rigid actuators.
        wrench: External force and moment on the object, (6 or 3,) [N, N·m].
        reference: Displacements of the references of synergies, or of joints, (z,).
    """
    maps = quasistatic_maps(G, J, contact, joint, synergies, synergy)
    moves, loads = maps.synergies[0].shape[1], maps.synergies[1].shape[1]
    z = np.zeros(moves) if reference is None else numbers(reference, "reference", (moves,))
    w = np.zeros(loads) if wrench is None else numbers(wrench, "wrench", (loads,))
    pairs = (maps.motion, maps.forces, maps.joints, maps.torques, maps.synergies)
    return Response(*(by_move @ z + by_load @ w for by_move, by_load in pairs))


def _motion(grasp: Array, lifted: Array, moved: Array) -> tuple[Array, Array]:
    """Compute the motion of the object per reference and per wrench."""
    stiffness = grasp @ lifted
    values = np.linalg.eigvalsh((stiffness + stiffness.T) / 2.0)
    if values[0] <= RANK_TOLERANCE * values[-1]:
        raise DescriptionError(
            "expected contacts that resist each motion of the object; found a grasp matrix of "
            f"rank {int((values > RANK_TOLERANCE * values[-1]).sum())} of {len(values)}",
            field="G",
        )
    compliance = np.asarray(np.linalg.inv(stiffness))
    return compliance @ (grasp @ moved), compliance


def stiffness_matrix(values: ArrayLike, size: int, field: str) -> Array:
    """Convert one number, a diagonal or a matrix to a symmetric positive definite matrix.

    Raises:
        DescriptionError: Wrong shape, not symmetric, or not positive definite.
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
    """Compute the compliance, the inverse of a stiffness."""
    return np.asarray(np.linalg.inv(stiffness_matrix(values, size, field)))


def _require(value: ArrayLike | None, name: str, stiffness: str) -> ArrayLike:
    """Check that the matrix that a stiffness refers to was passed."""
    if value is None:
        raise DescriptionError(
            f"expected {name} with a stiffness {stiffness!r}, found none", field=name
        )
    return value
