"""Grasp wrench spaces: ε and volume of Ferrari and Canny, force closure, and why ε is 0.

The L1 wrench space is the convex hull of the union of the contacts' unit wrenches, the L∞ wrench
space the Minkowski sum of the hulls of zero and each contact's unit wrenches (Ferrari and Canny,
Planning optimal grasps, ICRA 1992). ``epsilon``, ``volume`` and ``wrench_space`` take friction
pyramids, ``epsilon_bounds`` and ``force_closure`` the round cones. Forces have unit normal
component unless ``edge_norm="unit"``. Hulls are in ``convex_hull.py``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.geometry import farthest_first
from softgrasp.mechanics.transforms import Array
from softgrasp.quality.contact_models import Cones, cone_edges, friction_cones
from softgrasp.quality.convex_hull import (
    FLAT,
    NORMS,
    Nearest,
    all_vertices,
    distinct,
    facets_of,
    nearest_of,
    nearest_point,
    of_cones,
    of_pyramids,
    shortest_reach,
    spanning_points,
)
from softgrasp.quality.inputs import known, number

MAX_VERTICES = 150
"""Number of vertices found one by one above which the volume of an L∞ wrench space is not
computed; see ``MAX_SUMS``."""
MAX_SUMS = 1331
"""Number of sums of primitive wrenches up to which the vertices of an L∞ wrench space are
enumerated: three spatial contacts with 8 edges and spin friction, whose hull takes 1 to 4 s."""
MAX_WRENCHES = 512
"""Number of primitive wrenches in six dimensions up to which the whole hull of an L1 wrench space
is computed; 60 contacts with 8 edges take 0.7 s, 200 contacts a minute."""
MAX_REFINED = 50_000
"""Number of facets at which the search for ε of friction pyramids ends, after 1 to 2 s."""
MAX_CONTACTS = 16
"""Maximum number of contacts that ``few_contacts`` keeps: with 8 edges the whole hull of 16 takes
some 50 ms, and the time grows with the third power."""
CLOSURE_TOLERANCE = 1e-7
"""Smallest ε of force closure, as a fraction of the largest unit wrench."""
MIN_CONTACTS = {(3, 0): 4, (3, 1): 2, (6, 0): 7, (6, 2): 3, (6, 3): 2}
"""Smallest number of contacts of force closure, by dimension and friction directions (Murray, Li
and Sastry, A Mathematical Introduction to Robotic Manipulation, ch. 5; Markenscoff and others
1990)."""
KIND = {0: "without friction", 1: "with friction", 2: "of hard fingers", 3: "of soft fingers"}


class EpsilonBounds(NamedTuple):
    """Lower and upper bound of ε."""

    lower: float
    upper: float


@dataclass(frozen=True)
class WrenchSpace:
    """Measures of a grasp wrench space."""

    epsilon: float
    """Radius of the largest ball about the origin inside it; 0 where the origin is outside. The
    lower one of ``bounds`` where they differ."""
    margin: float
    """Signed ε: where the origin is outside an L1 space, minus its distance from the space."""
    volume: float | None
    """Volume, in mixed units N and N·m/torque_scale; None where it would take too long."""
    rank: int
    """Rank of the primitive wrenches, at most 6, in the plane 3."""
    weakest: Array
    """Unit wrench along which the wrench space has its smallest reach, (6,) or (3,)."""
    reason: str
    """Explanation of ε = 0; empty where ε > 0."""
    bounds: EpsilonBounds
    """Certified bounds of ε; equal unless the contacts are too many to compute ε exactly."""

    @property
    def closed(self) -> bool:
        """Whether the friction pyramids have force closure."""
        return self.epsilon > 0.0


@dataclass(frozen=True)
class ForceClosure:
    """Whether a grasp has force closure."""

    closed: bool
    reason: str
    """Explanation; empty where the grasp has force closure."""


# Friction pyramids


class PyramidOptions(TypedDict, total=False):
    """Options of the measures of friction pyramids, and their defaults."""

    edges: int
    """Number of edges of the pyramid inscribed in each friction cone; two in the plane (8)."""
    norm: str
    """``"L1"`` for normal forces that sum to 1 N (default), ``"Linf"`` for normal forces of up to
    1 N each."""
    torque_scale: float
    """Length that moments are divided by [m]; with 1.0 (default) ε mixes N and N·m."""
    center: ArrayLike
    """Point that moments are taken about, usually the centre of mass [m] (the origin)."""
    torsion: ArrayLike
    """Maximum spin moment of soft fingers per normal force [m]; 0 for hard fingers (default)."""
    edge_norm: str
    """``"normal"`` for edges with unit normal component (default), ``"unit"`` for unit forces."""
    tangents: ArrayLike | None
    """As for ``contact_frames`` (None)."""


def _pyramids(
    points: ArrayLike,
    normals: ArrayLike,
    mu: ArrayLike,
    *,
    edges: int = 8,
    norm: str = "L1",
    torque_scale: float = 1.0,
    center: ArrayLike = (0.0, 0.0, 0.0),
    torsion: ArrayLike = 0.0,
    edge_norm: str = "normal",
    tangents: ArrayLike | None = None,
) -> tuple[Cones, Array, str]:
    """Return friction cones, primitive wrenches (n, e, d) and norm of checked arguments."""
    known(norm, NORMS, "norm")
    cones = friction_cones(
        points, normals, mu,
        torsion=torsion, torque_scale=torque_scale, center=center, tangents=tangents,
    )  # fmt: skip
    wrenches = cone_edges(cones, mu, edges, edge_norm)
    return cones, wrenches, norm


def wrench_space(
    points: ArrayLike, normals: ArrayLike, mu: ArrayLike, **options: Unpack[PyramidOptions]
) -> WrenchSpace:
    """Compute ε, volume and rank of the wrench space of friction pyramids, and why ε is 0.

    Args:
        points: Contact points, (n, 3), or (n, 2) in the plane with wrenches (fx, fy, m) [m].
        normals: Unit normals pointing into the object, of the same shape.
        mu: Coefficient of friction; 0 for frictionless contacts.
        options: Those of ``PyramidOptions``.

    Raises:
        DescriptionError: Wrong contacts or options.
    """
    return _measure(*_pyramids(points, normals, mu, **options))


def epsilon(
    points: ArrayLike, normals: ArrayLike, mu: ArrayLike, **options: Unpack[PyramidOptions]
) -> float:
    """Compute ε, the magnitude of the smallest wrench that the grasp cannot resist [N].

    The radius of the largest ball about the origin inside the wrench space of friction pyramids; 0
    without force closure, which ``wrench_space`` explains. It is at most that of the round cones,
    see ``epsilon_bounds``. Arguments as for ``wrench_space``, which computes the whole hull; this
    function computes the part of it that is near the origin. Where that has more than
    ``MAX_REFINED`` facets, from some 60 contacts on, it warns and returns the certified lower
    bound; ``wrench_space`` returns both bounds.

    Raises:
        DescriptionError: As there.
    """
    bounds = pyramid_bounds(points, normals, mu, **options)
    if bounds.lower < bounds.upper:
        warnings.warn(
            f"epsilon: ε of {len(np.asarray(points))} contacts is between {bounds.lower:.6g} and "
            f"{bounds.upper:.6g} after {MAX_REFINED} facets; returning the lower bound, "
            "wrench_space returns both",
            stacklevel=2,
        )
    return bounds.lower


def pyramid_bounds(
    points: ArrayLike, normals: ArrayLike, mu: ArrayLike, **options: Unpack[PyramidOptions]
) -> EpsilonBounds:
    """Compute certified bounds of ε of friction pyramids, equal where ε is found exactly.

    Arguments as for ``wrench_space``. The search ends at ``MAX_REFINED`` facets of the hull near
    the origin.

    Raises:
        DescriptionError: As there.
    """
    cones, wrenches, norm = _pyramids(points, normals, mu, **options)
    return _bounds_of(_shortest(wrenches, norm, cones.size), cones.size)


def volume(
    points: ArrayLike, normals: ArrayLike, mu: ArrayLike, **options: Unpack[PyramidOptions]
) -> float:
    """Compute the volume of the wrench space of friction pyramids (Miller and Allen, ICRA 1999).

    Defined for spaces without the origin inside too; 0 for flat ones. The unit is
    [N³·(N·m/scale)³], in the plane [N²·N·m/scale]. Arguments as for ``wrench_space``.

    Raises:
        DescriptionError: As there, or more vertices than a hull is computed of: 512 primitive
            wrenches for L1; for L∞ 150 vertices, or 1331 sums of primitive wrenches.
    """
    cones, wrenches, norm = _pyramids(points, normals, mu, **options)
    support = of_pyramids(wrenches, norm)
    if spanning_points(support, cones.dimension, cones.size)[1] is not None:
        return 0.0
    vertices = _vertices(wrenches, norm, cones.size)
    if vertices is None:
        limit, instead = (MAX_VERTICES, ", or norm='L1'") if norm == "Linf" else (MAX_WRENCHES, "")
        raise DescriptionError(
            f"the wrench space of {len(wrenches)} contacts with {wrenches.shape[1]} edges has more "
            f"than {limit} vertices in the norm '{norm}'; expected fewer contacts or "
            f"edges{instead}",
            field="norm",
        )
    return facets_of(vertices).volume


def few_contacts(
    points: Array, normals: Array, center: Array, torque_scale: float
) -> NDArray[np.int64]:
    """Select the contacts whose unit normal wrenches (n, (p − c) × n/ρ) are farthest apart.

    The wrench space of a subset is within that of all contacts, so its ε and volume are lower
    bounds. An object whose face or rim rests on a palm has dozens of contacts with nearly the same
    wrenches.

    Args:
        points: Contact points, (n, 3) [m].
        normals: Unit normals pointing into the object, (n, 3).
        center: Point c that moments are taken about, (3,) [m].
        torque_scale: ρ, length that moments are divided by [m].

    Returns:
        Ascending indices of the selected contacts.
    """
    if len(points) <= MAX_CONTACTS:
        return np.arange(len(points), dtype=np.int64)
    moments = np.cross(points - center, normals) / torque_scale
    return np.sort(farthest_first(np.hstack([normals, moments]), MAX_CONTACTS))


def _measure(cones: Cones, wrenches: Array, norm: str) -> WrenchSpace:
    """Measure the wrench space of primitive wrenches, (n, e, d)."""
    support, size, d = of_pyramids(wrenches, norm), cones.size, cones.dimension
    primitive = wrenches.reshape(-1, d)
    rank = int(np.linalg.matrix_rank(primitive, tol=FLAT * size * len(primitive)))
    _, plane = spanning_points(support, d, size)
    enclosed_volume: float | None = 0.0
    if plane is not None:
        reach = min(0.0, float(support(plane[None])[0][0]))
        near = Nearest(reach, reach, plane, flat=True)
    else:
        vertices = _vertices(wrenches, norm, size)
        if vertices is None:
            enclosed_volume, near = None, _shortest(wrenches, norm, size)
        else:
            facets = facets_of(vertices)
            enclosed_volume, near = facets.volume, nearest_of(facets, support)
    bounds = _bounds_of(near, size)
    if bounds.upper > 0.0:
        reason = "" if bounds.lower > 0.0 else f"not resolved: ε is at most {bounds.upper:.3g}"
        reach = bounds.lower
        return WrenchSpace(reach, reach, enclosed_volume, rank, near.direction, reason, bounds)
    outside = nearest_point(primitive) if norm == "L1" else np.zeros(d)
    margin = float(np.linalg.norm(outside))
    if margin <= FLAT * size:
        margin = 0.0
    elif not near.flat:
        near = replace(near, upper=-margin, direction=-outside / margin)
    reason = shortcoming(cones, near)
    return WrenchSpace(0.0, 0.0 - margin, enclosed_volume, rank, near.direction, reason, bounds)


def _vertices(wrenches: Array, norm: str, size: float) -> Array | None:
    """Compute points whose hull is the wrench space; None if there are too many."""
    contacts, edges, d = wrenches.shape
    if norm == "L1":
        return wrenches.reshape(-1, d) if contacts * edges <= MAX_WRENCHES or d == 3 else None
    if d > 3 and (edges + 1) ** contacts <= MAX_SUMS:
        zero = np.zeros((contacts, 1, d))
        sums = product(*np.concatenate([zero, wrenches], axis=1))
        return distinct(np.array([np.sum(terms, axis=0) for terms in sums]), size)
    return all_vertices(of_pyramids(wrenches, norm), d, size, MAX_VERTICES)


def _shortest(wrenches: Array, norm: str, size: float) -> Nearest:
    """Find the direction in which the wrench space has its smallest reach, or bounds of it."""
    support, d = of_pyramids(wrenches, norm), wrenches.shape[2]
    near = shortest_reach(support, d, size, max_facets=MAX_REFINED)
    vertices = _vertices(wrenches, norm, size) if norm == "L1" and not near.met else None
    return near if vertices is None else nearest_of(facets_of(vertices), support)


def _bounds_of(near: Nearest, size: float) -> EpsilonBounds:
    """Return the bounds of ε; both 0 where the origin is not inside."""
    if near.upper <= FLAT * size:
        return EpsilonBounds(0.0, 0.0)
    return EpsilonBounds(near.upper if near.met else max(near.lower, 0.0), near.upper)


# Round friction cones


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
    """Compute certified bounds of ε for the round friction cones.

    The largest ball inside a hull of wrenches of the cones is a lower bound; the reach of the cones
    in any direction, h(u) = max (a·u + |b·u|) for L1 and the sum of the positive ones for L∞, an
    upper bound. The hull is refined at its facet nearest to the origin until the bounds meet.

    Args:
        points: Contact points, (n, 3), or (n, 2) in the plane [m].
        normals: Unit normals pointing into the object, of the same shape.
        mu: Coefficient of friction.
        norm: ``"L1"`` or ``"Linf"``, as for ``wrench_space``.
        tolerance: Largest difference of the bounds, as a fraction of ε (at least 1e-9). An ε below
            this fraction of the largest wrench is not resolved: the lower bound is 0.
        torque_scale: Length that moments are divided by [m].
        center: Point that moments are taken about [m].
        torsion: Maximum spin moment of soft fingers per normal force [m].

    Returns:
        (lower, upper), both 0 without force closure.

    Raises:
        DescriptionError: Wrong contacts or options, or a tolerance that is not positive.
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
    """Test force closure of the round friction cones, with the reason where there is none.

    A grasp has force closure where the origin is strictly inside the hull of the cones' unit
    wrenches. This is independent of ``center`` and ``torque_scale``, which the reason refers to; it
    is computed about the mean of the contact points with moments over their spread, where rounding
    errors are smallest. With mu = 0 this is first-order form closure. Arguments as for
    ``wrench_space``.
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
    """Return whether the grasp has force closure; arguments as for ``force_closure``."""
    return force_closure(
        points, normals, mu, center=center, torque_scale=torque_scale, torsion=torsion
    ).closed


# Explanation of ε = 0


def shortcoming(cones: Cones, near: Nearest) -> str:
    """Explain why friction-cone wrenches do not have the origin inside their hull.

    Args:
        cones: Friction cones of the grasp.
        near: Smallest reach of the wrench space, at most zero.
    """
    count, friction = len(cones.axes), cones.across.shape[1]
    required = MIN_CONTACTS[cones.dimension, friction]
    few = ""
    if count < required:
        contacts = "contact" if count == 1 else "contacts"
        few = f"{count} {contacts} {KIND[friction]}, where at least {required} are needed: "
    if near.flat and abs(near.upper) <= FLAT * cones.size * cones.dimension:
        wrenches = np.concatenate([cones.axes[:, None], cones.across], axis=1)
        rank = int(
            np.linalg.matrix_rank(wrenches.reshape(-1, cones.dimension), tol=FLAT * cones.size)
        )
        first = int(np.argmax(np.abs(near.direction) > 0.1 * np.abs(near.direction).max()))
        return (
            f"{few}rank {rank} of {cones.dimension}, the contacts resist nothing along "
            f"{_wrench_text(near.direction if near.direction[first] > 0.0 else -near.direction)}"
        )
    if near.upper < -FLAT * cones.size:
        one_side = _wrench_text(-near.direction)
        return f"{few}all forces that friction allows push to one side, {one_side}"
    return f"{few}no forces that friction allows push along {_wrench_text(near.direction)}"


def _wrench_text(wrench: Array) -> str:
    """Format a wrench, scaled to a largest component of 1."""
    split = 2 if len(wrench) == 3 else 3
    rounded = np.round(wrench / np.abs(wrench).max(), 3) + 0.0
    parts = [
        " ".join(f"{value:g}" for value in part) for part in (rounded[:split], rounded[split:])
    ]
    return f"force ({parts[0]}), moment ({parts[1]})"
