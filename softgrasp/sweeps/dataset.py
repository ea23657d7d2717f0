"""Extra files of a sweep: whole trajectories, and a dataset for learning.

Trajectories and the dataset ``arrays`` are compressed ``.npz`` files, one for each group of rows
that were computed together. The dataset has the poses of the hand and the contacts in the frame of
the object, whose axes are those of its shape and whose origin is its centre of mass; ``ARRAYS``
describes the arrays. The other datasets are made of the files of all rows, by ``exports``.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.sweep import SweepPlan
from softgrasp.errors import missing_library
from softgrasp.evaluation.result import GraspResult
from softgrasp.exports.episodes import FPS, sample, task_of, write_lerobot, write_minari
from softgrasp.exports.grasps import (
    closure_end,
    contacts_in_object,
    grasp_set,
    hand_in_object,
    load_grasps,
    merge_grasps,
    save_grasps,
)
from softgrasp.io.files import write_bytes
from softgrasp.io.input_limits import read_arrays
from softgrasp.mechanics.transforms import quaternion_of
from softgrasp.model.object import object_mass
from softgrasp.sweeps.parameters import scene_of_row

if TYPE_CHECKING:
    import pandas as pd

Arrays = dict[str, NDArray[Any]]
DatasetKind = Literal["arrays", "grasps", "lerobot", "minari"]
"""``arrays`` for each group of rows, one file of ``grasps``, or episodes of all rows."""

TRAJECTORIES, DATASET = "trajectories", "dataset"
LIBRARIES: dict[str | None, tuple[str, ...]] = {"minari": ("h5py", "minari")}
"""What a dataset needs besides the libraries of tables."""
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
    dataset: DatasetKind | None = None

    def write(self, results: Mapping[int, GraspResult]) -> None:
        """Write the files of some grasps (rows); nothing where none has a result.

        Raises:
            ResultError: They cannot be written.
        """
        if not results:
            return
        name = f"rows-{min(results):07d}-{max(results):07d}.npz"
        if self.trajectories or self.dataset in ("lerobot", "minari"):
            arrays = {
                f"{row}/{key}": array
                for row, result in results.items()
                for key, array in result.trajectory().items()
            }
            write_bytes(self.directory / TRAJECTORIES / name, _npz(arrays))
        for of_hand in _by_hand(results):
            path = self.directory / DATASET / f"rows-{min(of_hand):07d}-{max(of_hand):07d}"
            if self.dataset == "grasps":
                grasps = grasp_set({f"row-{row}": result for row, result in of_hand.items()})
                save_grasps(grasps, path.with_suffix(".json"))
            elif self.dataset == "arrays":
                write_bytes(path.with_suffix(".npz"), _npz(arrays_of(of_hand)))


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


def require_library(kind: DatasetKind | None) -> None:
    """Import the libraries that a dataset needs.

    Raises:
        BackendUnavailable: One is not installed.
    """
    try:
        for module in LIBRARIES.get(kind, ()):
            import_module(module)
    except ModuleNotFoundError as error:
        raise missing_library(error) from None


def write_dataset(
    kind: DatasetKind, plan: SweepPlan, table: pd.DataFrame, directory: str | Path
) -> list[Path]:
    """Write the dataset of a finished sweep from the files of its rows.

    Args:
        kind: The dataset; ``arrays`` are complete already.
        plan: The plan of the sweep.
        table: Its rows.
        directory: Its directory; shards in it are read as well.

    Returns:
        What was written: a file of grasps for each hand, or the directory of the dataset.

    Raises:
        DescriptionError: Episodes are of several hands, or there are none.
        BackendUnavailable: The library of the dataset is not installed.
    """
    directory = Path(directory)
    if kind == "arrays":
        return []
    if kind == "grasps":
        parts = [load_grasps(path) for path in sorted(directory.glob(f"**/{DATASET}/rows-*.json"))]
        sets = merge_grasps(parts, lambda grasp: int(grasp.name.removeprefix("row-")))
        names = [f"grasps-{item.hand}.json" if len(sets) > 1 else "grasps.json" for item in sets]
        pairs = zip(sets, names, strict=True)
        return [
            file for one, name in pairs for file in save_grasps(one, directory / DATASET / name)
        ]
    held = table.set_index("row")["held"].dropna().to_dict()
    episodes = []
    for row, arrays in sorted(trajectories(directory), key=lambda run: run[0]):
        success = bool(held[row]) if row in held else None
        episodes.append(sample(arrays, FPS, task_of(scene_of_row(plan, row)), success))
    write = write_lerobot if kind == "lerobot" else write_minari
    return [write(episodes, directory / DATASET / kind)]


def _by_hand(results: Mapping[int, GraspResult]) -> list[dict[int, GraspResult]]:
    hands: dict[tuple[str, ...], dict[int, GraspResult]] = {}
    for row, result in results.items():
        key = (result.scene.hand.name, *result.joint_names.tolist())
        hands.setdefault(key, {})[row] = result
    return list(hands.values())


def arrays_of(results: Mapping[int, GraspResult]) -> dict[str, NDArray[Any]]:
    """Return the arrays (``ARRAYS``) of some grasps of one hand, by their rows."""
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
    closed = closure_end(result)
    start, grasp = (hand_in_object(result, row) for row in (0, closed))
    return {
        "status": result.status.name,
        "outcome": result.outcome.name,
        "held": -1 if result.held is None else int(result.held),
        "mass_kg": object_mass(result.scene.object),
        "start_position": start[:3, 3],
        "start_quat_wxyz": quaternion_of(start),
        "start_joints": result.joint_position[0],
        "grasp_position": grasp[:3, 3],
        "grasp_quat_wxyz": quaternion_of(grasp),
        "grasp_joints": result.joint_position[closed],
    }


def _contacts(result: GraspResult) -> list[dict[str, Any]]:
    return [
        {
            "contact_body": contact.body,
            "contact_point": contact.point_m,
            "contact_normal": contact.normal,
            "contact_normal_force": contact.normal_force_N,
            "contact_friction_force": contact.friction_force_N,
        }
        for contact in contacts_in_object(result)
    ]
