"""A keyboard as the stick of a feed-forward controller: arrows bend, tab chooses the segment."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence
from typing import Any, Self

from softgrasp.control.sticks import Deflections
from softgrasp.errors import BackendUnavailable, DescriptionError

ARROWS = {b"A": (0.0, 1.0), b"B": (0.0, -1.0), b"C": (1.0, 0.0), b"D": (-1.0, 0.0)}
"""Last letter of what a terminal sends for up, down, right and left after ESC [ or ESC O."""
NEXT, STOP = b"\t", b" "
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
            if key in (NEXT, STOP):
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
            keys += [letter] if arrow or letter in (NEXT, STOP) else []
            self._unread = self._unread[3 if arrow else 1 :]
        return keys


def _begins_arrow(unread: bytes) -> bool:
    """Whether the rest of a key is still on its way."""
    return unread in (b"\x1b", b"\x1b[", b"\x1bO")
