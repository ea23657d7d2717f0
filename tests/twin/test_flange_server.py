"""The simulated robot on the wire: tokens, bounds, and garbage that it survives."""

from __future__ import annotations

import asyncio
import json
import math
import random
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.errors import ConnectionLostError, RequestRefusedError
from softgrasp.twin.description import CartesianFields, HttpFlange
from softgrasp.twin.flange_server import (
    CARTESIAN,
    HEALTH,
    JOINTS,
    MAX_HEAD,
    Head,
    RefusedRequest,
    RobotServer,
    ServerLimits,
    parse_head,
)
from softgrasp.twin.flange_streams import HttpStream, ManualClock
from tests.twin.robots import finished, first, robot

GET = b"GET %s HTTP/1.1\r\nHost: robot\r\n\r\n"
HEALTHY = GET % HEALTH.encode()


def served(**options: object) -> RobotServer:
    return RobotServer(robot(), port=0, **{"clock": ManualClock(), "rate": 50.0} | options)


async def ask(server: RobotServer, raw: bytes, *, leave: bool = True) -> bytes:
    """All that comes back for some bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(raw)
        if leave:
            writer.write_eof()
        return await reader.read()
    except ConnectionResetError:
        return b""  # it closed before it had read all
    finally:
        writer.transport.abort()


def parts(answer: bytes) -> tuple[int, dict[str, str], object]:
    """Status, headers and document of an answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first_line, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(first_line.split()[1]), headers, json.loads(body) if body else None


def requested(raw: bytes, **options: object) -> tuple[int, dict[str, str], object]:
    async def run() -> bytes:
        async with served(**options) as server:
            return await ask(server, raw)

    return parts(finished(run()))


def test_the_documents() -> None:
    async def run() -> list[bytes]:
        clock = ManualClock()
        async with served(clock=clock) as server:
            await clock.sleep(1.0199)  # the tick of 1.00 s is the last one
            return [await ask(server, GET % path.encode()) for path in (CARTESIAN, JOINTS, HEALTH)]

    pose, joints, health = (parts(answer) for answer in finished(run()))
    assert {pose[0], joints[0], health[0]} == {200}
    (state,) = pose[2]["_embedded"]["_state"]  # type: ignore[index]
    expected = robot().sample_at(1.0)
    assert state["_type"] == "ms-mechunit-cartesian"
    assert [float(state[key]) for key in "xyz"] == pytest.approx(
        [1000 * part for part in expected.position], abs=1e-6
    )
    assert [float(state[f"q{n}"]) for n in (1, 2, 3, 4)] == pytest.approx(
        expected.quaternion, abs=1e-9
    )
    assert state["time"] == "1.000000"
    (message,) = joints[2]["_embedded"]["_state"]  # type: ignore[index]
    angles = [math.degrees(angle) for angle in robot().joints_at(1.0)]
    assert [float(message[f"rax_{n}"]) for n in range(1, 7)] == pytest.approx(angles, abs=1e-8)
    assert health[2] == {"status": "ok", "arm": "irb120", "program": "pick_and_place", "time": 1.0}


def test_head_and_several_questions_on_one_connection() -> None:
    raw = HEALTHY.replace(b"GET", b"HEAD") + HEALTHY + HEALTHY.replace(b"1.1", b"1.0")
    answers = finished(_answers(raw))
    assert answers.count(b"HTTP/1.1 200 OK") == 3
    assert answers.count(b'"status": "ok"') == 2
    assert answers.count(b"Connection: close") == 1


async def _answers(raw: bytes) -> bytes:
    async with served() as server:
        return await ask(server, raw, leave=False)


@pytest.mark.parametrize(
    ("raw", "status", "sentence"),
    [
        (GET % b"/nothing", 404, "no document at /nothing"),
        (HEALTHY.replace(b"GET", b"POST"), 405, "expected GET or HEAD, found POST"),
        (b"hello\r\n\r\n", 400, "expected a line such as GET /health HTTP/1.1, found another"),
        (b"GET /health HTTP/2\r\n\r\n", 400, "expected a line such as GET /health HTTP/1.1, found "
         "another"),
        (b"GET /health HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 400, "expected a request without "
         "a body"),
        (b"GET /health HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 3\r\n\r\nabc", 400,
         "expected a request without a body"),
        (b"GET /health HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "expected a request "
         "without a body"),
        (b"GET /health HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", 400, "expected headers, found: "
         "got more than 100 headers"),
        (b"GET /health HTTP/1.1\r\nA: " + b"b" * MAX_HEAD + b"\r\n\r\n", 431, "expected a head of "
         "at most 8192 bytes, found more"),
    ],
)  # fmt: skip
def test_requests_that_are_refused(raw: bytes, status: int, sentence: str) -> None:
    result, headers, document = requested(raw)
    assert (result, document) == (status, {"error": sentence})
    assert headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("header", "status"),
    [("Bearer right-token", 200), ("bearer right-token", 200), ("Bearer wrong", 401),
     ("Bearer ", 401),
     ("Basic right-token", 401), ("right-token", 401), ("", 401), ("Bearer right-tok\xe9n", 401)],
)  # fmt: skip
def test_a_token(header: str, status: int) -> None:
    raw = f"GET {CARTESIAN} HTTP/1.1\r\nAuthorization: {header}\r\n\r\n".encode("latin-1")
    result, headers, _ = requested(raw, token="right-token")
    assert result == status
    assert ("WWW-Authenticate" in headers) is (status == 401)


def test_a_stream_shows_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_TOKEN", "right-token")

    async def run() -> None:
        clock = ManualClock()
        async with served(token="right-token", clock=clock) as server:
            source = HttpFlange(url=server.url, timeout=10.0, fields=CartesianFields(time="time"))
            knows = source.replace(token_variable="OUR_TOKEN")
            assert len(await first(sg.open_flange(knows, clock=clock), 3)) == 3
            with pytest.raises(RequestRefusedError, match="it wants a token"):
                await first(HttpStream(source, clock), 1)

    finished(run())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2"])
def test_other_machines_need_a_token(host: str) -> None:
    with pytest.raises(sg.DescriptionError) as message:
        served(host=host)
    assert str(message.value) == (
        f"expected a token for the address {host}, which other machines can reach, found none; "
        f"without a token listen on 127.0.0.1"
    )
    served(host=host, token="right-token")


@pytest.mark.parametrize("token", ["long\r\nenough", "länge genug", " long enough", "short"])
def test_tokens_that_are_none(token: str) -> None:
    with pytest.raises(sg.DescriptionError, match="expected a token of 8 visible ASCII letters"):
        served(token=token)


def test_an_address_that_is_taken() -> None:
    async def run() -> None:
        async with served() as server:
            with pytest.raises(ConnectionLostError) as message:
                await RobotServer(robot(), port=server.port).start()
            assert f"127.0.0.1:{server.port}: expected an address that is free" in str(
                message.value
            )

    finished(run())


def test_clients_that_are_slow_are_let_go_and_the_others_are_served() -> None:
    async def run() -> None:
        async with served(limits=ServerLimits(head_time=0.1)) as server:
            assert await ask(server, b"GET /hea", leave=False) == b""
            assert parts(await ask(server, HEALTHY))[0] == 200

    finished(run())


async def keep_asking(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(HEALTHY * 500)
        await writer.drain()
        await asyncio.sleep(0.01)


def test_a_client_that_does_not_read_is_let_go() -> None:
    async def run() -> None:
        async with served(limits=ServerLimits(answer_time=0.1)) as server:
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", server.port))
            _, writer = await asyncio.open_connection(sock=client, limit=1024)
            with pytest.raises(ConnectionError):
                await keep_asking(writer)
            assert not server._clients
            assert parts(await ask(server, HEALTHY))[0] == 200
            writer.transport.abort()

    finished(run())


def test_there_is_room_for_some_clients_only() -> None:
    async def run() -> None:
        async with served(limits=ServerLimits(connections=2)) as server:
            idle = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
            for reader, writer in idle:  # an answer shows that they are in
                writer.write(HEALTHY)
                await reader.readuntil(b"}")
            status, _, document = parts(await ask(server, b"", leave=False))
            assert (status, document) == (503, {"error": "too many connections"})
            for _, writer in idle:
                writer.transport.abort()
            while server._clients:
                await asyncio.sleep(0.001)
            assert parts(await ask(server, HEALTHY))[0] == 200

    finished(run())


def test_a_thousand_malformed_requests_and_it_keeps_serving() -> None:
    chance = random.Random(7)

    def malformed() -> bytes:
        raw = bytearray(HEALTHY)
        for _ in range(chance.randint(1, 6)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        return chance.choice([bytes(raw), chance.randbytes(chance.randint(0, 60))])

    async def run() -> None:
        async with served() as server:
            for _ in range(20):
                await asyncio.gather(*(ask(server, malformed()) for _ in range(25)))
            for _ in range(20):
                await ask(server, b"".join(malformed() for _ in range(25)))
            assert parts(await ask(server, HEALTHY))[0] == 200

    finished(run())


@given(st.binary(max_size=200), st.booleans())
def test_any_head_is_one_or_is_refused(raw: bytes, valid_line: bool) -> None:
    raw = (b"GET / HTTP/1.1\r\n" if valid_line else b"") + raw + b"\r\n\r\n"
    try:
        assert isinstance(parse_head(raw), Head)
    except RefusedRequest as error:
        refused = error.status
        assert refused in (400, 431)
