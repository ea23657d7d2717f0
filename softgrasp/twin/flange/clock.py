"""Clocks that are given to what waits: the real one, and one that tests move by hand."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time and waits."""

    def now(self) -> float:
        """Time since some instant [s]; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait [s]."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> float:
        """Time of the machine's steady clock [s]."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait [s] and let others run."""
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that only goes on while somebody sleeps, by exactly as much: hours take no time."""

    def __init__(self, start: float = 0.0) -> None:
        """Set the clock [s]."""
        self.time = start

    def now(self) -> float:
        """Time to which it was set or slept [s]."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Go on by so much [s], at once."""
        await asyncio.sleep(0)
        self.time += max(seconds, 0.0)


class Ticks:
    """Instants at an even rate on a clock.

    The k-th one is at begin + k / rate, so that errors of single waits do not add up. Instants
    that have passed while the caller was busy are left out, and counted.
    """

    def __init__(self, clock: Clock, rate: float) -> None:
        """Begin with the first call of ``next``.

        Args:
            clock: Whose time.
            rate: Instants a second [Hz].
        """
        self._clock, self._rate = clock, rate
        self._begin: float | None = None
        self._index = 0
        self.missed = 0

    async def next(self) -> float:
        """Wait for the next instant and return its time on the clock [s]."""
        now = self._clock.now()
        if self._begin is None:
            self._begin = now
            return now
        self._index += 1
        # half a millionth of a tick for rounding: an instant that is now has not passed
        passed = int((now - self._begin) * self._rate - self._index + 1.0 - 5e-7)
        if passed > 0:
            self.missed += passed
            self._index += passed
        instant = self._begin + self._index / self._rate
        await self._clock.sleep(max(instant - now, 0.0))
        return instant
