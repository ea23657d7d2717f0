"""Worker processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from softgrasp.description.sweep_plan import SweepPlan
from softgrasp.sweep.rows import failed_row
from softgrasp.sweep.worker import Row, Rows, compute, start_worker

AHEAD = 2
"""Chunks a worker that are handed out at once: one in work, one waiting."""
TRIES = 2
"""How often a row may take its worker with it before it counts as failed."""

Chunk = tuple[int, ...]


def serial(
    plan: SweepPlan, chunks: Sequence[Chunk], trajectories: Path | None
) -> Iterator[list[Row]]:
    """Finished rows, chunk by chunk, in this process."""
    rows = Rows(plan, trajectories)
    for chunk in chunks:
        yield rows.compute(chunk)


class LocalPool:
    """Processes that are started anew where one of them dies."""

    def __init__(self, plan: SweepPlan, workers: int, trajectories: Path | None) -> None:
        """Start no process yet."""
        self._plan, self._workers, self._trajectories = plan, workers, trajectories
        self._deaths: dict[int, int] = {}

    def run(self, chunks: Sequence[Chunk]) -> Iterator[list[Row]]:
        """Finished rows, in any order.

        A dead worker ends its pool: what was not finished runs again in a new one, row by row, so
        that one that kills its worker is found and told as failed.
        """
        left = list(chunks)
        while left:
            unfinished: list[Chunk] = []
            yield from self._with_pool(left, unfinished)
            left = []
            suspects = [row for chunk in unfinished[: self._workers * AHEAD] for row in chunk]
            for row in suspects:
                self._deaths[row] = self._deaths.get(row, 0) + 1
                if self._deaths[row] > TRIES:
                    yield [self._lost(row)]
                else:
                    left.append((row,))
            left += unfinished[self._workers * AHEAD :]

    def _with_pool(self, chunks: Sequence[Chunk], unfinished: list[Chunk]) -> Iterator[list[Row]]:
        waiting = list(reversed(chunks))
        pool = ProcessPoolExecutor(
            self._workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=start_worker,
            initargs=(self._plan, self._trajectories, os.getpid()),
        )
        running: dict[Future[list[Row]], Chunk] = {}
        try:
            while waiting or running:
                while waiting and len(running) < AHEAD * self._workers:
                    chunk = waiting.pop()
                    running[pool.submit(compute, chunk)] = chunk
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    rows = future.result()
                    del running[future]
                    yield rows
        except BrokenProcessPool:
            # what one future says holds for all of them, but some may have finished before
            for future, chunk in running.items():
                if future.done() and future.exception() is None:
                    yield future.result()
                else:
                    unfinished.append(chunk)
            unfinished += reversed(waiting)
        finally:
            processes = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.terminate()
            for process in processes:
                process.join(5.0)

    def _lost(self, row: int) -> Row:
        told = f"the worker died {self._deaths[row]} times with this grasp"
        return Rows(self._plan).inputs(row) | failed_row(told, 0.0)
