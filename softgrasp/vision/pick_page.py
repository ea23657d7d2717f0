"""A page on this machine on which one clicks on a picture; it needs no window of OpenCV."""

from __future__ import annotations

import io
import json
import secrets
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from PIL import Image as Pillow

from softgrasp.errors import DescriptionError, SoftgraspError
from softgrasp.mechanics.picked_angles import Picks
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.image import Image

HOST = "127.0.0.1"
MAX_BYTES = 64 * 1024
"""A longer list of picks is none."""
PATIENCE = 10.0
"""A browser that is silent for so long in the middle of a request is let go [s]."""

POLL = 0.05
"""How often the server looks whether it is to end [s]."""


class PickTarget(NamedTuple):
    """How many picks there are to make."""

    pieces: int
    edges: bool
    line: bool

    @property
    def total(self) -> int:
        """All of them."""
        return 2 * self.line + (self.pieces + 1) * (1 + self.edges)

    def picks(self, points: Array) -> Picks:
        """Picks in the order in which they are made: reference line first, then from the base on.

        Raises:
            DescriptionError: There are fewer, or more.
        """
        if points.shape != (self.total, 2):
            raise DescriptionError(
                f"expected {self.total} picks ({self._counts_text()}), found {len(points)}"
            )
        cuts = points[2 * self.line :]
        return Picks(
            cuts.reshape(self.pieces + 1, 2, 2) if self.edges else cuts,
            points[:2] if self.line else None,
        )

    def _counts_text(self) -> str:
        cuts = f"{self.pieces + 1} cuts" + (" at both edges" if self.edges else "")
        return f"the reference line and {cuts}" if self.line else cuts


Measured = tuple[str, Image]
"""What is told of picks, and the picture with them."""


class PickServer:
    """Serves the page until it is done; listens on this machine only, under a secret path.

    Args:
        picture: To click on, (height, width, 3).
        wanted: What to pick.
        measure: Makes words and an overlay of picks; its errors are told on the page.
        port: 0 for any that is free.

    Raises:
        DescriptionError: The port is taken.
    """

    def __init__(
        self, image: Image, target: PickTarget, measure: Callable[[Picks], Measured], port: int = 0
    ) -> None:
        self.target, self.measure = target, measure
        self.png = _png(image)
        self.overlay = self.png
        self.secret = secrets.token_urlsafe(16)
        self.picks: Picks | None = None
        self._done = threading.Event()
        server = self

        class Handler(_Handler):
            owner = server

        try:
            self._server = ThreadingHTTPServer((HOST, port), Handler)
        except (OSError, OverflowError) as error:
            raise DescriptionError(
                f"expected a free port, found {port}: {error}", field="port"
            ) from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL,), daemon=True
        )

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self._server.server_address[1]}/{self.secret}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait(self, seconds: float | None = None) -> Picks | None:
        """The picks, once somebody says that they are done; None when the time is over."""
        self._done.wait(seconds)
        return self.picks

    def take(self, action: str, body: bytes) -> str:
        """Measure what was picked; answers in words.

        Raises:
            SoftgraspError: The picks are wrong.
        """
        picks = self.target.picks(_points(body))
        text, overlay = self.measure(picks)
        self.overlay = _png(overlay)
        if action == "done":
            self.picks = picks
            self._done.set()
        return text

    @property
    def html(self) -> bytes:
        """The page."""
        counts = {
            "line": 2 * self.target.line,
            "cuts": self.target.pieces + 1,
            "edges": 1 + self.target.edges,
        }
        text = Path(__file__).with_name("pick_page.html").read_text(encoding="utf-8")
        return text.replace("/*WANTED*/null", json.dumps(counts)).encode()


class _Handler(BaseHTTPRequestHandler):
    owner: PickServer
    timeout = PATIENCE

    def do_GET(self) -> None:
        kinds = {"": "text/html; charset=utf-8", "picture.png": "image/png"}
        name = self._name()
        if name == "overlay.png":
            self._answer(HTTPStatus.OK, "image/png", self.owner.overlay)
        elif name in kinds:
            body = self.owner.html if name == "" else self.owner.png
            self._answer(HTTPStatus.OK, kinds[name], body)
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"no such page")

    def do_POST(self) -> None:
        name, length = self._name(), self.headers.get("Content-Length", "")
        if name not in ("measure", "done"):
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"no such page")
        elif not length.isdecimal() or int(length) > MAX_BYTES:
            self._answer(HTTPStatus.BAD_REQUEST, "text/plain", b"expected a short list of picks")
        else:
            try:
                text = self.owner.take(name, self.rfile.read(int(length)))
            except SoftgraspError as error:
                self._answer(HTTPStatus.BAD_REQUEST, "text/plain", str(error).encode())
            else:
                self._answer(HTTPStatus.OK, "text/plain; charset=utf-8", text.encode())

    def _name(self) -> str | None:
        """The path behind the secret; None where it is not known."""
        first, _, name = self.path.split("?")[0].removeprefix("/").partition("/")
        known = secrets.compare_digest(first.encode(), self.owner.secret.encode())
        return name if known else None

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


def _points(body: bytes) -> Array:
    try:
        points = np.array(json.loads(body), dtype=float)
    except (ValueError, TypeError, RecursionError):
        points = np.zeros(0)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise DescriptionError("expected a list of picks (column, row), found none")
    return points


def _png(image: Image) -> bytes:
    stream = io.BytesIO()
    Pillow.fromarray(image).save(stream, format="PNG")
    return stream.getvalue()
