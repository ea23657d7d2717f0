"""Bends of the pieces of a finger from pixels that were picked in its picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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

    def seen(plane: Array, given: Array | None) -> Array:
        if given is not None:
            plane = _in_plane(plane, plane_coefficients(plane[: given.size], given, depth_noise))
        points = plane[: shape[0] * shape[1]].reshape(*shape, 2)
        return directions(None if line is None else plane[-2:], points)

    plane = undistort(camera, pixels)
    slopes = [_slope(lambda moved: seen(moved, depths), *pair, pick_noise)
              for pair in _moved(camera, pixels, plane)]  # fmt: skip
    if depths is not None:
        slopes += [_slope(lambda moved: seen(plane, moved), *pair, depth_noise)
                   for pair in _shifted(depths)]  # fmt: skip
    noise = np.stack(slopes, axis=-1)
    rows = direction_rows(len(cuts) - 1, line=line is not None, edges=shape[1] == 2)
    return solve_angles(seen(plane, depths), noise @ noise.T, rows)


def plane_coefficients(plane: ArrayLike, depths: ArrayLike, noise: float) -> Array:
    """The plane of points seen at (x, y) with depths z: 1/z = c₀ + c₁ x + c₂ y, (3,) [1/m].

    Least squares over the inverse depths, in which a plane is linear, where the plane is taken to
    be square to the camera within a slope of ``TILT``.

    Args:
        plane: Undistorted points at depth 1, (k, 2).
        depths: (k,) [m].
        noise: Standard deviation of a depth [m].
    """
    points, depth = np.asarray(plane, dtype=float), np.asarray(depths, dtype=float)
    middle, center = float(np.median(depth)), points.mean(axis=0)
    weight = depth**2 / noise
    rows = np.column_stack([np.ones(len(points)), points - center]) * weight[:, None]
    prior = np.diag([0.0, 1.0, 1.0])[1:] * (middle / TILT)
    whole = np.concatenate([rows, prior])
    found = np.linalg.lstsq(whole, np.concatenate([weight / depth, [0.0, 0.0]]), rcond=None)[0]
    return np.array([found[0] - found[1:] @ center, *found[1:]])


def _in_plane(points: Array, coefficients: Array) -> Array:
    """Where rays through points at depth 1 (k, 2) meet a plane, in axes of it, (k, 2) [m].

    The first axis is the camera's x, seen from the camera; the second lies towards its y.
    """
    inverse = coefficients[0] + points @ coefficients[1:]
    if not (inverse > 0.0).all():
        raise DescriptionError("expected depths of one plane before the camera, found others")
    places = np.column_stack([points, np.ones(len(points))]) / inverse[:, None]
    normal = np.array([*coefficients[1:], coefficients[0]])
    normal /= np.linalg.norm(normal)
    right = np.array([1.0, 0.0, 0.0]) - normal[0] * normal
    right /= np.linalg.norm(right)
    return places @ np.column_stack([right, np.cross(normal, right)])


def _moved(camera: PinholeCamera, pixels: Array, plane: Array) -> Iterator[tuple[Array, Array]]:
    """The undistorted points with one pick moved a little ahead and behind, by column and row."""
    step = 0.5 * STEP
    for axis in range(2):
        shift = np.eye(2)[axis] * step
        ahead, behind = undistort(camera, pixels + shift), undistort(camera, pixels - shift)
        for index in range(len(pixels)):
            pair = plane.copy(), plane.copy()
            pair[0][index], pair[1][index] = ahead[index], behind[index]
            yield pair


def _shifted(depths: Array) -> Iterator[tuple[Array, Array]]:
    """The depths with one of them a little larger and smaller."""
    for index in range(depths.size):
        shift = np.zeros(depths.size)
        shift[index] = 0.5 * STEP
        yield depths + shift, depths - shift


def _slope(function: Callable[[Array], Array], ahead: Array, behind: Array, noise: float) -> Array:
    """Central difference over ``STEP``, times the noise."""
    return np.asarray((function(ahead) - function(behind)) * (noise / STEP))


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
