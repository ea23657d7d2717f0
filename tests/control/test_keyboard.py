"""The keyboard as a stick, on a terminal that the test itself writes to."""

from __future__ import annotations

import os
import pty
import termios
from collections.abc import Iterator

import pytest

import softgrasp as sg
from softgrasp.continuum_control.teleop import HOLD, KeyboardSticks

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
