"""Bending angles of a finger's pieces from points picked in its image.

docs/twin.md derives the method. The chord of a piece of constant curvature is rotated by
half its bending angle, so chords and tangents are linear in the unknown angles. Picks on the middle
line give one angle after the other, which amplifies noise; picks at both edges measure tangents,
too, and all directions are weighted by their covariance (generalised least squares). Depths define
the plane in which the finger bends; rays through undistorted picks are intersected with it.

Points are picked by a user in a window (``figures``, which also draws the result).
``read_depth`` reads depth images of RGB-D cameras.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from PIL import Image as Pillow

from softgrasp.description.sensor import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.io.input_limits import MAX_ARRAYS, check_size
from softgrasp.mechanics.camera import undistort
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.image import UNREADABLE, Image

DEPTH_NOISE = 2e-3
"""Default standard deviation of the depth of one pixel [m]."""
WINDOW = 5
"""The depth at a pick is the median over this many pixels to all sides, because cameras have noise
and holes in single pixels."""
MIN_SEEN = 0.25
"""Smallest fraction of the window with depths [–]."""
PICK_NOISE = 1.0
"""Default standard deviation of a pick in column and in row [pixels]."""
TILT = 0.1
"""Prior standard deviation of the slope of the finger's plane to the camera [–]. It determines the
plane where picks in a row do not determine a tilt."""
STEP = 1e-5
"""Step of central differences [pixels, m]."""


class Picks(NamedTuple):
    """Points picked in an image of a finger: reference line and cuts between the pieces."""

    cuts: Array
    """Columns and rows at the cuts between pieces, base and tip included [pixels], (n + 1, 2) along
    the middle line, or (n + 1, 2, 2) at both edges of the finger."""
    line: Array | None = None
    """Start and end of the reference line, along the finger at its base [pixels], (2, 2)."""
    depths: Array | None = None
    """Depths at the cuts [m], (n + 1,) or (n + 1, 2); None for a finger whose plane is parallel to
    the image."""

    @property
    def points(self) -> Array:
        """Points of the cuts, (n + 1, 1, 2) or (n + 1, 2, 2)."""
        cuts = np.asarray(self.cuts, dtype=float)
        return cuts[:, None] if cuts.ndim == 2 else cuts


@dataclass(frozen=True, eq=False)
class PickMeasurement:
    """Picked points, and the bending angles estimated from them."""

    picks: Picks
    angles: Array
    """Bending angles of the pieces, base first; positive clockwise in the image, or anticlockwise
    where requested [rad], (n,)."""
    sigmas: Array
    """Standard deviations of the angles, from the noise of picks and depths [rad], (n,)."""


def measure_picks(
    image: Image,
    camera: PinholeCamera,
    picks: Picks,
    depth: Array | None = None,
    *,
    pick_noise: float = PICK_NOISE,
    depth_noise: float = DEPTH_NOISE,
    anticlockwise: bool = False,
) -> PickMeasurement:
    """Measure bending angles of a finger's pieces from points picked in its image.

    Args:
        image: Image, (height, width, 3), of the camera's size.
        camera: Camera of the image.
        picks: Cuts and reference line; depths of the picks are read from ``depth`` where given.
        depth: Depth image [m], (height, width).
        pick_noise: Standard deviation of a pick in column and in row [pixels].
        depth_noise: Standard deviation of the depth of one pixel [m]; the median over a window
            has less.
        anticlockwise: Whether positive angles are anticlockwise in the image.

    Raises:
        DescriptionError: The camera has another image size, a pick is outside, or as
            ``pick_angles`` and ``depths_at``.
    """
    height, width = image.shape[:2]
    if (camera.width, camera.height) != (width, height):
        raise DescriptionError(
            f"expected an image of {camera.width} × {camera.height} pixels, for which the camera "
            f"was calibrated, found {width} × {height}"
        )
    cuts = np.asarray(picks.cuts, dtype=float).reshape(-1, 2)
    _refuse_outside([*cuts, *([] if picks.line is None else picks.line)], (height, width))
    if depth is not None:
        picks = picks._replace(depths=depths_at(depth, cuts))
        # standard error of the median of n normal numbers: σ √(π/2n)
        depth_noise *= float(np.sqrt(0.5 * np.pi)) / (2 * WINDOW + 1)
    measured = pick_angles(camera, picks, pick_noise=pick_noise, depth_noise=depth_noise)
    return replace(measured, angles=-measured.angles) if anticlockwise else measured


def _refuse_outside(pixels: ArrayLike, shape: tuple[int, ...]) -> None:
    for column, row in np.reshape(pixels, (-1, 2)).tolist():
        if not (0.0 <= column < shape[1] and 0.0 <= row < shape[0]):
            raise DescriptionError(
                f"expected picks within {shape[1]} × {shape[0]} pixels, found ({column:g}, {row:g})"
            )


def pick_angles(
    camera: PinholeCamera,
    picks: Picks,
    *,
    pick_noise: float = PICK_NOISE,
    depth_noise: float = DEPTH_NOISE,
) -> PickMeasurement:
    """Estimate the angles of the pieces, positive for a clockwise bend in the image of a camera.

    Noises are the standard deviations of a pick in column and in row [pixels], and of a depth [m].

    Raises:
        DescriptionError: Arrays of the wrong shape, fewer than two cuts, two equal picks, a
            noise that is not above zero, or as ``undistort`` and ``solve_angles``.
    """
    cuts, line, depths = _check(picks)
    for field, noise in (("pick_noise", pick_noise), ("depth_noise", depth_noise)):
        if not 0.0 < noise < np.inf:
            raise DescriptionError(f"expected a number above 0, found {noise}", field=field)
    pixels = np.concatenate([cuts.reshape(-1, 2), line])
    shape = cuts.shape[:2]

    def seen(values: Array) -> Array:
        """Directions for picks and depths in rows (..., 2 k + d)."""
        points = undistort(camera, values[..., : pixels.size].reshape(*values.shape[:-1], -1, 2))
        if len(depths):
            inner = points[..., : len(depths), :]
            plane = plane_coefficients(inner, values[..., pixels.size :], depth_noise)
            points = _in_plane(points, plane)
        inner = points[..., : shape[0] * shape[1], :].reshape(*values.shape[:-1], *shape, 2)
        return directions(points[..., -2:, :] if len(line) else None, inner)

    measured = np.concatenate([pixels.ravel(), depths])
    steps = STEP * np.eye(len(measured))
    noises = np.where(np.arange(len(measured)) < pixels.size, pick_noise, depth_noise)
    differences = 0.5 * (seen(measured + steps) - seen(measured - steps)) / STEP
    scaled = differences * noises[:, None]
    rows = direction_rows(len(cuts) - 1, line=len(line) > 0, edges=shape[1] == 2)
    return PickMeasurement(picks, *solve_angles(seen(measured), scaled.T @ scaled, rows))


def _check(picks: Picks) -> tuple[Array, Array, Array]:
    """Validate cuts (n + 1, 1 or 2, 2), line (2, 2) or (0, 2), and depths (k,) or (0,)."""
    cuts = picks.points
    if cuts.ndim != 3 or len(cuts) < 2 or cuts.shape[1:] not in ((1, 2), (2, 2)):
        raise DescriptionError(
            "expected two cuts or more, each picked once or at both edges, as (column, row), found "
            f"shape {np.shape(picks.cuts)}",
            field="cuts",
        )
    line = np.zeros((0, 2)) if picks.line is None else np.asarray(picks.line, dtype=float)
    if picks.line is not None and line.shape != (2, 2):
        raise DescriptionError(f"expected two picks, found shape {line.shape}", field="line")
    along, across = np.diff(cuts.mean(axis=1), axis=0), np.diff(cuts, axis=1)
    for field, steps in (("cuts", along), ("cuts", across), ("line", np.diff(line, axis=0))):
        if (steps == 0.0).all(axis=-1).any():
            raise DescriptionError("expected different picks, found one twice", field=field)
    if picks.depths is None:
        return cuts, line, np.zeros(0)
    depths = np.asarray(picks.depths, dtype=float).ravel()
    if len(depths) != cuts.size // 2:
        raise DescriptionError(
            f"expected {cuts.size // 2} depths, one per pick, found {len(depths)}", field="depths"
        )
    if not ((depths > 0.0) & (depths < np.inf)).all():
        message = f"expected depths above 0 m, found {depths.tolist()}"
        raise DescriptionError(message, field="depths")
    return cuts, line, depths


def _in_plane(points: Array, coefficients: Array) -> Array:
    """Intersect rays through points at depth 1 (..., k, 2) with a plane, in its axes [m].

    The first axis is the camera's x projected on the plane; the second points towards its y.
    """
    inverse = coefficients[..., :1] + (points @ coefficients[..., 1:, None])[..., 0]
    if not (inverse > 0.0).all():
        raise DescriptionError(
            "expected depths of one plane before the camera, found negative ones"
        )
    spatial = np.concatenate([points, np.ones_like(points[..., :1])], axis=-1) / inverse[..., None]
    normal = coefficients[..., [1, 2, 0]]
    normal = normal / np.linalg.norm(normal, axis=-1, keepdims=True)
    right = np.array([1.0, 0.0, 0.0]) - normal[..., :1] * normal
    right = right / np.linalg.norm(right, axis=-1, keepdims=True)
    return np.asarray(spatial @ np.stack([right, np.cross(normal, right)], axis=-1))


def plane_coefficients(plane: ArrayLike, depths: ArrayLike, noise: float) -> Array:
    """Fit the plane 1/z = c₀ + c₁ x + c₂ y of points (x, y) with depths z, (..., 3) [1/m].

    Least squares over the inverse depths, in which a plane is linear, with a prior of slopes around
    zero with standard deviation ``TILT``. Undistorted points at depth 1 (..., k, 2), depths (...,
    k) [m], and the standard deviation of a depth [m].
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


def angles_text(measured: PickMeasurement) -> str:
    """Describe the bending angles with their standard deviations, in degrees."""
    pairs = zip(np.degrees(measured.angles), np.degrees(measured.sigmas), strict=True)
    text = ", ".join(f"{angle:.2f}° ± {sigma:.2f}°" for angle, sigma in pairs)
    return f"pieces bend, base first: {text}"


def directions(line: Array | None, cuts: Array) -> Array:
    """Return angles of reference line, tangents and chords from the first axis, (..., m) [rad].

    The order is: the reference line; the tangent at the base; then of each piece its chord and
    the tangent at its end. A missing line is left out, and so are tangents where cuts are
    points.

    Args:
        line: Two points of the reference line, from the base outwards, (..., 2, 2).
        cuts: Points of the cuts between the pieces, base and tip included, (..., n + 1, 1, 2) on
            the middle line or (..., n + 1, 2, 2) at both edges.
    """
    chords = np.diff(cuts.mean(axis=-2), axis=-2)
    seen = chords
    if cuts.shape[-2] == 2:
        across = cuts[..., 1, :] - cuts[..., 0, :]
        tangents = np.stack([across[..., 1], -across[..., 0]], axis=-1)
        near = np.concatenate([chords[..., :1, :], chords], axis=-2)
        # tangents point along the finger whichever edge comes first
        along = (tangents * near).sum(axis=-1, keepdims=True)
        tangents = np.where(along < 0.0, -tangents, tangents)
        seen = np.insert(tangents, range(1, tangents.shape[-2]), chords, axis=-2)
    if line is not None:
        seen = np.concatenate([np.diff(line, axis=-2), seen], axis=-2)
    return np.unwrap(np.arctan2(seen[..., 1], seen[..., 0]), axis=-1)


def direction_rows(pieces: int, *, line: bool, edges: bool) -> Array:
    """Return derivatives of the directions by t₀ and by the pieces' angles, (m, 1 + n)."""
    tangents = np.tril(np.ones((pieces + 1, pieces + 1)))
    chords = 0.5 * (tangents[:-1] + tangents[1:])
    rows = np.insert(tangents, range(1, pieces + 1), chords, axis=0) if edges else chords
    return np.concatenate([tangents[:1], rows]) if line else rows


def solve_angles(seen: Array, covariance: Array, rows: Array) -> tuple[Array, Array]:
    """Estimate the angles from directions by generalised least squares.

    Directions (m,) [rad] are as from ``directions``, their covariance is (m, m) [rad²], and their
    derivatives (m, 1 + n) are as from ``direction_rows``. The angles (n,) [rad], with their
    standard deviations, are positive from the first axis of the plane to the second.

    Raises:
        DescriptionError: There are fewer directions than angles.
    """
    if len(rows) < rows.shape[1]:
        raise DescriptionError(
            "expected a reference line, or two picks per cut, found one pick per cut and no line: "
            "chords do not determine the tangent at the base"
        )
    if len(rows) == rows.shape[1]:
        inverse = np.linalg.inv(rows)
    else:
        weighed = np.linalg.solve(covariance, rows)
        inverse = np.linalg.solve(rows.T @ weighed, weighed.T)
    variances = np.diag(inverse @ covariance @ inverse.T)
    return (inverse @ seen)[1:], np.sqrt(variances[1:])


# Depth images


def read_depth(path: str | Path, shape: tuple[int, ...]) -> Array:
    """Read a depth image that is aligned with the colour image.

    Args:
        path: ``.npy`` with metres as floating-point numbers or millimetres as integers, or
            16-bit ``.png`` in millimetres, as RGB-D cameras write it. 0 means no depth.
        shape: Height and width of the colour image, or its whole shape.

    Returns:
        Depth along the camera's axis, 0 where there is none [m], (height, width).

    Raises:
        DescriptionError: There is no such file, it has another format, or another size.
    """
    file = Path(path)
    if file.suffix.lower() not in (".npy", ".png"):
        raise DescriptionError(f"expected a depth image, .npy or .png, found '{path}'")
    raw: npt.NDArray[np.generic]
    try:
        check_size(file, MAX_ARRAYS)
        if file.suffix.lower() == ".npy":
            raw = np.asarray(np.load(file, allow_pickle=False))
        else:
            with Pillow.open(file) as opened:
                if not opened.mode.startswith("I"):
                    raise ValueError(
                        f"an image of kind {opened.mode}, not one of 16-bit whole numbers"
                    )
                raw = np.asarray(opened)
    except FileNotFoundError:
        raise DescriptionError("expected a depth image, found no such file", file=file) from None
    except UNREADABLE as error:
        raise DescriptionError(
            f"expected a depth image, found another file: {error}", file=file
        ) from error
    if raw.shape != shape[:2] or raw.dtype.kind not in "fiu":
        raise DescriptionError(
            f"expected depths of {shape[1]} × {shape[0]} pixels, as in the image, found shape "
            f"{raw.shape} of {raw.dtype}",
            file=file,
        )
    depth = raw.astype(float) * (1.0 if raw.dtype.kind == "f" else 1e-3)
    return np.where(np.isfinite(depth) & (depth > 0.0), depth, 0.0)


def depths_at(depth: Array, pixels: Array) -> Array:
    """Return the depth at picked points (k, 2), the median around each, (k,) [m].

    The depth image (height, width) [m] has 0 where there is none.

    Raises:
        DescriptionError: A pick is outside the image, or has hardly any depths around it.
    """
    _refuse_outside(pixels, depth.shape)
    depths = []
    for column, row in pixels.tolist():
        x, y = int(column), int(row)
        window = depth[max(y - WINDOW, 0) : y + WINDOW + 1, max(x - WINDOW, 0) : x + WINDOW + 1]
        seen = window[window > 0.0]
        if seen.size < MIN_SEEN * window.size:
            raise DescriptionError(
                f"expected depths around the pick ({column:g}, {row:g}), found them in "
                f"{seen.size} of {window.size} pixels: pick on the finger, or omit the "
                "depth image"
            )
        depths.append(float(np.median(seen)))
    return np.array(depths)
