"""Common core of all environments: the interface of episodes, starts, poses, contacts, divergence.

``Episodes`` is the protocol of n episodes that are simulated side by side: observations, reward and
end. ``simulation`` implements it for the hold test or lift of a scene, ``task_simulation`` for
the learning tasks, and ``gym_env`` offers both to Gymnasium. The dm_env, whose physics dm_control
steps, shares the ``Episode`` of a scene and the functions of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import PoseNoise
from softgrasp.errors import DescriptionError, SimulationError
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.clearance import START_TOLERANCE
from softgrasp.model.scene import CompiledScene

MAX_DRAWS = 100
"""Largest number of starts that are drawn."""
Observation = dict[str, NDArray[np.float32]]
Flags = NDArray[np.bool_]


class Bound(NamedTuple):
    """Bounds of one part of an observation, outside which values are clipped."""

    low: NDArray[np.float32]
    high: NDArray[np.float32]


class Decision(NamedTuple):
    """Outcome of one decision of n episodes, (n,) each."""

    reward: Array
    success: Flags
    terminated: Flags
    """Whether success or failure is decided."""
    truncated: Flags
    """Whether the episode ended undecided."""


class Appearance(NamedTuple):
    """State that an image of an episode shows: model, joint positions, colours and camera."""

    model: mujoco.MjModel
    positions: Array
    """Joint positions, (nq,)."""
    colors: dict[int, tuple[float, float, float, float]]
    """Colours of geoms that are not those of the model."""
    labels: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    """Label of each geom in a segmentation, (ngeom,)."""
    palm: int = 0
    """Body in whose frame points are observed."""
    camera: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """Change of azimuth and elevation of the camera [deg], and factor of its distance."""


Generator = np.random.Generator | np.random.RandomState


class Episodes(Protocol):
    """n episodes that are simulated side by side, with their goal."""

    bounds: dict[str, Bound]
    """Bounds of the parts of an observation."""
    channels: int
    """Number of actions of an episode."""

    def reset(
        self, row: int, generator: np.random.Generator | None, options: dict[str, Any] | None
    ) -> None:
        """Begin an episode.

        Args:
            row: Its index.
            generator: Draws its start; None to go on with the last one.
            options: Values that are not drawn.
        """

    def step(self, actions: Array) -> Decision:
        """Simulate one decision of all episodes, with actions (n, na)."""

    def observe(self, rows: list[int], parts: Sequence[str]) -> Observation:
        """Return parts of the observations of some episodes, (rows, size) each."""

    def info(self, row: int) -> dict[str, Any]:
        """Return further information about an episode."""

    def shown(self, row: int) -> Appearance:
        """Return the state that an image of an episode shows."""


def check_numbers(action: ArrayLike, shape: tuple[int, ...], each: str) -> Array:
    """Return actions as floats.

    Args:
        action: The actions.
        shape: Their shape.
        each: What one number of them moves, for the message.

    Raises:
        DescriptionError: They have another shape, or contain NaN.
    """
    count = " x ".join(map(str, shape))
    try:
        values = np.asarray(action, dtype=float)
    except (TypeError, ValueError):
        raise DescriptionError(
            f"expected {count} numbers, one per {each}, found {action!r:.60}", field="action"
        ) from None
    if values.shape == shape and np.isfinite(values).all():
        return values
    received = "NaN" if values.shape == shape else f"an array of shape {values.shape}"
    raise DescriptionError(
        f"expected {count} numbers, one per {each}, found {received}", field="action"
    )


def too_fast(velocities: Array, limit: float) -> Flags:
    """Return whether the norms of velocities exceed a limit, or are not numbers.

    Args:
        velocities: Joint velocities, (n, nv).
        limit: The limit.
    """
    # written so that a speed that is not a number counts as too fast
    return np.asarray(~((velocities * velocities).sum(axis=1) < limit**2))


# Fingers and poses


def finger_of_body(built: CompiledScene) -> dict[str, str]:
    """Return the finger of each body of the hand that can touch, except the palm."""
    parts = names.parts(built.scene.hand)
    return {body: parts[body][0] for body in built.bodies if body in parts}


def finger_members(bodies: Sequence[str], finger_of: Mapping[str, str]) -> Array:
    """Return which bodies belong to which finger, (nb, nf) of 0 and 1.

    Args:
        bodies: Bodies that can touch.
        finger_of: Finger of each body; the palm has none.
    """
    fingers = list(dict.fromkeys(finger_of.values()))
    members = [[finger_of.get(body) == finger for finger in fingers] for body in bodies]
    return np.array(members, dtype=float).reshape(len(bodies), len(fingers))


class ObjectPose(NamedTuple):
    """Poses of the object in the palm frame at m control samples."""

    position: Array
    """Positions, (m, 3) [m]."""
    rotation: Array
    """Rotation matrices, (m, 3, 3)."""


def in_palm_frame(
    positions: Array, rotations: Array, palm_positions: Array, palm_rotations: Array
) -> ObjectPose:
    """Transform poses of the object to the palm frame.

    Args:
        positions: Positions of the object in the world [m], (m, 3).
        rotations: Its rotations, (m, 9).
        palm_positions: Positions of the palm [m], (m, 3).
        palm_rotations: Its rotations, (m, 9).
    """
    back = palm_rotations.reshape(-1, 3, 3).transpose(0, 2, 1)
    offset = (back @ (positions - palm_positions)[:, :, None])[:, :, 0]
    return ObjectPose(offset, back @ rotations.reshape(-1, 3, 3))


# Random starts of a scene


class Offset(NamedTuple):
    """Offset of the object from its start position."""

    position: Array
    """World frame, (3,) [m]."""
    rotation: Array
    """Rotation vector, world frame, (3,) [rad]."""


def clear_offset(
    scene: GraspScene, noise: PoseNoise, generator: Generator, is_clear: Callable[[Offset], bool]
) -> Offset | None:
    """Draw offsets of the object until it is clear of the hand; None without noise.

    An object on a table stays on it: it moves in the plane and rotates about z. A planar one stays
    in its plane.

    Args:
        scene: The scene.
        noise: Standard deviations.
        generator: Draws numbers.
        is_clear: Whether the object is clear of the hand at an offset.

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


def move_pose(position: Array, quaternion: Array, offset: Offset) -> tuple[Array, Array]:
    """Apply an offset to a pose in the world."""
    rotation, rotated = np.zeros(4), np.zeros(4)
    angle = float(np.linalg.norm(offset.rotation))
    axis = offset.rotation / angle if angle > 0.0 else np.array([1.0, 0.0, 0.0])
    mujoco.mju_axisAngle2Quat(rotation, axis, angle)
    mujoco.mju_mulQuat(rotated, rotation, quaternion)
    return position + offset.position, rotated


def touches_nothing(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> bool:
    """Return whether a body overlaps no other; changes only derived quantities of the state.

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
