"""Hostile bytes move no value beyond its limits, and end no server; all on loopback."""

import asyncio
from random import Random

import pytest
from pymodbus.pdu import DecodePDU

from softgrasp.twin.files import load_register_map
from softgrasp.twin.modbus_server import KINDS, ControllerRegisters
from softgrasp.twin.pneumatic_controller import ControllerState, SimulatedController
from tests.twin.controllers import PATIENCE, Clock, odd_map, rig
from tests.twin.hostile import assault, pdu_of


def inside(heard: list[ControllerState]) -> bool:
    return all(
        0 <= item.positive_target <= 120e3 and -90e3 <= item.negative_target <= 0 for item in heard
    )


def test_the_server_survives_five_hundred_hostile_messages():
    async def talk() -> None:
        async with rig() as there, there.client() as client:
            await assault(there.server.address, 500, seed=1)
            await client.set_targets(positive=30e3, negative=-30e3)
            assert (await client.read())[3:5] == (30e3, -30e3)
            assert client.counts.connections == 1
            assert inside(there.heard)

    asyncio.run(asyncio.wait_for(talk(), 60))


@pytest.mark.parametrize("registers", [load_register_map(), odd_map()], ids=["default", "odd"])
def test_no_request_leaves_the_limits(registers):
    heard: list[ControllerState] = []
    device = ControllerRegisters(SimulatedController(registers, clock=Clock(), heard=heard.append))
    random, decoder = Random(4), DecodePDU(True)

    async def talk() -> int:
        answered = 0
        for _ in range(4000):
            request = decoder.decode(pdu_of(random))
            if request is not None and request.function_code in KINDS:
                answer = await request.datastore_update(device, registers.device_id)
                assert answer.function_code & 0x7F == request.function_code
                answered += 1
        return answered

    answered = asyncio.run(talk())
    assert answered > 1000
    assert len(heard) > 10
    assert inside(heard)


def test_closing_closes_every_connection():
    async def talk() -> None:
        async with rig() as there:
            streams = [await asyncio.open_connection(*there.server.address) for _ in range(5)]
            async with there.client() as client:
                await client.read()
        for stream, writer in streams:
            assert await stream.read(-1) == b""
            writer.close()
        await there.server.close()

    asyncio.run(asyncio.wait_for(talk(), PATIENCE))
