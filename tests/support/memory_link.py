"""A link without a wire."""

from pymodbus.pdu import DecodePDU

from softgrasp.twin.modbus import LinkCounts, T, Take, pdu_bytes
from softgrasp.twin.modbus_server import ControllerRegisters
from softgrasp.twin.pneumatic_controller import SimulatedController


class MemoryLink:
    """A device in this process, without any wire: for time that runs faster than ours."""

    def __init__(self, controller: SimulatedController) -> None:
        self.counts = LinkCounts()
        self.controller = controller

    async def ask(self, unit: int, pdu: bytes, take: Take[T]) -> T:
        """Ask, and make something of the answer."""
        self.counts.connections = 1
        self.counts.requests += 1
        request = DecodePDU(True).decode(pdu)
        answer = take(
            pdu_bytes(await request.datastore_update(ControllerRegisters(self.controller), unit))
        )
        self.counts.answers += 1
        return answer

    async def close(self) -> None:
        """There is nothing to close."""
