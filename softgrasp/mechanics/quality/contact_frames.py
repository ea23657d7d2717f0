"""Contact frames from normals: which tangents are taken."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.quality.checks import checked_contacts, numbers
from softgrasp.mechanics.transforms import Array

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
