"""Synthesized grasp postures as candidates of the planner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from softgrasp.description.hand import Preshape
from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import GraspPlan
from softgrasp.grasp_synthesis.grasp_energy import GraspEnergy
from softgrasp.grasp_synthesis.grasp_seeds import GraspingHand
from softgrasp.grasp_synthesis.posture_search import PostureSearch, SynthesizedPosture
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.model.arm import toward_grasp
from softgrasp.model.grasp_geometry import (
    contact_links,
    kinematic_tree_of,
    link_spheres,
    object_surface_of,
)
from softgrasp.model.placement import object_pose, on_its_table
from softgrasp.model.retreat import HandRetreat, hand_and_object
from softgrasp.model.scene import build

FRICTION_MARGIN = 0.6
"""Friction coefficient of the energy over the true one [–]."""
MAX_FRICTION = 0.5
"""Largest friction coefficient of the energy [–]."""
POINT_SEED = 0
"""Seed of the points on the hand."""
ALONG = np.array([0.0, 0.2, 0.4])
"""Fractions of the closing motion at which inner sides are found [–]."""
SEEDS = 6
"""Start postures for each grasp that is simulated, by default."""
TIPS_ONLY = {"power": 0.3, "precision": 1.0}
"""Fraction of grasps with fingertips only by type of grasp [–]."""


class PlacedPosture(NamedTuple):
    """A synthesized posture whose opened hand is clear of the object."""

    posture: SynthesizedPosture
    pulled_back: float
    """Distance that the hand was pulled back along its approach [m]."""
    pose: Array
    """Of the object in the pulled-back hand, ``T_hand_object``, (4, 4)."""


def placed_postures(plan: GraspPlan) -> list[PlacedPosture]:
    """Synthesize the postures of a plan, the best first; at most ``plan.candidates``.

    Raises:
        BuildError: The hand, or the object, cannot be built.
    """
    scene = plan.scene.replace(preshape=None)
    search = posture_search_of(scene, plan.poses.cone)
    random = np.random.default_rng(plan.seed)
    seeds = SEEDS * plan.candidates if plan.seeds is None else plan.seeds
    found = search.postures(random, plan.candidates, seeds, TIPS_ONLY[scene.grasp])
    retreat = HandRetreat(scene)
    placed = []
    for posture in found:
        retreat.open_to(posture.start)
        distance = retreat.distance(posture.pose, plan.poses.gap)
        if distance is not None:
            pose = posture.pose.copy()
            pose[:3, 3] += distance * retreat.approach
            placed.append(PlacedPosture(posture, distance, pose))
    return placed


def with_starts(scene: GraspScene, starts: Sequence[Array]) -> GraspScene:
    """Return a scene whose hand has start postures as preshapes, named by ``preshape_name``.

    Args:
        scene: The scene.
        starts: Targets of the opened hands, (nu,) each.
    """
    named = [
        Preshape(name=preshape_name(index), positions=tuple(start.tolist()))
        for index, start in enumerate(starts)
    ]
    hand = scene.hand.replace(preshapes=(*scene.hand.preshapes, *named))
    return scene.replace(hand=hand, preshape=None)


def preshape_name(index: int) -> str:
    """Return the name of the start posture of a synthesized grasp."""
    return f"grasp-{index}"


def posture_search_of(scene: GraspScene, cone: float = np.pi) -> PostureSearch:
    """Set up the synthesis of postures for the hand, the object and the table of a scene.

    Args:
        scene: The scene.
        cone: Largest angle of the direction from the object to the hand from the scene's [rad].

    Raises:
        BuildError: The hand cannot be built, or has soft fingers.
    """
    built = build(hand_and_object(scene))
    random = np.random.default_rng(POINT_SEED)
    tree = kinematic_tree_of(built.model, scene.hand, built.bodies, random)
    surface = object_surface_of(built.model)
    start = np.array(scene.closing_preset.start or [a.start for a in scene.hand.actuators])
    rates = np.array(scene.preset.rates.for_fingers(scene.hand.actuator_counts))
    center = np.array(scene.preset.center)
    approach = toward_grasp(scene.hand, scene.preset.center)
    hand = GraspingHand(tree, (), start, rates, center, approach)
    along = hand.closing(ALONG)
    hand = hand._replace(links=contact_links(tree, along, rates, center))
    friction = scene.requested_contact.static_friction
    energy = GraspEnergy(
        tree,
        hand.links,
        link_spheres(tree, np.concatenate([along[:2], start[None]])),
        surface,
        friction=min(FRICTION_MARGIN * friction, MAX_FRICTION),
        plane=_table_plane(scene),
    )
    direction = None
    if cone < np.pi:
        pose = object_pose(scene)
        world = transform(pose.position, pose.quaternion)[:3, :3]
        hand_pose = transform(scene.hand_pose.position, scene.hand_pose.quaternion)[:3, :3]
        direction = (-world.T @ hand_pose @ approach, cone)
    return PostureSearch(hand, energy, scene.hand.actuators, direction)


def _table_plane(scene: GraspScene) -> Array | None:
    """Return the top of the scene's table in the object's frame, (4,); None without a table."""
    scene = on_its_table(scene)
    if scene.table is None or scene.table.height is None:
        return None
    pose = object_pose(scene)
    frame = transform(pose.position, pose.quaternion)
    normal = frame[:3, :3].T @ [0.0, 0.0, 1.0]
    return np.array([*normal, scene.table.height - pose.position[2]])
