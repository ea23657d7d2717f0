"""How fast rows are finished, and how long the others will take."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """Tells progress with rate and time left; rows that were there before do not count."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start when the first progress is told.

        Args:
            clock: Gives the time [s].
        """
        self._clock = clock
        self._begin: tuple[int, float] | None = None

    def text(self, done: int, whole: int) -> str:
        """Progress in words.

        Args:
            done: Finished grasps.
            whole: All grasps.
        """
        now = self._clock()
        if self._begin is None:
            self._begin = (done, now)
        first, began = self._begin
        text = f"{done} of {whole} grasps"
        if done == first or now <= began:
            return text
        rate = (done - first) / (now - began)
        return f"{text}, {rate:.3g}/s, {duration((whole - done) / rate)} left"


def duration(seconds: float) -> str:
    """A time in words: ``45 s``, ``12 min``, ``3 h 5 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
