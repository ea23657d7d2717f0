"""Client of a pneumatic pressure controller on Modbus TCP.

``ControllerClient`` reads and writes named values in Pa and never sends a value outside the
limits of its register. It uses a ``TcpLink`` that reconnects with a ``Backoff``, repeats
requests and finally reports why there is no answer. ``Connection`` assigns answers to requests
by their transaction numbers; late and duplicate answers are counted and discarded.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol, Self, TypeVar

from softgrasp.errors import (
    BadAnswerError,
    ConnectionLostError,
    DescriptionError,
    DeviceError,
    RequestRefusedError,
    StaleDataError,
)
from softgrasp.twin.description import (
    CHALLENGE_WORDS,
    PressureRegister,
    Register,
    RegisterMap,
)
from softgrasp.twin.modbus_frames import (
    BUFFER,
    WRONG,
    Frame,
    FrameError,
    FrameReader,
    Refusal,
    Span,
    allowed,
    answer_to,
    check_written,
    from_words,
    read_request,
    require_token,
    spans,
    to_words,
    words_in,
    write_request,
)

BEAT_PERIOD = 0.1
"""Smallest time between two changes of the heartbeat [s]."""
REMEMBERED = 64
"""Number of transactions whose late or duplicate answers are recognised."""
T = TypeVar("T")
MAX_SILENT = 2
"""Consecutive requests without an answer after which a connection is given up."""
Take = Callable[[bytes], T]
"""Decode an answer, or raise ``FrameError``."""
Ask = Callable[[int, bytes], Awaitable[bytes]]
"""Send a request to a unit and return its answer."""
Greet = Callable[[Ask], Awaitable[None]]
"""Called first on every new connection."""


class ControllerReading(NamedTuple):
    """One reading of a pneumatic controller: triggers, targets, pressure (Xiang et al. 2024)."""

    time: float
    """Time of the answer, on the clock of the client [s]."""
    positive_on: bool
    """Whether positive pressure is triggered."""
    negative_on: bool
    """Whether negative pressure is triggered."""
    positive_target: float
    """Target gauge pressure [Pa]."""
    negative_target: float
    """Target gauge pressure, below zero [Pa]."""
    pressure: float
    """Measured gauge pressure [Pa]."""


class ControllerClient:
    """Read and command a pneumatic controller.

    Args:
        registers: Register map of the controller.
        link: Link to it; see ``connect_controller``.
        token: Token for writing, for softgrasp's own server.
        stale_after: Age at which a reading is too old [s].
        clock: Clock [s].

    Raises:
        DescriptionError: The token is too short.
    """

    def __init__(
        self,
        registers: RegisterMap,
        link: Link,
        *,
        token: str | None = None,
        stale_after: float = 0.5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.registers, self.stale_after = registers, stale_after
        self._link, self._clock = link, clock
        self._reads = spans([pair for pair in registers.reads if pair[1] is not None])
        self._writes: dict[str, Register] = {
            name: register for name, register in registers.writes if register is not None
        }
        self.last: ControllerReading | None = None
        self._begin = clock()
        self._counter: float | None = None
        self._counted_at = self._begin
        self._beats, self._beaten_at = 0, -math.inf
        if token is not None:
            link.on_connect(token_greeting(registers, require_token(token)))

    @property
    def counts(self) -> LinkCounts:
        """Statistics of the connection."""
        return self._link.counts

    @property
    def age(self) -> float:
        """Time since the last valid reading, or since the client was created [s]."""
        return self._clock() - (self._begin if self.last is None else self.last.time)

    def require_fresh(self) -> ControllerReading:
        """Return the last valid reading; raise an error if it is too old.

        Raises:
            StaleDataError: It is older than ``stale_after``, or there is none.
        """
        if self.last is None or self.age > self.stale_after:
            latest = "none" if self.last is None else f"one that is {self.age:.3g} s old"
            raise StaleDataError(
                f"expected a reading of at most {self.stale_after:g} s, found {latest}"
            )
        return self.last

    async def read(self) -> ControllerReading:
        """Read all five values.

        Raises:
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It does not have such a register.
            BadAnswerError: A value is outside the limits of its register.
            StaleDataError: The map has a counter, which does not change.
        """
        values: dict[str, float] = {}
        for span in self._reads:
            words = await self._read(span)
            at = 0
            for name, register in span.values:
                values[name] = from_words(register, words[at : at + register.width])
                at += register.width
                if not allowed(register, values[name]):
                    raise BadAnswerError(_outside(name, register, values[name], words))
        self._check_counter(values.pop("counter", None))
        self.last = ControllerReading(
            time=self._clock(),
            positive_on=bool(values["positive_on"]),
            negative_on=bool(values["negative_on"]),
            positive_target=values["positive_target"],
            negative_target=values["negative_target"],
            pressure=values["pressure"],
        )
        return self.last

    async def set_targets(
        self, *, positive: float | None = None, negative: float | None = None
    ) -> None:
        """Write target pressures; None leaves one unchanged.

        Args:
            positive: Target of the positive trigger [Pa].
            negative: Target of the negative trigger [Pa].

        Raises:
            DescriptionError: A pressure is outside the limits of its register; nothing was sent.
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It refused.
        """
        await self._write({"positive_target": positive, "negative_target": negative})

    def check_targets(
        self, *, positive: float | None = None, negative: float | None = None
    ) -> None:
        """Check targets before anything is sent.

        Raises:
            DescriptionError: A pressure is outside the limits of its register.
        """
        self._check({"positive_target": positive, "negative_target": negative})

    async def trigger(self, *, positive: bool | None = None, negative: bool | None = None) -> None:
        """Switch triggers on or off; None leaves one unchanged.

        Raises:
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It refused.
        """
        await self._write({"positive_on": positive, "negative_on": negative})

    async def beat(self) -> None:
        """Change the heartbeat, where the map has one and the last change is long enough ago.

        Raises:
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It refused.
        """
        now = self._clock()
        if "heartbeat" in self._writes and now - self._beaten_at >= BEAT_PERIOD:
            await self._write({"heartbeat": float((self._beats + 1) % 2**15)})
            self._beats, self._beaten_at = self._beats + 1, now

    async def close(self) -> None:
        """Close the connection; commands stay in effect."""
        await self._link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _read(self, span: Span) -> list[int]:
        request = read_request(span.kind, span.address, span.width)
        try:
            return await self._link.ask(
                self.registers.device_id,
                request,
                partial(words_in, kind=span.kind, count=span.width),
            )
        except Refusal as refusal:
            raise RequestRefusedError(
                f"{span.text()}: expected a readable register, found: {refusal}"
            ) from None

    async def _write(self, values: dict[str, float | None]) -> None:
        checked = self._check(values)
        for span in spans([(name, self._writes[name]) for name in checked]):
            words = [w for name, register in span.values for w in to_words(register, checked[name])]
            request = write_request(span.kind, span.address, words)
            try:
                await self._link.ask(
                    self.registers.device_id, request, partial(check_written, request=request)
                )
            except Refusal as refusal:
                values_text = ", ".join(f"{name} = {checked[name]:g}" for name, _ in span.values)
                raise RequestRefusedError(
                    f"{span.text()}: expected acceptance of {values_text}, found: {refusal}"
                ) from None

    def _check(self, values: dict[str, float | None]) -> dict[str, float]:
        """Return the values that are not None, all of them within their limits."""
        converted = {name: float(value) for name, value in values.items() if value is not None}
        for name, value in converted.items():
            if not allowed(self._writes[name], value):
                raise DescriptionError(
                    _outside(name, self._writes[name], value), field=name, value=value
                )
        return converted

    def _check_counter(self, counter: float | None) -> None:
        if counter is None:
            return
        now = self._clock()
        if counter != self._counter:
            self._counter, self._counted_at = counter, now
        elif now - self._counted_at > self.stale_after:
            register = self.registers.reads.counter
            raise StaleDataError(
                f"counter ({register.address_text if register else ''}): expected to change within "
                f"{self.stale_after:g} s, found {counter:g} for {now - self._counted_at:.3g} s"
            )


def _outside(
    name: str, register: Register, value: float, words: Sequence[int] | None = None
) -> str:
    expected = "0 or 1"
    if isinstance(register, PressureRegister):
        expected = "{:g} to {:g} Pa".format(*register.limits)
    behind = "" if words is None else f" (in the words {list(words)})"
    return f"{name} ({register.address_text}): expected {expected}, found {value:g}{behind}"


# Connection


@dataclass
class LinkCounts:
    """Statistics of a connection to a device."""

    requests: int = 0
    """Sent frames; every attempt counts."""
    answers: int = 0
    connections: int = 0
    drops: int = 0
    """Connections that were lost or given up."""
    failed_connects: int = 0
    timeouts: int = 0
    """Requests without an answer in time."""
    late: int = 0
    """Discarded answers that arrived too late."""
    duplicates: int = 0
    """Discarded answers that arrived again."""
    garbled: int = 0
    """Invalid answers."""


class Link(Protocol):
    """Interface to send Modbus requests to a device."""

    counts: LinkCounts

    async def ask(self, unit: int, pdu: bytes, take: Take[T]) -> T:
        """Send a request and decode the answer."""

    def on_connect(self, greet: Greet) -> None:
        """Set what is sent first on every new connection."""

    async def close(self) -> None:
        """Close the link."""


class TcpLink:
    """Modbus TCP connection to a device that reconnects after failures.

    Args:
        host: Name or address.
        port: Port.
        timeout: Longest wait for a connection, and for each answer [s].
        attempts: Number of attempts per request. Requests must be idempotent, as reading and
            writing a value are.
        backoff: Delays before reconnecting.
        sleep: Sleep function; tests use one that does not wait.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout: float = 1.0,
        attempts: int = 3,
        backoff: Backoff | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.counts = LinkCounts()
        self._host, self._port = host, port
        self._timeout, self._attempts = timeout, attempts
        self._backoff, self._sleep = backoff or Backoff(), sleep
        self._connection: Connection | None = None
        self._greet: Greet | None = None
        self._failures = self._silent = 0
        self._lock = asyncio.Lock()

    def on_connect(self, greet: Greet) -> None:
        """Set what is sent first on every new connection."""
        self._greet = greet

    async def ask(self, unit: int, pdu: bytes, take: Take[T]) -> T:
        """Send a request and decode the answer; repeat it where the connection fails.

        Raises:
            ConnectionLostError: No attempt was answered; states why the last one failed.
            Refusal: The device refused.
        """
        async with self._lock:  # one request at a time: the next one may depend on its answer
            why = ""
            for _ in range(self._attempts):
                try:
                    return await self._try(unit, pdu, take)
                except (OSError, EOFError, FrameError) as error:
                    why = self._failed(error)
                except DeviceError:  # the handshake was refused
                    self._failures += 1
                    raise
        raise ConnectionLostError(
            f"{self._host}:{self._port}: expected an answer in one of {self._attempts} attempts, "
            f"found: {why}"
        )

    async def close(self) -> None:
        """Close the connection; the next request opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _try(self, unit: int, pdu: bytes, take: Take[T]) -> T:
        connection = await self._connected()
        self.counts.requests += 1
        async with asyncio.timeout(self._timeout):
            answer = await connection.ask(unit, pdu)
        try:
            result = take(answer)
        except Refusal:
            self._succeeded()
            raise
        self._succeeded()
        return result

    def _succeeded(self) -> None:
        self.counts.answers += 1
        self._failures = self._silent = 0

    async def _connected(self) -> Connection:
        if self._connection is not None:
            return self._connection
        await self._sleep(self._backoff.delay(self._failures))
        connection = None
        try:
            async with asyncio.timeout(self._timeout):
                connection = await Connection.open(self._host, self._port, self.counts)
                if self._greet is not None:
                    await self._greet(connection.ask)
        except BaseException as error:
            self.counts.failed_connects += not isinstance(error, DeviceError)
            if connection is not None:
                connection.close()
            raise
        self.counts.connections += 1
        self._connection = connection
        return connection

    def _failed(self, error: OSError | EOFError | FrameError) -> str:
        """Count a failure, drop an untrustworthy connection, and return the reason."""
        self._failures += 1
        was_open, silent = self._connection is not None, isinstance(error, TimeoutError)
        if was_open and silent:
            self.counts.timeouts += 1
            self._silent += 1
        self.counts.garbled += isinstance(error, FrameError)
        if was_open and (not silent or self._silent >= MAX_SILENT):
            self._drop()
        if silent:
            return f"no answer within {self._timeout:g} s"
        if isinstance(error, EOFError):
            return "the connection was closed"
        return getattr(error, "strerror", None) or str(error)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._silent = 0
        self.counts.drops += 1


class Connection:
    """One TCP connection; transactions are numbered to match answers with requests.

    Args:
        stream: Incoming stream.
        writer: Outgoing stream.
        counts: Statistics for late and duplicate answers.
    """

    def __init__(
        self, stream: asyncio.StreamReader, writer: asyncio.StreamWriter, counts: LinkCounts
    ) -> None:
        self._frames, self._writer, self._counts = FrameReader(stream), writer, counts
        self._last = 0
        self._answered: deque[int] = deque(maxlen=REMEMBERED)
        self._unanswered: deque[int] = deque(maxlen=REMEMBERED)

    @classmethod
    async def open(cls, host: str, port: int, counts: LinkCounts) -> Self:
        """Connect.

        Raises:
            OSError: Connecting failed.
        """
        stream, writer = await asyncio.open_connection(host, port, limit=BUFFER)
        return cls(stream, writer, counts)

    async def ask(self, unit: int, pdu: bytes) -> bytes:
        """Send a request and wait for its answer without a timeout.

        Raises:
            FrameError: The received bytes do not answer any request.
            OSError, EOFError: The connection is lost.
        """
        self._last = self._last % 0xFFFF + 1
        transaction = self._last
        self._unanswered.append(transaction)
        self._writer.write(Frame(transaction, unit, pdu).encoded())
        await self._writer.drain()
        while (frame := await self._frames.read()).transaction != transaction:
            self._put_away(frame.transaction)
        if frame.unit != unit:
            raise FrameError(f"expected an answer of unit {unit}, found one of {frame.unit}")
        self._unanswered.remove(transaction)
        self._answered.append(transaction)
        return frame.pdu

    def close(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()

    def _put_away(self, transaction: int) -> None:
        if transaction in self._unanswered:
            self._unanswered.remove(transaction)
            self._answered.append(transaction)
            self._counts.late += 1
        elif transaction in self._answered:
            self._counts.duplicates += 1
        else:
            raise FrameError(f"expected an answer to {self._last}, found one to {transaction}")


class Backoff(NamedTuple):
    """Delay before the next attempt, which doubles up to a limit."""

    first: float = 0.05
    """Delay after the first failure [s]."""
    max_delay: float = 2.0
    """Longest delay [s]."""

    def delay(self, failures: int) -> float:
        """Return the delay after a number of consecutive failures [s]; none before the first."""
        if failures < 1:
            return 0.0
        return min(self.max_delay, self.first * 2.0 ** min(failures - 1, 60))


# Token


def token_greeting(registers: RegisterMap, token: str) -> Greet:
    """Return the client's side of the token handshake.

    Args:
        registers: Register map with the address of the handshake.
        token: Token.

    Returns:
        Coroutine function that requests the challenge and answers it; it raises
        ``RequestRefusedError`` where the answer is refused.
    """

    async def greet(ask: Ask) -> None:
        unit, address = registers.device_id, registers.handshake
        try:
            answer = await ask(unit, read_request("holding", address, CHALLENGE_WORDS))
            words = answer_to(words_in(answer, "holding", CHALLENGE_WORDS), token)
            request = write_request("holding", address + CHALLENGE_WORDS, words)
            check_written(await ask(unit, request), request)
        except Refusal as refusal:
            why = "it is wrong" if refusal.code == WRONG else str(refusal)
            raise RequestRefusedError(
                f"token (holding {address}): expected acceptance by the controller, found: {why}"
            ) from None

    return greet
