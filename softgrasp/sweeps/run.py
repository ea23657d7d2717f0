"""A sweep from its plan to its table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from softgrasp.description.sweep_plan import SweepPlan
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.sweeps import local
from softgrasp.sweeps.fields import refuse_unknown_fields
from softgrasp.sweeps.kept import Kept
from softgrasp.sweeps.local import Chunk
from softgrasp.sweeps.shards import Shard
from softgrasp.sweeps.store import SweepStore
from softgrasp.sweeps.table import require_pandas, table_of, write_tables
from softgrasp.sweeps.worker import Row, total_steps

if TYPE_CHECKING:
    import pandas as pd

EXECUTORS = ("local", "dask")
CHUNK, CHUNKS_A_WORKER = 64, 8
"""Most rows that are handed out together, and least chunks a worker, so that none waits long."""
CHUNK_STEPS = 200_000
"""Physics steps that are handed out together, some seconds of work: a kill loses no more."""

WORTHWHILE = 8
"""Rows for which a further process is worth its start."""

Progress = Callable[[int, int], None]
"""Called with the rows that are finished and all rows."""


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
        out: Folder for plan, rows and tables; nothing is written where it is not given.
        workers: Processes; as many as cores where not given, and fewer for few rows. 1 computes in
            this process.
        executor: ``local`` processes, or ``dask``.
        scheduler: Address of a dask scheduler, such as ``tcp://host:8786``; a cluster on this
            machine where it is not given.
        shard: Which part of the rows; all where not given. Its table is written where all parts
            are merged.
        trajectories: Whether to keep whole trajectories in ``out``.
        dataset: Whether to keep grasps for learning in ``out``; see ``sweeps.dataset``.
        progress: Called when rows are finished.

    Returns:
        A row a grasp, in the order of the plan; columns as ``sweep.rows.COLUMNS``.

    Raises:
        DescriptionError: There is no such executor, or a number is out of range.
        ResultError: The folder cannot be written, is in use, or belongs to another plan.
        BackendUnavailable: pandas, or what the executor needs, is not installed, or there is no
            scheduler at the address.
        SimulationError: No worker can start, as in a script that does not wait for its turn.
    """
    require_pandas()
    if workers is None:
        # a process takes as long to start as a dozen light grasps
        workers = min(os.cpu_count() or 1, max(plan.size // WORTHWHILE, 1))
    if workers < 1:
        raise DescriptionError(f"expected at least 1, found {workers}", field="workers")
    if executor not in EXECUTORS:
        raise DescriptionError(f"no executor '{executor}'; {did_you_mean(executor, EXECUTORS)}")
    if (trajectories or dataset) and out is None:
        what = "trajectories" if trajectories else "dataset"
        raise DescriptionError(f"expected a folder for the {what}, found none", field="out")
    refuse_unknown_fields(plan)
    rows = range(plan.size) if shard is None else shard.rows(plan.size)
    directory = None if out is None else Path(out) / (shard.directory if shard else "")
    kept = None
    if directory is not None and (trajectories or dataset):
        kept = Kept(directory, trajectories=trajectories, dataset=dataset)

    def computed(left: Sequence[int]) -> Iterator[list[Row]]:
        chunks = chunked(left, workers, max(CHUNK_STEPS // total_steps(plan.scene), 1))
        if executor == "dask":
            from softgrasp.sweeps.dask_cluster import computed_by_dask

            return computed_by_dask(plan, chunks, kept, workers, scheduler)
        if workers == 1:
            return local.serial(plan, chunks, kept)
        return local.LocalPool(plan, workers, kept).run(chunks)

    if directory is None:
        return table_of(plan, _all(rows, computed(rows), progress))
    with SweepStore(directory, plan) as store:
        done = {row["row"]: row for row in store.finished()}
        left = [row for row in rows if row not in done]
        if progress is not None:
            progress(len(rows) - len(left), len(rows))
        for finished_rows in computed(left) if left else ():
            store.add(finished_rows)
            done |= {row["row"]: row for row in finished_rows}
            if progress is not None:
                progress(len(done), len(rows))
        table = table_of(plan, list(done.values()))
        if shard is None:
            write_tables(table, directory)
    return table


def chunked(rows: Sequence[int], workers: int, max_chunk: int = CHUNK) -> list[Chunk]:
    """Rows that are handed out together, at most so many."""
    size = max(min(len(rows) // (workers * CHUNKS_A_WORKER), CHUNK, max_chunk), 1)
    return [tuple(rows[start : start + size]) for start in range(0, len(rows), size)]


def _all(rows: Sequence[int], parts: Iterator[list[Row]], progress: Progress | None) -> list[Row]:
    done: list[Row] = []
    for part in parts:
        done += part
        if progress is not None:
            progress(len(done), len(rows))
    return done
