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
from softgrasp.description.arm import HandCarrier
from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError
from softgrasp.formats.wbt.node import Node

HAND_MATERIAL, OBJECT_MATERIAL = "hand", "object"


def require_plain(scene: GraspScene) -> None:
    """Refuse a scene that only MuJoCo runs.

    Raises:
        BuildError: It has a sequence, or a hold test that is more than a ramp of gravity.
    """
    if not scene.is_plain:
        raise BuildError(
            f"{'sequence' if scene.sequence else 'success'}: expected a closure with a ramp of "
            "gravity or a lift behind it, as sequences, motion and directions run in MuJoCo only"
        )


def scene_world(
    built: BuiltScene,
    timestep: float,
    arguments: tuple[str, ...],
    max_faces: int | None = None,
) -> WebotsWorld:
    """A scene as a Webots world with a hand, an object, and what stands around.

    Args:
        built: The scene.
        timestep: Of Webots [s].
        arguments: Of the controller.
        max_faces: Meshes with more triangles are made coarser; none where not given.

    Raises:
        BuildError: The scene holds what Webots cannot express; names it.
    """
    refuse_model(built.scene.hand)
    model, scene = built.model, built.scene
    _refuse_what_only_mujoco_has(scene)
    if scene.objects:
        raise BuildError(
            "objects: expected none beside the one to be grasped, as a controller of Webots tells "
            f"of one object only, found {', '.join(scene.object_names[1:])}"
        )
    start, touching = start_state(model), _touching(built)
    require_plain(scene)
    gravity = downward(scene.gravity, "gravity")
    if scene.success is not None and scene.success.gravity is not None:
        downward(scene.success.gravity, "success.gravity")
    laws = joint_laws(model, start, timestep)
    writer = SolidWriter(model, start, laws, built.bodies, touching, max_faces)
    robot = driven_robot(_hand(model, writer), scene.hand.name, arguments)
    top = heading(
        scene.name or f"{scene.hand.name} {scene.object.name}",
        gravity,
        timestep,
        _contacts(built, timestep),
        view_of(model, start, [g for g in touching if not names.is_around(model.geom(g).name)]),
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


def _refuse_what_only_mujoco_has(scene: GraspScene) -> None:
    """Refuse contact models, deformable objects and sensors, which Webots and ODE do not have."""
    if isinstance(scene.arm, HandCarrier):
        raise BuildError(
            "arm: expected none, or one of rigid links, for Webots and ODE, found a "
            f"{scene.arm.kind} one"
        )
    if scene.object.elasticity is not None:
        raise BuildError(
            "object.elasticity: expected a rigid object for Webots and ODE, found a deformable one"
        )
    if any(contact.model == "native" for contact in scene.requested_contacts):
        raise BuildError(
            "contact.model: expected 'compliant' or 'soft-finger' for Webots and ODE, found "
            "'native', which is MuJoCo's own"
        )
    if scene.sensors:
        raise BuildError(
            f"sensors: expected none for Webots and ODE, found {len(scene.sensors)}: only MuJoCo "
            "has them here"
        )


def _hand(model: mujoco.MjModel, writer: SolidWriter) -> list[Node]:
    """Everything in the world that is neither the object nor stands around."""
    apart = {names.OBJECT, f"{names.OBJECT}_carriage"}
    called = {body: model.body(body).name for body in roots(model)}
    hand = [b for b, name in called.items() if name not in apart and not names.is_around(name)]
    return [writer.carried(body, ORIGIN, HAND_MATERIAL) for body in hand]


def _others(scene: GraspScene) -> list[tuple[str, str]]:
    planar = scene.object_mount == "planar"
    object_body = f"{names.OBJECT}_carriage" if planar else names.OBJECT
    # each of those that stand around is of a material of its own name
    return [
        (object_body, OBJECT_MATERIAL),
        *((name, name) for name in names.surrounding_bodies(scene)),
    ]


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
    self_touching = np.isin(model.geom_bodyid, sensing) & np.isin(model.geom_group, TOUCHING_GROUPS)
    return {
        *model.pair_geom1.tolist(),
        *model.pair_geom2.tolist(),
        *np.flatnonzero(self_touching).tolist(),
    }


def _contacts(built: BuiltScene, timestep: float) -> list[Node]:
    scene, contact, dimension = built.scene, built.contact, built.scene.solver.contact_dimension
    properties = [contact_properties(HAND_MATERIAL, OBJECT_MATERIAL, contact, dimension, timestep)]
    for part, name in zip(scene.surroundings, names.surrounding_bodies(scene), strict=True):
        part_contact = part.contact or contact
        properties += [
            contact_properties(name, material, part_contact, dimension, timestep)
            for material in (OBJECT_MATERIAL, HAND_MATERIAL)
        ]
    return properties


def _remarks(built: BuiltScene) -> tuple[str, ...]:
    """What the world says otherwise than the scene."""
    scene, contact, remarks = built.scene, built.contact, []
    if contact.switches_friction:
        remarks.append(
            f"friction stays at its static value {contact.static_friction:g}: Webots has no "
            "dynamic one of its own"
        )
    if scene.self_contact:
        remarks.append(
            "parts of the hand do not touch one another: with touch sensors on them, Webots would "
            "let neighbours collide"
        )
    if scene.object.shape.type not in ("sphere", "capsule", "cylinder", "cuboid"):
        remarks.append(
            "the object is a mesh of triangles in Webots: each of its points of contact has the "
            "whole stiffness, they change from face to face, and a grip that MuJoCo holds can "
            "squeeze it out"
        )
    return tuple(remarks)
