"""Clients of softgrasp and of pymodbus, for the cases in which softgrasp keeps its own.

Where a test of pymodbus fails, pymodbus has improved: compare again and use it there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import pytest
from pymodbus.client import AsyncModbusTcpClient
from pymodbus.exceptions import ModbusException

from softgrasp.errors import DeviceError
from softgrasp.twin.modbus import HEADER, Frame, TcpLink, read_request, words_in
from tests.twin.controllers import PATIENCE

READ = read_request("holding", 0, 2)
SILENCE = 0.3
"""Time after which no further answer is expected [s]."""


@pytest.mark.parametrize(
    "answer",
    [
        lambda number: Frame(0, 1, b"\x03\x04\0\1\0\2"),
        lambda number: Frame(number, 1, b"\x04\x04\0\1\0\2"),
        lambda number: Frame(number, 1, b"\x03\x02\0\1"),
        lambda number: Frame(number, 1, b"\x03\x06\0\1\0\2\0\3"),
    ],
    ids=["transaction 0", "another function", "short", "long"],
)
def test_a_client_refuses_answers_to_other_requests(answer: Callable[[int], Frame]) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                transaction, _, length, _ = HEADER.unpack(await reader.readexactly(HEADER.size))
                await reader.readexactly(length - 1)
                writer.write(answer(transaction).encoded())
        writer.close()

    async def run() -> tuple[bool, bool]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        link = TcpLink("127.0.0.1", port, timeout=SILENCE, attempts=1)
        try:
            await link.ask(1, READ, lambda pdu: words_in(pdu, "holding", 2))
            accepted = True
        except DeviceError:
            accepted = False
        await link.close()
        other = AsyncModbusTcpClient("127.0.0.1", port=port, timeout=SILENCE, retries=0)
        await other.connect()
        try:
            accepted_there = not (await other.read_holding_registers(0, count=2)).isError()
        except ModbusException:
            accepted_there = False
        other.close()
        server.close()
        return accepted, accepted_there

    assert asyncio.run(asyncio.wait_for(run(), PATIENCE)) == (False, True)
