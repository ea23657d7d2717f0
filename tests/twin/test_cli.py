"""Verbs of softgrasp twin: run, replay, serve and robot."""

import asyncio
import signal
import socket
from pathlib import Path

import pytest

from softgrasp.cli import main
from softgrasp.twin.files import load_register_map
from softgrasp.twin.pneumatic_controller import connect_controller
from softgrasp.twin.record import read_twin_record
from tests.twin.serving import serving


def test_robot_serves_for_a_duration(run):
    ran = run("twin", "robot", "--port", "0", "--duration", "0.05")
    assert ran.code == 0, ran.err
    assert "the robot 'irb120' reports its pose at http://127.0.0.1:" in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--host", "0.0.0.0"), "host: expected an address of this machine such as 127.0.0.1"),
        (("--program", "pick"), "no robot program 'pick'; "),
        (("--rate", "0"), "--rate"),
    ],
)
def test_mistakes(run, words, sentence):
    ran = run("twin", "robot", "--duration", "0", "--port", "0", *words)
    assert ran.code == 2
    assert sentence in ran.err
    assert "Traceback" not in ran.err


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("twin") / "record"
    with serving("--port", "0") as server:
        asyncio.run(close(server.port))
        position = f"127.0.0.1:{server.port}"
        words = ["--duration", "1", "--no-view", "--renderer", "raycast", "--out", str(directory)]
        assert main(["twin", "run", "--controller", position, *words]) == 0
    return directory


async def close(port: int) -> None:
    async with connect_controller("127.0.0.1", port, load_register_map()) as client:
        await client.set_targets(positive=60e3)
        await client.trigger(positive=True)


@pytest.mark.slow
def test_a_run_writes_record_figures_and_report(record):
    names = {path.name for path in record.glob("[!.]*")}
    assert names == {
        "twin.json", "record.jsonl", "twin.png", "pressure.png", "pressure.csv", "tips.png",
        "tips.csv", "report.html",
    }  # fmt: skip
    page = (record / "report.html").read_text()
    assert "Record of the twin" in page
    assert "Safe stop: positive trigger off, negative trigger off." in page


@pytest.mark.slow
def test_a_replay_renders_the_same_image_bit_for_bit(record, tmp_path, run):
    done = run("twin", "replay", record, "--renderer", "raycast", "--out", tmp_path, "--json")
    assert done.code == 0
    assert 2 < done.json["cycles"] <= 51  # a busy machine misses some
    assert "Pressure from" in done.json["words"]
    assert (tmp_path / "twin.png").read_bytes() == (record / "twin.png").read_bytes()
    early = tmp_path / "early"
    words = ("--at", "0.1", "--renderer", "raycast", "--out", early)
    assert run("twin", "replay", record, *words).code == 0
    assert (early / "twin.png").read_bytes() != (tmp_path / "twin.png").read_bytes()


def test_without_a_controller_the_record_states_the_reason(run):
    done = run(
        "twin", "run", "--controller", "127.0.0.1:1", "--duration", "0.2", "--no-view",
        "--out", "dark", "--json",
    )  # fmt: skip
    assert done.code == 2  # whether the gripper is under pressure is not known
    assert "safe stop failed: " in done.err
    assert "; 0 with a reading." in done.json["words"]
    message = " ".join(str(row["events"]) for row in read_twin_record("dark").rows)
    assert "No reading: 127.0.0.1:1: expected an answer" in message
    assert Path("dark", "report.html").exists()


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("run", "nobody"), 2, "no twin 'nobody'"),
        (("run", "--controller", "here", "--no-view"), 2, "--controller: expected HOST:PORT"),
        (("replay", "missing_folder"), 2, "expected the twin of a record, found none"),
    ],
)
def test_invalid_input_is_reported(run, words, code, sentence):
    done = run("twin", *words)
    assert done.code == code
    assert sentence in done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_a_second_run_needs_another_directory(record, run):
    done = run("twin", "run", "--duration", "0.1", "--no-view", "--out", record)
    assert done.code == 2
    assert "expected no record here yet, found one" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_serves_until_it_is_terminated(number):
    with serving("--port", "0", "--time-constant", "1e-6") as there:
        document = there.document
        assert document["host"] == "127.0.0.1"
        assert document["map"]["reads"]["pressure"]["address"] == 4

        async def talk() -> float:
            registers = load_register_map()
            async with connect_controller("127.0.0.1", there.port, registers) as client:
                await client.set_targets(negative=-70e3)
                await client.trigger(negative=True)
                return (await client.read()).pressure

        assert asyncio.run(talk()) == -70e3
        assert there.stop(number) == 0
        assert there.farewell() == "softgrasp: stopped"
        assert there.errors() == ""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", there.port), timeout=5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--host", "0.0.0.0"), "host: expected an address of this machine such as 127.0.0.1"),
        (("--host", "example.org"), "host: expected an address of this machine"),
        (("--map", "softgrasp_defualt"), "no register map 'softgrasp_defualt'; did you mean"),
        (("--map", "missing.yaml"), "missing.yaml: expected a readable YAML file"),
        (("--time-constant", "0"), "time_constant: expected a number above 0, found 0.0"),
    ],
)
def test_mistakes_are_reported(words, message, run, tmp_path):
    ran = run("twin", "serve", "--port", "0", *words)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


def test_a_port_in_use_is_reported(run):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ran = run("twin", "serve", "--port", str(port))
    assert ran.code == 2
    assert f"127.0.0.1:{port}: expected an address to listen on, found one" in ran.err
