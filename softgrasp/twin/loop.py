"""The loop of a digital twin: ask the controller, take the newest pose, compute, record, show."""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from softgrasp.errors import DescriptionError, DeviceError
from softgrasp.mechanics.transforms import Array
from softgrasp.twin.description import FlangeSample, Twin
from softgrasp.twin.finger_pieces import TwinShape, arm_joints, twin_shape
from softgrasp.twin.flange_server import open_flange
from softgrasp.twin.flange_streams import Clock, LatestPose, SystemClock
from softgrasp.twin.modbus_client import Backoff, ControllerReading
from softgrasp.twin.modbus_server import connect_controller
from softgrasp.twin.piecewise_bending import KPA
from softgrasp.twin.record import TwinRecorder, TwinRow
from softgrasp.twin.soft_fingers import TwinFingers

if TYPE_CHECKING:
    from softgrasp.twin.modbus_client import ControllerClient


# --------------------
# From the buttons of a page to the commands of the loop.


class CommandQueue:
    """Puts confirmed commands into the box of the loop.

    Args:
        box: Where they wait to be sent.
        may_command: Whether the controller hears.
    """

    def __init__(self, box: CommandBox, may_command: Callable[[], bool]) -> None:
        self._box, self._may_command = box, may_command

    def words(self, values: dict[str, float | bool]) -> str:
        """What they do."""
        return _command(values).words

    def send(self, values: dict[str, float | bool]) -> str:
        """Put them into the box; empty, or why they are not."""
        if not self._may_command():
            return "the controller does not hear"
        self._box.put(_command(values))
        return ""


def _command(values: dict[str, float | bool]) -> Command:
    return Command(**values)  # type: ignore[arg-type]


Shown = Callable[[TwinRow], None]
"""Is told every row."""


class Settling(Protocol):
    """The fingers in an engine."""

    def advance(self, shape: TwinShape, seconds: float) -> Array:
        """Go on for so long; the tips then [m], (k, 3)."""


class TwinLoop:
    """Runs a twin until it is reported to stop.

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

    async def run(self, cycles: int | None = None, stop: asyncio.Event | None = None) -> None:  # noqa: D417
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
        """The newest pose; the last one stays while none comes, and that is reported."""
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


# --------------------
# Whether the controller can be trusted to hear: a lost connection stops all commands.


State = Literal["waiting", "running", "lost", "stopping"]
"""``waiting``: there was no reading yet; ``stopping``: it is back, and not stopped safely yet."""


class Watchdog:
    """Follows the connection from reading to reading.

    Args:
        stale_after: Without a reading for so long the connection is lost [s].
        begin: When the first reading could have come [s].
    """

    def __init__(self, stale_after: float, begin: float = 0.0) -> None:
        self.stale_after = stale_after
        self.state: State = "waiting"
        self._heard_at = begin

    @property
    def may_command(self) -> bool:
        """Whether commands may be sent."""
        return self.state == "running"

    def heard(self, time: float) -> bool:
        """A reading came at a time [s]; whether the controller has to be stopped safely now.

        The state: connection lost, until ``stopped`` is reported, and where so much time has
        passed since the reading before that it might have been.
        """
        late = self.state == "running" and time - self._heard_at >= self.stale_after
        self._heard_at = time
        if self.state in ("lost", "stopping") or late:
            self.state = "stopping"
            return True
        self.state = "running"
        return False

    def stopped(self) -> None:
        """The controller was stopped safely, or is to be left as it is."""
        self.state = "running"

    def missed(self, time: float) -> bool:
        """No reading came in a turn that ended then [s]; whether the connection is lost now."""
        if self.state == "lost" or time - self._heard_at < self.stale_after:
            return False
        self.state = "lost"
        return True


# --------------------
# Asking at one rate: every turn leaves a record, whether it was answered or not.


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


async def poll(  # noqa: D417
    ask: Callable[[], Awaitable[T]],
    period: float,
    *,
    cycles: int | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[Cycle[T], None]:
    """Ask once a period, counted from the first turn, so that late turns do not add up.

    Args:
        ask: What is asked; a ``DeviceError`` of it is reported, any other one is raised.
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


# --------------------
# Commands for the controller, and where they wait to be sent.


class Command(NamedTuple):
    """What to change at the controller; what is None stays."""

    positive_target: float | None = None
    """[Pa]"""
    negative_target: float | None = None
    """[Pa]"""
    positive_on: bool | None = None
    negative_on: bool | None = None

    @property
    def words(self) -> str:
        """As it is reported before it is sent, and in the record."""
        parts = [
            f"{sign} target {KPA * target:.4g} kPa"
            for sign, target in (
                ("positive", self.positive_target),
                ("negative", self.negative_target),
            )
            if target is not None
        ]
        parts += [
            f"{sign} trigger {'on' if on else 'off'}"
            for sign, on in (("positive", self.positive_on), ("negative", self.negative_on))
            if on is not None
        ]
        return ", ".join(parts) or "nothing"

    async def send(self, client: ControllerClient) -> None:
        """Send it: triggers that go off, then targets, then triggers that go on.

        So no trigger starts towards an old target, and at no moment are both on that should not be.

        Raises:
            DescriptionError: A target is outside the limits of the controller; nothing was sent.
            DeviceError: The controller did not take it, or not all of it.
        """
        client.check_targets(positive=self.positive_target, negative=self.negative_target)
        await client.trigger(
            positive=False if self.positive_on is False else None,
            negative=False if self.negative_on is False else None,
        )
        await client.set_targets(positive=self.positive_target, negative=self.negative_target)
        await client.trigger(
            positive=True if self.positive_on else None,
            negative=True if self.negative_on else None,
        )


VENT = Command(positive_on=False, negative_on=False)
"""Back to the pressure of the air around."""


class CommandBox:
    """Where confirmed commands wait to be sent; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._confirmed: list[Command] = []

    def put(self, command: Command) -> None:
        """Have a command sent with the next reading."""
        with self._lock:
            self._confirmed.append(command)

    def take(self) -> list[Command]:
        """The commands, in their order; they are out of the box then."""
        with self._lock:
            confirmed, self._confirmed = self._confirmed, []
            return confirmed


# --------------------
# A run of a twin from its description: opens everything, runs the loop, closes everything.


Watching = Callable[[CommandBox, TwinLoop], Shown]
"""Makes who is shown the rows, as a page does, of the box for commands and the loop."""


async def run_twin(  # noqa: D417
    twin: Twin,
    directory: str | Path,
    *,
    cycles: int | None = None,
    stop: asyncio.Event | None = None,
    watching: Watching | None = None,
    files: Path | None = None,
) -> Path:
    """Run a twin and record every turn.

    Args:
        twin: The twin.
        directory: Where the record goes.
        turns: How many; None: until ``stop`` is set.
        stop: Ends it.
        watching: Who is shown the rows and gives commands.
        files: Where a recorded stream of poses lies that is named without a whole path.

    Returns:
        The table of the record.

    Raises:
        BackendUnavailable: pymodbus, pandas or pyarrow is not installed.
        DescriptionError: The environment lacks a token that the twin names.
        ResultError: The directory holds a record already, or cannot be written.
    """
    address = twin.controller
    client = connect_controller(
        address.host,
        address.port,
        address.map,
        token=_token(address.token_variable),
        timeout=address.timeout,
        attempts=1,
        backoff=Backoff(0.25 / twin.rate, 1.0 / twin.rate),  # a turn does not wait for the next
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


def _token(variable: str) -> str | None:
    if not variable:
        return None
    token = os.environ.get(variable)
    if not token:
        raise DescriptionError(
            f"expected a token in the environment variable {variable}, found none",
            field="controller.token_variable",
        )
    return token
