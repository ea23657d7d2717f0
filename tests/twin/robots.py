"""What the tests of flange poses share."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import cache
from typing import Any, TypeVar

import softgrasp as sg
from softgrasp.twin.description import FlangeSample
from softgrasp.twin.flange_streams import FlangeStream

T = TypeVar("T")
LONGEST = 20.0
"""No test waits longer for the other end of a wire [s]."""


@cache
def program() -> sg.description.RobotProgram:
    return sg.twin.load_robot_program("pick_and_place")


@cache
def robot() -> sg.twin.SimulatedRobot:
    """The robot of the shipped program; it has no state."""
    return sg.twin.SimulatedRobot(program())


def finished(work: Coroutine[Any, Any, T]) -> T:
    """What work in its own loop gives."""

    async def bounded() -> T:
        async with asyncio.timeout(LONGEST):
            return await work

    return asyncio.run(bounded())


async def first(stream: FlangeStream, count: int) -> list[FlangeSample]:
    """The first samples of a stream, which is closed then."""
    async with stream:
        return [await anext(stream) for _ in range(count)]


def apart(first: FlangeSample, second: FlangeSample) -> tuple[float, float, float]:
    """Differences of two samples: time [s], position [m], quaternion up to its sign."""
    sign = math.copysign(
        1.0, sum(a * b for a, b in zip(first.quaternion, second.quaternion, strict=True))
    )
    return (
        abs(first.time - second.time),
        math.dist(first.position, second.position),
        math.dist(first.quaternion, [sign * part for part in second.quaternion]),
    )


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def listening(talk: Talk) -> tuple[asyncio.Server, int]:
    """A server on loopback that talks as it is reported, and its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except (OSError, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


def answers(bodies: Sequence[bytes], status: str = "200 OK") -> Talk:
    """Answers the requests of a connection with one body after the other, then with the last."""
    left = list(bodies)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            body = left.pop(0) if len(left) > 1 else left[0]
            head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            await writer.drain()

    return talk
