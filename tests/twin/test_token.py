"""The token for writing: challenge, replay, and listening addresses."""

from __future__ import annotations

import asyncio

import pytest
from pymodbus.client import AsyncModbusTcpClient

from softgrasp.errors import DescriptionError, RequestRefusedError
from tests.twin.controllers import Clock, rig

TOKEN = "a token for tests"


def test_writing_needs_a_token() -> None:
    async def talk() -> None:
        async with rig(token=TOKEN) as there:
            async with there.client() as stranger:
                await stranger.read()
                with pytest.raises(RequestRefusedError, match=r"or not in its present state"):
                    await stranger.trigger(positive=True)
            async with there.client(token="another token") as wrong:
                with pytest.raises(RequestRefusedError) as caught:
                    await wrong.read()
            assert str(caught.value) == (
                "token (holding 61440): expected acceptance by the controller, found: it is wrong"
            )
            assert there.heard == []
            async with there.client(token=TOKEN) as friend:
                await friend.trigger(positive=True)
                await friend.set_targets(positive=10e3)
            assert len(there.heard) == 2
            async with there.client() as next_stranger:
                with pytest.raises(RequestRefusedError):
                    await next_stranger.trigger(positive=False)

    asyncio.run(talk())


def test_a_recorded_handshake_is_useless_later() -> None:
    async def talk() -> None:
        async with rig(token=TOKEN) as there:
            host, port = there.server.address
            seen = []
            for _ in range(2):
                async with AsyncModbusTcpClient(host, port=port) as client:
                    seen.append((await client.read_holding_registers(61440, count=8)).registers)
            assert seen[0] != seen[1]
            async with AsyncModbusTcpClient(host, port=port, retries=0, timeout=5) as client:
                requested = set()
                for _ in range(3):
                    message = await client.read_holding_registers(61440, count=8)
                    requested.add(tuple(message.registers))
                    answer = await client.write_registers(61448, [1] * 16)
                    assert answer.exception_code == 3
                assert len(requested) == 3  # a challenge is for one answer only
                while client.connected:  # the server closes it after three
                    await asyncio.sleep(0)
            assert there.server.counts.locked_out == 1

    asyncio.run(asyncio.wait_for(talk(), 20))


def test_attempts_with_a_wrong_token_are_delayed() -> None:
    async def talk() -> None:
        clock = Clock()
        async with rig(token=TOKEN) as there:
            async with there.client(token="another token", sleep=clock.sleep) as wrong:
                for _ in range(3):
                    with pytest.raises(RequestRefusedError, match="it is wrong"):
                        await wrong.read()
            assert clock.slept == [0.0, 0.05, 0.1]
            assert there.heard == []

    asyncio.run(talk())


def test_a_token_for_a_server_without_one_is_reported() -> None:
    async def talk() -> None:
        async with rig() as there, there.client(token=TOKEN) as client:
            with pytest.raises(RequestRefusedError, match="no such register"):
                await client.read()

    asyncio.run(talk())


def test_a_remote_bind_needs_a_valid_token() -> None:
    async def talk(host: str) -> None:
        async with rig() as there:
            await there.server.start(host, 0)

    for host in ("0.0.0.0", "::", "192.0.2.1", "controller.example"):
        with pytest.raises(DescriptionError, match="host: expected a token"):
            asyncio.run(talk(host))

    async def short() -> None:
        async with rig(token="short"):
            pass

    with pytest.raises(DescriptionError, match="token: expected a token of 8 letters or more"):
        asyncio.run(short())
