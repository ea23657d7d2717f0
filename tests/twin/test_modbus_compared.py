"""Modbus of softgrasp and of pymodbus, for the cases in which softgrasp keeps its implementation.

Where a test of pymodbus fails, pymodbus has improved: compare again and use it there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest
from pymodbus.client import AsyncModbusTcpClient
from pymodbus.exceptions import ModbusException
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

from softgrasp.errors import DeviceError
from softgrasp.twin.modbus import HEADER, Frame, TcpLink, read_request, words_in
from tests.twin.controllers import PATIENCE, rig

READ = read_request("holding", 0, 2)
WORDS = [1, 2]
SILENCE = 0.3
"""Time after which no further answer is expected [s]."""
WRONG_HEADER = HEADER.pack(1, 7, len(READ) + 1, 1) + READ


async def answers(port: int, raw: bytes) -> int:
    """Number of answers to some bytes on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    received = b""
    with contextlib.suppress(TimeoutError):
        while data := await asyncio.wait_for(reader.read(1000), SILENCE):
            received += data
    writer.transport.abort()
    return len(received) // (HEADER.size + 2 + 2 * len(WORDS))


def frames(*transactions: int, unit: int = 1) -> bytes:
    return b"".join(Frame(number, unit, READ).encoded() for number in transactions)


@contextlib.asynccontextmanager
async def pymodbus_server() -> AsyncIterator[int]:
    device = SimDevice(1, [SimData(0, values=WORDS, datatype=DataType.REGISTERS)])
    server = ModbusTcpServer(device, address=("127.0.0.1", 0))
    await server.listen()
    try:
        yield server.transport.sockets[0].getsockname()[1]
    finally:
        await server.shutdown()


def test_several_requests_in_one_packet() -> None:
    async def run() -> tuple[int, int]:
        async with rig() as there, pymodbus_server() as port:
            raw = frames(1, 2, 3)
            return await answers(there.server.address[1], raw), await answers(port, raw)

    assert asyncio.run(run()) == (3, 1)


def test_after_a_wrong_header() -> None:
    """softgrasp closes the connection, so that a client reconnects; pymodbus never answers."""

    async def ends(port: int) -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(WRONG_HEADER + frames(2, 3))
        try:
            return await asyncio.wait_for(reader.read(1000), SILENCE) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        finally:
            writer.transport.abort()

    async def run() -> tuple[bool, bool]:
        async with rig() as there, pymodbus_server() as port:
            return await ends(there.server.address[1]), await ends(port)

    assert asyncio.run(run()) == (True, False)


@pytest.mark.parametrize("unit", [0, 255])
def test_units_of_the_device_itself(unit: int) -> None:
    async def run() -> tuple[int, int]:
        async with rig() as there, pymodbus_server() as port:
            raw = frames(1, unit=unit)
            return await answers(there.server.address[1], raw), await answers(port, raw)

    assert asyncio.run(run()) == (1, 0)


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
