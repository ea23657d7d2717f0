"""The wire to a device that may break: connects again, asks again, and gives up with a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from softgrasp.errors import ConnectionLostError, DeviceError
from softgrasp.twin.controller.backoff import Backoff
from softgrasp.twin.controller.connection import Connection, LinkCounts
from softgrasp.twin.controller.exchange import Refusal
from softgrasp.twin.controller.frames import FrameError

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
