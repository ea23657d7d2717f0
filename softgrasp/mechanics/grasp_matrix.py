"""The grasp matrix: what forces at contact points do to an object."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.mechanics.transforms import Array


def grasp_matrix(points: ArrayLike, centre: ArrayLike, length: float) -> Array:
    """Forces of point contacts with friction → force and moment about a centre, (6, 3n).

    Block i is [1; S((pᵢ − c)/length)] with S(r)·f = r × f, so that all entries are numbers without
    a unit (Prattichizzo and Trinkle, Grasping, Springer Handbook of Robotics 2016, §38.2).

    Args:
        points: Contacts in any frame [m], (n, 3).
        centre: Where moments are taken about [m], (3,).
        length: Moments are divided by it [m].
    """
    arms = (np.reshape(points, (-1, 3)) - np.asarray(centre, dtype=float)) / length
    matrix = np.zeros((6, 3 * len(arms)))
    for index, (x, y, z) in enumerate(arms.tolist()):
        block = slice(3 * index, 3 * index + 3)
        matrix[:3, block] = np.eye(3)
        matrix[3:, block] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    return matrix


def smallest_singular_value(points: ArrayLike, centre: ArrayLike) -> float:
    """How well the weakest direction of force and moment is held by contacts [–].

    The smallest singular value of the grasp matrix (Li and Sastry, Task-oriented optimal grasping,
    IEEE J. Robotics and Automation 4(1), 1988), moments over the root mean square distance of the
    contacts from the centre. Zero where contacts resist some motion not at all.

    Args:
        points: Contacts in any frame [m], (n, 3).
        centre: Centre of mass [m], (3,).
    """
    arms = np.reshape(points, (-1, 3)) - np.asarray(centre, dtype=float)
    length = float(np.sqrt(np.square(arms).sum(axis=1).mean())) if len(arms) else 0.0
    if len(arms) < 2 or length == 0.0:
        return 0.0
    return float(np.linalg.svd(grasp_matrix(points, centre, length), compute_uv=False)[-1])
