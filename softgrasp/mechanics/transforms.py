"""Rigid transforms: (4, 4) matrices, quaternions (w, x, y, z), Euler angles z-y-x, random poses.

``transform`` is written out because building a scene calls it often and scipy's Rotation takes ten
times as long; everything else uses scipy.
"""

from __future__ import annotations

import math
import warnings
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]
"""Array of floating-point numbers."""


# Matrices, quaternions and Euler angles.


def transform(position: ArrayLike = (0, 0, 0), quaternion: ArrayLike = (1, 0, 0, 0)) -> Array:
    """Return ``T_parent_child`` (4, 4) from an origin [m] and a quaternion (w, x, y, z)."""
    w, x, y, z = np.asarray(quaternion, dtype=float).tolist()
    scale = 2.0 / (w * w + x * x + y * y + z * z)
    xx, yy, zz = scale * x * x, scale * y * y, scale * z * z
    xy, xz, yz = scale * x * y, scale * x * z, scale * y * z
    wx, wy, wz = scale * w * x, scale * w * y, scale * w * z
    matrix = np.array([
        [1.0 - yy - zz, xy - wz, xz + wy, 0.0],
        [xy + wz, 1.0 - xx - zz, yz - wx, 0.0],
        [xz - wy, yz + wx, 1.0 - xx - yy, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ])  # fmt: skip
    matrix[:3, 3] = position
    return matrix


def position_of(matrix: Array) -> tuple[float, float, float]:
    """Return the origin of the child frame [m]."""
    return triple(matrix[:3, 3])


def triple(values: ArrayLike) -> tuple[float, float, float]:
    """Return three numbers as a tuple of floats."""
    x, y, z = np.asarray(values, dtype=float).tolist()
    return (x, y, z)


def quaternion_of(matrix: Array) -> tuple[float, float, float, float]:
    """Return the unit quaternion (w, x, y, z), w ≥ 0, of a (4, 4) or (3, 3) matrix."""
    rotation = Rotation.from_matrix(matrix[:3, :3])
    w, x, y, z = rotation.as_quat(canonical=True, scalar_first=True).tolist()
    return (w, x, y, z)


def rotation_from_euler(euler: ArrayLike) -> Array:
    """Return the (3, 3) matrix of angles about x, y, z [rad], intrinsic z-y-x: R = Rz·Ry·Rx."""
    return _rotation_from_euler(np.asarray(euler, dtype=float).tobytes()).copy()


@lru_cache(maxsize=256)
def _rotation_from_euler(euler: bytes) -> Array:
    about_x, about_y, about_z = np.frombuffer(euler)
    return np.asarray(Rotation.from_euler("ZYX", [about_z, about_y, about_x]).as_matrix())


def euler_from_quaternions(quaternions: ArrayLike) -> Array:
    """Return angles about x, y, z of intrinsic z-y-x, (..., 3) [rad], of quaternions (..., 4).

    At ±90° about y the rotations about x and z have one axis; the angle about x is then zero.
    """
    quaternions = np.asarray(quaternions, dtype=float)
    rotations = Rotation.from_quat(quaternions.reshape(-1, 4), scalar_first=True)
    return euler_from_rotation(rotations).reshape(*quaternions.shape[:-1], 3)


def euler_from_rotation(rotation: Rotation) -> Array:
    """Return angles about x, y, z of intrinsic z-y-x, (3,) or (n, 3) [rad], as above."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Gimbal lock")  # which SciPy reports
        return np.asarray(rotation.as_euler("ZYX")[..., ::-1])


def relative_quaternions(quaternions: ArrayLike, reference: ArrayLike) -> Array:
    """Return rotations since ``reference`` in the world frame, q·q_ref⁻¹, (..., 4)."""
    start = Rotation.from_quat(np.asarray(reference), scalar_first=True)
    rotations = Rotation.from_quat(np.asarray(quaternions), scalar_first=True) * start.inv()
    return np.asarray(rotations.as_quat(canonical=True, scalar_first=True))


def rotation_angles(quaternions: ArrayLike, reference: ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> Array:
    """Return angles of rotations since a reference [rad], 0…π, (...) for quaternions (..., 4).

    4·atan2(|q − r|, |q + r|) for the sign of r that is nearer to q: exact also for small angles.
    """
    quaternion_array, from_ = (
        np.asarray(quaternions, dtype=float),
        np.asarray(reference, dtype=float),
    )
    apart = np.linalg.norm(quaternion_array - from_, axis=-1)
    along = np.linalg.norm(quaternion_array + from_, axis=-1)
    return np.asarray(4.0 * np.arctan2(np.minimum(apart, along), np.maximum(apart, along)))


def rotate_about(axis: str, angle: ArrayLike) -> Array:
    """Return rotations about x, y or z, (..., 4, 4) for angles of shape (...) [rad]."""
    angle = np.asarray(angle, dtype=float)
    first, second = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    matrix = np.zeros((*angle.shape, 4, 4))
    matrix[..., range(4), range(4)] = 1.0
    matrix[..., first, first] = matrix[..., second, second] = np.cos(angle)
    matrix[..., second, first] = np.sin(angle)
    matrix[..., first, second] = -np.sin(angle)
    return matrix


def translate(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Array:
    """Return the (4, 4) matrix of a translation [m]."""
    matrix = np.eye(4)
    matrix[:3, 3] = (x, y, z)
    return matrix


def nearest_rotation(matrix: ArrayLike) -> tuple[Array, float]:
    """Return the rotation nearest to a (3, 3) matrix, and the matrix's orthonormality error.

    Returns:
        The orthogonal polar factor and max |MᵀM − 1| [–]. A reflection remains a reflection.
    """
    matrix_array = np.asarray(matrix, dtype=float)
    left, _, right = np.linalg.svd(matrix_array)
    return left @ right, float(np.abs(matrix_array.T @ matrix_array - np.eye(3)).max())


def align(points: Array, goals: Array) -> tuple[Array, float]:
    """Return the pose, (4, 4), that brings points nearest to goals, (n, 3), and the error [m]."""
    frame, middle, other = np.eye(4), points.mean(axis=0), goals.mean(axis=0)
    rotation, error = Rotation.align_vectors(goals - other, points - middle)
    frame[:3, :3] = rotation.as_matrix()
    frame[:3, 3] = other - frame[:3, :3] @ middle
    return frame, float(error)


def move_frames(frame: Array, changes: Array) -> Array:
    """Return a pose changed by rotation vectors and displacements (n, 6), (n, 4, 4)."""
    frames = np.tile(frame, (len(changes), 1, 1))
    frames[:, :3, :3] = Rotation.from_rotvec(changes[:, :3]).as_matrix() @ frame[:3, :3]
    frames[:, :3, 3] += changes[:, 3:6]
    return frames


def quaternion_between(start: ArrayLike, end: ArrayLike) -> Array:
    """Return the smallest rotation that takes one unit vector to another, (3, 3).

    For opposite vectors a half turn about an axis perpendicular to both.
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    axis, cosine = np.cross(start, end), float(start @ end)
    sine = float(np.linalg.norm(axis))
    if sine < 1e-12:
        about = axes_beside(start)[0] * (math.pi if cosine < 0.0 else 0.0)
    else:
        about = axis / sine * math.atan2(sine, cosine)
    return np.asarray(Rotation.from_rotvec(about).as_matrix())


def axes_beside(axis: ArrayLike) -> tuple[Array, Array, Array]:
    """Return a right-handed orthonormal frame whose last vector is along an axis."""
    middle = np.asarray(axis, dtype=float)
    middle = middle / np.linalg.norm(middle)
    helper = np.zeros(3)
    helper[int(np.abs(middle).argmin())] = 1.0
    first = np.cross(helper, middle)
    first /= np.linalg.norm(first)
    return first, np.cross(middle, first), middle


def minimum_jerk(fraction: ArrayLike) -> Array:
    """Return the fraction of a rest-to-rest motion at fractions of its time, any shape.

    The polynomial of degree five with zero velocity and acceleration at both ends; its largest
    speed is 1.875 times the mean speed.
    """
    fraction = np.asarray(fraction, dtype=float)
    return np.asarray(fraction**3 * (10.0 - 15.0 * fraction + 6.0 * fraction**2))


# Random directions and points.


def direction_in_cone(random: np.random.Generator, axis: ArrayLike, angle: float) -> Array:
    """Sample a unit vector uniformly from the part of the sphere around an axis, (3,).

    The area of a sphere between two parallel planes depends on their distance only (Archimedes), so
    the cosine of the angle to the axis is uniform.

    Args:
        random: Random generator; two numbers are drawn.
        axis: Axis of the cone, (3,), of any length.
        angle: Half opening angle [rad]; π is the whole sphere.
    """
    height = 1.0 - random.random() * (1.0 - math.cos(angle))
    around = 2.0 * math.pi * random.random()
    radius = math.sqrt(max(1.0 - height * height, 0.0))
    first, second, middle = axes_beside(axis)
    across = math.cos(around) * first + math.sin(around) * second
    return np.asarray(height * middle + radius * across)


def point_in_ball(random: np.random.Generator, radius: float) -> Array:
    """Sample a point uniformly from a ball about the origin [m], (3,); three numbers are drawn."""
    direction = direction_in_cone(random, (0.0, 0.0, 1.0), math.pi)
    return np.asarray(radius * random.random() ** (1.0 / 3.0) * direction)
