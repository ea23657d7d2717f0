"""A clock that tests advance by hand."""

import asyncio


class ManualClock:
    """A clock that advances only by the requested sleeps: hours take no time."""

    def __init__(self, start: float = 0.0) -> None:
        """Set the clock [s]."""
        self.time = start

    def now(self) -> float:
        """Return the set time plus all sleeps [s]."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Advance by a duration [s], at once."""
        await asyncio.sleep(0)
        self.time += max(seconds, 0.0)
