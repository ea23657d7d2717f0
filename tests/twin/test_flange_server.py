"""The simulated robot and its HTTP server: poses, limits and malformed requests."""

import asyncio
import json
import math
import random
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.errors import ConnectionLostError
from softgrasp.io.hand import load_arm
from softgrasp.mechanics.transforms import transform
from softgrasp.twin import robot_server
from softgrasp.twin.description import HttpFlange
from softgrasp.twin.flange_streams import RobotStream
from softgrasp.twin.robot_server import CARTESIAN, HEALTH, JOINTS, MAX_HEAD, RobotServer
from tests.twin.clock import ManualClock
from tests.twin.robots import finished, first, listening, program, robot

ANOTHER = sg.twin.SimulatedRobot(sg.twin.load_robot_program())
TIME = st.floats(-1.0, 100.0)


def test_the_published_pose_of_the_irb120_at_zero():
    """As its data sheet has it: 374 mm in front, 630 mm up, looking forward."""
    home = sg.mechanics.forward_kinematics(load_arm("irb120").chain, [0.0] * 6)[-1]
    rotation = math.sqrt(0.5)
    assert home == pytest.approx(
        transform((0.374, 0.0, 0.630), (rotation, 0.0, rotation, 0.0)), abs=1e-12
    )


@given(TIME)
def test_the_pose_is_the_forward_kinematics_of_the_joints(time):
    item = robot()
    sample = item.sample_at(time)
    frame = sg.mechanics.forward_kinematics(program().arm.chain, item.joints_at(time))[-1]
    assert sample.time == time
    assert transform(sample.position, sample.quaternion) == pytest.approx(frame, abs=1e-12)


@given(TIME)
def test_a_time_always_has_the_same_pose(time):
    assert robot().sample_at(time) == ANOTHER.sample_at(time)


def test_the_robot_repeats_its_postures():
    plan, item = program(), robot()
    leg = plan.move_time + plan.rest_time
    for lap in range(3):
        for position, posture in enumerate(plan.postures):
            begin = lap * plan.period + position * leg
            for time in (begin + 1e-9, begin + plan.rest_time):
                assert item.joints_at(time) == pytest.approx(posture, abs=1e-9)
    assert item.joints_at(-1.0) == plan.postures[0]


def test_no_joint_jumps_or_leaves_its_limits():
    """The largest speed of a minimum-jerk move is 1.875 ways a time."""
    plan, item = program(), robot()
    times = np.arange(0.0, plan.period + 1.0, 0.01)
    joints = np.array([item.joints_at(time) for time in times])
    ends = np.array(plan.postures)
    way = np.abs(ends - np.roll(ends, -1, axis=0)).max(axis=0)
    speed = np.abs(np.diff(joints, axis=0)).max(axis=0) / 0.01
    assert (speed <= 1.875 * way / plan.move_time + 1e-9).all()
    assert speed.max() > 1.8 * way.max() / plan.move_time
    low, high = np.array([row.limits for row in plan.arm.chain.phalanges]).T
    assert ((low <= joints) & (joints <= high)).all()


def test_the_flange_of_the_shipped_program_points_down_in_its_postures():
    plan = program()
    for posture in plan.postures:
        frame = sg.mechanics.forward_kinematics(plan.arm.chain, posture)[-1]
        assert frame[:3, 2] == pytest.approx([0.0, 0.0, -1.0], abs=1e-12)
        assert frame[2, 3] > 0.2


def test_one_posture_gives_a_constant_pose():
    still = sg.twin.SimulatedRobot(program().replace(postures=program().postures[:1]))
    assert still.sample_at(0.0).pose == still.sample_at(7.3).pose


def test_the_stream_has_its_rate_and_continuous_quaternions():
    clock = ManualClock(5.0)
    samples = finished(first(RobotStream(robot(), 50.0, clock), 701))
    assert [sample.time for sample in samples] == pytest.approx(np.arange(701) / 50.0)
    assert clock.now() == pytest.approx(5.0 + 14.0)
    quaternions = np.array([sample.quaternion for sample in samples])
    steps = np.linalg.norm(np.diff(quaternions, axis=0), axis=1)
    # without the choice of the sign there are jumps of 2
    raw = np.array([robot().sample_at(sample.time).quaternion for sample in samples])
    assert np.linalg.norm(np.diff(raw, axis=0), axis=1).max() > 1.9
    assert steps.max() < 0.05


GET = b"GET %s HTTP/1.1\r\nHost: robot\r\n\r\n"
HEALTHY = GET % HEALTH.encode()


def served(**options: object) -> RobotServer:
    return RobotServer(robot(), port=0, **{"clock": ManualClock(), "rate": 50.0} | options)


async def ask(server: RobotServer, raw: bytes, *, leave: bool = True) -> bytes:
    """The answer to some bytes; all answers where one does not leave after the first."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(raw)
        if not leave:
            return await reader.read()
        head = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"Content-Length: (\d+)", head)
        return head + await reader.readexactly(int(found[1]) if found else 0)
    except (ConnectionResetError, asyncio.IncompleteReadError):
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


def test_the_documents():
    async def run() -> list[bytes]:
        clock = ManualClock()
        async with served(clock=clock) as server:
            await clock.sleep(1.0199)  # the tick of 1.00 s is the last one
            return [await ask(server, GET % path.encode()) for path in (CARTESIAN, JOINTS, HEALTH)]

    pose, joints, health = (parts(answer) for answer in finished(run()))
    assert {pose[0], joints[0], health[0]} == {200}
    (state,) = pose[2]["_embedded"]["_state"]
    expected = robot().sample_at(1.0)
    assert state["_type"] == "ms-mechunit-cartesian"
    assert [float(state[key]) for key in "xyz"] == pytest.approx(
        [1000 * part for part in expected.position], abs=1e-6
    )
    assert [float(state[f"q{n}"]) for n in (1, 2, 3, 4)] == pytest.approx(
        expected.quaternion, abs=1e-9
    )
    assert state["time"] == "1.000000"
    (message,) = joints[2]["_embedded"]["_state"]
    angles = [math.degrees(angle) for angle in robot().joints_at(1.0)]
    assert [float(message[f"rax_{n}"]) for n in range(1, 7)] == pytest.approx(angles, abs=1e-8)
    assert health[2] == {"status": "ok", "arm": "irb120", "program": "pick_and_place", "time": 1.0}


def test_head_and_several_requests_on_one_connection():
    raw = HEALTHY.replace(b"GET", b"HEAD") + HEALTHY + HEALTHY.replace(b"1.1", b"1.0")
    answers = finished(_answers(raw))
    assert answers.count(b"HTTP/1.1 200 OK") == 3
    assert answers.count(b'"status": "ok"') == 2


async def _answers(raw: bytes) -> bytes:
    async with served() as server:
        return await ask(server, raw, leave=False)


@pytest.mark.parametrize(
    ("raw", "status", "sentence"),
    [
        (GET % b"/nothing", 404, "no document at /nothing"),
        (HEALTHY.replace(b"GET", b"POST"), 405, "expected GET or HEAD, found POST (405)"),
    ],
)
def test_requests_that_are_refused(raw, status, sentence):
    result, headers, document = requested(raw)
    assert (result, document) == (status, {"error": sentence})
    assert headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "raw",
    [
        b"hello\r\n\r\n",
        b"GET /health HTTP/2\r\n\r\n",
        b"GET /health HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        b"GET /health HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 3\r\n\r\nabc",
        b"GET /health HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        b"GET /health HTTP/1.1\r\nA: " + b"b" * MAX_HEAD + b"\r\n\r\n",
    ],
)
def test_what_is_no_request_ends_the_connection(raw):
    answer = finished(_answers(raw))
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")


def test_a_stream_sends_its_token(monkeypatch):
    monkeypatch.setenv("OUR_TOKEN", "right-token")

    async def run() -> list[bytes]:
        received = []

        async def talk(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
            received.append(await reader.readuntil(b"\r\n\r\n"))

        server, port = await listening(talk)
        source = HttpFlange(url=f"http://127.0.0.1:{port}/", stale_after=0.1)
        knows = source.replace(token_variable="OUR_TOKEN")
        with pytest.raises(ConnectionLostError):
            await first(sg.twin.open_flange(knows, clock=ManualClock()), 1)
        server.close()
        return received

    assert b"Authorization: Bearer right-token" in finished(run())[0]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2"])
def test_only_this_machine_reaches_the_robot(host, golden):
    golden.refused(lambda: served(host=host), "': the server has no passwords; reach it thro")


def test_an_address_in_use():
    async def run() -> None:
        async with served() as server:
            with pytest.raises(ConnectionLostError) as message:
                await RobotServer(robot(), port=server.port).start()
            assert f"127.0.0.1:{server.port}: expected a free address" in str(message.value)

    finished(run())


def test_slow_clients_are_closed_and_others_are_served(monkeypatch):
    monkeypatch.setattr(robot_server, "HEAD_TIME", 0.1)

    async def run() -> None:
        async with served() as server:
            assert await ask(server, b"GET /hea", leave=False) == b""
            assert parts(await ask(server, HEALTHY))[0] == 200

    finished(run())


def test_the_server_survives_a_thousand_malformed_requests(monkeypatch):
    monkeypatch.setattr(robot_server, "HEAD_TIME", 0.1)
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
