"""Bends of the pieces of a finger from pixels that were picked in its picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.pinhole_camera import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.camera import undistort
from softgrasp.mechanics.piece_angles import (
    AngleEstimate,
    direction_rows,
    directions,
    solve_angles,
)
from softgrasp.mechanics.transforms import Array

PICK_NOISE = 1.0
"""Standard deviation of a pick in column and in row, where not given [pixels]."""
DEPTH_NOISE = 2e-3
"""Standard deviation of the depth at a pick, where not given [m]."""
TILT = 0.1
"""How far the finger's plane is off square to the camera before depths are looked at: one standard
deviation of its slope [–]. It holds the plane where picks in a row say nothing of a tilt."""
STEP = 1e-5
"""Of the central differences [pixels, m]."""


class Picks(NamedTuple):
    """What was picked in a picture."""

    cuts: Array
    """Columns and rows at the cuts between pieces, base and tip included [pixels], (n + 1, 2)
    along the middle line, or (n + 1, 2, 2) at both edges of the finger."""
    line: Array | None = None
    """Start and end of the reference line, along the finger at its base [pixels], (2, 2)."""
    depths: Array | None = None
    """At the picks of the cuts [m], (n + 1,) or (n + 1, 2); None for a finger whose plane is
    square to the camera."""


def picked_angles(
    camera: PinholeCamera,
    picks: Picks,
    *,
    pick_noise: float = PICK_NOISE,
    depth_noise: float = DEPTH_NOISE,
) -> AngleEstimate:
    """Angles of the pieces, positive for a finger that turns clockwise in the picture.

    Picks are undistorted. The depths together tell the plane in which the finger bends (its
    inverse depth is linear over the undistorted picture), the rays through the picks are cut with
    it, and angles are taken there. Every pick with a depth of its own would be worse: 2 mm of noise
    at 0.35 m moves a point near the border of the picture by as much as some pixels.

    Args:
        camera: The camera.
        picks: What was picked.
        pick_noise: Standard deviation of a pick in column and in row [pixels].
        depth_noise: Standard deviation of a depth [m].

    Raises:
        DescriptionError: Arrays of the wrong shape, fewer than two cuts, two picks in one place, a
            noise that is not above zero, or as ``undistort`` and ``solve_angles``.
    """
    cuts, line, depths = _checked(picks)
    for field, noise in (("pick_noise", pick_noise), ("depth_noise", depth_noise)):
        if not 0.0 < noise < np.inf:
            raise DescriptionError(f"expected a number above 0, found {noise}", field=field)
    pixels = np.concatenate([cuts.reshape(-1, 2), *([] if line is None else [line])])
    shape = cuts.shape[:2]

    def seen(values: Array) -> Array:
        """Directions for picks and depths in rows (..., 2 k + d)."""
        points = undistort(camera, values[..., : pixels.size].reshape(*values.shape[:-1], -1, 2))
        if depths is not None:
            depth_values = values[..., pixels.size :]
            fit = plane_coefficients(
                points[..., : depth_values.shape[-1], :], depth_values, depth_noise
            )
            points = _in_plane(points, fit)
        inner = points[..., : shape[0] * shape[1], :]
        ends = None if line is None else points[..., -2:, :]
        return directions(ends, inner.reshape(*values.shape[:-1], *shape, 2))

    measured = np.concatenate([pixels.ravel(), np.zeros(0) if depths is None else depths])
    steps = STEP * np.eye(len(measured))
    noises = np.where(np.arange(len(measured)) < pixels.size, pick_noise, depth_noise)
    differences = 0.5 * (seen(measured + steps) - seen(measured - steps)) / STEP
    scaled = differences * noises[:, None]
    rows = direction_rows(len(cuts) - 1, line=line is not None, edges=shape[1] == 2)
    return solve_angles(seen(measured), scaled.T @ scaled, rows)


def plane_coefficients(plane: ArrayLike, depths: ArrayLike, noise: float) -> Array:
    """The plane of points seen at (x, y) with depths z: 1/z = c₀ + c₁ x + c₂ y, (..., 3) [1/m].

    Least squares over the inverse depths, in which a plane is linear, where the plane is taken to
    be square to the camera within a slope of ``TILT``.

    Args:
        plane: Undistorted points at depth 1, (..., k, 2).
        depths: (..., k) [m].
        noise: Standard deviation of a depth [m].
    """
    points, depth = np.asarray(plane, dtype=float), np.asarray(depths, dtype=float)
    center = points.mean(axis=-2, keepdims=True)
    # an inverse depth is uncertain by noise/z²
    weights = (depth**2 / noise)[..., None]
    rows = np.concatenate([np.ones_like(points[..., :1]), points - center], axis=-1) * weights
    firm = (np.median(depth, axis=-1) / TILT)[..., None, None] ** 2 * np.diag([0.0, 1.0, 1.0])
    transposed = np.swapaxes(rows, -1, -2)
    sides = transposed @ (weights / depth[..., None])
    coefficients = np.linalg.solve(transposed @ rows + firm, sides)[..., 0]
    coefficients[..., 0] -= (coefficients[..., 1:] * center[..., 0, :]).sum(axis=-1)
    return np.asarray(coefficients)


def _in_plane(points: Array, coefficients: Array) -> Array:
    """Where rays through points at depth 1 (..., k, 2) meet a plane, in its axes, (..., k, 2) [m].

    The first axis is the camera's x, seen from the camera; the second lies towards its y.
    """
    inverse = coefficients[..., :1] + (points @ coefficients[..., 1:, None])[..., 0]
    if not (inverse > 0.0).all():
        raise DescriptionError("expected depths of one plane before the camera, found others")
    plane_points = (
        np.concatenate([points, np.ones_like(points[..., :1])], axis=-1) / inverse[..., None]
    )
    normal = coefficients[..., [1, 2, 0]]
    normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
    right = np.array([1.0, 0.0, 0.0]) - normal[..., :1] * normal
    right = right / np.linalg.norm(right, axis=-1, keepdims=True)
    return np.asarray(plane_points @ np.stack([right, np.cross(normal, right)], axis=-1))


def _checked(picks: Picks) -> tuple[Array, Array | None, Array | None]:
    """Cuts (n + 1, 1 or 2, 2), line (2, 2) and depths (k,) of picks that can be measured."""
    cuts = np.asarray(picks.cuts, dtype=float)
    if cuts.ndim == 2:
        cuts = cuts[:, None]
    if cuts.ndim != 3 or cuts.shape[0] < 2 or cuts.shape[1] not in (1, 2) or cuts.shape[2] != 2:
        raise DescriptionError(
            "expected two cuts or more, each picked once or at both edges, as (column, row), found "
            f"shape {np.shape(picks.cuts)}",
            field="cuts",
        )
    _refuse_twice("cuts", np.diff(cuts.mean(axis=1), axis=0))
    if cuts.shape[1] == 2:
        _refuse_twice("cuts", cuts[:, 1] - cuts[:, 0])
    if picks.line is None:
        return cuts, None, _checked_depths(picks, cuts.size // 2)
    line = np.asarray(picks.line, dtype=float)
    if line.shape != (2, 2):
        raise DescriptionError(f"expected two picks, found shape {line.shape}", field="line")
    _refuse_twice("line", np.diff(line, axis=0))
    return cuts, line, _checked_depths(picks, cuts.size // 2)


def _refuse_twice(field: str, steps: Array) -> None:
    if (np.hypot(steps[:, 0], steps[:, 1]) == 0.0).any():
        raise DescriptionError("expected picks in different places, found one twice", field=field)


def _checked_depths(picks: Picks, count: int) -> Array | None:
    if picks.depths is None:
        return None
    depths = np.asarray(picks.depths, dtype=float).ravel()
    if len(depths) != count:
        raise DescriptionError(
            f"expected {count} depths, one a pick, found {len(depths)}", field="depths"
        )
    if not ((depths > 0.0) & (depths < np.inf)).all():
        raise DescriptionError(
            f"expected depths above 0 m, found {depths.tolist()}", field="depths"
        )
    return depths
