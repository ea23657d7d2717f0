"""A robot of rigid links and bendable segments → an MjSpec."""

from __future__ import annotations

import warnings

import mujoco

from softgrasp.build.bendable import add_bendable
from softgrasp.build.compiling import compiled
from softgrasp.build.rigid_joint import add_joint, add_mimics, tune_servos
from softgrasp.build.rigid_link import add_link
from softgrasp.build.visual import add_visuals
from softgrasp.description.bendable import Bendable
from softgrasp.description.robot import Robot
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.robot_kinematics import joint_frame, origin_frame
from softgrasp.mechanics.transforms import Array, position_of, quaternion_of, rotate_about

FLOOR_GAP = 0.1
"""The floor of a picture lies this far below the lowest point [m]."""


def robot_spec(robot: Robot) -> mujoco.MjSpec:
    """The robot with its root link fixed to the world, straight.

    Bendables are chains of joints in mid-cell (``build/bendable.py``); the child link of one rides
    on its end. Frames named ``webster`` differ from ``bishop`` by a turn about the backbone that
    follows the bending plane; no body does that, so bodies are those of ``bishop``, with a warning.
    A planar bendable's plane stands still, and its child link is turned by it.

    Rigid joints, but those that follow another, have servos: ``ctrl`` is a position [rad or m].

    Raises:
        BuildError: A bendable does not say how stiff it is, or MuJoCo refuses the robot.

    Warns:
        SoftgraspWarning: A frame is taken as ``bishop``, or something that moves has no mass.
    """
    spec = mujoco.MjSpec()
    spec.modelname = robot.name
    spec.compiler.degree = False
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.timestep = 1e-3
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    if any(part.frame == "webster" and not part.planar for part in robot.bendables):
        warnings.warn(
            f"{robot.name}: bodies turn as 'bishop' frames do; 'webster' frames turn with the "
            "bending plane, which no body does",
            SoftgraspWarning,
            stacklevel=2,
        )
    world = spec.worldbody
    body = world if robot.root == world.name else world.add_body(name=robot.root)
    add_link(spec, body, robot.link(robot.root), moves=False)
    ahead = [(robot.root, body)]
    while ahead:
        ahead += _children(spec, robot, *ahead.pop())
    add_mimics(spec, robot)
    tune_servos(spec, robot)
    add_visuals(spec, -sum(part.backbone.length for part in robot.bendables) - FLOOR_GAP)
    return spec


def robot_model(robot: Robot) -> mujoco.MjModel:
    """The robot as a compiled model; see ``robot_spec``.

    Raises:
        BuildError: MuJoCo refuses it, or a bendable does not say how stiff it is.
    """
    return compiled(robot_spec(robot), robot.name)


def _children(
    spec: mujoco.MjSpec, robot: Robot, link: str, body: mujoco.MjsBody
) -> list[tuple[str, mujoco.MjsBody]]:
    """Add what hangs on a link; returns the links at the other ends and their bodies."""
    children = []
    for joint in robot.joints:
        if joint.parent == link:
            child = _child_body(body, joint.child, joint_frame(joint))
            moves = joint.type != "fixed"
            if moves:
                add_joint(spec, child, joint)
            add_link(spec, child, robot.link(joint.child), moves=moves)
            children.append((joint.child, child))
    for part in robot.bendables:
        if part.parent == link:
            last, end = add_bendable(spec, body, part, origin_frame(part.origin))
            child = _child_body(last, part.child, end @ _end_rotation(part))
            add_link(spec, child, robot.link(part.child), moves=False)
            children.append((part.child, child))
    return children


def _child_body(parent: mujoco.MjsBody, name: str, frame: Array) -> mujoco.MjsBody:
    return parent.add_body(name=name, pos=position_of(frame), quat=quaternion_of(frame))


def _end_rotation(part: Bendable) -> Array:
    """How the child link is turned about the end of the backbone, (4, 4)."""
    is_rotated = part.frame == "webster" and part.planar
    return rotate_about("z", (part.limits.phi_min or 0.0) if is_rotated else 0.0)
