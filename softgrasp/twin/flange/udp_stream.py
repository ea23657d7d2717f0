"""Flange poses by UDP on this machine: one JSON object a datagram, the newest one counts."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from softgrasp.description.flange import FlangeSample, UdpFlange
from softgrasp.errors import ConnectionLostError, DescriptionError, StaleDataError
from softgrasp.formats.flange_file import json_object, sample_from
from softgrasp.twin.flange.clock import Clock
from softgrasp.twin.flange.stream import FlangeStream, first_of

MAX_WAITING = 256
"""Samples that wait to be fetched; of more, the oldest are left out."""


class UdpStream(FlangeStream):
    """Poses that a sender on this machine sends.

    Datagrams can overtake each other and come twice: what is not newer than all before is left
    out and counted, and so is what is no pose. Without a new pose for ``stale_after`` there is a
    ``StaleDataError`` that tells all that. A sender that was restarted counts from 0 again: after
    a ``StaleDataError`` any time is new.
    """

    def __init__(self, source: UdpFlange, clock: Clock | None = None) -> None:
        """Take the address; ``open`` or the first sample makes the socket.

        Args:
            source: Address and time-out.
            clock: By which it waits.
        """
        super().__init__(clock)
        self.source = source
        self.last_refusal = ""
        self._waiting: deque[FlangeSample] = deque()
        self._arrived = asyncio.Event()
        self._newest: float | None = None
        self._transport: asyncio.DatagramTransport | None = None

    async def open(self) -> int:
        """Make the socket, and tell its port.

        Raises:
            ConnectionLostError: The port is taken.
        """
        if self._transport is None:
            loop, address = asyncio.get_running_loop(), (self.source.host, self.source.port)
            try:
                self._transport, _ = await loop.create_datagram_endpoint(
                    lambda: _Receiver(self), local_addr=address
                )
            except OSError as error:
                raise ConnectionLostError(
                    f"{self._name}: expected a free port, found: {error.strerror or error}"
                ) from None
        port: int = self._transport.get_extra_info("sockname")[1]
        return port

    def take(self, datagram: bytes) -> None:
        """Queue the sample of a datagram, or count why it is left out."""
        try:
            sample = sample_from(json_object(datagram))
        except DescriptionError as error:
            self.counts.refused += 1
            self.last_refusal = str(error)
            return
        if self._newest is not None and sample.time <= self._newest:
            if sample.time == self._newest:
                self.counts.twice += 1
            else:
                self.counts.late += 1
            return
        self._newest = sample.time
        self._waiting.append(sample)
        if len(self._waiting) > MAX_WAITING:
            self._waiting.popleft()
            self.counts.overrun += 1
        self._arrived.set()

    @property
    def _name(self) -> str:
        return f"udp://{self.source.host}:{self.source.port}"

    async def _next(self) -> FlangeSample | None:
        await self.open()
        if not self._waiting:
            self._arrived.clear()
            await first_of(self._arrived.wait(), self.clock.sleep(self.source.stale_after))
        if not self._waiting:
            message = self._stale()
            self._newest = None
            raise StaleDataError(message)
        return self._waiting.popleft()

    def _stale(self) -> str:
        counts = self.counts
        message = (
            f"{self._name}: expected a new pose within {self.source.stale_after:g} s, found none; "
            f"so far {counts.late} came late, {counts.twice} twice, {counts.refused} were no poses"
        )
        return f"{message} (the last: {self.last_refusal})" if self.last_refusal else message

    def _release(self) -> None:
        if self._transport is not None:
            self._transport.close()


class _Receiver(asyncio.DatagramProtocol):
    def __init__(self, stream: UdpStream) -> None:
        self._stream = stream

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:  # noqa: ARG002
        self._stream.take(data)
