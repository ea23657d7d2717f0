"""How far contact forces are from the limits of contacts, as one smooth cost.

The cost of Gabiccini, Bicchi, Prattichizzo and Malvezzi (On the role of hand synergies in the
optimal choice of grasping forces, Autonomous Robots 31, 2011): each contact has three limits
σ < 0: fmin − fn, |f| − fmax and |f|/√(1 + µ²) − fn. A limit costs 1/(2σ²) as long as σ < −k, and
beyond that the parabola that goes on from there twice differentiably. The cost of a grasp is the
sum over limits, divided by the number of contacts. It is convex in the forces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softgrasp.mechanics.transforms import Array

STEPS = (10.0, 1.0, 0.1, 0.01)
"""Softer barriers that are solved before the asked one, each from the forces of the last."""
MAX_STEPS = 60


@dataclass(frozen=True)
class Limits:
    """What contact forces have to keep to."""

    mu: float
    min_force: float
    """Smallest normal force [N]."""
    max_force: float
    """Largest force [N]."""
    smoothing: float
    """k of the barrier [N]."""


def best_forces(
    particular: Array, basis: Array, counted: Array, limits: Limits
) -> tuple[Array, float, float]:
    """Forces particular + basis·y of least cost, that cost, and their worst σ.

    Args:
        particular: Forces (normal, t1, t2) that balance the load, (3n,).
        basis: Internal forces that the hand can choose, (3n, i).
        counted: Which limits hold at which contact, (n, 3); none for a contact that is no more.
        limits: Of the contacts.
    """
    chosen = np.zeros(basis.shape[1])
    softer = [step for step in STEPS if step > limits.smoothing]
    for smoothing in [*softer, limits.smoothing]:
        chosen = _newton(_Cost(particular, basis, counted, limits, smoothing), chosen)
    forces = particular + basis @ chosen
    sigmas = _sigmas(forces.reshape(-1, 3), limits)[0]
    cost = _Cost(particular, basis, counted, limits, limits.smoothing).at(chosen)[0]
    return forces, cost, float(sigmas[counted].max())


def _newton(cost: _Cost, chosen: Array) -> Array:
    value, slope, curvature = cost.at(chosen)
    for _ in range(MAX_STEPS if len(chosen) else 0):
        ridge = 1e-12 * max(float(np.trace(curvature)), np.finfo(float).tiny)
        step = -np.linalg.solve(curvature + ridge * np.eye(len(chosen)), slope)
        gain, length = float(-slope @ step), 1.0
        if gain <= 1e-14 * value:
            break
        tried = cost.at(chosen + step)
        while tried[0] > value - 1e-4 * length * gain and length > 1e-10:
            length /= 2.0
            tried = cost.at(chosen + length * step)
        if tried[0] >= value:
            break
        chosen, (value, slope, curvature) = chosen + length * step, tried
    return chosen


@dataclass(frozen=True)
class _Cost:
    particular: Array
    basis: Array
    counted: Array
    limits: Limits
    smoothing: float

    def at(self, chosen: Array) -> tuple[float, Array, Array]:
        """Cost, its gradient and Hessian in the chosen internal forces."""
        forces = (self.particular + self.basis @ chosen).reshape(-1, 3)
        sigmas, gradients, bends = _sigmas(forces, self.limits)
        value, first, second = (part * self.counted for part in _barrier(sigmas, self.smoothing))
        count = int(self.counted.any(axis=1).sum())
        slope = np.einsum("ns,nsi->ni", first, gradients)
        curvature = np.einsum("ns,nsi,nsj->nij", second, gradients, gradients)
        curvature += np.einsum("ns,nsij->nij", first, bends)
        blocks = self.basis.reshape(len(forces), 3, -1)
        whole = np.einsum("nia,nij,njb->ab", blocks, curvature, blocks, optimize=True)
        return float(value.sum()) / count, self.basis.T @ slope.ravel() / count, whole / count


def _sigmas(forces: Array, limits: Limits) -> tuple[Array, Array, Array]:
    """The limits σ of each contact, (n, 3), with their gradients and Hessians in its force."""
    lengths = np.sqrt((forces**2).sum(axis=1)) + 1e-12
    along = forces / lengths[:, None]
    bend = (np.eye(3) - along[:, :, None] * along[:, None, :]) / lengths[:, None, None]
    cosine, normal = 1.0 / np.sqrt(1.0 + limits.mu**2), forces[:, 0]
    sigmas = np.stack(
        [limits.min_force - normal, lengths - limits.max_force, cosine * lengths - normal], axis=1
    )
    inward = np.broadcast_to([1.0, 0.0, 0.0], forces.shape)
    gradients = np.stack([-inward, along, cosine * along - inward], axis=1)
    return sigmas, gradients, np.stack([0.0 * bend, bend, cosine * bend], axis=1)


def _barrier(sigma: Array, k: float) -> tuple[Array, Array, Array]:
    """Cost of a limit, and its first and second derivative."""
    inside = sigma < -k
    safe = np.where(inside, sigma, -k)
    # the parabola that has value, slope and curvature of 1/(2σ²) at −k
    a, b, c = 1.5 / k**4, 4.0 / k**3, 3.0 / k**2
    return (
        np.where(inside, 0.5 / safe**2, (a * sigma + b) * sigma + c),
        np.where(inside, -1.0 / safe**3, 2.0 * a * sigma + b),
        np.where(inside, 3.0 / safe**4, 2.0 * a),
    )
