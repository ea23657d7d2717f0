"""Streams of flange poses: even rates, replays, signs, UDP, and clean ends."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import socket
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.twin.description import FileFlange, HttpFlange, SimulatedFlange, UdpFlange
from softgrasp.twin.files import row_of
from softgrasp.twin.flange_server import RobotStream, send_poses
from softgrasp.twin.flange_streams import (
    MAX_WAITING,
    FlangeStream,
    HttpStream,
    ManualClock,
    ReplayStream,
    SystemClock,
    Ticks,
    UdpStream,
)
from tests.twin.robots import apart, finished, first, program, robot

FEW = settings(max_examples=25)
UDP = UdpFlange(port=0, stale_after=10.0)


@cache
def record(count: int, step: float = 0.02, begin: float = 3.0) -> list[sg.FlangeSample]:
    """Poses of the robot while it moves."""
    return [robot().sample_at(begin + step * index) for index in range(count)]


def datagram(sample: sg.FlangeSample) -> bytes:
    return json.dumps(row_of(sample)).encode()


async def drained(stream: UdpStream) -> list[float]:
    """Times of what waits in a stream."""
    count = len(stream._waiting)
    return [(await anext(stream)).time for _ in range(count)]


# rates


@FEW
@given(st.lists(st.floats(0.0, 0.05), min_size=1, max_size=60))
def test_ticks_stay_on_their_grid_whatever_the_work_takes(work: list[float]) -> None:
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


def test_an_hour_of_ticks_does_not_drift() -> None:
    clock = ManualClock()
    ticks = Ticks(clock, 50.0)

    async def run() -> float:
        for _ in range(50 * 60):
            await ticks.next()
            await clock.sleep(0.013)
        return await ticks.next()

    assert finished(run()) == pytest.approx(60.0, abs=1e-9)
    assert ticks.missed == 0


def test_the_real_clock_goes_on() -> None:
    clock = SystemClock()
    before = clock.now()
    finished(clock.sleep(0.001))
    assert clock.now() > before


# replays


def test_a_replay_waits_as_long_as_the_record_has() -> None:
    clock, samples = ManualClock(100.0), record(50)

    async def run() -> list[tuple[float, sg.FlangeSample]]:
        return [(clock.now(), sample) async for sample in ReplayStream(samples, clock=clock)]

    result = finished(run())
    assert [time for time, _ in result] == pytest.approx([97.0 + one.time for one in samples])
    assert all(max(apart(one, two)) == 0.0 for (_, one), two in zip(result, samples, strict=True))


def test_a_fast_replay_does_not_wait_and_ends(tmp_path: Path) -> None:
    sg.save_flange_samples(record(20), tmp_path / "record.jsonl")
    clock = ManualClock()
    source = FileFlange(path="record.jsonl", pace="fast")

    async def run() -> int:
        stream = sg.open_flange(source, directory=tmp_path, clock=clock)
        count = len([sample async for sample in stream])
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        assert stream.counts.samples == count
        return count

    assert finished(run()) == 20
    assert clock.now() == 0.0


@FEW
@given(st.lists(st.booleans(), min_size=2, max_size=40))
def test_signs_of_quaternions_do_not_jump(flips: list[bool]) -> None:
    samples = [
        sample.replace(quaternion=[-part for part in sample.quaternion]) if flip else sample
        for flip, sample in zip(flips, record(len(flips)), strict=True)
    ]
    result = finished(first(ReplayStream(samples, "fast"), len(samples)))
    for before, after in itertools.pairwise(result):
        assert sum(a * b for a, b in zip(before.quaternion, after.quaternion, strict=True)) > 0.9
    assert all(max(apart(a, b)) < 1e-12 for a, b in zip(result, samples, strict=True))


def test_each_source_has_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_TOKEN", "abc")
    monkeypatch.delenv("NO_TOKEN", raising=False)

    async def run() -> list[type]:
        sources = (HttpFlange(token_variable="OUR_TOKEN"), UDP, SimulatedFlange(program=program()))
        return [type(sg.open_flange(source)) for source in sources]

    assert finished(run()) == [HttpStream, UdpStream, RobotStream]
    with pytest.raises(sg.DescriptionError) as message:
        sg.open_flange(HttpFlange(token_variable="NO_TOKEN"))
    assert str(message.value) == (
        "token_variable: expected a token in the environment variable NO_TOKEN, found none"
    )


def test_closing_wakes_whoever_waits() -> None:
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
        await run(UdpStream(UDP))

    finished(both())


# UDP


def test_poses_come_by_udp_with_all_digits() -> None:
    async def run() -> list[sg.FlangeSample]:
        async with UdpStream(UDP) as stream:
            target = UDP.replace(port=await stream.open())
            sent = await send_poses(robot(), target, rate=50.0, count=40, clock=ManualClock(9.0))
            assert sent == 40
            return [await anext(stream) for _ in range(40)]

    for index, sample in enumerate(finished(run())):
        assert max(apart(sample, robot().sample_at(round(0.02 * index, 6)))) < 1e-15


@FEW
@given(st.randoms(use_true_random=False))
def test_late_and_double_datagrams_are_left_out_and_counted(chance: random.Random) -> None:
    samples = record(20)
    sent = [chance.choice(samples) for _ in range(40)]
    expected: list[float] = []
    for sample in sent:
        if not expected or sample.time > expected[-1]:
            expected.append(sample.time)

    async def run() -> None:
        stream = UdpStream(UDP)
        for sample in sent:
            stream.take(datagram(sample))
        counts = stream.counts
        async with stream:
            assert await drained(stream) == pytest.approx(expected)
        assert counts.samples + counts.late + counts.twice == len(sent)
        assert counts.refused == counts.overrun == 0

    finished(run())


@FEW
@given(st.binary(max_size=100))
def test_any_datagram_is_survived(garbage: bytes) -> None:
    async def run() -> None:
        stream = UdpStream(UDP)
        stream.take(garbage)
        stream.take(datagram(record(1)[0]))
        assert stream.counts.refused == 1
        assert stream.last_refusal
        async with stream:
            assert len(await drained(stream)) == 1

    finished(run())


def test_what_nobody_fetches_is_left_out_from_the_oldest() -> None:
    async def run() -> None:
        stream = UdpStream(UDP)
        for sample in record(MAX_WAITING + 5, step=1e-3):
            stream.take(datagram(sample))
        assert stream.counts.overrun == 5
        async with stream:
            assert (await anext(stream)).time == pytest.approx(3.0 + 5e-3)

    finished(run())


def test_silence_is_told_and_a_sender_that_starts_again_is_heard() -> None:
    async def run() -> None:
        clock, samples = ManualClock(), record(3)
        async with UdpStream(UDP.replace(stale_after=0.4), clock) as stream:
            for sample in (samples[1], samples[1], samples[0]):
                stream.take(datagram(sample))
            stream.take(b"{}")
            await anext(stream)
            with pytest.raises(sg.errors.StaleDataError) as message:
                await anext(stream)
            assert str(message.value) == (
                "udp://127.0.0.1:0: expected a new pose within 0.4 s, found none; so far 1 came "
                "late, 1 twice, 1 were no poses (the last: time_s: expected time_s, x_mm, y_mm, "
                "z_mm, qw, qx, qy, qz, found no time_s)"
            )
            assert clock.now() == pytest.approx(0.4)
            stream.take(datagram(samples[0]))
            assert (await anext(stream)).time == samples[0].time

    finished(run())


def test_a_port_that_is_taken() -> None:
    async def run(port: int) -> None:
        async with UdpStream(UDP.replace(port=port)) as stream:
            with pytest.raises(sg.errors.ConnectionLostError) as message:
                await stream.open()
            assert str(message.value).startswith(
                f"udp://127.0.0.1:{port}: expected a free port, found: "
            )

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        finished(run(taken.getsockname()[1]))


def test_sending_where_nobody_listens_goes_on() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    target = UdpFlange(port=port)
    assert finished(send_poses(robot(), target, count=5, clock=ManualClock())) == 5
