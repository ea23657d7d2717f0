"""Controllers and clients for tests: on loopback, on free ports, on clocks that tests move."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from softgrasp.twin.description import RegisterMap
from softgrasp.twin.files import load_register_map
from softgrasp.twin.modbus import TcpLink
from softgrasp.twin.modbus_server import ControllerServer
from softgrasp.twin.pneumatic_controller import (
    ControllerClient,
    ControllerState,
    SimulatedController,
    Valve,
)

PATIENCE = 20.0
"""No wait of a test is longer [s]; nothing waits so long unless it is broken."""


class Clock:
    """Time that only tests move."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def odd_map() -> RegisterMap:
    """Everything that the default is not: floats, swapped words, gaps, coils, inputs, a counter."""
    pressure = {"type": "float32", "word_order": "little", "scale": 1000}
    return RegisterMap.model_validate(
        {
            "name": "odd",
            "device_id": 7,
            "reads": {
                "positive_on": {"kind": "discrete", "address": 3},
                "negative_on": {"kind": "discrete", "address": 9},
                "positive_target": {"address": 40, "limits": [0, 120e3], **pressure},
                "negative_target": {"address": 50, "limits": [-90e3, 0], **pressure},
                "pressure": {
                    "kind": "input", "address": 100, "limits": [-101e3, 130e3],
                    "type": "int32", "scale": -1,
                },
                "counter": {"kind": "input", "address": 102, "type": "uint16"},
            },
            "writes": {
                "positive_on": {"kind": "coil", "address": 0},
                "negative_on": {"kind": "coil", "address": 1},
                "positive_target": {"address": 40, "limits": [0, 120e3], **pressure},
                "negative_target": {"address": 50, "limits": [-90e3, 0], **pressure},
            },
        }
    )  # fmt: skip


class Bench:
    """A server, its controller, and everything that was commanded."""

    def __init__(self, server: ControllerServer, heard: list[ControllerState]) -> None:
        self.server, self.heard = server, heard

    def client(self, *, port: int | None = None, **options: Any) -> ControllerClient:
        host, own = self.server.address
        kept = {name: options.pop(name) for name in ("stale_after", "clock") if name in options}
        link = TcpLink(host, own if port is None else port, **{"timeout": PATIENCE} | options)
        return ControllerClient(self.server.controller.registers, link, **kept)


@asynccontextmanager
async def rig(
    registers: RegisterMap | None = None, *, clock: Clock | None = None, valve: Valve | None = None
) -> AsyncIterator[Bench]:
    """A server on a free port, whose plant runs on a clock that only the test moves."""
    heard: list[ControllerState] = []
    controller = SimulatedController(
        registers or load_register_map(), valve, clock=clock or Clock(), heard=heard.append
    )
    async with ControllerServer(controller) as server:
        await server.start(port=0)
        yield Bench(server, heard)
