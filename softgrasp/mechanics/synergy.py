"""Postures in terms of synergies: weights by least squares, and how much they explain."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.synergy import Synergies
from softgrasp.mechanics.transforms import Array


def synergy_matrix(synergies: Synergies) -> Array:
    """S, (n_joints, n_synergies) [rad or m, for a weight of 1]."""
    return np.array(synergies.matrix)


def synergy_weights(
    synergies: Synergies, posture: Mapping[str, float] | ArrayLike, count: int | None = None
) -> Array:
    """Weights z whose posture q_m + S z is the nearest one, by least squares.

    The columns of S need not be orthonormal: z is pinv(S) (q − q_m), not Sᵀ (q − q_m).

    Args:
        synergies: The synergies.
        posture: Joint variables by name, or in the order of ``synergies.joints``, (n_joints,) or
            several ones (T, n_joints) [rad or m].
        count: How many synergies to use, from the first one; all where it is not given.

    Returns:
        Shape (count,) or (T, count).

    Raises:
        KeyError: A joint of the synergies is not in the posture.
        ValueError: There are not as many numbers as joints, or as many synergies.
    """
    if isinstance(posture, Mapping):
        posture = [posture[joint] for joint in synergies.joints]
    away = np.asarray(posture, dtype=float) - synergies.mean
    matrix = synergy_matrix(synergies)[:, : _checked(synergies, count)]
    return np.asarray(away @ np.linalg.pinv(matrix).T)


def variance_explained(synergies: Synergies, postures: ArrayLike) -> Array:
    """Share of the variance of postures about the mean posture that 1, 2, … synergies explain.

    1 − Σ|q − q_m − S_k z_k|² / Σ|q − q_m|², with S_k the first k columns of S and z_k by least
    squares, so that columns that are not orthogonal are not counted twice.

    Args:
        synergies: The synergies.
        postures: (T, n_joints) in the order of ``synergies.joints`` [rad or m].

    Returns:
        Shape (n_synergies,), growing.
    """
    away = np.atleast_2d(np.asarray(postures, dtype=float)) - synergies.mean
    matrix, whole = synergy_matrix(synergies), float((away**2).sum())
    if whole == 0.0:
        return np.ones(synergies.count)
    fractions = []
    for count in range(1, synergies.count + 1):
        first = matrix[:, :count]
        left = away - away @ np.linalg.pinv(first).T @ first.T
        fractions.append(1.0 - float((left**2).sum()) / whole)
    return np.array(fractions)


def soft_synergy_compliance(
    joint_stiffness: ArrayLike, matrix: ArrayLike, synergy_stiffness: ArrayLike
) -> Array:
    """Compliance of joints that soft synergies hold, C = Kq⁻¹ + S Kz⁻¹ Sᵀ [rad/(N·m)].

    Prattichizzo, Malvezzi, Gabiccini & Bicchi 2013 (IEEE T-RO 29, 1440), with S for their Jacobian
    of the synergies.

    Args:
        joint_stiffness: Of the joints' servos, (n_joints,) [N·m/rad].
        matrix: S, (n_joints, n_synergies).
        synergy_stiffness: Kz, (n_synergies,) [N·m].
    """
    columns = np.atleast_2d(np.asarray(matrix, dtype=float))
    kz = np.broadcast_to(np.asarray(synergy_stiffness, dtype=float), columns.shape[1:])
    springs = np.diag(1.0 / np.asarray(joint_stiffness, dtype=float))
    return np.asarray(springs + columns / kz @ columns.T)


def _checked(synergies: Synergies, count: int | None) -> int:
    if count is None:
        return synergies.count
    if not 1 <= count <= synergies.count:
        raise ValueError(f"expected 1 to {synergies.count} synergies, found {count}")
    return count
