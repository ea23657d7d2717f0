"""Certified bounds of ε for round friction cones, and force closure from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.mechanics.quality.checks import known, number
from softgrasp.mechanics.quality.cones import friction_cones
from softgrasp.mechanics.quality.hull import FLAT
from softgrasp.mechanics.quality.reach import shortest_reach
from softgrasp.mechanics.quality.shortcomings import shortcoming
from softgrasp.mechanics.quality.support import NORMS, of_cones

CLOSURE_TOLERANCE = 1e-7
"""ε of force closure is above this share of the largest unit wrench."""


class EpsilonBounds(NamedTuple):
    """Two numbers that ε lies between."""

    lower: float
    upper: float


@dataclass(frozen=True)
class ForceClosure:
    """Whether a grasp has force closure."""

    closed: bool
    reason: str
    """Why not; empty where it has."""


def epsilon_bounds(
    points: ArrayLike,
    normals: ArrayLike,
    mu: ArrayLike,
    *,
    norm: str = "L1",
    tolerance: float = 1e-3,
    torque_scale: float = 1.0,
    center: ArrayLike = (0.0, 0.0, 0.0),
    torsion: ArrayLike = 0.0,
) -> EpsilonBounds:
    """Lower and upper bound of ε for the round cones, not pyramids.

    A hull of wrenches inside the cones has a ball that is certainly not too large; the reach of
    the cones in a direction, h(u) = max (a·u + |b·u|) for L1 and the sum of the positive ones for
    L∞, is certainly not too small. The hull is refined where it is nearest to zero until both
    meet. Forces have unit normal component; other arguments as ``wrench_space``.

    Args:
        points: Contacts [m], (n, 3) or (n, 2).
        normals: Unit normals into the object.
        mu: Coefficient of friction.
        norm: ``"L1"`` or ``"Linf"``.
        tolerance: Difference of the bounds that will do, as a share of ε (at least 1e-9); ε below
            it as a share of the largest wrench is not resolved further, and the lower bound is 0.
        torque_scale: Length that moments are divided by [m].
        center: Point that moments are taken about [m].
        torsion: Of soft fingers [m].

    Returns:
        (lower, upper), both 0 without force closure.

    Raises:
        DescriptionError: As ``wrench_space``; a tolerance that is not positive.
    """
    known(norm, NORMS, "norm")
    relative_tolerance = max(number(tolerance, "tolerance", 0.0, above=True), FLAT)
    cones = friction_cones(
        points, normals, mu, torsion=torsion, torque_scale=torque_scale, center=center
    )
    near = shortest_reach(of_cones(cones, norm), cones.dimension, cones.size, relative_tolerance)
    return EpsilonBounds(float(max(near.lower, 0.0)), float(max(near.upper, 0.0)))


def force_closure(
    points: ArrayLike,
    normals: ArrayLike,
    mu: ArrayLike,
    *,
    center: ArrayLike = (0.0, 0.0, 0.0),
    torque_scale: float = 1.0,
    torsion: ArrayLike = 0.0,
) -> ForceClosure:
    """Whether forces within the round friction cones make any wrench, and why not.

    True where zero is strictly inside the hull of the cones' unit wrenches. That does not depend on
    ``center`` and ``torque_scale``, which only the reason is told in; it is found about the middle
    of the contacts, moments over their spread, where rounding does least. With mu = 0 this is form
    closure of first order. Arguments and errors as ``wrench_space``.
    """
    linear_cones = friction_cones(
        points, normals, mu, torsion=torsion, torque_scale=torque_scale, center=center
    )
    position_array = np.asarray(points, dtype=float)
    middle = position_array.mean(axis=0)
    spread = float(np.linalg.norm(position_array - middle, axis=1).max())
    cones = friction_cones(
        points, normals, mu, torsion=torsion, torque_scale=spread or 1.0, center=middle
    )
    support = of_cones(cones, "L1")
    threshold = CLOSURE_TOLERANCE * cones.size
    near = shortest_reach(support, cones.dimension, cones.size, 1e-4, enough=threshold)
    if near.lower > threshold:
        return ForceClosure(True, "")
    nearest_facet = shortest_reach(
        of_cones(linear_cones, "L1"), linear_cones.dimension, linear_cones.size, 1e-4
    )
    return ForceClosure(False, shortcoming(linear_cones, nearest_facet))


def is_force_closure(
    points: ArrayLike,
    normals: ArrayLike,
    mu: ArrayLike,
    *,
    center: ArrayLike = (0.0, 0.0, 0.0),
    torque_scale: float = 1.0,
    torsion: ArrayLike = 0.0,
) -> bool:
    """``force_closure`` as True or False."""
    return force_closure(
        points, normals, mu, center=center, torque_scale=torque_scale, torsion=torsion
    ).closed
