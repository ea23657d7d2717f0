"""A link without a wire."""

from __future__ import annotations

from softgrasp.twin.modbus import LinkCounts, T, Take
from softgrasp.twin.modbus_server import Session


class MemoryLink:
    """A device in this process, without any wire: for time that runs faster than ours.

    Args:
        session: The conversation with it.
    """

    def __init__(self, session: Session) -> None:
        self.counts = LinkCounts()
        self._session = session

    async def ask(self, unit: int, pdu: bytes, take: Take[T]) -> T:
        """Ask, and make something of the answer."""
        self.counts.connections = 1
        self.counts.requests += 1
        answer = take(await self._session.answer(unit, pdu))
        self.counts.answers += 1
        return answer

    async def close(self) -> None:
        """There is nothing to close."""
