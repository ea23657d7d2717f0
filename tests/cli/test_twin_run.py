"""``softgrasp twin run`` and ``replay``: two processes, a wire, and the same picture again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from softgrasp.cli import main
from softgrasp.twin.files import load_register_map
from softgrasp.twin.modbus_server import connect_controller
from softgrasp.twin.record import read_twin_record
from tests.cli.conftest import Run
from tests.twin.serving import serving


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


def test_a_run_writes_record_figures_and_page(record: Path) -> None:
    names = {path.name for path in record.iterdir()}
    assert names == {
        "twin.json", "record.parquet", "twin.png", "pressure.png", "pressure.csv", "tips.png",
        "tips.csv", "pace.png", "pace.csv", "report.html",
    }  # fmt: skip
    page = (record / "report.html").read_text()
    assert "Record of the twin" in page
    assert "Safe stop: positive trigger off, negative trigger off." in page


def test_a_replay_draws_the_same_picture_bit_for_bit(
    record: Path, tmp_path: Path, run: Run
) -> None:
    done = run("twin", "replay", record, "--renderer", "raycast", "--out", tmp_path, "--json")
    assert done.code == 0
    assert 2 < done.json["turns"] <= 51  # a busy machine misses some
    assert "The pressure went from" in done.json["words"]
    assert (tmp_path / "twin.png").read_bytes() == (record / "twin.png").read_bytes()
    early = tmp_path / "early"
    words = ("--at", "0.1", "--renderer", "raycast", "--out", early)
    assert run("twin", "replay", record, *words).code == 0
    assert (early / "twin.png").read_bytes() != (tmp_path / "twin.png").read_bytes()


def test_without_a_controller_the_record_says_why(run: Run) -> None:
    done = run(
        "twin", "run", "--controller", "127.0.0.1:1", "--duration", "0.2", "--no-view",
        "--no-report", "--out", "dark", "--json",
    )  # fmt: skip
    assert done.code == 0
    assert "; 0 with a reading." in done.json["words"]
    message = " ".join(str(row["events"]) for row in read_twin_record("dark").rows)
    assert "No reading: 127.0.0.1:1: expected an answer" in message


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("run", "nobody"), 2, "no twin 'nobody'"),
        (("run", "--controller", "here", "--no-view"), 2, "--controller: expected HOST:PORT"),
        (("replay", "missing_folder"), 2, "expected the twin of a record, found none"),
    ],
)
def test_mistakes_are_sentences(run: Run, words: tuple[str, ...], code: int, sentence: str) -> None:
    done = run("twin", *words)
    assert done.code == code
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_a_second_run_needs_a_second_folder(record: Path, run: Run) -> None:
    done = run("twin", "run", "--duration", "0.1", "--no-view", "--out", record)
    assert done.code == 2
    assert "expected no record here yet, found one" in done.err


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("twins", "three_fingers"),
        ("arms", "irb120"),
        ("register-maps", "softgrasp_default"),
        ("robot-programs", "pick_and_place"),
    ],
)
def test_the_parts_of_a_twin_are_listed(run: Run, kind: str, name: str) -> None:
    rows = run("list", kind, "--json").json
    assert name in [row["name"] for row in rows]
    assert all(row["source"] for row in rows)
