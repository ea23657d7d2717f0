"""Requests and their answers: made and taken apart by pymodbus, and checked against each other.

pymodbus' own client accepts an answer to another function, of another length, or with transaction 0
as good; here these are no answers.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from pymodbus.exceptions import ModbusException
from pymodbus.pdu import ModbusPDU, bit_message, register_message

from softgrasp.description.register_map import Kind
from softgrasp.twin.controller.frames import FrameError

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
