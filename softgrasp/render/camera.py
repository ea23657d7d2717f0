"""Where a picture is taken from, and how to choose that place so that all is in the picture."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, radians, sin, tan

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.errors import DescriptionError
from softgrasp.render import extents

Array = npt.NDArray[np.float64]

DEFAULT_FOVY_DEG = 28.0
NEAREST = 0.01
"""Least depth of a framed point in front of the camera [m]."""


@dataclass(frozen=True)
class Camera:
    """A perspective camera that looks at a point, held upright (world z is up).

    Args:
        lookat: World point in the middle of the picture [m].
        distance: From the camera to that point [m].
        azimuth_deg: Heading of the line of sight about world z; 0 looks along +x [deg].
        elevation_deg: Slope of the line of sight; negative looks down [deg].
        fovy_deg: Vertical opening angle [deg].
    """

    lookat: tuple[float, float, float]
    distance: float
    azimuth_deg: float
    elevation_deg: float
    fovy_deg: float = DEFAULT_FOVY_DEG

    def axes(self) -> Array:
        """Unit vectors right, up and forward in the world; shape (3, 3), one a row."""
        return _axes(self.azimuth_deg, self.elevation_deg)

    @property
    def position(self) -> Array:
        """World position of the camera [m], shape (3,)."""
        return np.asarray(np.asarray(self.lookat) - self.distance * self.axes()[2])

    def project(self, points: npt.ArrayLike, width: int, height: int) -> Array:
        """Pixel coordinates and depth of world points.

        Args:
            points: World points [m], shape (n, 3).
            width: Picture width in pixels.
            height: Picture height in pixels.

        Returns:
            Shape (n, 3): column and row in pixels, (0, 0) being the outer corner of the upper
            left pixel, and depth along the line of sight [m]. Points at or behind the camera
            have depth <= 0 and NaN coordinates.
        """
        local = (np.asarray(points, dtype=float).reshape(-1, 3) - self.position) @ self.axes().T
        depth = local[:, 2]
        scale = 0.5 * height / tan(0.5 * radians(self.fovy_deg))
        with np.errstate(divide="ignore", invalid="ignore"):
            flat = scale * local[:, :2] / np.where(depth > 0, depth, np.nan)[:, None]
        return np.column_stack([0.5 * width + flat[:, 0], 0.5 * height - flat[:, 1], depth])

    def rays(self, columns: npt.ArrayLike, rows: npt.ArrayLike, width: int, height: int) -> Array:
        """Directions of sight with unit depth, through points of the picture.

        Args:
            columns: Columns in pixels as ``project`` gives them, shape (...).
            rows: Rows in pixels, shape (...).
            width: Picture width in pixels.
            height: Picture height in pixels.

        Returns:
            World vectors, shape (..., 3); their part along the line of sight is 1.
        """
        scale = 2.0 * tan(0.5 * radians(self.fovy_deg)) / height
        local = np.ones((*np.shape(columns), 3))
        local[..., 0] = scale * (np.asarray(columns) - 0.5 * width)
        local[..., 1] = scale * (0.5 * height - np.asarray(rows))
        return np.asarray(local @ self.axes())

    def pixels_per_metre(self, depth: float, height: int) -> float:
        """Size in pixels of one metre held across the line of sight at this depth."""
        return 0.5 * height / (tan(0.5 * radians(self.fovy_deg)) * depth)


def frame_points(
    points: npt.ArrayLike,
    *,
    azimuth_deg: float,
    elevation_deg: float,
    aspect: float,
    margin: float = 0.08,
    fovy_deg: float = DEFAULT_FOVY_DEG,
) -> Camera:
    """The nearest camera with this heading that has all points in its picture.

    Every point bounds the camera position by four planes through the point, one for each side
    of the picture; the camera sits where the tighter pair of opposite sides touches its points,
    and midway between the others.

    Args:
        points: World points [m], shape (n, 3).
        azimuth_deg: Heading of the line of sight [deg].
        elevation_deg: Slope of the line of sight, negative looks down [deg].
        aspect: Width over height of the picture.
        margin: Part of the width (height) that stays free at the left and right (top and
            bottom), from 0 up to less than 0.5.
        fovy_deg: Vertical opening angle [deg].

    Returns:
        A camera that looks at the middle of the points' depth range.

    Raises:
        DescriptionError: No points, a point that is not finite, or a margin out of range.
    """
    cloud = np.asarray(points, dtype=float).reshape(-1, 3)
    if not len(cloud) or not np.isfinite(cloud).all():
        raise DescriptionError("expected one or more finite points (n, 3)", field="points")
    if not 0.0 <= margin < 0.5:
        raise DescriptionError(f"expected 0 <= margin < 0.5, found {margin}", field="margin")
    axes = _axes(azimuth_deg, elevation_deg)
    local = cloud @ axes.T
    half = (1.0 - 2.0 * margin) * tan(0.5 * radians(fovy_deg)) * np.array([aspect, 1.0])
    low = (local[:, :2] - half * local[:, 2:]).max(axis=0)
    high = (local[:, :2] + half * local[:, 2:]).min(axis=0)
    depth = min(*((high - low) / (2.0 * half)), local[:, 2].min() - NEAREST)
    middle = 0.5 * (local[:, 2].min() + local[:, 2].max())
    lookat = np.array([*(0.5 * (low + high)), middle]) @ axes
    x, y, z = lookat.tolist()
    return Camera((x, y, z), float(middle - depth), azimuth_deg, elevation_deg, fovy_deg)


def geom_corner_points(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: npt.ArrayLike | None = None
) -> Array:
    """World points whose convex hull holds the geoms closely.

    Args:
        model: The model.
        data: Its state, with ``mj_forward`` or ``mj_kinematics`` done.
        geoms: Geom ids; all that a renderer shows, or has under a skin, when None. Planes have no
            corners and are left out.

    Returns:
        Points [m], shape (n, 3); empty when there is no such geom.
    """
    chosen = extents.covered_geoms(model) if geoms is None else np.atleast_1d(geoms)
    corners = [
        extents.local_points(model, int(geom)) @ data.geom_xmat[geom].reshape(3, 3).T
        + data.geom_xpos[geom]
        for geom in chosen
    ]
    return np.concatenate([np.empty((0, 3)), *corners])


def _axes(azimuth_deg: float, elevation_deg: float) -> Array:
    # MuJoCo's free camera: forward = (ce ca, ce sa, se), up = its derivative by elevation.
    ca, sa = cos(radians(azimuth_deg)), sin(radians(azimuth_deg))
    ce, se = cos(radians(elevation_deg)), sin(radians(elevation_deg))
    return np.array([[sa, -ca, 0.0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]])
