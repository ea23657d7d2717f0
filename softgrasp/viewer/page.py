"""Web page of the browser viewer (viser): port, address, initial camera, and saved HTML scenes."""

from __future__ import annotations

import contextlib
import html
import io
import re
import socket
import time as clock
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import NamedTuple, Self

import numpy as np
import viser

from softgrasp._version import __version__
from softgrasp.errors import BackendUnavailable, SoftgraspError
from softgrasp.rendering.camera import Camera
from softgrasp.viewer.server import LOOPBACK, protect

FRAMES = 25.0
"""Frames per second."""
STYLE = (
    "position:fixed;top:1rem;right:1rem;max-width:24rem;padding:.6rem .9rem;border-radius:.5rem;"
    "background:rgba(255,255,255,.85);color:#1f2933;font:14px/1.45 system-ui,sans-serif;"
    "pointer-events:none;z-index:5"
)
"""CSS of the text over a saved scene; it ignores the mouse."""

NEXT_PORTS = 50
"""Number of consecutive ports that are tried."""
AWAY = 1.35
"""Camera distance in the browser over that of a video, because the window has another aspect."""


class Announcement(NamedTuple):
    """Title and text of a saved HTML file."""

    title: str
    sentence: str
    """What is shown, and the meaning of the player time."""


class Page:
    """A served browser page, which is reached from this machine; a context manager.

    Requests of other web sites are refused (``server.refusal_of``).

    Args:
        title: Title of the control panel.
        port: First port to try, 0 for any free one.

    Raises:
        SoftgraspError: No port is free.
    """

    def __init__(self, title: str, port: int = 8080) -> None:
        self.requested_port = port
        with quiet():
            port = free_port(port)
            self.server = viser.ViserServer(LOOPBACK, port, label=title, verbose=False)
            self.port = self.server.get_port()
            protect(self.server)
        self.server.gui.configure_theme(show_logo=False, show_share_button=False)
        self.server.gui.main_panel.dock_right()

    @property
    def url(self) -> str:
        """Address for the browser."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def words(self) -> str:
        """Sentence with the address and a replaced port."""
        taken = f"port {self.requested_port} is in use; "
        taken = "" if self.requested_port in (0, self.port) else taken
        return f"{taken}open {self.url} in a browser"

    def close(self) -> None:
        """Stop the server."""
        with quiet():
            self.server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def free_port(first: int) -> int:
    """Return the first free port of this machine's loopback from one on; 0 is any free one.

    Raises:
        SoftgraspError: No port is free.
    """
    for port in range(first, min(first + NEXT_PORTS, 65536)):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((LOOPBACK, port))
            return port
    raise SoftgraspError(
        f"expected a free port from {first} on at {LOOPBACK}, found the next {NEXT_PORTS} in use; "
        "choose another one with --port"
    )


def set_camera(page: Page, camera: Camera) -> None:
    """Set the initial camera of new browser clients."""
    start = page.server.initial_camera
    away = camera.position - np.asarray(camera.lookat)
    start.position = np.asarray(camera.lookat) + AWAY * away
    start.look_at = np.asarray(camera.lookat)
    start.fov = float(np.radians(camera.fovy_deg))
    start.near = 0.01 * camera.distance


def serve(step: Callable[[float], None]) -> None:
    """Call a function with the real time since the last call [s] until interrupted."""
    before = clock.monotonic()
    while True:
        clock.sleep(1.0 / FRAMES)
        now = clock.monotonic()
        step(now - before)
        before = now


def record(
    page: Page, frames: Iterator[None], announcement: Announcement, step: float = 1.0 / FRAMES
) -> str:
    """Record the frames of a moving scene as HTML that needs no server, a step [s] apart."""
    next(frames)
    record = page.server.get_scene_serializer()
    record.insert_sleep(step)
    for _ in frames:
        record.insert_sleep(step)
    return add_title(record.as_html(), announcement)


def add_title(document: str, announcement: Announcement) -> str:
    """Add a title and a text box to an HTML page of the viser player."""
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


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress standard output of viser, which is reserved for results."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def require_viser() -> None:
    """Raise an error with installation instructions without viser.

    Raises:
        BackendUnavailable: viser is not installed.
    """
    if find_spec("viser") is None:
        raise BackendUnavailable(
            "the browser viewer requires viser; install it with: pip install 'softgrasp[view]', or "
            "use --no-view if the command has it"
        )
