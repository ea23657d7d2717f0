"""A hand with a model of its own, attached to a scene as it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import mujoco
import numpy as np

from softgrasp.description.hand import Hand, HandModel
from softgrasp.io.mjcf.hand import source_model
from softgrasp.io.mjcf.model import attach, closed
from softgrasp.mechanics.transforms import Array

PRESCRIBED_ARMATURE = 1e4
"""Inertia [kg·m² or kg] that keeps a prescribed joint on its path whatever touches it."""


def add_model(
    spec: mujoco.MjSpec,
    base: mujoco.MjsBody,
    model: HandModel,
    actuation: Literal["servo", "prescribed"],
) -> list[str]:
    """Attach a hand's own model to a body and return its bodies that can touch.

    Args:
        spec: The scene; to be copied before it is compiled.
        base: What carries the model.
        model: The model.
        actuation: Where it is ``prescribed``, joints lose their servos, springs and friction.

    Raises:
        DescriptionError: Its file is missing, wrong, or has changed.
    """
    attach(spec, source_model(model), base, model.pose, model.servos)
    for name in (
        model_actuator.joint for model_actuator in model.actuators if actuation == "prescribed"
    ):
        joint = spec.joint(name)
        joint.armature, joint.limited = PRESCRIBED_ARMATURE, mujoco.mjtLimited.mjLIMITED_FALSE
        joint.damping[:] = 0.0
        joint.stiffness[:] = 0.0
        joint.frictionloss = 0.0
    for model_actuator in model.actuators if actuation == "prescribed" else ():
        actuator = spec.actuator(model_actuator.actuator)
        actuator.gainprm[:] = 0.0
        actuator.biasprm[:] = 0.0
    return list(model.touching)


def silence(spec: mujoco.MjSpec, bodies: Iterable[str]) -> None:
    """Leave contact to the scene's explicit pairs: none of the model's own is made any more.

    Args:
        spec: A scene that holds a hand's own model; changed.
        bodies: Its bodies that can touch.
    """
    for body in bodies:
        for geom in spec.body(body).geoms:
            geom.contype = geom.conaffinity = 0
    for pair in [pair for pair in spec.pairs if "|" not in pair.name]:
        spec.delete(pair)


def settle(model: mujoco.MjModel, hand: Hand, position: Array) -> Array:
    """A posture in which the hand's own equalities hold, with its drives where they are.

    Args:
        model: The compiled scene.
        hand: Its hand.
        position: ``qpos``, (nq,).
    """
    if hand.model is None or not model.neq:
        return position
    data = mujoco.MjData(model)
    data.qpos[:] = position
    hand_joints = [name for f in hand.fingers for name in map(f.joint_of, f.phalanges)]
    led = {move.joint for model_actuator in hand.model.actuators for move in model_actuator.moves}
    held = np.ones(model.nv, dtype=bool)
    # joints of the model that no row tells of, balls, may move too
    for joint in range(model.njnt):
        name = model.joint(joint).name
        if name in hand_joints and name not in led:
            held[int(model.jnt_dofadr[joint])] = False
    closed(model, data, held)
    return np.array(data.qpos)
