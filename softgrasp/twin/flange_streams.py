"""Streams of flange poses: replayed from files, or polled over HTTP.

A ``FlangeStream`` is an asynchronous iterator of ``FlangeSample`` with continuous quaternion
signs that can be closed at any time. ``HttpStream`` polls a server with the documents of Robot
Web Services, in which numbers are text, positions in mm, angles in degrees and quaternions q1 …
q4 with the real part first. ``LatestPose`` reads a stream in the background. Waiting uses an
injected ``Clock``, so that tests need no real time.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar, cast
from urllib.parse import urlsplit

from softgrasp.errors import (
    BadAnswerError,
    ConnectionLostError,
    DescriptionError,
    DeviceError,
    RequestRefusedError,
    StaleDataError,
)
from softgrasp.plugin_api import Vec3, Vec4, short
from softgrasp.twin.description import CartesianFields, FlangeSample, HttpFlange
from softgrasp.twin.files import json_object

PAUSE = 0.05
"""Pause before a failed stream is read again [s]."""
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
        sample = await self._unless_closed(self._next())
        if sample is None:
            await self.aclose()
            raise StopAsyncIteration
        self._last = sample = _near(sample, self._last)
        self.counts.samples += 1
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

    async def _unless_closed(self, work: Coroutine[Any, Any, T | None]) -> T | None:
        """Await a coroutine; return None as soon as the stream is closed."""
        if self._closed.is_set():
            work.close()
            return None
        done = await first_of(work, self._closed.wait())
        return None if self._closed.is_set() else done


def _near(sample: FlangeSample, last: FlangeSample | None) -> FlangeSample:
    if last is None:
        return sample
    along = sum(a * b for a, b in zip(sample.quaternion, last.quaternion, strict=True))
    if along >= 0.0:
        return sample
    return sample.replace(quaternion=[-part for part in sample.quaternion])


class LatestPose:
    """Reads a stream of flange poses in the background; an asynchronous context manager.

    Args:
        stream: Stream, which is closed at the end.
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
        """Store an unexpected exception of the background task as a message."""
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
                await self.stream.clock.sleep(PAUSE)
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
        url, status = self.source.url, _status_text(answer.status)
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
        connection = self._connection or HTTPConnection(
            self._host, self._port, timeout=self.timeout
        )
        self._connection = connection
        try:
            async with asyncio.timeout(self.timeout):
                return await asyncio.to_thread(self._ask, connection)
        except TimeoutError:
            message = f"expected an answer within {self.timeout:g} s, found none"
        except (OSError, HTTPException) as error:
            message = f"expected an answer, found: {_reason(error)}"
        except BaseException:
            self.close()  # cancelled in the middle of an answer: do not read its rest later
            raise
        self.close()
        raise ConnectionLostError(f"{self.url}: {message}")

    def close(self) -> None:
        """Close the connection; a thread that waits for an answer is woken."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if connection.sock is not None:
            with contextlib.suppress(OSError):
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


def _status_text(status: int) -> str:
    """Return a status with the words of the standard; those of a server are untrusted text."""
    known = {item.value: f"{item.value} {item.phrase}" for item in HTTPStatus}
    return known.get(status, str(status))


def _reason(error: Exception) -> str:
    """Return a reason from the operating system, or the kind of error and quoted text."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {short(str(error))}"


# Documents of Robot Web Services


def cartesian_document(sample: FlangeSample, base: str = "") -> JsonDocument:
    """Make the Robot Web Services answer to ``…/cartesian`` from a flange pose.

    Positions have six digits [mm], the quaternion nine, the time six.

    Args:
        sample: Flange pose.
        base: Address of the mechanical unit.
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
