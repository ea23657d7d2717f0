"""Pinhole camera with the lens distortion of Brown (1971): projection and its inverse.

With x = X/Z, y = Y/Z and r² = x² + y² a point projects to, as in OpenCV,

    x' = x (1 + k1 r² + k2 r⁴ + k3 r⁶) + 2 p1 x y + p2 (r² + 2 x²)
    y' = y (1 + k1 r² + k2 r⁴ + k3 r⁶) + p1 (r² + 2 y²) + 2 p2 x y
    u = fx x' + cx,  v = fy y' + cy

The inverse has no closed form; Newton's method solves the polynomial. Paper 001 (eq 1–3) prints the
forward polynomial as the inverse, which distorts once more (measured in docs/lessons/paper001.md).
``cv2.undistortPoints`` is no replacement: OpenCV is an optional library of this package, its
default of five iterations leaves 0.25 pixels at the corners of an image with k1 = −0.3, and it
returns a value also where no inverse exists.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.sensor import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

STEPS = 60
"""Largest number of Newton steps; four to six are typical."""
TOLERANCE = 1e-13
"""Largest remaining Newton step, over the focal length [–]."""
REAL = 1e-9
"""Imaginary part up to which a root of a polynomial counts as real [–]."""
NEGLIGIBLE = 1e-100
"""Inverse of a squared radius below which the radius counts as infinite [–]."""


def distort(camera: PinholeCamera, plane: ArrayLike) -> Array:
    """Apply the distortion polynomial to points of the plane at depth 1, (..., 2).

    Beyond ``fold_radius`` the polynomial is not invertible; such points are not refused here.
    """
    points = np.asarray(plane, dtype=float)
    x, y = points[..., 0], points[..., 1]
    square = x**2 + y**2
    radial = _radial(camera, square)
    return np.stack(
        [
            x * radial + 2.0 * camera.p1 * x * y + camera.p2 * (square + 2.0 * x**2),
            y * radial + camera.p1 * (square + 2.0 * y**2) + 2.0 * camera.p2 * x * y,
        ],
        axis=-1,
    )


def fold_radius(camera: PinholeCamera) -> float:
    """Compute the radius in the plane at depth 1 beyond which the radial polynomial decreases [–].

    Beyond it two points of the plane project to one pixel, so no inverse exists. Infinite for a
    polynomial that increases everywhere.
    """
    # in the inverse of the squared radius the leading coefficient is 1, so nothing overflows
    inverse = np.roots([1.0, 3.0 * camera.k1, 5.0 * camera.k2, 7.0 * camera.k3])
    roots = 1.0 / inverse[np.abs(inverse) > NEGLIGIBLE]
    real = roots.real[np.abs(roots.imag) < REAL * np.maximum(1.0, np.abs(roots.real))]
    above = real[real > 0.0]
    return float(np.sqrt(above.min())) if above.size else np.inf


def project(camera: PinholeCamera, points: ArrayLike) -> Array:
    """Project points of the camera's frame (..., 3) [m] to pixels (..., 2).

    Raises:
        DescriptionError: A point is not in front of the camera, or beyond ``fold_radius``.
    """
    positions = np.asarray(points, dtype=float)
    depth = positions[..., 2]
    if not (depth > 0.0).all():
        raise DescriptionError(
            f"expected points in front of the camera (z > 0), found z = {np.min(depth):g} m"
        )
    plane = positions[..., :2] / depth[..., None]
    farthest, max_radius = float(np.max(np.hypot(*np.moveaxis(plane, -1, 0)))), fold_radius(camera)
    if not farthest < max_radius:
        raise DescriptionError(
            f"expected points within {max_radius:.4g} of the axis at depth 1, where the distortion "
            f"polynomial has an inverse, found one at {farthest:.4g}"
        )
    return distort(camera, plane) * _focal(camera) + _center(camera)


def undistort(camera: PinholeCamera, pixels: ArrayLike) -> Array:
    """Compute the points (..., 2) of the plane at depth 1 that project to pixels (..., 2).

    Raises:
        DescriptionError: A pixel is not finite, or no point within ``fold_radius`` projects to it.
    """
    seen = np.asarray(pixels, dtype=float)
    if seen.shape[-1:] != (2,) or not np.isfinite(seen).all():
        raise DescriptionError(f"expected finite pixels (column, row), found {seen.tolist()}")
    target = ((seen - _center(camera)) / _focal(camera)).reshape(-1, 2)
    max_radius = fold_radius(camera)
    plane_points = _within(target, max_radius)
    step = np.full_like(plane_points, np.inf)
    for _ in range(STEPS):
        left = target - distort(camera, plane_points)
        step = _newton_step(camera, plane_points, left)
        plane_points = _within(plane_points + step, max_radius)
        if np.abs(step).max(initial=0.0) <= TOLERANCE:
            break
    _check(
        camera,
        seen.reshape(-1, 2),
        plane_points,
        np.abs(step).max(axis=-1, initial=0.0),
        max_radius,
    )
    return plane_points.reshape(seen.shape)


def rays(camera: PinholeCamera, pixels: ArrayLike) -> Array:
    """Compute unit vectors (..., 3) of the camera's frame in the directions of pixels (..., 2).

    Raises:
        DescriptionError: As ``undistort``.
    """
    ahead = _with_depth_one(undistort(camera, pixels))
    return np.asarray(ahead / np.linalg.norm(ahead, axis=-1, keepdims=True))


def deproject(camera: PinholeCamera, pixels: ArrayLike, depths: ArrayLike) -> Array:
    """Compute points (..., 3) of the camera's frame [m] from pixels (..., 2) and depths [m].

    The point is (x, y, 1)·z; paper 001 (eq 1) omits z. Depth is measured along the camera's axis,
    as RGB-D cameras report it, not along the ray.

    Raises:
        DescriptionError: A depth is not above zero, or as ``undistort``.
    """
    depth = np.asarray(depths, dtype=float)
    if not ((depth > 0.0) & (depth < np.inf)).all():
        raise DescriptionError(f"expected depths above 0 m, found {depth.tolist()}", field="depths")
    return np.asarray(_with_depth_one(undistort(camera, pixels)) * depth[..., None])


def _radial(camera: PinholeCamera, square: Array) -> Array:
    return 1.0 + square * (camera.k1 + square * (camera.k2 + square * camera.k3))


def _slopes(camera: PinholeCamera, plane: Array) -> tuple[Array, Array, Array]:
    """Compute the derivative of ``distort``: dx'/dx, dy'/dy, and dx'/dy = dy'/dx, each (n,)."""
    x, y = plane[..., 0], plane[..., 1]
    square = x**2 + y**2
    radial = _radial(camera, square)
    grows = 2.0 * (camera.k1 + square * (2.0 * camera.k2 + square * 3.0 * camera.k3))
    return (
        radial + x**2 * grows + 2.0 * camera.p1 * y + 6.0 * camera.p2 * x,
        radial + y**2 * grows + 6.0 * camera.p1 * y + 2.0 * camera.p2 * x,
        x * y * grows + 2.0 * (camera.p1 * x + camera.p2 * y),
    )


def _newton_step(camera: PinholeCamera, plane: Array, left: Array) -> Array:
    """Solve for the Newton step of residuals (n, 2) by Cramer's rule."""
    along, down, mixed = _slopes(camera, plane)
    determinant = along * down - mixed**2
    # where the derivative is singular, the residual itself is the step
    flat = np.abs(determinant) < REAL
    safe = np.where(flat, 1.0, determinant)
    step = np.stack(
        [
            (down * left[:, 0] - mixed * left[:, 1]) / safe,
            (along * left[:, 1] - mixed * left[:, 0]) / safe,
        ],
        axis=-1,
    )
    return np.where(flat[:, None], left, step)


def _within(plane: Array, max_radius: float) -> Array:
    """Move points beyond the fold radius to just inside it."""
    if np.isinf(max_radius):
        return plane
    radius = np.hypot(plane[:, 0], plane[:, 1])
    return plane * np.minimum(1.0, 0.9999 * max_radius / np.maximum(radius, 1e-300))[:, None]


def _check(
    camera: PinholeCamera, seen: Array, plane_points: Array, left: Array, max_radius: float
) -> None:
    """Refuse pixels without a converged, unique inverse."""
    along, down, mixed = _slopes(camera, plane_points)
    good = (left <= 1e3 * TOLERANCE) & (along > 0.0) & (along * down > mixed**2)
    good &= (
        np.abs(distort(camera, plane_points) * _focal(camera) + _center(camera) - seen).max(-1)
        < 1e-6
    )
    if good.all():
        return
    column, row = seen[np.argmin(good)]
    why = (
        "does not converge there"
        if np.isinf(max_radius)
        else f"folds over at radius {max_radius:.4g}"
    )
    raise DescriptionError(
        f"expected pixels whose distortion can be undone, found ({column:.1f}, {row:.1f}), one of "
        f"{int((~good).sum())}: the polynomial of k1, k2, k3, p1 and p2 {why}"
    )


def _with_depth_one(plane: Array) -> Array:
    return np.concatenate([plane, np.ones((*plane.shape[:-1], 1))], axis=-1)


def _focal(camera: PinholeCamera) -> Array:
    return np.array([camera.fx, camera.fy])


def _center(camera: PinholeCamera) -> Array:
    return np.array([camera.cx, camera.cy])
