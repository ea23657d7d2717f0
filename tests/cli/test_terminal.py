"""Log, and progress on a terminal."""

import io
import logging
import sys

import pytest

from softgrasp.cli import terminal
from tests.conftest import QUICK
from tests.support.scenes import pinch


@pytest.fixture(autouse=True)
def _quiet_afterwards() -> object:
    yield
    terminal.set_up_logging(verbose=False)


@pytest.mark.parametrize("position", [0, 2, 5])
def test_verbose_reports_what_is_read_run_and_written(position, run):
    words = ["grasp", "four_finger", "sphere", "--set", "duration=0.02", *QUICK]
    words.insert(position, "--verbose")
    ran = run(*words)
    assert ran.code == 1  # time ran out
    message = ran.err.splitlines()
    assert all(line.startswith("softgrasp: ") for line in message)
    assert all(line.endswith(".") for line in message)  # sentences
    assert any(line.startswith("softgrasp: Reading ") and "four_finger" in line for line in message)
    assert "softgrasp: Simulating four_finger on sphere with mujoco." in message
    assert any(
        "trajectory.npz, " in line and line.startswith("softgrasp: Wrote ") for line in message
    )
    assert "Reading" not in ran.out


def test_a_verb_after_a_verbose_one_is_quiet_again(run):
    run("list", "hands", "--verbose")
    ran = run("grasp", "four_finger", "sphere", "--set", "duration=0.02", *QUICK)
    assert ran.err == ""


def test_what_a_library_user_logs_is_his(caplog):
    import softgrasp as sg

    scene = pinch(duration=0.02)
    with caplog.at_level(logging.INFO, logger="softgrasp"):
        sg.simulate(scene)
    assert [record.name for record in caplog.records] == ["softgrasp.pipeline"] * 2
    assert caplog.messages[1].startswith("four_finger on ball: TIMED_OUT after 0.020 s of the run")


def test_a_bar_in_a_terminal_reports_time_left(monkeypatch):
    class Tty(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Tty()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with terminal.progress_bar() as update:
        update("working", 0.5)
    assert "working" in stream.getvalue()
    assert "left" in stream.getvalue()
