"""Grasps in the formats of other programs: DexGraspBench, Isaac Sim and GraspGen, MoveIt.

``isaac_grasp`` 1.0 is the YAML of the grasp editor of Isaac Sim, which GraspGen writes as well. A
grasp of MoveIt is the message ``moveit_msgs/Grasp`` as plain data, with the fields of its ROS
definition. Fields of files that are not read here are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp.description.base import error_at, error_inside
from softgrasp.description.geometry import Pose
from softgrasp.description.grasps import Approach, Grasp, GraspedObject, GraspSet, HandPosture
from softgrasp.errors import DescriptionError
from softgrasp.io.grasp_files import ForeignGrasp, ForeignGrasps
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.transforms import transform, triple

ISAAC = "isaac_grasp"
APPROACH_DISTANCE = 0.1
"""Length of the approach of MoveIt where the hand stood still before its closure [m]."""
NO_NAME = "object"
"""Name of an object whose source states none."""


# DexGraspBench, BODex, DexGraspNet


def to_foreign(grasps: GraspSet) -> ForeignGrasps:
    """Return grasps as those of a file of DexGraspBench; the object is at the world's origin.

    A posture that is missing is that of the grasp.
    """
    return ForeignGrasps("softgrasp", tuple(_foreign(grasp) for grasp in grasps.grasps))


def _foreign(grasp: Grasp) -> ForeignGrasp:
    rows = [grasp.pregrasp or grasp.grasp, grasp.grasp, grasp.squeeze or grasp.grasp]
    joints = tuple(grasp.grasp.joints)
    if any(row.joints.keys() != grasp.grasp.joints.keys() for row in rows):
        raise DescriptionError(
            f"{grasp.name}: expected the same joints in all postures, found others"
        )
    return ForeignGrasp(
        np.array([transform(row.pose.position, row.pose.quaternion) for row in rows]),
        np.array([[row.joints[name] for name in joints] for row in rows]),
        None if joints == _number(len(joints)) else joints,
        np.eye(4),
        grasp.object.scale,
        grasp.object.mesh or "",
    )


def _number(count: int) -> tuple[str, ...]:
    """Return the names of joints that a file does not name."""
    return tuple(f"joint_{number}" for number in range(count))


def from_foreign(read: ForeignGrasps) -> GraspSet:
    """Return the grasps of a file of DexGraspBench, BODex or DexGraspNet.

    Joints without names are ``joint_0``, … in the order of the file.
    """
    pairs = enumerate(read.grasps)
    return GraspSet(hand="", grasps=tuple(_of_foreign(f"grasp_{i}", one) for i, one in pairs))


def _of_foreign(name: str, one: ForeignGrasp) -> Grasp:
    joints = one.joint_names or _number(one.joints.shape[1])
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


@contextmanager
def _fields_at(*location: int | str) -> Iterator[None]:
    """Report a missing or wrong field of a foreign file with its location."""
    try:
        yield
    except DescriptionError as error:
        raise error_inside(error, *location) from None
    except KeyError as error:
        raise error_at("this field is missing", *location, str(error.args[0])) from None
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise error_at(f"expected the fields of a grasp, found: {error}", *location) from None


def _score(score: float | None) -> dict[str, Any]:
    """Return quality and success of a grasp with a confidence; 0 is a failed grasp."""
    failed = {"success": False} if score == 0.0 else {}
    return {"quality": {} if score is None else {"confidence": float(score)}, **failed}


# Isaac Sim, GraspGen


def to_isaac(grasps: GraspSet) -> dict[str, Any]:
    """Return grasps at one object as the content of an ``isaac_grasp`` file.

    Raises:
        DescriptionError: They are at several objects.
    """
    objects = {grasp.object for grasp in grasps.grasps}
    if len(objects) != 1:
        listed = ", ".join(sorted(f"{item.name} × {item.scale:g}" for item in objects)) or "none"
        raise DescriptionError(f"{ISAAC}: expected grasps at one object, found {listed}")
    (grasped,) = objects
    return {
        "format": ISAAC,
        "format_version": 1.0,
        "object_frame": f"/World/{grasped.name}",
        "gripper_frame": f"/World/{grasps.hand or 'hand'}",
        "gripper_file": grasps.hand_frame,
        "object_file": grasped.mesh or "",
        "object_scale": grasped.scale,
        "grasps": {
            grasp.name: {
                "confidence": grasp.score,
                "position": list(grasp.grasp.pose.position),
                "orientation": {
                    "w": grasp.grasp.pose.quaternion[0],
                    "xyz": list(grasp.grasp.pose.quaternion[1:]),
                },
                "cspace_position": grasp.grasp.joints,
                "pregrasp_cspace_position": (grasp.pregrasp or grasp.grasp).joints,
            }
            for grasp in grasps.grasps
        },
    }


def from_isaac(content: Mapping[str, Any]) -> GraspSet:
    """Return the grasps of an ``isaac_grasp`` file.

    Raises:
        DescriptionError: It is no such file, or a field is missing or of another type.
    """
    if content.get("format") != ISAAC:
        raise error_at(f"expected {ISAAC}, found {content.get('format')!r}", "format")
    with _fields_at():
        mesh = str(content.get("object_file", ""))
        frame = str(content.get("object_frame", "")).rpartition("/")[2]
        grasped = GraspedObject(
            name=frame or Path(mesh or NO_NAME).stem,
            mesh=mesh or None,
            scale=content.get("object_scale", 1.0),
        )
        return GraspSet(
            hand=str(content.get("gripper_frame", "")).rpartition("/")[2],
            hand_frame=str(content.get("gripper_file", "")),
            grasps=tuple(
                _of_isaac(str(name), one, grasped) for name, one in content["grasps"].items()
            ),
        )


def _of_isaac(name: str, fields: Mapping[str, Any], grasped: GraspedObject) -> Grasp:
    with _fields_at("grasps", name):
        rotation = fields["orientation"]
        quaternion = (float(rotation["w"]), *triple(rotation["xyz"]))
        pose = Pose(position=triple(fields["position"]), quaternion=quaternion)
        closed, opened = (fields.get(f"{part}cspace_position") for part in ("", "pregrasp_"))
        return Grasp(
            name=name,
            object=grasped,
            grasp=HandPosture(pose=pose, joints=closed or opened or {}),
            pregrasp=HandPosture(pose=pose, joints=opened or closed or {}),
            **_score(fields.get("confidence")),
        )


# MoveIt


def to_moveit(grasps: GraspSet, distance: float = APPROACH_DISTANCE) -> list[dict[str, Any]]:
    """Return grasps as messages ``moveit_msgs/Grasp``, which ``set_message_fields`` of ROS takes.

    Poses are in the frame of the object, the closed posture is the one that presses, and retreats
    are opposite to the approach.

    Args:
        grasps: The grasps.
        distance: Length of the approach where the hand stood still [m].
    """
    return [_message(grasp, distance) for grasp in grasps.grasps]


def _message(grasp: Grasp, distance: float) -> dict[str, Any]:
    header = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": grasp.object.name}
    approach = grasp.approach or Approach(direction=(0.0, 0.0, 1.0), distance_m=0.0)
    motion = distance if approach.distance_m is None else approach.distance_m

    def trajectory(posture: HandPosture) -> dict[str, Any]:
        point = {
            "positions": [*posture.joints.values()],
            "velocities": [],
            "accelerations": [],
            "effort": [],
            "time_from_start": {"sec": 0, "nanosec": 0},
        }
        return {"header": header, "joint_names": [*posture.joints], "points": [point]}

    def translation(sign: float) -> dict[str, Any]:
        vector = {axis: sign * part for axis, part in zip("xyz", approach.direction, strict=True)}
        direction = {"header": header, "vector": vector}
        return {"direction": direction, "desired_distance": motion, "min_distance": 0.0}

    pose = {
        "position": dict(zip("xyz", grasp.grasp.pose.position, strict=True)),
        "orientation": dict(zip("wxyz", grasp.grasp.pose.quaternion, strict=True)),
    }
    return {
        "id": grasp.name,
        "pre_grasp_posture": trajectory(grasp.pregrasp or grasp.grasp),
        "grasp_posture": trajectory(grasp.squeeze or grasp.grasp),
        "grasp_pose": {"header": header, "pose": pose},
        "grasp_quality": grasp.score,
        "pre_grasp_approach": translation(1.0),
        "post_grasp_retreat": translation(-1.0),
        "post_place_retreat": translation(-1.0),
        "max_contact_force": 0.0,  # no limit
        "allowed_touch_objects": [grasp.object.name],
    }


def from_moveit(messages: Sequence[Any]) -> GraspSet:
    """Return the grasps of messages ``moveit_msgs/Grasp``; their closed posture presses.

    Raises:
        DescriptionError: A field is missing or of another type.
    """
    grasps = tuple(_of_message(index, one) for index, one in enumerate(messages))
    return GraspSet(hand="", grasps=grasps)


def _of_message(index: int, message: Mapping[str, Any]) -> Grasp:
    with _fields_at(index):
        stamped, approach = message["grasp_pose"], message["pre_grasp_approach"]
        placed = stamped["pose"]
        pose = Pose(
            position=tuple(placed["position"][axis] for axis in "xyz"),
            quaternion=tuple(placed["orientation"][axis] for axis in "wxyz"),
        )
        before, closed = (
            HandPosture(
                pose=pose,
                joints=dict(zip(item["joint_names"], item["points"][-1]["positions"], strict=True)),
            )
            for item in (message["pre_grasp_posture"], message["grasp_posture"])
        )
        vector = approach["direction"]["vector"]
        return Grasp(
            name=message["id"],
            object=GraspedObject(name=stamped["header"]["frame_id"]),
            pregrasp=before,
            grasp=closed,
            approach=Approach(
                direction=tuple(vector[axis] for axis in "xyz"),
                distance_m=approach["desired_distance"],
            ),
            **_score(message["grasp_quality"]),
        )
