"""What a sweep keeps of its grasps besides rows: whole trajectories, and a dataset of grasps.

Both are compressed ``.npz`` files, one for each group of rows that were computed together.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.formats.atomic import write_bytes
from softgrasp.simulation.result import GraspResult
from softgrasp.sweeps.dataset import grasps_of

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
