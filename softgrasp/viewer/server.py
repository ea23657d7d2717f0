"""Access checks of the browser viewer.

viser has no access control: every local user, and every web site opened in a browser on this
machine, could connect to its port. It serves its page with ``websockets``, whose servers have a
request hook: a function that answers a request, or returns None to admit it. viser 1.1 has no
parameter for a hook, and fills it with the function that serves its files. ``protect`` puts the
checks before that function, on the one server object of the page; no class or module is changed.
A server without that hook is not used: the page is opened only after it has refused a request
(measured with viser 1.1.0 and 1.1.1, and websockets 13.1 to 16.1).

Alternatives that were measured: a proxy on a second port (350 lines, and viser's port needs a
secret nevertheless), a replaced ``websockets.serve`` (changes the library for the process), and
checks after the connection (viser has sent the scene by then).
"""

from __future__ import annotations

import gc
import hmac
import http
import http.client
import logging
import secrets
from collections import Counter
from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode, urlsplit

import viser
from websockets.asyncio.server import Server, ServerConnection
from websockets.http11 import Request, Response

from softgrasp.description.base import is_loopback
from softgrasp.errors import BackendUnavailable

LOOPBACK = "127.0.0.1"
TOKEN_BYTES = 24
TIMEOUT = 5.0
"""Timeout of the page's answer to a request that it has to refuse [s]."""
MAX_FIELDS = 20
"""Largest number of query parameters."""
MAX_OPEN, MAX_SILENT = 32, 16
"""Largest number of pages, and of connections without a request, of one address."""
SWEEP = 0.2
"""Time between two counts of connections without a request [s]."""
FRAMES = ("iframe", "frame", "embed", "object")
"""Values of Sec-Fetch-Dest of embedded pages."""
EVERYWHERE = ("0.0.0.0", "::")
"""Wildcard addresses of all interfaces."""
NO_STORE = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
UPGRADE = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "c29mdGdyYXNwLXNvZnRncg==",
}  # fmt: skip
"""Header of a request for a WebSocket."""
STRANGER = "softgrasp.invalid"
"""Host of a request that the page has to refuse."""

Refusal = tuple[http.HTTPStatus, str, dict[str, str]]
"""Status, text and additional header fields of an answer."""
Hook = Callable[[ServerConnection, Request], Response | None]


def new_token() -> str:
    """Create a random token."""
    return secrets.token_urlsafe(TOKEN_BYTES)


class AccessCheck:
    """Admit or refuse the requests of a page.

    With a token, the request must contain it as ``?token=`` (the response sets a cookie and
    redirects, so that the token does not stay in the address) or as that cookie. Without a token,
    the Host field must name the loopback, which excludes DNS rebinding. Requests from other sites
    are refused by their ``Origin``, as are frames of other sites.

    Args:
        token: The token; None for a page on the loopback.
        port: Port of the page.
    """

    def __init__(self, token: str | None, port: int) -> None:
        self.token, self.cookie = token, f"softgrasp_{port}"

    def refusal(self, request: Request) -> Refusal | None:
        """Return the answer to a request that is not admitted; None where it is."""
        try:
            fields = {name: _single(request, name) for name in ("Host", "Origin", "Cookie")}
            query = parse_qsl(urlsplit(request.path).query, max_num_fields=MAX_FIELDS)
            host, origin = urlsplit(f"//{fields['Host']}"), urlsplit(fields["Origin"] or "")
            _ = host.port  # raises ValueError for an invalid one
        except ValueError:
            return http.HTTPStatus.BAD_REQUEST, "Invalid address or header field.", {}
        embedded = request.headers.get("Sec-Fetch-Dest") in FRAMES
        site = request.headers.get("Sec-Fetch-Site", "none")
        foreign = fields["Origin"] is not None and origin.netloc != fields["Host"]
        if foreign or (embedded and site not in ("same-origin", "none")):
            return http.HTTPStatus.FORBIDDEN, "Requests from other sites are not allowed.", {}
        if self.token is not None:
            return self._token_refusal(query, fields["Cookie"] or "")
        if host.username is not None or not is_loopback(host.hostname or ""):
            return (
                http.HTTPStatus.FORBIDDEN,
                "This page is available on this machine only: open the address that softgrasp "
                "printed, or start it with --host.",
                {},
            )
        return None

    def _token_refusal(self, query: list[tuple[str, str]], cookies: str) -> Refusal | None:
        if any(name == "token" and self._is_token(value) for name, value in query):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
            to = f"/?{rest}" if rest else "/"
            return http.HTTPStatus.SEE_OTHER, "", {"Location": to, "Set-Cookie": cookie}
        parts = (part.partition("=") for part in cookies.split(";"))
        if any(
            name.strip() == self.cookie and self._is_token(value.strip())
            for name, _, value in parts
        ):
            return None
        message = "This page requires its token: open the complete address that softgrasp printed."
        return http.HTTPStatus.FORBIDDEN, message, {}

    def _is_token(self, shown: str) -> bool:
        expected = (self.token or "").encode()
        return hmac.compare_digest(shown.encode("utf-8", "replace"), expected)


def _single(request: Request, name: str) -> str | None:
    """Return a header field; None where it is absent.

    Raises:
        ValueError: It is there twice.
    """
    values = request.headers.get_all(name)
    if len(values) > 1:
        raise ValueError(name)
    return values[0] if values else None


def protect(page: viser.ViserServer, check: AccessCheck) -> None:
    """Check every request of a page, and limit the connections of one address.

    Args:
        page: Started viser server.
        check: Access check.

    Raises:
        BackendUnavailable: The page cannot be protected with the installed viser.
    """
    loop = page.get_event_loop()
    servers = [one for one in gc.get_objects() if type(one) is Server and one.get_loop() is loop]
    hook: Hook | None = getattr(servers[0], "process_request", None) if servers else None
    if len(servers) == 1 and hook is not None:
        loop.call_soon_threadsafe(_install, servers[0], hook, check)
    if any(_status(page, upgrade) != http.HTTPStatus.FORBIDDEN for upgrade in (False, True)):
        page.stop()
        raise BackendUnavailable(
            f"expected a protected page, found an open one with viser {viser.__version__}; install "
            "a supported version with: pip install 'viser==1.1.1'"
        )


def _install(server: Server, hook: Hook, check: AccessCheck) -> None:
    """Put the checks before the hook of a server; called in its event loop."""

    def checked(connection: ServerConnection, request: Request) -> Response | None:
        refusal = check.refusal(request)
        counts = Counter(map(_address, server.connections))
        if refusal is None and counts[_address(connection)] >= MAX_OPEN:
            refusal = http.HTTPStatus.SERVICE_UNAVAILABLE, "Too many pages are open.", {}
        if refusal is None:
            return hook(connection, request)
        status, message, fields = refusal
        response = connection.respond(status, f"{message}\n")
        for name, value in (fields | NO_STORE).items():
            response.headers[name] = value
        return response

    server.process_request = checked
    logging.getLogger("websockets.server").addFilter(_is_no_failed_handshake)
    for connection in list(server.handlers):  # opened since the start, with the hook of then
        connection.transport.abort()
    _drop_silent(server)


def _is_no_failed_handshake(record: logging.LogRecord) -> bool:
    """Return whether to log a record; a request that is no valid one is no error of the page."""
    return not record.getMessage().startswith(("opening handshake failed", "connection rejected"))


def _drop_silent(server: Server) -> None:
    """Close the oldest connections without a request beyond ``MAX_SILENT`` of an address."""
    silent = [connection for connection in server.handlers if connection.request is None]
    counts = Counter(map(_address, silent))
    for connection in silent:
        if counts[_address(connection)] > MAX_SILENT:
            counts[_address(connection)] -= 1
            connection.transport.abort()
    if server.is_serving():
        server.get_loop().call_later(SWEEP, _drop_silent, server)


def _address(connection: ServerConnection) -> str:
    return str((connection.remote_address or [""])[0])


def _status(page: viser.ViserServer, upgrade: bool) -> int:
    """Return the status of the answer to a request that has to be refused; 0 without an answer."""
    host = LOOPBACK if page.get_host() in EVERYWHERE else page.get_host()
    connection = http.client.HTTPConnection(host, page.get_port(), timeout=TIMEOUT)
    try:
        connection.request("GET", "/", headers={"Host": STRANGER} | (UPGRADE if upgrade else {}))
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
