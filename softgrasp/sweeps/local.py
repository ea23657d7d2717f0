"""Worker processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool

from softgrasp.description.sweep_plan import SweepPlan
from softgrasp.errors import SimulationError
from softgrasp.sweeps.kept import Kept
from softgrasp.sweeps.rows import failed_row
from softgrasp.sweeps.worker import Row, Rows, compute, start_worker

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
