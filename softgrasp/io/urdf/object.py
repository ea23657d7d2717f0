"""Objects from URDF files: links on fixed joints become the parts of one rigid body.

Collision meshes with several convex groups, as V-HACD and CoACD write them, are used as they are;
other meshes are treated as those of mesh files. ``lateral_friction`` is that of pybullet.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np

from softgrasp.description.bendable import Inertial
from softgrasp.description.geometry import Mesh, Part, Shape
from softgrasp.description.object import GraspObject
from softgrasp.description.robot import RigidJoint, Robot
from softgrasp.errors import DescriptionError
from softgrasp.io.convex_decomposition import parts_from
from softgrasp.io.mesh import resolve_file, stamp
from softgrasp.io.mesh_files import read_groups
from softgrasp.io.object_parts import Weight, articulated, object_name, object_of_parts
from softgrasp.io.urdf.links import link_shape, touching
from softgrasp.io.urdf.reader import make_of_robot
from softgrasp.io.urdf.rigid import fixed_joint
from softgrasp.io.xml_elements import Element, numbers
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.robot_kinematics import fuse, inertia_matrix, joint_frame, origin_frame

WHITE = (1.0, 1.0, 1.0, 1.0)
"""Colour of textured meshes, whose texture is not read."""


def read_urdf_object(
    path: Path,
    *,
    mass: float | None = None,
    density: float | None = None,
    lock_joints: bool = False,
) -> GraspObject:
    """Read an object from a URDF or xacro file.

    Args:
        path: The file.
        mass: Replaces the mass of the file [kg].
        density: Replaces the mass of the file [kg/m³].
        lock_joints: Fix movable joints at 0, or at the limit nearest to it.

    Raises:
        DescriptionError: The file is wrong, has movable joints that are not to be locked, or
            neither it nor the arguments state a mass.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something in it is not kept, or is not possible.
    """
    frictions: list[float] = []

    def prepare(root: Element) -> None:
        for link in root.findall("link"):
            for contact in link.findall("contact"):
                for friction in contact.findall("lateral_friction"):
                    frictions.extend(numbers(friction, "value", 1))
                link.remove(contact)
            for inertial in link.findall("inertial"):  # some writers add one to every link
                if inertial.find("mass") is None:
                    link.remove(inertial)

    robot = make_of_robot(path, lambda made: _rigid(made, lock_joints), prepare=prepare)
    (link,) = fuse(robot).robot.links
    shapes = [(_touching_shape(body.shape), body.origin) for body in touching(link)]
    drawn = [(link_shape(visual), visual.origin) for visual in link.visuals if link.collisions]
    parts, visuals = (
        [Part(shape=shape, pose=pose_of(origin_frame(origin))) for shape, origin in group]
        for group in (shapes, drawn)
    )
    colors = [visual.rgba for visual in link.visuals if visual.rgba not in (None, WHITE)]
    return object_of_parts(
        path,
        object_name(path, robot.name),
        parts,
        visuals,
        _weight(link.inertial),
        mass=mass,
        density=density,
        friction=frictions[0] if frictions else None,
        rgba=colors[0] if colors else None,
    )


def _rigid(robot: Robot, lock_joints: bool) -> Robot:
    """Return the robot with all joints fixed."""
    moving = [joint for joint in robot.joints if joint.type != "fixed"]
    if robot.bendables:
        raise DescriptionError(
            f"expected a rigid object, found the bendable '{robot.bendables[0].name}'"
        )
    if moving and not lock_joints:
        raise articulated([joint.name for joint in moving])
    return robot.replace(joints=tuple(_lock(joint) for joint in robot.joints), control=())


def _lock(joint: RigidJoint) -> RigidJoint:
    if joint.type == "fixed":
        return joint
    low = -np.inf if joint.lower is None else joint.lower
    high = np.inf if joint.upper is None else joint.upper
    frame = joint_frame(joint, float(np.clip(0.0, low, high)))
    return fixed_joint(joint.name, joint.parent, joint.child, frame)


def _touching_shape(shape: Shape) -> Shape:
    """Return the shape; of a mesh with several convex groups these are the parts."""
    if not isinstance(shape, Mesh):
        return shape
    file = resolve_file(shape.file)
    with suppress(DescriptionError):
        if len(read_groups(file)) > 1 and parts_from(file, np.asarray(shape.scale)):
            return stamp(shape.replace(collision="parts", parts=shape.file))
    return stamp(shape)


def _weight(inertial: Inertial | None) -> Weight | None:
    if inertial is None:
        return None
    frame, inertia = origin_frame(inertial.origin), None
    if inertial.inertia is not None:
        inertia = frame[:3, :3] @ inertia_matrix(inertial.inertia) @ frame[:3, :3].T
    return Weight(inertial.mass, frame[:3, 3], inertia)
