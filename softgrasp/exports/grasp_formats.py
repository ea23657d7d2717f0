"""Grasps in the formats of other programs: DexGraspBench, Isaac Sim and GraspGen, MoveIt.

``IsaacFile`` is the YAML ``isaac_grasp`` 1.0 of the grasp editor of Isaac Sim, which GraspGen
writes as well. ``MoveItGrasp`` is the message ``moveit_msgs/Grasp`` as plain data, with the fields
of its ROS definition. Fields of files that are not listed here are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import ConfigDict

from softgrasp.description.base import Description, Number, Positive, Vec3, Vec4
from softgrasp.description.geometry import Pose
from softgrasp.description.grasps import Approach, Grasp, GraspedObject, GraspSet, HandPosture
from softgrasp.errors import DescriptionError
from softgrasp.io.grasp_files import ForeignGrasp, ForeignGrasps
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.transforms import transform

APPROACH_DISTANCE = 0.1
"""Length of the approach of MoveIt where the hand stood still before its closure [m]."""
NO_NAME = "object"
"""Name of an object whose source states none."""
Joints = dict[str, Number]


# DexGraspBench, BODex, DexGraspNet


def to_foreign(grasps: GraspSet) -> ForeignGrasps:
    """Return grasps as those of a file of DexGraspBench; the object is at the world's origin.

    A posture that is missing is that of the grasp.
    """
    return ForeignGrasps("softgrasp", tuple(_foreign(grasp) for grasp in grasps.grasps))


def _foreign(grasp: Grasp) -> ForeignGrasp:
    rows = [grasp.pregrasp or grasp.grasp, grasp.grasp, grasp.squeeze or grasp.grasp]
    joints = tuple(grasp.grasp.joints)
    return ForeignGrasp(
        np.array([transform(row.pose.position, row.pose.quaternion) for row in rows]),
        np.array([[row.joints[name] for name in joints] for row in rows]),
        None if joints == _numbered(len(joints)) else joints,
        np.eye(4),
        grasp.object.scale,
        grasp.object.mesh or "",
    )


def _numbered(count: int) -> tuple[str, ...]:
    """Return the names of joints that a file does not name."""
    return tuple(f"joint_{number}" for number in range(count))


def from_foreign(read: ForeignGrasps) -> GraspSet:
    """Return the grasps of a file of DexGraspBench, BODex or DexGraspNet.

    Joints without names are ``joint_0``, … in the order of the file.
    """
    pairs = enumerate(read.grasps)
    return GraspSet(hand="", grasps=tuple(_of_foreign(f"grasp_{i}", one) for i, one in pairs))


def _of_foreign(name: str, one: ForeignGrasp) -> Grasp:
    joints = one.joint_names or _numbered(one.joints.shape[1])
    to_object = np.linalg.inv(one.object_pose)
    before, closed, pressed = (
        HandPosture(
            pose=pose_of(to_object @ pose), joints=dict(zip(joints, values.tolist(), strict=True))
        )
        for pose, values in zip(one.hand_poses, one.joints, strict=True)
    )
    mesh = one.object_path or None
    grasped = GraspedObject(name=Path(mesh or NO_NAME).stem, mesh=mesh, scale=one.object_scale)
    return Grasp(name=name, object=grasped, pregrasp=before, grasp=closed, squeeze=pressed)


class _Fields(Description):
    """Fields of a foreign file; others are ignored."""

    model_config = ConfigDict(extra="ignore")


# Isaac Sim, GraspGen


class _IsaacRotation(_Fields):
    w: Number
    xyz: Vec3


class IsaacGrasp(_Fields):
    """A grasp of an ``isaac_grasp`` file: pose of the gripper in the object's frame, joints."""

    confidence: Number | None = None
    position: Vec3
    orientation: _IsaacRotation
    cspace_position: Joints | None = None
    """Joint variables of the grasp."""
    pregrasp_cspace_position: Joints | None = None

    @classmethod
    def of(cls, grasp: Grasp) -> Self:
        """Return a grasp; the pose before it is left out."""
        w, x, y, z = grasp.grasp.pose.quaternion
        return cls(
            confidence=grasp.score,
            position=grasp.grasp.pose.position,
            orientation=_IsaacRotation(w=w, xyz=(x, y, z)),
            cspace_position=grasp.grasp.joints,
            pregrasp_cspace_position=(grasp.pregrasp or grasp.grasp).joints,
        )

    def grasp(self, name: str, grasped: GraspedObject) -> Grasp:
        """Return it as a grasp of a set."""
        pose = Pose(position=self.position, quaternion=(self.orientation.w, *self.orientation.xyz))
        joints = [self.cspace_position, self.pregrasp_cspace_position]
        closed, opened = ({} if one is None else one for one in joints)
        return Grasp(
            name=name,
            object=grasped,
            grasp=HandPosture(pose=pose, joints=closed or opened),
            pregrasp=HandPosture(pose=pose, joints=opened or closed),
            quality={} if self.confidence is None else {"confidence": self.confidence},
            success=False if self.confidence == 0.0 else None,
        )


class IsaacFile(_Fields):
    """Content of an ``isaac_grasp`` file, with the fields that GraspGen adds."""

    format: Literal["isaac_grasp"] = "isaac_grasp"
    format_version: Number | str = 1.0
    object_frame: str = ""
    gripper_frame: str = ""
    gripper_file: str = ""
    object_file: str = ""
    object_scale: Positive = 1.0
    grasps: dict[str, IsaacGrasp]


def to_isaac(grasps: GraspSet) -> dict[str, Any]:
    """Return grasps at one object as the content of an ``isaac_grasp`` file.

    Raises:
        DescriptionError: They are at several objects.
    """
    objects = {grasp.object for grasp in grasps.grasps}
    if len(objects) != 1:
        listed = ", ".join(sorted(f"{one.name} × {one.scale:g}" for one in objects)) or "none"
        raise DescriptionError(f"isaac_grasp: expected grasps at one object, found {listed}")
    (grasped,) = objects
    content = IsaacFile(
        object_frame=f"/World/{grasped.name}",
        gripper_frame=f"/World/{grasps.hand or 'hand'}",
        gripper_file=grasps.hand_frame,
        object_file=grasped.mesh or "",
        object_scale=grasped.scale,
        grasps={grasp.name: IsaacGrasp.of(grasp) for grasp in grasps.grasps},
    )
    return content.model_dump()


def from_isaac(content: Mapping[str, Any]) -> GraspSet:
    """Return the grasps of an ``isaac_grasp`` file.

    Raises:
        DescriptionError: A field is missing or of another type.
    """
    read = IsaacFile(**content)
    grasped = GraspedObject(
        name=read.object_frame.rpartition("/")[2] or Path(read.object_file or NO_NAME).stem,
        mesh=read.object_file or None,
        scale=read.object_scale,
    )
    return GraspSet(
        hand=read.gripper_frame.rpartition("/")[2],
        hand_frame=read.gripper_file,
        grasps=tuple(one.grasp(name, grasped) for name, one in read.grasps.items()),
    )


# MoveIt


class _Vector(_Fields):
    x: Number
    y: Number
    z: Number

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        return cls(x=values[0], y=values[1], z=values[2])

    @property
    def values(self) -> Vec3:
        return (self.x, self.y, self.z)


class _Quaternion(_Vector):
    w: Number

    @property
    def wxyz(self) -> Vec4:
        return (self.w, self.x, self.y, self.z)


class _Time(_Fields):
    sec: int = 0
    nanosec: int = 0


class _Header(_Fields):
    stamp: _Time = _Time()
    frame_id: str


class _Point(_Fields):
    positions: tuple[Number, ...]
    velocities: tuple[Number, ...] = ()
    accelerations: tuple[Number, ...] = ()
    effort: tuple[Number, ...] = ()
    time_from_start: _Time = _Time()


class _Trajectory(_Fields):
    header: _Header
    joint_names: tuple[str, ...]
    points: tuple[_Point, ...]

    @classmethod
    def of(cls, header: _Header, posture: HandPosture) -> Self:
        point = _Point(positions=tuple(posture.joints.values()))
        return cls(header=header, joint_names=tuple(posture.joints), points=(point,))

    def posture(self, pose: Pose) -> HandPosture:
        positions = self.points[-1].positions if self.points else ()
        if len(positions) != len(self.joint_names):
            raise DescriptionError(
                f"expected a position of each of {len(self.joint_names)} joints, found "
                f"{len(positions)}",
                field="points",
            )
        return HandPosture(pose=pose, joints=dict(zip(self.joint_names, positions, strict=True)))


class _Pose(_Fields):
    position: _Vector
    orientation: _Quaternion


class _StampedPose(_Fields):
    header: _Header
    pose: _Pose


class _StampedVector(_Fields):
    header: _Header
    vector: _Vector


class _Translation(_Fields):
    direction: _StampedVector
    desired_distance: Number
    min_distance: Number = 0.0


class MoveItGrasp(_Fields):
    """The message ``moveit_msgs/Grasp``; all poses are in the frame of the object."""

    id: str
    pre_grasp_posture: _Trajectory
    grasp_posture: _Trajectory
    """The posture that presses on the object."""
    grasp_pose: _StampedPose
    grasp_quality: Number
    pre_grasp_approach: _Translation
    post_grasp_retreat: _Translation
    post_place_retreat: _Translation
    max_contact_force: Number = 0.0
    """0 for no limit [N]."""
    allowed_touch_objects: tuple[str, ...] = ()

    @classmethod
    def of(cls, grasp: Grasp, distance: float) -> Self:
        """Return a grasp as a message; retreats are opposite to its approach."""
        header = _Header(frame_id=grasp.object.name)
        w, x, y, z = grasp.grasp.pose.quaternion
        approach = grasp.approach or Approach(direction=(0.0, 0.0, 1.0), distance_m=0.0)
        length = distance if approach.distance_m is None else approach.distance_m
        there, back = (
            _Translation(
                direction=_StampedVector(
                    header=header, vector=_Vector.of([sign * one for one in approach.direction])
                ),
                desired_distance=length,
            )
            for sign in (1.0, -1.0)
        )
        return cls(
            id=grasp.name,
            pre_grasp_posture=_Trajectory.of(header, grasp.pregrasp or grasp.grasp),
            grasp_posture=_Trajectory.of(header, grasp.squeeze or grasp.grasp),
            grasp_pose=_StampedPose(
                header=header,
                pose=_Pose(
                    position=_Vector.of(grasp.grasp.pose.position),
                    orientation=_Quaternion(x=x, y=y, z=z, w=w),
                ),
            ),
            grasp_quality=grasp.score,
            pre_grasp_approach=there,
            post_grasp_retreat=back,
            post_place_retreat=back,
            allowed_touch_objects=(grasp.object.name,),
        )

    @property
    def grasp(self) -> Grasp:
        """The message as a grasp of a set."""
        stamped, motion = self.grasp_pose, self.pre_grasp_approach
        pose = Pose(position=stamped.pose.position.values, quaternion=stamped.pose.orientation.wxyz)
        return Grasp(
            name=self.id,
            object=GraspedObject(name=stamped.header.frame_id),
            pregrasp=self.pre_grasp_posture.posture(pose),
            grasp=self.grasp_posture.posture(pose),
            approach=Approach(
                direction=motion.direction.vector.values, distance_m=motion.desired_distance
            ),
            quality={"confidence": self.grasp_quality},
            success=False if self.grasp_quality == 0.0 else None,
        )


def to_moveit(grasps: GraspSet, distance: float = APPROACH_DISTANCE) -> list[dict[str, Any]]:
    """Return grasps as messages ``moveit_msgs/Grasp``, which ``set_message_fields`` of ROS takes.

    Args:
        grasps: The grasps.
        distance: Length of the approach where the hand stood still [m].
    """
    return [MoveItGrasp.of(grasp, distance).model_dump(mode="json") for grasp in grasps.grasps]


def from_moveit(messages: Sequence[Any]) -> GraspSet:
    """Return the grasps of messages ``moveit_msgs/Grasp``; their closed posture presses.

    Raises:
        DescriptionError: A field is missing or of another type.
    """
    return GraspSet(hand="", grasps=tuple(MoveItGrasp(**one).grasp for one in messages))
