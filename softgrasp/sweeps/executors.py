"""Executors of a sweep: this process, processes of this machine, or a dask cluster.

Chunks of rows go to a ``concurrent.futures`` executor, which is either ``ProcessPoolExecutor`` or
that of a dask client, and come back in any order. A row depends on the plan and on its number
alone, so the table does not depend on the executor. When all rows are there, ``submit`` gives the
idle workers other work, such as the images of a report.

The pool alone is not enough: ``ProcessPoolExecutor`` breaks for good when one worker dies (killed
for memory, a crash in a compiled library) and loses all that was submitted, and its workers survive
a killed parent. ``LocalPool`` starts another pool, finds the row that kills its worker, and its
workers end with their parent. dask does both itself.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import ExitStack, suppress
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import Any, Self, TypeVar

from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import SweepPlan
from softgrasp.errors import BackendUnavailable, ResultError, SimulationError, SoftgraspError
from softgrasp.evaluation.result import GraspResult
from softgrasp.pipeline import SceneRunner, SimulatedScene, simulate
from softgrasp.sim.grasp_run import max_rows
from softgrasp.sweeps.dataset import ExtraOutputs
from softgrasp.sweeps.families import PlanFamilies
from softgrasp.sweeps.parameters import inputs_of, scene_of, scene_of_row, start_noise
from softgrasp.sweeps.table import Row, make_failed_row, row_of

Chunk = tuple[int, ...]
"""Numbers of rows that are computed together."""
R = TypeVar("R")
Submit = Callable[..., Callable[[], Any]]
"""Function (function, *arguments) that starts work on an idle worker, and returns a function that
waits for its result. Where the worker dies, or there is none, the waiting process does the work."""

ROWS_PER_WORKER = 8
"""Rows for which a further process is worth its start, which takes as long as a dozen grasps."""
CHUNKS_AHEAD = 2
"""Chunks per local worker that are submitted at once: one in work, one waiting."""
ROW_RETRIES = 2
"""How often a row that was in work when a local worker died is tried again, alone."""
EXIT_TIMEOUT = 5.0
"""How long a local worker may take to end [s]."""
PARENT_CHECK_PERIOD = 0.5
"""Time between two checks of a local worker that its parent still lives [s]."""
CONNECT_TIME = 10.0
"""How long a dask scheduler may take to answer [s]."""
CHUNK_RETRIES = 2
"""How often dask repeats a chunk that raised; chunks of dead workers it counts itself."""

UNGUARDED = 77
"""Exit code of a worker that would begin the work of its script again."""
NOT_STARTED = (
    "no worker could start; a script that asks for more than one worker must begin its work under "
    "`if __name__ == '__main__':`, because every worker reads the script again"
)


# The rows of a plan, computed by whichever process has them.


class Rows:
    """The grasps of a sweep plan, one per row, to be simulated by an executor."""

    def __init__(self, plan: SweepPlan, extra: ExtraOutputs | None = None) -> None:
        """Store the plan of a sweep.

        Args:
            plan: The plan.
            extra: What to write besides rows; None for nothing.
        """
        self._plan, self._extra = plan, extra
        self._families = PlanFamilies(plan)
        self._combinations = self._families.combinations
        self._runner = SceneRunner(quality_rate=0.0 if plan.quality else None)

    def inputs(self, row: int) -> Row:
        """Return the row number, the values of the axes, and the noise of a grasp."""
        return inputs_of(self._plan, self._combinations[row // self._plan.repeats], row)

    def compute(self, rows: Sequence[int]) -> list[Row]:
        """Simulate some grasps; one that cannot be simulated becomes a row with an error."""
        computed, results = [], {}
        scenes = (self._families.compiled(row) or self.scene(row) for row in rows)
        for row, item in zip(rows, self._runner.simulate(scenes), strict=True):
            computed.append(self.inputs(row) | _outcome(item))
            if isinstance(item.result, GraspResult) and self._extra is not None:
                results[row] = item.result
        if self._extra is not None:
            self._extra.write(results)
        return computed

    def scene(self, row: int) -> GraspScene | Exception:
        """Return the scene of a row, or the reason why it has none."""
        values = self._combinations[row // self._plan.repeats]
        try:
            return scene_of(self._plan, values, start_noise(self._plan, row))
        except Exception as error:  # noqa: BLE001 - one bad grasp does not end a sweep
            return error


def simulate_row(plan: SweepPlan, row: int) -> GraspResult | None:
    """Simulate one row alone; None where it cannot be simulated, which its row in the table has."""
    with warnings.catch_warnings(), suppress(SoftgraspError):
        warnings.simplefilter("ignore")
        return simulate(scene_of_row(plan, row))
    return None


def total_steps(scene: GraspScene) -> int:
    """Estimate the number of physics steps of a grasp from the durations of its scene."""
    timestep = scene.timestep or scene.control_period
    return max(round(max_rows(scene) * scene.control_period / timestep), 1)


def _outcome(item: SimulatedScene) -> Row:
    result = item.result
    if isinstance(result, GraspResult):
        return row_of(result) | {"wall_build_s": item.build_time}
    if isinstance(result, SoftgraspError):
        return make_failed_row(str(result))
    return make_failed_row(f"internal error: {type(result).__name__}: {result}")


# Executors. Each yields the rows of finished chunks, and then has its workers do other work.


class InProcess:
    """Executor that simulates all grasps in this process, and base of the others."""

    def __init__(self, plan: SweepPlan, extra: ExtraOutputs | None = None) -> None:
        """Store the plan of a sweep; for the other arguments see ``Rows``."""
        self._plan, self._extra = plan, extra

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing."""

    def run(self, chunks: Sequence[Chunk]) -> Iterator[list[Row]]:
        """Simulate chunk by chunk and yield the finished rows."""
        rows = Rows(self._plan, self._extra)
        for chunk in chunks:
            yield rows.compute(chunk)

    def submit(self, function: Callable[..., R], *arguments: Any) -> Callable[[], R]:
        """Return a function that runs another one; see ``Submit``."""
        return partial(function, *arguments)


class LocalPool(InProcess):
    """Executor with processes on this machine, restarted where one of them dies."""

    def __init__(self, plan: SweepPlan, workers: int, extra: ExtraOutputs | None) -> None:
        """Store the plan; no process is started yet."""
        super().__init__(plan, extra)
        self._workers, self._started = workers, False
        self._pool: ProcessPoolExecutor | None = None

    def __exit__(self, *error: object) -> None:
        """End all processes."""
        self._close()

    def run(self, chunks: Sequence[Chunk]) -> Iterator[list[Row]]:
        """Simulate all grasps and yield finished rows in any order.

        A dead worker ends its pool. What was in work runs again alone, row by row, so that one
        that kills its worker is found and recorded as failed; the rest goes on in a new pool.

        Raises:
            SimulationError: No worker can start.
        """
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise SystemExit(UNGUARDED)  # still imports the main script; the first process says why
        waiting = list(chunks)
        while waiting:
            lost: list[Chunk] = []
            yield from self._run_pool(waiting, lost, self._workers)
            for row in (row for chunk in lost for row in chunk):
                yield from self._run_alone(row)

    def submit(self, function: Callable[..., R], *arguments: Any) -> Callable[[], R]:
        """Have an idle worker call a function; see ``Submit``."""
        try:
            if self._pool is not None:
                return _or_here(self._pool.submit(function, *arguments), function, arguments)
        except BrokenExecutor:
            pass
        return super().submit(function, *arguments)

    def _run_alone(self, row: int) -> Iterator[list[Row]]:
        for _ in range(ROW_RETRIES):
            lost: list[Chunk] = []
            yield from self._run_pool([(row,)], lost, 1)
            if not lost:
                return
        message = f"the worker died {ROW_RETRIES + 1} times with this grasp"
        yield [Rows(self._plan).inputs(row) | make_failed_row(message)]

    def _run_pool(
        self, waiting: list[Chunk], lost: list[Chunk], workers: int
    ) -> Iterator[list[Row]]:
        """Yield rows until all are finished or a worker dies; ``waiting`` loses what began."""
        self._close()
        pool = self._pool = ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start_worker,
            initargs=(self._plan, self._extra, os.getpid()),
        )
        self._require_start(pool, workers)
        for chunk, future in _finish(pool, _compute, waiting, CHUNKS_AHEAD * workers):
            if isinstance(future.exception(), BrokenExecutor):
                lost.append(chunk)
            else:
                yield future.result()

    def _require_start(self, pool: ProcessPoolExecutor, workers: int) -> None:
        if self._started:
            return
        try:
            # the pool starts a process for each task that finds no idle one
            first, *_ = [pool.submit(os.getpid) for _ in range(workers)]
            first.result()
        except BrokenExecutor:
            raise SimulationError(_why_not_started(pool)) from None
        self._started = True

    def _close(self) -> None:
        """Terminate all workers, including busy ones."""
        if self._pool is None:
            return
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        for process in processes:
            process.join(EXIT_TIMEOUT)
        self._pool = None


def local_executor(plan: SweepPlan, workers: int, rows: int) -> InProcess:
    """Return an executor for some rows: at most ``workers`` processes, or this one for few."""
    workers = min(workers, max(rows // ROWS_PER_WORKER, 1))
    return InProcess(plan) if workers == 1 else LocalPool(plan, workers, None)


class DaskCluster(InProcess):
    """Executor with a dask cluster; a chunk whose worker died runs again on another one."""

    def __init__(
        self, plan: SweepPlan, workers: int, extra: ExtraOutputs | None, scheduler: str | None
    ) -> None:
        """Store plan and address; nothing is connected yet.

        Args:
            plan: The plan.
            workers: Number of workers of a cluster on this machine, where no scheduler is given.
            extra: What to write besides rows, in a directory that all workers see; None for
                nothing.
            scheduler: Address of a scheduler.
        """
        super().__init__(plan, extra)
        self._workers, self._scheduler, self._stack = workers, scheduler, ExitStack()

    def __enter__(self) -> Self:
        """Connect to the scheduler, or start a cluster on this machine.

        Raises:
            BackendUnavailable: distributed is not installed, or no scheduler answers.
        """
        if find_spec("distributed") is None:
            raise BackendUnavailable(
                "the executor dask needs distributed; pip install 'softgrasp[cluster]'"
            )
        with ExitStack() as stack:
            client = _dask_client(stack, self._workers, self._scheduler)
            self._executor = client.get_executor(pure=False, retries=CHUNK_RETRIES)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        """Disconnect."""
        self._stack.close()

    def run(self, chunks: Sequence[Chunk]) -> Iterator[list[Row]]:
        """Simulate all grasps and yield finished rows in any order.

        Raises:
            ResultError: Extra files cannot be written.
        """
        compute = partial(_compute_from_json, self._plan.model_dump_json(), self._extra)
        for chunk, future in _finish(self._executor, compute, list(chunks), len(chunks)):
            if isinstance(error := future.exception(), ResultError):  # such as a full disk
                raise error
            if error is None:
                yield future.result()
            else:
                message = f"the cluster could not compute it: {error}"
                yield [Rows(self._plan).inputs(row) | make_failed_row(message) for row in chunk]

    def submit(self, function: Callable[..., R], *arguments: Any) -> Callable[[], R]:
        """Have an idle worker call a function; see ``Submit``."""
        return _or_here(self._executor.submit(function, *arguments), function, arguments)


def _or_here(
    future: Future[R], function: Callable[..., R], arguments: tuple[Any, ...]
) -> Callable[[], R]:
    """Return a function that waits for a future; it does the work here where the worker died."""

    def result() -> R:
        error = future.exception()
        if error is None or isinstance(error, SoftgraspError):
            return future.result()
        return function(*arguments)

    return result


def _dask_client(stack: ExitStack, workers: int, scheduler: str | None) -> Any:
    from distributed import Client, LocalCluster

    address = scheduler or stack.enter_context(
        LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0"
        )
    )
    try:
        return stack.enter_context(Client(address, timeout=CONNECT_TIME))
    except (OSError, ValueError) as error:
        raise BackendUnavailable(
            f"no dask scheduler answers at {scheduler} within {CONNECT_TIME:g} s; check that it "
            f"runs, its address and port, and firewalls between ({type(error).__name__})"
        ) from error


def _finish(
    executor: Executor, compute: Callable[[Chunk], list[Row]], waiting: list[Chunk], ahead: int
) -> Iterator[tuple[Chunk, Future[list[Row]]]]:
    """Submit chunks, which ``waiting`` loses, and yield each with its future, until one dies."""
    running: dict[Future[list[Row]], Chunk] = {}
    accepts = True
    while running or (waiting and accepts):
        while waiting and accepts and len(running) < ahead:
            try:
                running[executor.submit(compute, waiting[0])] = waiting[0]
            except BrokenExecutor:
                accepts = False
            else:
                del waiting[0]
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield running.pop(future), future


# Local workers.


_ROWS: Rows | None = None
"""Of the plan of a local worker."""


def _start_worker(plan: SweepPlan, extra: ExtraOutputs | None, parent: int) -> None:
    """Make this process a worker of a sweep."""
    global _ROWS
    follow_parent(parent)
    _ROWS = Rows(plan, extra)
    gc.freeze()  # what was imported stays


def follow_parent(parent: int) -> None:
    """Make this process a worker that ends with its parent and leaves Ctrl-C to it.

    Args:
        parent: Identifier of the parent process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _compute(chunk: Chunk) -> list[Row]:
    assert _ROWS is not None  # _start_worker ran first
    return _ROWS.compute(chunk)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_PERIOD)
    os._exit(1)


def _why_not_started(pool: ProcessPoolExecutor) -> str:
    """Return the reason why the workers of a broken pool ended, from their exit codes."""
    processes = list((pool._processes or {}).values())
    pool.shutdown()  # waits until they have ended
    codes = [process.exitcode for process in processes]
    if UNGUARDED in codes:
        return NOT_STARTED
    # the pool itself terminates the others
    code = next((item for item in codes if item not in (None, -signal.SIGTERM)), -signal.SIGTERM)
    if code >= 0:
        return (
            f"no worker could start: one ended with exit code {code} before its first row; what it "
            "reported is above"
        )
    cause = ", as the system does where memory runs out" if code == -signal.SIGKILL else ""
    return (
        f"no worker could start: one was ended by {signal.Signals(-code).name} before its first "
        f"row{cause}"
    )


# dask workers.


def _compute_from_json(plan: str, extra: ExtraOutputs | None, chunk: Chunk) -> list[Row]:
    return _rows_of(plan, extra).compute(chunk)


@lru_cache(maxsize=4)
def _rows_of(plan: str, extra: ExtraOutputs | None) -> Rows:
    return Rows(SweepPlan.model_validate_json(plan), extra)
