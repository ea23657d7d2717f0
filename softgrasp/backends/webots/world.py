"""Write scenes, hands and soft fingers as Webots worlds.

Every world has a WorldInfo, a viewpoint, a background and a light, then one robot with everything
that moves and its controller, then the object and fixtures. Features that Webots lacks are refused
with their names; smaller differences are remarks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.backends.wbt.schema import (
    IDENTITY,
    Node,
    Value,
    axis_angle,
    numbers_of,
)
from softgrasp.backends.webots.joint_actuators import (
    JointLaw,
    contact_properties,
    joint_laws,
    require_damping,
)
from softgrasp.backends.webots.solids import PLANAR_JOINTS, SolidWriter, body_define, law_remarks
from softgrasp.description import (
    STANDARD_GRAVITY,
    GraspScene,
    Hand,
    HandCarrier,
    SoftFinger,
    Solver,
    SourceValues,
    resolve_contact,
)
from softgrasp.errors import BuildError
from softgrasp.mechanics import Array
from softgrasp.model import TOUCHING_GROUPS, build_hand_spec, compiled, finger_model, names
from softgrasp.plugin_api import CompiledScene

HAND_MATERIAL, OBJECT_MATERIAL = "hand", "object"
MATERIAL, ANYTHING = "hand", "default"
"""Materials of the hand, and of solids without one."""
WORLD = "WORLD"
"""DEF of the WorldInfo, through which the controller changes gravity."""
CONTROLLER = "softgrasp_job"
CLOSURES_OF_WEBOTS = ("position-increment", "pressure")
"""Closures that the controller in Webots can run."""
SHORTEST_STEP = 1e-3
"""Shortest time step of Webots [s] (reference manual, WorldInfo)."""
STIFF = 1e-8
"""CFM of the world [m/(N·s)]. In ODE sticking contacts creep at this speed per newton: with the
default of 1e-5 a held object sinks by 10 µm/(s·N); the direct solver needs no more than this."""


# Scenes


def require_supported(scene: GraspScene) -> None:
    """Refuse a scene that Webots and ODE cannot run; needs neither engine nor compiled model.

    Raises:
        BuildError: The scene has features that Webots lacks; names the feature.
    """
    refuse_model(scene.hand)
    hand, closure, soft = scene.hand, scene.closure.name, scene.hand.soft_fingers
    native = any(contact.model == "native" for contact in scene.requested_contacts)
    arm = scene.arm.kind if isinstance(scene.arm, HandCarrier) else ""
    tests = "sequences, motions, directions and removals, only a ramp of gravity or a lift"
    lacking: list[tuple[object, str, str]] = [
        (scene.objects, "objects", "further objects"),
        (hand.adhesions, "hand.fingers", "suction cups and adhesive pads"),
        (closure not in CLOSURES_OF_WEBOTS, "closure", f"closure '{closure}'"),
        (not scene.is_plain, "sequence" if scene.sequence else "success", tests),
        (arm, "arm", f"{arm} arms"),
        (scene.object.elasticity is not None, "object.elasticity", "deformable objects"),
        (native, "contact.model", "model 'native'"),
        (scene.sensors, "sensors", "sensors"),
        (any(item.finger.pressure_lag for item in soft), "pressure_lag", "lag of pressures"),
        (
            any(item.finger.stiffness_pressure for item in soft),
            "stiffness_pressure",
            "stiffness that a pressure changes",
        ),
    ]
    for present, field, feature in lacking:
        if present:
            raise BuildError(f"{field}: Webots and ODE have no {feature}; use the backend mujoco")
    downward(scene.gravity, "gravity")
    if scene.success is not None and scene.success.gravity is not None:
        downward(scene.success.gravity, "success.gravity")


def scene_world(
    built: CompiledScene, timestep: float, arguments: tuple[str, ...], max_faces: int | None = None
) -> WebotsWorld:
    """Write a scene as a world with a hand, an object and fixtures.

    Args:
        built: Compiled scene.
        timestep: Time step of Webots [s].
        arguments: Arguments of the controller.
        max_faces: Largest number of triangles of a mesh; larger ones are coarsened.

    Raises:
        BuildError: The scene has features that Webots lacks; names the feature.
    """
    model, scene = built.model, built.scene
    require_supported(scene)
    start, touching = start_state(model), _touching(built)
    laws = joint_laws(model, start, timestep)
    writer = SolidWriter(model, start, laws, built.bodies, touching, max_faces)
    shown = [geom for geom in touching if not names.is_around(model.geom(geom).name)]
    others = [
        _top_level(writer, model.body(name).id, material) for name, material in _others(scene)
    ]
    nodes = robot_world(
        scene.name or f"{scene.hand.name} {scene.object.name}",
        scene.hand.name,
        _hand(model, writer),
        arguments,
        timestep=timestep,
        gravity=downward(scene.gravity, "gravity"),
        contacts=_contacts(built, timestep),
        view=view_of(model, start, shown),
    )
    return WebotsWorld(
        nodes=[*nodes, *others],
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
    """Return all top-level bodies except the object and fixtures."""
    apart = {names.OBJECT, f"{names.OBJECT}_carriage"}
    called = {body: model.body(body).name for body in roots(model)}
    hand = [b for b, name in called.items() if name not in apart and not names.is_around(name)]
    return [writer.carried(body, IDENTITY, HAND_MATERIAL) for body in hand]


def _others(scene: GraspScene) -> list[tuple[str, str]]:
    planar = scene.object_mount == "planar"
    object_body = f"{names.OBJECT}_carriage" if planar else names.OBJECT
    # the material of a fixture has its name
    return [
        (object_body, OBJECT_MATERIAL),
        *((name, name) for name in names.surrounding_bodies(scene)),
    ]


def _top_level(writer: SolidWriter, body: int, material: str) -> Node:
    """Convert a top-level body; one on joints gets a fixed Solid as its parent."""
    node = writer.carried(body, IDENTITY, material)
    if node.type in ("HingeJoint", "SliderJoint"):
        return Node("Solid", {"children": [node], "name": f"{material}_mount"})
    return node


def _touching(built: CompiledScene) -> set[int]:
    """Return the geoms that can collide in the model, and those of bodies with a touch sensor."""
    model = built.model
    sensing = [model.body(name).id for name in built.bodies]
    self_touching = np.isin(model.geom_bodyid, sensing) & np.isin(model.geom_group, TOUCHING_GROUPS)
    return {
        *model.pair_geom1.tolist(),
        *model.pair_geom2.tolist(),
        *np.flatnonzero(self_touching).tolist(),
    }


def _contacts(built: CompiledScene, timestep: float) -> list[Node]:
    scene, contact, dimension = built.scene, built.contact, built.scene.solver.contact_dimension
    properties = [contact_properties(HAND_MATERIAL, OBJECT_MATERIAL, contact, dimension, timestep)]
    for part, name in zip(scene.surroundings, names.surrounding_bodies(scene), strict=True):
        part_contact = scene.contact_of(0, part) if part.contact.specified else contact
        properties += [
            contact_properties(name, material, part_contact, dimension, timestep)
            for material in (OBJECT_MATERIAL, HAND_MATERIAL)
        ]
    return properties


def _remarks(built: CompiledScene) -> tuple[str, ...]:
    """Describe how the world differs from the scene."""
    scene, contact, remarks = built.scene, built.contact, []
    if contact.switches_friction:
        remarks.append(
            f"friction stays at its static value {contact.static_friction:g}: Webots has no "
            "dynamic one"
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


# Hands


def refuse_model(hand: Hand) -> None:
    """Refuse a hand with a MuJoCo model, whose actuators and tendons Webots lacks.

    Raises:
        BuildError: It has such a model.
    """
    if hand.model is not None:
        raise BuildError(
            f"hand '{hand.name}': expected one that is described by its joints, found the MuJoCo "
            f"model {hand.model.file}, whose actuators only MuJoCo runs"
        )


def hand_world(
    hand: Hand, timestep: float, arguments: tuple[str, ...], max_faces: int | None = None
) -> WebotsWorld:
    """Write a hand in its start posture, without an object and without gravity.

    Args:
        hand: The hand.
        timestep: Time step of Webots [s].
        arguments: Arguments of the controller.
        max_faces: Largest number of triangles of a mesh; larger ones are coarsened.

    Raises:
        BuildError: The hand has features that Webots lacks; names the feature.
    """
    refuse_model(hand)
    model = compiled(build_hand_spec(hand), hand.name)
    start = start_state(model)
    moving = model.geom_bodyid > 0
    touching = np.flatnonzero(moving & np.isin(model.geom_group, TOUCHING_GROUPS)).tolist()
    sensing = dict.fromkeys(model.body(int(model.geom_bodyid[geom])).name for geom in touching)
    laws = joint_laws(model, start, timestep)
    writer = SolidWriter(model, start, laws, tuple(sensing), set(touching), max_faces)
    contact = resolve_contact([SourceValues("hand file", hand.contact.specified)])
    contacts = [
        contact_properties(MATERIAL, ANYTHING, contact, Solver().contact_dimension, timestep)
    ]
    nodes = robot_world(
        hand.name,
        hand.name,
        [writer.carried(body, IDENTITY, MATERIAL) for body in roots(model)],
        arguments,
        timestep=timestep,
        gravity=0.0,
        contacts=contacts,
        view=view_of(model, start, touching),
    )
    return WebotsWorld(nodes, laws, timestep, {}, law_remarks(laws))


# Soft fingers


def finger_world(
    finger: SoftFinger, angles: Array, timestep: float, arguments: tuple[str, ...]
) -> WebotsWorld:
    """Write a soft finger without actuation, clamped horizontally at the origin.

    Args:
        finger: Finger with its full damping.
        angles: Joint angles in the file, (n,) [rad].
        timestep: Time step of Webots [s].
        arguments: Arguments of the controller.

    Raises:
        BuildError: A joint has less damping than Webots' implicit spring adds at this step.
    """
    model = finger_model(finger)
    start = mujoco.MjData(model)
    start.qpos[:] = angles
    mujoco.mj_forward(model, start)
    laws = joint_laws(model, start, timestep)
    require_damping(laws, timestep)
    writer = SolidWriter(model, start, laws, sensing=(), touching=set())
    nodes = robot_world(
        finger.name,
        finger.name,
        [writer.carried(1, IDENTITY, "finger")],
        arguments,
        timestep=timestep,
        gravity=-STANDARD_GRAVITY[2],
        view=view_of(model, start, range(model.ngeom)),
    )
    return WebotsWorld(nodes, laws, timestep, {}, ())


# Frame of a world


def start_state(model: mujoco.MjModel) -> mujoco.MjData:
    """Return the state of keyframe 0 with computed poses."""
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return data


def view_of(model: mujoco.MjModel, start: mujoco.MjData, geoms: Sequence[int]) -> Node:
    """Make a Viewpoint (camera) that shows some geoms, seen obliquely from above."""
    chosen = list(geoms)
    positions = start.geom_xpos[chosen]
    center = 0.5 * (positions.min(axis=0) + positions.max(axis=0))
    reach = np.linalg.norm(positions - center, axis=1) + model.geom_rbound[chosen]
    forward = np.array([-0.8, 0.5, -0.35])
    forward /= np.linalg.norm(forward)
    left = np.cross([0.0, 0.0, 1.0], forward)
    left /= np.linalg.norm(left)
    rotation = np.column_stack([forward, left, np.cross(forward, left)])  # FLU: x ahead, z up
    position = center - 3.2 * float(reach.max()) * forward
    fields: dict[str, Value] = {
        "orientation": axis_angle(rotation),
        "position": numbers_of(position),
    }
    return Node("Viewpoint", fields | {"near": 0.01})


def roots(model: mujoco.MjModel) -> list[int]:
    """Return the top-level bodies of a model."""
    return [body for body in range(1, model.nbody) if model.body_parentid[body] == 0]


class WebotsWorld(NamedTuple):
    """A Webots world with the data that its controller needs."""

    nodes: list[Node]
    laws: list[JointLaw]
    timestep: float
    """Time step [s]."""
    compensated: dict[str, float]
    """Mass of each solid with gravity compensation, by its DEF [kg]."""
    remarks: tuple[str, ...]
    """Differences from the scene."""


def robot_world(
    title: str,
    name: str,
    bodies: Sequence[Node],
    arguments: Sequence[str],
    *,
    timestep: float,
    gravity: float,
    contacts: Sequence[Node] = (),
    view: Node,
) -> list[Node]:
    """Make the first nodes of a world: its frame, and the robot with all that is actuated.

    Args:
        title: Title of the world.
        name: Name of the robot.
        bodies: Nodes of the robot.
        arguments: Arguments of its controller.
        timestep: Time step [s].
        gravity: Gravity, downwards [m/s²].
        contacts: ContactProperties.
        view: The Viewpoint.
    """
    info: dict[str, Value] = {
        "title": title,
        "gravity": gravity,
        "basicTimeStep": 1e3 * timestep,
        "CFM": STIFF,
        # by default Webots disables bodies below 10 mm/s, such as a settling finger
        "physicsDisableLinearThreshold": 0,
        "physicsDisableAngularThreshold": 0,
        "contactProperties": list(contacts),
    }
    light: dict[str, Value] = {"direction": (0.4, 0.5, -1.0), "intensity": 2.0, "castShadows": True}
    robot: dict[str, Value] = {
        "children": list(bodies),
        "name": name,
        "controller": CONTROLLER,
        "controllerArgs": list(arguments),
        "supervisor": True,
        # it would exclude solids that a joint connects, but not their touch sensors
        "selfCollision": False,
        "window": "<none>",
    }
    return [
        Node("WorldInfo", info, name=WORLD),
        view,
        Node("Background", {"skyColor": [(0.75, 0.8, 0.85)], "luminosity": 0.8}),
        Node("DirectionalLight", light),
        Node("Robot", robot, name="HAND"),
    ]


def downward(gravity: Sequence[float], where: str) -> float:
    """Convert a gravity vector to WorldInfo.gravity, positive downwards [m/s²].

    Raises:
        BuildError: It has another direction.
    """
    x, y, z = gravity
    if x or y or z > 0.0:
        raise BuildError(
            f"{where}: gravity of Webots points down, expected (0, 0, -g), found "
            f"({x:g}, {y:g}, {z:g})"
        )
    return -z + 0.0
