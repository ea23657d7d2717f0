"""Grasp wrench spaces: the ε and volume of Ferrari and Canny, and why they are 0."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.quality.checks import known
from softgrasp.mechanics.quality.cones import Cones, cone_edges, friction_cones
from softgrasp.mechanics.quality.hull import (
    FLAT,
    all_vertices,
    facets_of,
    nearest_point,
    spanning_points,
)
from softgrasp.mechanics.quality.reach import MAX_FACETS, Nearest, nearest_of, shortest_reach
from softgrasp.mechanics.quality.shortcomings import shortcoming
from softgrasp.mechanics.quality.support import NORMS, of_pyramids
from softgrasp.mechanics.transforms import Array

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
