"""Run a sweep from its plan to its table, whole or in shards.

Rows are computed in any order by an executor, kept in the journal of the output directory as they
finish, and put in the order of the plan at the end. Only columns whose name contains ``wall``
differ between two runs of one plan.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from softgrasp.description.sweep import SweepPlan
from softgrasp.errors import DescriptionError, ResultError, did_you_mean
from softgrasp.sweeps import executors
from softgrasp.sweeps.dataset import ExtraOutputs
from softgrasp.sweeps.executors import Chunk, total_steps
from softgrasp.sweeps.parameters import refuse_unknown_fields
from softgrasp.sweeps.storage import SweepStore, plan_in
from softgrasp.sweeps.table import Row, require_pandas, table_of, write_tables

if TYPE_CHECKING:
    import pandas as pd


EXECUTORS = ("local", "dask")
CHUNK_ROWS, CHUNKS_PER_WORKER = 64, 8
"""Maximum rows of a chunk, and minimum chunks per worker, so that no worker waits long."""
CHUNK_STEPS = 200_000
"""Maximum physics steps of a chunk, some seconds of work: a kill loses no more."""
ROWS_PER_WORKER = 8
"""Rows for which a further process is worth its start, which takes as long as a dozen grasps."""

Progress = Callable[[int, int], None]
"""Called with the number of finished rows and of all rows."""


def sweep(
    plan: SweepPlan,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    executor: str = "local",
    scheduler: str | None = None,
    shard: Shard | None = None,
    trajectories: bool = False,
    dataset: bool = False,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Simulate all grasps of a plan.

    Rows that are in ``out`` already are not computed again; nothing in the table depends on the
    number of workers but columns whose name contains ``wall``.

    Args:
        plan: The plan.
        out: Directory for plan, rows and tables; nothing is written without it.
        workers: Number of processes; by default one per core, fewer for few rows. 1 computes in
            this process.
        executor: ``local`` processes, or ``dask``.
        scheduler: Address of a dask scheduler, such as ``tcp://host:8786``; by default a cluster
            on this machine.
        shard: Part of the rows; all by default. The table is written when all parts are merged.
        trajectories: Whether to write whole trajectories to ``out``.
        dataset: Whether to write grasps for learning to ``out``; see ``sweeps.dataset``.
        progress: Called when rows are finished.

    Returns:
        One row per grasp, in the order of the plan; for columns see ``sweeps.table.COLUMNS``.

    Raises:
        DescriptionError: There is no such executor, or a number is out of range.
        ResultError: The directory cannot be written, is in use, or belongs to another plan.
        BackendUnavailable: pandas, or what the executor needs, is not installed, or there is no
            scheduler at the address.
        SimulationError: No worker can start, as in a script without
            ``if __name__ == "__main__":``.
    """
    require_pandas()
    if workers is None:
        workers = min(os.cpu_count() or 1, max(plan.size // ROWS_PER_WORKER, 1))
    if workers < 1:
        raise DescriptionError(f"expected at least 1, found {workers}", field="workers")
    if executor not in EXECUTORS:
        raise DescriptionError(f"no executor '{executor}'; {did_you_mean(executor, EXECUTORS)}")
    if (trajectories or dataset) and out is None:
        what = "trajectories" if trajectories else "dataset"
        raise DescriptionError(f"expected a directory for the {what}, found none", field="out")
    refuse_unknown_fields(plan)
    rows = range(plan.size) if shard is None else shard.rows(plan.size)
    directory = None if out is None else Path(out) / (shard.directory if shard else "")
    extra = None
    if directory is not None and (trajectories or dataset):
        extra = ExtraOutputs(directory, trajectories=trajectories, dataset=dataset)

    def compute(remaining: Sequence[int]) -> Iterator[list[Row]]:
        chunks = chunked(remaining, workers, max(CHUNK_STEPS // total_steps(plan.scene), 1))
        if executor == "dask":
            return executors.run_on_dask(plan, chunks, extra, workers, scheduler)
        if workers == 1:
            return executors.serial(plan, chunks, extra)
        return executors.LocalPool(plan, workers, extra).run(chunks)

    if directory is None:
        return table_of(plan, _collected({}, rows, compute, progress))
    with SweepStore(directory, plan) as store:
        done = {row["row"]: row for row in store.finished()}
        table = table_of(plan, _collected(done, rows, compute, progress, store))
        if shard is None:
            write_tables(table, directory)
    return table


def _collected(
    done: dict[int, Row],
    rows: Sequence[int],
    compute: Callable[[Sequence[int]], Iterator[list[Row]]],
    progress: Progress | None,
    store: SweepStore | None = None,
) -> list[Row]:
    """Compute the rows that are not done yet, store them as they finish, and return all."""
    remaining = [row for row in rows if row not in done]
    if progress is not None and store is not None:
        progress(len(done), len(rows))
    for finished in compute(remaining) if remaining else ():
        if store is not None:
            store.add(finished)
        done |= {row["row"]: row for row in finished}
        if progress is not None:
            progress(len(done), len(rows))
    return list(done.values())


def chunked(rows: Sequence[int], workers: int, max_rows: int = CHUNK_ROWS) -> list[Chunk]:
    """Divide rows into chunks that are computed together."""
    size = max(min(len(rows) // (workers * CHUNKS_PER_WORKER), CHUNK_ROWS, max_rows), 1)
    return [tuple(rows[start : start + size]) for start in range(0, len(rows), size)]


# Shards, for array jobs of a cluster.


_SHARD = re.compile(r"(\d+)/(\d+)")


class Shard(NamedTuple):
    """Every ``parts``-th row, beginning with row ``number`` - 1."""

    number: int
    parts: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a shard from a text such as ``3/8``.

        Raises:
            DescriptionError: It is no such text, or the number is beyond the count.
        """
        match = _SHARD.fullmatch(text.strip())
        number, parts = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= parts:
            raise DescriptionError(
                f"--shard: expected I/N with I from 1 to N, such as 3/8, found '{text}'"
            )
        return cls(number, parts)

    def rows(self, size: int) -> range:
        """Return the shard's rows of a plan with ``size`` rows."""
        return range(self.number - 1, size, self.parts)

    @property
    def directory(self) -> str:
        """Name of its directory inside the sweep's."""
        return f"shard-{self.number}-of-{self.parts}"


def merge(directory: str | Path) -> pd.DataFrame:
    """Merge all shards in a sweep's directory into one table, and write it there.

    Raises:
        ResultError: There are no shards, they are of different plans, or rows are missing.
        BackendUnavailable: pandas is not installed.
    """
    require_pandas()
    directory = Path(directory)
    parts = sorted(path for path in directory.glob("shard-*-of-*") if path.is_dir())
    if not parts:
        raise ResultError(f"{directory}: expected shards such as shard-1-of-8, found none")
    plan = plan_in(parts[0])
    rows: dict[int, Row] = {}
    for part in parts:
        if plan_in(part) != plan:
            raise ResultError(
                f"{directory}: expected shards of one plan, found others in {parts[0].name} and "
                f"{part.name}"
            )
        rows |= {row["row"]: row for row in SweepStore(part, plan).finished()}
    missing = sorted(set(range(plan.size)) - set(rows))
    if missing:
        first = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        raise ResultError(
            f"{directory}: expected all {plan.size} rows, found {len(rows)}; missing: {first}"
        )
    with SweepStore(directory, plan):
        table = table_of(plan, rows.values())
        write_tables(table, directory)
    return table
