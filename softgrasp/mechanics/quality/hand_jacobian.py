"""The hand Jacobian: what joints do to the contact points of a hand."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.quality.checks import numbers
from softgrasp.mechanics.quality.contact_frames import contact_frames
from softgrasp.mechanics.quality.contact_models import selection_matrix
from softgrasp.mechanics.transforms import Array


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
