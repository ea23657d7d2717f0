"""Choice of the camera of a video or a page: a viewpoint from which hand and object are visible.

Beside walls and blocks, steep and wide-angled cameras are candidates, too: they look over the rim
of a bin, past a block, or stand inside a closed space.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.spatial import ConvexHull, QhullError

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.model.names import is_around
from softgrasp.rendering.camera import DEFAULT_FOVY_DEG, Camera, frame_points, key_direction
from softgrasp.rendering.rays import Caster

AZIMUTHS_DEG = tuple(
    quarter + offset for quarter in (0, 90, 180, 270) for offset in (20, 35, 55, 70)
)
"""Candidate azimuths: oblique views, in which opposing fingers do not hide each other."""
ELEVATIONS_DEG = (-14.0, -22.0)
"""Candidate elevations."""
STEEP_DEG, WIDE_FOVY_DEG = (-40.0, -65.0), (55.0, 80.0)
"""Further elevations, and fields of view, beside walls and blocks."""
STEEP_GAIN, WIDE_GAIN = 0.8, 0.9
"""Gains of such cameras, which are taken only where others see less."""
MIN_DISTANCE, MAX_DISTANCE = 0.01, 100.0
"""Range of the distance of a camera that a user places [m]."""
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


class Viewpoint(NamedTuple):
    """Direction from which a camera looks at a scene, and its distance."""

    azimuth_deg: float
    """Heading of the optical axis about world z; 0 looks along +x."""
    elevation_deg: float
    """Elevation of the optical axis; negative looks down."""
    distance: float | None = None
    """From the middle of the scene [m]; by default so that all of it is in the image."""

    def check(self, field: str) -> None:
        """Refuse a viewpoint that no camera can have; ``field`` states it in the sentence.

        Raises:
            DescriptionError: An angle or the distance is out of range.
        """
        wrong, distance = "", self.distance
        if not math.isfinite(self.azimuth_deg):
            wrong = f"a finite azimuth, found {self.azimuth_deg}"
        elif not -90.0 <= self.elevation_deg <= 90.0:
            wrong = f"an elevation from -90 to 90 degrees, found {self.elevation_deg:g}"
        elif distance is not None and not MIN_DISTANCE <= distance <= MAX_DISTANCE:
            wrong = f"a distance from {MIN_DISTANCE:g} to {MAX_DISTANCE:g} m, found {distance:g}"
        if wrong:
            raise DescriptionError(f"expected {wrong}", field=field)

    def camera(self, cloud: Array, aspect: float) -> Camera:
        """Return the camera that sees world points (n, 3) [m] from here.

        Raises:
            DescriptionError: An angle or the distance is out of range.
        """
        self.check("viewpoint")
        angles = {"azimuth_deg": self.azimuth_deg, "elevation_deg": self.elevation_deg}
        framed = frame_points(_outline(cloud), **angles, aspect=aspect, margin=MARGIN)
        return framed if self.distance is None else replace(framed, distance=self.distance)


VIEWPOINTS = {
    "front": Viewpoint(90.0, -14.0), "back": Viewpoint(270.0, -14.0),
    "left": Viewpoint(0.0, -14.0), "right": Viewpoint(180.0, -14.0), "top": Viewpoint(90.0, -90.0),
}  # fmt: skip
"""Viewpoints by name; ``front`` looks along +y, ``left`` along +x of the world."""


def best_camera(
    model: mujoco.MjModel,
    states: Iterable[mujoco.MjData],
    cloud: Array,
    hand: Sequence[int],
    object_bodies: Sequence[int],
    aspect: float,
) -> Camera:
    """Choose the camera that shows as much as possible of hand and object in some states.

    A body counts with the square root of its visible area, which favours a partly hidden finger
    over a large palm. Objects count ``OBJECT_WEIGHT`` fold, shaded points less. A wide silhouette
    of the objects is preferred, as it shows handles.

    Args:
        model: The model.
        states: The evaluated states, each of which is used before the next one is taken.
        cloud: World points to be framed [m], shape (n, 3).
        hand: Body ids of the hand.
        object_bodies: Body ids of the objects.
        aspect: Image width over height.
    """
    outline = _outline(cloud)
    weights = np.zeros(model.nbody)
    weights[list(hand)] = 1.0
    weights[list(object_bodies)] = OBJECT_WEIGHT
    occluded = is_beside_walls(model)
    # of six times as many cameras, in several states
    rows = CAMERA_ROWS // 2 if occluded else CAMERA_ROWS
    elevations = (*ELEVATIONS_DEG, *STEEP_DEG) if occluded else ELEVATIONS_DEG
    fields = (DEFAULT_FOVY_DEG, *WIDE_FOVY_DEG) if occluded else (DEFAULT_FOVY_DEG,)
    framed = partial(frame_points, outline, aspect=aspect, margin=MARGIN)
    angles = product(fields, elevations, AZIMUTHS_DEG)
    cameras = [framed(azimuth_deg=a, elevation_deg=e, fovy_deg=f) for f, e, a in angles]
    score = partial(_score, model, weights=weights, aspect=aspect, height=rows)
    scores = np.sum([[score(data, camera) for camera in cameras] for data in states], axis=0)
    widest = scores[:, 1].max() or 1.0
    gain = 1.0 + SILHOUETTE_WEIGHT * (scores[:, 1] / widest) ** 2
    gain *= [STEEP_GAIN if camera.elevation_deg in STEEP_DEG else 1.0 for camera in cameras]
    gain *= [WIDE_GAIN if camera.fovy_deg in WIDE_FOVY_DEG else 1.0 for camera in cameras]
    return cameras[int(np.argmax(scores[:, 0] * gain))]


def is_beside_walls(model: mujoco.MjModel) -> bool:
    """Return whether surroundings other than tables may hide the hand."""
    around = [model.body(body).name for body in range(model.nbody)]
    return any(is_around(name) and not name.startswith("table") for name in around)


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
