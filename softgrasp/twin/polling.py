"""Asking at one rate: every turn leaves a record, whether it was answered or not."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from softgrasp.errors import DeviceError

T = TypeVar("T")


class Cycle(NamedTuple, Generic[T]):
    """What came of asking once."""

    number: int
    """Counted from 0, without gaps."""
    due: float
    """When it should have begun [s]."""
    begun: float
    """When it began [s]."""
    ended: float
    """When the answer was there, or the failure [s]."""
    value: T | None
    """The answer; None where there is an error."""
    error: DeviceError | None
    """Why there is no answer."""
    missed: int
    """Instants since the turn before at which one was due, and none could begin."""


async def poll(
    ask: Callable[[], Awaitable[T]],
    period: float,
    *,
    cycles: int | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[Cycle[T], None]:
    """Ask once a period, counted from the first turn, so that late turns do not add up.

    Args:
        ask: What is asked; a ``DeviceError`` of it is told in the turn, any other one is raised.
        period: Time from one turn to the next [s].
        turns: How many; None: for ever.
        clock: The time [s].
        sleep: Waits; tests give one that moves their clock.

    Yields:
        One turn after the other, all of them.
    """
    begin, slot, index = clock(), 0, 0
    while cycles is None or index < cycles:
        due = begin + slot * period
        if (wait := due - clock()) > 0:
            await sleep(wait)
        missed = max(0, math.floor((clock() - due) / period))
        slot += missed
        begun = clock()
        value, error = None, None
        try:
            value = await ask()
        except DeviceError as caught:
            error = caught
        yield Cycle(index, begin + slot * period, begun, clock(), value, error, missed)
        slot, index = slot + 1, index + 1
