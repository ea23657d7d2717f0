"""Support functions of wrench spaces: how far they reach in a direction, and with which wrench.

A grasp wrench space is a convex body; h(u) = max {u·w : w in it} says all about it. L1 means the
hull of the union of the contacts' unit wrenches, L∞ the Minkowski sum of the hulls of zero and each
contact's unit wrenches (Ferrari and Canny, Planning optimal grasps, ICRA 1992).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from softgrasp.mechanics.quality.cones import Cones
from softgrasp.mechanics.transforms import Array

Support = Callable[[Array], tuple[Array, Array]]
"""Directions (m, d) → reach (m,) and a wrench that reaches it, (m, d)."""
NORMS = ("L1", "Linf")


def of_pyramids(edges: Array, norm: str) -> Support:
    """Support function of friction pyramids, primitive wrenches (n, e, d)."""

    def best_of_each(directions: Array) -> tuple[Array, Array]:
        reach = np.einsum("md,ned->mne", directions, edges)
        which = reach.argmax(axis=2)
        contacts = np.arange(len(edges))
        return reach.max(axis=2), edges[contacts[None], which]

    return _joined(best_of_each, norm)


def of_cones(cones: Cones, norm: str) -> Support:
    """Support function of the round cones themselves: a·u + |b·u| for each contact."""

    def best_of_each(directions: Array) -> tuple[Array, Array]:
        along = directions @ cones.axes.T
        sideways = np.einsum("md,nad->mna", directions, cones.across)
        lengths = np.linalg.norm(sideways, axis=2)
        rim = sideways / np.where(lengths > 0.0, lengths, 1.0)[..., None]
        wrenches = cones.axes[None] + np.einsum("mna,nad->mnd", rim, cones.across)
        return along + lengths, wrenches

    return _joined(best_of_each, norm)


def _joined(best_of_each: Support, norm: str) -> Support:
    def union(directions: Array) -> tuple[Array, Array]:
        reach, wrenches = best_of_each(directions)
        which, rows = reach.argmax(axis=1), np.arange(len(reach))
        return reach[rows, which], wrenches[rows, which]

    def together(directions: Array) -> tuple[Array, Array]:
        reach, wrenches = best_of_each(directions)
        pushing = reach > 0.0
        return (reach * pushing).sum(axis=1), (wrenches * pushing[..., None]).sum(axis=1)

    return union if norm == "L1" else together
