"""A wire that breaks: forwards Modbus frames between a client and a server, and spoils answers."""

import asyncio
import struct
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Self

from softgrasp.twin.modbus import Frame, FrameError, FrameReader

Fault = str
Plan = Callable[[], Fault]
"""Says what happens to the next answer."""

FINE = "fine"
FAULTS = (
    *("drop", "swallow", "late", "twice", "cut", "garbled header", "garbled function"),
    *("wrong transaction", "wrong unit", "wrong echo", "short", "long", "out of range"),
)
"""What can happen to an answer."""
QUICK_FAULTS = tuple(fault for fault in FAULTS if fault not in ("swallow", "late"))
"""Those after which the client need not wait for a time-out."""


def seeded(seed: int, part: float, faults: tuple[Fault, ...] = FAULTS) -> Plan:
    """Faults for a part of the answers, all kinds alike."""
    random = Random(seed)
    return lambda: random.choice(faults) if random.random() < part else FINE


def listed(*faults: Fault) -> Plan:
    """These faults one after the other, and none after them."""
    left = iter(faults)
    return lambda: next(left, FINE)


class FaultyProxy:
    """Stands between a client and a server, and counts what it does."""

    def __init__(self, host: str, port: int, plan: Plan) -> None:
        self.done: Counter[Fault] = Counter()
        self._to, self._plan = (host, port), plan
        self._late: list[bytes] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    @property
    def port(self) -> int:
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, stream: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._late = []
        device = None
        try:
            back, device = await asyncio.open_connection(*self._to)
            requests, answers = FrameReader(stream), FrameReader(back)
            while True:
                device.write((await requests.read()).encoded())
                answer = await answers.read()
                fault = self._plan()
                self.done[fault] += 1
                if not await self._forward(client, answer, fault):
                    break
        except (OSError, EOFError, FrameError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            client.transport.abort()
            if device is not None:
                device.transport.abort()

    async def _forward(self, client: asyncio.StreamWriter, answer: Frame, fault: Fault) -> bool:
        """Send an answer on, spoilt; False: the connection is closed behind it."""
        if fault == "late":
            self._late.append(answer.encoded())
            return True
        if fault in ("drop", "swallow"):
            return fault == "swallow"
        client.write(b"".join(self._late) + spoilt(answer, fault))
        self._late = []
        await client.drain()
        if fault == "cut":
            client.close()
            await client.wait_closed()
            return False
        return True


def spoilt(answer: Frame, fault: Fault) -> bytes:
    """The bytes of an answer after something has happened to it."""
    whole = answer.encoded()
    match fault:
        case "twice":
            return whole + whole
        case "cut":
            return whole[:-2]
        case "garbled header":
            return whole[:2] + b"\xde\xad" + whole[4:]
        case "garbled function":
            return whole[:7] + bytes([whole[7] ^ 0x15]) + whole[8:]
        case "wrong transaction":
            return answer._replace(transaction=(answer.transaction + 999) % 0x10000).encoded()
        case "wrong unit":
            return answer._replace(unit=answer.unit ^ 2).encoded()
        case "wrong echo" if answer.pdu[0] == 16:
            return answer._replace(pdu=answer.pdu[:-1] + bytes([answer.pdu[-1] ^ 1])).encoded()
        case "short":
            return answer._replace(pdu=answer.pdu[:-1]).encoded()
        case "long":
            return answer._replace(pdu=answer.pdu + b"\0\0").encoded()
        case "out of range" if answer.pdu[0] == 3:
            return answer._replace(pdu=answer.pdu[:-2] + struct.pack(">h", 0x7FFF)).encoded()
        case _:
            return whole


@asynccontextmanager
async def faulty(address: tuple[str, int], plan: Plan) -> AsyncIterator[FaultyProxy]:
    """A proxy in front of an address."""
    proxy = await FaultyProxy(*address, plan).start()
    try:
        yield proxy
    finally:
        await proxy.close()
