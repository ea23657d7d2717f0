"""One connection's conversation with the simulated controller, without any wire.

What is in a request is taken apart and answered by pymodbus; which requests there are, and what
they may touch, is decided here.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from pymodbus.constants import ExcCodes
from pymodbus.exceptions import ModbusException
from pymodbus.pdu import ExceptionResponse, ModbusPDU, bit_message, register_message

from softgrasp.description.register_map import ANSWER_WORDS, CHALLENGE_WORDS, Kind
from softgrasp.twin.controller.access import Access
from softgrasp.twin.controller.simulated import SimulatedController

REQUESTS: dict[int, type[ModbusPDU]] = {
    request.function_code: request
    for request in (
        bit_message.ReadCoilsRequest,
        bit_message.ReadDiscreteInputsRequest,
        register_message.ReadHoldingRegistersRequest,
        register_message.ReadInputRegistersRequest,
        bit_message.WriteSingleCoilRequest,
        register_message.WriteSingleRegisterRequest,
        bit_message.WriteMultipleCoilsRequest,
        register_message.WriteMultipleRegistersRequest,
    )
}
"""Functions that a controller has; diagnosis, files and identification are not among them."""
KINDS: dict[int, Kind] = {
    1: "coil",
    5: "coil",
    15: "coil",
    3: "holding",
    6: "holding",
    16: "holding",
    2: "discrete",
    4: "input",
}
LONG_WRITES = (15, 16)
SHORT_LENGTH = 5
"""Bytes of any other request."""
SINGLE_COIL, COIL_VALUES = 5, (b"\x00\x00", b"\xff\x00")


class Session:
    """Answers requests, and remembers whether this connection may write.

    Args:
        controller: What is behind the registers.
        access: Whether this connection may write.
    """

    def __init__(self, controller: SimulatedController, access: Access | None = None) -> None:
        self.controller = controller
        self.access = access or Access(None)

    async def answer(self, unit: int, pdu: bytes) -> bytes:
        """Answer one request, whatever it is.

        Args:
            unit: The device that is asked.
            pdu: Function code and data, one byte or more.

        Returns:
            Function code and data of the answer.
        """
        function = pdu[0]
        if unit != self.controller.registers.device_id:
            return _refused(function, ExcCodes.GATEWAY_NO_RESPONSE)
        if function not in REQUESTS:
            return _refused(function, ExcCodes.ILLEGAL_FUNCTION)
        request = _request(pdu)
        if request is None:
            return _refused(function, ExcCodes.ILLEGAL_VALUE)
        # pymodbus names a context of its own here, and calls two methods of it, which are below
        answer = await request.datastore_update(self, unit)  # type: ignore[arg-type]
        return _bytes(answer)

    async def async_getValues(
        self, _device_id: int, func_code: int, address: int, count: int = 1
    ) -> list[int] | ExcCodes:
        """Words, or bits, as pymodbus asks for them."""
        if KINDS[func_code] == "holding" and self._challenge_at(address):
            if not self.access.asks or func_code != 3 or count != CHALLENGE_WORDS:
                return ExcCodes.ILLEGAL_ADDRESS
            return self.access.challenge
        return self.controller.words(KINDS[func_code], address, count)

    async def async_setValues(
        self, _device_id: int, func_code: int, address: int, values: Sequence[int]
    ) -> ExcCodes | None:
        """Write words, or bits, as pymodbus gives them."""
        if KINDS[func_code] == "holding" and self._challenge_at(address - CHALLENGE_WORDS):
            if not self.access.asks or len(values) != ANSWER_WORDS:
                return ExcCodes.ILLEGAL_ADDRESS
            return None if self.access.offer(values) else ExcCodes.ILLEGAL_VALUE
        if not self.access.granted:
            return ExcCodes.ILLEGAL_FUNCTION  # "not in this state", in the words of the standard
        return self.controller.write(KINDS[func_code], address, [int(value) for value in values])

    def _challenge_at(self, address: int) -> bool:
        return address == self.controller.registers.handshake


def _request(pdu: bytes) -> ModbusPDU | None:
    """The request in bytes; None where its data are not what its function needs."""
    function, data = pdu[0], pdu[1:]
    if function not in LONG_WRITES and len(pdu) != SHORT_LENGTH:
        return None
    if function == SINGLE_COIL and data[2:] not in COIL_VALUES:
        return None
    request = REQUESTS[function]()
    try:
        request.decode(data)
    except (ModbusException, ValueError, IndexError, struct.error):
        return None
    return request


def _refused(function: int, why: ExcCodes) -> bytes:
    return _bytes(ExceptionResponse(function & 0x7F, why))


def _bytes(answer: ModbusPDU) -> bytes:
    return bytes([answer.function_code]) + answer.encode()
