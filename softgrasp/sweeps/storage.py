"""The folder of a sweep: its plan, a journal of finished rows, and one writer at a time.

A finished row is a line of JSON at the end of ``rows.jsonl``. A line that a crash has cut short is
left out when the sweep goes on, so at most the grasps in flight are lost.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from softgrasp._version import __version__
from softgrasp.description.sweep import SweepPlan
from softgrasp.errors import DescriptionError, ResultError
from softgrasp.io.files import write_bytes, write_text
from softgrasp.io.json_lines import JsonLines
from softgrasp.mechanics.transforms import quaternion_of, transform
from softgrasp.model.object import object_mass
from softgrasp.quality.measures import smallest_singular_value
from softgrasp.sim.result import GraspResult, HoldTest
from softgrasp.sim.serialization import hand_pose_at

PLAN, JOURNAL, LOCK = "plan.json", "rows.jsonl", "sweep.lock"
SCHEMA_VERSION = 2


class SweepStore:
    """A folder that belongs to one plan; used as a context it is locked for writing."""

    def __init__(self, directory: str | Path, plan: SweepPlan) -> None:
        """Name the folder; nothing is written yet."""
        self.directory, self.plan = Path(directory), plan
        self._lock: IO[str] | None = None
        self._journal = JsonLines(self.directory / JOURNAL)

    def __enter__(self) -> Self:
        """Lock the folder, and write the plan where there is none yet.

        Raises:
            ResultError: Another process writes here, the folder belongs to another plan, or it
                cannot be written.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._lock = (self.directory / LOCK).open("a+")
        except OSError as error:
            raise ResultError(
                f"{self.directory}: expected a folder that can be written, found: "
                f"{error.strerror or error}"
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.seek(0)
            holder = self._lock.read().strip() or "unknown"
            self._lock.close()
            raise ResultError(
                f"{self.directory}: expected no other sweep that writes here, found process "
                f"{holder}"
            ) from None
        self._lock.truncate(0)
        self._lock.write(f"{os.getpid()}\n")
        self._lock.flush()
        try:
            self._claim()
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Let others write."""
        if self._lock is not None:
            self._lock.close()

    def _claim(self) -> None:
        path = self.directory / PLAN
        if path.exists():
            if plan_in(self.directory) != self.plan:
                raise ResultError(
                    f"{self.directory}: expected the results of this plan, found those of another "
                    "one; choose another folder"
                )
            self._journal.drop_cut_line()
            return
        content = {
            "schema_version": SCHEMA_VERSION,
            "softgrasp_version": __version__,
            "rows": self.plan.size,
            "plan": self.plan.model_dump(mode="json"),
        }
        write_text(path, json.dumps(content, indent=1) + "\n")

    def add(self, rows: Iterable[dict[str, Any]]) -> None:
        """Keep finished rows, on the disk before this returns.

        Raises:
            ResultError: They cannot be written; the rows before are safe.
        """
        assert self._lock is not None  # used as a context
        try:
            self._journal.append(rows)
        except OSError as error:
            raise ResultError(
                f"{self.directory / JOURNAL}: expected room for the finished rows, found: "
                f"{error.strerror or error}; the rows before are safe, and the sweep goes on from "
                "them when it is run again"
            ) from error

    def finished(self) -> Iterator[dict[str, Any]]:
        """Finished rows, in the order in which they were finished."""
        return self._journal.read()


def plan_in(directory: Path) -> SweepPlan:
    """The plan of a sweep's folder.

    Raises:
        ResultError: There is none, it is damaged, or of another version.
    """
    path = directory / PLAN
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version = content["schema_version"]
        if version != SCHEMA_VERSION:
            raise ResultError(f"{path}: expected schema_version {SCHEMA_VERSION}, found {version}")
        return SweepPlan(**content["plan"])
    except OSError as error:
        raise ResultError(
            f"{path}: expected the plan of a sweep, found: {error.strerror or error}"
        ) from error
    except (ValueError, KeyError, TypeError, DescriptionError) as error:
        raise ResultError(f"{path}: damaged: {error}") from error


# --------------------
# A result as one row of the table; what stands in which column.


FAILED = "FAILED"
"""Status of a row whose grasp could not be simulated; its ``error`` says why."""
COLUMNS: dict[str, str] = {
    "status": "name of the GraspStatus, or FAILED",
    "held": "whether the hold test or the lift was passed; empty where there was none",
    "error": "why there is no result; empty where there is one",
    "simulated_time_s": "simulated time [s]",
    "first_touch_s": "first touch of the object [s]",
    "all_established_s": "last establishing of a contact [s]",
    "contacts": "bodies of the hand in established contact at the end",
    "contacts_lost": "how often an established contact was lost",
    "contact_order": "bodies in the order of their first established contact, joined by >",
    "largest_force_N": "largest normal force of one body [N]",
    "final_force_N": "sum of the normal forces at the end [N]",
    "displacement_m": "how far the object went [m]",
    "displacement_x_m": "its displacement in the world [m]",
    "displacement_y_m": "[m]",
    "displacement_z_m": "[m]",
    "rotation_rad": "angle by which it turned [rad]",
    "final_x_m": "its final pose in the world [m]",
    "final_y_m": "[m]",
    "final_z_m": "[m]",
    "final_qw": "quaternion",
    "final_qx": "quaternion",
    "final_qy": "quaternion",
    "final_qz": "quaternion",
    "quality_friction_margin": "1 - friction over its limit in the contact at the end that is "
    "nearest to slipping; empty without contacts",
    "quality_min_singular": "smallest singular value of the grasp matrix at the end, moments over "
    "the contacts' rms distance from the centre; 0 where some motion is not resisted",
    "quality_epsilon": "radius of the largest ball in the wrench space of the contacts at the end, "
    "moments over the object's reach; empty where the plan asks for no quality",
    "hold_drop_m": "drift in the hand during the hold test or the lift [m]",
    "hold_rotation_rad": "turn in the hand [rad]",
    "hold_lifted_m": "how far it was lifted [m]",
    "hold_creep_m_s": "creep in the hand under full load [m/s]",
    "hold_slip_force_N": "least force that pulled it out of the hand [N]; empty without pulls and "
    "where none did",
    "hold_directions": "share of the criterion's directions in which it was held; empty where it "
    "has none",
    "stiffness_min_N_m": "lowest measured contact stiffness at the end [N/m]",
    "stiffness_max_N_m": "highest one [N/m]",
    "timestep_s": "time step of the physics [s]",
    "warnings": "number of warnings",
    "trajectory_sha256": "hash of the whole trajectory",
    "wall_time_s": "time that the grasp took [s]; differs from run to run",
    "wall_build_s": "of which its model, reading and cutting a mesh included [s]; differs, too",
}
"""Columns behind ``row`` and the plan's axes, in this order, with their meaning."""


def row_of(result: GraspResult) -> dict[str, Any]:
    """The columns of a finished grasp, as plain data."""
    motion, hold = result.object, result.hold
    established = {c.body: c.established_s[0] for c in result.contacts if c.established_s}
    touches = [c.first_touch_s for c in result.contacts if c.first_touch_s is not None]
    stiffness = list(result.contact_model.measured_stiffness_N_m.values())
    start, end = np.array(motion.initial_quat_wxyz), np.array(motion.final_quat_wxyz)
    return {
        "status": result.status.name,
        "held": result.held,
        "error": "",
        "simulated_time_s": result.simulated_time,
        "first_touch_s": min(touches, default=None),
        "all_established_s": max(established.values(), default=None),
        "contacts": sum(contact.in_contact for contact in result.contacts),
        "contacts_lost": sum(len(contact.lost_s) for contact in result.contacts),
        "contact_order": ">".join(sorted(established, key=lambda body: (established[body], body))),
        "largest_force_N": float(result.normal_force.max(initial=0.0)),
        "final_force_N": float(result.normal_force[-1].sum()),
        "displacement_m": float(np.linalg.norm(motion.displacement_m)),
        **_named("displacement", "xyz", motion.displacement_m, "_m"),
        "rotation_rad": float(2.0 * np.arccos(min(abs(float(start @ end)), 1.0))),
        **_named("final", "xyz", motion.final_position_m, "_m"),
        **_named("final_q", "wxyz", motion.final_quat_wxyz, "", ""),
        **_quality(result),
        "hold_drop_m": None if hold is None else hold.drop_m,
        "hold_rotation_rad": None if hold is None else hold.rotation_rad,
        "hold_lifted_m": None if hold is None else hold.lifted_m,
        "hold_creep_m_s": None if hold is None else hold.creep_m_s,
        "hold_slip_force_N": _slip_force(hold),
        "hold_directions": _borne(result),
        "stiffness_min_N_m": min(stiffness, default=None),
        "stiffness_max_N_m": max(stiffness, default=None),
        "timestep_s": result.contact_model.timestep_s,
        "warnings": len(result.warnings),
        "trajectory_sha256": result.trajectory_sha256,
        "wall_time_s": result.wall_time,
    }


def _borne(result: GraspResult) -> float | None:
    """Share of directions in which the object was held; None where none was tried."""
    tried = () if result.hold is None else result.hold.directions
    return sum(test.held for test in tried) / len(tried) if tried else None


def _quality(result: GraspResult) -> dict[str, float | None]:
    touching = [contact for contact in result.contacts if contact.point_m is not None]
    friction = result.contact_model.used.static_friction
    used = [
        contact.friction_force_N / (friction * contact.normal_force_N)
        for contact in touching
        if contact.normal_force_N > 0.0 and friction > 0.0
    ]
    points = np.array([contact.point_m for contact in touching])
    centre, log = result.objects[0].final_position_m, result.quality_log
    return {
        "quality_friction_margin": 1.0 - max(used) if used else None,
        "quality_min_singular": smallest_singular_value(points, centre),
        "quality_epsilon": None if log is None else float(log.epsilon[-1]),
    }


def _slip_force(hold: HoldTest | None) -> float | None:
    pulls = () if hold is None else hold.pulls
    return min((pull.slip_force_N for pull in pulls if pull.slip_force_N is not None), default=None)


def failed_row(error: str) -> dict[str, Any]:
    """The columns of a grasp without a result."""
    empty = dict.fromkeys(COLUMNS)
    return empty | {"status": FAILED, "error": error, "wall_time_s": 0.0, "wall_build_s": 0.0}


def _named(
    stem: str, axes: str, values: tuple[float, ...], unit: str, joint: str = "_"
) -> dict[str, float]:
    return {f"{stem}{joint}{axis}{unit}": value for axis, value in zip(axes, values, strict=True)}


# --------------------
# What a sweep keeps of its grasps besides rows: whole trajectories, and a dataset of grasps.
#
# Both are compressed ``.npz`` files, one for each group of rows that were computed together.


Arrays = dict[str, NDArray[Any]]

TRAJECTORIES, DATASET = "trajectories", "dataset"


class Kept(NamedTuple):
    """What to keep, and where."""

    directory: Path
    trajectories: bool = False
    dataset: bool = False

    def write(self, results: Mapping[int, GraspResult]) -> None:
        """Write the files of some rows; nothing where none has a result.

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
            write_bytes(self.directory / TRAJECTORIES / name, packed(arrays))
        if self.dataset:
            for grasps in grasps_of(results):
                first, last = int(grasps["row"].min()), int(grasps["row"].max())
                path = self.directory / DATASET / f"rows-{first:07d}-{last:07d}.npz"
                write_bytes(path, packed(grasps))


def packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of a compressed ``.npz``."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def trajectories(directory: str | Path) -> Iterator[tuple[int, Arrays]]:
    """Row and arrays of every grasp whose trajectory a sweep has kept, file by file.

    The arrays are those of ``trajectory.npz``; the parts of array jobs are read as well.
    """
    seen: set[int] = set()
    for path in sorted(Path(directory).glob(f"**/{TRAJECTORIES}/rows-*.npz")):
        with np.load(path) as stored:
            rows: dict[int, Arrays] = {}
            for key in stored.files:
                row, _, name = key.partition("/")
                rows.setdefault(int(row), {})[name] = stored[key]
        yield from ((row, arrays) for row, arrays in rows.items() if row not in seen)
        seen |= rows.keys()  # those of a killed run are computed again


def dataset(directory: str | Path) -> Iterator[Arrays]:
    """The grasps of every file of a sweep's dataset; see ``sweeps.dataset.grasps_of``.

    A row that a killed run had written already may come twice, with the same content.
    """
    for path in sorted(Path(directory).glob(f"**/{DATASET}/rows-*.npz")):
        with np.load(path) as stored:
            yield {key: stored[key] for key in stored.files}


# --------------------
# Grasps as arrays for learning: hand and contacts as the object sees them.


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
