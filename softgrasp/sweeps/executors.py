"""Worker processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import SweepPlan
from softgrasp.errors import BackendUnavailable, SimulationError, SoftgraspError
from softgrasp.sim.batch import BatchItem, BatchRunner
from softgrasp.sim.grasp_run import max_rows
from softgrasp.sim.result import GraspResult
from softgrasp.sweeps.parameters import combinations, scene_of, start_noise
from softgrasp.sweeps.storage import Kept, failed_row, row_of

# --------------------
# Workers of a dask cluster: one on this machine, or any that has a scheduler's address.


CONNECT_TIME = 10.0
"""How long a scheduler may take to answer [s]."""
RETRIES = 2
"""How often a chunk that raised is computed again; of those whose worker died dask keeps count."""


def computed_by_dask(
    plan: SweepPlan,
    chunks: Sequence[Chunk],
    kept: Kept | None,
    workers: int,
    scheduler: str | None,
) -> Iterator[list[Row]]:
    """Finished rows in any order; a chunk whose worker died runs again on another one.

    Args:
        plan: The plan.
        chunks: Rows that are computed together.
        kept: What is kept besides rows, in a folder that all workers see; or None.
        workers: Of a cluster on this machine, where no scheduler is given.
        scheduler: Its address.

    Raises:
        BackendUnavailable: distributed is not installed, or no scheduler answers.
    """
    if find_spec("distributed") is None:
        raise BackendUnavailable(
            "the executor dask needs distributed; pip install 'softgrasp[cluster]'"
        )
    from distributed import Client, LocalCluster, as_completed

    with ExitStack() as stack:
        if scheduler is None:
            address = stack.enter_context(
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address=None,
                )
            )
        else:
            address = scheduler
        try:
            client = stack.enter_context(Client(address, timeout=CONNECT_TIME))
        except (OSError, ValueError) as error:
            raise BackendUnavailable(
                f"no dask scheduler answers at {scheduler} within {CONNECT_TIME:g} s; check that "
                f"it runs, its address and port, and firewalls between ({type(error).__name__})"
            ) from error
        text = plan.model_dump_json()
        futures = {
            client.submit(compute_on_worker, text, chunk, kept, pure=False, retries=RETRIES): chunk
            for chunk in chunks
        }
        for future in as_completed(futures):
            chunk = futures.pop(future)
            if future.status == "finished":
                yield future.result()
            else:
                message = f"the cluster gave it up: {future.exception()}"
                yield [Rows(plan).inputs(row) | failed_row(message) for row in chunk]


def compute_on_worker(plan: str, chunk: Chunk, kept: Kept | None) -> list[Row]:
    """Simulate some rows of a plan given as JSON; runs on a worker."""
    return _rows(plan, kept).compute(chunk)


@lru_cache(maxsize=4)
def _rows(plan: str, kept: Kept | None) -> Rows:
    return Rows(SweepPlan.model_validate_json(plan), kept)


AHEAD = 2
"""Chunks a worker that are handed out at once: one in work, one waiting."""
TRIES = 2
"""How often a row that was in work when a worker died is tried alone."""
PATIENCE = 5.0
"""How long a process may take to end [s]."""

NOT_STARTED = (
    "no worker could start; a script that asks for more than one worker must begin its work under "
    "`if __name__ == '__main__':`, because every worker reads the script again"
)

Chunk = tuple[int, ...]


def serial(plan: SweepPlan, chunks: Sequence[Chunk], kept: Kept | None) -> Iterator[list[Row]]:
    """Finished rows, chunk by chunk, in this process."""
    rows = Rows(plan, kept)
    for chunk in chunks:
        yield rows.compute(chunk)


class LocalPool:
    """Processes that are started anew where one of them dies."""

    def __init__(self, plan: SweepPlan, workers: int, kept: Kept | None) -> None:
        """Start no process yet."""
        self._plan, self._workers, self._kept = plan, workers, kept
        self._started = False

    def run(self, chunks: Sequence[Chunk]) -> Iterator[list[Row]]:
        """Finished rows, in any order.

        A dead worker ends its pool. What was in work runs again alone, row by row, so that one
        that kills its worker is found and told as failed; the rest goes on in a new pool.

        Raises:
            SimulationError: No worker can start.
        """
        if _is_starting():
            raise SystemExit(1)  # the first process tells why
        waiting = list(chunks)
        while waiting:
            suspects: list[Chunk] = []
            yield from self._with_pool(waiting, suspects, self._workers, AHEAD * self._workers)
            for row in (row for chunk in suspects for row in chunk):
                yield from self._alone(row)

    def _alone(self, row: int) -> Iterator[list[Row]]:
        for _ in range(TRIES):
            died: list[Chunk] = []
            yield from self._with_pool([(row,)], died, 1, 1)
            if not died:
                return
        message = f"the worker died {TRIES + 1} times with this grasp"
        yield [Rows(self._plan).inputs(row) | failed_row(message)]

    def _with_pool(
        self, waiting: list[Chunk], in_work: list[Chunk], workers: int, ahead: int
    ) -> Iterator[list[Row]]:
        """Rows of a pool until all are finished or a worker dies.

        Args:
            waiting: Chunks to do; those that were handed out are taken from it.
            in_work: Filled with the chunks that were handed out and not finished.
            workers: Processes.
            ahead: Chunks that are handed out at once.
        """
        pool = ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=start_worker,
            initargs=(self._plan, self._kept, os.getpid()),
        )
        running: dict[Future[list[Row]], Chunk] = {}
        try:
            self._start(pool)
            while waiting or running:
                while waiting and len(running) < ahead:
                    running[pool.submit(compute, waiting[0])] = waiting[0]
                    del waiting[0]
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    rows = future.result()
                    del running[future]
                    yield rows
        except BrokenProcessPool:
            # some may have finished before the pool broke
            for future, chunk in running.items():
                if future.done() and future.exception() is None:
                    yield future.result()
                else:
                    in_work.append(chunk)
        finally:
            _end(pool)

    def _start(self, pool: ProcessPoolExecutor) -> None:
        if self._started:
            return
        try:
            pool.submit(os.getpid).result()
        except BrokenProcessPool:
            raise SimulationError(NOT_STARTED) from None
        self._started = True


def _is_starting() -> bool:
    """Whether this process is a worker that still reads the script of the first process."""
    return bool(getattr(multiprocessing.current_process(), "_inheriting", False))


def _end(pool: ProcessPoolExecutor) -> None:
    """Stop a pool's processes, also those that are in work."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join(PATIENCE)


# --------------------
# What a worker does: rows of a plan by their numbers.


PARENT_CHECK_PERIOD = 0.5
"""Time between two looks at whether the parent still lives [s]."""

Row = dict[str, Any]


class Rows:
    """The rows of a plan."""

    def __init__(self, plan: SweepPlan, kept: Kept | None = None) -> None:
        """Take a plan.

        Args:
            plan: The plan.
            kept: What is kept besides rows; None where nothing is.
        """
        self._plan, self._kept = plan, kept
        self._combinations = combinations(plan)
        self._together = BatchRunner(quality_rate=0.0 if plan.quality else None)

    def inputs(self, row: int) -> Row:
        """Number and axes of a row, and its noise."""
        noise = start_noise(self._plan, row)
        values = self._combinations[row // self._plan.repeats]
        row_values: Row = {"row": row} | values
        if noise is not None:
            row_values |= dict(
                zip(("noise_x_m", "noise_y_m", "noise_z_m"), noise.position, strict=True)
            )
            row_values["noise_rad"] = float(np.linalg.norm(noise.rotation))
        return row_values

    def compute(self, rows: Sequence[int]) -> list[Row]:
        """Simulate some rows; a grasp that cannot be simulated is a row with an error."""
        computed, results = [], {}
        scenes = [self._scene(row) for row in rows]
        for row, item in zip(rows, self._together.simulate(scenes), strict=True):
            computed.append(self.inputs(row) | _outcome(item))
            if isinstance(item.result, GraspResult) and self._kept is not None:
                results[row] = item.result
        if self._kept is not None:
            self._kept.write(results)
        return computed

    def _scene(self, row: int) -> GraspScene | Exception:
        values = self._combinations[row // self._plan.repeats]
        try:
            return scene_of(self._plan, values, start_noise(self._plan, row))
        except Exception as error:  # noqa: BLE001 - one bad grasp does not end a sweep
            return error


def total_steps(scene: GraspScene) -> int:
    """Physics steps that a grasp may take, for what the scene says of them."""
    timestep = scene.timestep or scene.control_period
    return max(round(max_rows(scene) * scene.control_period / timestep), 1)


def _outcome(item: BatchItem) -> Row:
    result = item.result
    if isinstance(result, GraspResult):
        return row_of(result) | {"wall_build_s": item.build_time}
    if isinstance(result, SoftgraspError):
        return failed_row(str(result))
    return failed_row(f"internal error: {type(result).__name__}: {result}")


_ROWS: Rows | None = None


def start_worker(plan: SweepPlan, kept: Kept | None, parent: int) -> None:
    """Make this process a worker that ends with its parent and leaves Ctrl-C to it."""
    global _ROWS
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    _ROWS = Rows(plan, kept)


def compute(rows: Sequence[int]) -> list[Row]:
    """Simulate some rows in a worker."""
    assert _ROWS is not None  # start_worker ran first
    return _ROWS.compute(rows)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_PERIOD)
    os._exit(1)
