"""Which curvatures bring the end of a segment or of a chain where it is wanted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult, least_squares
from scipy.spatial.transform import Rotation

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.pcc.chain import chain_jacobian, frames_along
from softgrasp.mechanics.pcc.segment import bend_transform
from softgrasp.mechanics.transforms import Array

STARTS = 8
"""A chain is tried from so many shapes: from one, one pose in thirty is missed."""
FIRST_BEND = 0.3
"""Largest bending angle of the shapes to start from, after the straight one, over the limit."""
WALL = 10.0
"""Weight of an angle beyond its limit [1/rad, in chain lengths]."""


@dataclass(frozen=True)
class ChainPose:
    """A shape of a chain that brings its end to a target, or as near as it can be.

    Args:
        kappas: Curvatures [1/m], shape (n,).
        phis: Angles of the bending planes, ``bishop`` frames [rad], (n,).
        position_error: Distance of the end from the target [m].
        rotation_error: Angle between end and target frame [rad]; 0 where only a position was asked.
        reached: Whether both are within the tolerance.
    """

    kappas: Array
    phis: Array
    position_error: float
    rotation_error: float
    reached: bool


def segment_inverse(position: ArrayLike) -> tuple[float, float, float]:
    """Curvature [1/m], plane angle [rad] and length [m] of the arc that ends at a position.

    The arc leaves the origin along +z; every position but those with x = y = 0 and z ≤ 0 is the
    end of exactly one that bends by less than a full turn.

    Args:
        position: (x, y, z) [m].

    Raises:
        DescriptionError: There is no such arc.
    """
    x, y, z = (float(part) for part in np.asarray(position, dtype=float))
    aside, distance = float(np.hypot(x, y)), float(np.linalg.norm([x, y, z]))
    if not np.isfinite(distance) or (aside == 0.0 and z <= 0.0):
        raise DescriptionError(
            f"expected a position off the line x = y = 0, z <= 0, found ({x:g}, {y:g}, {z:g})",
            field="position",
        )
    half = float(np.arctan2(aside, z))
    length = distance / float(np.sinc(half / np.pi))
    return 2.0 * half / length, float(np.arctan2(y, x)), length


def chain_inverse(
    target: ArrayLike,
    lengths: ArrayLike,
    *,
    max_bending: float = np.pi,
    tolerance: float = 1e-8,
    seed: int = 0,
) -> ChainPose:
    """A shape of a chain of segments of fixed length that brings its end to a target.

    A position has many such shapes; the one nearest to straight in the order of trial is returned.
    A shape within the limits is found by least squares from several starts.

    Args:
        target: A position (3,) [m], or a frame (4, 4), in the base frame.
        lengths: Arc lengths [m], shape (n,).
        max_bending: Largest bending angle θ of a segment [rad].
        tolerance: Distance [m] and angle [rad] within which the target counts as reached.
        seed: Of the shapes to start from.

    Raises:
        DescriptionError: The target is neither a position nor a frame, or a limit is not positive.
    """
    goal = np.asarray(target, dtype=float)
    arcs = np.atleast_1d(np.asarray(lengths, dtype=float))
    if not ((arcs > 0.0) & (arcs < np.inf)).all():
        raise DescriptionError(f"expected numbers above 0, found {arcs}", field="lengths")
    if goal.shape not in ((3,), (4, 4)) or not np.isfinite(goal).all():
        raise DescriptionError(
            f"expected a position (3,) or a frame (4, 4), found shape {goal.shape}", field="target"
        )
    if not max_bending > 0.0:
        raise DescriptionError(f"expected above 0, found {max_bending}", field="max_bending")
    task = _Task(goal, arcs, max_bending)
    best: ChainPose | None = None
    for start in _starts(len(arcs), max_bending, seed):
        pose = task.solve(start, tolerance)
        if best is None or pose.position_error + pose.rotation_error < (
            best.position_error + best.rotation_error
        ):
            best = pose
        if best.reached:
            break
    assert best is not None
    return best


def _starts(segments: int, max_bending: float, seed: int) -> list[Array]:
    random = np.random.default_rng(seed)
    reach = FIRST_BEND * max_bending
    bent = [random.uniform(-reach, reach, 2 * segments) for _ in range(STARTS - 1)]
    return [np.full(2 * segments, 1e-3), *bent]


class _Task:
    """Residuals of a chain's end against its target, in chain lengths and radians."""

    def __init__(self, goal: Array, lengths: Array, max_bending: float) -> None:
        self._goal, self._lengths, self._max_bending = goal, lengths, max_bending
        self._whole = float(lengths.sum())
        self._oriented = goal.shape == (4, 4)
        self._target_position = goal[:3, 3] if self._oriented else goal

    def solve(self, start: Array, tolerance: float) -> ChainPose:
        """The nearest least-squares shape from a start."""
        fit: OptimizeResult = least_squares(
            self._residuals, start, self._slopes, method="trf", xtol=1e-15, ftol=1e-15, gtol=1e-15
        )
        bends = self._within(np.asarray(fit.x).reshape(-1, 2))
        end = self._end(bends)
        away = float(np.linalg.norm(end[:3, 3] - self._target_position))
        rotation_error = (
            float(np.linalg.norm(self._rotation_error_vector(end))) if self._oriented else 0.0
        )
        theta = np.hypot(bends[:, 0], bends[:, 1])
        return ChainPose(
            kappas=theta / self._lengths,
            phis=np.arctan2(bends[:, 1], bends[:, 0]),
            position_error=away,
            rotation_error=rotation_error,
            reached=away <= tolerance and rotation_error <= tolerance,
        )

    def _within(self, bends: Array) -> Array:
        theta = np.hypot(bends[:, 0], bends[:, 1])
        scale = np.minimum(1.0, self._max_bending / np.maximum(theta, 1e-300))
        return np.asarray(bends * scale[:, None])

    def _end(self, bends: Array) -> Array:
        steps = bend_transform(bends[:, 0], bends[:, 1], self._lengths)
        return np.asarray(frames_along(steps)[-1])

    def _rotation_error_vector(self, end: Array) -> Array:
        """Rotation vector from the target to the end frame, in the base frame [rad]."""
        return np.asarray(Rotation.from_matrix(end[:3, :3] @ self._goal[:3, :3].T).as_rotvec())

    def _residuals(self, flat: Array) -> Array:
        bends = flat.reshape(-1, 2)
        end = self._end(bends)
        parts = [(end[:3, 3] - self._target_position) / self._whole]
        if self._oriented:
            parts.append(self._rotation_error_vector(end))
        over = np.hypot(bends[:, 0], bends[:, 1]) - self._max_bending
        parts.append(WALL * np.maximum(over, 0.0))
        return np.concatenate(parts)

    def _slopes(self, flat: Array) -> Array:
        bends = flat.reshape(-1, 2)
        whole = chain_jacobian(bends[:, 0], bends[:, 1], self._lengths)
        columns = np.arange(whole.shape[1]).reshape(-1, 3)[:, :2].reshape(-1)
        rows = [whole[:3, columns] / self._whole]
        if self._oriented:
            rows.append(
                _inverse_left_jacobian(self._rotation_error_vector(self._end(bends)))
                @ whole[3:, columns]
            )
        rows.append(self._wall_slopes(bends))
        return np.concatenate(rows)

    def _wall_slopes(self, bends: Array) -> Array:
        theta = np.maximum(np.hypot(bends[:, 0], bends[:, 1]), 1e-300)
        slopes = np.zeros((len(bends), bends.size))
        for index in np.flatnonzero(theta > self._max_bending):
            slopes[index, 2 * index : 2 * index + 2] = WALL * bends[index] / theta[index]
        return slopes


def _inverse_left_jacobian(rotation_vector: Array) -> Array:
    """From angular velocity to the rate of a rotation vector, (3, 3)."""
    angle = float(np.linalg.norm(rotation_vector))
    x, y, z = rotation_vector
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    if angle < 1e-4:
        return np.asarray(np.eye(3) - 0.5 * skew + skew @ skew / 12.0)
    factor = 1.0 / angle**2 - 0.5 / (angle * np.tan(0.5 * angle))
    return np.asarray(np.eye(3) - 0.5 * skew + factor * skew @ skew)
