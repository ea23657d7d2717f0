"""Friction cones: the wrenches of unit contact forces on the cones' edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.quality.checks import checked_contacts, known, per_contact, whole_number
from softgrasp.mechanics.quality.grasp_matrix import grasp_matrix
from softgrasp.mechanics.transforms import Array

EDGE_NORMS = ("normal", "unit")


@dataclass(frozen=True)
class Cones:
    """Friction cones of contacts in wrench space."""

    axes: Array
    """Wrench of a unit normal force, (n, d)."""
    across: Array
    """Wrenches of the largest friction per unit normal force along each tangent (and of the
    largest spin), (n, a, d): cones are {axes + b·across : |b| ≤ 1}; a = 0 without friction."""

    @property
    def dimension(self) -> int:
        """d, 6 or in the plane 3."""
        return int(self.axes.shape[1])

    @property
    def size(self) -> float:
        """The longest wrench of a cone, for tolerances."""
        return float(
            np.linalg.norm(np.concatenate([self.axes[:, None], self.across], 1), axis=2).max()
        )


def friction_cones(
    points: ArrayLike,
    normals: ArrayLike,
    mu: ArrayLike,
    *,
    torsion: ArrayLike = 0.0,
    torque_scale: float = 1.0,
    center: ArrayLike = (0.0, 0.0, 0.0),
    tangents: ArrayLike | None = None,
) -> Cones:
    """Cones of Coulomb friction, or of soft fingers, in wrench space.

    Hard finger: |ft| ≤ µ fn. Soft finger: (ft/µ)² + (m/γ)² ≤ fn² with the spin m about the normal
    (elliptic limit surface; Howe and Cutkosky 1996).

    Args:
        points: Contacts [m], (n, 3), or (n, 2).
        normals: Unit normals into the object.
        mu: Coefficient of friction µ, at least 0; one for all contacts or one each.
        torsion: γ, largest spin moment per normal force [m], likewise; 0 for hard fingers.
        torque_scale: Length that moments are divided by [m].
        center: Point that moments are taken about [m].
        tangents: As ``contact_frames``.

    Raises:
        DescriptionError: Wrong contacts, negative friction, torsion in the plane or without
            friction.
    """
    positions, directions = checked_contacts(points, normals)
    count, planar = len(positions), positions.shape[1] == 2
    friction, spin = per_contact(mu, "mu", count), per_contact(torsion, "torsion", count)
    if (spin > 0.0).any() and (planar or (friction[spin > 0.0] == 0.0).any()):
        where = "in the plane" if planar else "without friction"
        raise DescriptionError(f"expected 0 {where}, found {spin.max():g}", field="torsion")
    model = "soft" if (spin > 0.0).any() else "hard" if (friction > 0.0).any() else "frictionless"
    G = grasp_matrix(
        positions, directions, model, center, torque_scale=torque_scale, tangents=tangents
    )
    columns = G.T.reshape(count, -1, len(G))
    limits = np.column_stack([friction, friction, spin])[:, : columns.shape[1] - 1]
    return Cones(columns[:, 0], columns[:, 1:] * limits[:, :, None])


def cone_edges(cones: Cones, mu: ArrayLike, edges: int = 8, edge_norm: str = "normal") -> Array:
    """Primitive wrenches, (n, e, d): of forces on the edges of a pyramid inscribed in each cone.

    Edges start at t1 and go round the normal evenly; a soft finger has two more, of pure spin. In
    the plane there are two, without friction one.

    Args:
        cones: Of ``friction_cones``.
        mu: µ, one for all contacts or one each.
        edges: Edges of a pyramid, at least 3.
        edge_norm: ``"normal"`` for forces with a unit normal component (GraspIt! and most of the
            literature after Ferrari and Canny), ``"unit"`` for unit forces.

    Raises:
        DescriptionError: Fewer than 3 edges, or an unknown edge norm.
    """
    known(edge_norm, EDGE_NORMS, "edge_norm")
    count = whole_number(edges, "edges", 3)
    parts = cones.across.shape[1]
    if parts == 0:
        return cones.axes[:, None]
    if parts == 1:
        rim = np.array([[1.0], [-1.0]])
    else:
        angles = 2.0 * np.pi * np.arange(count) / count
        rim = np.column_stack([np.cos(angles), np.sin(angles)])
    if parts == 3:
        rim = np.vstack([np.column_stack([rim, np.zeros(len(rim))]), [[0, 0, 1], [0, 0, -1]]])
    wrenches = cones.axes[:, None] + np.einsum("ea,nad->ned", rim, cones.across)
    if edge_norm == "unit":
        friction = per_contact(mu, "mu", len(cones.axes))[:, None]
        lengths = np.sqrt(1.0 + friction**2 * (rim[:, :2] ** 2).sum(axis=1))
        wrenches = wrenches / lengths[:, :, None]
    return np.asarray(wrenches)
