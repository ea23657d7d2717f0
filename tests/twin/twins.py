"""A twin without wires and waiting: its controller in memory, its clock moved by the loop."""

from collections.abc import Callable
from typing import Any

from softgrasp.errors import ConnectionLostError
from softgrasp.twin.description import Twin
from softgrasp.twin.files import load_twin
from softgrasp.twin.flange_streams import LatestPose, open_flange
from softgrasp.twin.loop import TwinLoop
from softgrasp.twin.pneumatic_controller import ControllerClient, SimulatedController
from softgrasp.twin.record import TwinRow
from tests.support.memory_link import MemoryLink
from tests.twin.clock import ManualClock

Broken = Callable[[float], bool]


class BreakingLink(MemoryLink):
    """A wire that is cut at some times."""

    def __init__(self, controller: SimulatedController, clock: ManualClock, broken: Broken) -> None:
        super().__init__(controller)
        self._clock, self._broken = clock, broken

    async def ask(self, unit: int, pdu: bytes, take: Any) -> Any:
        if self._broken(self._clock.now()):
            raise ConnectionLostError("memory: expected an answer, found: the wire is cut")
        return await super().ask(unit, pdu, take)


def is_stop(pdu: bytes) -> bool:
    """Whether a request writes to the triggers, the first two registers of the default map."""
    return pdu[0] in (6, 16) and pdu[1:3] == b"\0\0"


class Bench:
    """A loop and what stands around it."""

    def __init__(
        self,
        twin: Twin | None = None,
        broken: Broken = lambda time: False,
        settling: Any = None,
        **controller: Any,
    ) -> None:
        self.twin = twin or light_twin()
        self.clock = ManualClock()
        self.commands: list[Any] = []
        self.controller = SimulatedController(
            self.twin.controller.map, clock=self.clock.now, heard=self.commands.append, **controller
        )
        link = BreakingLink(self.controller, self.clock, broken)
        self.client = ControllerClient(self.twin.controller.map, link, clock=self.clock.now)
        self.rows: list[TwinRow] = []
        self.pose = LatestPose(open_flange(self.twin.flange, clock=self.clock))
        self.loop = TwinLoop(self.twin, self.client, self.pose, settling=settling, clock=self.clock)
        self.loop.keep(self.rows.append)

    async def run(self, rotations: int) -> list[TwinRow]:
        async with self.pose:
            await self.loop.run(rotations)
        return self.rows

    @property
    def events(self) -> list[str]:
        return [event for row in self.rows for event in row.events]


def light_twin() -> Twin:
    return load_twin().replace(dynamics=None)
