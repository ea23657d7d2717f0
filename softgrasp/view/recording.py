"""Pages that move: until somebody ends them, or as one file that needs no server."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator

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


def recorded(page: Page, frames: Iterator[None]) -> str:
    """What a scene shows from picture to picture, as HTML that needs no server.

    Args:
        page: The page.
        frames: Changes the scene to its next picture each time it is asked.
    """
    next(frames)
    record = page.server.get_scene_serializer()
    record.insert_sleep(1.0 / FRAMES)
    for _ in frames:
        record.insert_sleep(1.0 / FRAMES)
    text: str = record.as_html()
    return text
