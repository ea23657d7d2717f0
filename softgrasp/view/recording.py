"""Pages that move: until somebody ends them, or as one file that needs no server."""

from __future__ import annotations

import html
import re
import time as clock
from collections.abc import Callable, Iterator
from typing import NamedTuple

from softgrasp._version import __version__
from softgrasp.view.page import Page

FRAMES = 25.0
"""Pictures a second."""
STYLE = (
    "position:fixed;top:1rem;right:1rem;max-width:24rem;padding:.6rem .9rem;border-radius:.5rem;"
    "background:rgba(255,255,255,.85);color:#1f2933;font:14px/1.45 system-ui,sans-serif;"
    "pointer-events:none;z-index:5"
)
"""Of the words over a saved scene; the mouse goes through them."""


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


class Announcement(NamedTuple):
    """What a saved page says of itself."""

    title: str
    sentence: str
    """What happened, and what the time of the player is."""


def recorded(
    page: Page, frames: Iterator[None], announcement: Announcement, step: float = 1.0 / FRAMES
) -> str:
    """What a scene shows from picture to picture, as HTML that needs no server.

    Args:
        page: The page.
        frames: Changes the scene to its next picture each time it is asked.
        announcement: What stands over the scene.
        step: Time from picture to picture, as the player shows it [s].
    """
    next(frames)
    record = page.server.get_scene_serializer()
    record.insert_sleep(step)
    for _ in frames:
        record.insert_sleep(step)
    return titled(record.as_html(), announcement)


def titled(document: str, announcement: Announcement) -> str:
    """A page of viser's player with what it shows: its title, and words over its upper right.

    Args:
        document: The page as HTML.
        announcement: What stands there.
    """
    title, sentence = html.escape(announcement.title), html.escape(announcement.sentence)
    words = (
        f'<div style="{STYLE}"><b>{title}</b><br>{sentence}<br>'
        f'<span style="opacity:.6">softgrasp {__version__}</span></div>'
    )
    head = f'<title>{title}</title><meta name="generator" content="softgrasp {__version__}">'
    document = re.sub(r"<title>.*?</title>", "", document, count=1)
    document = document.replace("</head>", f"{head}</head>", 1)
    before, body, after = document.rpartition("</body>")
    return f"{before}{words}{body}{after}"
