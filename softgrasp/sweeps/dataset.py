"""Extra files of a sweep: whole trajectories, and a dataset of grasps for learning.

Both are compressed ``.npz`` files, one for each group of rows that were computed together. The
dataset has the poses of the hand and the contacts in the frame of the object, whose axes are those
of its shape and whose origin is its centre of mass; ``ARRAYS`` describes the arrays.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from softgrasp.evaluation.analysis import hand_pose_at
from softgrasp.evaluation.result import GraspResult
from softgrasp.io.files import write_bytes
from softgrasp.io.input_limits import read_arrays
from softgrasp.mechanics.transforms import quaternion_of, transform
from softgrasp.model.object import object_mass

Arrays = dict[str, NDArray[Any]]

TRAJECTORIES, DATASET = "trajectories", "dataset"
ARRAYS: dict[str, str] = {
    "row": "number of the grasp in the plan, (n,)",
    "status": "name of the GraspStatus, (n,)",
    "outcome": "name of the Outcome, (n,)",
    "held": "1 held, 0 not held, -1 without a hold test or a lift, (n,)",
    "mass_kg": "mass of the object, (n,)",
    "joint_names": "joints of the hand and of its arm, (nj,)",
    "start_position": "hand's frame in the frame of the object before the closure [m], (n, 3)",
    "start_quat_wxyz": "(n, 4)",
    "start_joints": "joint variables before the closure [rad or m], (n, nj)",
    "grasp_position": "hand's frame in the frame of the object after the closure, before the hold "
    "test or the lift [m], (n, 3)",
    "grasp_quat_wxyz": "(n, 4)",
    "grasp_joints": "joint variables after the closure [rad or m], (n, nj)",
    "contact_row": "for each contact, index of its grasp in the arrays above, (m,)",
    "contact_body": "body of the hand that touches the object at the end, (m,)",
    "contact_point": "position in the frame of the object [m], (m, 3)",
    "contact_normal": "into the object, (m, 3)",
    "contact_normal_force": "[N], (m,)",
    "contact_friction_force": "[N], (m,)",
}
"""Arrays of a file of the dataset: meaning, unit and shape."""
EMPTY: dict[str, NDArray[Any]] = {
    "contact_row": np.zeros(0, dtype=np.int64),
    "contact_body": np.zeros(0, dtype="<U1"),
    "contact_point": np.zeros((0, 3)),
    "contact_normal": np.zeros((0, 3)),
    "contact_normal_force": np.zeros(0),
    "contact_friction_force": np.zeros(0),
}


class ExtraOutputs(NamedTuple):
    """Which extra files a sweep writes, and into which directory."""

    directory: Path
    trajectories: bool = False
    dataset: bool = False

    def write(self, results: Mapping[int, GraspResult]) -> None:
        """Write the files of some grasps (rows); nothing where none has a result.

        Raises:
            ResultError: They cannot be written.
        """
        if not results:
            return
        name = f"rows-{min(results):07d}-{max(results):07d}.npz"
        if self.trajectories:
            arrays = {
                f"{row}/{key}": array
                for row, result in results.items()
                for key, array in result.trajectory().items()
            }
            write_bytes(self.directory / TRAJECTORIES / name, _npz(arrays))
        if self.dataset:
            for grasps in grasps_of(results):
                first, last = int(grasps["row"].min()), int(grasps["row"].max())
                path = self.directory / DATASET / f"rows-{first:07d}-{last:07d}.npz"
                write_bytes(path, _npz(grasps))


def _npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a compressed ``.npz``."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def trajectories(directory: str | Path) -> Iterator[tuple[int, Arrays]]:
    """Yield row number and arrays of every trajectory in a sweep's directory, file by file.

    The arrays are those of ``trajectory.npz``; shards are read as well.
    """
    read: set[int] = set()
    for path in sorted(Path(directory).glob(f"**/{TRAJECTORIES}/rows-*.npz")):
        rows: dict[int, Arrays] = {}
        for key, array in read_arrays(path).items():
            row, _, name = key.partition("/")
            rows.setdefault(int(row), {})[name] = array
        yield from ((row, arrays) for row, arrays in rows.items() if row not in read)
        read |= rows.keys()  # those of a killed run are computed again


def dataset(directory: str | Path) -> Iterator[Arrays]:
    """Yield the arrays (``ARRAYS``) of every file of a sweep's dataset.

    A row that a killed run had written already may come twice, with the same content.
    """
    for path in sorted(Path(directory).glob(f"**/{DATASET}/rows-*.npz")):
        yield read_arrays(path)


def grasps_of(results: Mapping[int, GraspResult]) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield the arrays (``ARRAYS``) of the grasps of each hand type."""
    hands: dict[tuple[str, ...], dict[int, GraspResult]] = {}
    for row, result in results.items():
        hands.setdefault(tuple(result.joint_names.tolist()), {})[row] = result
    yield from (_hand_arrays(results_of_hand) for results_of_hand in hands.values())


def _hand_arrays(results: Mapping[int, GraspResult]) -> dict[str, NDArray[Any]]:
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
    start_position, start_quaternion = _hand_in_object(result, 0)
    grasp_position, grasp_quaternion = _hand_in_object(result, closed)
    return {
        "status": result.status.name,
        "outcome": result.outcome.name,
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


def _hand_in_object(result: GraspResult, row: int) -> tuple[Any, Any]:
    """Position and quaternion of the hand's frame in the object's."""
    hand = hand_pose_at(result, row)
    object_frame = transform(result.object_position[row], result.object_quat_wxyz[row])
    relative = np.linalg.inv(object_frame) @ hand
    return relative[:3, 3], quaternion_of(relative)


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
