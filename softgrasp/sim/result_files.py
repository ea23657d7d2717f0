"""Save and load results, and pose a result at any time.

``save_result`` and ``load_result`` write and read ``result.json`` and ``trajectory.npz``;
``PosedResult`` rebuilds the scene and gives MuJoCo states of the recorded run.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, TypeVar

import mujoco
import numpy as np
from pydantic import BaseModel

from softgrasp._version import __version__
from softgrasp.description.arm import HandCarrier
from softgrasp.description.scene import GraspScene
from softgrasp.errors import DescriptionError, ResultError, SoftgraspWarning, did_you_mean
from softgrasp.io.result import read_result, write_result
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.transforms import Array, rotation_from_euler, transform
from softgrasp.model import names
from softgrasp.model.arm import arm_base, home_pose
from softgrasp.model.deformable import node_columns, node_positions
from softgrasp.model.placement import PlacedItem, placed_items
from softgrasp.model.scene import compile_model
from softgrasp.sim.quality_log import QualityLog
from softgrasp.sim.result import (
    ADDED_KEYS,
    TRAJECTORY_KEYS,
    BodyContact,
    ContactEvent,
    ContactModel,
    GraspResult,
    GraspStatus,
    HoldTest,
    ObjectMotion,
    OtherContact,
    PhaseSpan,
    SoftFingerEnd,
    column,
)

SCHEMA_VERSION = 2
SERIES = ("directions", "pulls")
"""Parts of a hold test that are absent where they are empty."""

T = TypeVar("T", bound=BaseModel)


def save_result(result: GraspResult, directory: str | Path) -> list[Path]:
    """Write ``result.json`` and ``trajectory.npz`` into a directory and return their paths.

    Raises:
        ResultError: The directory cannot be written.
    """
    log = {} if result.quality_log is None else result.quality_log.arrays()
    return write_result(Path(directory), document(result), {**result.trajectory(), **log})


def load_result(directory: str | Path) -> GraspResult:
    """Read a result from its directory.

    Raises:
        ResultError: A file is missing, damaged, or of another version; the trajectory is not
            the one that ``result.json`` belongs to.
    """
    directory = Path(directory)
    document_data, arrays = read_result(directory)
    version = document_data["schema_version"]
    if version != SCHEMA_VERSION:
        newer = isinstance(version, int) and version > SCHEMA_VERSION
        maker = document_data.get("softgrasp_version", "of unknown version")
        hint = (
            f"softgrasp {maker} wrote it, this is {__version__}: update it"
            if newer
            else "an older softgrasp wrote it, with other field names: simulate its scene again"
        )
        raise ResultError(
            f"{directory}: expected schema_version {SCHEMA_VERSION}, found {version}; {hint}"
        )
    missing = set(TRAJECTORY_KEYS) - set(arrays)
    if missing:
        raise ResultError(
            f"{directory}: trajectory.npz: missing arrays: {', '.join(sorted(missing))}"
        )
    try:
        result = _from_document(document_data, arrays)
    except KeyError as error:
        raise ResultError(
            f"{directory}: result.json: expected a field {error}, found none"
        ) from None
    except (DescriptionError, ValueError, TypeError, AttributeError) as error:
        raise ResultError(f"{directory}: result.json: damaged: {error}") from error
    if result.trajectory_sha256 != document_data["trajectory_sha256"]:
        raise ResultError(
            f"{directory}: expected a trajectory with hash "
            f"{document_data['trajectory_sha256'][:12]}…, found {result.trajectory_sha256[:12]}…; "
            "the two files are not of one run"
        )
    return result


def document(result: GraspResult) -> dict[str, Any]:
    """Return the content of ``result.json``; values that were not computed are absent."""
    values: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "backend": result.backend,
        "scene": result.scene,
        "status": result.status.name,
        "message": result.message,
        "held": result.held,
        "success_criterion": result.success_criterion,
        "simulated_time_s": result.simulated_time,
        "wall_time_s": result.wall_time,
        "contacts": result.contacts,
        "other_contacts": result.other_contacts or None,
        "events": result.events,
        "object": result.object,
        "objects": result.objects,
        "joints": result.joints,
        "contact_model": result.contact_model,
        "soft_fingers": result.soft_fingers or None,
        "phases": result.phases or None,
        "quality": result.quality,
        "hold": None if result.hold is None else _hold(result.hold),
        "warnings": result.warnings,
        "trajectory_sha256": result.trajectory_sha256,
    }
    always = ("held",)
    return {k: _plain(v) for k, v in values.items() if v is not None or k in always}


def _hold(hold: HoldTest) -> dict[str, Any]:
    values = hold.model_dump(mode="json", exclude_none=True)
    return {key: value for key, value in values.items() if value or key not in SERIES}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value


def _from_document(document_data: dict[str, Any], arrays: dict[str, Any]) -> GraspResult:
    status = _status(document_data["status"])
    return GraspResult(
        scene=_made(GraspScene, document_data["scene"]),
        backend=document_data["backend"],
        status=status,
        held=document_data["held"],
        simulated_time=document_data["simulated_time_s"],
        wall_time=document_data["wall_time_s"],
        contacts=tuple(_made(BodyContact, part) for part in document_data["contacts"]),
        other_contacts=tuple(
            _made(OtherContact, p) for p in document_data.get("other_contacts", ())
        ),
        events=tuple(_made(ContactEvent, part) for part in document_data["events"]),
        objects=tuple(_made(ObjectMotion, part) for part in document_data["objects"]),
        contact_model=_made(ContactModel, document_data["contact_model"]),
        hold=_made(HoldTest, document_data["hold"]) if "hold" in document_data else None,
        soft_fingers=tuple(
            _made(SoftFingerEnd, part) for part in document_data.get("soft_fingers", ())
        ),
        phases=tuple(_made(PhaseSpan, part) for part in document_data.get("phases", ())),
        quality_log=QualityLog.of_arrays(arrays),
        warnings=tuple(document_data["warnings"]),
        advice=document_data["message"].removeprefix(status.value).removeprefix(": "),
        **{key: arrays[key] for key in TRAJECTORY_KEYS},
        **{key: arrays[key] for key in ADDED_KEYS if key in arrays},
    )


def _status(name: Any) -> GraspStatus:
    if name not in GraspStatus.__members__:
        hint = did_you_mean(str(name), GraspStatus.__members__)
        raise DescriptionError(f"no such status, found {name!r}; {hint}", field="status")
    return GraspStatus[name]


def _made(model: type[T], value: Any) -> T:
    if not isinstance(value, dict):
        raise DescriptionError(f"expected the fields of a {model.__name__}, found {value!r}")
    return model(**value)


def hand_pose_at(result: GraspResult, row: int) -> Array:
    """Compute the pose of the hand frame in the world, (4, 4).

    Args:
        result: A run with a sequence, or any other before its lift.
        row: Index of the sample.
    """
    scene = result.scene
    if not scene.on_wrist:
        return home_pose(scene)
    if isinstance(scene.arm, HandCarrier):
        data = PosedResult(result).pose(float(result.time[row]))
        palm = data.body(names.hand_body(scene.hand))
        return transform(palm.xpos, palm.xquat)
    joints = [column(result.joint_names, name) for name in names.carrier_joints(scene)]
    values = result.joint_position[row, joints]
    if scene.arm is not None:
        tool = transform(scene.arm.tool.position, scene.arm.tool.quaternion)
        flange = forward_kinematics(scene.arm.chain, values.tolist())[-1]
        return np.asarray(arm_base(scene.arm, scene.hand_pose) @ flange @ tool)
    pose = home_pose(scene)
    pose[:3, 3] += values[:3]
    about_z, about_y, about_x = values[3:]
    pose[:3, :3] = rotation_from_euler((about_x, about_y, about_z)) @ pose[:3, :3]
    return pose


class PosedResult:
    """A finished run as states of its model, posed at any time of the run.

    Args:
        result: The run; its scene is built anew.
    """

    def __init__(self, result: GraspResult) -> None:
        self.result = result
        with warnings.catch_warnings():
            # issued when the scene was built for the run, and recorded in the result
            warnings.simplefilter("ignore", SoftgraspWarning)
            self.model = compile_model(result.scene)
        self.data = mujoco.MjData(self.model)
        mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        self._joints = [self.model.joint(name).qposadr[0] for name in result.joint_names.tolist()]
        self._placed_objects = placed_items(result.scene)

    def pose(self, time: float) -> mujoco.MjData:
        """Return the state at a time [s] with kinematics and collisions, until the next call."""
        result = self.result
        row, fraction = self.row(time)
        near = slice(row, row + 2)
        joints = result.joint_position[near]
        self.data.qpos[self._joints] = joints[0] + fraction * (joints[-1] - joints[0])
        if result.object_nodes is not None:
            nodes = result.object_nodes[near]
            node_array = nodes[0] + fraction * (nodes[-1] - nodes[0])
            self.data.qpos[node_columns(self.model)] = node_positions(self.model, node_array)
        for placed, (positions, quaternions) in zip(
            self._placed_objects, result.tracks, strict=True
        ):
            track, nearest_quaternions = positions[near], quaternions[near]
            position = track[0] + fraction * (track[-1] - track[0])
            self._set_object(
                placed, position, _slerp(nearest_quaternions[0], nearest_quaternions[-1], fraction)
            )
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        if self.model.nflex:
            mujoco.mj_flex(self.model, self.data)
        mujoco.mj_collision(self.model, self.data)
        return self.data

    def row(self, time: float) -> tuple[int, float]:
        """Return the last row at or before a time, and the fraction to the next one (0 … 1)."""
        times = self.result.time
        row = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(times) - 1))
        if row == len(times) - 1:
            return row, 0.0
        fraction = (time - times[row]) / (times[row + 1] - times[row])
        return row, float(np.clip(fraction, 0.0, 1.0))

    def _set_object(self, placed: PlacedItem, position: Array, quaternion: Array) -> None:
        qpos = self.data.qpos
        if placed.object.elasticity is not None:  # its nodes are recorded
            return
        if placed.mount == "free":
            first = self.model.joint(placed.body).qposadr[0]
            qpos[first : first + 7] = [*position, *quaternion]
        elif placed.mount == "planar":
            inverse, relative = np.zeros(4), np.zeros(4)
            mujoco.mju_negQuat(inverse, np.array(placed.pose.quaternion))
            mujoco.mju_mulQuat(relative, quaternion, inverse)
            moved = position - placed.pose.position
            about_y = 2.0 * np.arctan2(relative[2], relative[0])
            values = (moved[0], moved[2], about_y)
            for name, value in zip(names.object_joints(placed.body), values, strict=True):
                qpos[self.model.joint(name).qposadr[0]] = value


def _slerp(first: Array, second: Array, fraction: float) -> Array:
    """Interpolate between two unit quaternions on the shortest path."""
    rotation_vector, between = np.zeros(3), first.copy()
    mujoco.mju_subQuat(rotation_vector, second, first)
    mujoco.mju_quatIntegrate(between, rotation_vector, fraction)
    return between
