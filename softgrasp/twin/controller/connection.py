"""One TCP connection to a device: a request out, its answer back, everything else told apart."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Self

from softgrasp.twin.controller.frames import BUFFER, Frame, FrameError, FrameReader

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
