"""Web page of the browser viewer (viser): port, address, initial camera, and saved HTML scenes."""

from __future__ import annotations

import contextlib
import errno
import html
import io
import os
import re
import socket
import time as clock
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np

from softgrasp._version import __version__
from softgrasp.description.base import is_loopback
from softgrasp.errors import BackendUnavailable, SoftgraspError
from softgrasp.rendering.camera import Camera
from softgrasp.viewer.server import LOOPBACK, AuthProxy, guarded_server, new_token

FRAMES = 25.0
"""Pictures a second."""
STYLE = (
    "position:fixed;top:1rem;right:1rem;max-width:24rem;padding:.6rem .9rem;border-radius:.5rem;"
    "background:rgba(255,255,255,.85);color:#1f2933;font:14px/1.45 system-ui,sans-serif;"
    "pointer-events:none;z-index:5"
)
"""Of the words over a saved scene; the mouse goes through them."""

FIRST_PORT = 8080
NEXT_PORTS = 50
"""So many ports are tried, one after the other."""
EVERYWHERE = ("0.0.0.0", "::")
"""All addresses of a machine."""
OTHERS_SEE = (
    "; everybody on the network who has this address, with its token, sees the page and can use "
    "it, and nothing is encrypted on the way"
)
AWAY = 1.35
"""The browser's window is wider or narrower than a film: the camera stands farther back."""


class Announcement(NamedTuple):
    """What a saved page says of itself."""

    title: str
    sentence: str
    """What happened, and what the time of the player is."""


class Page:
    """A served page; closes with the ``with`` block.

    Args:
        title: What stands over its controls.
        port: The first port to try, 0 for any free one.
        host: Address to listen on. A gate stands before the page: pages of other sites do not get
            through, and at other addresses than this machine's own nobody does who has not the
            whole ``url``, with its token.

    Raises:
        SoftgraspError: None of the ports is free, or the address is not one of this machine.
    """

    def __init__(self, title: str, port: int = FIRST_PORT, host: str = LOOPBACK) -> None:
        self.host, self.requested_port = host, port
        with quiet():
            self.server, word = guarded_server(title)
        try:
            self.proxy = proxy_before(self.server.get_port(), port, host, word)
        except SoftgraspError:
            self._stop()
            raise
        self.port = self.proxy.port
        self.server.gui.configure_theme(show_logo=False, show_share_button=False)
        self.server.gui.main_panel.dock_right()

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        host = socket.gethostname() if self.host in EVERYWHERE else self.host
        host = f"[{host}]" if ":" in host else host
        token = "" if self.proxy.token is None else f"/?token={self.proxy.token}"
        return f"http://{host}:{self.port}{token}"

    @property
    def words(self) -> str:
        """Where it is, why not where it was asked for, and who sees it if others do."""
        taken = (
            ""
            if self.requested_port in (0, self.port)
            else f"port {self.requested_port} is in use; "
        )
        seen = "" if self.proxy.token is None else OTHERS_SEE
        return f"{taken}open {self.url} in a browser{seen}"

    def close(self) -> None:
        """Serve it no longer."""
        self.proxy.close()
        self._stop()

    def _stop(self) -> None:
        with quiet():
            self.server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def proxy_before(inner: int, first: int, host: str, word: str = "") -> AuthProxy:
    """A gate before a page, at the first port that nothing listens on, from one on; 0 is any.

    Args:
        inner: Port of the page on the loopback.
        first: The first port to try.
        host: Address to listen on; at others than this machine's own a token is asked for.
        word: What the page asks for.

    Raises:
        SoftgraspError: So many ports in a row are in use, or the address is not of this machine.
    """
    token = None if is_loopback(host) else new_token()
    for port in range(first, min(first + NEXT_PORTS, 65536)):
        try:
            return AuthProxy(host, port, inner, token, word)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise SoftgraspError(
                    f"{host}: expected an address of this machine, found: {_reason(error)}; choose "
                    "another one with --host"
                ) from None
    raise SoftgraspError(
        f"expected a free port from {first} on at {host}, found the next {NEXT_PORTS} in use; "
        "choose another one with --port"
    )


def _reason(error: OSError) -> str:
    """In the words of the system; asyncio's are longer, and a name that is none has no number."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else str(error.strerror or error)


def set_camera(page: Page, camera: Camera) -> None:
    """Have new browsers look from where a camera stands."""
    start = page.server.initial_camera
    away = camera.position - np.asarray(camera.lookat)
    start.position = np.asarray(camera.lookat) + AWAY * away
    start.look_at = np.asarray(camera.lookat)
    start.fov = float(np.radians(camera.fovy_deg))
    start.near = 0.01 * camera.distance


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


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what the library of the page prints off standard output, where results stand."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def require_viser() -> None:
    """Say what to install where it is not.

    Raises:
        BackendUnavailable: viser is not installed.
    """
    if find_spec("viser") is None:
        raise BackendUnavailable(
            "a page in the browser needs viser; pip install 'softgrasp[view]', or leave the page "
            "out with --no-view where the verb has it"
        )
