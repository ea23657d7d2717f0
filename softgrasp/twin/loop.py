"""Control loop of a digital twin: poll controller and flange, compute the shape, record.

``run_twin`` opens everything that a twin needs, runs the ``TwinLoop`` at a fixed rate and closes
it again. Every cycle leaves a row in the record, whether the controller answered or not. The
``Watchdog`` decides what may be sent; while it says so, and at the end, both triggers are switched
off every cycle, before anything is read.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from softgrasp.errors import DescriptionError, DeviceError, SafeStopError
from softgrasp.mechanics import Array
from softgrasp.twin.description import KPA, FlangeSample, Twin
from softgrasp.twin.flange_streams import Clock, LatestPose, SystemClock, open_flange
from softgrasp.twin.modbus import Backoff
from softgrasp.twin.model import TwinFingers
from softgrasp.twin.piecewise_bending import TwinShape, arm_joints, twin_shape
from softgrasp.twin.pneumatic_controller import (
    VENT,
    Command,
    CommandBox,
    ControllerReading,
    connect_controller,
)
from softgrasp.twin.record import TwinRecorder, TwinRow
from softgrasp.twin.watchdog import Watchdog

if TYPE_CHECKING:
    from softgrasp.twin.pneumatic_controller import ControllerClient


T = TypeVar("T")
RowCallback = Callable[[TwinRow], None]
"""Called with every row."""

SEARCH_PAUSE = 0.25
"""Time without a search for joints after a pose out of reach, as a search takes long [s]."""

# Loop


class TwinLoop:
    """Control loop of a twin: runs until it is stopped."""

    def __init__(
        self,
        twin: Twin,
        client: ControllerClient,
        pose: LatestPose,
        *,
        box: CommandBox | None = None,
        settling: TwinFingers | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.twin, self._client, self._pose = twin, client, pose
        self._keep: tuple[RowCallback, ...] = ()
        self.box = box or CommandBox()
        self._settling, self._clock = settling, clock or SystemClock()
        self._events: list[str] = []
        self.watchdog = Watchdog(twin, report=self._note)
        self._reported: dict[str, str] = {}
        self._joints: Array | None = None
        self._search_from = -math.inf
        self._begin = 0.0
        self._waiting: list[Command] = []
        self._opened: Command | None = None

    def keep(self, *keepers: RowCallback) -> None:
        """Add callbacks that receive every recorded row in order."""
        self._keep += keepers

    async def run(self, cycles: int | None = None, stop: asyncio.Event | None = None) -> None:
        """Run, and stop the controller safely afterwards, whatever ended the loop.

        Args:
            cycles: Duration in cycles; None: until ``stop`` is set.
            stop: Event that ends the loop.

        Raises:
            SafeStopError: The controller could not be stopped safely at the end.
        """
        self._begin = self._clock.now()
        period = 1.0 / self.twin.rate
        last = None if cycles is None else self._begin + (cycles - 0.5) * period
        self.watchdog = Watchdog(self.twin, self._begin, self._note)
        cycle_stream = poll(self._exchange, period, clock=self._clock.now, sleep=self._clock.sleep)
        number = -1
        try:
            async for cycle in cycle_stream:
                await self._watch(cycle)
                self._put(self._row(cycle))
                number = cycle.number
                if (stop is not None and stop.is_set()) or (
                    last is not None and cycle.due + period > last
                ):
                    break
        finally:
            await cycle_stream.aclose()
            await self._finish(number + 1)

    async def _exchange(self) -> ControllerReading:
        """Vent first where that is due, whatever the readings are; then read."""
        self._take()
        if self.watchdog.vents:
            await self._attempt("Vent failed", VENT.send(self._client))
        return await self._client.read()

    async def _watch(self, cycle: Cycle[ControllerReading]) -> None:
        """Pass the reading to the watchdog, and send commands and the heartbeat."""
        if cycle.value is not None:
            self._report("controller", "")
            self.watchdog.heard(cycle.ended, cycle.value)
        elif cycle.error is not None:
            self._report("controller", f"No reading: {cycle.error}.")
            self.watchdog.missed(cycle.ended, cycle.error)
        self._take()
        if not self.watchdog.may_command:
            self._drop()
        elif cycle.value is not None:
            await self._send(cycle.ended, cycle.value)
        if self.watchdog.master:
            await self._attempt("No heartbeat", self._client.beat())

    async def _attempt(self, failure: str, request: Coroutine[Any, Any, None]) -> None:
        """Await a request to the controller, and report its failure."""
        problem = ""
        try:
            await request
        except DeviceError as error:
            problem = f"{failure}: {error}."
        self._report(failure, problem)

    def _take(self) -> None:
        """Take confirmed commands; one that vents comes before all others and replaces them."""
        taken = self.box.take()
        if VENT in taken:
            self._waiting += [item for item in taken if not item.vents]
            self._drop()
            self._events.append(f"Command: {VENT.words}.")
            self.watchdog.stop(self._clock.now(), "it was commanded", by_user=True)
        else:
            self._waiting += taken

    def _drop(self) -> None:
        """Record commands as not sent."""
        waiting = [*filter(None, [self._opened]), *self._waiting]
        self._events += [f"Not sent: {command.words}." for command in waiting]
        self._waiting, self._opened = [], None

    async def _send(self, time: float, reading: ControllerReading) -> None:
        """Send what waits: the targets of a command, and its triggers once these are read back."""
        try:
            if self._opened is not None and self.watchdog.has_targets(reading):
                opened, self._opened = self._opened, None
                await opened.switch_on(self._client)
                self.watchdog.expect(time, reading, **opened.triggers_on)
            while self._waiting and self._opened is None:
                command = self._waiting.pop(0)
                self._events.append(f"Command: {command.words}.")
                await self._open(time, reading, command)
        except DeviceError as error:
            self._events.append(f"It may have been accepted in part: {error}.")
            self._drop()
            self.watchdog.stop(time, "a command was interrupted")

    async def _open(self, time: float, reading: ControllerReading, command: Command) -> None:
        """Send the first half of a command: triggers off, and targets."""
        try:
            await command.send(self._client)
        except DescriptionError as error:
            self._events.append(f"It was not accepted: {error}.")
            return
        self.watchdog.expect(time, reading, **command.written)
        if command.positive_on or command.negative_on:
            self._opened = command

    def _row(self, cycle: Cycle[ControllerReading]) -> TwinRow:
        self._report("flange", f"No new pose: {self._pose.problem}." if self._pose.problem else "")
        flange = self._pose.sample
        shape = joints = tips = None
        if flange is not None:
            joints = self._arm_joints(flange, cycle.begun)
        if cycle.value is not None and flange is not None:
            shape = self._shape(cycle.value.pressure, flange)
        if shape is not None and self._settling is not None:
            tips = self._settling.advance(shape, (1 + cycle.missed) / self.twin.rate)
            if not np.isfinite(tips).all():
                self._events.append(
                    "The fingers in MuJoCo diverged: they are not simulated from now on."
                )
                self._settling = tips = None
        events, self._events = tuple(self._events), []
        return TwinRow(
            number=cycle.number,
            time=cycle.due - self._begin,
            lateness=cycle.begun - cycle.first_due,
            latency=cycle.ended - cycle.begun,
            missed=cycle.missed,
            reading=cycle.value,
            flange=flange,
            shape=shape,
            joints=joints,
            settled_tips=tips,
            events=events,
        )

    def _arm_joints(self, flange: FlangeSample, now: float) -> Array | None:
        """Return the joints of the arm; after a pose out of reach, search again after a pause."""
        if now < self._search_from:
            return None
        joints = arm_joints(self.twin, flange, self._joints)
        if joints is not None:
            self._joints = joints
        elif self.twin.arm is not None:
            self._search_from = now + SEARCH_PAUSE
        return joints

    def _shape(self, pressure: float, flange: FlangeSample) -> TwinShape | None:
        shape, problem = None, ""
        try:
            shape = twin_shape(self.twin, pressure, flange)
        except DescriptionError as error:
            problem = f"No shape: {error}."
        self._report("pressure", problem)
        return shape

    def _note(self, sentence: str) -> None:
        self._events.append(sentence)

    def _report(self, about: str, sentence: str) -> None:
        """Add a sentence to the recorded events if it differs from the last one."""
        if self._reported.get(about, "") != sentence:
            self._reported[about] = sentence
            if sentence:
                self._events.append(sentence)

    def _put(self, row: TwinRow) -> None:
        for keep in self._keep:
            keep(row)

    async def _finish(self, number: int) -> None:
        """Stop the controller safely if it ever answered, and record that in a last row.

        Raises:
            SafeStopError: It could not be stopped safely.
        """
        failure = None
        try:
            await self._stop()
        except SafeStopError as error:
            failure = error
            self._events.append(f"{str(error)[0].upper()}{str(error)[1:]}.")
        try:
            if number > 0:
                now = self._clock.now()
                self._events.append("End.")
                self._put(self._row(Cycle(number, now, now, now, now, None, None, 0)))
        finally:
            if failure is not None:
                raise failure

    async def _stop(self) -> None:
        """Vent until that is confirmed.

        Raises:
            SafeStopError: It was not, or there was a fault before.
        """
        self._take()
        self._drop()
        dog = self.watchdog
        if dog.holds:
            self._events.append("No safe stop: the twin is set to hold.")
            if dog.fault:
                raise SafeStopError(f"the twin is set to hold, after a fault: {dog.fault}")
            return
        problem = await self._vent_until_confirmed()
        if problem:
            raise SafeStopError(
                "safe stop failed: expected both triggers off and an ambient pressure within "
                f"{self.twin.stop_within:g} s, found {problem}; the gripper may be under "
                "pressure: vent it at the controller"
            )
        if dog.fault:
            raise SafeStopError(
                f"the gripper is vented, after a fault: {dog.fault}; look after the controller"
            )

    async def _vent_until_confirmed(self) -> str:
        """Vent at the end of the run; return why that is not confirmed, empty where it is."""
        dog, attempts = self.watchdog, 0
        dog.end(self._clock.now())
        while True:
            attempts += 1
            refused = ""
            try:
                await VENT.send(self._client)
            except DeviceError as error:
                refused = str(error)
            try:
                reading = await self._client.read()
            except DeviceError as error:
                dog.missed_at_end(error)
            else:
                if dog.confirm(self._clock.now(), reading):
                    self._events.append(
                        f"Safe stop: {VENT.words}. Confirmed at {KPA * reading.pressure:.4g} kPa."
                    )
                    return ""
            connected = dog.ever_heard or self._client.counts.connections > 0
            if dog.is_late(self._clock.now()) or not connected:
                problem = refused or dog.confirmation.problem
                dog.give_up(problem)
                return f"after {attempts} attempts: {problem}"
            await self._clock.sleep(0.1)


# Polling


class Cycle(NamedTuple, Generic[T]):
    """One period of a polling loop: its times and the result of its call."""

    number: int
    """Number from 0, without gaps."""
    due: float
    """Scheduled start [s]."""
    first_due: float
    """Scheduled start of the first period after the previous cycle [s]; before ``due`` where
    periods were skipped."""
    begun: float
    """Actual start [s]."""
    ended: float
    """Time of the answer or the failure [s]."""
    value: T | None
    """Answer; None where there is an error."""
    error: DeviceError | None
    """Reason of a missing answer."""
    missed: int
    """Number of skipped cycles since the previous one."""


async def poll(
    ask: Callable[[], Awaitable[T]],
    period: float,
    *,
    cycles: int | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[Cycle[T], None]:
    """Send one request per period, counted from the first one, so that delays do not accumulate.

    Args:
        ask: Request; its ``DeviceError`` is reported, any other error is raised.
        period: Time between cycles [s].
        cycles: Number of cycles; None: unlimited.
        clock: Clock [s].
        sleep: Sleep function; tests use one that advances their clock.

    Yields:
        All cycles in order.
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
        yield Cycle(index, begin + slot * period, due, begun, clock(), value, error, missed)
        slot, index = slot + 1, index + 1


# Run of a twin


Viewer = Callable[[CommandBox, TwinLoop], RowCallback]
"""Make the callback of a viewer from the command box and the loop."""


async def run_twin(
    twin: Twin,
    directory: str | Path,
    *,
    cycles: int | None = None,
    stop: asyncio.Event | None = None,
    watching: Viewer | None = None,
    files: Path | None = None,
) -> Path:
    """Run a twin and record every cycle.

    Args:
        twin: Digital twin.
        directory: Directory of the record.
        cycles: Number of cycles; None: until ``stop`` is set.
        stop: Event that ends the run.
        watching: Viewer that receives the rows and sends commands.
        files: Directory of recorded poses with relative paths.

    Returns:
        Table of the record.

    Raises:
        BackendUnavailable: pymodbus is not installed.
        ResultError: The directory contains a record already, or cannot be written.
        SafeStopError: The controller could not be stopped safely at the end; the record is
            complete.
    """
    address = twin.controller
    client = connect_controller(
        address.host,
        address.port,
        address.map,
        timeout=address.timeout,
        attempts=1,
        backoff=Backoff(0.25 / twin.rate, 1.0 / twin.rate),  # a retry does not outlast a cycle
        stale_after=twin.stale_after,
    )
    box = CommandBox()
    async with AsyncExitStack() as opened:
        await opened.enter_async_context(client)
        pose = LatestPose(open_flange(twin.flange, directory=files))
        await opened.enter_async_context(pose)
        recorder = opened.enter_context(TwinRecorder(Path(directory), twin))
        settling = TwinFingers(twin) if twin.dynamics is not None else None
        loop = TwinLoop(twin, client, pose, box=box, settling=settling)
        shown = () if watching is None else (watching(box, loop),)
        loop.keep(recorder.add, *shown)
        await loop.run(cycles, stop)
    return recorder.close()
