"""Chooses from where to look at a grasp, so that every finger and the object can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import mujoco
import numpy as np

from softgrasp.build.visual import LIGHT_DIRECTION
from softgrasp.mechanics.transforms import Array
from softgrasp.render.camera import Camera, frame_points
from softgrasp.render.rays import Caster

AZIMUTHS_DEG = tuple(quarter + turn for quarter in (0, 90, 180, 270) for turn in (30, 45, 60))
"""Three-quarter views: from straight ahead one finger of a pair hides the other."""
ELEVATIONS_DEG = (-14.0, -22.0)
"""Slightly from above."""
MARGIN = 0.07
"""Part of the picture that stays free on each side."""
OBJECT_WEIGHT, LIGHT_WEIGHT = 3.0, 0.5
"""How much the object counts, and how much better light from behind is than from the side."""
_LIGHT_HEADING = np.arctan2(LIGHT_DIRECTION[1], LIGHT_DIRECTION[0])
_ROWS = 48


def best_camera(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    cloud: Array,
    hand: Sequence[int],
    target: int,
    aspect: float,
) -> Camera:
    """The camera from which as much as possible of all bodies is seen in one state.

    A body counts with the square root of the part of the picture that it takes, so that a
    little more of a hidden finger is worth more than much more of a big palm; the object counts
    ``OBJECT_WEIGHT`` fold, and a view with the light behind the camera is preferred.

    Args:
        model: The model.
        data: The state to judge by.
        cloud: World points that have to be in the picture [m], shape (n, 3).
        hand: Ids of the hand's bodies.
        target: Id of the object's body.
        aspect: Width over height of the picture.
    """
    weights = np.zeros(model.nbody)
    weights[list(hand)] = 1.0
    weights[target] = OBJECT_WEIGHT
    cameras = [
        frame_points(cloud, azimuth_deg=a, elevation_deg=e, aspect=aspect, margin=MARGIN)
        for e, a in product(ELEVATIONS_DEG, AZIMUTHS_DEG)
    ]
    caster = Caster(model, data)
    return max(cameras, key=lambda camera: _score(caster, model, camera, weights, aspect))


def _score(
    caster: Caster, model: mujoco.MjModel, camera: Camera, weights: Array, aspect: float
) -> float:
    width, height = round(aspect * _ROWS), _ROWS
    columns, rows = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    rays = camera.rays(columns, rows, width, height).reshape(-1, 3)
    geoms = caster.hits(camera.position, rays).geom
    shown = np.bincount(model.geom_bodyid[geoms[geoms >= 0]], minlength=model.nbody)
    seen = float(weights @ np.sqrt(shown / (width * height)))
    behind = np.cos(np.radians(camera.azimuth_deg) - _LIGHT_HEADING)
    return seen * (1.0 + LIGHT_WEIGHT * float(behind))
