"""Modbus TCP server of the simulated controller, hardened against untrusted clients.

A ``Session`` answers the requests of one connection; ``ControllerServer`` serves many.

Requests are decoded by pymodbus, but its server was not used (3.16.1, measured): it answers only
the first of several requests in one packet, does not answer on a connection after one wrong
header, and limits neither idle time nor the number of connections.

Modbus has no users, no passwords and no encryption: whoever reaches the port may write. So the
server listens on this machine only; a tunnel leads to it from others.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from pymodbus.constants import ExcCodes
from pymodbus.exceptions import ModbusException
from pymodbus.pdu import ExceptionResponse, ModbusPDU, bit_message, register_message

from softgrasp.errors import DeviceError
from softgrasp.twin.connections import ConnectionLimits
from softgrasp.twin.description import Kind, RegisterMap, require_loopback
from softgrasp.twin.modbus import (
    BUFFER,
    FrameError,
    FrameReader,
    pdu_bytes,
)
from softgrasp.twin.pneumatic_controller import SimulatedController, Valve

LOOPBACK, PORT = "127.0.0.1", 5020
"""Default address and port of ``softgrasp twin serve``; the standard port 502 needs privileges."""
BACKLOG = 128
SYSTEM_BUFFER = 2**14
"""Send buffer of the operating system for one connection [bytes]."""
LOG = logging.getLogger(__name__)
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
"""Supported functions; diagnosis, files and identification are not among them."""
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
DIRECT_UNITS = (0, 255)
"""Units of requests to the device at the end of the connection, without a gateway (Modbus Messaging
on TCP/IP Implementation Guide 1.0b, "Unit Identifier")."""
LONG_WRITES = (15, 16)
SHORT_LENGTH = 5
"""Length of all other requests [bytes]."""
SINGLE_COIL, COIL_VALUES = 5, (b"\x00\x00", b"\xff\x00")


# Server


@dataclass
class ServerCounts:
    """Statistics of a Modbus server since its start."""

    connections: int = 0
    requests: int = 0
    malformed: int = 0
    """Connections closed because of invalid frames."""
    idle: int = 0
    """Connections closed because they were idle."""
    displaced: int = 0
    """Connections closed in favour of newer ones."""


class ControllerServer:
    """Serve one controller to many connections.

    Args:
        controller: Simulated controller.
        limits: Limit of connections; by default 64.
        idle_timeout: Time without a complete request after which a connection is closed [s].
    """

    def __init__(
        self,
        controller: SimulatedController,
        *,
        limits: ConnectionLimits | None = None,
        idle_timeout: float = 60.0,
    ) -> None:
        self.controller = controller
        self.counts = ServerCounts()
        self._limits = ConnectionLimits() if limits is None else limits
        self._idle = idle_timeout
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the server.

        Raises:
            DeviceError: It has not been started.
        """
        if self._server is None or not self._server.sockets:
            raise DeviceError("expected a started server, found one that was not started")
        host, port = self._server.sockets[0].getsockname()[:2]
        return str(host), int(port)

    @property
    def open_connections(self) -> int:
        """Number of open connections."""
        return len(self._limits)

    async def start(self, host: str = LOOPBACK, port: int = PORT) -> None:
        """Start to listen.

        Args:
            host: Loopback address.
            port: Port; 0: any free one, see ``address``.

        Raises:
            DescriptionError: Other machines can reach the host.
            DeviceError: Listening on the address failed.
        """
        require_loopback(host, PORT)
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

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _accept(self, stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # asyncio runs this as one
        self.counts.connections += 1
        self._open[task] = writer
        self._limits.opened(task, writer.transport.abort)
        self.counts.displaced = self._limits.dropped
        writer.transport.set_write_buffer_limits(high=BUFFER)
        # limits unread answers in the operating system, too
        plug = writer.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SYSTEM_BUFFER)
        try:
            await self._converse(task, FrameReader(stream), writer)
        except TimeoutError:
            self.counts.idle += 1
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # the connection was closed by one of its ends
        except FrameError as error:
            self.counts.malformed += 1
            LOG.debug("closed a connection: %s", error)
        except Exception:  # other connections go on
            LOG.exception("a connection was closed because of an internal error")
        finally:
            self._limits.closed(task)
            self._open.pop(task, None)
            writer.transport.abort()

    async def _converse(
        self, task: asyncio.Task[None], frames: FrameReader, writer: asyncio.StreamWriter
    ) -> None:
        session = Session(self.controller)
        while True:
            async with asyncio.timeout(self._idle):
                frame = await frames.read()
            if not self._limits.heard(task):
                return  # displaced
            self.counts.requests += 1
            answer = await session.answer(frame.unit, frame.pdu)
            writer.write(frame._replace(pdu=answer).encoded())
            async with asyncio.timeout(self._idle):
                await writer.drain()


def controller_server(
    registers: RegisterMap,
    valve: Valve | None = None,
    *,
    watchdog: float | None = None,
) -> ControllerServer:
    """Make a simulated pneumatic controller on Modbus TCP in real time; it is not started yet.

    Args:
        registers: Register map.
        valve: Valve and sensor.
        watchdog: Time without a request after which both triggers go off [s]; None: never.

    Raises:
        BackendUnavailable: pymodbus is not installed.
    """
    return ControllerServer(SimulatedController(registers, valve, watchdog=watchdog))


# Requests


class Session:
    """Connection of one client: reads its requests and answers them.

    Args:
        controller: Simulated controller behind the registers.
    """

    def __init__(self, controller: SimulatedController) -> None:
        self.controller = controller

    async def answer(self, unit: int, pdu: bytes) -> bytes:
        """Answer one request, valid or not.

        Args:
            unit: Requested device.
            pdu: Function code and data, one byte or more.

        Returns:
            Function code and data of the answer.
        """
        function = pdu[0]
        if unit not in (self.controller.registers.device_id, *DIRECT_UNITS):
            return _refused(function, ExcCodes.GATEWAY_NO_RESPONSE)
        if function not in REQUESTS:
            return _refused(function, ExcCodes.ILLEGAL_FUNCTION)
        request = _request(pdu)
        if request is None:
            return _refused(function, ExcCodes.ILLEGAL_VALUE)
        # pymodbus expects its own context type here, and calls only the two methods below
        answer = await request.datastore_update(self, unit)  # type: ignore[arg-type]
        return pdu_bytes(answer)

    async def async_getValues(
        self, _device_id: int, func_code: int, address: int, count: int = 1
    ) -> list[int] | ExcCodes:
        """Return words, or bits; called by pymodbus."""
        return self.controller.words(KINDS[func_code], address, count)

    async def async_setValues(
        self, _device_id: int, func_code: int, address: int, values: Sequence[int]
    ) -> ExcCodes | None:
        """Write words, or bits; called by pymodbus."""
        return self.controller.write(KINDS[func_code], address, [int(value) for value in values])


def _refused(function: int, why: ExcCodes) -> bytes:
    return pdu_bytes(ExceptionResponse(function & 0x7F, why))


def _request(pdu: bytes) -> ModbusPDU | None:
    """Decode a request; None where its data do not fit its function."""
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
