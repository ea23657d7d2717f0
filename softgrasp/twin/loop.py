"""The loop of a digital twin: ask the controller, take the newest pose, compute, record, show."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from softgrasp.description.flange import FlangeSample
from softgrasp.description.twin import Twin
from softgrasp.errors import DescriptionError, DeviceError
from softgrasp.mechanics.transforms import Array
from softgrasp.mechanics.twin_shape import TwinShape, arm_joints, twin_shape
from softgrasp.twin.commands import VENT, CommandBox
from softgrasp.twin.controller.reading import ControllerReading
from softgrasp.twin.flange.clock import Clock, SystemClock
from softgrasp.twin.flange.latest import LatestPose
from softgrasp.twin.guard import Watchdog
from softgrasp.twin.polling import Cycle, poll
from softgrasp.twin.row import TwinRow

if TYPE_CHECKING:
    # pymodbus may not be there, which whoever opens a controller says
    from softgrasp.twin.controller.client import ControllerClient

Shown = Callable[[TwinRow], None]
"""Is told every row."""


class Settling(Protocol):
    """The fingers in an engine."""

    def advance(self, shape: TwinShape, seconds: float) -> Array:
        """Go on for so long; the tips then [m], (k, 3)."""


class TwinLoop:
    """Runs a twin until it is told to stop.

    Args:
        twin: The twin.
        client: Of its controller.
        pose: Of its flange.
        box: Commands of people.
        settling: The fingers in an engine.
        clock: By which it runs.
    """

    def __init__(
        self,
        twin: Twin,
        client: ControllerClient,
        pose: LatestPose,
        *,
        box: CommandBox | None = None,
        settling: Settling | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.twin, self._client, self._pose = twin, client, pose
        self._keep: tuple[Shown, ...] = ()
        self.box = box or CommandBox()
        self._settling, self._clock = settling, clock or SystemClock()
        self.watchdog = Watchdog(twin.stale_after)
        self._events: list[str] = []
        self._reported: dict[str, str] = {}
        self._joints: Array | None = None
        self._begin = 0.0

    def keep(self, *keepers: Shown) -> None:
        """Have them told every row, one after the other."""
        self._keep += keepers

    async def run(self, cycles: int | None = None, stop: asyncio.Event | None = None) -> None:
        """Run; then stop safely, whatever ended it.

        Args:
            turns: How many there are time for; None: until ``stop`` is set.
            stop: Set by whoever wants it to end.
        """
        self._begin = self._clock.now()
        period = 1.0 / self.twin.rate
        last = None if cycles is None else self._begin + (cycles - 0.5) * period
        self.watchdog = Watchdog(self.twin.stale_after, self._begin)
        turning = poll(self._client.read, period, clock=self._clock.now, sleep=self._clock.sleep)
        number = -1
        try:
            async for cycle in turning:
                await self._watch(cycle)
                self._put(self._row(cycle))
                number = cycle.number
                if (stop is not None and stop.is_set()) or (
                    last is not None and cycle.due + period > last
                ):
                    break
        finally:
            await turning.aclose()
            await self._finish(number + 1)

    async def _watch(self, cycle: Cycle[ControllerReading]) -> None:
        """Follow the connection, and send what was confirmed."""
        if cycle.value is None:
            self._report("controller", f"No reading: {cycle.error}.")
            if self.watchdog.missed(cycle.ended):
                self._events.append("The connection is lost: commands are not sent.")
        else:
            self._report("controller", "")
            if self.watchdog.heard(cycle.ended):
                await self._come_back()
        if not self.watchdog.may_command or cycle.value is None:
            if self.watchdog.state != "running":
                self._drop_commands()
            return
        for command in self.box.take():
            self._events.append(f"Command: {command.words}.")
            try:
                await command.send(self._client)
            except DescriptionError as error:
                self._events.append(f"It was not taken: {error}.")
            except DeviceError as error:
                self._events.append(f"It may have been taken in part: {error}.")
                await self._stop_safely()

    async def _come_back(self) -> None:
        """Stop safely before anything else is sent; try again in the next turn where that fails."""
        self._drop_commands()
        self._report("return", "The connection is back.")
        if await self._stop_safely():
            self.watchdog.stopped()
            self._reported.pop("return", None)

    def _drop_commands(self) -> None:
        self._events += [f"Not sent: {command.words}." for command in self.box.take()]

    async def _stop_safely(self) -> bool:
        """Whether the controller was stopped, or is to be left as it is."""
        if self.twin.safe_stop == "hold":
            return True
        try:
            await VENT.send(self._client)
        except DeviceError as error:
            self._events.append(f"Safe stop failed: {error}.")
            return False
        self._events.append(f"Safe stop: {VENT.words}.")
        return True

    def _row(self, cycle: Cycle[ControllerReading]) -> TwinRow:
        flange = self._fresh_pose()
        shape = joints = tips = None
        if flange is not None:
            joints = arm_joints(self.twin, flange, self._joints)
            self._joints = self._joints if joints is None else joints
        if cycle.value is not None and flange is not None:
            shape = self._shape(cycle.value.pressure, flange)
        if shape is not None and self._settling is not None:
            tips = self._settling.advance(shape, (1 + cycle.missed) / self.twin.rate)
            if not np.isfinite(tips).all():
                self._events.append("The fingers in MuJoCo diverged: they are left out from now.")
                self._settling = tips = None
        events, self._events = tuple(self._events), []
        return TwinRow(
            number=cycle.number,
            time=cycle.due - self._begin,
            lateness=cycle.begun - cycle.due,
            latency=cycle.ended - cycle.begun,
            missed=cycle.missed,
            reading=cycle.value,
            flange=flange,
            shape=shape,
            joints=joints,
            settled_tips=tips,
            events=events,
        )

    def _shape(self, pressure: float, flange: FlangeSample) -> TwinShape | None:
        try:
            shape = twin_shape(self.twin, pressure, flange)
        except DescriptionError as error:
            self._report("pressure", f"No shape: {error}.")
            return None
        self._report("pressure", "")
        return shape

    def _fresh_pose(self) -> FlangeSample | None:
        """The newest pose; the last one stays while none comes, and that is told."""
        self._report("flange", f"No new pose: {self._pose.problem}." if self._pose.problem else "")
        return self._pose.sample

    def _report(self, about: str, sentence: str) -> None:
        """Note a sentence once, as long as it stays the same."""
        if self._reported.get(about, "") != sentence:
            self._reported[about] = sentence
            if sentence:
                self._events.append(sentence)

    def _put(self, row: TwinRow) -> None:
        for keep in self._keep:
            keep(row)

    async def _finish(self, number: int) -> None:
        """Stop safely where the controller hears, and tell it in a last row."""
        now = self._clock.now()
        if number == 0:
            return
        if self.watchdog.state in ("running", "stopping"):
            await self._stop_safely()
        else:
            self._events.append("No safe stop: the controller does not hear.")
        self._events.append("End.")
        self._put(self._row(Cycle(number, now, now, now, None, None, 0)))
