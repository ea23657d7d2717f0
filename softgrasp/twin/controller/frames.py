"""Frames of Modbus TCP: a header of seven bytes, and what is asked or answered.

Read strictly, for a stream whose header is wrong once cannot be trusted again. The reader stays
whole when it is interrupted in the middle of a frame.
"""

from __future__ import annotations

import asyncio
import struct
from typing import NamedTuple

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
