"""What all streams of flange poses share: iteration, a clean end, quaternions that go on."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar

from softgrasp.description.flange import FlangeSample
from softgrasp.twin.flange.clock import Clock, SystemClock

T = TypeVar("T")


@dataclass
class StreamCounts:
    """What has come so far."""

    samples: int = 0
    """Given out."""
    late: int = 0
    """Left out: older than one that was there before."""
    twice: int = 0
    """Left out: as old as one that was there before."""
    refused: int = 0
    """Left out: no pose."""
    overrun: int = 0
    """Left out: nobody fetched them in time."""
    missed: int = 0
    """Instants of the rate that passed while an answer was waited for."""
    reconnected: int = 0


class FlangeStream(ABC):
    """An asynchronous iterator of flange poses that can be closed at any time.

    A quaternion and its negative are one orientation; of the two, each sample has the one that is
    nearer to that of the sample before. After a ``ConnectionLostError`` or a
    ``StaleDataError`` it may be asked again, and goes on where the poses come back.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        """Take the clock by which it waits; that of the machine where none is given."""
        self.clock: Clock = clock or SystemClock()
        self.counts = StreamCounts()
        self._last: FlangeSample | None = None
        self._closed = asyncio.Event()

    @abstractmethod
    async def _next(self) -> FlangeSample | None:
        """The next sample, None at the end."""

    def _release(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of connections; called once."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> FlangeSample:
        sample = await self._unless_closed(self._next())
        if sample is None:
            await self.aclose()
            raise StopAsyncIteration
        self._last = sample = _near(sample, self._last)
        self.counts.samples += 1
        return sample

    async def aclose(self) -> None:
        """Close it; whoever waits for a sample is told the end."""
        if not self._closed.is_set():
            self._closed.set()
            self._release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _unless_closed(self, work: Coroutine[Any, Any, T | None]) -> T | None:
        """What the work gives, or None as soon as the stream is closed."""
        if self._closed.is_set():
            work.close()
            return None
        done = await first_of(work, self._closed.wait())
        return None if self._closed.is_set() else done


async def first_of(work: Coroutine[Any, Any, T], end: Coroutine[Any, Any, Any]) -> T | None:
    """What the work gives, None where the end comes first; the other one is cancelled."""
    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(end)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].result() if tasks[0].done() else None
    finally:
        for task in tasks:
            task.cancel()
        # an error that came beside the end is nobody's any more
        await asyncio.gather(*tasks, return_exceptions=True)


def _near(sample: FlangeSample, last: FlangeSample | None) -> FlangeSample:
    if last is None:
        return sample
    along = sum(a * b for a, b in zip(sample.quaternion, last.quaternion, strict=True))
    if along >= 0.0:
        return sample
    return sample.replace(quaternion=[-part for part in sample.quaternion])
