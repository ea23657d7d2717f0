"""A pneumatic controller from scratch, with the registers of the default map and with faults.

It shares no code with softgrasp: it makes frames by ``struct``, on a socket or in memory.
"""

import asyncio
import math
import random
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from softgrasp.errors import ConnectionLostError
from softgrasp.twin.modbus import LinkCounts
from softgrasp.twin.pneumatic_controller import ControllerClient
from tests.twin.twins import light_twin

TAU, LEAK = 0.15, 20.0
"""Time constant of the valve, and of one that is clogged [s]."""
COUNT = 100.0
"""One count of a pressure [Pa]."""
FAULTS = (
    "drops", "drops now and then", "is busy", "fails reads", "fails writes", "out of range",
    "noise", "stuck", "clogged", "ignores triggers", "lies about triggers", "ignores targets",
)  # fmt: skip


class FaultyController:
    """Registers 0 to 5, a valve behind them, and what is wrong with them now."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._time, self._pressure = clock, clock(), 0.0
        self._random = random.Random(1)
        self.registers = [0] * 6
        self.valve = [0] * 4
        """Triggers and targets on which the valve acts; those shown may be others."""
        self.faults: set[str] = set()
        self.stuck_at: float | None = None
        """Pressure to which a stuck valve goes; None: the one it has [Pa]."""
        self.writes: list[tuple[float, int, int]] = []

    @property
    def pressure(self) -> float:
        """Pressure in the fingers [Pa]."""
        now = self._clock()
        positive, negative, high, low = self.valve
        goal = COUNT * (high if positive and not negative else low if negative > positive else 0)
        if "stuck" in self.faults:
            goal = self._pressure if self.stuck_at is None else self.stuck_at
        tau = LEAK if "clogged" in self.faults and abs(goal) < abs(self._pressure) else TAU
        self._pressure = goal + (self._pressure - goal) * math.exp((self._time - now) / tau)
        self._time = now
        return self._pressure

    @property
    def vented(self) -> bool:
        """Whether the gripper is without pressure, within that of the sensor's faults."""
        return abs(self.pressure) < 2.5e3

    def set(self, **values: int) -> None:
        """Change registers and valve as another master does, in counts."""
        names = ("positive_on", "negative_on", "positive_target", "negative_target")
        for name, value in values.items():
            self._write(names.index(name), value)

    def reboot(self, *, on: bool) -> None:
        """Start again, with all triggers off or with 120 kPa."""
        self.set(positive_on=int(on), negative_on=0, positive_target=1200 * on, negative_target=0)

    def answer(self, pdu: bytes) -> bytes | None:
        """Answer a request; None: the connection is cut."""
        reads = pdu[0] == 3
        now_and_then = "drops now and then" in self.faults and self._random.random() < 0.4
        if "drops" in self.faults or now_and_then:
            return None
        if "is busy" in self.faults or ("fails writes" in self.faults and not reads):
            return bytes([pdu[0] | 0x80, 6])
        if "fails reads" in self.faults and reads:
            return bytes([pdu[0] | 0x80, 4])
        address, count = struct.unpack(">HH", pdu[1:5])
        if reads:
            words = [*self.registers[:4], self._sensor(), self.registers[5]]
            return struct.pack(f">BB{count}h", 3, 2 * count, *words[address : address + count])
        for k, word in enumerate(struct.unpack(f">{count}h", pdu[6:])):
            self._heard(address + k, word)
        return pdu[:5]

    def _sensor(self) -> int:
        pressure = self.pressure
        if "out of range" in self.faults:
            return 1350
        if "noise" in self.faults:
            pressure *= 1.0 + self._random.uniform(-0.15, 0.15)
        return round(pressure / COUNT)

    def _heard(self, address: int, word: int) -> None:
        self.writes.append((self._clock(), address, word))
        if address in (0, 1) and "ignores triggers" in self.faults:
            return
        if address in (2, 3) and "ignores targets" in self.faults:
            return
        if address in (0, 1) and "lies about triggers" in self.faults:
            self.registers[address] = word
            return
        self._write(address, word)

    def _write(self, address: int, word: int) -> None:
        _ = self.pressure  # up to now with the values before
        self.registers[address] = word
        if address < 4:
            self.valve[address] = word


class MemoryWire:
    """A link to a controller in this process."""

    def __init__(self, device: FaultyController) -> None:
        self.device, self.counts = device, LinkCounts()

    async def ask(self, unit: int, pdu: bytes, take: Callable[[bytes], Any]) -> Any:
        answer = self.device.answer(pdu)
        if answer is None:
            raise ConnectionLostError("memory: expected an answer, found: the wire is cut")
        self.counts.connections = 1
        return take(answer)

    async def close(self) -> None:
        """There is nothing to close."""


def memory_client(device: FaultyController, clock: Callable[[], float]) -> ControllerClient:
    """A client of a controller in this process."""
    return ControllerClient(light_twin().controller.map, MemoryWire(device), clock=clock)


@asynccontextmanager
async def on_a_socket(device: FaultyController, port: int = 0) -> AsyncIterator[int]:
    """Serve a controller on a socket of this machine; yield its port."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                transaction, _, length, unit = struct.unpack(">HHHB", await reader.readexactly(7))
                answer = device.answer(await reader.readexactly(length - 1))
                if answer is None:
                    break
                head = struct.pack(">HHHB", transaction, 0, len(answer) + 1, unit)
                writer.write(head + answer)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(converse, "127.0.0.1", port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
