"""The palm: a solid around the finger bases, or the shape that a hand names."""

from __future__ import annotations

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

from softgrasp.build.names import PALM
from softgrasp.build.shapes import add_shape, part_name, part_pose
from softgrasp.build.visual import PALM_RGBA
from softgrasp.description.geometry import Part
from softgrasp.description.hand import Hand, Palm
from softgrasp.mechanics.geometry import swollen_points
from softgrasp.mechanics.hand_kinematics import chain_links
from softgrasp.mechanics.transforms import Array

COINCIDENT = 1e-4
"""Finger bases nearer to one another than this [m] leave no room for a palm."""
MARGIN_PER_RADIUS = 0.9
"""An automatic palm is a little thinner than the fingers that stand on it."""


def palm_points(hand: Hand, palm: Palm | None = None) -> Array | None:
    """Corners (n, 3) [m] of an automatic palm in the hand's frame, None where bases coincide.

    Args:
        hand: The hand.
        palm: One of its palms; the first one where it is not given.
    """
    palm = palm or hand.palm
    fingers = [one for one in hand.fingers if not palm.fingers or one.name in palm.fingers]
    digits = [one for one in hand.soft_fingers if not palm.fingers or one.name in palm.fingers]
    rigid = [chain_links(one)[0].origin[:3, 3] for one in fingers if not one.on]
    soft = [np.array(digit.base.position) for digit in digits]
    bases = np.array(rigid + soft)
    if np.ptp(bases, axis=0).max() < COINCIDENT:
        return None
    widths = [0.5 * max(digit.finger.links[0].size[1:]) for digit in digits]
    radius = max([row.radius for finger in fingers for row in finger.phalanges] + widths)
    points = swollen_points(bases, palm.margin or MARGIN_PER_RADIUS * radius)
    return np.asarray(points[ConvexHull(points).vertices])


def add_palms(spec: mujoco.MjSpec, base: mujoco.MjsBody, hand: Hand) -> list[str]:
    """Put the palm's geoms on the hand's base body, and further palms on bodies of their own.

    Returns:
        The bodies of those that there are.
    """
    bodies = [PALM] if _add_palm(spec, base, hand, hand.palm, PALM) else []
    for palm in hand.more_palms:
        body = base.add_body(name=palm.name)
        if _add_palm(spec, body, hand, palm, palm.name):
            bodies.append(palm.name)
    return bodies


def _add_palm(spec: mujoco.MjSpec, body: mujoco.MjsBody, hand: Hand, palm: Palm, name: str) -> bool:
    """Put the geoms of a palm on a body; says whether there are any."""
    rgba = hand.palm_rgba or PALM_RGBA
    if palm.kind == "shape" and palm.shape is not None:
        first = Part(shape=palm.shape, pose=palm.pose)
        for index, part in enumerate((first, *palm.parts)):
            pose = part_pose(part.shape, part.pose)
            add_shape(spec, body, part_name(name, index), part.shape, pose, rgba=rgba)
        return True
    points = palm_points(hand, palm) if palm.kind == "auto" else None
    if points is None:
        return False
    spec.add_mesh(name=name, uservert=points.ravel())
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=name,
        rgba=rgba,
        mass=0.0,
        contype=0,
        conaffinity=0,
    )
    return True
