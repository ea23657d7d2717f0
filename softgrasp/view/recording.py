"""Pages that move: until somebody ends them, or as one file that needs no server."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from pathlib import Path

from softgrasp.formats.atomic import write_text
from softgrasp.view.page import Page

FRAMES = 25.0
"""Pictures a second."""


def serve(step: Callable[[float], None]) -> None:
    """Let a page go on until interrupted.

    Args:
        step: Called with the real time that has passed since the last call [s].
    """
    before = clock.monotonic()
    while True:
        clock.sleep(1.0 / FRAMES)
        now = clock.monotonic()
        step(now - before)
        before = now


def recorded(page: Page, frames: Iterator[None], path: Path) -> Path:
    """Write what a scene shows from picture to picture.

    Args:
        page: The page.
        frames: Changes the scene to its next picture each time it is asked.
        path: The ``.html`` to write.

    Raises:
        ResultError: The place cannot be written.
    """
    next(frames)
    record = page.server.get_scene_serializer()
    record.insert_sleep(1.0 / FRAMES)
    for _ in frames:
        record.insert_sleep(1.0 / FRAMES)
    return write_text(path, record.as_html())
