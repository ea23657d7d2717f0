"""A hand between open and closed: where its drives are, what is seen of it, and from where."""

from __future__ import annotations

import numpy as np

from softgrasp.build import names
from softgrasp.description.hand import Hand
from softgrasp.description.scene import GraspScene
from softgrasp.mechanics.transforms import Array
from softgrasp.render.camera import Camera, geom_corner_points
from softgrasp.render.extents import covered_geoms
from softgrasp.render.viewpoint import best_camera
from softgrasp.view.posed_hand import PosedHand

ASPECT = 1.2
"""Width of the part of a window where the hand is, over its height."""


def targets_between(hand: Hand, fraction: float) -> list[float]:
    """Targets of the drives of a hand that is open, 0, to closed, 1, one each [rad, m or Pa]."""
    return [
        actuator.start + fraction * (end - actuator.start)
        for actuator, end in zip(hand.actuators, closed_targets(hand), strict=True)
    ]


def closed_targets(hand: Hand) -> list[float]:
    """Where the drives of a hand end that closes its power grasp on nothing, one each."""
    rates = hand.grasps.power.rates.for_fingers(hand.rows, hand.actuator_word)
    ends = []
    for actuator, rate in zip(hand.actuators, rates, strict=True):
        low, high = actuator.limits
        ends.append(actuator.start if rate == 0.0 else low if rate < 0.0 else high)
    return ends


def hand_bodies(posed: PosedHand) -> list[int]:
    """Bodies of the hand that are seen."""
    parts = [*names.parts(posed.hand), names.hand_body(posed.hand)]
    return [posed.model.body(one).id for one in parts]


def seen_points(posed: PosedHand) -> Array:
    """Corners of all that is seen while the hand closes [m], (n, 3); it ends open."""
    model = posed.model
    around = [names.is_around(model.body(int(body)).name) for body in model.geom_bodyid]
    geoms = [geom for geom in covered_geoms(model).tolist() if not around[geom]]
    clouds = [
        geom_corner_points(model, posed.pose(targets_between(posed.hand, fraction)), geoms)
        for fraction in (1.0, 0.5, 0.0)
    ]
    return np.concatenate(clouds)


def hand_camera(posed: PosedHand, scene: GraspScene | None) -> Camera:
    """Where all of a closing hand is seen from; it ends open.

    Args:
        posed: The hand.
        scene: The scene whose model it is in; None where the hand is alone.
    """
    body_names = [] if scene is None else names.object_bodies(scene)
    objects = [posed.model.body(one).id for one in body_names]
    points = seen_points(posed)
    return best_camera(posed.model, posed.data, points, hand_bodies(posed), objects, ASPECT)
