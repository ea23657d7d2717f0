"""Streams of flange poses: HTTP, replays, ticks, quaternion signs and closing."""

import asyncio
import itertools
import json
from functools import cache

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
from softgrasp.twin.description import CartesianFields, FileFlange, HttpFlange, SimulatedFlange
from softgrasp.twin.flange_streams import (
    MAX_BYTES,
    FlangeStream,
    HttpStream,
    ReplayStream,
    RobotStream,
    Ticks,
    cartesian_document,
    sample_of,
)
from softgrasp.twin.robot_server import RobotServer
from tests.twin.clock import ManualClock
from tests.twin.robots import Talk, answers, apart, finished, first, listening, program, robot

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


async def all_of(stream: HttpStream) -> list[sg.twin.FlangeSample]:
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


def test_poses_over_http_are_those_of_the_robot_to_the_printed_digits():
    async def run() -> list[sg.twin.FlangeSample]:
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


def test_without_a_key_the_time_is_that_of_the_clock():
    async def run() -> list[sg.twin.FlangeSample]:
        server, port = await listening(answers([body(1.0)]))
        async with server:
            return await first(HttpStream(source(port, rate=10.0), ManualClock(7.0)), 3)

    # a robot that stands gives the same pose again: that is no stale one
    assert [sample.time for sample in finished(run())] == pytest.approx([7.0, 7.1, 7.2])


def test_a_lost_connection_is_restored():
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


def test_a_failed_stream_may_be_read_again():
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
def test_an_invalid_value_names_address_and_key(changes, sentence):
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
        (b"{}", "_embedded: expected a value in the answer, found none"),
        (b'{"_embedded": {"_state": []}}', "_embedded._state[0]: expected a value in the"),
        (b'{"_embedded": {"_state": {"0": 1}}}', "_embedded._state[0]: expected a value in"),
        (b'{"_embedded": {"_state": [3]}}', "_embedded._state[0]: expected a JSON object, found 3"),
        (b'{"_embedded": {"_state": [{"y": 1}]}}', "x: expected a number, found no such key among"
         " 'y'"),
        (b"\xff\xfe", "expected a JSON object, found: "),
    ],
)  # fmt: skip
def test_wrong_content_is_reported(answer, sentence):
    with pytest.raises(BadAnswerError) as message:
        sample_of(answer, 0.0, HERE)
    assert str(message.value).startswith(f"{HERE}: {sentence}")


@FEW
@given(st.binary(max_size=100) | st.text(max_size=50).map(str.encode))
def test_any_answer_gives_a_sample_or_an_error(answer):
    with pytest.raises(BadAnswerError, match=HERE):
        sample_of(answer, 0.0, HERE)


def test_another_layout_of_the_document():
    fields = CartesianFields(
        state=("poses", 1, "flange"), position=("px", "py", "pz"),
        quaternion=("w", "a", "b", "c"), length=1.0, time="t",
    )  # fmt: skip
    state = {"px": 1, "py": 2, "pz": 3.5, "w": 0, "a": 1, "b": 0, "c": 0, "t": 8}
    result = sample_of(json.dumps({"poses": [{}, {"flange": state}]}).encode(), 0.0, HERE, fields)
    assert result == sg.twin.FlangeSample(
        time=8.0, position=(1.0, 2.0, 3.5), quaternion=(0.0, 1.0, 0.0, 0.0)
    )


@pytest.mark.parametrize(
    ("status", "kind", "sentence"),
    [
        ("401 Unauthorized", RequestRefusedError, "expected HTTP status 200, found 401 "
         "Unauthorized; it requires a token"),
        ("404 Not Found", RequestRefusedError, "expected HTTP status 200, found 404 Not Found"),
        ("503 <b>Busy</b>", ConnectionLostError, "expected an answer, found HTTP status 503 "
         "Service Unavailable"),
        ("299 <img src=x>", RequestRefusedError, "expected HTTP status 200, found 299"),
    ],
)  # fmt: skip
def test_http_errors(status, kind, sentence):
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
def test_no_answer_in_time(talk):
    error, _, url = told_by(talk, timeout=0.1, stale_after=0.1)
    assert type(error) is ConnectionLostError
    assert str(error) == f"{url}: expected an answer within 0.1 s, found none"


def test_an_invalid_answer():
    error, _, url = told_by(garbage)
    assert type(error) is ConnectionLostError
    assert str(error).startswith(f"{url}: expected an answer, found: ")


HOSTILE = "\x1b[2J<img src=x>" + "x" * 60_000


async def hostile_status(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(f"{HOSTILE}\r\n\r\n".encode())
    await writer.drain()


async def hostile_phrase(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(f"HTTP/1.1 404 {HOSTILE}\r\nContent-Length: 0\r\n\r\n".encode())
    await writer.drain()


@pytest.mark.parametrize(
    "talk",
    [
        hostile_status,
        hostile_phrase,
        answers([json.dumps({HOSTILE: 1}).encode()]),
        answers([json.dumps({"_embedded": {"_state": [{HOSTILE: 1}]}}).encode()]),
        answers([body(1.0, x=HOSTILE)]),
        answers([HOSTILE.encode()]),
    ],
)
def test_text_of_a_server_in_errors_is_short_and_printable(talk):
    error, _, url = told_by(talk)
    assert len(str(error)) < len(url) + 200
    assert str(error).isprintable()


def test_an_answer_that_is_too_long():
    error, _, url = told_by(answers([b" " * (MAX_BYTES + 1)]))
    assert str(error) == f"{url}: expected an answer of at most 65536 bytes, found more"


def test_no_server():
    async def run() -> None:
        server, port = await listening(silent)
        server.close()
        await server.wait_closed()
        async with HttpStream(source(port), ManualClock()) as stream:
            with pytest.raises(ConnectionLostError, match="expected an answer, found: "):
                await anext(stream)

    finished(run())


def test_a_robot_with_constant_time_is_stale():
    bodies = [body(2.0), body(2.1), body(2.0), body(2.1)]
    error, stream, url = told_by(answers(bodies), fields=TIMED, rate=10.0)
    assert type(error) is StaleDataError
    assert str(error) == (
        f"{url}: expected a new pose within 0.5 s, found that of time 2.1 s and none after 2.1 s"
    )
    assert stream.counts.samples == 2
    assert stream.counts.late == 1
    assert stream.counts.twice >= 3


FLANGE_STREAMS_FEW = settings(max_examples=25)


@cache
def record(count: int, step: float = 0.02, begin: float = 3.0) -> list[sg.twin.FlangeSample]:
    """Poses of the robot while it moves."""
    return [robot().sample_at(begin + step * index) for index in range(count)]


# rates


@FLANGE_STREAMS_FEW
@given(st.lists(st.floats(0.0, 0.05), min_size=1, max_size=60))
def test_ticks_stay_on_their_grid_for_any_workload(work):
    clock, rate = ManualClock(2.0), 50.0
    ticks = Ticks(clock, rate)

    async def run() -> list[float]:
        result = []
        for busy in work:
            result.append(await ticks.next())
            assert clock.now() == pytest.approx(result[-1])
            await clock.sleep(busy)
        return result

    positions = [(instant - 2.0) * rate for instant in finished(run())]
    assert positions == pytest.approx([round(position) for position in positions], abs=1e-6)
    assert all(after - before > 0.5 for before, after in itertools.pairwise(positions))
    assert ticks.missed == round(positions[-1]) - (len(positions) - 1)


# replays


def test_a_replay_waits_as_long_as_the_record_has():
    clock, samples = ManualClock(100.0), record(50)

    async def run() -> list[tuple[float, sg.twin.FlangeSample]]:
        return [(clock.now(), sample) async for sample in ReplayStream(samples, clock=clock)]

    result = finished(run())
    assert [time for time, _ in result] == pytest.approx([97.0 + item.time for item in samples])
    assert all(max(apart(item, two)) == 0.0 for (_, item), two in zip(result, samples, strict=True))


def test_a_fast_replay_does_not_wait_and_ends(tmp_path):
    sg.twin.save_flange_samples(record(20), tmp_path / "record.csv")
    clock = ManualClock()
    source = FileFlange(path="record.csv", pace="fast")

    async def run() -> int:
        stream = sg.twin.open_flange(source, directory=tmp_path, clock=clock)
        count = len([sample async for sample in stream])
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        assert stream.counts.samples == count
        return count

    assert finished(run()) == 20
    assert clock.now() == 0.0


@FLANGE_STREAMS_FEW
@given(st.lists(st.booleans(), min_size=2, max_size=40))
def test_signs_of_quaternions_do_not_jump(flips):
    samples = [
        sample.replace(quaternion=[-part for part in sample.quaternion]) if flip else sample
        for flip, sample in zip(flips, record(len(flips)), strict=True)
    ]
    result = finished(first(ReplayStream(samples, "fast"), len(samples)))
    for before, after in itertools.pairwise(result):
        assert sum(a * b for a, b in zip(before.quaternion, after.quaternion, strict=True)) > 0.9
    assert all(max(apart(a, b)) < 1e-12 for a, b in zip(result, samples, strict=True))


def test_each_source_has_its_stream(monkeypatch):
    monkeypatch.setenv("OUR_TOKEN", "abc")
    monkeypatch.delenv("NO_TOKEN", raising=False)

    async def run() -> list[type]:
        sources = (HttpFlange(token_variable="OUR_TOKEN"), SimulatedFlange(program=program()))
        return [type(sg.twin.open_flange(source)) for source in sources]

    assert finished(run()) == [HttpStream, RobotStream]
    with pytest.raises(sg.DescriptionError) as message:
        sg.twin.open_flange(HttpFlange(token_variable="NO_TOKEN"))
    assert str(message.value) == (
        "token_variable: expected a token in the environment variable NO_TOKEN, found none"
    )


def test_closing_ends_a_pending_read():
    async def run(stream: FlangeStream) -> None:
        waiting = asyncio.ensure_future(anext(stream, None))
        await asyncio.sleep(0.01)
        await stream.aclose()
        await stream.aclose()
        assert await waiting is None
        assert [sample async for sample in stream] == []

    async def both() -> None:
        late = [sample.replace(time=sample.time + 1000 * i) for i, sample in enumerate(record(2))]
        replay = ReplayStream(late)
        await anext(replay)
        await run(replay)

    finished(both())


def test_joints_are_polled_from_a_second_address():
    async def run(path: str) -> list[sg.twin.FlangeSample]:
        clock = ManualClock()
        async with RobotServer(robot(), port=0, rate=50.0, clock=clock) as server:
            url = server.url.replace("cartesian", path)
            wire = HttpFlange(url=server.url, joints_url=url, timeout=10.0, fields=TIMED)
            return await first(HttpStream(wire, clock), 5)

    for sample in finished(run("jointtarget")):
        assert sample.joints == pytest.approx(robot().joints_at(sample.time), abs=1e-6)
    assert all(sample.joints == () for sample in finished(run("nowhere")))
