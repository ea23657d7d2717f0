"""Flange poses over HTTP: the same as in the robot, and a sentence for all that can go wrong."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.errors import (
    BadAnswerError,
    ConnectionLostError,
    DeviceError,
    RequestRefusedError,
    StaleDataError,
)
from softgrasp.twin.description import CartesianFields, HttpFlange
from softgrasp.twin.flange_server import RobotServer
from softgrasp.twin.flange_streams import (
    MAX_BYTES,
    HttpStream,
    ManualClock,
    cartesian_document,
    sample_of,
)
from tests.twin.robots import Talk, answers, apart, finished, first, listening, robot

TIMED = CartesianFields(time="time")
FEW = settings(max_examples=50)
HERE = "http://robot/pose"


def body(time: float, **changes: object) -> bytes:
    """An answer that holds the pose of the robot at a time, or something else."""
    document = cartesian_document(robot().sample_at(time))
    document["_embedded"]["_state"][0] |= changes
    return json.dumps(document).encode()


def source(port: int, **changes: object) -> HttpFlange:
    settings = {"timeout": 10.0, "stale_after": 0.5, "pause": 0.1, "rate": 50.0} | changes
    return HttpFlange(url=f"http://127.0.0.1:{port}/pose", **settings)


async def all_of(stream: HttpStream) -> list[sg.FlangeSample]:
    return [sample async for sample in stream]


def told_by(talk: Talk, **changes: object) -> tuple[DeviceError, HttpStream, str]:
    """What a stream says of a server that talks so, the stream, and its address."""

    async def run() -> tuple[DeviceError, HttpStream, str]:
        server, port = await listening(talk)
        async with server, HttpStream(source(port, **changes), ManualClock()) as stream:
            with pytest.raises(DeviceError) as message:
                await all_of(stream)
            return message.value, stream, stream.source.url

    return finished(run())


def test_poses_over_http_are_those_of_the_robot_to_the_printed_digits() -> None:
    async def run() -> list[sg.FlangeSample]:
        clock = ManualClock()
        async with RobotServer(robot(), port=0, rate=50.0, clock=clock) as server:
            wire = HttpFlange(url=server.url, rate=50.0, timeout=10.0, fields=TIMED)
            return await first(HttpStream(wire, clock), 30)

    samples = finished(run())
    assert [sample.time for sample in samples] == pytest.approx([0.02 * i for i in range(30)])
    for sample in samples:
        time, position, quaternion = apart(sample, robot().sample_at(sample.time))
        assert time == 0.0
        assert position < 1e-9
        assert quaternion < 1.5e-9


def test_without_a_key_the_time_is_that_of_the_clock() -> None:
    async def run() -> list[sg.FlangeSample]:
        server, port = await listening(answers([body(1.0)]))
        async with server:
            return await first(HttpStream(source(port, rate=10.0), ManualClock(7.0)), 3)

    # a robot that stands gives the same pose again: that is no stale one
    assert [sample.time for sample in finished(run())] == pytest.approx([7.0, 7.1, 7.2])


def test_one_connection_is_kept_for_all_questions() -> None:
    made = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.append(1)
        await answers([body(1.0)])(reader, writer)

    async def run() -> None:
        server, port = await listening(talk)
        async with server:
            await first(HttpStream(source(port), ManualClock()), 10)

    finished(run())
    assert made == [1]


def test_a_lost_connection_is_made_anew() -> None:
    left = [2, 3, 100]

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(left.pop(0)):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body(1.0)))
            writer.write(body(1.0))
            await writer.drain()

    async def run() -> HttpStream:
        server, port = await listening(talk)
        async with server:
            stream = HttpStream(source(port), ManualClock())
            assert len(await first(stream, 10)) == 10
            return stream

    assert finished(run()).counts.reconnected == 2


def test_a_stream_that_has_given_up_may_be_asked_again() -> None:
    well: list[bool] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answers([body(1.0)], "200 OK" if well else "503 Busy")(reader, writer)

    async def run() -> None:
        server, port = await listening(talk)
        async with server, HttpStream(source(port), ManualClock()) as stream:
            with pytest.raises(ConnectionLostError, match="503"):
                await anext(stream)
            well.append(True)
            stream._connection.close()
            assert (await anext(stream)).position == pytest.approx(robot().sample_at(1.0).position)

    finished(run())


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"q1": "2"}, "of norm 1 within 0.001, found"),
        ({"x": "near"}, "x: expected a number, found 'near'"),
        ({"x": "nan"}, "x: expected a number, found 'nan'"),
        ({"x": None}, "x: expected a number, found None"),
        ({"x": [1]}, "x: expected a number, found [1]"),
    ],
)
def test_a_value_that_is_none_names_address_and_key(
    changes: dict[str, object], sentence: str
) -> None:
    error, stream, url = told_by(answers([body(1.0, **changes)]))
    assert isinstance(error, BadAnswerError)
    assert str(error).startswith(f"{url}: ")
    assert sentence in str(error)
    assert stream.counts.refused == 1


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"<html/>", "expected a JSON object, found: Expecting value"),
        (b"[1]", "expected a JSON object, found [1]"),
        (b"{}", "_embedded: expected it in the answer, found none"),
        (b'{"_embedded": {"_state": []}}', "_embedded._state[0]: expected it in the answer, found"),
        (b'{"_embedded": {"_state": {"0": 1}}}', "_embedded._state[0]: expected it in the answer"),
        (b'{"_embedded": {"_state": [3]}}', "_embedded._state[0]: expected a JSON object, found 3"),
        (b'{"_embedded": {"_state": [{"y": 1}]}}', "x: expected a number, found no such key among"
         " 'y'"),
        (b"\xff\xfe", "expected a JSON object, found: "),
    ],
)  # fmt: skip
def test_wrong_content_is_told(answer: bytes, sentence: str) -> None:
    with pytest.raises(BadAnswerError) as message:
        sample_of(answer, 0.0, HERE)
    assert str(message.value).startswith(f"{HERE}: {sentence}")


@FEW
@given(st.binary(max_size=100) | st.text(max_size=50).map(str.encode))
def test_any_answer_gives_a_sentence(answer: bytes) -> None:
    with pytest.raises(BadAnswerError, match=HERE):
        sample_of(answer, 0.0, HERE)


def test_another_layout_is_only_data() -> None:
    fields = CartesianFields(
        state=("poses", 1, "flange"), position=("px", "py", "pz"),
        quaternion=("w", "a", "b", "c"), length=1.0, time="t",
    )  # fmt: skip
    state = {"px": 1, "py": 2, "pz": 3.5, "w": 0, "a": 1, "b": 0, "c": 0, "t": 8}
    result = sample_of(json.dumps({"poses": [{}, {"flange": state}]}).encode(), 0.0, HERE, fields)
    assert result == sg.FlangeSample(
        time=8.0, position=(1.0, 2.0, 3.5), quaternion=(0.0, 1.0, 0.0, 0.0)
    )


@pytest.mark.parametrize(
    ("status", "kind", "sentence"),
    [
        ("401 Unauthorized", RequestRefusedError, "expected HTTP status 200, found 401 "
         "Unauthorized; it wants a token"),
        ("404 Not Found", RequestRefusedError, "expected HTTP status 200, found 404 Not Found"),
        ("503 Busy", ConnectionLostError, "expected an answer, found HTTP status 503 Busy"),
    ],
)  # fmt: skip
def test_http_errors(status: str, kind: type, sentence: str) -> None:
    error, stream, url = told_by(answers([b"{}"], status))
    assert type(error) is kind
    assert str(error) == f"{url}: {sentence}"
    waited = stream.clock.now()
    assert waited == (pytest.approx(0.5, abs=0.15) if kind is ConnectionLostError else 0.0)


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def garbage(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"\x00\xff not a word of HTTP\r\n\r\n")
    await writer.drain()


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Each byte comes in time, and the answer never ends."""
    writer.write(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("talk", [silent, drip])
def test_no_answer_in_time(talk: Talk) -> None:
    error, _, url = told_by(talk, timeout=0.1, stale_after=0.1)
    assert type(error) is ConnectionLostError
    assert str(error) == f"{url}: expected an answer within 0.1 s, found none"


def test_an_answer_that_is_none() -> None:
    error, _, url = told_by(garbage)
    assert type(error) is ConnectionLostError
    assert str(error).startswith(f"{url}: expected an answer, found: ")


def test_an_answer_that_is_too_long() -> None:
    error, _, url = told_by(answers([b" " * (MAX_BYTES + 1)]))
    assert str(error) == f"{url}: expected an answer of at most 65536 bytes, found more"


def test_nobody_there() -> None:
    async def run() -> None:
        server, port = await listening(silent)
        server.close()
        await server.wait_closed()
        async with HttpStream(source(port), ManualClock()) as stream:
            with pytest.raises(ConnectionLostError, match="expected an answer, found: "):
                await anext(stream)

    finished(run())


def test_a_robot_whose_time_stands_is_stale() -> None:
    bodies = [body(2.0), body(2.1), body(2.0), body(2.1)]
    error, stream, url = told_by(answers(bodies), fields=TIMED, rate=10.0)
    assert type(error) is StaleDataError
    assert str(error) == (
        f"{url}: expected a new pose within 0.5 s, found that of time 2.1 s and none after 2.1 s"
    )
    assert stream.counts.samples == 2
    assert stream.counts.late == 1
    assert stream.counts.twice >= 3
