"""Extra files of a sweep: whole trajectories, and a dataset for learning.

Trajectories are compressed ``.npz`` files, one for each group of rows that were computed together.
Datasets are made of the files of all rows, by ``exports``.
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
from softgrasp.exports.grasps import grasp_set, load_grasps, merge_grasps, save_grasps
from softgrasp.io.files import write_bytes
from softgrasp.io.input_limits import read_arrays
from softgrasp.sweeps.parameters import scene_of_row

if TYPE_CHECKING:
    import pandas as pd

Arrays = dict[str, NDArray[Any]]
DatasetKind = Literal["grasps", "lerobot", "minari"]
"""A file of ``grasps``, or episodes of all rows."""

TRAJECTORIES, DATASET = "trajectories", "dataset"


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
            buffer = io.BytesIO()
            np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
            write_bytes(self.directory / TRAJECTORIES / name, buffer.getvalue())
        for of_hand in _by_hand(results) if self.dataset == "grasps" else ():
            path = self.directory / DATASET / f"rows-{min(of_hand):07d}-{max(of_hand):07d}.json"
            save_grasps(grasp_set({f"row-{row}": result for row, result in of_hand.items()}), path)


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


def require_library(kind: DatasetKind | None) -> None:
    """Import the libraries that a dataset needs.

    Raises:
        BackendUnavailable: One is not installed.
    """
    try:
        for module in ("h5py", "minari") if kind == "minari" else ():
            import_module(module)
    except ModuleNotFoundError as error:
        raise missing_library(error) from None


def write_dataset(
    kind: DatasetKind, plan: SweepPlan, table: pd.DataFrame, directory: str | Path
) -> list[Path]:
    """Write the dataset of a finished sweep from the files of its rows.

    Args:
        kind: The dataset.
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
    if kind == "grasps":
        parts = [load_grasps(path) for path in sorted(directory.glob(f"**/{DATASET}/rows-*.json"))]
        sets = merge_grasps(parts, lambda grasp: int(grasp.name.removeprefix("row-")))
        names = [f"grasps-{item.hand}.json" if len(sets) > 1 else "grasps.json" for item in sets]
        pairs = zip(sets, names, strict=True)
        return [
            file
            for element, name in pairs
            for file in save_grasps(element, directory / DATASET / name)
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
