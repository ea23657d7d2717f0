"""Runs as episodes for learning: observations and actions at a constant rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation, Slerp

from softgrasp.description.scene import GraspScene
from softgrasp.errors import DescriptionError
from softgrasp.evaluation.result import GraspResult
from softgrasp.mechanics.transforms import Array
from softgrasp.rendering.video import render_key_frames

FPS = 50
"""Default rate of episodes [1/s]."""
SERIES = {
    "state": ("joint_position", "joint_names"),
    "contact_force": ("normal_force", "contact_bodies"),
    "friction_force": ("friction_force", "contact_bodies"),
    "sensors": ("sensor_values", "sensor_names"),
    "pressure": ("pressure", ""),
}
"""Observations by name: array of ``trajectory.npz``, and that of its columns' names."""
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")


@dataclass(frozen=True, eq=False)
class Episode:
    """A run sampled at a constant rate; T samples."""

    fps: int
    """Samples per second."""
    task: str
    """What was done, in words."""
    observations: dict[str, NDArray[np.float32]]
    """(T, n) each: ``state`` joint variables [rad or m], ``object_pose`` in the world [m, –],
    ``contact_force`` and ``friction_force`` of each body [N], ``sensors`` [N, N·m], ``pressure``
    [Pa]."""
    action: NDArray[np.float32]
    """Targets of the actuators, (T, nu) [rad, m or Pa]."""
    names: dict[str, tuple[str, ...]]
    """Names of the columns of each observation and of ``action``."""
    success: bool | None = None
    """Whether the object was held; None without a test."""
    frames: NDArray[np.uint8] | None = None
    """Images (T, height, width, 3); None without."""

    def __len__(self) -> int:
        return len(self.action)


def episode_of(
    result: GraspResult, fps: int = FPS, *, image_size: tuple[int, int] | None = None
) -> Episode:
    """Sample a result at a constant rate.

    Args:
        result: The result.
        fps: Samples per second.
        image_size: Width and height of the images [px]; no images by default.

    Raises:
        DescriptionError: ``fps`` is no whole number of at least 1.
        BackendUnavailable: No renderer is available.
    """
    frames = None
    if image_size is not None:
        times = sample_times(result.time, fps).tolist()
        frames = np.array(render_key_frames(result, times, size=image_size))
    return sample(result.trajectory(), fps, task_of(result.scene), result.held, frames)


def task_of(scene: GraspScene) -> str:
    """Return the task of a scene in words, such as ``Grasp cube with four_finger``."""
    return f"Grasp {scene.object.name} with {scene.hand.name}"


def sample(
    arrays: Mapping[str, NDArray[Any]],
    fps: int,
    task: str,
    success: bool | None,
    frames: NDArray[np.uint8] | None = None,
) -> Episode:
    """Sample the arrays of ``trajectory.npz`` at a constant rate.

    Joints, positions and forces are interpolated linearly, orientations on the shortest path;
    targets are those of the control sample at or before.

    Args:
        arrays: The arrays.
        fps: Samples per second.
        task: What was done.
        success: Whether it succeeded; None without a test.
        frames: Images at the samples.

    Raises:
        DescriptionError: ``fps`` is no whole number of at least 1.
    """
    time, times = arrays["time"], sample_times(arrays["time"], fps)
    present = {name: keys for name, keys in SERIES.items() if keys[0] in arrays}
    observations = {name: _linear(times, time, arrays[key]) for name, (key, _) in present.items()}
    names = {name: _names(arrays, *keys) for name, keys in present.items()}
    position = _linear(times, time, arrays["object_position"])
    rotations = Rotation.from_quat(arrays["object_quat_wxyz"], scalar_first=True)
    rotated = Slerp(time, rotations)(times) if len(time) > 1 else rotations
    quaternions = rotated.as_quat(scalar_first=True, canonical=True)
    pose = np.concatenate([position, quaternions], axis=1)
    rows = np.searchsorted(time, times + 1e-9, side="right") - 1
    return Episode(
        fps=fps,
        task=task,
        observations={
            name: one.astype(np.float32)
            for name, one in (observations | {"object_pose": pose}).items()
        },
        action=arrays["joint_target"][rows].astype(np.float32),
        names=names | {"object_pose": POSE, "action": tuple(arrays["actuator_names"].tolist())},
        success=success,
        frames=frames,
    )


def sample_times(time: Array, fps: Any) -> Array:
    """Return the times of samples from the first to the last of a run [s].

    Raises:
        DescriptionError: ``fps`` is no whole number of at least 1.
    """
    if not isinstance(fps, int | np.integer) or fps < 1:
        message = f"expected a whole number of at least 1 sample a second, found {fps}"
        raise DescriptionError(message, field="fps")
    count = int((time[-1] - time[0]) * fps + 1e-6) + 1
    return np.asarray(np.minimum(time[0] + np.arange(count) / fps, time[-1]))


def _linear(times: Array, time: Array, values: NDArray[Any]) -> Array:
    columns = [np.interp(times, time, item) for item in np.asarray(values, dtype=float).T]
    return np.stack(columns, axis=1) if columns else np.zeros((len(times), 0))


def _names(arrays: Mapping[str, NDArray[Any]], key: str, names: str) -> tuple[str, ...]:
    if names:
        return tuple(arrays[names].tolist())
    return tuple(f"{key}_{column}" for column in range(arrays[key].shape[1]))


def require_alike(episodes: Sequence[Episode]) -> Episode:
    """Return the first of episodes that can stand in one dataset.

    Raises:
        DescriptionError: There are none, or they differ in rate, columns or images.
    """
    if not episodes:
        raise DescriptionError("expected at least one episode, found none")
    first = episodes[0]
    for number, other in enumerate(episodes):
        for what, one, expected in (
            ("fps", other.fps, first.fps),
            *((f"columns of {k}", other.names.get(k), first.names.get(k)) for k in first.names),
            ("names", sorted(other.names), sorted(first.names)),
            ("image size", _size(other), _size(first)),
        ):
            if one != expected:
                raise DescriptionError(
                    f"episode {number}: expected the {what} of episode 0, {expected}, found {one}; "
                    "one dataset holds runs of one hand"
                )
    return first


def _size(episode: Episode) -> tuple[int, ...] | None:
    return None if episode.frames is None else episode.frames.shape[1:]
