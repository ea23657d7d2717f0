"""A gamepad as the sticks of a feed-forward controller, by Linux's joystick interface."""

from __future__ import annotations

import csv
import math
import os
import select
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from softgrasp.errors import BackendUnavailable, DescriptionError, SimulationError

EVENT = struct.Struct("=IhBB")
"""``struct js_event`` of linux/joystick.h: time [ms], value, type, number."""
BUTTON, AXIS, INITIAL = 0x01, 0x02, 0x80
"""Types of events; the last one is added to what only tells how a control stands at first."""
STOP = 32767.0
"""Value of an axis at its stop."""
STICKS = ((0, 1), (3, 4))
"""Axes (x, y) of the left and the right stick as the xpad driver numbers them."""
BACK, ON = 4, 5
"""Buttons at the shoulders: the sticks move on to other segments."""


class GamepadSticks:
    """Sticks of a gamepad: the left one bends the chosen segment, the right one the next.

    Reads without waiting; use it in a ``with`` block, which closes the device.
    """

    def __init__(
        self,
        segments: Sequence[str],
        device: str | Path = "/dev/input/js0",
        sticks: Sequence[tuple[int, int]] = STICKS,
    ) -> None:
        """Open a device.

        Args:
            segments: Names of the segments, in the order in which shoulder buttons move on.
            device: Of Linux's joystick interface.
            sticks: Numbers of the axes (x, y) of each stick.

        Raises:
            DescriptionError: There are no segments.
            BackendUnavailable: The device cannot be opened.
        """
        if not segments:
            raise DescriptionError("expected segments to steer, found none", field="segments")
        self._segments, self._chosen = list(segments), 0
        self._device, self._sticks = device, tuple(sticks)
        self._axes: dict[int, float] = {}
        self._unread = b""
        try:
            self._file = os.open(device, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as error:
            raise BackendUnavailable(
                f"expected a gamepad at {device}, found {error.strerror}; sticks may also come "
                "from the keyboard or from a CSV file"
            ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def __call__(self, time: float) -> Deflections:
        """Deflections now.

        Raises:
            SimulationError: The device is gone.
        """
        for value, kind, number in self._events():
            if kind & ~INITIAL == AXIS:
                self._axes[number] = value / STOP
            elif kind == BUTTON and value and number in (BACK, ON):
                step = 1 if number == ON else -1
                self._chosen = (self._chosen + step) % len(self._segments)
        ahead = self._segments[self._chosen :] + self._segments[: self._chosen]
        # a gamepad counts y downwards
        return {
            name: (self._axes.get(x, 0.0), -self._axes.get(y, 0.0))
            for name, (x, y) in zip(ahead, self._sticks, strict=False)
        }

    def _events(self) -> list[tuple[int, int, int]]:
        """(value, type, number) of what has happened since the last call."""
        try:
            while part := os.read(self._file, 64 * EVENT.size):
                self._unread += part
        except BlockingIOError:
            pass
        except OSError as error:
            raise SimulationError(
                f"expected the gamepad at {self._device}, found {error.strerror}"
            ) from None
        whole = len(self._unread) // EVENT.size * EVENT.size
        events, self._unread = self._unread[:whole], self._unread[whole:]
        return [event[1:] for event in EVENT.iter_unpack(events)]


# --------------------
# A keyboard as the stick of a feed-forward controller: arrows bend, tab chooses the segment.


ARROWS = {b"A": (0.0, 1.0), b"B": (0.0, -1.0), b"C": (1.0, 0.0), b"D": (-1.0, 0.0)}
"""Last letter of what a terminal sends for up, down, right and left after ESC [ or ESC O."""
NEXT, STOP_KEY = b"\t", b" "
HOLD = 0.5
"""An arrow lasts so long [s]: longer than a terminal takes to begin to repeat a key."""


class KeyboardSticks:
    """Reads a terminal without waiting; use it in a ``with`` block, which restores the terminal.

    A terminal does not tell that a key is let go, so the stick goes back by itself when an arrow is
    not repeated within half a second, and at once with the space bar.
    """

    def __init__(self, segments: Sequence[str], terminal: int | None = None) -> None:
        """Steer the first segment.

        Args:
            segments: Names of the segments, in the order in which tab goes through them.
            terminal: File descriptor of the terminal; standard input where not given.

        Raises:
            DescriptionError: There are no segments.
            BackendUnavailable: It is no terminal.
        """
        if not segments:
            raise DescriptionError("expected segments to steer, found none", field="segments")
        self._segments, self._chosen = list(segments), 0
        self._terminal = sys.stdin.fileno() if terminal is None else terminal
        if not os.isatty(self._terminal):
            raise BackendUnavailable(
                "expected a terminal to read keys from, found none; sticks may also come from a "
                "CSV file"
            )
        self._unread = b""
        self._stick, self._until = (0.0, 0.0), 0.0
        self._before: list[Any] = []

    @property
    def segment(self) -> str:
        """The one that is steered."""
        return self._segments[self._chosen]

    def __enter__(self) -> Self:
        try:
            import termios
            import tty
        except ImportError:
            raise BackendUnavailable(
                "expected a system with Unix terminals, found none; sticks may also come from a "
                "CSV file"
            ) from None
        self._before = termios.tcgetattr(self._terminal)
        tty.setcbreak(self._terminal)
        return self

    def __exit__(self, *_: object) -> None:
        import termios

        termios.tcsetattr(self._terminal, termios.TCSADRAIN, self._before)

    def __call__(self, time: float) -> Deflections:
        """Deflections at a time [s]."""
        for key in self._keys():
            if key == NEXT:
                self._chosen = (self._chosen + 1) % len(self._segments)
            if key in (NEXT, STOP_KEY):
                self._until = time
            if key in ARROWS:
                self._stick, self._until = ARROWS[key], time + HOLD
        return {self.segment: self._stick} if time < self._until else {}

    def _keys(self) -> list[bytes]:
        """Keys that were pressed since the last call; an arrow is its last letter."""
        if select.select([self._terminal], [], [], 0.0)[0]:
            self._unread += os.read(self._terminal, 1024)
        keys = []
        while self._unread and not _begins_arrow(self._unread):
            arrow = self._unread[:2] in (b"\x1b[", b"\x1bO")
            letter = self._unread[2:3] if arrow else self._unread[:1]
            # a letter alone is no arrow
            keys += [letter] if arrow or letter in (NEXT, STOP_KEY) else []
            self._unread = self._unread[3 if arrow else 1 :]
        return keys


def _begins_arrow(unread: bytes) -> bool:
    """Whether the rest of a key is still on its way."""
    return unread in (b"\x1b", b"\x1b[", b"\x1bO")


# --------------------
# Sticks that were recorded: deflections from a CSV file or from any row of samples.


Deflections = Mapping[str, tuple[float, float]]
"""(x, y) of the stick of each segment, each at most 1 long."""
ROUNDING = 1e-9
"""A sample counts from so much before its time on [s], for times that are sums of periods."""


class RecordedSticks:
    """Samples one after another, each held until the next one; the last one is held for good."""

    def __init__(self, samples: Iterable[tuple[float, Deflections]]) -> None:
        """Begin with sticks at rest.

        Args:
            samples: Times [s] that do not fall, and the deflections from then on; they are taken
                when their time has come, so they may be endless.
        """
        self._samples = iter(samples)
        self._next = next(self._samples, None)
        self._held: Deflections = {}

    def __call__(self, time: float) -> Deflections:
        """Deflections at a time [s], which must not fall from call to call.

        Raises:
            DescriptionError: The times of the samples fall.
        """
        while self._next is not None and self._next[0] <= time + ROUNDING:
            begun, self._held = self._next
            self._next = next(self._samples, None)
            if self._next is not None and self._next[0] < begun:
                raise DescriptionError(
                    f"expected samples in the order of time, found {self._next[0]:g} s after "
                    f"{begun:g} s",
                    field="samples",
                )
        return self._held


def read_sticks(path: str | Path) -> RecordedSticks:
    """Sticks from a CSV file with the columns ``time``, then ``NAME_x`` and ``NAME_y`` a segment.

    Raises:
        DescriptionError: There is no such file, or it is not of this form; names file and line.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DescriptionError(f"expected a CSV file, found {error}", file=path) from None
    if not rows:
        raise DescriptionError("expected a line of column names, found an empty file", file=path)
    names: list[str] = []
    samples: list[tuple[float, Deflections]] = []
    for line, row in rows:
        try:
            if names:
                samples.append(_sample(row, names, samples[-1][0] if samples else -math.inf))
            else:
                names = _segments(row)
        except DescriptionError as error:
            raise error.located(file=path, line=line) from None
    return RecordedSticks(samples)


def _segments(row: Sequence[str]) -> list[str]:
    columns = [column.strip() for column in row]
    names = [column.removesuffix("_x") for column in columns[1::2]]
    expected = ["time", *(f"{name}_{axis}" for name in names for axis in "xy")]
    if not names or columns != expected or len(set(names)) < len(names):
        raise DescriptionError(
            f"expected the columns time, NAME_x, NAME_y, … of different segments, found "
            f"{', '.join(columns)}"
        )
    return names


def _sample(row: Sequence[str], names: Sequence[str], after: float) -> tuple[float, Deflections]:
    if len(row) != 1 + 2 * len(names):
        raise DescriptionError(f"expected {1 + 2 * len(names)} numbers, found {len(row)}")
    try:
        time, *parts = (float(text) for text in row)
    except ValueError:
        raise DescriptionError(f"expected numbers, found {', '.join(row)}") from None
    if not all(map(math.isfinite, (time, *parts))):
        raise DescriptionError(f"expected finite numbers, found {', '.join(row)}")
    if time < after:
        raise DescriptionError(f"expected at least {after:g} s, the time before, found {time:g} s")
    return time, dict(zip(names, zip(parts[::2], parts[1::2], strict=True), strict=True))
