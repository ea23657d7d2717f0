"""Clearance at the start: overlaps of hand, object and surroundings, and their rejection."""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError
from softgrasp.mechanics.transforms import (
    euler_from_quaternions,
    quaternion_of,
    rotation_from_euler,
    transform,
)
from softgrasp.model import names
from softgrasp.model.arm import toward_grasp
from softgrasp.model.contact_pairs import (
    Pair,
    hand_pairs_around,
    object_pairs,
    penetration,
    with_objects,
    with_surroundings,
)

START_TOLERANCE = 1e-6
"""Overlap at the start up to which bodies touch without penetration [m]."""
UPWARD = 0.5
"""Cosine to the vertical of the direction from palm to grasp above which a hand points up [–]."""


class Overlap(NamedTuple):
    """The deepest overlap of the hand with the object, or with the table, at the start."""

    item: str
    """The object by its name, or a part of the hand."""
    obstacle: str
    depth: float
    """Depth [m]."""
    of_table: bool
    """Whether a part of the hand is inside the table."""


def clearing_pairs(model: mujoco.MjModel, scene: GraspScene) -> list[Pair]:
    """Return the pairs that have to be clear: hand with object, hand with table."""
    return [*object_pairs(model), *_with_table(model, scene)]


def _with_table(model: mujoco.MjModel, scene: GraspScene) -> list[Pair]:
    return [] if scene.table is None else hand_pairs_around(model, names.TABLE)


def hand_overlap(model: mujoco.MjModel, data: mujoco.MjData, scene: GraspScene) -> Overlap | None:
    """Return the deepest overlap of the hand with object or table; None where it is clear.

    Args:
        model: The compiled scene.
        data: A state of it; not changed.
        scene: The scene.
    """
    pairs = clearing_pairs(model, scene)
    deepest = max(pairs, key=lambda pair: penetration(model, data, pair))
    depth = penetration(model, data, deepest)
    if depth <= START_TOLERANCE:
        return None
    if deepest in _with_table(model, scene):
        return Overlap(deepest.first, "the table", depth, of_table=True)
    return Overlap(f"'{scene.object.name}'", deepest.first, depth, of_table=False)


def refuse_hand_overlap(scene: GraspScene, overlap: Overlap | None) -> None:
    """Reject a start in which the hand is inside the object or the table.

    Raises:
        BuildError: There is an overlap.
    """
    if overlap is not None:
        raise BuildError(
            f"object_position: expected an object that starts clear of the hand, found "
            f"{overlap.item} {overlap.depth * 1e3:.2f} mm inside {overlap.obstacle}"
            + (_flip_hint(scene) if overlap.of_table else "")
        )


def _flip_hint(scene: GraspScene) -> str:
    """Suggest to flip a hand whose fingers point up above a table; empty for others."""
    pose = transform(scene.hand_pose.position, scene.hand_pose.quaternion)
    reach = pose[:3, :3] @ toward_grasp(scene.hand, scene.preset.center)
    if reach[2] < UPWARD:
        return ""
    flipped = rotation_from_euler((math.pi, 0.0, 0.0)) @ pose[:3, :3]
    quaternion = ", ".join(f"{part:.4g}" for part in np.round(quaternion_of(flipped), 6) + 0.0)
    angles_deg = np.degrees(euler_from_quaternions(np.array(quaternion_of(flipped))))
    angles = " ".join(f"{angle:.4g}" for angle in np.round(angles_deg, 4) + 0.0)
    return (
        "; the hand's fingers point up, and objects on a table are grasped from above: flip the "
        f"hand with hand_pose.quaternion [{quaternion}] (--hand-euler-deg {angles})"
    )


def refuse_overlaps(model: mujoco.MjModel, data: mujoco.MjData, scene: GraspScene) -> None:
    """Reject a start in which objects, surroundings or hand overlap.

    Args:
        model: The compiled scene.
        data: Its start state; not changed.
        scene: The scene.

    Raises:
        BuildError: Two of them overlap; names the pair with the deepest penetration.
    """
    if not scene.objects and not scene.surroundings:
        return
    groups = [*with_objects(scene, model), *with_surroundings(scene, model)]
    pairs = [pair for group in groups for pair in group.pairs if not _both_fixed(model, pair)]
    deepest = max(pairs, key=lambda pair: penetration(model, data, pair))
    depth = penetration(model, data, deepest)
    if depth > START_TOLERANCE:
        first, second = (_geom_label(model, geom, scene) for geom in deepest)
        raise BuildError(
            f"expected a start without overlaps, found {first} "
            f"{depth * 1e3:.2f} mm inside {second}; move one of them"
        )


def _both_fixed(model: mujoco.MjModel, pair: Pair) -> bool:
    """Whether neither geom of a pair can move; such geoms may overlap, as a wall and a table."""
    return all(model.body_weldid[int(model.geom(geom).bodyid[0])] == 0 for geom in pair)


def _geom_label(model: mujoco.MjModel, geom: str, scene: GraspScene) -> str:
    """Describe the owner of a geom for messages."""
    body = str(model.body(int(model.geom(geom).bodyid[0])).name)
    name = names.display_names(scene).get(body)
    if name is None:
        return f"{body} of the hand"
    if not names.is_around(body):
        return f"object '{name}'"
    kind = body.rstrip("0123456789")
    return f"the {kind}" if name == kind else f"{kind} '{name}'"
