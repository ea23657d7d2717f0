"""Modbus TCP: frames, requests, register values, and the connection of a client.

Requests and answers are encoded by pymodbus; frames are read here, strictly, because a stream
with one wrong header cannot be trusted again. pymodbus 3.16.1 was measured instead: its client
accepts an answer to another function, of another length, or with transaction 0.

A ``TcpLink`` reconnects with a ``Backoff``, repeats requests and finally reports why there is no
answer. A ``Connection`` assigns answers to requests by their transaction numbers; late and
duplicate answers are counted and discarded.
"""

from __future__ import annotations

import asyncio
import math
import struct
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self, TypeVar, cast

from softgrasp.errors import BackendUnavailable, ConnectionLostError
from softgrasp.twin.description import CountRegister, Kind, PressureRegister, Register

try:
    from pymodbus.client.mixin import ModbusClientMixin
    from pymodbus.constants import ExcCodes
    from pymodbus.exceptions import ModbusException
    from pymodbus.pdu import ModbusPDU, bit_message, register_message
except ImportError:
    raise BackendUnavailable(
        "expected pymodbus for a controller on Modbus TCP, found none; "
        "pip install 'softgrasp[twin]'"
    ) from None

MAX_WIDTH = 100
"""Largest number of words in one request; the standard permits 123 written and 125 read."""
ROUNDING = 1e-6
"""Tolerance of a float32 at a limit, over the larger limit [–]."""
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
    "discrete": (bit_message.ReadDiscreteInputsRequest, bit_message.ReadDiscreteInputsResponse),
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
"""Exception codes of the Modbus application protocol, §7."""
ILLEGAL_ADDRESS, ILLEGAL_VALUE = ExcCodes.ILLEGAL_ADDRESS, ExcCodes.ILLEGAL_VALUE
HEADER = struct.Struct(">HHHB")
"""Transaction, protocol (0), length of the rest, unit."""
SHORTEST, LONGEST = 2, 254
"""Range of the length field: unit and function code, up to a PDU of 253 bytes."""

REMEMBERED = 64
"""Number of transactions whose late or duplicate answers are recognised."""
T = TypeVar("T")
MAX_SILENT = 2
"""Consecutive requests without an answer after which a connection is given up."""
Take = Callable[[bytes], T]
"""Decode an answer, or raise ``FrameError``."""

# Register values


Words = list[int]
"""Unsigned words in protocol order; a bit is 0 or 1."""


def to_words(register: Register, value: float) -> Words:
    """Encode a value, rounded to the nearest count inside the limits.

    Args:
        register: Target register.
        value: Pressure [Pa], or a plain number where the register does not hold a pressure.
    """
    count = value
    if isinstance(register, PressureRegister):
        low, high = register.counts
        count = min(max(value / register.scale, low), high)
    return words_of(register, count)


def words_of(register: Register, count: float) -> Words:
    """Encode an integer count as register words."""
    if register.type == "bit":
        return [int(count)]
    number = count if register.type == "float32" else round(count)
    kind = ModbusClientMixin.DATATYPE[register.type.upper()]
    return ModbusClientMixin.convert_to_registers(number, kind, register.word_order)


def from_words(register: Register, words: Sequence[int]) -> float:
    """Decode a value: a pressure [Pa], or a plain number; it may be outside the limits."""
    if register.type == "bit":
        return float(words[0])
    kind = ModbusClientMixin.DATATYPE[register.type.upper()]
    value = ModbusClientMixin.convert_from_registers(words, kind, register.word_order)
    count = float(cast(float, value))
    return count * register.scale if isinstance(register, PressureRegister) else count


def allowed(register: Register, value: float) -> bool:
    """Check that a pressure is inside the limits of its register, or a trigger 0 or 1.

    A count may have any value.
    """
    if isinstance(register, CountRegister):
        return True
    if not isinstance(register, PressureRegister):
        return value in (0, 1)
    low, high = register.limits
    slack = ROUNDING * max(abs(low), abs(high)) if register.type == "float32" else 0.0
    # the count of a limit may miss it by rounding
    slack += 1e-9 * abs(register.scale)
    return math.isfinite(value) and low - slack <= value <= high + slack


class Span(NamedTuple):
    """Adjacent registers that one Modbus request reads or writes."""

    kind: Kind
    address: int
    values: tuple[tuple[str, Register], ...]

    @property
    def width(self) -> int:
        """Number of words, or bits, that the span covers."""
        return sum(register.width for _, register in self.values)

    def text(self) -> str:
        """``positive_on (holding 0), …``, for error messages."""
        return ", ".join(f"{name} ({register.address_text})" for name, register in self.values)


def spans(values: Sequence[tuple[str, Register]]) -> list[Span]:
    """Merge adjacent registers into as few Modbus requests as possible."""
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


# Requests and answers


class Refusal(Exception):
    """Modbus exception response of the device."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"{EXCEPTIONS.get(code, 'unknown code')} (exception {code})")


def read_request(kind: Kind, address: int, count: int) -> bytes:
    """Encode a request that reads words, or bits."""
    return pdu_bytes(READS[kind][0](address=address, count=count))


def pdu_bytes(request: ModbusPDU) -> bytes:
    """Encode a request or an answer."""
    return bytes([request.function_code]) + request.encode()


def write_request(kind: Kind, address: int, words: Sequence[int]) -> bytes:
    """Encode a request that writes words, or bits."""
    if kind == "coil":
        bits = [bool(word) for word in words]
        if len(bits) == 1:
            return pdu_bytes(bit_message.WriteSingleCoilRequest(address=address, bits=bits))
        return pdu_bytes(bit_message.WriteMultipleCoilsRequest(address=address, bits=bits))
    return pdu_bytes(
        register_message.WriteMultipleRegistersRequest(address=address, registers=list(words))
    )


def words_in(answer: bytes, kind: Kind, count: int) -> list[int]:
    """Decode the words, or bits, of an answer to a read request.

    Raises:
        FrameError: It is invalid.
        Refusal: The device refused.
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
        raise FrameError(f"expected a valid answer, found: {error}") from None
    values = decoded.registers if kind in ("holding", "input") else decoded.bits
    return [int(value) for value in values[:count]]


def _data_of(answer: bytes, function: int) -> bytes:
    if answer[0] == function | 0x80 and len(answer) == 2:
        raise Refusal(answer[1])
    if answer[0] != function:
        raise FrameError(f"expected an answer to function {function}, found {answer[0]}")
    return answer[1:]


def check_written(answer: bytes, request: bytes) -> None:
    """Check that the first five bytes of an answer confirm a write request.

    Raises:
        FrameError: It does not.
        Refusal: The device refused.
    """
    data = _data_of(answer, request[0])
    if data != request[1:5]:
        raise FrameError(f"expected {request[1:5].hex()} in the answer, found {data.hex()}")


# Frames


class FrameError(Exception):
    """Invalid Modbus frame; the message states what was expected and found."""


class Frame(NamedTuple):
    """One Modbus TCP frame."""

    transaction: int
    """Number that assigns an answer to a request."""
    unit: int
    """Device behind the connection."""
    pdu: bytes
    """Function code and data."""

    def encoded(self) -> bytes:
        """Return the bytes of the frame."""
        return HEADER.pack(self.transaction, 0, len(self.pdu) + 1, self.unit) + self.pdu


class FrameReader:
    """Read frames from a stream; a read may be cancelled in the middle of a frame."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream
        self._header: bytes | None = None

    async def read(self) -> Frame:
        """Return the next frame.

        Raises:
            FrameError: The bytes are invalid.
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
        self._failures = self._silent = 0
        self._lock = asyncio.Lock()

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
        try:
            async with asyncio.timeout(self._timeout):
                connection = await Connection.open(self._host, self._port, self.counts)
        except BaseException:
            self.counts.failed_connects += 1
            raise
        self.counts.connections += 1
        self._connection = connection
        return connection

    def _failed(self, error: OSError | EOFError | FrameError) -> str:
        """Count a failure, drop an untrustworthy connection, and return the reason."""
        self._failures += 1
        silent = isinstance(error, TimeoutError)
        if self._connection is not None and silent:
            self.counts.timeouts += 1
            self._silent += 1
        self.counts.garbled += isinstance(error, FrameError)
        if self._connection is not None and (not silent or self._silent >= MAX_SILENT):
            self._connection.close()
            self._connection, self._silent = None, 0
            self.counts.drops += 1
        if silent:
            return f"no answer within {self._timeout:g} s"
        if isinstance(error, EOFError):
            return "the connection was closed"
        return getattr(error, "strerror", None) or str(error)


class Connection:
    """One TCP connection; transactions are numbered to match answers with requests."""

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
        stream, writer = await asyncio.open_connection(host, port, limit=1024)
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
