"""A grasp scene → a Webots world."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.build import names
from softgrasp.build.objects import PLANAR_JOINTS
from softgrasp.build.scene import BuiltScene
from softgrasp.build.shapes import TOUCHING_GROUPS
from softgrasp.build.webots.contacts import contact_properties
from softgrasp.build.webots.frames import WORLD as ORIGIN
from softgrasp.build.webots.hand_world import refuse_model
from softgrasp.build.webots.joint_laws import joint_laws
from softgrasp.build.webots.joints import law_remarks
from softgrasp.build.webots.solids import SolidWriter, body_define
from softgrasp.build.webots.start import roots, start_state, view_of
from softgrasp.build.webots.world import WebotsWorld, downward, driven_robot, heading
from softgrasp.description.scene import GraspScene
from softgrasp.formats.wbt.node import Node

HAND_MATERIAL, OBJECT_MATERIAL, TABLE_MATERIAL = "hand", "object", "table"


def scene_world(
    built: BuiltScene,
    timestep: float,
    arguments: tuple[str, ...],
    most_faces: int | None = None,
) -> WebotsWorld:
    """A scene as a Webots world with a hand, an object, a table where there is one.

    Args:
        built: The scene.
        timestep: Of Webots [s].
        arguments: Of the controller.
        most_faces: Meshes with more triangles are made coarser; none where not given.

    Raises:
        BuildError: The scene holds what Webots cannot express; names it.
    """
    refuse_model(built.scene.hand)
    model, scene = built.model, built.scene
    start, touching = start_state(model), _touching(built)
    gravity = downward(scene.gravity, "gravity")
    if scene.success is not None:
        downward(scene.success.gravity, "success.gravity")
    laws = joint_laws(model, start, timestep)
    writer = SolidWriter(model, start, laws, built.bodies, touching, most_faces)
    robot = driven_robot(_hand(model, writer), scene.hand.name, arguments)
    top = heading(
        scene.name or f"{scene.hand.name} {scene.object.name}",
        gravity,
        timestep,
        _contacts(built, timestep),
        view_of(model, start, [geom for geom in touching if model.geom(geom).name != names.TABLE]),
    )
    others = [_standing(writer, model.body(name).id, material) for name, material in _others(scene)]
    return WebotsWorld(
        nodes=[*top, robot, *others],
        laws=[law for law in laws if law.name not in PLANAR_JOINTS],
        timestep=timestep,
        compensated={
            body_define(body): float(model.body_mass[body] * model.body_gravcomp[body])
            for body in range(model.nbody)
            if model.body_gravcomp[body] and model.body_weldid[body]
        },
        remarks=(*_remarks(built), *law_remarks(laws)),
    )


def _hand(model: mujoco.MjModel, writer: SolidWriter) -> list[Node]:
    """Everything that stands in the world and is neither the object nor the table."""
    apart = {names.OBJECT, names.TABLE, f"{names.OBJECT}_carriage"}
    hand = [body for body in roots(model) if model.body(body).name not in apart]
    return [writer.carried(body, ORIGIN, HAND_MATERIAL) for body in hand]


def _others(scene: GraspScene) -> list[tuple[str, str]]:
    planar = scene.object_mount == "planar"
    thing = f"{names.OBJECT}_carriage" if planar else names.OBJECT
    table = [(names.TABLE, TABLE_MATERIAL)] if scene.table is not None else []
    return [(thing, OBJECT_MATERIAL), *table]


def _standing(writer: SolidWriter, body: int, material: str) -> Node:
    """A thing of its own in the world; one on joints needs a solid that carries them."""
    node = writer.carried(body, ORIGIN, material)
    if node.type in ("HingeJoint", "SliderJoint"):
        return Node("Solid", {"children": [node], "name": f"{material}_mount"})
    return node


def _touching(built: BuiltScene) -> set[int]:
    """Geoms that can touch in the model, and those of bodies that have a sensor of touch."""
    model = built.model
    sensing = [model.body(name).id for name in built.bodies]
    own = np.isin(model.geom_bodyid, sensing) & np.isin(model.geom_group, TOUCHING_GROUPS)
    return {*model.pair_geom1.tolist(), *model.pair_geom2.tolist(), *np.flatnonzero(own).tolist()}


def _contacts(built: BuiltScene, timestep: float) -> list[Node]:
    scene, contact, dimension = built.scene, built.contact, built.scene.solver.contact_dimension
    found = [contact_properties(HAND_MATERIAL, OBJECT_MATERIAL, contact, dimension, timestep)]
    if scene.table is not None:
        top = scene.table.contact or contact
        found += [
            contact_properties(TABLE_MATERIAL, material, top, dimension, timestep)
            for material in (OBJECT_MATERIAL, HAND_MATERIAL)
        ]
    return found


def _remarks(built: BuiltScene) -> tuple[str, ...]:
    """What the world says otherwise than the scene."""
    scene, contact, said = built.scene, built.contact, []
    if contact.switches_friction:
        said.append(
            f"friction stays at its static value {contact.static_friction:g}: Webots has no "
            "dynamic one of its own"
        )
    if scene.self_contact:
        said.append(
            "parts of the hand do not touch one another: with touch sensors on them, Webots would "
            "let neighbours collide"
        )
    if scene.object.shape.type not in ("sphere", "capsule", "cylinder", "cuboid"):
        said.append(
            "the object is a mesh of triangles in Webots: each of its points of contact has the "
            "whole stiffness, they change from face to face, and a grip that MuJoCo holds can "
            "squeeze it out"
        )
    return tuple(said)
