"""The gamepad as sticks, on a named pipe that holds what Linux's joystick driver would send."""

from __future__ import annotations

import errno
import os
import pty
import struct
import termios
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.continuum_control.controllers import FeedForwardController
from softgrasp.continuum_control.interfaces import ResourceManager
from softgrasp.continuum_control.manager import ControllerManager
from softgrasp.continuum_control.teleop import (
    HOLD,
    GamepadSticks,
    KeyboardSticks,
    RecordedSticks,
    read_sticks,
)
from tests.continuum_control.arms import arm

AXIS, BUTTON, INITIAL = 0x02, 0x01, 0x80


def event(value: int, kind: int, number: int) -> bytes:
    """``struct js_event``: u32 time, s16 value, u8 type, u8 number."""
    return struct.pack("=IhBB", 12345, value, kind, number)


@pytest.fixture
def device(tmp_path: Path) -> Path:
    path = tmp_path / "js0"
    os.mkfifo(path)
    return path


@pytest.fixture
def pad(device: Path) -> Iterator[tuple[GamepadSticks, int]]:
    """A gamepad of three segments, and where its driver writes."""
    with GamepadSticks(["s1", "s2", "s3"], device) as sticks:
        driver = os.open(device, os.O_WRONLY)
        yield sticks, driver
        os.close(driver)


def test_both_sticks_steer_two_segments(pad: tuple[GamepadSticks, int]) -> None:
    sticks, driver = pad
    assert sticks(0.0) == {"s1": (0.0, 0.0), "s2": (0.0, 0.0)}
    os.write(driver, event(32767, AXIS, 0) + event(-32767, AXIS, 4))
    assert sticks(0.0) == {"s1": (1.0, 0.0), "s2": (0.0, 1.0)}
    os.write(driver, event(0, AXIS, 0) + event(16384, AXIS, 1) + event(30000, AXIS, 2))
    assert sticks(0.1)["s1"] == pytest.approx((0.0, -0.5), abs=1e-4)


def test_how_the_sticks_stand_at_first_is_told(pad: tuple[GamepadSticks, int]) -> None:
    sticks, driver = pad
    os.write(driver, event(-32767, AXIS | INITIAL, 0) + event(1, BUTTON | INITIAL, 5))
    assert sticks(0.0)["s1"] == (-1.0, 0.0)


def test_shoulder_buttons_move_on(pad: tuple[GamepadSticks, int]) -> None:
    sticks, driver = pad
    os.write(driver, event(32767, AXIS, 0))
    steered = []
    for number in (5, 5, 5, 4):
        os.write(driver, event(1, BUTTON, number) + event(0, BUTTON, number))
        steered.append(next(name for name, (x, _) in sticks(0.0).items() if x))
    assert steered == ["s2", "s3", "s1", "s3"]
    assert list(sticks(0.0)) == ["s3", "s1"]


def test_events_in_pieces(pad: tuple[GamepadSticks, int]) -> None:
    sticks, driver = pad
    sent = event(32767, AXIS, 0) + event(32767, AXIS, 3)
    os.write(driver, sent[:5])
    assert sticks(0.0)["s1"] == (0.0, 0.0)
    os.write(driver, sent[5:11])
    assert sticks(0.0)["s1"] == (1.0, 0.0)
    os.write(driver, sent[11:])
    assert sticks(0.0)["s2"] == (1.0, 0.0)


def test_a_gamepad_that_is_pulled_out(
    pad: tuple[GamepadSticks, int], device: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> bytes:
        raise OSError(errno.ENODEV, "No such device")

    monkeypatch.setattr("softgrasp.continuum_control.teleop.os.read", gone)
    with pytest.raises(sg.SimulationError) as caught:
        pad[0](0.0)
    assert str(caught.value) == f"expected the gamepad at {device}, found No such device"


def test_what_is_no_gamepad(tmp_path: Path) -> None:
    with pytest.raises(sg.BackendUnavailable) as caught:
        GamepadSticks(["s1"], tmp_path / "js7")
    assert str(caught.value) == (
        f"expected a gamepad at {tmp_path / 'js7'}, found No such file or directory; sticks may "
        "also come from the keyboard or from a CSV file"
    )
    with pytest.raises(sg.DescriptionError, match="segments: expected segments to steer"):
        GamepadSticks([], tmp_path)


# --------------------
# The keyboard as a stick, on a terminal that the test itself writes to.


UP, DOWN, RIGHT, LEFT = b"\x1b[A", b"\x1b[B", b"\x1b[C", b"\x1b[D"


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """Where the test types, and what the program reads."""
    typing, reading = pty.openpty()
    yield typing, reading
    os.close(typing)
    os.close(reading)


@pytest.mark.parametrize(
    ("key", "stick"),
    [(UP, (0, 1)), (DOWN, (0, -1)), (RIGHT, (1, 0)), (LEFT, (-1, 0)), (b"\x1bOC", (1, 0))],
)
def test_an_arrow_is_held_for_a_while(
    key: bytes, stick: tuple[int, int], terminal: tuple[int, int]
) -> None:
    typing, reading = terminal
    with KeyboardSticks(["s1"], reading) as sticks:
        assert sticks(0.0) == {}
        os.write(typing, key)
        assert sticks(1.0) == {"s1": stick}
        assert sticks(1.0 + 0.99 * HOLD) == {"s1": stick}
        assert sticks(1.0 + HOLD) == {}


def test_a_repeated_arrow_goes_on_and_space_stops_it(terminal: tuple[int, int]) -> None:
    typing, reading = terminal
    with KeyboardSticks(["s1"], reading) as sticks:
        for time in (0.0, 0.4, 0.8):
            os.write(typing, RIGHT)
            assert sticks(time) == {"s1": (1.0, 0.0)}
        os.write(typing, b" ")
        assert sticks(0.9) == {}


def test_tab_goes_through_the_segments_with_the_stick_at_rest(terminal: tuple[int, int]) -> None:
    typing, reading = terminal
    with KeyboardSticks(["s1", "s2"], reading) as sticks:
        os.write(typing, RIGHT + b"\t")
        assert (sticks(0.0), sticks.segment) == ({}, "s2")
        os.write(typing, UP)
        assert sticks(0.0) == {"s2": (0.0, 1.0)}
        os.write(typing, b"\t")
        assert (sticks(0.1), sticks.segment) == ({}, "s1")


def test_keys_in_pieces_and_keys_that_mean_nothing(terminal: tuple[int, int]) -> None:
    typing, reading = terminal
    with KeyboardSticks(["s1"], reading) as sticks:
        os.write(typing, b"ABCDx\x1b[H\x1b[1;5C")
        assert sticks(0.0) == {}
        os.write(typing, b"\x1b")
        assert sticks(0.1) == {}
        os.write(typing, b"[")
        assert sticks(0.2) == {}
        os.write(typing, b"D")
        assert sticks(0.3) == {"s1": (-1.0, 0.0)}


def test_the_terminal_is_left_as_it_was(terminal: tuple[int, int]) -> None:
    before = termios.tcgetattr(terminal[1])
    try:
        with KeyboardSticks(["s1"], terminal[1]):
            assert not termios.tcgetattr(terminal[1])[3] & termios.ICANON
            raise InterruptedError
    except InterruptedError:
        pass
    assert termios.tcgetattr(terminal[1]) == before


def test_what_cannot_be_read() -> None:
    out, into = os.pipe()
    try:
        with pytest.raises(sg.BackendUnavailable) as caught:
            KeyboardSticks(["s1"], out)
        assert str(caught.value) == (
            "expected a terminal to read keys from, found none; sticks may also come from a CSV "
            "file"
        )
    finally:
        os.close(out)
        os.close(into)
    with pytest.raises(sg.DescriptionError, match="segments: expected segments to steer"):
        KeyboardSticks([])


# --------------------
# Recorded sticks: each sample is held until the next, and a file is read with its lines.


STICKS_RIGHT, STICKS_UP = (1.0, 0.0), (0.0, 1.0)


def test_a_sample_is_held_until_the_next_one() -> None:
    sticks = RecordedSticks(
        [(0.5, {"s1": STICKS_RIGHT}), (1.0, {"s1": STICKS_UP}), (1.0, {"s2": STICKS_UP})]
    )
    result = [sticks(time) for time in (0.0, 0.49, 0.5, 0.99, 1.0, 50.0)]
    assert result == [
        {},
        {},
        {"s1": STICKS_RIGHT},
        {"s1": STICKS_RIGHT},
        {"s2": STICKS_UP},
        {"s2": STICKS_UP},
    ]


@given(st.lists(st.integers(0, 500), max_size=30), st.lists(st.integers(0, 600), max_size=30))
def test_the_last_sample_that_has_begun_counts(begun: list[int], requested: list[int]) -> None:
    samples = [(0.01 * t, {"s1": (0.001 * t, 0.0)}) for t in sorted(begun)]
    sticks = RecordedSticks(samples)
    for t in sorted(requested):
        last = max((b for b in begun if b <= t), default=None)
        assert sticks(0.01 * t) == ({} if last is None else {"s1": (0.001 * last, 0.0)})


def test_endless_samples_are_taken_as_time_goes_on() -> None:
    sticks = RecordedSticks((float(n), {"s1": (n / 100.0, 0.0)}) for n in count())
    assert sticks(42.5) == {"s1": (0.42, 0.0)}


def test_samples_that_go_back_in_time_are_refused() -> None:
    sticks = RecordedSticks([(1.0, {}), (0.5, {})])
    with pytest.raises(sg.DescriptionError) as caught:
        sticks(2.0)
    assert str(caught.value) == (
        "samples: expected samples in the order of time, found 0.5 s after 1 s"
    )


def test_a_file_moves_a_robot(tmp_path: Path) -> None:
    """Half a second to the right, a quarter of rest, then half a second to the left."""
    path = tmp_path / "sticks.csv"
    path.write_text("time, s1_x, s1_y\n0,1,0\n0.5,0,0\n0.75,-1,0\n\n1.25,0,0\n", encoding="utf-8")
    robot = arm()
    resources = ResourceManager(robot)
    manager = ControllerManager(resources)
    manager.load(FeedForwardController(robot, read_sticks(path), name="cffc"))
    manager.switch(start=["cffc"])
    kappas = []
    for tick in range(150):
        manager.update(0.01 * tick, 0.01)
        kappas.append(resources.commanded("s1/kappa"))
    assert kappas[49] == pytest.approx(1.0)
    assert kappas[74] == pytest.approx(1.0)
    assert kappas[99] == pytest.approx(0.5)
    assert kappas[-1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "{path}: expected a line of column names, found an empty file"),
        ("time,s1_x\n0,1\n", "{path}:1: expected the columns time, NAME_x, NAME_y, … of different "
         "segments, found time, s1_x"),
        ("time,s1_x,s1_y,s1_x,s1_y\n", "{path}:1: expected the columns time, NAME_x, NAME_y, … of "
         "different segments, found time, s1_x, s1_y, s1_x, s1_y"),
        ("time,s1_x,s1_y\n0,1\n", "{path}:2: expected 3 numbers, found 2"),
        ("time,s1_x,s1_y\n0,1,up\n", "{path}:2: expected numbers, found 0, 1, up"),
        ("time,s1_x,s1_y\n0,1,0\n1,nan,0\n", "{path}:3: expected finite numbers, found 1, nan, 0"),
        ("time,s1_x,s1_y\n1,1,0\n\n0.5,1,0\n", "{path}:4: expected at least 1 s, the time before, "
         "found 0.5 s"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "sticks.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(sg.DescriptionError) as caught:
        read_sticks(path)
    assert str(caught.value) == sentence.format(path=path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(sg.DescriptionError, match=r"expected a CSV file, found .*No such file"):
        read_sticks(tmp_path / "none.csv")
