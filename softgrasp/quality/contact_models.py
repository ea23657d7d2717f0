"""The grasp matrix: what forces at contacts do to an object."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array

# --------------------
# The hand Jacobian: what joints do to the contact points of a hand.


def contact_jacobians(points: ArrayLike, origins: ArrayLike, jacobians: ArrayLike) -> Array:
    """Jacobians of bodies carried to their contact points, (n, 6, m).

    The velocity of a point p of a body with origin o is v + ω × (p − o).

    Args:
        points: Contacts in the world [m], (n, 3).
        origins: Where the linear rows of the Jacobians hold, in the world [m], (n, 3).
        jacobians: Linear over angular velocity in the world per joint speed, (n, 6, m).

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
    """J: joint speeds → velocities of the hand in the contact frames, (n·k, m).

    Rows are ordered as the columns of ``grasp_matrix``, so Jᵀ gives the joint torques of contact
    forces (which act on the object; the hand is pushed back), and contact holds where J q̇ = Gᵀ ẋ.
    Prattichizzo and Trinkle, Grasping, Springer Handbook of Robotics 2016, §38.2.

    Args:
        jacobians: Velocity of the hand's point at each contact per joint speed, in the frame of
            the normals: linear (n, 3, m), or linear over angular (n, 6, m); in the plane (n, 2, m)
            or (n, 3, m). Models that carry moments need the angular rows.
        normals: Unit normals into the object, (n, 3), or (n, 2).
        model: As ``grasp_matrix``.
        tangents: As ``contact_frames``.

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
            f"expected angular rows too, as the model {model!r} carries moments; found the linear "
            "ones only",
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


# --------------------
# Friction cones: the wrenches of unit contact forces on the cones' edges.


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


def grasp_matrix(
    points: ArrayLike,
    normals: ArrayLike,
    model: str = "hard",
    center: ArrayLike = (0.0, 0.0, 0.0),
    *,
    torque_scale: float = 1.0,
    tangents: ArrayLike | None = None,
) -> Array:
    """G: contact forces → force and moment on the object, (6, n·k), or planar (3, n·k).

    Rows are force [N] and moment about the centre [N·m], divided by ``torque_scale``, in the frame
    of the points. Columns go contact by contact: (normal, t1, t2), then the moments (spin about the
    normal, about t1, about t2), as far as the model carries them; planar (normal, t1[, moment]).
    Gᵀ gives the velocities of the object's contact points in the contact frames from its twist.
    Prattichizzo and Trinkle, Grasping, Springer Handbook of Robotics 2016, §38.2.

    Args:
        points: Contacts in any frame [m], (n, 3), or (n, 2) for the plane.
        normals: Unit normals that point into the object, of the same shape.
        model: ``"hard"``, ``"soft"``, ``"frictionless"`` or ``"complete"``.
        center: Point that moments are taken about [m].
        torque_scale: Length that moments are divided by [m].
        tangents: As ``contact_frames``.

    Raises:
        DescriptionError: Wrong shapes, normals that are no unit vectors, an unknown model, numbers
            that are not finite.
    """
    positions, directions = checked_contacts(points, normals)
    frames = contact_frames(directions, tangents)
    about = checked_center(center, positions.shape[1])
    scale = number(torque_scale, "torque_scale", 0.0, above=True)
    planar = positions.shape[1] == 2
    chosen = selection_matrix(model, planar=planar)
    full = _planar_block if planar else _spatial_block
    arms = positions - about
    blocks = [full(frame, arm, scale) @ chosen.T for frame, arm in zip(frames, arms, strict=True)]
    return np.hstack(blocks)


def smallest_singular_value(points: ArrayLike, center: ArrayLike) -> float:
    """How well the weakest direction of force and moment is held by contacts [–].

    The smallest singular value of the grasp matrix of hard fingers, moments over the root mean
    square distance of the contacts from the centre, so that it depends on no unit (Li and Sastry,
    Task-oriented optimal grasping, IEEE J. Robotics and Automation 4(1), 1988). It does not depend
    on the normals. Zero where contacts resist some motion not at all.

    Args:
        points: Contacts in any frame [m], (n, 3).
        center: Centre of mass [m], (3,).
    """
    positions, about = np.reshape(points, (-1, 3)), np.asarray(center, dtype=float)
    arms = positions - about
    length = float(np.sqrt(np.square(arms).sum(axis=1).mean())) if len(arms) else 0.0
    if len(arms) < 2 or length == 0.0:
        return 0.0
    normals = np.tile([1.0, 0.0, 0.0], (len(arms), 1))  # their frames are the axes themselves
    matrix = grasp_matrix(positions, normals, center=about, torque_scale=length)
    return float(np.linalg.svd(matrix, compute_uv=False)[-1])


def _spatial_block(frame: Array, arm: Array, scale: float) -> Array:
    x, y, z = arm / scale
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.block([[frame, np.zeros((3, 3))], [cross @ frame, frame / scale]])


def _planar_block(frame: Array, arm: Array, scale: float) -> Array:
    across = np.array([-arm[1], arm[0]]) @ frame / scale
    moment = np.array([0.0, 0.0, 1.0 / scale])
    return np.column_stack([np.vstack([frame, across]), moment])


# --------------------
# Contact frames from normals: which tangents are taken.


POLE = 1e-9
"""A normal whose distance from the z axis is less counts as along it."""


def contact_frames(normals: ArrayLike, tangents: ArrayLike | None = None) -> Array:
    """Axes (normal, t1, t2) of each contact as columns, (n, 3, 3), or (n, 2, 2) in the plane.

    t1 = z × n (so t2 = z on the equator, the frame of Prattichizzo and Trinkle's sphere), and x
    where n is along z; in the plane t1 is n turned by a quarter to the left. No rule is continuous
    on the whole sphere. What friction pyramids give depends on t1, so turn it along with the
    contacts, by ``tangents``, where two frames of reference are compared.

    Args:
        normals: Unit normals into the object, (n, 3) or (n, 2).
        tangents: Directions to take t1 from, (n, 3), their parts along the normals removed.

    Raises:
        DescriptionError: Wrong shapes, normals that are no unit vectors, tangents along normals or
            in the plane.
    """
    _, axes = checked_contacts(np.zeros(np.shape(normals)), normals)
    if axes.shape[1] == 2:
        if tangents is not None:
            raise DescriptionError(
                "expected none in the plane, where the normal gives the only one; found some",
                field="tangents",
            )
        return np.stack([axes, np.column_stack([-axes[:, 1], axes[:, 0]])], axis=2)
    first = _specified_tangents(axes, tangents) if tangents is not None else _default_tangents(axes)
    return np.stack([axes, first, np.cross(axes, first)], axis=2)


def _default_tangents(normals: Array) -> Array:
    across = np.column_stack([-normals[:, 1], normals[:, 0], np.zeros(len(normals))])
    lengths = np.linalg.norm(across, axis=1)
    polar = lengths < POLE
    across[polar], lengths[polar] = (1.0, 0.0, 0.0), 1.0
    first = across / lengths[:, None]
    # at a pole x is not quite in the tangent plane
    first -= (first * normals).sum(axis=1)[:, None] * normals
    return np.asarray(first / np.linalg.norm(first, axis=1)[:, None])


def _specified_tangents(normals: Array, tangents: ArrayLike) -> Array:
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


# --------------------
# What a contact can carry: the contact models and their selection matrices.


MODELS: dict[str, tuple[int, ...]] = {
    "frictionless": (0,),
    "hard": (0, 1, 2),
    "soft": (0, 1, 2, 3),
    "complete": (0, 1, 2, 3, 4, 5),
}
"""Parts of (fn, f1, f2, mn, m1, m2) in the contact frame that a contact carries."""
PLANAR_MODELS: dict[str, tuple[int, ...]] = {
    "frictionless": (0,),
    "hard": (0, 1),
    "complete": (0, 1, 2),
}
"""Parts of (fn, f1, m) that a contact in the plane carries."""


def selection_matrix(model: str = "hard", *, planar: bool = False) -> Array:
    """Which parts of force and moment a contact carries: the matrix H, (k, 6) or planar (k, 3).

    Rows pick from (fn, f1, f2, mn, m1, m2) in the contact frame (normal, t1, t2), planar from
    (fn, f1, m): frictionless 1, hard finger 3 (planar 2), soft finger 4, complete 6 (planar 3)
    (Prattichizzo and Trinkle, Grasping, Springer Handbook of Robotics 2016, table 38.2).

    Raises:
        DescriptionError: No such model; a soft finger in the plane, where the moment about the
            normal does not exist.
    """
    if planar and model == "soft":
        raise DescriptionError(
            "expected a model of the plane, where nothing spins about the normal; found 'soft'; "
            "known: complete, frictionless, hard",
            field="model",
        )
    models = PLANAR_MODELS if planar else MODELS
    return np.eye(3 if planar else 6)[list(models[known(model, models, "model")])]


# --------------------
# What contacts and matrices have to be, told in sentences.


UNIT_TOLERANCE = 1e-6
"""How far from 1 the length of a normal may be."""


def checked_contacts(points: ArrayLike, normals: ArrayLike) -> tuple[Array, Array]:
    """Points and unit normals as arrays of one shape, (n, 3), or (n, 2) in the plane.

    Raises:
        DescriptionError: No contacts, different or other shapes, a number that is not finite, or
            a normal that is not of length 1 (within 1e-6).
    """
    positions, directions = numbers(points, "points"), numbers(normals, "normals")
    for name, rows in (("points", positions), ("normals", directions)):
        if rows.ndim != 2 or rows.shape[1] not in (2, 3) or len(rows) == 0:
            raise DescriptionError(
                "expected one row a contact, (n, 3), or (n, 2) in the plane, with n at least 1; "
                f"found the shape {rows.shape}",
                field=name,
            )
    if positions.shape != directions.shape:
        raise DescriptionError(
            f"expected a normal for each point, {positions.shape}; found {directions.shape}",
            field="normals",
        )
    lengths = np.linalg.norm(directions, axis=1)
    worst = int(np.argmax(np.abs(lengths - 1.0)))
    if abs(lengths[worst] - 1.0) > UNIT_TOLERANCE:
        raise DescriptionError(
            f"expected unit normals that point into the object; found length {lengths[worst]:g} "
            f"at contact {worst}",
            field="normals",
        )
    return positions, directions / lengths[:, None]


def numbers(values: ArrayLike, field: str, shape: tuple[int | None, ...] | None = None) -> Array:
    """Finite numbers as an array of floats.

    Args:
        values: Anything like an array.
        field: Its name in messages.
        shape: Its shape, None for any length; or None for any shape.

    Raises:
        DescriptionError: Not numbers, another shape, or a number that is not finite.
    """
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise DescriptionError(
            "expected rows of numbers, found something else", field=field
        ) from None
    if shape is not None and (
        array.ndim != len(shape)
        or any(want not in (None, have) for want, have in zip(shape, array.shape, strict=True))
    ):
        expected = ", ".join("any" if length is None else str(length) for length in shape)
        raise DescriptionError(f"expected the shape ({expected}), found {array.shape}", field=field)
    if not np.isfinite(array).all():
        index = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        at = f" at {index if len(index) > 1 else index[0]}" if index else ""
        raise DescriptionError(f"expected finite numbers, found {array[index]:g}{at}", field=field)
    return array


def number(value: float, field: str, minimum: float = -np.inf, *, above: bool = False) -> float:
    """A finite number, at least or above a bound.

    Raises:
        DescriptionError: It is not.
    """
    value_array = numbers(value, field)
    if value_array.ndim:
        raise DescriptionError(
            f"expected one number, found the shape {value_array.shape}", field=field
        )
    checked = float(value_array)
    if checked < minimum or (above and checked == minimum):
        bound = f"above {minimum:g}" if above else f"at least {minimum:g}"
        raise DescriptionError(f"expected a number {bound}, found {checked:g}", field=field)
    return checked


def per_contact(values: ArrayLike, field: str, count: int) -> Array:
    """A number of at least 0 for all contacts, or one for each, (count,).

    Raises:
        DescriptionError: It is not.
    """
    checked = numbers(values, field)
    if checked.shape not in ((), (count,)):
        raise DescriptionError(
            f"expected one number, or one a contact, ({count},); found the shape {checked.shape}",
            field=field,
        )
    smallest = float(checked.min(initial=0.0))
    if smallest < 0.0:
        raise DescriptionError(f"expected a number at least 0, found {smallest:g}", field=field)
    return np.broadcast_to(checked, (count,)).astype(float)


def whole_number(value: object, field: str, minimum: int) -> int:
    """A whole number, at least a bound.

    Raises:
        DescriptionError: It is not.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
        raise DescriptionError(
            f"expected a whole number, at least {minimum}; found {value!r}", field=field
        )
    return int(value)


def known(word: str, words: Iterable[str], field: str) -> str:
    """A word that exists.

    Raises:
        DescriptionError: It does not; which ones do, and which one is near.
    """
    words = tuple(words)
    if word not in words:
        raise DescriptionError(
            f"no {field} {word!r}; {did_you_mean(str(word), words)}", field=field
        )
    return word


def checked_center(center: ArrayLike, dimension: int) -> Array:
    """The point that moments are taken about, (dimension,); (0, 0, 0) does for the plane, too.

    Raises:
        DescriptionError: Another shape, or a number that is not finite.
    """
    about = numbers(center, "center")
    if dimension == 2 and about.shape == (3,) and not about.any():
        return np.zeros(2)
    return numbers(about, "center", (dimension,))
