"""The two doors to the environments; what they need is loaded behind them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softgrasp.description.scene import GraspScene
from softgrasp.errors import BackendUnavailable

if TYPE_CHECKING:
    from softgrasp.envs.gym_env import GraspEnv

__all__ = ["make_dm_env", "make_env"]


def make_env(scene: GraspScene | str | Path, **options: Any) -> GraspEnv:
    """A scene as a Gymnasium environment (extra ``gym``).

    An agent moves the drives of the hand until the closing time is up, and goes on while the
    scene's hold test (the default one where it has none) puts gravity on, or while its lift moves
    the wrist or the arm. The episode ends with the verdict, and early once it is certain.

    Args:
        scene: The scene, its library name or its file.
        options: ``action`` ("increments" or "targets"), ``speed``, ``decision_period`` [s],
            ``closing_time`` [s], ``time_limit`` [s], ``noise`` (a ``PoseNoise``), ``shaping`` and
            ``discount``, as ``EnvSettings`` has them; ``render_mode`` (None or "rgb_array"),
            ``size`` (width, height) and ``renderer`` ("auto", "gl", "raycast") of pictures.

    Raises:
        BackendUnavailable: Gymnasium is not installed.
        DescriptionError: An option does not exist or does not fit, or the object is fixed.
        BuildError: The scene makes no model that can be simulated.
    """
    if find_spec("gymnasium") is None:
        raise BackendUnavailable("gymnasium is not installed: pip install 'softgrasp[gym]'")
    from softgrasp.envs.gym_env import registered_env

    return registered_env(scene, **options)


def make_dm_env(scene: GraspScene | str | Path, *, random_state: Any = None, **options: Any) -> Any:
    """A scene as a ``dm_env.Environment``, made with dm_control's composer (extra ``dm``).

    The same task as that of ``make_env``. The model is put together anew by dm_control, from
    numbers of six digits: motions agree with ours to rounding, until contacts make them part.

    Args:
        scene: The scene, its library name or its file: a free object, no table, arm or lift.
        random_state: Seed, or numpy's ``RandomState``, of the start's noise.
        options: Fields of ``EnvSettings``, as ``make_env`` has them.

    Raises:
        BackendUnavailable: dm_control is missing or does not work with this MuJoCo.
        DescriptionError: An option does not exist or does not fit.
        BuildError: The scene makes no model, or has something that is not offered here.
    """
    from softgrasp.envs.dm_env import require_dm_control

    require_dm_control()
    from softgrasp.envs.dm_env import dm_environment

    return dm_environment(scene, random_state, options)
