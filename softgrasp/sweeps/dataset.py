"""Grasps as arrays for learning: hand and contacts as the object sees them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from softgrasp.build.objects import object_mass
from softgrasp.mechanics.transforms import quaternion_of, transform
from softgrasp.simulation.hand_track import hand_pose_at
from softgrasp.simulation.result import GraspResult

ARRAYS: dict[str, str] = {
    "row": "number of the grasp in the plan, (n,)",
    "status": "name of the GraspStatus, (n,)",
    "held": "1 held, 0 not held, -1 where nothing was asked, (n,)",
    "mass_kg": "mass of the object, (n,)",
    "joint_names": "joints of the hand and of what carries it, (nj,)",
    "start_position": "hand's frame in the frame of the object before the closure [m], (n, 3)",
    "start_quat_wxyz": "(n, 4)",
    "start_joints": "joint variables before the closure [rad or m], (n, nj)",
    "grasp_position": "hand's frame in the frame of the object after the closure, before the hold "
    "test or the lift [m], (n, 3)",
    "grasp_quat_wxyz": "(n, 4)",
    "grasp_joints": "joint variables then [rad or m], (n, nj)",
    "contact_row": "index into the first axis of all others, a contact each, (m,)",
    "contact_body": "body of the hand that touches the object at the end, (m,)",
    "contact_point": "where, in the frame of the object [m], (m, 3)",
    "contact_normal": "into the object, (m, 3)",
    "contact_normal_force": "[N], (m,)",
    "contact_friction_force": "[N], (m,)",
}
"""What stands in a file of the dataset, and its shape."""


EMPTY: dict[str, NDArray[Any]] = {
    "contact_row": np.zeros(0, dtype=np.int64),
    "contact_body": np.zeros(0, dtype="<U1"),
    "contact_point": np.zeros((0, 3)),
    "contact_normal": np.zeros((0, 3)),
    "contact_normal_force": np.zeros(0),
    "contact_friction_force": np.zeros(0),
}


def grasps_of(results: Mapping[int, GraspResult]) -> Iterator[dict[str, NDArray[Any]]]:
    """Arrays over grasps, as ``ARRAYS`` describes them, for every kind of hand on its own.

    The object's frame has its axes along those of its shape and stands at its centre of mass.

    Args:
        results: By their rows.
    """
    hands: dict[tuple[str, ...], dict[int, GraspResult]] = {}
    for row, result in results.items():
        hands.setdefault(tuple(result.joint_names.tolist()), {})[row] = result
    yield from (_of_one_hand(results_of_hand) for results_of_hand in hands.values())


def _of_one_hand(results: Mapping[int, GraspResult]) -> dict[str, NDArray[Any]]:
    grasps = [_grasp(result) for result in results.values()]
    arrays = {key: np.array([grasp[key] for grasp in grasps]) for key in grasps[0]}
    contacts = [
        {"contact_row": index} | contact
        for index, result in enumerate(results.values())
        for contact in _contacts(result)
    ]
    for key, empty in EMPTY.items():
        values = [contact[key] for contact in contacts]
        arrays[key] = np.array(values) if values else empty
    joints = next(iter(results.values())).joint_names
    return {"row": np.array(list(results)), "joint_names": joints} | arrays


def _grasp(result: GraspResult) -> dict[str, Any]:
    closed = _end_of_closure(result)
    start_position, start_quaternion = _hand_seen_from_object(result, 0)
    grasp_position, grasp_quaternion = _hand_seen_from_object(result, closed)
    return {
        "status": result.status.name,
        "held": -1 if result.held is None else int(result.held),
        "mass_kg": object_mass(result.scene.object),
        "start_position": start_position,
        "start_quat_wxyz": start_quaternion,
        "start_joints": result.joint_position[0],
        "grasp_position": grasp_position,
        "grasp_quat_wxyz": grasp_quaternion,
        "grasp_joints": result.joint_position[closed],
    }


def _end_of_closure(result: GraspResult) -> int:
    if result.hold is None and not result.scene.sequence:
        return len(result.time) - 1
    closed = result.hold.start_s if result.hold is not None else result.time[-1]
    if result.closing is not None:
        closed = result.closing.end_s
    return int(np.searchsorted(result.time, closed - 1e-9))


def _hand_seen_from_object(result: GraspResult, row: int) -> tuple[Any, Any]:
    """Position and quaternion of the hand's frame."""
    hand = hand_pose_at(result, row)
    object_frame = transform(result.object_position[row], result.object_quat_wxyz[row])
    seen = np.linalg.inv(object_frame) @ hand
    return seen[:3, 3], quaternion_of(seen)


def _contacts(result: GraspResult) -> list[dict[str, Any]]:
    to_object = Rotation.from_quat(result.object_quat_wxyz[-1], scalar_first=True).inv()
    return [
        {
            "contact_body": contact.body,
            "contact_point": to_object.apply(
                np.subtract(contact.point_m, result.object_position[-1])
            ),
            "contact_normal": to_object.apply(contact.normal),
            "contact_normal_force": contact.normal_force_N,
            "contact_friction_force": contact.friction_force_N,
        }
        for contact in result.contacts
        if contact.point_m is not None and contact.normal is not None
    ]
