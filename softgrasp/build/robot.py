"""A robot of rigid links and bendable segments → an MjSpec."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np

from softgrasp.build.bendable import add_bendable
from softgrasp.build.compiling import compiled
from softgrasp.build.shapes import (
    COLLISION_GROUP,
    VISUAL_GROUP,
    add_shape,
    part_pose,
    set_inertia,
)
from softgrasp.build.visual import PHALANX_RGBA, add_visuals
from softgrasp.description.bendable import Bendable, Origin
from softgrasp.description.pose import Pose
from softgrasp.description.robot import Link, LinkShape, RigidJoint, Robot
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.transforms import (
    Array,
    position_of,
    quaternion_of,
    rotation_from_euler,
)

LEAST_MASS, LEAST_INERTIA = 1e-6, 1e-9
"""What a moving link without an inertial gets [kg, kg·m²]: MuJoCo needs some."""
FLOOR_GAP = 0.1
"""The floor of a picture lies this far below the lowest point [m]."""


def robot_spec(robot: Robot) -> mujoco.MjSpec:
    """The robot with its root link fixed to the world, straight.

    Bendables are chains of joints in mid-cell (``build/bendable.py``); the child link of one rides
    on its end. Frames named ``webster`` differ from ``bishop`` by a turn about the backbone that no
    body makes, so that bodies are those of ``bishop``, with a warning.

    Raises:
        BuildError: A bendable does not say how stiff it is.
    """
    spec = mujoco.MjSpec()
    spec.modelname = robot.name
    spec.compiler.degree = False
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.timestep = 1e-3
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    if any(part.frame == "webster" for part in robot.bendables):
        warnings.warn(
            f"{robot.name}: bodies turn as 'bishop' frames do; 'webster' frames turn with the "
            "bending plane, which no body does",
            SoftgraspWarning,
            stacklevel=2,
        )
    body = spec.worldbody.add_body(name=robot.root)
    _add_link(spec, robot, body, robot.link(robot.root), moves=False)
    _add_children(spec, robot, body, robot.root)
    _add_mimics(spec, robot)
    add_visuals(spec, -sum(part.backbone.length for part in robot.bendables) - FLOOR_GAP)
    return spec


def robot_model(robot: Robot) -> mujoco.MjModel:
    """The robot as a compiled model; see ``robot_spec``.

    Raises:
        BuildError: MuJoCo refuses it, or a bendable does not say how stiff it is.
    """
    return compiled(robot_spec(robot), robot.name)


def origin_frame(origin: Origin) -> Array:
    """An origin of URDF as a frame, (4, 4)."""
    frame = np.eye(4)
    frame[:3, :3] = rotation_from_euler(origin.rpy)
    frame[:3, 3] = origin.xyz
    return frame


def _add_children(spec: mujoco.MjSpec, robot: Robot, body: mujoco.MjsBody, link: str) -> None:
    for joint in robot.joints:
        if joint.parent == link:
            child = _child_body(body, joint.child, origin_frame(joint.origin))
            moves = joint.type != "fixed"
            if moves:
                _add_joint(spec, child, joint)
            _add_link(spec, robot, child, robot.link(joint.child), moves=moves)
            _add_children(spec, robot, child, joint.child)
    for part in robot.bendables:
        if part.parent == link:
            _add_segment(spec, robot, body, part)


def _add_segment(spec: mujoco.MjSpec, robot: Robot, body: mujoco.MjsBody, part: Bendable) -> None:
    last, end = add_bendable(spec, body, part, origin_frame(part.origin))
    child = _child_body(last, part.child, end)
    _add_link(spec, robot, child, robot.link(part.child), moves=False)
    _add_children(spec, robot, child, part.child)


def _child_body(parent: mujoco.MjsBody, name: str, frame: Array) -> mujoco.MjsBody:
    return parent.add_body(name=name, pos=position_of(frame), quat=quaternion_of(frame))


def _add_joint(spec: mujoco.MjSpec, body: mujoco.MjsBody, joint: RigidJoint) -> None:
    slides = joint.type == "prismatic"
    own = body.add_joint(
        name=joint.name,
        type=mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE,
        axis=list(joint.axis),
        damping=[joint.damping, 0.0, 0.0],
        frictionloss=joint.friction,
    )
    if joint.type != "continuous" and joint.lower is not None and joint.upper is not None:
        own.limited, own.range = True, [joint.lower, max(joint.upper, joint.lower + 1e-9)]
    if joint.mimic is not None:
        return
    actuator = spec.add_actuator(
        name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT
    )
    actuator.set_to_motor()
    if joint.effort:
        actuator.ctrllimited, actuator.ctrlrange = True, [-joint.effort, joint.effort]


def _add_mimics(spec: mujoco.MjSpec, robot: Robot) -> None:
    for joint in robot.joints:
        if joint.mimic is not None:
            equality = spec.add_equality(
                name=f"{joint.name}_mimic",
                type=mujoco.mjtEq.mjEQ_JOINT,
                objtype=mujoco.mjtObj.mjOBJ_JOINT,
                name1=joint.name,
                name2=joint.mimic.joint,
            )
            equality.data[:2] = joint.mimic.offset, joint.mimic.multiplier


def _add_link(
    spec: mujoco.MjSpec, robot: Robot, body: mujoco.MjsBody, link: Link, *, moves: bool
) -> None:
    """Give a body the shapes and the inertia of a link."""
    for kind, group, shapes in (
        ("visual", VISUAL_GROUP, link.visuals),
        ("collision", COLLISION_GROUP, link.collisions),
    ):
        for index, part in enumerate(shapes):
            _add_part(spec, body, f"{link.name}_{kind}{index}", part, group)
    if link.inertial is not None:
        frame = origin_frame(link.inertial.origin)
        inertia = _tensor(link.inertial.inertia, link.inertial.mass)
        turned = frame[:3, :3] @ inertia @ frame[:3, :3].T
        set_inertia(body, link.inertial.mass, turned, position_of(frame))
    elif moves:
        warnings.warn(
            f"{robot.name}: link '{link.name}' moves and has no inertial; it gets "
            f"{LEAST_MASS:g} kg",
            SoftgraspWarning,
            stacklevel=2,
        )
        set_inertia(body, LEAST_MASS, np.eye(3) * LEAST_INERTIA)


def _add_part(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, part: LinkShape, group: int
) -> None:
    frame = origin_frame(part.origin)
    pose = Pose(position=position_of(frame), quaternion=quaternion_of(frame))
    before = len(body.geoms)
    add_shape(
        spec, body, name, part.shape, part_pose(part.shape, pose), rgba=part.rgba or PHALANX_RGBA[0]
    )
    for geom in body.geoms[before:]:
        geom.group = group


def _tensor(inertia: tuple[float, ...] | None, mass: float) -> Array:
    """(3, 3) [kg·m²] of (ixx, iyy, izz, ixy, ixz, iyz)."""
    if inertia is None:
        return np.eye(3) * mass * LEAST_INERTIA
    xx, yy, zz, xy, xz, yz = inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
