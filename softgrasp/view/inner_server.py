"""The page behind the gate: it answers nobody who has not come through.

A page listens on a port of the loopback, which other users of the machine and, as WebSockets know
no same origin, pages of any site could open without the gate. So it answers only requests that
show a word which the gate adds to what it passes on.
"""

from __future__ import annotations

import hmac
import http
import http.client
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import viser
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request

from softgrasp.errors import BackendUnavailable
from softgrasp.view.gate import INNER_FIELD, LOOPBACK

PATIENCE = 5.0
"""For an answer of the page itself [s]."""


def guarded_server(title: str) -> tuple[viser.ViserServer, str]:
    """A server of the page on a free port of the loopback, and the word that it asks for.

    Raises:
        BackendUnavailable: It answers without the word, as this version of viser goes other ways.
    """
    word = secrets.token_urlsafe(24)
    with _asking_for(word):
        server = viser.ViserServer(host=LOOPBACK, port=0, label=title, verbose=False)
    if _status_without(server.get_port()) != http.HTTPStatus.FORBIDDEN:
        server.stop()
        raise BackendUnavailable(
            f"expected a page that only its gate reaches, found one that is open with viser "
            f"{viser.__version__}; pip install 'viser==1.1.1'"
        )
    return server, word


@contextmanager
def _asking_for(word: str) -> Iterator[None]:
    """Have servers of WebSockets that start meanwhile answer only requests with a word."""
    serve = websockets.asyncio.server.serve

    def guarded(*arguments: Any, process_request: Callable[..., Any], **options: Any) -> Any:
        def checked(connection: ServerConnection, request: Request) -> Any:
            if not hmac.compare_digest(request.headers.get(INNER_FIELD, ""), word):
                return connection.respond(http.HTTPStatus.FORBIDDEN, "Come through the gate.\n")
            return process_request(connection, request)

        return serve(*arguments, process_request=checked, **options)

    with mock.patch.object(websockets.asyncio.server, "serve", guarded):
        yield


def _status_without(port: int) -> int:
    asking = http.client.HTTPConnection(LOOPBACK, port, timeout=PATIENCE)
    try:
        asking.request("GET", "/")
        return asking.getresponse().status
    finally:
        asking.close()
