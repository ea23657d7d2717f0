"""Modbus TCP frames, requests and register values, and the token handshake.

Requests and answers are encoded by pymodbus; frames are read here, strictly, because a stream
with one wrong header cannot be trusted again. pymodbus 3.16.1 was measured instead: its client
accepts an answer to another function, of another length, or with transaction 0; its server
answers only the first of several requests in one packet and none after one wrong header.

Modbus has no users and passwords. Every connection to softgrasp's server may read. It may write
after it has proved that it knows the token: the server keeps a random challenge per connection
in eight holding registers, and the client writes HMAC-SHA256(token, challenge) into the sixteen
following ones (RFC 2104). The token itself is never transmitted, and a recorded exchange is
useless on the next connection. Nothing is encrypted and later frames are not signed: whoever can
modify frames can still send commands, so an untrusted network needs a tunnel.
"""

from __future__ import annotations

import asyncio
import hmac
import math
import secrets
import struct
from collections.abc import Sequence
from typing import NamedTuple, cast

from pymodbus.client.mixin import ModbusClientMixin
from pymodbus.exceptions import ModbusException
from pymodbus.pdu import ModbusPDU, bit_message, register_message

from softgrasp.errors import (
    DescriptionError,
)
from softgrasp.twin.description import (
    ANSWER_WORDS,
    CHALLENGE_WORDS,
    CountRegister,
    Kind,
    PressureRegister,
    Register,
)

MAX_WIDTH = 100
"""Largest number of words in one request; the standard permits 123 written and 125 read."""
ROUNDING = 1e-6
"""Tolerance of a float32 at a limit, over the larger limit [–]."""
WRONG = 3
"""Exception code for a wrong token: illegal value."""
SHORTEST_TOKEN = 8
"""Smallest number of characters of a token."""
MAX_WRONG = 3
"""Number of wrong answers after which a connection is closed."""
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
"""Exception codes of the Modbus application protocol, §7."""
HEADER = struct.Struct(">HHHB")
"""Transaction, protocol (0), length of the rest, unit."""
SHORTEST, LONGEST = 2, 254
"""Range of the length field: unit and function code, up to a PDU of 253 bytes."""
BUFFER = 1024
"""Receive buffer of one connection [bytes]."""

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
    """Modbus exception response of the device.

    Args:
        code: Exception code.
    """

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"{EXCEPTIONS.get(code, 'unknown code')} (exception {code})")


def read_request(kind: Kind, address: int, count: int) -> bytes:
    """Encode a request that reads words, or bits."""
    return _bytes(READS[kind][0](address=address, count=count))


def _bytes(request: ModbusPDU) -> bytes:
    return bytes([request.function_code]) + request.encode()


def write_request(kind: Kind, address: int, words: Sequence[int]) -> bytes:
    """Encode a request that writes words, or bits."""
    if kind == "coil":
        bits = [bool(word) for word in words]
        if len(bits) == 1:
            return _bytes(bit_message.WriteSingleCoilRequest(address=address, bits=bits))
        return _bytes(bit_message.WriteMultipleCoilsRequest(address=address, bits=bits))
    return _bytes(
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


# Token


def require_token(token: str) -> str:
    """Refuse a token that is too short or has spaces around it; else return it.

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
    """Compute the answer of a client that knows the token to a challenge.

    Args:
        challenge: Eight words from the server.
        token: Token.
    """
    message = struct.pack(f">{CHALLENGE_WORDS}H", *challenge)
    digest = hmac.digest(token.encode(), message, "sha256")
    return list(struct.unpack(f">{ANSWER_WORDS}H", digest))


class Access:
    """Write permission of one connection, obtained by answering a challenge.

    Args:
        token: Token of the server; None: writing is open to all.
    """

    def __init__(self, token: str | None) -> None:
        self._token = token
        self.granted = token is None
        self.wrong = 0
        self.challenge = _challenge()

    @property
    def asks(self) -> bool:
        """Return whether clients need a token to write."""
        return self._token is not None

    @property
    def exhausted(self) -> bool:
        """Return whether there were more wrong answers than allowed."""
        return self.wrong >= MAX_WRONG

    def offer(self, answer: Sequence[int]) -> bool:
        """Check an answer to the challenge; a wrong one makes a new challenge."""
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
