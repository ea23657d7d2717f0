"""Chooses from where to look at a grasp, so that every finger and the object can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import mujoco
import numpy as np
from scipy.spatial import ConvexHull, QhullError

from softgrasp.mechanics.transforms import Array
from softgrasp.render.camera import Camera, frame_points
from softgrasp.render.lighting import key_direction
from softgrasp.render.rays import Caster

AZIMUTHS_DEG = tuple(
    quarter + offset for quarter in (0, 90, 180, 270) for offset in (20, 35, 55, 70)
)
"""Three-quarter views: from straight ahead one finger of a pair hides the other."""
ELEVATIONS_DEG = (-14.0, -22.0)
"""Slightly from above."""
MARGIN = 0.07
"""Part of the picture that stays free on each side."""
OBJECT_WEIGHT, SHADE = 3.0, 0.3
"""How much the object counts against a phalanx, and a point in the shade against a lit one."""
LAMP_DISTANCE, SHADOW_SLACK = 3.0, 1e-3
"""From the light to the scene [m], and the part of that way that casts no shadow."""
_ROWS = 48


def best_camera(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    cloud: Array,
    hand: Sequence[int],
    object_bodies: Sequence[int],
    aspect: float,
) -> Camera:
    """The camera from which as much as possible of all bodies is seen in one state.

    A body counts with the square root of its area that is seen, so that a little more of a
    hidden finger is worth more than much more of a big palm; objects count
    ``OBJECT_WEIGHT`` fold, and what lies in the shade counts less.

    Args:
        model: The model.
        data: The state to judge by.
        cloud: World points that have to be in the picture [m], shape (n, 3).
        hand: Ids of the hand's bodies.
        object_bodies: Ids of the objects' bodies.
        aspect: Width over height of the picture.
    """
    outline = _outline(cloud)
    weights = np.zeros(model.nbody)
    weights[list(hand)] = 1.0
    weights[list(object_bodies)] = OBJECT_WEIGHT
    cameras = [
        frame_points(outline, azimuth_deg=a, elevation_deg=e, aspect=aspect, margin=MARGIN)
        for e, a in product(ELEVATIONS_DEG, AZIMUTHS_DEG)
    ]
    return max(cameras, key=lambda camera: _score(model, data, camera, weights, aspect))


def _outline(cloud: Array) -> Array:
    """The corners of a cloud's convex hull, which need the same picture as the whole cloud."""
    try:
        return np.asarray(cloud[ConvexHull(cloud).vertices])
    except QhullError:  # all in one plane
        return cloud


def _score(
    model: mujoco.MjModel, data: mujoco.MjData, camera: Camera, weights: Array, aspect: float
) -> float:
    caster = Caster(model, data, under_skins=True)
    width, height = round(aspect * _ROWS), _ROWS
    columns, rows = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    rays = camera.rays(columns, rows, width, height).reshape(-1, 3)
    hits = caster.hits(camera.position, rays)
    met = hits.geom >= 0
    points = camera.position + hits.distance[met, None] * rays[met]
    lamp = np.array(camera.lookat) - LAMP_DISTANCE * key_direction(model, data, camera)
    light = np.where(caster.blocked(lamp, points, SHADOW_SLACK), SHADE, 1.0)
    bodies = model.geom_bodyid[hits.geom[met]]
    shown = np.bincount(bodies, weights=light, minlength=model.nbody)
    # From afar everything is small: half of that counts, or narrow pictures would always be taken
    # along the widest side of the hand, where one finger hides the next.
    return float(weights @ np.sqrt(shown) * np.sqrt(camera.distance))
