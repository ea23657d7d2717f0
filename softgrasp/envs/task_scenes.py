"""Scenes of the learning tasks, built from hands, wrists, objects and robots of the package."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from softgrasp.description.closure import PositionIncrementClosure
from softgrasp.description.geometry import Cuboid, Cylinder, Pose
from softgrasp.description.hand import Hand
from softgrasp.description.object import Block, GraspObject, PlacedObject, Table
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import ClosePhase
from softgrasp.envs.task_model import Source, scene_source
from softgrasp.io.load import load_hand, load_robot
from softgrasp.io.scene import load_scene
from softgrasp.mechanics.transforms import triple
from softgrasp.model import names
from softgrasp.model.arm import carry_hand, wrist_center
from softgrasp.model.object import object_pose
from softgrasp.model.robot import robot_spec
from softgrasp.pipeline import compile_scene

TABLE_TOP = -0.128
"""World z of the table under a hand whose palm is at the origin [m]: its fingertips clear it."""
CUBE = GraspObject(name="object", shape=Cuboid(size=(0.04, 0.04, 0.04)), density=600.0)
SECOND = "second_"
"""Prefix of the names of a second hand."""


def radial_hand() -> Hand:
    """Return four fingers of three joints around an axis, as in the scene four_finger_sphere."""
    return load_scene("four_finger_sphere").hand


def _scene(hand: Hand, described: GraspObject, height: float, **changes: Any) -> GraspScene:
    fields: dict[str, Any] = {
        "grasp": "precision",
        "object_position": (0.0, 0.0, height),
        "object_euler": (0.0, 0.0, 0.0),
        "gravity": True,
        "closure": PositionIncrementClosure(grip_force=None),
        "sequence": (ClosePhase(),),
        "name": "task",
    }
    return GraspScene(hand=hand, object=described, **(fields | changes))


def held() -> Source:
    """Return a hand around an object in the air, without a wrist."""
    return scene_source(_scene(radial_hand(), CUBE, -0.105, sequence=()))


def on_table() -> Source:
    """Return a hand on a wrist above an object on a table."""
    table = Table(height=TABLE_TOP, center=(0.0, 0.0))
    return scene_source(_scene(radial_hand(), CUBE, TABLE_TOP + 0.02, surroundings=(table,)))


def on_stand(hand: str | Path | Hand | None = None) -> Source:
    """Return a hand on a wrist around an object on a stand, where the hand would grasp a cube.

    Args:
        hand: The hand, its name or file; ``radial_hand`` by default.

    Raises:
        BuildError: The hand has no grasp for a cube.
    """
    if not isinstance(hand, Hand):
        hand = radial_hand() if hand is None else load_hand(hand)
    alone = compile_scene(_scene(hand, CUBE, 0.0, object_position=None)).scene
    x, y, z = object_pose(alone).position
    half, top = 0.025, z - 0.02
    stand = Block(name="stand", position=(x, y, top - 0.05), size=(half, half, 0.1))
    scene = alone.replace(object_position=(x, y, z), surroundings=(stand,))
    source = scene_source(scene)
    model = compile_scene(scene).model
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    palm = model.body(source.palm).id
    offset = data.xmat[palm].reshape(3, 3).T @ (np.array([x, y, z]) - data.xpos[palm])
    return replace(source, table=top, center=triple(offset))


def cluttered() -> Source:
    """Return the same with three cans beside the object."""
    can = GraspObject(name="can", shape=Cylinder(radius=0.014, height=0.05), density=600.0)
    spots = ((0.058, 0.058), (-0.058, 0.058), (0.058, -0.058))
    others = tuple(
        PlacedObject(object=can, position=(x, y, TABLE_TOP + 0.025), name=f"can{index}")
        for index, (x, y) in enumerate(spots, 1)
    )
    table = Table(height=TABLE_TOP, center=(0.0, 0.0))
    scene = _scene(radial_hand(), CUBE, TABLE_TOP + 0.02, surroundings=(table,), objects=others)
    return scene_source(scene)


def soft_on_table() -> Source:
    """Return three pneumatic fingers on a wrist above an object on a table."""
    hand = load_hand("soft_gripper_three")
    table = Table(height=-0.085, center=(0.0, 0.0))
    return scene_source(_scene(hand, CUBE, -0.065, surroundings=(table,)))


PEG = GraspObject(name="object", shape=Cuboid(size=(0.02, 0.02, 0.07)), density=600.0)
HOLE_TOP, HOLE_WIDTH, HOLE_WALL = -0.175, 0.024, 0.03
"""World z of the edge of the hole, its width, and the thickness of its walls [m]."""


HOLE_OFFSET = 0.5 * (HOLE_WIDTH + HOLE_WALL)
"""Distance of the centre of the hole from those of its walls [m]."""


def above_hole() -> Source:
    """Return a hand with a peg between its fingers above a square hole."""
    reach, half = HOLE_OFFSET, 0.02
    long = HOLE_WIDTH + 2.0 * HOLE_WALL
    sizes = {(1, 0): (HOLE_WALL, long, 2 * half), (0, 1): (HOLE_WIDTH, HOLE_WALL, 2 * half)}
    blocks = tuple(
        Block(
            name=f"side{index}",
            position=(x * reach, y * reach, HOLE_TOP - half),
            size=sizes[abs(x), abs(y)],
        )
        for index, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1)))
    )
    return scene_source(_scene(radial_hand(), PEG, -0.12, surroundings=blocks))


def above_valve() -> Source:
    """Return a hand above a square knob on a vertical hinge with friction."""
    source = scene_source(_scene(radial_hand(), CUBE, -0.105, object_mount="fixed"))
    knob = source.spec.body(names.OBJECT)
    knob.add_joint(
        name="valve",
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=[0.0, 0.0, 1.0],
        damping=0.005,
        frictionloss=0.02,
        armature=1e-4,
    )
    return source


def two_hands() -> Source:
    """Return two grippers on wrists of their own above a beam on a table."""
    hand, reach = load_hand("two_finger_planar"), 0.1
    beam = GraspObject(name="object", shape=Cuboid(size=(0.3, 0.03, 0.03)), density=400.0)
    sideways = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))
    table = Table(height=-0.115, center=(0.0, 0.0))
    scene = _scene(hand, beam, -0.1, surroundings=(table,),
                   hand_pose=Pose(position=(-reach, 0.0, 0.0), quaternion=sideways))  # fmt: skip
    source = scene_source(scene)
    other = Pose(position=(reach, 0.0, 0.0), quaternion=sideways)
    arguments = (scene.mechanism, other, scene.actuation, None, None, wrist_center(scene))
    child = carry_hand(*arguments)[0].copy()
    spec = source.spec
    geoms = {geom.name for geom in child.geoms}
    pairs = list(spec.pairs)
    spec.attach(child, prefix=SECOND, frame=spec.worldbody.add_frame())
    for pair in pairs:
        ends = [pair.geomname1, pair.geomname2]
        if not geoms & {*ends}:
            continue
        first, second = (SECOND + end if end in geoms else end for end in ends)
        spec.add_pair(
            name=SECOND + pair.name, geomname1=first, geomname2=second, condim=pair.condim,
            friction=pair.friction, solref=pair.solref, solreffriction=pair.solreffriction,
            solimp=pair.solimp,
        )  # fmt: skip
    for body in source.bodies:
        before = spec.sensor(names.contact_sensor(body))
        after = spec.add_sensor(
            name=names.contact_sensor(SECOND + body), type=before.type, objtype=before.objtype,
            objname=SECOND + body, reftype=before.reftype, refname=before.refname,
        )  # fmt: skip
        after.intprm[:3] = before.intprm[:3]

    def both(known: Mapping[str, Any]) -> dict[str, Any]:
        return {**known, **{SECOND + name: value for name, value in known.items()}}

    return replace(
        source,
        bodies=(*source.bodies, *(SECOND + body for body in source.bodies)),
        fingers={**source.fingers, **{SECOND + b: SECOND + f for b, f in source.fingers.items()}},
        start=both(source.start),
        rates=both(source.rates),
        limits=both(source.limits),
    )


TENSION = 12.0
"""Largest tension of a tendon of the soft arm [N]."""
TENSION_RATE = 24.0
"""Largest rate of it [N/s]."""


ARM_LENGTH = 0.948
"""Length of the backbones of ``three_segment_arm`` [m]."""


def soft_arm() -> Source:
    """Return a continuum arm of three segments with nine tendons, and a target in the air."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = robot_spec(load_robot("three_segment_arm"))
    spec.option.gravity = [0.0, 0.0, 0.0]  # as under water, where it neither sinks nor rises
    target = spec.worldbody.add_body(name=names.OBJECT, pos=[0.0, 0.0, 0.9])
    target.add_geom(
        type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.03, 0, 0], contype=0, conaffinity=0,
        rgba=[0.2, 0.7, 0.3, 0.6],
    )  # fmt: skip
    tendons = [actuator.name for actuator in spec.actuators]
    joints = tuple(joint.name for joint in spec.joints)
    return Source(
        spec,
        "eef",
        rates=dict.fromkeys(tendons, TENSION_RATE),
        limits=dict.fromkeys(tendons, (0.0, TENSION)),
        hidden=joints,
    )
