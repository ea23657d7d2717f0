"""A page that browsers on this machine can open."""

from __future__ import annotations

import contextlib
import io
import socket
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import numpy as np
import viser

from softgrasp.errors import SoftgraspError
from softgrasp.render.camera import Camera

LOOPBACK = "127.0.0.1"
FIRST_PORT = 8080
NEXT_PORTS = 50
"""So many ports are tried, one after the other."""
AWAY = 1.35
"""The browser's window is wider or narrower than a film: the camera stands farther back."""


class Page:
    """A served page; closes with the ``with`` block.

    Args:
        title: What stands over its controls.
        port: The first port to try, 0 for any free one.
        host: Address to listen on. Whoever reaches it can see the page and use its controls, so
            other addresses than this machine's own are for networks that are trusted.

    Raises:
        SoftgraspError: None of the ports is free.
    """

    def __init__(self, title: str, port: int = FIRST_PORT, host: str = LOOPBACK) -> None:
        self.host, self.asked = host, port
        self.port = free_port(port, host)
        with quiet():
            self.server = viser.ViserServer(host=host, port=self.port, label=title, verbose=False)
        self.port = self.server.get_port()
        self.server.gui.configure_theme(show_logo=False, show_share_button=False)
        self.server.gui.main_panel.dock_right()

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        return f"http://{self.host}:{self.port}"

    @property
    def words(self) -> str:
        """Where it is, and why not where it was asked for."""
        if self.asked in (0, self.port):
            return f"open {self.url} in a browser"
        return f"port {self.asked} is in use; open {self.url} in a browser"

    def close(self) -> None:
        """Serve it no longer."""
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


def free_port(first: int, host: str = LOOPBACK) -> int:
    """The first port that nothing listens on, from one on; 0 stays 0.

    Raises:
        SoftgraspError: So many ports in a row are in use.
    """
    if first == 0:
        return 0
    for port in range(first, min(first + NEXT_PORTS, 65536)):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                probe.bind((host, port))
                return port
    raise SoftgraspError(
        f"expected a free port from {first} on at {host}, found the next {NEXT_PORTS} in use; "
        "choose another one with --port"
    )


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what the library of the page prints off standard output, where results stand."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def look_from(page: Page, camera: Camera) -> None:
    """Have new browsers look from where a camera stands."""
    start = page.server.initial_camera
    away = camera.position - np.asarray(camera.lookat)
    start.position = np.asarray(camera.lookat) + AWAY * away
    start.look_at = np.asarray(camera.lookat)
    start.fov = float(np.radians(camera.fovy_deg))
    start.near = 0.01 * camera.distance
