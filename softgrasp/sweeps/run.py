"""Run a sweep from its plan to its table, whole or in shards.

Rows are computed in any order by an executor, kept in the journal of the output directory as they
finish, and put in the order of the plan at the end. Only columns whose name contains ``wall``
differ between two runs of one plan.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, get_args

import mujoco

from softgrasp.description.base import short
from softgrasp.description.sweep import SweepPlan
from softgrasp.errors import DescriptionError, ResultError, did_you_mean
from softgrasp.extensions import ROW_EXECUTORS
from softgrasp.io.files import write_text
from softgrasp.io.input_limits import result_loader
from softgrasp.io.scene import load_plan
from softgrasp.sweeps.dataset import DatasetKind, ExtraOutputs, require_library, write_dataset
from softgrasp.sweeps.executors import (
    ROWS_PER_WORKER,
    Chunk,
    DaskCluster,
    InProcess,
    LocalPool,
    Submit,
    total_steps,
)
from softgrasp.sweeps.parameters import refuse_unknown_fields, with_one_grasp
from softgrasp.sweeps.storage import (
    SweepStore,
    count_finished,
    plan_in,
    require_inputs,
    stored_in,
)
from softgrasp.sweeps.table import PARQUET, Row, read_tables, require_pandas, table_of, write_tables

if TYPE_CHECKING:
    import pandas as pd


EXECUTORS = ("local", "dask")
CHUNK_ROWS, CHUNKS_PER_WORKER = 64, 8
"""Maximum rows of a chunk, and minimum chunks per worker, so that no worker waits long."""
CHUNK_STEPS = 200_000
"""Maximum physics steps of a chunk, some seconds of work: a kill loses no more. Only dask, where a
task costs a message with the plan, and rows with extra files are computed in chunks."""

TABLE_MODULES = ("pandas", "pyarrow.parquet")
"""What a table needs; importing it takes as long as some grasps."""

Progress = Callable[[int, int], None]
"""Called with the number of finished rows and of all rows."""
CHECKS = "checks.json"
"""File of the rows that were repeated in MuJoCo."""


class Finish(NamedTuple):
    """Callback after the last grasp, while the worker processes still exist."""

    work: Callable[[pd.DataFrame, Submit], object]
    """Called with the table and with a function that gives work to the idle workers."""
    modules: tuple[str, ...] = ()
    """Modules that it needs; they are imported while the workers compute rows."""


def sweep(
    plan: SweepPlan | str | Path,
    out: str | Path | None = None,
    *,
    workers: int | None = None,
    executor: str = "local",
    scheduler: str | None = None,
    shard: Shard | None = None,
    trajectories: bool = False,
    dataset: DatasetKind | None = None,
    progress: Progress | None = None,
    finish: Finish | None = None,
    files: Sequence[Path] = (),
) -> pd.DataFrame:
    """Simulate all grasps of a sweep plan.

    Rows that are in ``out`` already are not computed again; nothing in the table depends on the
    number of workers but columns whose name contains ``wall``.

    Args:
        plan: The plan, or its file.
        out: Directory for plan, rows and tables; nothing is written without it.
        workers: Number of processes; by default one per core, fewer for few rows. 1 computes in
            this process. With ``warp`` they compute the rows that MuJoCo has to compute.
        executor: ``local`` processes, ``dask``, or ``warp``, which simulates all rows at once in
            MuJoCo Warp, repeats some of them in MuJoCo, and writes the differences to ``out``.
        scheduler: Address of a dask scheduler, such as ``tcp://host:8786``; by default a cluster
            on this machine.
        shard: Part of the rows; all by default. The table is written when all parts are merged.
        trajectories: Whether to write whole trajectories to ``out``.
        dataset: Which dataset for learning to write to ``out``: ``grasps`` (JSON), ``lerobot`` or
            ``minari``. That of shards is written when they are merged.
        progress: Called when rows are finished.
        finish: What to do with the table while the workers are still there, such as drawing a
            report. The files of the table are written before.
        files: Files from which the plan was read; a sweep in ``out`` that began with another
            content of them is refused.

    Returns:
        One row per grasp, in the order of the plan; for columns see ``sweeps.table.COLUMNS``.

    Raises:
        DescriptionError: There is no such executor, or a number is out of range.
        ResultError: The directory cannot be written, is in use, or belongs to another plan; a file
            that the plan reads has changed since its first row.
        BackendUnavailable: pandas, or what the executor needs, is not installed, or there is no
            scheduler at the address.
        SimulationError: No worker can start, as in a script without
            ``if __name__ == "__main__":``; says how one ended.
    """
    require_pandas()
    if isinstance(plan, str | Path):
        plan = load_plan(plan)
    if not isinstance(plan, SweepPlan):
        raise DescriptionError(
            "expected a SweepPlan(scene=…, axes=(Axis(path=…, values=…),)) or its file, found "
            + short(plan)
        )
    if workers is None:
        workers = min(os.cpu_count() or 1, max(plan.size // ROWS_PER_WORKER, 1))
    if workers < 1:
        raise DescriptionError(f"expected at least 1, found {workers}", field="workers")
    if executor not in EXECUTORS and executor not in ROW_EXECUTORS:
        hint = did_you_mean(executor, [*EXECUTORS, *ROW_EXECUTORS])
        raise DescriptionError(f"no executor '{executor}'; {hint}")
    if dataset is not None and dataset not in get_args(DatasetKind):
        hint = did_you_mean(str(dataset), get_args(DatasetKind))
        raise DescriptionError(f"no such dataset '{dataset}'; {hint}", field="dataset")
    if (trajectories or dataset) and out is None:
        what = "trajectories" if trajectories else "dataset"
        raise DescriptionError(f"expected a directory for the {what}, found none", field="out")
    require_library(dataset)
    refuse_unknown_fields(plan)
    plan = with_one_grasp(plan)
    rows = range(plan.size) if shard is None else shard.rows(plan.size)
    directory = None if out is None else Path(out) / (shard.directory if shard else "")
    extra = None
    if directory is not None and (trajectories or dataset):
        extra = ExtraOutputs(directory, trajectories=trajectories, dataset=dataset)
    other = None if executor in EXECUTORS else ROW_EXECUTORS.load(executor)(plan, extra, workers)
    with ExitStack() as stack:
        store = None
        if directory is not None:
            engine = mujoco.__version__ if other is None else other.engine
            store = stack.enter_context(SweepStore(directory, plan, engine, files=files))
        done = store.finished() if store else {}
        remaining = [row for row in rows if row not in done]
        pool = InProcess(plan, extra)
        if other is not None:
            pool = other
        elif remaining and executor == "dask":
            pool = DaskCluster(plan, workers, extra, scheduler)
        elif remaining and workers > 1:
            pool = LocalPool(plan, workers, extra)
        stack.enter_context(pool)
        if type(pool) is not InProcess:  # else it would only delay the rows
            import_in_background(*TABLE_MODULES, *(finish.modules if finish else ()))
        chunks = chunk(remaining, workers, _rows_per_chunk(plan, executor, extra))
        collected = _collect(done, len(rows), pool.run(chunks), progress, store)
        table = table_of(plan, collected)
        if store is not None and remaining:
            require_inputs(store.directory)
        if directory is not None and shard is None:
            write_tables(table, directory)
            if dataset is not None:
                write_dataset(dataset, plan, table, directory)
        if directory is not None and other is not None and remaining:
            write_text(directory / CHECKS, json.dumps(other.report, indent=2) + "\n")
        if finish is not None:
            finish.work(table, pool.submit)
    return table


def _collect(
    done: dict[int, Row],
    count: int,
    computed: Iterable[list[Row]],
    progress: Progress | None,
    store: SweepStore | None,
) -> Iterator[Row]:
    """Store finished rows, and yield them after those that were finished before."""
    yield from done.values()
    finished = len(done)
    if progress is not None and store is not None:
        progress(finished, count)
    for rows in computed:
        if store is not None:
            store.add(rows)
        finished += len(rows)
        yield from rows
        if progress is not None:
            progress(finished, count)


def import_in_background(*modules: str) -> None:
    """Import modules in a thread while this process waits for its workers."""

    def work() -> None:
        for module in modules:
            with suppress(Exception):  # reported where the module is used
                import_module(module)

    threading.Thread(target=work).start()


def _rows_per_chunk(plan: SweepPlan, executor: str, extra: ExtraOutputs | None) -> int:
    """Maximum rows of a chunk: one where nothing is gained by more."""
    if executor == "local" and extra is None:
        return 1
    return max(CHUNK_STEPS // total_steps(plan.scene), 1)


def chunk(rows: Sequence[int], workers: int, max_rows: int = CHUNK_ROWS) -> list[Chunk]:
    """Divide rows into chunks that one worker computes together."""
    size = max(min(len(rows) // (workers * CHUNKS_PER_WORKER), CHUNK_ROWS, max_rows), 1)
    return [tuple(rows[start : start + size]) for start in range(0, len(rows), size)]


@result_loader
def read_sweep(directory: str | Path) -> tuple[SweepPlan, pd.DataFrame]:
    """Read the plan and the table of a finished sweep from its directory.

    Raises:
        ResultError: There is no sweep, it is not finished, or a file is damaged.
        BackendUnavailable: pandas is not installed.
    """
    require_pandas()
    directory = Path(directory)
    plan = plan_in(directory)
    if not (directory / PARQUET).is_file():
        raise ResultError(
            f"{directory}: expected a finished sweep with {PARQUET}, found "
            f"{count_finished(directory)} of {plan.size} rows; softgrasp sweep --resume goes on "
            "from them, --merge merges shards"
        )
    return plan, read_tables(directory)


# Shards, for array jobs of a cluster.


_SHARD = re.compile(r"(\d+)/(\d+)")


class Shard(NamedTuple):
    """Part of a sweep: every ``parts``-th row, beginning with row ``number`` - 1."""

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
        """Name of the shard's directory inside that of the sweep."""
        return f"shard-{self.number}-of-{self.parts}"


def merge(directory: str | Path, dataset: DatasetKind | None = None) -> pd.DataFrame:
    """Merge all shards in a sweep's directory into one table, and write it there.

    Args:
        directory: Directory of the sweep.
        dataset: The dataset of the shards, to be merged as well.

    Raises:
        ResultError: There are no shards, they are of different plans, or rows are missing.
        BackendUnavailable: pandas is not installed.
    """
    require_pandas()
    directory = Path(directory)
    parts = sorted(path for path in directory.glob("shard-*-of-*") if path.is_dir())
    if not parts:
        raise ResultError(f"{directory}: expected shards such as shard-1-of-8, found none")
    plan, versions, inputs = stored_in(parts[0])
    rows: dict[int, Row] = {}
    for part in parts:
        stored = stored_in(part)
        if stored.versions != versions:
            raise ResultError(
                f"{directory}: expected shards of one version, found {versions} in "
                f"{parts[0].name} and {stored.versions} in {part.name}"
            )
        if stored.plan != plan:
            raise ResultError(
                f"{directory}: expected shards of one plan, found others in {parts[0].name} and "
                f"{part.name}"
            )
        require_inputs(part, inputs)
        rows |= SweepStore(part, plan).finished()
    missing = sorted(set(range(plan.size)) - set(rows))
    if missing:
        first = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        raise ResultError(
            f"{directory}: expected all {plan.size} rows, found {len(rows)}; missing: {first}"
        )
    with SweepStore(directory, plan, inputs=inputs):
        table = table_of(plan, rows.values())
        write_tables(table, directory)
        if dataset is not None:
            write_dataset(dataset, plan, table, directory)
    return table
