"""The client of a pneumatic controller: values by name, in Pa, and nothing outside the limits."""

from __future__ import annotations

import asyncio
import hmac
import math
import secrets
import struct
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol, Self, TypeVar, cast

from pymodbus.client.mixin import ModbusClientMixin
from pymodbus.exceptions import ModbusException
from pymodbus.pdu import ModbusPDU, bit_message, register_message

from softgrasp.errors import (
    BadAnswerError,
    ConnectionLostError,
    DescriptionError,
    DeviceError,
    RequestRefusedError,
    StaleDataError,
)
from softgrasp.twin.description import (
    ANSWER_WORDS,
    CHALLENGE_WORDS,
    Kind,
    PressureRegister,
    Register,
    RegisterMap,
)


class ControllerClient:
    """Reads a pneumatic controller and commands it.

    Args:
        registers: Where the controller has its values.
        link: The wire to it; see ``connect_controller``.
        token: What softgrasp's own server asks for before anything may be written.
        stale_after: Age at which a reading is too old [s].
        clock: The time [s].

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
        self._writes: dict[str, Register] = dict(registers.writes)
        self.last: ControllerReading | None = None
        self._begin = clock()
        self._counter: float | None = None
        self._counted_at = self._begin
        if token is not None:
            link.on_connect(token_greeting(registers, require_token(token)))

    @property
    def counts(self) -> LinkCounts:
        """What has happened on the wire."""
        return self._link.counts

    @property
    def age(self) -> float:
        """Time since the last good reading, or since the client was made [s]."""
        return self._clock() - (self._begin if self.last is None else self.last.time)

    def require_fresh(self) -> ControllerReading:
        """The last good reading.

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
        """All five values.

        Raises:
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It has no such register.
            BadAnswerError: A value is outside the limits of its register.
            StaleDataError: The map has a counter, and it stands still.
        """
        values: dict[str, float] = {}
        for span in self._reads:
            words = await self._read(span)
            at = 0
            for name, register in span.values:
                values[name] = from_words(register, words[at : at + register.width])
                at += register.width
                if name != "counter" and not allowed(register, values[name]):
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
        """Write target pressures; what is not given stays.

        Args:
            positive: For the positive trigger [Pa].
            negative: For the negative trigger [Pa].

        Raises:
            DescriptionError: A pressure is outside the limits of its register; nothing was sent.
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It refused.
        """
        await self._write({"positive_target": positive, "negative_target": negative})

    def check_targets(
        self, *, positive: float | None = None, negative: float | None = None
    ) -> None:
        """Refuse targets before anything is sent.

        Raises:
            DescriptionError: A pressure is outside the limits of its register.
        """
        self._check({"positive_target": positive, "negative_target": negative})

    async def trigger(self, *, positive: bool | None = None, negative: bool | None = None) -> None:
        """Switch triggers on or off; what is not given stays.

        Raises:
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It refused.
        """
        await self._write({"positive_on": positive, "negative_on": negative})

    async def close(self) -> None:
        """Close the wire; commands stay as they are."""
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
                f"{span.text()}: expected to be read, found: {refusal}"
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
                    f"{span.text()}: expected to take {values_text}, found: {refusal}"
                ) from None

    def _check(self, values: dict[str, float | None]) -> dict[str, float]:
        """The values that are given; all of them within their limits."""
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


# --------------------
# What a pneumatic controller tells, at one instant.


class ControllerReading(NamedTuple):
    """The five values of Xiang et al. (2024), §III-B."""

    time: float
    """When the answer came, on the clock of the client [s]."""
    positive_on: bool
    """Whether positive pressure is triggered."""
    negative_on: bool
    """Whether negative pressure is triggered."""
    positive_target: float
    """Over the pressure of the air around [Pa]."""
    negative_target: float
    """Over the pressure of the air around, below zero [Pa]."""
    pressure: float
    """The one that the controller measures, over that of the air around [Pa]."""


# --------------------
# Registers that one request reaches together.


MAX_WIDTH = 100
"""Words in one request; the standard allows 123 to be written and 125 to be read."""


class Span(NamedTuple):
    """Registers that lie one behind the other, so that one request reaches them all."""

    kind: Kind
    address: int
    values: tuple[tuple[str, Register], ...]

    @property
    def width(self) -> int:
        """How many words, or bits."""
        return sum(register.width for _, register in self.values)

    def text(self) -> str:
        """``positive_on (holding 0), …``, as errors tell it."""
        return ", ".join(f"{name} ({register.address_text})" for name, register in self.values)


def spans(values: Sequence[tuple[str, Register]]) -> list[Span]:
    """Registers gathered into as few requests as there are gaps between them."""
    merged: list[Span] = []
    for name, register in sorted(values, key=lambda pair: (pair[1].kind, pair[1].address)):
        last = merged[-1] if merged else None
        follows = last is not None and (
            (last.kind, last.address + last.width) == (register.kind, register.address)
        )
        if last is not None and follows and last.width + register.width <= MAX_WIDTH:
            merged[-1] = last._replace(values=(*last.values, (name, register)))
        else:
            merged.append(Span(register.kind, register.address, ((name, register),)))
    return merged


# --------------------
# Values in SI ⇄ the 16-bit words, or the bit, of a register.


Words = list[int]
"""Unsigned words in the order of the wire; a bit is 0 or 1."""

ROUNDING = 1e-6
"""Part of the larger limit by which a float32 may miss it."""


def to_words(register: Register, value: float) -> Words:
    """Words that hold a value, rounded to the nearest count inside the limits.

    Args:
        register: Where it goes.
        value: A pressure [Pa], or the number itself where the register holds no pressure.
    """
    count = value
    if isinstance(register, PressureRegister):
        low, high = register.counts
        count = min(max(value / register.scale, low), high)
    return words_of(register, count)


def words_of(register: Register, count: float) -> Words:
    """Words that hold a count."""
    if register.type == "bit":
        return [int(count)]
    number = count if register.type == "float32" else round(count)
    kind = ModbusClientMixin.DATATYPE[register.type.upper()]
    return ModbusClientMixin.convert_to_registers(number, kind, register.word_order)


def from_words(register: Register, words: Sequence[int]) -> float:
    """The value in words: a pressure [Pa], or the number itself; may be outside the limits."""
    if register.type == "bit":
        return float(words[0])
    kind = ModbusClientMixin.DATATYPE[register.type.upper()]
    value = ModbusClientMixin.convert_from_registers(words, kind, register.word_order)
    count = float(cast(float, value))
    return count * register.scale if isinstance(register, PressureRegister) else count


def allowed(register: Register, value: float) -> bool:
    """Whether a register may hold a value: a pressure inside its limits, a trigger 0 or 1."""
    if not isinstance(register, PressureRegister):
        return value in (0, 1)
    low, high = register.limits
    slack = ROUNDING * max(abs(low), abs(high)) if register.type == "float32" else 0.0
    # a count that stands for a limit may be a hair beside it
    slack += 1e-9 * abs(register.scale)
    return math.isfinite(value) and low - slack <= value <= high + slack


# --------------------
# What a client with a token says first on every connection.


WRONG = 3
"""The exception with which a wrong answer is refused: an illegal value."""


def token_greeting(registers: RegisterMap, token: str) -> Greet:
    """The handshake of ``access``, from the side of the client.

    Args:
        registers: Names the registers of the handshake.
        token: The token.

    Returns:
        What asks for the challenge and answers it; raises ``RequestRefusedError`` where the answer
        is not taken.
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
                f"token (holding {address}): expected the controller to take it, found: {why}"
            ) from None

    return greet


# --------------------
# What a token can mean on Modbus, which knows no user and no password.
#
# Every new connection may read. It may write after it has shown that it knows the token: the
# server
# keeps a random challenge of its own for each connection in eight holding registers, and the
# client
# writes HMAC-SHA256(token, challenge) into the sixteen behind them (RFC 2104). The token itself
# never
# goes over the wire, and what was listened to is worth nothing on the next connection. Nothing is
# encrypted and no later frame is signed: who can change frames on their way can still command. A
# network that is not trusted needs a tunnel besides.


SHORTEST_TOKEN = 8
MAX_WRONG = 3
"""Wrong answers after which a connection is closed."""


def require_token(token: str) -> str:
    """A token that is worth having.

    Raises:
        DescriptionError: It is too short, or has spaces around it.
    """
    if len(token) < SHORTEST_TOKEN or token != token.strip():
        raise DescriptionError(
            f"expected a token of {SHORTEST_TOKEN} letters or more without spaces around it, "
            f"found one of {len(token)}",
            field="token",
        )
    return token


def answer_to(challenge: Sequence[int], token: str) -> list[int]:
    """The words that a client who knows the token writes.

    Args:
        challenge: Eight words that the server told.
        token: The token.
    """
    message = struct.pack(f">{CHALLENGE_WORDS}H", *challenge)
    digest = hmac.digest(token.encode(), message, "sha256")
    return list(struct.unpack(f">{ANSWER_WORDS}H", digest))


class Access:
    """Whether one connection may write.

    Args:
        token: What it must know; None: everybody may write.
    """

    def __init__(self, token: str | None) -> None:
        self._token = token
        self.granted = token is None
        self.wrong = 0
        self.challenge = _challenge()

    @property
    def asks(self) -> bool:
        """Whether there is a token at all."""
        return self._token is not None

    @property
    def exhausted(self) -> bool:
        """Whether there were too many wrong answers."""
        return self.wrong >= MAX_WRONG

    def offer(self, answer: Sequence[int]) -> bool:
        """Take an answer; a wrong one makes a new challenge."""
        if self._token is None:
            return True
        response = struct.pack(f">{len(answer)}H", *answer)
        expected = struct.pack(f">{ANSWER_WORDS}H", *answer_to(self.challenge, self._token))
        right = hmac.compare_digest(response, expected)
        self.challenge = _challenge()
        if not right:
            self.wrong += 1
            self.granted = False
        else:
            self.granted = True
        return right


def _challenge() -> list[int]:
    return list(struct.unpack(f">{CHALLENGE_WORDS}H", secrets.token_bytes(2 * CHALLENGE_WORDS)))


# --------------------
# One TCP connection to a device: a request out, its answer back, everything else told apart.


REMEMBERED = 64
"""Transactions whose late or doubled answers are known as such."""


@dataclass
class LinkCounts:
    """What has happened on a wire since it was first used."""

    requests: int = 0
    """Frames that were sent; an attempt is one."""
    answers: int = 0
    connections: int = 0
    drops: int = 0
    """Connections that were lost or given up."""
    failed_connects: int = 0
    timeouts: int = 0
    """Requests without an answer in time."""
    late: int = 0
    """Answers that came after their time, and were thrown away."""
    duplicates: int = 0
    """Answers that came again, and were thrown away."""
    garbled: int = 0
    """Answers that were none."""


class Connection:
    """One connection; transactions are counted, so that an answer finds its request.

    Args:
        stream: What comes in.
        writer: What goes out.
        counts: Where late and doubled answers are counted.
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
            OSError: Nobody listens there.
        """
        stream, writer = await asyncio.open_connection(host, port, limit=BUFFER)
        return cls(stream, writer, counts)

    async def ask(self, unit: int, pdu: bytes) -> bytes:
        """Send a request and wait for its answer, however long that takes.

        Raises:
            FrameError: What comes is no answer to anything that was asked.
            OSError, EOFError: The connection is gone.
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
        """Close it at once."""
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


# --------------------
# Requests and their answers: made and taken apart by pymodbus, and checked against each other.
#
# pymodbus' own client accepts an answer to another function, of another length, or with
# transaction 0
# as good; here these are no answers.


READS: dict[str, tuple[type[ModbusPDU], type[ModbusPDU]]] = {
    "holding": (
        register_message.ReadHoldingRegistersRequest,
        register_message.ReadHoldingRegistersResponse,
    ),
    "input": (
        register_message.ReadInputRegistersRequest,
        register_message.ReadInputRegistersResponse,
    ),
    "coil": (bit_message.ReadCoilsRequest, bit_message.ReadCoilsResponse),
    "discrete": (
        bit_message.ReadDiscreteInputsRequest,
        bit_message.ReadDiscreteInputsResponse,
    ),
}
EXCEPTIONS = {
    1: "illegal function: it has none of this kind, or not in its present state",
    2: "illegal address: there is no such register",
    3: "illegal value",
    4: "the device has failed",
    5: "acknowledged, and it takes longer",
    6: "the device is busy",
    8: "memory parity error",
    10: "gateway: no path to the device",
    11: "gateway: the device does not answer",
}
"""Exception codes of the Modbus application protocol, §7, in words."""


class Refusal(Exception):
    """The device answered with an exception.

    Args:
        code: The exception code.
    """

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"{EXCEPTIONS.get(code, 'a code of its own')} (exception {code})")


def read_request(kind: Kind, address: int, count: int) -> bytes:
    """Function code and data that ask for words, or bits."""
    return _bytes(READS[kind][0](address=address, count=count))


def write_request(kind: Kind, address: int, words: Sequence[int]) -> bytes:
    """Function code and data that write words, or bits."""
    if kind == "coil":
        bits = [bool(word) for word in words]
        if len(bits) == 1:
            return _bytes(bit_message.WriteSingleCoilRequest(address=address, bits=bits))
        return _bytes(bit_message.WriteMultipleCoilsRequest(address=address, bits=bits))
    return _bytes(
        register_message.WriteMultipleRegistersRequest(address=address, registers=list(words))
    )


def words_in(answer: bytes, kind: Kind, count: int) -> list[int]:
    """The words, or bits, of an answer to a reading request.

    Raises:
        FrameError: It is none.
        Refusal: The device has refused.
    """
    request, response = READS[kind]
    data = _data_of(answer, request.function_code)
    size = 2 * count if kind in ("holding", "input") else (count + 7) // 8
    if len(data) != 1 + size or data[0] != size:
        raise FrameError(f"expected {size} bytes of data, found {len(data) - 1}")
    decoded = response()
    try:
        decoded.decode(data)
    except (ModbusException, ValueError, IndexError, struct.error) as error:
        raise FrameError(f"expected an answer that can be read, found: {error}") from None
    values = decoded.registers if kind in ("holding", "input") else decoded.bits
    return [int(value) for value in values[:count]]


def check_written(answer: bytes, request: bytes) -> None:
    """Check that an answer confirms a writing request: its first five bytes come back.

    Raises:
        FrameError: It does not.
        Refusal: The device has refused.
    """
    data = _data_of(answer, request[0])
    if data != request[1:5]:
        raise FrameError(f"expected {request[1:5].hex()} to come back, found {data.hex()}")


def _data_of(answer: bytes, function: int) -> bytes:
    if answer[0] == function | 0x80 and len(answer) == 2:
        raise Refusal(answer[1])
    if answer[0] != function:
        raise FrameError(f"expected an answer to function {function}, found {answer[0]}")
    return answer[1:]


def _bytes(request: ModbusPDU) -> bytes:
    return bytes([request.function_code]) + request.encode()


# --------------------
# Frames of Modbus TCP: a header of seven bytes, and what is asked or answered.
#
# Read strictly, for a stream whose header is wrong once cannot be trusted again. The reader stays
# whole when it is interrupted in the middle of a frame.


HEADER = struct.Struct(">HHHB")
"""Transaction, protocol (0), length of what follows it, unit."""
SHORTEST, LONGEST = 2, 254
"""Values of the length field: a unit and a function code, up to a PDU of 253 bytes."""
BUFFER = 1024
"""Bytes of one connection that wait to be read."""


class FrameError(Exception):
    """Bytes that are no Modbus frame; tells what was expected and found."""


class Frame(NamedTuple):
    """One frame."""

    transaction: int
    """Number by which an answer belongs to a request."""
    unit: int
    """The device behind the connection."""
    pdu: bytes
    """Function code and data."""

    def encoded(self) -> bytes:
        """The bytes on the wire."""
        return HEADER.pack(self.transaction, 0, len(self.pdu) + 1, self.unit) + self.pdu


class FrameReader:
    """Takes one frame after the other from a stream."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream
        self._header: bytes | None = None

    async def read(self) -> Frame:
        """The next frame.

        Raises:
            FrameError: The bytes are none.
            asyncio.IncompleteReadError: The stream has ended.
        """
        if self._header is None:
            self._header = await self._stream.readexactly(HEADER.size)
        transaction, protocol, length, unit = HEADER.unpack(self._header)
        if protocol:
            raise FrameError(f"expected protocol 0 in the header, found {protocol}")
        if not SHORTEST <= length <= LONGEST:
            raise FrameError(f"expected a length of {SHORTEST} to {LONGEST}, found {length}")
        pdu = await self._stream.readexactly(length - 1)
        self._header = None
        return Frame(transaction, unit, pdu)


# --------------------
# The wire to a device that may break: connects again, asks again, and gives up with a sentence.


T = TypeVar("T")
Take = Callable[[bytes], T]
"""Makes something of an answer, or raises ``FrameError``."""
Ask = Callable[[int, bytes], Awaitable[bytes]]
"""Sends a request to a unit, and comes back with its answer."""
Greet = Callable[[Ask], Awaitable[None]]
"""What is said first on every new connection."""
MAX_SILENT = 2
"""Requests without an answer in a row after which a connection is given up."""


class Link(Protocol):
    """A way to ask a device."""

    counts: LinkCounts

    async def ask(self, unit: int, pdu: bytes, take: Take[T]) -> T:
        """Ask, and make something of the answer."""

    def on_connect(self, greet: Greet) -> None:
        """Say something first on every new connection."""

    async def close(self) -> None:
        """Close the wire."""


class TcpLink:
    """A device behind TCP.

    Args:
        host: Its name or address.
        port: Its port.
        timeout: Longest wait for a connection, and for each answer [s].
        attempts: How often a request is tried before it is given up. Requests must be such that
            twice is as good as once, which reading and writing a value are.
        backoff: Waits before it connects again.
        sleep: Waits; tests give one that does not.
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
        """Say something first on every new connection."""
        self._greet = greet

    async def ask(self, unit: int, pdu: bytes, take: Take[T]) -> T:
        """Ask, and make something of the answer; asks again where the wire fails.

        Raises:
            ConnectionLostError: No attempt was answered; tells why the last one was not.
            Refusal: The device has refused.
        """
        async with self._lock:  # one request at a time: the next one may depend on its answer
            why = ""
            for _ in range(self._attempts):
                try:
                    return await self._try(unit, pdu, take)
                except (OSError, EOFError, FrameError) as error:
                    why = self._failed(error)
                except DeviceError:  # what was said first was refused
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
        """Count a failure, give up the connection where it cannot be trusted, and say why."""
        self._failures += 1
        was_open, silent = self._connection is not None, isinstance(error, TimeoutError)
        if was_open and silent:
            self.counts.timeouts += 1
            self._silent += 1
        self.counts.garbled += isinstance(error, FrameError)
        if was_open and (not silent or self._silent >= MAX_SILENT):
            self._drop()
        if silent:
            return f"nothing within {self._timeout:g} s"
        if isinstance(error, EOFError):
            return "the connection was closed"
        return getattr(error, "strerror", None) or str(error)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._silent = 0
        self.counts.drops += 1


# --------------------
# How long to wait before the next attempt: longer every time, up to a bound.


class Backoff(NamedTuple):
    """Waits that double."""

    first: float = 0.05
    """After the first failure [s]."""
    max_delay: float = 2.0
    """No wait is longer [s]."""

    def delay(self, failures: int) -> float:
        """Time to wait after so many failures in a row [s]; none before the first."""
        if failures < 1:
            return 0.0
        return min(self.max_delay, self.first * 2.0 ** min(failures - 1, 60))
