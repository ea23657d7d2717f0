"""Contact models, contact frames, grasp matrix, hand Jacobian and friction cones.

After Prattichizzo and Trinkle, Grasping, Springer Handbook of Robotics 2016, ch. 38. A contact
frame is (normal, t1, t2) with the normal pointing into the object; a wrench is a force over a
moment about ``center``, the moment divided by ``torque_scale``. With G and J of the same contacts,
contact is kept where J q̇ = Gᵀ ẋ, and Jᵀλ are the joint torques of the contact forces λ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.quality.inputs import (
    check_center,
    check_contacts,
    known,
    number,
    numbers,
    per_contact,
    whole_number,
)

MODELS: dict[str, tuple[int, ...]] = {
    "frictionless": (0,),
    "hard": (0, 1, 2),
    "soft": (0, 1, 2, 3),
    "complete": (0, 1, 2, 3, 4, 5),
}
"""Components of (fn, f1, f2, mn, m1, m2) in the contact frame that a contact transmits."""
PLANAR_MODELS: dict[str, tuple[int, ...]] = {
    "frictionless": (0,),
    "hard": (0, 1),
    "complete": (0, 1, 2),
}
"""Components of (fn, f1, m) that a contact in the plane transmits."""
POLE = 1e-6
"""Sine of the angle to z below which a normal is taken as along z, and t1 along x × n [–]."""


@dataclass(frozen=True)
class Cones:
    """Friction cones of n contacts in wrench space of dimension d."""

    axes: Array
    """Wrench of a unit normal force, (n, d)."""
    across: Array
    """Wrenches of the maximum friction per unit normal force along each tangent (and of the
    maximum spin moment), (n, a, d). Cone: {axes + b·across : |b| ≤ 1}; a = 0 without friction."""

    @property
    def dimension(self) -> int:
        """d, 6 or in the plane 3."""
        return int(self.axes.shape[1])

    @property
    def size(self) -> float:
        """Length of the longest wrench of the cones, a scale for tolerances."""
        return float(
            np.linalg.norm(np.concatenate([self.axes[:, None], self.across], 1), axis=2).max()
        )


# Contact models and contact frames


def selection_matrix(model: str = "hard", *, planar: bool = False) -> Array:
    """Return the selection matrix H of a contact model, (k, 6), or (k, 3) in the plane.

    Rows select from (fn, f1, f2, mn, m1, m2) in the contact frame (normal, t1, t2), planar from
    (fn, f1, m): frictionless 1, hard finger 3 (planar 2), soft finger 4, complete 6 (planar 3)
    (Springer Handbook of Robotics 2016, table 38.2).

    Raises:
        DescriptionError: Unknown model, or a soft finger in the plane, which has no moment about
            the normal.
    """
    if planar and model == "soft":
        raise DescriptionError(
            "expected a planar contact model, which has no spin about the normal; found 'soft'; "
            "known: complete, frictionless, hard",
            field="model",
        )
    models = PLANAR_MODELS if planar else MODELS
    return np.eye(3 if planar else 6)[list(models[known(model, models, "model")])]


def contact_frames(normals: ArrayLike, tangents: ArrayLike | None = None) -> Array:
    """Compute contact frames: axes (normal, t1, t2) as columns, (n, 3, 3), or (n, 2, 2).

    t1 = z × n, normalized (so t2 = z on the equator of a sphere), and x × n where n is along z; in
    the plane t1 is n rotated by +90°. No such rule is continuous on the whole sphere. Measures of
    friction pyramids depend on t1: to compare them between two frames of reference, rotate
    ``tangents`` with the contacts.

    Args:
        normals: Unit normals pointing into the object, (n, 3) or (n, 2).
        tangents: Directions whose parts across the normals become t1, (n, 3).

    Raises:
        DescriptionError: Wrong shapes, normals that are not unit vectors, tangents along normals,
            or tangents in the plane.
    """
    _, axes = check_contacts(np.zeros(np.shape(normals)), normals)
    if axes.shape[1] == 2:
        if tangents is not None:
            raise DescriptionError(
                "expected none in the plane, where the normal determines the tangent; found some",
                field="tangents",
            )
        return np.stack([axes, np.column_stack([-axes[:, 1], axes[:, 0]])], axis=2)
    first = _specify_tangents(axes, tangents) if tangents is not None else _default_tangents(axes)
    return np.stack([axes, first, np.cross(axes, first)], axis=2)


def _default_tangents(normals: Array) -> Array:
    across = np.column_stack([-normals[:, 1], normals[:, 0], np.zeros(len(normals))])
    polar = np.linalg.norm(across, axis=1) < POLE
    across[polar] = np.cross((1.0, 0.0, 0.0), normals[polar])
    return np.asarray(across / np.linalg.norm(across, axis=1)[:, None])


def _specify_tangents(normals: Array, tangents: ArrayLike) -> Array:
    tangent_array = numbers(tangents, "tangents", (len(normals), 3))
    first = tangent_array - (tangent_array * normals).sum(axis=1)[:, None] * normals
    lengths = np.linalg.norm(first, axis=1)
    if (lengths < POLE).any():
        raise DescriptionError(
            f"expected directions across the normals, found one along it at contact "
            f"{int(np.argmin(lengths))}",
            field="tangents",
        )
    return np.asarray(first / lengths[:, None])


# Grasp matrix and hand Jacobian


def grasp_matrix(
    points: ArrayLike,
    normals: ArrayLike,
    model: str = "hard",
    center: ArrayLike = (0.0, 0.0, 0.0),
    *,
    torque_scale: float = 1.0,
    tangents: ArrayLike | None = None,
) -> Array:
    """Compute the grasp matrix G, (6, n·k), or (3, n·k) in the plane.

    G maps contact forces to the force [N] and moment [N·m] on the object, in the frame of the
    points. Columns are ordered contact by contact: forces along (normal, t1, t2), then moments
    about them, as far as the contact model transmits them; planar (normal, t1[, moment]). Gᵀ maps
    the twist of the object to the velocities of its contact points in the contact frames.

    Args:
        points: Contact points in any frame, (n, 3), or (n, 2) in the plane [m].
        normals: Unit normals pointing into the object, of the same shape and frame.
        model: Contact model, ``"hard"``, ``"soft"``, ``"frictionless"`` or ``"complete"``.
        center: Point that moments are taken about [m].
        torque_scale: Length that moments are divided by [m].
        tangents: As for ``contact_frames``.

    Raises:
        DescriptionError: Wrong shapes, normals that are not unit vectors, an unknown model, or
            numbers that are not finite.
    """
    positions, directions = check_contacts(points, normals)
    frames = contact_frames(directions, tangents)
    about = check_center(center, positions.shape[1])
    scale = number(torque_scale, "torque_scale", 0.0, above=True)
    planar = positions.shape[1] == 2
    chosen = selection_matrix(model, planar=planar)
    full = _planar_block if planar else _spatial_block
    arms = positions - about
    blocks = [full(frame, arm, scale) @ chosen.T for frame, arm in zip(frames, arms, strict=True)]
    return np.hstack(blocks)


def _spatial_block(frame: Array, arm: Array, scale: float) -> Array:
    x, y, z = arm / scale
    block = np.zeros((6, 6))  # np.block takes twelve times as long
    block[:3, :3], block[3:, 3:] = frame, frame / scale
    block[3:, :3] = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) @ frame
    return block


def _planar_block(frame: Array, arm: Array, scale: float) -> Array:
    across = np.array([-arm[1], arm[0]]) @ frame / scale
    moment = np.array([0.0, 0.0, 1.0 / scale])
    return np.column_stack([np.vstack([frame, across]), moment])


def contact_jacobians(points: ArrayLike, origins: ArrayLike, jacobians: ArrayLike) -> Array:
    """Shift the Jacobians of bodies to contact points on them, (n, 6, m).

    A point p of a body with origin o has the velocity v + ω × (p − o).

    Args:
        points: Contact points, (n, 3) [m], world frame.
        origins: Points that the linear rows of the Jacobians refer to, (n, 3) [m], world frame.
        jacobians: Linear over angular velocity per joint speed, (n, 6, m), world frame.

    Raises:
        DescriptionError: Wrong shapes or numbers that are not finite.
    """
    positions = numbers(points, "points", (None, 3))
    jacobian_array = numbers(jacobians, "jacobians", (len(positions), 6, None))
    arms = positions - numbers(origins, "origins", (len(positions), 3))
    carried = np.cross(jacobian_array[:, 3:], arms[:, :, None], axisa=1, axisb=1, axisc=1)
    return np.concatenate([jacobian_array[:, :3] + carried, jacobian_array[:, 3:]], axis=1)


def hand_jacobian(
    jacobians: ArrayLike,
    normals: ArrayLike,
    model: str = "hard",
    *,
    tangents: ArrayLike | None = None,
) -> Array:
    """Compute the hand Jacobian J from joint speeds to contact velocities, (n·k, m).

    Rows are ordered as the columns of ``grasp_matrix``. Contact forces act on the object, so their
    joint torques Jᵀλ are those with which the hand presses.

    Args:
        jacobians: Velocity of the hand at each contact point per joint speed, in the frame of the
            normals: linear (n, 3, m), or linear over angular (n, 6, m); in the plane (n, 2, m) or
            (n, 3, m). Contact models with moments need the angular rows.
        normals: Unit normals pointing into the object, (n, 3), or (n, 2).
        model: Contact model, as for ``grasp_matrix``.
        tangents: As for ``contact_frames``.

    Raises:
        DescriptionError: Wrong shapes, unknown model, missing angular rows.
    """
    frames = contact_frames(normals, tangents)
    dimension = frames.shape[1]
    planar = dimension == 2
    chosen = selection_matrix(model, planar=planar)
    jacobian_array = numbers(jacobians, "jacobians", (len(frames), None, None))
    linear, whole = (dimension, 3 if planar else 6)
    if jacobian_array.shape[1] not in (linear, whole):
        raise DescriptionError(
            f"expected {linear} rows of linear velocity, or {whole} with the angular ones, for "
            f"each contact; found {jacobian_array.shape[1]}",
            field="jacobians",
        )
    moments = chosen[:, dimension:].any()
    if moments and jacobian_array.shape[1] == linear:
        raise DescriptionError(
            f"expected angular rows too, as the model {model!r} transmits moments; found "
            "linear rows only",
            field="jacobians",
        )
    seen = np.zeros((len(frames), whole, jacobian_array.shape[2]))
    transposed = frames.transpose(0, 2, 1)
    seen[:, :dimension] = transposed @ jacobian_array[:, :dimension]
    if jacobian_array.shape[1] == whole:
        seen[:, dimension:] = (
            jacobian_array[:, 2:] if planar else transposed @ jacobian_array[:, 3:]
        )
    return np.asarray((chosen @ seen).reshape(-1, jacobian_array.shape[2]))


# Friction cones in wrench space


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
    """Compute the friction cones of hard or soft fingers in wrench space.

    Hard finger: |ft| ≤ µ fn. Soft finger: (ft/µ)² + (m/γ)² ≤ fn² with the spin m about the normal
    (elliptic limit surface; Howe and Cutkosky 1996).

    Args:
        points: Contact points, (n, 3), or (n, 2) in the plane [m].
        normals: Unit normals pointing into the object, of the same shape.
        mu: Coefficient of friction µ ≥ 0, one for all contacts or one per contact.
        torsion: γ, maximum spin moment per normal force [m], likewise; 0 for hard fingers.
        torque_scale: Length that moments are divided by [m].
        center: Point that moments are taken about [m].
        tangents: As for ``contact_frames``.

    Raises:
        DescriptionError: Wrong contacts, negative friction, torsion in the plane or without
            friction.
    """
    positions, directions = check_contacts(points, normals)
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
    """Compute the primitive wrenches of friction pyramids inscribed in the cones, (n, e, d).

    The first edge is along t1, the others follow at equal angles about the normal; a soft finger
    has two more of pure spin. In the plane there are two edges, without friction one.

    Args:
        cones: Result of ``friction_cones``.
        mu: µ, one for all contacts or one per contact.
        edges: Number of edges of a pyramid, at least 3.
        edge_norm: ``"normal"`` for forces with a unit normal component (as GraspIt! and the
            literature after Ferrari and Canny), ``"unit"`` for unit forces.

    Raises:
        DescriptionError: Fewer than 3 edges, or an unknown edge norm.
    """
    known(edge_norm, ("normal", "unit"), "edge_norm")
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
