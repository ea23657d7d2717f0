"""Streams of flange poses: replayed from files, polled over HTTP, or of a simulated robot.

A ``FlangeStream`` is an asynchronous iterator of ``FlangeSample`` with continuous quaternion
signs that can be closed at any time. ``HttpStream`` polls a server with the documents of Robot
Web Services, in which numbers are text, positions in mm, angles in degrees and quaternions q1 …
q4 with the real part first. ``LatestPose`` reads a stream in the background. Waiting uses an
injected ``Clock``, so that tests need no real time.

``SimulatedRobot`` repeats a program without state: the same time always gives the same pose.
``robot_server`` serves its poses over HTTP. ``open_flange`` opens the stream of any source.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar, cast
from urllib.parse import urlsplit

import numpy as np

from softgrasp.description import RobotProgram
from softgrasp.errors import (
    BadAnswerError,
    ConnectionLostError,
    DescriptionError,
    DeviceError,
    RequestRefusedError,
    StaleDataError,
)
from softgrasp.mechanics import Quintic, forward_kinematics, position_of, quaternion_of
from softgrasp.plugin_api import Vec3, Vec4, short
from softgrasp.twin.description import (
    CartesianFields,
    FileFlange,
    FlangeSample,
    FlangeSource,
    HttpFlange,
)
from softgrasp.twin.files import json_object, load_flange_samples

T = TypeVar("T")
MAX_BYTES = 65536
"""Largest length of an answer [bytes]."""
FIELDS = CartesianFields()
TIME = "time"
"""Additional key of the simulated robot; real controllers do not report a time."""
OK, BUSY = 200, (429, 500, 502, 503, 504)
"""Success, and answers of a server that may succeed when the request is repeated."""
JsonDocument = dict[str, Any]

# Clocks


class Clock(Protocol):
    """A monotonic clock that can wait."""

    def now(self) -> float:
        """Return the time since an arbitrary origin [s]; never decreases."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait [s]."""
        ...


class SystemClock:
    """The clock of the operating system."""

    def now(self) -> float:
        """Return the monotonic time [s]."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait [s] and let other tasks run."""
        await asyncio.sleep(seconds)


class Ticks:
    """Timer with a fixed rate on a clock.

    The k-th one is begin + k / rate, so that delays do not accumulate. Times that have passed
    while the caller was busy are skipped and counted.
    """

    def __init__(self, clock: Clock, rate: float) -> None:
        """Set up the timer, which starts with the first call of ``next``.

        Args:
            clock: Clock.
            rate: Ticks per second [Hz].
        """
        self._clock, self._rate = clock, rate
        self._begin: float | None = None
        self._index = 0
        self.missed = 0

    async def next(self) -> float:
        """Wait for the next tick and return its time on the clock [s]."""
        now = self._clock.now()
        if self._begin is None:
            self._begin = now
            return now
        self._index += 1
        # half a millionth of a tick as rounding tolerance
        passed = int((now - self._begin) * self._rate - self._index + 1.0 - 5e-7)
        if passed > 0:
            self.missed += passed
            self._index += passed
        instant = self._begin + self._index / self._rate
        await self._clock.sleep(max(instant - now, 0.0))
        return instant


# Streams


@dataclass
class StreamCounts:
    """Statistics of a stream."""

    samples: int = 0
    """Returned samples."""
    late: int = 0
    """Discarded samples that are older than a previous one."""
    twice: int = 0
    """Discarded samples with the time of a previous one."""
    refused: int = 0
    """Discarded messages that are not poses."""
    missed: int = 0
    """Skipped periods while waiting for an answer."""
    reconnected: int = 0


class FlangeStream(ABC):
    """An asynchronous iterator of flange poses that can be closed at any time.

    A quaternion and its negative are the same orientation; each sample has the one that is
    nearer to that of the previous sample. After a ``ConnectionLostError`` or a
    ``StaleDataError`` iteration may continue, and resumes when poses arrive again.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        """Set the clock; default: the system clock."""
        self.clock: Clock = clock or SystemClock()
        self.counts = StreamCounts()
        self._last: FlangeSample | None = None
        self._closed = asyncio.Event()

    @abstractmethod
    async def _next(self) -> FlangeSample | None:
        """Return the next sample, None at the end."""

    def _release(self) -> None:  # noqa: B027 - most streams have no connection
        """Release connections; called once."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> FlangeSample:
        sample = None
        if not self._closed.is_set():
            sample = await first_of(self._next(), self._closed.wait())
        if sample is None or self._closed.is_set():
            await self.aclose()
            raise StopAsyncIteration
        last, self.counts.samples = self._last, self.counts.samples + 1
        if last is not None and np.dot(sample.quaternion, last.quaternion) < 0.0:
            sample = sample.replace(quaternion=[-part for part in sample.quaternion])
        self._last = sample
        return sample

    async def aclose(self) -> None:
        """Close the stream; a pending iteration ends."""
        if not self._closed.is_set():
            self._closed.set()
            self._release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class LatestPose:
    """Reads a stream of flange poses in the background; an asynchronous context manager."""

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
        self._task.add_done_callback(self._store_failure)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stream.aclose()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _store_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.problem = f"the stream of poses broke: {type(error).__name__}: {short(str(error))}"

    async def _follow(self) -> None:
        while True:
            try:
                async for sample in self.stream:
                    self.sample, self.arrived = sample, self.stream.clock.now()
                    self.problem = ""
            except DeviceError as error:
                self.problem = str(error)
                await self.stream.clock.sleep(0.05)
                continue
            self.problem = "the stream of poses has ended"
            return


async def first_of(work: Coroutine[Any, Any, T], end: Coroutine[Any, Any, Any]) -> T | None:
    """Await a coroutine; return None where ``end`` finishes first. The other one is cancelled."""
    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(end)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].result() if tasks[0].done() else None
    finally:
        for task in tasks:
            task.cancel()
        # discard an error that occurred at the same time
        await asyncio.gather(*tasks, return_exceptions=True)


class ReplayStream(FlangeStream):
    """Flange poses of a recorded run."""

    def __init__(
        self,
        samples: Sequence[FlangeSample],
        pace: Literal["recorded", "fast"] = "recorded",
        clock: Clock | None = None,
    ) -> None:
        """Store the recorded poses.

        Args:
            samples: Samples in the order of their times.
            pace: ``recorded`` reproduces the times of the record relative to the first sample,
                so that delays do not accumulate; ``fast`` does not wait.
            clock: Clock.
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


class HttpStream(FlangeStream):
    """Flange poses polled over HTTP, with the time of this clock or of the server's.

    A lost connection is restored after ``pause``, until there was no new pose for
    ``stale_after``; then ``ConnectionLostError`` states the reason. Where the server reports the
    time, a pose with the same time is not new, and ``StaleDataError`` ends the wait for one. An
    answer without a pose is a ``BadAnswerError`` at once, a refusal a ``RequestRefusedError``.
    """

    def __init__(self, source: HttpFlange, clock: Clock | None = None, token: str = "") -> None:
        """Store the address; the first sample sends the first request.

        Args:
            source: Address, rate, timeouts, and keys.
            clock: Clock; timeouts of the connection are in real time.
            token: Bearer token, sent where it is not empty.
        """
        super().__init__(clock)
        self.source = source
        self._connection = KeptConnection(source.url, source.timeout, token)
        self._joints = None
        if source.joints_url:
            self._joints = KeptConnection(source.joints_url, source.timeout, token)
        self._ticks = Ticks(self.clock, source.rate)
        self._newest: float | None = None

    async def _next(self) -> FlangeSample | None:
        begin, lost = self.clock.now(), False
        while True:
            await self._ticks.next()
            self.counts.missed = self._ticks.missed
            try:
                sample = self._sample(await self._connection.get())
            except ConnectionLostError as error:
                lost = True
                self._give_up(begin, error)
                await self.clock.sleep(self.source.pause)
                continue
            if lost:
                self.counts.reconnected += 1
                lost = False
            if self._is_new(sample):
                return sample.replace(joints=await self._joints_now())
            self._give_up(begin, self._stale(sample))

    def _sample(self, answer: Answer) -> FlangeSample:
        known = {item.value: f"{item.value} {item.phrase}" for item in HTTPStatus}
        url, status = self.source.url, known.get(answer.status, str(answer.status))
        if answer.status in BUSY:
            raise ConnectionLostError(f"{url}: expected an answer, found HTTP status {status}")
        if answer.status != OK:
            hint = "; it requires a token" if answer.status == 401 else ""
            raise RequestRefusedError(f"{url}: expected HTTP status 200, found {status}{hint}")
        try:
            return sample_of(answer.body, self.clock.now(), url, self.source.fields)
        except BadAnswerError:
            self.counts.refused += 1
            raise

    async def _joints_now(self) -> list[float]:
        """Return the reported joint angles [rad]; an empty list where there are none."""
        if self._joints is None:
            return []
        try:
            answer = await self._joints.get()
            if answer.status != OK:
                raise BadAnswerError(f"found HTTP status {answer.status}")
            state = _state(json_object(answer.body), self.source.fields)
            names = [f"rax_{number}" for number in range(1, len(state) + 1)]
            return [math.radians(_number(state, name)) for name in names if name in state]
        except (ConnectionLostError, BadAnswerError, DescriptionError):
            self.counts.refused += 1
            return []

    def _is_new(self, sample: FlangeSample) -> bool:
        if self._newest is not None and sample.time <= self._newest and self.source.fields.time:
            if sample.time == self._newest:
                self.counts.twice += 1
            else:
                self.counts.late += 1
            return False
        self._newest = sample.time
        return True

    def _give_up(self, begin: float, error: DeviceError) -> None:
        if self.clock.now() - begin >= self.source.stale_after:
            self._newest = None  # a restarted server counts from 0 again
            raise error

    def _stale(self, sample: FlangeSample) -> StaleDataError:
        return StaleDataError(
            f"{self.source.url}: expected a new pose within {self.source.stale_after:g} s, "
            f"found that of time {sample.time:g} s and none after {self._newest:g} s"
        )

    def _release(self) -> None:
        self._connection.close()
        if self._joints is not None:
            self._joints.close()


# HTTP


class Answer(NamedTuple):
    """HTTP answer of a server, without its words for the status."""

    status: int
    body: bytes


class KeptConnection:
    """Request one address repeatedly on a persistent HTTP connection."""

    def __init__(self, url: str, timeout: float, token: str = "") -> None:
        """Store the address; the first request connects.

        Args:
            url: Requested address.
            timeout: Longest wait for one answer, including connecting and all of its bytes [s].
            token: Bearer token, sent where it is not empty.
        """
        self.url, self.timeout = url, timeout
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = {"Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection: HTTPConnection | None = None

    async def get(self) -> Answer:
        """Send one HTTP request and return the answer.

        Raises:
            ConnectionLostError: There is no connection, it broke, or the answer did not arrive
                in time; the next request reconnects.
            BadAnswerError: The answer is too long.
        """
        if self._connection is None:
            self._connection = HTTPConnection(self._host, self._port, timeout=self.timeout)
        try:
            async with asyncio.timeout(self.timeout):
                return await asyncio.to_thread(self._ask, self._connection)
        except TimeoutError:
            message = f"expected an answer within {self.timeout:g} s, found none"
        except (OSError, HTTPException) as error:
            # of other kinds of error the text is that of the server, which is untrusted
            text = (
                getattr(error, "strerror", None) or f"{type(error).__name__}: {short(str(error))}"
            )
            message = f"expected an answer, found: {text}"
        except BaseException:
            self.close()  # cancelled in the middle of an answer: do not read its rest later
            raise
        self.close()
        raise ConnectionLostError(f"{self.url}: {message}")

    def close(self) -> None:
        """Close the connection; a thread that waits for an answer is woken."""
        connection, self._connection = self._connection, None
        if connection is not None:
            if connection.sock is not None:
                with suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _ask(self, connection: HTTPConnection) -> Answer:
        connection.request("GET", self._path, headers=self._headers)
        answer = connection.getresponse()
        body = answer.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise BadAnswerError(
                f"{self.url}: expected an answer of at most {MAX_BYTES} bytes, found more"
            )
        return Answer(answer.status, body)


# Documents of Robot Web Services


def cartesian_document(sample: FlangeSample, base: str = "") -> JsonDocument:
    """Make the Robot Web Services answer to ``…/cartesian`` from a flange pose.

    Positions have six digits [mm], the quaternion nine, the time six.
    """
    lengths = [f"{part / FIELDS.length:.6f}" for part in sample.position]
    parts = [f"{part:.9f}" for part in sample.quaternion]
    keys = (*FIELDS.position, *FIELDS.quaternion)
    state = dict(zip(keys, (*lengths, *parts), strict=True))
    return _document("ms-mechunit-cartesian", "cartesian", state, sample.time, base)


def _document(kind: str, title: str, state: dict[str, str], time: float, base: str) -> JsonDocument:
    entry = {"_type": kind, "_title": title, **state, TIME: f"{time:.6f}"}
    return {"_links": {"base": {"href": base}}, "_embedded": {"_state": [entry]}}


def joint_document(joints: Sequence[float], time: float, base: str = "") -> JsonDocument:
    """Make the Robot Web Services answer to ``…/jointtarget``, from [rad] to degrees."""
    state = {f"rax_{row}": f"{math.degrees(angle):.9f}" for row, angle in enumerate(joints, 1)}
    return _document("ms-jointtarget", "jointtarget", state, time, base)


def sample_of(
    body: bytes, time: float, source: str, fields: CartesianFields = FIELDS
) -> FlangeSample:
    """Read the flange pose from the body of an HTTP answer.

    Args:
        body: Body of the answer.
        time: Arrival time [s]; the time of the sample where ``fields`` has no key for it.
        source: Name of the source, for messages.
        fields: Keys of the document.

    Raises:
        BadAnswerError: It is not JSON, a key is missing, a value is not a finite number, or the
            quaternion does not have unit norm; names the source and the key.
    """
    try:
        state = _state(json_object(body), fields)
        position = cast("Vec3", [_number(state, key) * fields.length for key in fields.position])
        quaternion = cast("Vec4", [_number(state, key) for key in fields.quaternion])
        time_stamp = _number(state, fields.time) if fields.time else time
        return FlangeSample(time=time_stamp, position=position, quaternion=quaternion)
    except DescriptionError as error:
        raise BadAnswerError(f"{source}: {error}") from None


def _state(document: JsonDocument, fields: CartesianFields) -> JsonDocument:
    node: Any = document
    json_path = ""
    for key in fields.state:
        json_path += f"[{key}]" if isinstance(key, int) else f".{key}" if json_path else key
        try:
            # a number is an index of a list, a text a key of an object
            fits = isinstance(node, list if isinstance(key, int) else dict)
            node = node[key] if fits else None
        except (KeyError, IndexError):
            node = None
        if node is None:
            raise DescriptionError("expected a value in the answer, found none", field=json_path)
    if not isinstance(node, dict):
        raise DescriptionError(f"expected a JSON object, found {short(node)}", field=json_path)
    return node


def _number(state: JsonDocument, key: str) -> float:
    if key not in state:
        keys = short(", ".join(map(str, state)))
        raise DescriptionError(f"expected a number, found no such key among {keys}", field=key)
    value = state[key]
    try:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number):
                return number
    except (ValueError, OverflowError):
        pass
    raise DescriptionError(f"expected a number, found {short(value)}", field=key)


# Simulated robot


def open_flange(
    source: FlangeSource, *, directory: Path | None = None, clock: Clock | None = None
) -> FlangeStream:
    """Open the flange-pose stream of a source, for ``async with`` and, inside, ``async for``.

    Args:
        source: Source of poses.
        directory: Directory of recorded poses with relative paths.
        clock: Clock of the stream; default: the system clock.

    Raises:
        DescriptionError: A file of poses is invalid, or a token is missing in the environment.
    """
    if isinstance(source, HttpFlange):
        token = os.environ.get(source.token_variable, "") if source.token_variable else ""
        if source.token_variable and not token:
            raise DescriptionError(
                f"expected a token in the environment variable {source.token_variable}, found none",
                field="token_variable",
            )
        return HttpStream(source, clock, token)
    if isinstance(source, FileFlange):
        path = (directory or Path()) / source.path
        return ReplayStream(load_flange_samples(path), source.pace, clock)
    return RobotStream(SimulatedRobot(source.program), source.rate, clock)


# Robot


class SimulatedRobot:
    """A robot that repeats its motion program; time 0 is its start.

    It has no state: the same time always gives the same pose.
    """

    def __init__(self, program: RobotProgram) -> None:
        """Prepare the moves of a program."""
        self.program = program
        ends = program.postures[1:] + program.postures[:1]
        self._moves = [
            Quintic(begin, end, program.move_time)
            for begin, end in zip(program.postures, ends, strict=True)
        ]

    def joints_at(self, time: float) -> tuple[float, ...]:
        """Return joint variables [rad or m] at a time [s]; up to 0 those of the first posture."""
        leg = self.program.move_time + self.program.rest_time
        within = math.fmod(max(time, 0.0), self.program.period)
        index = min(int(within / leg), len(self._moves) - 1)
        moved = max(within - index * leg - self.program.rest_time, 0.0)
        return tuple(self._moves[index].at(moved).tolist())

    def sample_at(self, time: float) -> FlangeSample:
        """Return the flange pose in the robot's base frame at a time [s].

        The quaternion has w ≥ 0; a stream selects the sign that is continuous.
        """
        joints = self.joints_at(time)
        frame = forward_kinematics(self.program.arm.chain, joints)[-1]
        return FlangeSample(
            time=time, position=position_of(frame), quaternion=quaternion_of(frame), joints=joints
        )


class RobotStream(FlangeStream):
    """Samples of a simulated robot in this process, at a fixed rate, without end."""

    def __init__(
        self, robot: SimulatedRobot, rate: float = 50.0, clock: Clock | None = None
    ) -> None:
        """Prepare the stream; the robot starts with the first sample.

        Args:
            robot: Simulated robot.
            rate: Samples per second [Hz].
            clock: Clock of the stream.
        """
        super().__init__(clock)
        self.robot = robot
        self._ticks = Ticks(self.clock, rate)
        self._begin: float | None = None

    async def _next(self) -> FlangeSample | None:
        instant = await self._ticks.next()
        self.counts.missed = self._ticks.missed
        if self._begin is None:
            self._begin = instant
        return self.robot.sample_at(instant - self._begin)
