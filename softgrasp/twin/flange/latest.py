"""The newest pose of a stream, for whoever does not want to wait for the next one."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self

from softgrasp.description.flange import FlangeSample
from softgrasp.errors import DeviceError
from softgrasp.twin.flange.stream import FlangeStream

PAUSE = 0.05
"""Before a stream that failed is asked again [s]."""


class LatestPose:
    """Reads a stream in the background; an asynchronous context manager.

    Args:
        stream: The stream; it is closed at the end.
    """

    def __init__(self, stream: FlangeStream) -> None:
        self.stream = stream
        self.sample: FlangeSample | None = None
        self.arrived = 0.0
        """When it came, by the clock of the stream [s]."""
        self.problem = ""
        """Why none comes, in a sentence; empty while they come."""
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._follow())
        self._task.add_done_callback(self._ended)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stream.aclose()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Tell what no stream should raise; whoever waits for the end is told it again."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.problem = f"the stream of poses broke: {type(error).__name__}: {error}"

    async def _follow(self) -> None:
        while True:
            try:
                async for sample in self.stream:
                    self.sample, self.arrived = sample, self.stream.clock.now()
                    self.problem = ""
            except DeviceError as error:
                self.problem = str(error)
                await self.stream.clock.sleep(PAUSE)
                continue
            self.problem = "the stream of poses has ended"
            return
