"""Choice of the camera of a video or a page: a viewpoint from which hand and object are visible."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import mujoco
import numpy as np
from scipy.spatial import ConvexHull, QhullError

from softgrasp.mechanics.transforms import Array
from softgrasp.rendering.camera import Camera, frame_points, key_direction
from softgrasp.rendering.rays import Caster

AZIMUTHS_DEG = tuple(
    quarter + offset for quarter in (0, 90, 180, 270) for offset in (20, 35, 55, 70)
)
"""Candidate azimuths: oblique views, in which opposing fingers do not hide each other."""
ELEVATIONS_DEG = (-14.0, -22.0)
"""Candidate elevations."""
MARGIN = 0.07
"""Free margin on each side of the image, over its size."""
OBJECT_WEIGHT, SHADE = 3.0, 0.3
"""Weight of the object relative to a phalanx, and of a shaded point relative to a lit one."""
SILHOUETTE_WEIGHT = 2.0
"""Gain of a camera that sees the widest silhouette of the objects."""
LIGHT_DISTANCE, SHADOW_SLACK = 3.0, 1e-3
"""Distance of the light [m], and the fraction of it before the target without shadow."""
CAMERA_ROWS = 48
"""Height of the images by which cameras are compared [px]."""


def best_camera(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    cloud: Array,
    hand: Sequence[int],
    object_bodies: Sequence[int],
    aspect: float,
    rows: int = CAMERA_ROWS,
) -> Camera:
    """Choose the camera that shows as much as possible of hand and object in one state.

    A body counts with the square root of its visible area, which favours a partly hidden finger
    over a large palm. Objects count ``OBJECT_WEIGHT`` fold, shaded points less. A wide silhouette
    of the objects is preferred, as it shows handles.

    Args:
        model: The model.
        data: The evaluated state.
        cloud: World points to be framed [m], shape (n, 3).
        hand: Body ids of the hand.
        object_bodies: Body ids of the objects.
        aspect: Image width over height.
        rows: Height of the images by which cameras are compared [px].
    """
    outline = _outline(cloud)
    weights = np.zeros(model.nbody)
    weights[list(hand)] = 1.0
    weights[list(object_bodies)] = OBJECT_WEIGHT
    cameras = [
        frame_points(outline, azimuth_deg=a, elevation_deg=e, aspect=aspect, margin=MARGIN)
        for e, a in product(ELEVATIONS_DEG, AZIMUTHS_DEG)
    ]
    scores = np.array([_score(model, data, camera, weights, aspect, rows) for camera in cameras])
    widest = scores[:, 1].max() or 1.0
    gain = 1.0 + SILHOUETTE_WEIGHT * (scores[:, 1] / widest) ** 2
    return cameras[int(np.argmax(scores[:, 0] * gain))]


def _outline(cloud: Array) -> Array:
    """Return the convex hull of a point cloud, which needs the same framing."""
    try:
        return np.asarray(cloud[ConvexHull(cloud).vertices])
    except QhullError:  # coplanar points
        return cloud


def _score(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    camera: Camera,
    weights: Array,
    aspect: float,
    height: int,
) -> tuple[float, float]:
    """Return the score of the visible areas, and the area of the silhouette of the objects [m²]."""
    caster = Caster(model, data, under_skins=True)
    width = round(aspect * height)
    columns, rows = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    rays = camera.rays(columns, rows, width, height).reshape(-1, 3)
    hits = caster.hits(camera.position, rays)
    met = hits.geom >= 0
    points = camera.position + hits.distance[met, None] * rays[met]
    light_position = np.array(camera.lookat) - LIGHT_DISTANCE * key_direction(model, data, camera)
    light = np.where(caster.blocked(light_position, points, SHADOW_SLACK), SHADE, 1.0)
    bodies = model.geom_bodyid[hits.geom[met]]
    shown = np.bincount(bodies, weights=light, minlength=model.nbody)
    objects = weights[bodies] == OBJECT_WEIGHT
    area = _hull_area(np.column_stack([columns.ravel(), rows.ravel()])[met][objects])
    # distance reduces areas; compensating half of that avoids views along the widest side of the
    # hand in narrow images, where one finger hides the next
    score = float(weights @ np.sqrt(shown) * np.sqrt(camera.distance))
    return score, area / camera.pixels_per_metre(camera.distance, height) ** 2


def _hull_area(pixels: Array) -> float:
    """Return the area of the convex hull of pixels (n, 2) [px²]."""
    try:
        return float(ConvexHull(pixels).volume) if len(pixels) > 2 else 0.0
    except QhullError:  # collinear pixels
        return 0.0
