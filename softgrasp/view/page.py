"""A page that browsers on this machine can open."""

from __future__ import annotations

import contextlib
import errno
import io
import ipaddress
import socket
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import numpy as np
import viser

from softgrasp.errors import SoftgraspError
from softgrasp.render.camera import Camera
from softgrasp.view.gate import LOOPBACK, Gate

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


class Page:
    """A served page; closes with the ``with`` block.

    Args:
        title: What stands over its controls.
        port: The first port to try, 0 for any free one.
        host: Address to listen on. At others than this machine's own a gate lets nobody in who has
            not the whole ``url``, with its token.

    Raises:
        SoftgraspError: None of the ports is free, or the address is not one of this machine.
    """

    def __init__(self, title: str, port: int = FIRST_PORT, host: str = LOOPBACK) -> None:
        self.host, self.asked = host, port
        self.port = free_port(port, host)
        self.gate: Gate | None = None
        own, inner = (host, self.port) if is_loopback(host) else (LOOPBACK, 0)
        with quiet():
            self.server = viser.ViserServer(host=own, port=inner, label=title, verbose=False)
        if is_loopback(host):
            self.port = self.server.get_port()
        else:
            self.gate = Gate(host, self.port, self.server.get_port())
            self.port = self.gate.port
        self.server.gui.configure_theme(show_logo=False, show_share_button=False)
        self.server.gui.main_panel.dock_right()

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        host = socket.gethostname() if self.host in EVERYWHERE else self.host
        host = f"[{host}]" if ":" in host else host
        token = "" if self.gate is None else f"/?token={self.gate.token}"
        return f"http://{host}:{self.port}{token}"

    @property
    def words(self) -> str:
        """Where it is, why not where it was asked for, and who sees it if others do."""
        taken = "" if self.asked in (0, self.port) else f"port {self.asked} is in use; "
        seen = "" if self.gate is None else OTHERS_SEE
        return f"{taken}open {self.url} in a browser{seen}"

    def close(self) -> None:
        """Serve it no longer."""
        if self.gate is not None:
            self.gate.close()
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
        SoftgraspError: So many ports in a row are in use, or the address is not of this machine.
    """
    if first == 0:
        return 0
    for port in range(first, min(first + NEXT_PORTS, 65536)):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise SoftgraspError(
                        f"{host}: expected an address of this machine, found: {error.strerror}; "
                        "choose another one with --host"
                    ) from None
            else:
                return port
    raise SoftgraspError(
        f"expected a free port from {first} on at {host}, found the next {NEXT_PORTS} in use; "
        "choose another one with --port"
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
