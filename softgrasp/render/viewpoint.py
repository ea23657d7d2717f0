"""Chooses from where to look at a grasp, so that every finger and the object can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import mujoco
import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.render.camera import Camera, frame_points
from softgrasp.render.rays import Caster

AZIMUTHS_DEG = tuple(quarter + turn for quarter in (0, 90, 180, 270) for turn in (30, 45, 60))
"""Three-quarter views: from straight ahead one finger of a pair hides the other."""
ELEVATIONS_DEG = (-14.0, -22.0)
"""Slightly from above."""
MARGIN = 0.07
"""Part of the picture that stays free on each side."""
_ROWS = 48


def best_camera(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    cloud: Array,
    bodies: Sequence[int],
    aspect: float,
) -> Camera:
    """The camera from which as much as possible of all bodies is seen in one state.

    A body counts with the square root of the part of the picture that it takes, so that a
    little more of a hidden finger is worth more than much more of a big palm.

    Args:
        model: The model.
        data: The state to judge by.
        cloud: World points that have to be in the picture [m], shape (n, 3).
        bodies: Ids of the bodies that count.
        aspect: Width over height of the picture.
    """
    cameras = [
        frame_points(cloud, azimuth_deg=a, elevation_deg=e, aspect=aspect, margin=MARGIN)
        for e, a in product(ELEVATIONS_DEG, AZIMUTHS_DEG)
    ]
    caster = Caster(model, data)
    return max(cameras, key=lambda camera: _seen(caster, model, camera, bodies, aspect))


def _seen(
    caster: Caster, model: mujoco.MjModel, camera: Camera, bodies: Sequence[int], aspect: float
) -> float:
    height = _ROWS
    width = round(aspect * height)
    columns, rows = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    rays = camera.rays(columns, rows, width, height).reshape(-1, 3)
    geoms = caster.hits(camera.position, rays).geom
    shown = np.bincount(model.geom_bodyid[geoms[geoms >= 0]], minlength=model.nbody)
    # Symmetric hands look equally good from several sides; rounding keeps the first of them.
    return round(float(np.sqrt(shown[list(bodies)] / (width * height)).sum()), 2)
