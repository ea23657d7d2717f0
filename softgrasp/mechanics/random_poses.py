"""Directions, turns and places drawn at random, uniform in what they are drawn from."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from softgrasp.mechanics.transforms import Array


def direction_in_cone(random: np.random.Generator, axis: ArrayLike, angle: float) -> Array:
    """A unit vector, uniform over the part of the sphere within an angle of an axis, (3,).

    The area of a sphere between two parallel planes depends on their distance alone (Archimedes),
    so the cosine of the angle to the axis is uniform.

    Args:
        random: Where chance comes from; two numbers are taken.
        axis: Middle of the part, (3,), of any length.
        angle: Its half opening [rad]; π is the whole sphere.
    """
    height = 1.0 - random.random() * (1.0 - math.cos(angle))
    around = 2.0 * math.pi * random.random()
    radius = math.sqrt(max(1.0 - height * height, 0.0))
    first, second, middle = axes_beside(axis)
    across = math.cos(around) * first + math.sin(around) * second
    return np.asarray(height * middle + radius * across)


def axes_beside(axis: ArrayLike) -> tuple[Array, Array, Array]:
    """Three unit vectors at right angles, right-handed, of which the last is along an axis."""
    middle = np.asarray(axis, dtype=float)
    middle = middle / np.linalg.norm(middle)
    helper = np.zeros(3)
    helper[int(np.abs(middle).argmin())] = 1.0
    first = np.cross(helper, middle)
    first /= np.linalg.norm(first)
    return first, np.cross(middle, first), middle


def point_in_ball(random: np.random.Generator, radius: float) -> Array:
    """A place uniform in a ball about the origin [m], (3,); takes three numbers of chance."""
    direction = direction_in_cone(random, (0.0, 0.0, 1.0), math.pi)
    return np.asarray(radius * random.random() ** (1.0 / 3.0) * direction)


def quaternion_between(start: ArrayLike, end: ArrayLike) -> Array:
    """The rotation by the smallest angle that takes one unit vector to another, (3, 3).

    Opposite ones are a half turn about some axis at a right angle to both.
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    axis, cosine = np.cross(start, end), float(start @ end)
    sine = float(np.linalg.norm(axis))
    if sine < 1e-12:
        about = axes_beside(start)[0] * (math.pi if cosine < 0.0 else 0.0)
    else:
        about = axis / sine * math.atan2(sine, cosine)
    return np.asarray(Rotation.from_rotvec(about).as_matrix())
