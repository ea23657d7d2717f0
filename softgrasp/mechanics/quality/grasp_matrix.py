"""The grasp matrix: what forces at contacts do to an object."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.mechanics.quality.checks import checked_center, checked_contacts, number
from softgrasp.mechanics.quality.contact_frames import contact_frames
from softgrasp.mechanics.quality.contact_models import selection_matrix
from softgrasp.mechanics.transforms import Array


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
