"""The palm: a solid around the finger bases, or the shape that a hand names."""

from __future__ import annotations

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

from softgrasp.build.names import PALM
from softgrasp.build.shapes import add_shape, part_name, part_pose
from softgrasp.build.visual import PALM_RGBA
from softgrasp.description.hand import Hand
from softgrasp.description.shapes import Part
from softgrasp.mechanics.dh import chain_links
from softgrasp.mechanics.solids import swollen_points
from softgrasp.mechanics.transforms import Array

COINCIDENT = 1e-4
"""Finger bases nearer to one another than this [m] leave no room for a palm."""
MARGIN_PER_RADIUS = 0.9
"""An automatic palm is a little thinner than the fingers that stand on it."""


def palm_points(hand: Hand) -> Array | None:
    """Corners (n, 3) [m] of the automatic palm in the hand's frame, None where bases coincide."""
    on_palm = [finger for finger in hand.fingers if not finger.on]
    rigid = [chain_links(finger)[0].origin[:3, 3] for finger in on_palm]
    soft = [np.array(digit.base.position) for digit in hand.soft_fingers]
    bases = np.array(rigid + soft)
    if np.ptp(bases, axis=0).max() < COINCIDENT:
        return None
    widths = [0.5 * max(digit.finger.links[0].size[1:]) for digit in hand.soft_fingers]
    radius = max([row.radius for row in hand.joints] + widths)
    points = swollen_points(bases, hand.palm.margin or MARGIN_PER_RADIUS * radius)
    return np.asarray(points[ConvexHull(points).vertices])


def add_palm(spec: mujoco.MjSpec, base: mujoco.MjsBody, hand: Hand) -> bool:
    """Put the palm's geoms on the hand's base body; says whether there is a palm."""
    rgba = hand.palm_rgba or PALM_RGBA
    if hand.palm.kind == "shape" and hand.palm.shape is not None:
        first = Part(shape=hand.palm.shape, pose=hand.palm.pose)
        for index, part in enumerate((first, *hand.palm.parts)):
            pose = part_pose(part.shape, part.pose)
            add_shape(spec, base, part_name(PALM, index), part.shape, pose, rgba=rgba)
        return True
    points = palm_points(hand) if hand.palm.kind == "auto" else None
    if points is None:
        return False
    spec.add_mesh(name=PALM, uservert=points.ravel())
    base.add_geom(
        name=PALM,
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=PALM,
        rgba=rgba,
        mass=0.0,
        contype=0,
        conaffinity=0,
    )
    return True
