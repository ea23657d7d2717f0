"""The Modbus server keeps serving after hostile input; all on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from pathlib import Path
from random import Random

import pytest

from softgrasp.twin.connections import ConnectionLimits
from softgrasp.twin.files import load_register_map
from softgrasp.twin.modbus import Frame
from softgrasp.twin.modbus_server import Session
from softgrasp.twin.pneumatic_controller import (
    ControllerState,
    SimulatedController,
    connect_controller,
)
from tests.twin.controllers import PATIENCE, Clock, odd_map, rig
from tests.twin.hostile import assault, check_answers, pdu_of, sent
from tests.twin.serving import serving

READ_ALL = Frame(1, 1, b"\x03\x00\x00\x00\x05").encoded()


def inside(heard: list[ControllerState]) -> bool:
    return all(
        0 <= one.positive_target <= 120e3 and -90e3 <= one.negative_target <= 0 for one in heard
    )


def test_the_server_survives_five_hundred_hostile_messages(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def talk() -> None:
        async with rig() as there, there.client() as client:
            assert await assault(there.server.address, 500, seed=1) > 250
            await client.set_targets(positive=30e3, negative=-30e3)
            assert (await client.read())[3:5] == (30e3, -30e3)
            assert there.server.counts.malformed > 50
            assert len(there.heard) > 1
            assert inside(there.heard)

    with caplog.at_level(logging.WARNING):
        asyncio.run(asyncio.wait_for(talk(), 60))
    assert [one for one in caplog.records if one.name.startswith(("softgrasp", "pymodbus"))] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20, 21])
def test_the_process_survives_ten_thousand_hostile_messages(seed: int) -> None:
    with serving("--port", "0") as there:

        async def talk() -> tuple[int, int, int]:
            async with connect_controller("127.0.0.1", there.port, load_register_map()) as client:
                await assault(("127.0.0.1", there.port), 500, seed=seed + 1000)
                before = resident(there.process.pid)
                frames = await assault(("127.0.0.1", there.port), 10_000, seed=seed)
                await client.set_targets(positive=30e3, negative=-30e3)
                assert (await client.read())[3:5] == (30e3, -30e3)
                assert client.counts.connections == 1
                return frames, before, resident(there.process.pid)

        frames, before, after = asyncio.run(asyncio.wait_for(talk(), 300))
        assert frames > 5000
        assert after - before < 4 * 2**20
        assert there.stop() == 0
        assert there.errors() == ""


def resident(process: int) -> int:
    """Memory of a process [B]."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.parametrize("registers", [load_register_map(), odd_map()], ids=["default", "odd"])
def test_every_request_has_an_answer_that_belongs_to_it(registers: object) -> None:
    heard: list[ControllerState] = []
    controller = SimulatedController(registers, clock=Clock(), heard=heard.append)
    session = Session(controller)
    random = Random(4)

    async def talk() -> None:
        for k in range(4000):
            pdu = pdu_of(random)
            answer = await session.answer(registers.device_id, pdu)
            request = Frame(k, registers.device_id, pdu)
            check_answers([request.encoded()], request._replace(pdu=answer).encoded())

    asyncio.run(talk())
    assert inside(heard)


def test_several_requests_in_one_packet_are_all_answered() -> None:
    async def talk() -> None:
        async with rig() as there:
            answers = await sent(there.server.address, READ_ALL * 20, Random(1))
            assert len(answers) == 20 * (7 + 2 + 10)

    asyncio.run(talk())


def test_half_open_connections_do_not_block_others() -> None:
    async def talk() -> None:
        limits = ConnectionLimits(total=8)
        async with rig(limits=limits) as there, there.client() as client:
            strangers = []
            for k in range(60):
                stream, writer = await asyncio.open_connection(*there.server.address)
                writer.write(READ_ALL[: k % 12])
                strangers.append((stream, writer))
                await client.read()
                assert there.server.open_connections <= 8
            assert client.counts.connections == 1
            assert there.server.counts.displaced == 60 + 1 - 8
            for _, writer in strangers:
                writer.transport.abort()

    asyncio.run(asyncio.wait_for(talk(), PATIENCE))


@pytest.mark.parametrize("kind", ["silent", "speaking"])
def test_a_burst_of_connections_disturbs_no_client_at_work(kind: str) -> None:
    async def talk() -> None:
        async with rig() as there, there.client() as client:
            await client.read()
            ends = [asyncio.open_connection(*there.server.address) for _ in range(500)]
            opened = asyncio.gather(*ends)
            while not opened.done():
                await client.read()
            burst = await opened
            if kind == "speaking":
                for _, writer in burst:
                    writer.write(READ_ALL)
            for _ in range(20):
                await client.read()
            async with there.client() as newcomer:  # 70 silent ones refused everybody before
                for _ in range(5):
                    await newcomer.read()
                assert newcomer.counts.connections == 1
            assert client.counts.connections == 1
            assert client.counts.timeouts == 0
            for _, writer in burst:
                writer.transport.abort()

    asyncio.run(asyncio.wait_for(talk(), PATIENCE))


@pytest.mark.parametrize("begun", [b"", READ_ALL[:5], READ_ALL[:9], READ_ALL + b"\x00"])
def test_a_silent_connection_is_closed(begun: bytes) -> None:
    async def talk() -> None:
        async with rig(idle_timeout=0.3) as there:
            stream, writer = await asyncio.open_connection(*there.server.address)
            writer.write(begun)
            answers = await stream.read(-1)
            assert len(answers) == (19 if len(begun) > 12 else 0)
            writer.close()
            assert there.server.counts.idle == 1
            assert there.server.open_connections == 0

    asyncio.run(asyncio.wait_for(talk(), PATIENCE))


def test_a_client_that_does_not_read_uses_no_memory() -> None:
    async def talk() -> None:
        async with rig(idle_timeout=0.5) as there:
            deaf = socket.socket()
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(there.server.address)
            deaf.setblocking(False)
            data, sent_bytes, largest = READ_ALL * 500, 0, 0
            with deaf:
                while there.server.counts.idle == 0:
                    with contextlib.suppress(BlockingIOError):
                        sent_bytes += deaf.send(data[sent_bytes % len(READ_ALL) :])
                    await asyncio.sleep(0)
                    for writer in there.server._open.values():
                        largest = max(largest, writer.transport.get_write_buffer_size())
            assert 0 < largest < 4096
            assert there.server.open_connections == 0

    asyncio.run(asyncio.wait_for(talk(), 3 * PATIENCE))


def test_closing_closes_every_connection() -> None:
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
