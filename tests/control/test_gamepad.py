"""The gamepad as sticks, on a named pipe that holds what Linux's joystick driver would send."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.continuum_control.teleop import GamepadSticks

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
