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
MOST_STEPS = 60


@dataclass(frozen=True)
class Limits:
    """What contact forces have to keep to."""

    mu: float
    least: float
    """Smallest normal force [N]."""
    most: float
    """Largest force [N]."""
    smoothing: float
    """k of the barrier [N]."""


def best_forces(
    particular: Array, basis: Array, columns: list[slice], limits: Limits
) -> tuple[Array, float, float]:
    """Forces particular + basis·y of least cost, that cost, and their worst σ.

    Args:
        particular: Forces that balance the load, (c,).
        basis: Internal forces that the hand can choose, (c, i).
        columns: Where each contact's force stands: (normal, t1, t2), or its normal part only.
        limits: Of the contacts.
    """
    chosen = np.zeros(basis.shape[1])
    softer = [step for step in STEPS if step > limits.smoothing]
    for smoothing in [*softer, limits.smoothing]:
        chosen = _newton(particular, basis, columns, limits, smoothing, chosen)
    forces = particular + basis @ chosen
    cost, _, _, worst = _cost(forces, columns, limits, limits.smoothing)
    return forces, cost, worst


def _newton(
    particular: Array,
    basis: Array,
    columns: list[slice],
    limits: Limits,
    smoothing: float,
    chosen: Array,
) -> Array:
    cost, slope, curvature, _ = _cost(particular + basis @ chosen, columns, limits, smoothing)
    for _ in range(MOST_STEPS):
        slope, curvature = basis.T @ slope, basis.T @ curvature @ basis
        ridge = 1e-12 * max(float(np.trace(curvature)), np.finfo(float).tiny)
        step = -np.linalg.lstsq(curvature + ridge * np.eye(len(chosen)), slope, rcond=None)[0]
        gain = float(-slope @ step)
        if gain <= 1e-14 * cost:
            break
        length = 1.0
        while length > 1e-10:
            tried = _cost(particular + basis @ (chosen + length * step), columns, limits, smoothing)
            if tried[0] <= cost - 1e-4 * length * gain:
                break
            length /= 2.0
        else:
            break
        chosen = chosen + length * step
        cost, slope, curvature, _ = tried
    return chosen


def _cost(
    forces: Array, columns: list[slice], limits: Limits, smoothing: float
) -> tuple[float, Array, Array, float]:
    """Cost, its gradient and Hessian in the forces, and the largest σ."""
    total, worst = 0.0, -np.inf
    slope, curvature = np.zeros(len(forces)), np.zeros((len(forces), len(forces)))
    cosine = 1.0 / np.sqrt(1.0 + limits.mu**2)
    for part in columns:
        force = forces[part]
        length = float(np.sqrt(force @ force)) + 1e-12
        along, normal = force / length, np.eye(len(force))[0]
        bend = (np.eye(len(force)) - np.outer(along, along)) / length
        kept = [(limits.least - force[0], -normal, 0.0), (length - limits.most, along, 1.0)]
        if len(force) > 1:
            kept.append((cosine * length - force[0], cosine * along - normal, cosine))
        for sigma, gradient, bent in kept:
            value, first, second = _barrier(float(sigma), smoothing)
            total, worst = total + value, max(worst, float(sigma))
            slope[part] += first * gradient
            curvature[part, part] += second * np.outer(gradient, gradient) + first * bent * bend
    count = len(columns)
    return total / count, slope / count, curvature / count, worst


def _barrier(sigma: float, k: float) -> tuple[float, float, float]:
    if sigma < -k:
        return 0.5 / sigma**2, -1.0 / sigma**3, 3.0 / sigma**4
    # the parabola a·σ² + b·σ + c that has value, slope and curvature of 1/(2σ²) at −k
    a, b, c = 1.5 / k**4, 4.0 / k**3, 3.0 / k**2
    return a * sigma**2 + b * sigma + c, 2.0 * a * sigma + b, 2.0 * a
