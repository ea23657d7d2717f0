"""Recorded flange poses, given out at the times of the record or one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from softgrasp.description.flange import FlangeSample
from softgrasp.twin.flange.clock import Clock
from softgrasp.twin.flange.stream import FlangeStream


class ReplayStream(FlangeStream):
    """Samples of a record; ends behind the last one."""

    def __init__(
        self,
        samples: Sequence[FlangeSample],
        pace: Literal["recorded", "fast"] = "recorded",
        clock: Clock | None = None,
    ) -> None:
        """Take the record.

        Args:
            samples: In the order of their times.
            pace: ``recorded`` waits between samples as long as there was between them in the
                record, counted from the first one, so that waits that are a little long do not
                add up; ``fast`` does not wait.
            clock: By which it waits.
        """
        super().__init__(clock)
        self._samples, self._pace = tuple(samples), pace
        self._index = 0
        self._begin: float | None = None

    async def _next(self) -> FlangeSample | None:
        if self._index == len(self._samples):
            return None
        sample = self._samples[self._index]
        if self._pace == "recorded":
            if self._begin is None:
                self._begin = self.clock.now() - sample.time
            wait = self._begin + sample.time - self.clock.now()
            if wait > 0.0:
                await self.clock.sleep(wait)
        self._index += 1
        return sample
