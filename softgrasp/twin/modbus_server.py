"""Modbus TCP server of the simulated controller, by pymodbus.

Modbus has no users, no passwords and no encryption: whoever reaches the port may write. So the
server listens on this machine only; a tunnel leads to it from others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Self, cast

from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import SimData, SimDevice

from softgrasp.errors import DeviceError
from softgrasp.twin.description import Kind, RegisterMap, require_loopback
from softgrasp.twin.pneumatic_controller import SimulatedController, Valve

LOOPBACK, PORT = "127.0.0.1", 5020
"""Default address and port of ``softgrasp twin serve``; the standard port 502 needs privileges."""
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
"""Kind of registers by function code; other functions are refused."""
DIRECT_UNITS = (0, 255)
"""Units of requests to the device at the end of the connection, without a gateway (Modbus Messaging
on TCP/IP Implementation Guide 1.0b, "Unit Identifier")."""
logging.getLogger("pymodbus").addHandler(logging.NullHandler())  # errors are raised here


class ControllerRegisters:
    """Registers of a controller, as requests of pymodbus read and write them."""

    def __init__(self, controller: SimulatedController) -> None:
        self.controller = controller

    async def async_getValues(
        self, device_id: int, func_code: int, address: int, count: int = 1
    ) -> list[int] | ExcCodes:
        """Return words, or bits, or the reason why there are none."""
        if refusal := self._refusal(device_id, func_code):
            return refusal
        return self.controller.words(KINDS[func_code], address, count)

    async def async_setValues(
        self, device_id: int, func_code: int, address: int, values: Sequence[int]
    ) -> ExcCodes | None:
        """Write words, or bits; return the reason where they are not written."""
        if refusal := self._refusal(device_id, func_code):
            return refusal
        return self.controller.write(KINDS[func_code], address, [int(value) for value in values])

    def _refusal(self, device_id: int, func_code: int) -> ExcCodes | None:
        if device_id not in (self.controller.registers.device_id, *DIRECT_UNITS):
            return ExcCodes.GATEWAY_NO_RESPONSE
        return None if func_code in KINDS else ExcCodes.ILLEGAL_FUNCTION


class ControllerServer:
    """Serve one controller to many connections."""

    def __init__(self, controller: SimulatedController) -> None:
        self.controller = controller
        self._server: ModbusTcpServer | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the server.

        Raises:
            DeviceError: It does not listen.
        """
        if self._server is None:
            raise DeviceError("expected a started server, found one that does not listen")
        listening = cast(asyncio.Server, self._server.transport)
        host, port = listening.sockets[0].getsockname()[:2]
        return str(host), int(port)

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
        # pymodbus requires a device with registers of its own, which the next line replaces
        server = ModbusTcpServer(SimDevice(1, [SimData(0)]), address=(host, port))
        server.context = ControllerRegisters(self.controller)  # type: ignore[assignment]
        if not await server.listen():
            raise DeviceError(
                f"{host}:{port}: expected an address to listen on, found one that is in use, or "
                "not permitted"
            )
        self._server = server

    async def close(self) -> None:
        """Stop listening and close all connections; may be called twice."""
        if self._server is not None:
            await self._server.shutdown()  # type: ignore[no-untyped-call]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def controller_server(
    registers: RegisterMap, valve: Valve | None = None, *, watchdog: float | None = None
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
