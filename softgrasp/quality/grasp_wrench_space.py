"""Grasp wrench spaces: ε and volume of Ferrari and Canny, force closure, and why ε is 0.

The L1 wrench space is the convex hull of the union of the contacts' unit wrenches, the L∞ wrench
space the Minkowski sum of the hulls of zero and each contact's unit wrenches (Ferrari and Canny,
Planning optimal grasps, ICRA 1992). ``epsilon``, ``volume`` and ``wrench_space`` take friction
pyramids, ``epsilon_bounds`` and ``force_closure`` the round cones. Forces have unit normal
component unless ``edge_norm="unit"``. Hulls are in ``convex_hull.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.geometry import farthest_first
from softgrasp.mechanics.transforms import Array
from softgrasp.quality.contact_models import Cones, cone_edges, friction_cones
from softgrasp.quality.convex_hull import (
    FLAT,
    MAX_FACETS,
    NORMS,
    Nearest,
    all_vertices,
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
"""Number of vertices of an L∞ wrench space above which its volume is not computed."""
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


@dataclass(frozen=True)
class WrenchSpace:
    """Measures of a grasp wrench space."""

    epsilon: float
    """Radius of the largest ball about the origin inside it; 0 where the origin is outside."""
    margin: float
    """Signed ε: where the origin is outside an L1 space, minus its distance from the space."""
    volume: float | None
    """Volume, in mixed units N and N·m/torque_scale; None where it would take too long (L∞)."""
    rank: int
    """Rank of the primitive wrenches, at most 6, in the plane 3."""
    weakest: Array
    """Unit wrench along which the wrench space has its smallest reach, (6,) or (3,)."""
    reason: str
    """Explanation of ε = 0; empty where ε > 0."""

    @property
    def closed(self) -> bool:
        """Whether the friction pyramids have force closure."""
        return self.epsilon > 0.0


class EpsilonBounds(NamedTuple):
    """Lower and upper bound of ε."""

    lower: float
    upper: float


@dataclass(frozen=True)
class ForceClosure:
    """Whether a grasp has force closure."""

    closed: bool
    reason: str
    """Explanation; empty where the grasp has force closure."""


# Friction pyramids


def wrench_space(
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
) -> WrenchSpace:
    """Compute ε, volume and rank of the wrench space of friction pyramids, and why ε is 0.

    Args:
        points: Contact points, (n, 3), or (n, 2) in the plane with wrenches (fx, fy, m) [m].
        normals: Unit normals pointing into the object, of the same shape.
        mu: Coefficient of friction; 0 for frictionless contacts.
        edges: Number of edges of the pyramid inscribed in each friction cone; two in the plane.
        norm: ``"L1"`` for normal forces that sum to 1 N, ``"Linf"`` for normal forces of up to 1 N
            each.
        torque_scale: Length that moments are divided by [m]; with 1.0 ε mixes N and N·m.
        center: Point that moments are taken about, usually the centre of mass [m].
        torsion: Maximum spin moment of soft fingers per normal force [m]; 0 for hard fingers.
        edge_norm: ``"normal"`` for edges with unit normal component, ``"unit"`` for unit forces.
        tangents: As for ``contact_frames``.

    Raises:
        DescriptionError: Wrong contacts or options.
    """
    known(norm, NORMS, "norm")
    cones = friction_cones(
        points, normals, mu,
        torsion=torsion, torque_scale=torque_scale, center=center, tangents=tangents,
    )  # fmt: skip
    wrenches = cone_edges(cones, mu, edges, edge_norm)
    return _measure(cones, wrenches, norm)


def epsilon(
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
) -> float:
    """Compute ε, the magnitude of the smallest wrench that the grasp cannot resist [N].

    The radius of the largest ball about the origin inside the wrench space of friction pyramids; 0
    without force closure, which ``wrench_space`` explains. It is at most that of the round cones,
    see ``epsilon_bounds``. Arguments as for ``wrench_space``, which computes the whole hull; this
    function computes the part of it that is near the origin.

    Raises:
        DescriptionError: As there, or an L∞ space of too many facets.
    """
    known(norm, NORMS, "norm")
    cones = friction_cones(
        points, normals, mu,
        torsion=torsion, torque_scale=torque_scale, center=center, tangents=tangents,
    )  # fmt: skip
    near = _shortest(cone_edges(cones, mu, edges, edge_norm), norm, cones.size)
    return near.upper if near.upper > FLAT * cones.size else 0.0


def volume(
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
) -> float:
    """Compute the volume of the wrench space of friction pyramids (Miller and Allen, ICRA 1999).

    Defined for spaces without the origin inside too; 0 for flat ones. The unit is
    [N³·(N·m/scale)³], in the plane [N²·N·m/scale]. Arguments as for ``wrench_space``.

    Raises:
        DescriptionError: As there, or an L∞ space of more than 150 vertices.
    """
    known(norm, NORMS, "norm")
    cones = friction_cones(
        points, normals, mu,
        torsion=torsion, torque_scale=torque_scale, center=center, tangents=tangents,
    )  # fmt: skip
    wrenches = cone_edges(cones, mu, edges, edge_norm)
    support = of_pyramids(wrenches, norm)
    if spanning_points(support, cones.dimension, cones.size)[1] is not None:
        return 0.0
    vertices = _vertices(wrenches, norm, cones.size)
    if vertices is None:
        raise DescriptionError(
            f"the wrench space of {len(wrenches)} contacts with {wrenches.shape[1]} edges has more "
            f"than {MAX_VERTICES} vertices in the norm 'Linf'; expected fewer contacts or "
            "edges, or norm='L1'",
            field="norm",
        )
    return facets_of(vertices).volume


def few_contacts(
    points: Array,
    normals: Array,
    center: Array,
    torque_scale: float,
    max_contacts: int = MAX_CONTACTS,
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
        max_contacts: Maximum number of contacts.

    Returns:
        Ascending indices of the selected contacts.
    """
    if len(points) <= max_contacts:
        return np.arange(len(points), dtype=np.int64)
    moments = np.cross(points - center, normals) / torque_scale
    return np.sort(farthest_first(np.hstack([normals, moments]), max_contacts))


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
    if near.upper > FLAT * size:
        return WrenchSpace(near.upper, near.upper, enclosed_volume, rank, near.direction, "")
    outside = nearest_point(primitive) if norm == "L1" else np.zeros(d)
    margin = float(np.linalg.norm(outside))
    if margin <= FLAT * size:
        margin = 0.0
    elif not near.flat:
        near = replace(near, upper=-margin, direction=-outside / margin)
    reason = shortcoming(cones, near)
    return WrenchSpace(0.0, 0.0 - margin, enclosed_volume, rank, near.direction, reason)


def _vertices(wrenches: Array, norm: str, size: float) -> Array | None:
    """Compute points whose hull is the wrench space; None if there are too many."""
    primitive = wrenches.reshape(-1, wrenches.shape[2])
    if norm == "L1":
        return primitive
    return all_vertices(of_pyramids(wrenches, norm), primitive.shape[1], size, MAX_VERTICES)


def _shortest(wrenches: Array, norm: str, size: float) -> Nearest:
    """Find the direction in which the wrench space has its smallest reach."""
    support, d = of_pyramids(wrenches, norm), wrenches.shape[2]
    near = shortest_reach(support, d, size)
    if near.met:
        return near
    if norm == "L1":
        return nearest_of(facets_of(wrenches.reshape(-1, d)), support)
    raise DescriptionError(
        f"ε of the norm 'Linf' is between {near.lower:.6g} and {near.upper:.6g} after "
        f"{MAX_FACETS} facets; expected fewer contacts or edges, or epsilon_bounds, which returns "
        "bounds for the round cones",
        field="norm",
    )


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
    """Explain why the origin is not inside the wrench space of friction cones.

    Args:
        cones: Friction cones of the grasp.
        near: Smallest reach of the wrench space, at most zero.
    """
    count, friction = len(cones.axes), cones.across.shape[1]
    required = MIN_CONTACTS[cones.dimension, friction]
    few = ""
    if count < required:
        few = f"{_contacts(count)} {KIND[friction]}, where at least {required} are needed: "
    if near.flat and abs(near.upper) <= FLAT * cones.size * cones.dimension:
        wrenches = np.concatenate([cones.axes[:, None], cones.across], axis=1)
        rank = int(
            np.linalg.matrix_rank(wrenches.reshape(-1, cones.dimension), tol=FLAT * cones.size)
        )
        return (
            f"{few}rank {rank} of {cones.dimension}, the contacts resist nothing along "
            f"{_wrench_text(_positive(near.direction))}"
        )
    if near.upper < -FLAT * cones.size:
        one_side = _wrench_text(-near.direction)
        return f"{few}all forces that friction allows push to one side, {one_side}"
    return f"{few}no forces that friction allows push along {_wrench_text(near.direction)}"


def _contacts(count: int) -> str:
    """Format a number of contacts."""
    return f"{count} contact" if count == 1 else f"{count} contacts"


def _positive(line: Array) -> Array:
    """Return ±the direction, with its first large component positive."""
    first = int(np.argmax(np.abs(line) > 0.1 * np.abs(line).max()))
    return line if line[first] > 0.0 else -line


def _wrench_text(wrench: Array) -> str:
    """Format a wrench, scaled to a largest component of 1."""
    split = 2 if len(wrench) == 3 else 3
    rounded = np.round(wrench / np.abs(wrench).max(), 3) + 0.0
    parts = [
        " ".join(f"{value:g}" for value in part) for part in (rounded[:split], rounded[split:])
    ]
    return f"force ({parts[0]}), moment ({parts[1]})"
