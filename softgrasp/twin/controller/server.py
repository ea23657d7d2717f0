"""The simulated controller as a Modbus TCP server that strangers may talk to.

The frames are read here and not by the server that pymodbus has: that one answers only the first of
several requests in one packet, stays deaf on a connection after one wrong header, and knows neither
time-outs nor the most connections.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import OrderedDict
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from softgrasp.description.loopback import is_loopback
from softgrasp.errors import DescriptionError, DeviceError
from softgrasp.twin.controller.access import Access, require_token
from softgrasp.twin.controller.frames import BUFFER, FrameError, FrameReader
from softgrasp.twin.controller.session import Session
from softgrasp.twin.controller.simulated import SimulatedController

LOOPBACK, PORT = "127.0.0.1", 5020
"""Where ``softgrasp twin serve`` listens; the standard's port 502 is for administrators."""
BACKLOG = 16
SYSTEM_BUFFER = 2**14
"""Bytes of answers that wait in the system, for one connection."""
LOG = logging.getLogger(__name__)


@dataclass
class ServerCounts:
    """What has happened at a server since it started."""

    connections: int = 0
    requests: int = 0
    malformed: int = 0
    """Connections that were closed because of bytes that are no frame."""
    idle: int = 0
    """Connections that were closed because they were silent."""
    displaced: int = 0
    """Connections that were closed to make room for newer ones."""
    locked_out: int = 0
    """Connections that were closed after too many wrong answers to the token's challenge."""


class ControllerServer:
    """Serves one controller to many connections.

    Args:
        controller: The controller.
        token: What a connection must know before it may write; None: all may.
        most_connections: With more, the one that was silent for longest is closed.
        idle_timeout: A connection on which no whole request came for so long is closed [s].

    Raises:
        DescriptionError: The token is too short.
    """

    def __init__(
        self,
        controller: SimulatedController,
        *,
        token: str | None = None,
        max_connections: int = 32,
        idle_timeout: float = 60.0,
    ) -> None:
        self.controller = controller
        self.counts = ServerCounts()
        self._token = None if token is None else require_token(token)
        self._max_connections, self._idle = max_connections, idle_timeout
        self._open: OrderedDict[asyncio.Task[None], asyncio.StreamWriter] = OrderedDict()
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port on which it listens.

        Raises:
            DeviceError: It has not been started.
        """
        if self._server is None or not self._server.sockets:
            raise DeviceError("expected a server that listens, found one that was not started")
        host, port = self._server.sockets[0].getsockname()[:2]
        return str(host), int(port)

    @property
    def needs_token(self) -> bool:
        """Whether a connection must know a token before it may write."""
        return self._token is not None

    @property
    def open_connections(self) -> int:
        """How many connections there are."""
        return len(self._open)

    async def start(self, host: str = LOOPBACK, port: int = PORT) -> None:
        """Begin to listen.

        Args:
            host: An address of this machine; any but loopback needs a token.
            port: 0: the system chooses a free one, see ``address``.

        Raises:
            DescriptionError: The host can be reached from outside, and there is no token.
            DeviceError: The address cannot be listened on.
        """
        require_safe(host, self._token)
        try:
            self._server = await asyncio.start_server(
                self._accept, host, port, limit=BUFFER, backlog=BACKLOG
            )
        except OSError as error:
            raise DeviceError(
                f"{host}:{port}: expected an address to listen on, found: {error.strerror or error}"
            ) from None

    async def close(self) -> None:
        """Stop listening and close all connections; may be called twice."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _accept(self, stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # asyncio runs this as one
        self.counts.connections += 1
        while len(self._open) >= self._max_connections:
            _, silent = self._open.popitem(last=False)
            silent.transport.abort()
            self.counts.displaced += 1
        self._open[task] = writer
        writer.transport.set_write_buffer_limits(high=BUFFER)
        # answers to one who does not listen pile up in the system, too
        plug = writer.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SYSTEM_BUFFER)
        try:
            await self._converse(task, FrameReader(stream), writer)
        except TimeoutError:
            self.counts.idle += 1
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # the other end has gone, or this one goes
        except FrameError as error:
            self.counts.malformed += 1
            LOG.debug("closed a connection: %s", error)
        except Exception:
            LOG.exception("a connection was closed because of a mistake in softgrasp")
        finally:
            self._open.pop(task, None)
            writer.transport.abort()

    async def _converse(
        self, task: asyncio.Task[None], frames: FrameReader, writer: asyncio.StreamWriter
    ) -> None:
        session = Session(self.controller, Access(self._token))
        while not session.access.exhausted:
            async with asyncio.timeout(self._idle):
                frame = await frames.read()
            if task not in self._open:
                return  # displaced
            self._open.move_to_end(task)
            self.counts.requests += 1
            answer = await session.answer(frame.unit, frame.pdu)
            writer.write(frame._replace(pdu=answer).encoded())
            async with asyncio.timeout(self._idle):
                await writer.drain()
        self.counts.locked_out += 1
        writer.close()  # after the last answer is out
        async with asyncio.timeout(self._idle):
            await writer.wait_closed()


def require_safe(host: str, token: str | None) -> None:
    """Refuse to be reached from outside without a token.

    Raises:
        DescriptionError: The host is no loopback address, and there is no token.
    """
    if token is None and not is_loopback(host):
        raise DescriptionError(
            f"expected a token (--token) with an address that other machines can reach, found "
            f"'{host}' without one; without a token the server listens on {LOOPBACK} only",
            field="host",
        )
