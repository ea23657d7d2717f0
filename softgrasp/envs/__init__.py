"""Environments for reinforcement learning: scenes and learning tasks for Gymnasium or as a dm_env.

``core`` has the interface of episodes; ``episode`` (goal, reward) and ``simulation`` implement it
for scenes, ``tasks`` (goals, reward) and ``task_simulation`` for learning tasks. ``views`` makes
their spaces and images. ``gym_env``, ``task_env``, ``sb3`` and ``dm_env`` adapt episodes to
libraries, and are loaded only when they are used.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softgrasp.description.scene import GraspScene
from softgrasp.errors import BackendUnavailable

if TYPE_CHECKING:
    from softgrasp.envs.gym_env import GraspEnv
    from softgrasp.envs.task_env import TaskEnv, TaskVectorEnv

__all__ = ["make_dm_env", "make_env", "make_task_env"]


def make_env(scene: GraspScene | str | Path, **options: Any) -> GraspEnv:
    """Make a Gymnasium environment of a scene (extra ``gym``).

    An agent moves the actuators of the hand during the closing time, and continues while the
    scene's hold test (the default one if it has none) applies gravity, or while its lift moves the
    wrist or the arm. The episode ends with success or failure, as soon as it is certain.

    Args:
        scene: The scene, its library name or its file.
        options: ``action`` ("increments" or "targets"), ``speed``, ``decision_period`` [s],
            ``closing_time`` [s], ``time_limit`` [s], ``noise`` (a ``PoseNoise``), ``shaping`` and
            ``discount``, as ``EnvSettings`` has them; ``render_mode`` (None or "rgb_array"),
            ``size`` (width, height) and ``renderer`` ("auto", "gl", "raycast") of images.

    Raises:
        BackendUnavailable: Gymnasium is not installed.
        DescriptionError: An option does not exist or does not fit, or the object is fixed.
        BuildError: The scene makes no model that can be simulated.
    """
    _require("gymnasium", "gym")
    from softgrasp.envs.gym_env import register_env

    return register_env(scene, **options)


def make_task_env(
    task: str, num_envs: int | None = None, **options: Any
) -> TaskEnv | TaskVectorEnv:
    """Make a Gymnasium environment of a learning task (extra ``gym``), as ``gymnasium.make`` does.

    Args:
        task: Name of the task, such as ``Lift``; see the page "Learning tasks".
        num_envs: Number of episodes of a vector environment; a single environment by default.
        options: ``observations``, ``actions``, ``noise``, ``engine``, ``goals`` and ``visuals``, as
            ``TaskSettings`` has them; ``hand`` and ``objects`` of ``LiftAny``, ``render_mode``
            (None or "rgb_array"); ``threads`` of a vector environment.

    Raises:
        BackendUnavailable: Gymnasium, or MuJoCo Warp for that engine, is not installed.
        DescriptionError: There is no such task or option.
    """
    _require("gymnasium", "gym")
    from softgrasp.envs.task_env import TaskEnv, TaskVectorEnv

    if num_envs is None:
        return TaskEnv(task, **options)
    return TaskVectorEnv(task, num_envs, **options)


def make_dm_env(scene: GraspScene | str | Path, *, random_state: Any = None, **options: Any) -> Any:
    """Make a ``dm_env.Environment`` of a scene with dm_control's composer (extra ``dm``).

    The task is that of ``make_env``. dm_control assembles the model from numbers of six digits:
    motions agree to rounding until contacts amplify the difference.

    Args:
        scene: The scene, its library name or its file: a free object, no table, arm or lift.
        random_state: Seed, or numpy's ``RandomState``, of the noise of the start.
        options: Fields of ``EnvSettings``, as ``make_env`` has them.

    Raises:
        BackendUnavailable: dm_control is missing or does not work with this MuJoCo.
        DescriptionError: An option does not exist or does not fit.
        BuildError: The scene makes no model, or has something that is not supported here.
    """
    _require("dm_control", "dm", " (Python 3.11 or 3.12)")
    import mujoco

    if int(mujoco.__version__.split(".")[0]) >= 4:
        raise BackendUnavailable(
            f"dm_control 1.0 needs MuJoCo below 4, found {mujoco.__version__}: "
            "pip uninstall -y mujoco mujoco-core mujoco-studio && pip install 'softgrasp[dm]'"
        )
    from softgrasp.envs.dm_env import dm_environment

    return dm_environment(scene, random_state, options)


def _require(library: str, extra: str, versions: str = "") -> None:
    if find_spec(library) is None:
        raise BackendUnavailable(
            f"{library} is not installed: pip install 'softgrasp[{extra}]'{versions}"
        )
