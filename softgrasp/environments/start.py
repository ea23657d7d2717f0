"""Where the object starts in an episode: off its place at random, and clear of the hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import mujoco
import numpy as np

from softgrasp.build.clearance import START_TOLERANCE
from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep_plan import PoseNoise
from softgrasp.errors import SimulationError
from softgrasp.mechanics.transforms import Array

MAX_DRAWS = 100
"""Starts that are drawn until one is clear of the hand."""


class Generator(Protocol):
    """What draws numbers: numpy's Generator, and its older RandomState."""

    def normal(self, *, size: int) -> Array:
        """Standard normal numbers."""


class Offset(NamedTuple):
    """How far the object is off its place."""

    position: Array
    """[m], world, (3,)."""
    rotation: Array
    """Rotation vector, world [rad], (3,)."""


def clear_offset(
    scene: GraspScene,
    noise: PoseNoise,
    generator: Generator,
    is_clear: Callable[[Offset], bool],
) -> Offset | None:
    """Draw how far the object is off until it is clear of the hand; None without noise.

    An object on a table stays on it: it moves in the plane and turns about z. A planar one keeps to
    its plane.

    Args:
        scene: The scene.
        noise: Standard deviations.
        generator: Draws.
        is_clear: Whether the object is, once it is put there.

    Raises:
        SimulationError: None of the draws was clear.
    """
    if not (noise.position or noise.rotation):
        return None
    moves, rotations = np.ones(3), np.ones(3)
    if scene.object_mount == "planar":
        moves, rotations = np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
    if scene.table is not None:
        moves, rotations = moves * [1.0, 1.0, 0.0], rotations * [0.0, 0.0, 1.0]
    for _ in range(MAX_DRAWS):
        drawn = generator.normal(size=6)
        offset = Offset(noise.position * moves * drawn[:3], noise.rotation * rotations * drawn[3:])
        if is_clear(offset):
            return offset
    raise SimulationError(
        f"noise: expected a start of the object clear of the hand, found none in {MAX_DRAWS} "
        f"draws with {noise.position:g} m and {noise.rotation:g} rad"
    )


def moved_pose(position: Array, quaternion: Array, offset: Offset) -> tuple[Array, Array]:
    """A pose in the world that is off by an offset."""
    rotation, rotated = np.zeros(4), np.zeros(4)
    angle = float(np.linalg.norm(offset.rotation))
    axis = offset.rotation / angle if angle > 0.0 else np.array([1.0, 0.0, 0.0])
    mujoco.mju_axisAngle2Quat(rotation, axis, angle)
    mujoco.mju_mulQuat(rotated, rotation, quaternion)
    return position + offset.position, rotated


def touches_nothing(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> bool:
    """Whether a body overlaps no other in the positions of a state; changes only what is derived.

    Args:
        model: The model.
        data: The state.
        body: Id of the body.
    """
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_collision(model, data)
    contact = data.contact
    is_object = (model.geom_bodyid[contact.geom] == body).any(axis=1)
    return not bool((contact.dist[is_object] < -START_TOLERANCE).any())
