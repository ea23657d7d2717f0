"""Grasps of results as a ``GraspSet``, its file ``softgrasp-grasps``, and other programs' formats.

``isaac_grasp`` 1.0 is the YAML of the grasp editor of Isaac Sim, which GraspGen writes as well. A
grasp of MoveIt is the message ``moveit_msgs/Grasp`` as plain data, with the fields of its ROS
definition. Fields of files that are not read here are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.base import error_at, error_inside
from softgrasp.description.geometry import Mesh, Pose
from softgrasp.description.grasps import (
    Approach,
    Grasp,
    GraspContact,
    GraspedObject,
    GraspSet,
    HandPosture,
)
from softgrasp.description.hand import Hand
from softgrasp.description.object import GraspObject
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.evaluation.analysis import hand_pose_at
from softgrasp.evaluation.result import GraspResult, column
from softgrasp.io.files import json_text, write_text
from softgrasp.io.grasp_files import NO_NAME, read_grasps, write_grasps
from softgrasp.io.input_limits import loader, read_json
from softgrasp.io.yaml_files import YamlFile, dump
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.transforms import Array, transform, triple
from softgrasp.model import names
from softgrasp.model.arm import toward_grasp
from softgrasp.model.object import object_mass
from softgrasp.model.shapes import center_in_file
from softgrasp.units import LENGTH_UNITS

GraspFileFormat = Literal["softgrasp", "dexgraspbench", "isaac", "moveit"]
"""Formats that ``save_grasps`` writes."""
MOVED = 1e-4
"""Motion of a hand to its grasp from which it is an approach [m]."""


# From results


def grasp_set(results: Mapping[str, GraspResult]) -> GraspSet:
    """Return the grasps of results of one hand, by their names.

    Raises:
        DescriptionError: There are no results, or those of several hands.
    """
    hands = {result.scene.hand.name: result.scene.hand for result in results.values()}
    if len(hands) != 1:
        raise DescriptionError(
            f"expected results of one hand, found {', '.join(sorted(hands)) or 'none'}"
        )
    (hand,) = hands.values()
    return GraspSet(
        hand=hand.name,
        hand_frame="" if hand.model is None else hand.model.file,
        grasps=tuple(_grasp(name, result) for name, result in results.items()),
    )


def _grasp(name: str, result: GraspResult) -> Grasp:
    scene, closed = result.scene, closure_end(result)
    offset = transform(center_in_file(scene.object.shape))
    postures = [_posture(result, row, offset) for row in (0, closed)]
    targets = [column(result.actuator_names, actuator.name) for actuator in scene.hand.actuators]
    pressed = scene.hand.posture(result.joint_target[closed, targets].tolist())
    squeeze = _joints(scene.hand, _variables(result, closed) | pressed)
    quality = result.quality or {}
    return Grasp(
        name=name,
        object=_grasped(scene.object),
        pregrasp=postures[0],
        grasp=postures[1],
        squeeze=HandPosture(pose=postures[1].pose, joints=squeeze),
        approach=_approach(result, closed),
        quality={key: float(element) for key, element in quality.items() if _is_measure(element)},
        success=result.held,
        outcome=result.outcome.name,
        contacts=tuple(
            item.replace(point_m=triple(offset[:3, 3] + item.point_m))
            for item in contacts_in_object(result)
        ),
    )


def _is_measure(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value)


def _posture(result: GraspResult, row: int, offset: Array) -> HandPosture:
    """Return pose and joints of the hand at a sample, in the frames of the files."""
    hand = result.scene.hand
    pose = offset @ hand_in_object(result, row) @ file_frame(hand)
    return HandPosture(pose=pose_of(pose), joints=_joints(hand, _variables(result, row)))


def _variables(result: GraspResult, row: int) -> dict[str, float]:
    """Return all joint variables of the scene at a sample."""
    values = result.joint_position[row].tolist()
    return dict(zip(result.joint_names.tolist(), values, strict=True))


def _joints(hand: Hand, variables: Mapping[str, float]) -> dict[str, float]:
    """Return the joint variables of a hand by the names of its file."""
    prefix = "" if hand.model is None else hand.model.prefix
    return {name.removeprefix(prefix): variables[name] for name in names.joint_names(hand)}


def file_frame(hand: Hand) -> Array:
    """Return the frame of a hand's file in the hand's frame, (4, 4)."""
    if hand.model is None:
        return np.eye(4)
    return transform(hand.model.pose.position, hand.model.pose.quaternion)


def _grasped(described: GraspObject) -> GraspedObject:
    shape = described.shape
    factor = file_scale(described) if isinstance(shape, Mesh) else 1.0
    return GraspedObject(
        name=described.name,
        mesh=shape.file if isinstance(shape, Mesh) else None,
        scale=factor,
        mass_kg=object_mass(described) or None,
    )


def file_scale(described: GraspObject) -> float:
    """Return the factor from lengths of an object's file to those of the object [–].

    Raises:
        DescriptionError: It differs along the axes.
    """
    scale = getattr(described.shape, "scale", 1.0)
    factors = set(scale) if isinstance(scale, tuple) else {scale}
    if len(factors) > 1:
        message = f"expected one scale along all axes, found {scale}"
        raise DescriptionError(message, field="object.shape.scale")
    shape = described.shape
    unit = LENGTH_UNITS[shape.units] if isinstance(shape, Mesh) else 1.0
    return unit * float(factors.pop())


def _approach(result: GraspResult, closed: int) -> Approach:
    """Return the motion of the hand to the grasp, or the direction in which it points."""
    begin, end = (hand_pose_at(result, row) for row in (0, closed))
    to_object = np.linalg.inv(transform(quaternion=result.object_quat_wxyz[0]))[:3, :3]
    moved = end[:3, 3] - begin[:3, 3]
    length = float(np.linalg.norm(moved))
    if length > MOVED:
        return Approach(direction=triple(to_object @ moved / length), distance_m=length)
    scene = result.scene
    toward = toward_grasp(scene.hand, scene.preset.center)
    return Approach(direction=triple(to_object @ begin[:3, :3] @ toward))


def closure_end(result: GraspResult) -> int:
    """Return the sample at which the closure has ended, before a hold test or a lift."""
    if result.hold is None and not result.scene.sequence:
        return len(result.time) - 1
    closed = result.hold.start_s if result.hold is not None else result.time[-1]
    if result.closing is not None:
        closed = result.closing.end_s
    return int(np.searchsorted(result.time, closed - 1e-9))


def hand_in_object(result: GraspResult, row: int) -> Array:
    """Return the hand's frame in that of the object, at its centre of mass, (4, 4)."""
    object_frame = transform(result.object_position[row], result.object_quat_wxyz[row])
    return np.asarray(np.linalg.inv(object_frame) @ hand_pose_at(result, row))


def contacts_in_object(result: GraspResult) -> tuple[GraspContact, ...]:
    """Return the contacts at the end in the frame of the object, at its centre of mass."""
    to_object = Rotation.from_quat(result.object_quat_wxyz[-1], scalar_first=True).inv()
    return tuple(
        GraspContact(
            body=contact.body,
            point_m=triple(
                to_object.apply(np.subtract(contact.point_m, result.object_position[-1]))
            ),
            normal=triple(to_object.apply(contact.normal)),
            normal_force_N=contact.normal_force_N,
            friction_force_N=contact.friction_force_N,
        )
        for contact in result.contacts
        if contact.point_m is not None and contact.normal is not None
    )


# Files


@loader
def load_grasps(path: str | Path) -> GraspSet:
    """Read grasps of ``softgrasp-grasps`` (JSON), Isaac (YAML) or DexGraspBench (npy).

    Args:
        path: The file; a directory holds files of DexGraspBench.

    Raises:
        DescriptionError: There is no such file, or it holds no grasps in a known format.
    """
    path = Path(path)
    try:
        if path.suffix in (".yaml", ".yml"):
            return from_isaac(YamlFile(path).data)
        if path.suffix != ".json":
            return GraspSet(hand="", grasps=read_grasps(path))
        content = read_json(path)
        if isinstance(content, dict) and content.get("format") == "softgrasp-grasps":
            return GraspSet(**content)
    except DescriptionError as error:
        raise error.located(file=path) from None
    except (OSError, ValueError) as error:
        raise DescriptionError(f"expected grasps in JSON, found: {error}", file=path) from error
    raise DescriptionError("expected format softgrasp-grasps, found another", file=path)


def save_grasps(
    grasps: GraspSet, path: str | Path, to: GraspFileFormat = "softgrasp"
) -> list[Path]:
    """Write grasps and return the paths of the files.

    Args:
        grasps: The grasps.
        path: The file; for ``dexgraspbench`` the directory of a file per grasp.
        to: The format: the documented JSON (``softgrasp``), ``dexgraspbench``, the YAML of Isaac
            Sim and GraspGen (``isaac``), or a list of ``moveit_msgs/Grasp`` in JSON (``moveit``).

    Raises:
        DescriptionError: There is no such format, the grasps in one file of ``isaac`` are of
            several objects, or the postures of one of ``dexgraspbench`` have other joints.
        ResultError: It cannot be written.
    """
    if to not in get_args(GraspFileFormat):
        hint = did_you_mean(to, get_args(GraspFileFormat))
        raise DescriptionError(f"expected a format, found '{to}'; {hint}", field="to")
    if to == "dexgraspbench":
        return write_grasps(grasps.grasps, path)
    if to == "isaac":
        text = dump(to_isaac(grasps))
    elif to == "moveit":
        text = json_text(to_moveit(grasps))
    else:
        text = json_text(grasps.model_dump(mode="json", exclude_none=True))
    return [write_text(path, text)]


def merge_grasps(parts: Iterable[GraspSet], order: Callable[[Grasp], float]) -> list[GraspSet]:
    """Join sets of grasps to one of each hand; of grasps of one name the last counts.

    Args:
        parts: The sets.
        order: Function by whose value the grasps of a hand are sorted.
    """
    hands: dict[tuple[str, str], dict[str, Grasp]] = {}
    for part in parts:
        known = hands.setdefault((part.hand, part.hand_frame), {})
        known |= {grasp.name: grasp for grasp in part.grasps}
    return [
        GraspSet(hand=hand, hand_frame=frame, grasps=tuple(sorted(known.values(), key=order)))
        for (hand, frame), known in hands.items()
    ]


ISAAC = "isaac_grasp"
APPROACH_DISTANCE = 0.1
"""Length of the approach of MoveIt where the hand stood still before its closure [m]."""


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


@contextmanager
def _fields_at(*location: str) -> Iterator[None]:
    """Report a missing or wrong field of a foreign file with its location."""
    try:
        yield
    except DescriptionError as error:
        raise error_inside(error, *location) from None
    except KeyError as error:
        raise error_at("this field is missing", *location, str(error.args[0])) from None
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise error_at(f"expected the fields of a grasp, found: {error}", *location) from None


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
                _of_isaac(str(name), item, grasped) for name, item in content["grasps"].items()
            ),
        )


def _of_isaac(name: str, fields: Mapping[str, Any], grasped: GraspedObject) -> Grasp:
    with _fields_at("grasps", name):
        rotation = fields["orientation"]
        quaternion = (float(rotation["w"]), *triple(rotation["xyz"]))
        pose = Pose(position=triple(fields["position"]), quaternion=quaternion)
        closed, opened = (fields.get(f"{part}cspace_position") for part in ("", "pregrasp_"))
        score = fields.get("confidence")
        return Grasp(
            name=name,
            object=grasped,
            grasp=HandPosture(pose=pose, joints=closed or opened or {}),
            pregrasp=HandPosture(pose=pose, joints=opened or closed or {}),
            quality={} if score is None else {"confidence": float(score)},
            success=False if score == 0.0 else None,
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
