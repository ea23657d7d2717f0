"""A result's joints as states over time: positions, velocities and the efforts of servos."""

from __future__ import annotations

import warnings
from pathlib import Path

import mujoco
import numpy as np

from softgrasp.errors import SoftgraspWarning
from softgrasp.io.result import JointStates, save_joint_states
from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import compile_model
from softgrasp.simulation.result import GraspResult

JOINT = mujoco.mjtTrn.mjTRN_JOINT


def write_joint_states(result: GraspResult, path: str | Path) -> Path:
    """Write the joints of a result as CSV, ROS style; see ``docs/environments.md`` for the header.

    Args:
        result: The run.
        path: The ``.csv`` file.

    Raises:
        ResultError: The place cannot be written.
    """
    return save_joint_states(joint_states(result), path)


def joint_states(result: GraspResult) -> JointStates:
    """The joints of a result at every control sample.

    Velocities are not recorded: they are central differences of the recorded positions, one-sided
    at both ends; NaN where there is one row only. Efforts are what the law of the position servos
    gives for recorded targets, recorded positions and these velocities, within the force limits;
    NaN of joints without a servo (soft fingers, prescribed joints) and of runs in other engines.
    """
    return JointStates(
        names=tuple(result.joint_names.tolist()),
        time=result.time,
        position=result.joint_position,
        velocity=(velocity := _velocity(result)),
        effort=_effort(result, velocity),
    )


def _velocity(result: GraspResult) -> Array:
    if len(result.time) < 2:
        return np.full_like(result.joint_position, np.nan)
    return np.asarray(np.gradient(result.joint_position, result.time, axis=0))


def _effort(result: GraspResult, velocity: Array) -> Array:
    """MuJoCo's affine position servo: gain·target + bias·(1, position, velocity), (T, nj)."""
    effort = np.full_like(result.joint_position, np.nan)
    if result.backend.get("name") != "mujoco" or result.scene.actuation != "servo":
        return effort
    with warnings.catch_warnings():
        # said when the scene was built for the run, and kept in the result
        warnings.simplefilter("ignore", SoftgraspWarning)
        model = compile_model(result.scene)
    driven: list[str] = result.actuator_names.tolist()
    for column, name in enumerate(result.joint_names.tolist()):
        if name not in driven or (servo := model.actuator(name)).trntype[0] != JOINT:
            continue
        target = result.joint_target[:, driven.index(name)]
        constant, of_position, of_velocity = servo.biasprm[:3].tolist()
        force = servo.gainprm[0] * target + constant
        force += of_position * result.joint_position[:, column] + of_velocity * velocity[:, column]
        low, high = servo.forcerange if servo.forcelimited else (-np.inf, np.inf)
        effort[:, column] = np.clip(force, low, high)
    return effort
