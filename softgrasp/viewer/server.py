"""Access checks of the browser viewer, whose page listens on the loopback only.

viser has no access control: every web site opened in a browser on this machine could connect to
its port. It serves its page with ``websockets``, whose servers have a request hook: a function that
answers a request, or returns None to admit it. viser 1.1 has no parameter for a hook, and fills it
with the function that serves its files. ``protect`` puts the checks before that function, on the
one server object of the page; no class or module is changed. A server without that hook is not
used: the page is opened only after it has refused a request (measured with viser 1.1.0 and 1.1.1,
and websockets 13.1 to 16.1).

Alternatives that were measured: a proxy on a second port (350 lines, and viser's port needs a
secret nevertheless), a replaced ``websockets.serve`` (changes the library for the process), and
checks after the connection (viser has sent the scene by then).
"""

from __future__ import annotations

import gc
import http
import http.client
import logging
from collections.abc import Callable
from urllib.parse import urlsplit

import viser
from websockets.asyncio.server import Server, ServerConnection
from websockets.http11 import Request, Response

from softgrasp.description.base import is_loopback
from softgrasp.errors import BackendUnavailable

LOOPBACK = "127.0.0.1"
TIMEOUT = 5.0
"""Timeout of the page's answer to a request that it has to refuse [s]."""
FRAMES = ("iframe", "frame", "embed", "object")
"""Values of Sec-Fetch-Dest of embedded pages."""
UPGRADE = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "c29mdGdyYXNwLXNvZnRncg==",
}  # fmt: skip
"""Header of a request for a WebSocket."""
STRANGER = "softgrasp.invalid"
"""Host of a request that the page has to refuse."""

Refusal = tuple[http.HTTPStatus, str]
"""Status and text of an answer."""
Hook = Callable[[ServerConnection, Request], Response | None]


def refusal_of(request: Request) -> Refusal | None:
    """Return the answer to a request that is not admitted; None where it is.

    The Host field must name the loopback, which excludes DNS rebinding. Requests from other sites
    are refused by their ``Origin``, as are frames of other sites.
    """
    try:
        host, origin = _single(request, "Host"), _single(request, "Origin")
        address, site = urlsplit(f"//{host}"), urlsplit(origin or "").netloc
        _ = address.port  # raises ValueError for an invalid one
    except ValueError:
        return http.HTTPStatus.BAD_REQUEST, "Invalid address or header field."
    from_site = request.headers.get("Sec-Fetch-Site", "none")
    is_embedded = request.headers.get("Sec-Fetch-Dest") in FRAMES
    if (origin is not None and site != host) or (
        is_embedded and from_site not in ("same-origin", "none")
    ):
        return http.HTTPStatus.FORBIDDEN, "Requests from other sites are not allowed."
    if address.username is not None or not is_loopback(address.hostname or ""):
        return (
            http.HTTPStatus.FORBIDDEN,
            "This page is available on this machine only: open the address that softgrasp printed, "
            "from another machine through a tunnel (ssh -L).",
        )
    return None


def _single(request: Request, name: str) -> str | None:
    """Return a header field; None where it is absent.

    Raises:
        ValueError: It is there twice.
    """
    values = request.headers.get_all(name)
    if len(values) > 1:
        raise ValueError(name)
    return values[0] if values else None


def protect(page: viser.ViserServer) -> None:
    """Check every request of a started page.

    Raises:
        BackendUnavailable: The page cannot be protected with the installed viser.
    """
    loop = page.get_event_loop()
    servers = [
        item for item in gc.get_objects() if type(item) is Server and item.get_loop() is loop
    ]
    hook: Hook | None = getattr(servers[0], "process_request", None) if servers else None
    if len(servers) == 1 and hook is not None:
        loop.call_soon_threadsafe(_install, servers[0], hook)
    if any(_status(page, upgrade) != http.HTTPStatus.FORBIDDEN for upgrade in (False, True)):
        page.stop()
        raise BackendUnavailable(
            f"expected a protected page, found an open one with viser {viser.__version__}; install "
            "a supported version with: pip install 'viser==1.1.1'"
        )


def _install(server: Server, hook: Hook) -> None:
    """Put the checks before the hook of a server; called in its event loop."""

    def checked(connection: ServerConnection, request: Request) -> Response | None:
        refusal = refusal_of(request)
        if refusal is None:
            return hook(connection, request)
        status, message = refusal
        return connection.respond(status, f"{message}\n")

    server.process_request = checked
    logging.getLogger("websockets.server").addFilter(_is_no_failed_handshake)
    for connection in list(server.handlers):  # opened since the start, with the hook of then
        connection.transport.abort()


def _is_no_failed_handshake(record: logging.LogRecord) -> bool:
    """Return whether to log a record; a request that is no valid one is no error of the page."""
    return not record.getMessage().startswith(("opening handshake failed", "connection rejected"))


def _status(page: viser.ViserServer, upgrade: bool) -> int:
    """Return the status of the answer to a request that has to be refused; 0 without an answer."""
    connection = http.client.HTTPConnection(page.get_host(), page.get_port(), timeout=TIMEOUT)
    try:
        connection.request("GET", "/", headers={"Host": STRANGER} | (UPGRADE if upgrade else {}))
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
