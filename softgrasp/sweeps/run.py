"""A sweep from its plan to its table."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from softgrasp.description.sweep import SweepPlan
from softgrasp.errors import BackendUnavailable, DescriptionError, ResultError, did_you_mean
from softgrasp.io.files import atomic_path
from softgrasp.sweeps import executors
from softgrasp.sweeps.executors import Chunk, Row, Rows, total_steps
from softgrasp.sweeps.parameters import refuse_unknown_fields
from softgrasp.sweeps.storage import COLUMNS, Kept, SweepStore, plan_in

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
            from softgrasp.sweeps.executors import computed_by_dask

            return computed_by_dask(plan, chunks, kept, workers, scheduler)
        if workers == 1:
            return executors.serial(plan, chunks, kept)
        return executors.LocalPool(plan, workers, kept).run(chunks)

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


# --------------------
# Parts of a sweep for array jobs, and all of them together again.


_TEXT = re.compile(r"(\d+)/(\d+)")


class Shard(NamedTuple):
    """Every ``parts``-th row, beginning with row ``number`` − 1."""

    number: int
    parts: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Of a text such as ``3/8``.

        Raises:
            DescriptionError: It is no such text, or the number is beyond the count.
        """
        match = _TEXT.fullmatch(text.strip())
        number, parts = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= parts:
            raise DescriptionError(
                f"--shard: expected I/N with I from 1 to N, such as 3/8, found '{text}'"
            )
        return cls(number, parts)

    def rows(self, size: int) -> range:
        """Its rows of a plan of so many."""
        return range(self.number - 1, size, self.parts)

    @property
    def directory(self) -> str:
        """Where its rows stand inside the sweep's folder."""
        return f"shard-{self.number}-of-{self.parts}"


def merge(directory: str | Path) -> pd.DataFrame:
    """The table of all shards in a sweep's folder, written there.

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
        table = table_of(plan, list(rows.values()))
        write_tables(table, directory)
    return table


# --------------------
# The table of a sweep, as a DataFrame and as files; the one user of pandas.


CSV, PARQUET = "sweep.csv", "sweep.parquet"
COUNTS = ("contacts", "contacts_lost", "warnings")
TEXTS = ("status", "error", "contact_order", "trajectory_sha256")


def require_pandas() -> None:
    """Say what to install where the table's libraries are missing.

    Raises:
        BackendUnavailable: pandas or pyarrow is not installed.
    """
    missing = [name for name in ("pandas", "pyarrow") if find_spec(name) is None]
    if missing:
        raise BackendUnavailable(
            f"a sweep needs {' and '.join(missing)}; pip install 'softgrasp[sweep]'"
        )


def table_of(plan: SweepPlan, rows: Iterable[Row]) -> pd.DataFrame:
    """Rows in the order of the plan, with one type a column."""
    import pandas as pd

    ordered = sorted(rows, key=lambda row: int(row["row"]))
    names = [*Rows(plan).inputs(0), *COLUMNS]
    columns: dict[str, Any] = {}
    for name in names:
        values = [row[name] for row in ordered]
        if name in COLUMNS:
            columns[name] = pd.Series(values, dtype=_kind(name))
        else:
            columns[name] = [_plain(value) for value in values]
    return pd.DataFrame(columns, columns=names)


def write_tables(table: pd.DataFrame, directory: Path) -> list[Path]:
    """Write ``sweep.csv`` and ``sweep.parquet``.

    Raises:
        ResultError: The folder cannot be written.
    """
    with atomic_path(directory / CSV) as path:
        table.to_csv(path, index=False, lineterminator="\n")
    with atomic_path(directory / PARQUET) as path:
        table.to_parquet(path, index=False)
    return [directory / CSV, directory / PARQUET]


def _kind(name: str) -> Any:
    if name == "held":
        return "boolean"
    if name in COUNTS:
        return "Int64"
    return "string" if name in TEXTS else "Float64"


def _plain(value: Any) -> Any:
    """Values of an axis as a table can hold them: numbers and texts, the rest as JSON."""
    return value if isinstance(value, bool | int | float | str) else json.dumps(value)
