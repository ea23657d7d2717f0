"""A gamepad as the sticks of a feed-forward controller, by Linux's joystick interface."""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from softgrasp.control.sticks import Deflections
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
