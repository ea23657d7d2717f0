"""A run that the user stopped: the finished part is not lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from softgrasp.simulation.result import GraspResult


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a simulation.

    Attributes:
        result: The run up to the last finished control sample.
    """

    def __init__(self, result: GraspResult) -> None:
        """Keep what was finished."""
        super().__init__(f"interrupted at {result.simulated_time:.3f} s")
        self.result = result


@contextmanager
def held_back() -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C back to moments at which the engine and the recording agree.

    A second Ctrl-C is not held back. Nothing is changed where the program has a handler of its
    own, and outside its main thread.

    Yields:
        To be called at such moments: raises KeyboardInterrupt where Ctrl-C has come.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    came = False

    def record(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            signal.default_int_handler(number, frame)
        came = True

    def let_through() -> None:
        if came:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, record)
    try:
        yield let_through
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
