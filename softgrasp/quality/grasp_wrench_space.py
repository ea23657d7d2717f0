"""Grasp wrench spaces: the ε and volume of Ferrari and Canny, and why they are 0."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.geometry import farthest_first
from softgrasp.mechanics.transforms import Array
from softgrasp.quality.contact_models import Cones, cone_edges, friction_cones, known, number
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

FEW = 50
"""Primitive wrenches up to which the whole hull takes less time than a growing one."""
MAX_VERTICES = 150
"""Vertices of an L∞ wrench space in six dimensions above which its volume is not computed."""


@dataclass(frozen=True)
class WrenchSpace:
    """A grasp wrench space in numbers."""

    epsilon: float
    """Radius of the largest ball about zero in it; 0 where zero is not inside."""
    margin: float
    """The same with a sign: where zero is outside of an L1 space, minus its distance from it."""
    volume: float | None
    """Its volume, N and N·m/torque_scale mixed; None where it would take too long (L∞)."""
    rank: int
    """Rank of the primitive wrenches, at most 6, in the plane 3."""
    weakest: Array
    """Unit wrench that the contacts make the least of, (6,) or (3,)."""
    reason: str
    """Why ε is 0; empty where it is not."""

    @property
    def closed(self) -> bool:
        """Force closure of the pyramids."""
        return self.epsilon > 0.0


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
    """ε, volume, rank and shortcomings of the wrench space of a grasp with friction pyramids.

    Args:
        points: Contacts [m], (n, 3), or (n, 2) for the plane with wrenches (fx, fy, m).
        normals: Unit normals that point into the object, of the same shape.
        mu: Coefficient of friction; 0 for frictionless contacts.
        edges: Edges of the pyramid inscribed in each friction cone; two in the plane.
        norm: ``"L1"`` for the hull of the union of primitive wrenches (normal forces that sum to
            1 N), ``"Linf"`` for the Minkowski sum of hulls of 0 and each contact's (up to
            1 N each).
        torque_scale: Length that moments are divided by [m]; with 1.0 ε mixes N and N·m.
        center: Point that moments are taken about, best the centre of mass [m].
        torsion: Of soft fingers, largest spin moment per normal force [m]; 0 for hard fingers.
        edge_norm: ``"normal"`` for edges with unit normal component, ``"unit"`` for unit forces.
        tangents: As ``contact_frames``.

    Raises:
        DescriptionError: Wrong contacts or options, in a sentence.
    """
    known(norm, NORMS, "norm")
    cones = friction_cones(
        points, normals, mu,
        torsion=torsion, torque_scale=torque_scale, center=center, tangents=tangents,
    )  # fmt: skip
    wrenches = cone_edges(cones, mu, edges, edge_norm)
    return _measured(cones, wrenches, norm)


def _measured(cones: Cones, wrenches: Array, norm: str) -> WrenchSpace:
    support, size, d = of_pyramids(wrenches, norm), cones.size, cones.dimension
    primitive = wrenches.reshape(-1, d)
    rank = int(np.linalg.matrix_rank(primitive, tol=FLAT * size * len(primitive)))
    _, plane = spanning_points(support, d, size)
    content: float | None = 0.0
    if plane is not None:
        reach = min(0.0, float(support(plane[None])[0][0]))
        near = Nearest(reach, reach, plane, flat=True)
    else:
        vertices = _vertices(wrenches, norm, size)
        if vertices is None:
            content, near = None, _shortest(wrenches, norm, size)
        else:
            facets = facets_of(vertices)
            content, near = facets.volume, nearest_of(facets, support)
    if near.upper > FLAT * size:
        return WrenchSpace(near.upper, near.upper, content, rank, near.direction, "")
    outside = nearest_point(primitive) if norm == "L1" else np.zeros(d)
    margin = float(np.linalg.norm(outside))
    if margin <= FLAT * size:
        margin = 0.0
    elif not near.flat:
        near = replace(near, upper=-margin, direction=-outside / margin)
    return WrenchSpace(0.0, 0.0 - margin, content, rank, near.direction, shortcoming(cones, near))


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
    """ε: the smallest wrench that breaks the grasp, over the forces that it may use [N].

    Radius of the largest ball about zero in the wrench space of friction pyramids (Ferrari and
    Canny, Planning optimal grasps, ICRA 1992); 0 without force closure, and ``wrench_space`` says
    why. Never above that of the round cones, see ``epsilon_bounds``. Arguments and errors as
    ``wrench_space``, which makes the whole hull; this one only what it needs.

    Raises:
        DescriptionError: As there; an L∞ space of too many facets.
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
    """Volume of the wrench space of friction pyramids (Miller and Allen, ICRA 1999).

    Also of spaces that do not hold zero inside; 0 for flat ones. Its unit mixes N and
    N·m/torque_scale: [N³·(N·m/scale)³] or in the plane [N²·N·m/scale]. Arguments and errors as
    ``wrench_space``.

    Raises:
        DescriptionError: As there; an L∞ space of more than 150 vertices.
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


def _vertices(wrenches: Array, norm: str, size: float) -> Array | None:
    """Points with the wrench space as their hull; None if they are too many."""
    primitive = wrenches.reshape(-1, wrenches.shape[2])
    if norm == "L1":
        return primitive
    return all_vertices(of_pyramids(wrenches, norm), primitive.shape[1], size, MAX_VERTICES)


def _shortest(wrenches: Array, norm: str, size: float) -> Nearest:
    support, d = of_pyramids(wrenches, norm), wrenches.shape[2]
    primitive = wrenches.reshape(-1, d)
    few = norm == "L1" and len(primitive) <= FEW
    if few and spanning_points(support, d, size)[1] is None:
        return nearest_of(facets_of(primitive), support)
    near = shortest_reach(support, d, size)
    if near.met:
        return near
    if norm == "L1":
        return nearest_of(facets_of(primitive), support)
    raise DescriptionError(
        f"ε of the norm 'Linf' is known to lie between {near.lower:.6g} and {near.upper:.6g} only, "
        f"after {MAX_FACETS} facets; expected fewer contacts or edges, or epsilon_bounds, which "
        "tells bounds of the round cones",
        field="norm",
    )


# --------------------
# Fewer contacts that span nearly the same wrenches, where a hull of all of them takes too long.


MAX_CONTACTS = 16
"""Contacts of which wrench spaces are made without thinning: with 8 edges some 50 ms, which grows
with the third power."""


def few_contacts(
    points: Array,
    normals: Array,
    center: Array,
    torque_scale: float,
    max_contacts: int = MAX_CONTACTS,
) -> NDArray[np.int64]:
    """Contacts whose unit normal wrenches (n, (p − c) × n/ρ) are farthest apart, in their order.

    What they span lies within what all of them span, so that ε and volume of the few are lower
    bounds. A part or a rim that lies on a palm has dozens of contacts that add next to nothing.

    Args:
        points: (n, 3) [m].
        normals: Unit normals into the object, (n, 3).
        center: What moments are about, (3,) [m].
        torque_scale: ρ, what moments are divided by [m].
        max_contacts: How many are kept; all where there are no more.
    """
    if len(points) <= max_contacts:
        return np.arange(len(points), dtype=np.int64)
    moments = np.cross(points - center, normals) / torque_scale
    return np.sort(farthest_first(np.hstack([normals, moments]), max_contacts))


# --------------------
# Certified bounds of ε for round friction cones, and force closure from them.


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


# --------------------
# Why a grasp has no force closure, in a sentence.


MIN_CONTACTS = {(3, 0): 4, (3, 1): 2, (6, 0): 7, (6, 2): 3, (6, 3): 2}
"""Contacts that force closure needs at least, by dimension and friction directions (Murray, Li and
Sastry, A Mathematical Introduction to Robotic Manipulation, ch. 5; Markenscoff and others 1990)."""
KIND = {0: "without friction", 1: "with friction", 2: "of hard fingers", 3: "of soft fingers"}


def shortcoming(cones: Cones, near: Nearest) -> str:
    """Why zero is not inside the wrench space of cones.

    Args:
        cones: Of the grasp.
        near: Its shortest reach, at most zero.
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
    return f"{count} contact" if count == 1 else f"{count} contacts"


def _positive(line: Array) -> Array:
    """A direction whose sign means nothing, its first large part positive."""
    first = int(np.argmax(np.abs(line) > 0.1 * np.abs(line).max()))
    return line if line[first] > 0.0 else -line


def _wrench_text(wrench: Array) -> str:
    split = 2 if len(wrench) == 3 else 3
    rounded = np.round(wrench / np.abs(wrench).max(), 3) + 0.0
    parts = [
        " ".join(f"{value:g}" for value in part) for part in (rounded[:split], rounded[split:])
    ]
    return f"force ({parts[0]}), moment ({parts[1]})"
