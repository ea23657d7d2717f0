"""Authentication proxy of the browser viewer.

viser has no access control: every local user, and every web site opened in a browser on this
machine, could connect to its port. The viser server therefore answers only requests with a secret
header (``guarded_server``), and ``AuthProxy`` adds that header to the requests it admits. On
addresses other than the loopback the proxy requires a token.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import http
import http.client
import secrets
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar
from unittest import mock
from urllib.parse import parse_qsl, urlencode, urlsplit

import viser
import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request

from softgrasp.description.base import is_loopback
from softgrasp.errors import BackendUnavailable

SERVER_TIMEOUT = 5.0
"""Timeout of a response of the viser server [s]."""

LOOPBACK = "127.0.0.1"
TOKEN_BYTES = 24
MAX_HEAD = 16 * 1024
"""Maximum size of a request header [bytes]."""
MAX_FIELDS = 20
"""Maximum number of query parameters."""
MAX_OPEN = 64
"""Maximum number of simultaneous connections."""
HEADER_TIMEOUT, FILE_TIMEOUT, CLOSE_TIMEOUT = 10.0, 60.0, 2.0
"""Timeouts of a request header, of a file, and of closing [s]."""
CHUNK = 64 * 1024
INNER_FIELD = "X-Softgrasp-Gate"
"""Header field with the secret of the viser server."""
FRAMES = ("iframe", "frame", "embed", "object")
"""Values of Sec-Fetch-Dest of embedded pages."""
END = b"\r\n\r\n"

T = TypeVar("T")


class Head(NamedTuple):
    """Header of an HTTP request; field names are in lower case."""

    method: str
    target: str
    fields: dict[str, str]

    @property
    def query(self) -> list[tuple[str, str]]:
        """Names and values of the query parameters."""
        return parse_qsl(urlsplit(self.target).query, max_num_fields=MAX_FIELDS)

    @property
    def cookies(self) -> dict[str, str]:
        """Cookie values by name."""
        parts = (part.partition("=") for part in self.fields.get("cookie", "").split(";"))
        return {name.strip(): value.strip() for name, _, value in parts}

    @property
    def host(self) -> str:
        """Requested host name without port."""
        parts = urlsplit(f"//{self.fields.get('host', '')}")
        _ = parts.port  # raises ValueError for an invalid port
        return "" if parts.username is not None else parts.hostname or ""

    @property
    def from_elsewhere(self) -> bool:
        """Return whether the request comes from another site, or from a frame inside one."""
        origin = self.fields.get("origin")
        if origin is not None and urlsplit(origin).netloc != self.fields.get("host"):
            return True
        framed = self.fields.get("sec-fetch-dest") in FRAMES
        return framed and self.fields.get("sec-fetch-site") not in ("same-origin", "none", None)


class HttpError(Exception):
    """Rejection of a request, with its HTTP response."""

    def __init__(self, status: str, message: str = "", fields: str = "") -> None:
        """Store status line, body text and additional header fields."""
        super().__init__(f"{status}: {message}")
        self.status, self.message, self.fields = status, message, fields

    @property
    def text(self) -> bytes:
        """The complete HTTP response."""
        body = f"{self.message}\n".encode()
        head = (
            f"HTTP/1.1 {self.status}\r\n{self.fields}Content-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n"
            "Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body


def guarded_server(title: str) -> tuple[viser.ViserServer, str]:
    """Start a viser server on a free loopback port; return it with its secret.

    Raises:
        BackendUnavailable: The server answers without the secret (unsupported viser version).
    """
    word = secrets.token_urlsafe(24)
    with _require_secret(word):
        server = viser.ViserServer(host=LOOPBACK, port=0, label=title, verbose=False)
    if _status_without_secret(server.get_port()) != http.HTTPStatus.FORBIDDEN:
        server.stop()
        raise BackendUnavailable(
            f"expected a protected page, found an open one with viser {viser.__version__}; install "
            "a supported version with: pip install 'viser==1.1.1'"
        )
    return server, word


@contextmanager
def _require_secret(word: str) -> Iterator[None]:
    """Make WebSocket servers that start in this context require the secret."""
    serve = websockets.asyncio.server.serve

    def guarded(*arguments: Any, process_request: Callable[..., Any], **options: Any) -> Any:
        def checked(connection: ServerConnection, request: Request) -> Any:
            if not hmac.compare_digest(request.headers.get(INNER_FIELD, ""), word):
                return connection.respond(http.HTTPStatus.FORBIDDEN, "Use the proxy.\n")
            return process_request(connection, request)

        return serve(*arguments, process_request=checked, **options)

    with mock.patch.object(websockets.asyncio.server, "serve", guarded):
        yield


def _status_without_secret(port: int) -> int:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=SERVER_TIMEOUT)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status
    finally:
        connection.close()


class AuthProxy:
    """Authentication proxy: forwards admitted connections to a server on the loopback.

    A connection is forwarded unchanged, including WebSockets, once its first request is admitted.
    With a token, the request must contain it as ``?token=`` (the response sets a cookie and
    redirects, so that the token does not stay in the address) or as that cookie. Without a token,
    the Host field must name the loopback, which excludes DNS rebinding. Requests from other sites
    are rejected by their ``Origin``, as are frames of other sites. Header size, time
    and the number of connections are limited.

    Args:
        host: Address to listen on.
        port: Port to listen on, 0 for any free one.
        inner: Port of the server on the loopback.
        token: The token; None for a proxy on the loopback.
        word: Secret header value of the server, added to the first request of a connection.

    Raises:
        OSError: The address is not available.
    """

    def __init__(self, host: str, port: int, inner: int, token: str | None, word: str = "") -> None:
        self.token, self._word = token, word
        self._inner = inner
        self._tasks: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        try:
            self._server = self._run(self._listen(host, port))
        except OSError:
            self._stop()
            raise
        self.port = int(self._server.sockets[0].getsockname()[1])
        self._cookie = f"softgrasp_{self.port}"

    def close(self) -> None:
        """Stop listening and close all connections."""
        with contextlib.suppress(TimeoutError):
            self._run(self._close_connections(), CLOSE_TIMEOUT)
        self._stop()

    def check(self, head: Head) -> None:
        """Admit or reject a request.

        Raises:
            HttpError: The request comes from another site, or has no valid token, cookie or
                loopback host; or the token is in its address, and the response is the redirect.
        """
        if INNER_FIELD.lower() in head.fields:
            raise HttpError("400 Bad Request", "The header field is reserved for the proxy.")
        if head.method not in ("GET", "HEAD"):
            raise HttpError("405 Method Not Allowed", "Only GET and HEAD are allowed.")
        if head.from_elsewhere:
            raise HttpError("403 Forbidden", "Requests from other sites are not allowed.")
        if self.token is not None:
            self._check_token(head, self.token)
        elif not is_loopback(head.host):
            raise HttpError(
                "403 Forbidden",
                "This page is available on this machine only: open the address that softgrasp "
                "printed, or start it with --host.",
            )

    def _check_token(self, head: Head, token: str) -> None:
        if any(name == "token" and self._is_token(value) for name, value in head.query):
            rest = urlencode([pair for pair in head.query if pair[0] != "token"])
            cookie = f"{self._cookie}={token}; Path=/; HttpOnly; SameSite=Strict"
            to = f"/?{rest}" if rest else "/"
            fields = f"Location: {to}\r\nSet-Cookie: {cookie}\r\n"
            raise HttpError("303 See Other", fields=fields)
        if not self._is_token(head.cookies.get(self._cookie, "")):
            raise HttpError(
                "403 Forbidden",
                "This page requires its token: open the complete address that softgrasp printed.",
            )

    def _is_token(self, shown: str) -> bool:
        expected = (self.token or "").encode()
        return hmac.compare_digest(shown.encode("utf-8", "replace"), expected)

    async def _listen(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._accept, host, port, limit=MAX_HEAD)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._handle(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection."""
        try:
            if len(self._tasks) > MAX_OPEN:
                raise HttpError("503 Service Unavailable", "Too many connections are open.")
            raw = await _first_head(reader)
            head = parsed(raw)
            self.check(head)
            waits = None if "upgrade" in head.fields else FILE_TIMEOUT
            async with asyncio.timeout(waits):
                await self._forward(raw, reader, writer)
        except HttpError as error:
            await _send(error, reader, writer)
        except (OSError, EOFError):
            pass  # the client is gone or does not read; TimeoutError is an OSError
        finally:
            writer.close()

    async def _forward(
        self, raw: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(LOOPBACK, self._inner)
        first, rest = raw.split(b"\r\n", 1)
        inner_writer.write(first + f"\r\n{INNER_FIELD}: {self._word}\r\n".encode() + rest)
        pumps = [
            asyncio.create_task(_pump(reader, inner_writer)),
            asyncio.create_task(_pump(inner_reader, writer)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            inner_writer.close()

    async def _close_connections(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _run(self, work: Coroutine[Any, Any, T], patience: float | None = None) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(patience)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_TIMEOUT)
        self._loop.close()


async def _first_head(reader: asyncio.StreamReader) -> bytes:
    try:
        async with asyncio.timeout(HEADER_TIMEOUT):
            return await reader.readuntil(END)
    except asyncio.LimitOverrunError:
        message = f"The request header is longer than {MAX_HEAD} bytes."
        raise HttpError("431 Request Header Fields Too Large", message) from None
    except TimeoutError:
        raise HttpError("408 Request Timeout", "The request header is incomplete.") from None


async def _send(
    error: HttpError, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Send a response and read remaining input, or the response would be discarded."""
    with contextlib.suppress(OSError):
        async with asyncio.timeout(CLOSE_TIMEOUT):
            writer.write(error.text)
            writer.write_eof()
            await writer.drain()
            while await reader.read(CHUNK):
                pass


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward data until one side closes the connection."""
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()


def parsed(raw: bytes) -> Head:
    """Parse the header of a request.

    Raises:
        HttpError: The header is invalid.
    """
    lines = raw.removesuffix(END).decode("latin-1").split("\r\n")
    method, _, rest = lines[0].partition(" ")
    target, _, version = rest.partition(" ")
    fields = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip() or name.lower() in fields:
            raise HttpError("400 Bad Request", "Invalid header field.")
        fields[name.lower()] = value.strip()
    head = Head(method, target, fields)
    try:
        # all of them raise ValueError for invalid input
        _ = head.query, head.host, urlsplit(fields.get("origin", ""))
    except ValueError:
        raise HttpError("400 Bad Request", "Invalid address.") from None
    if version not in ("HTTP/1.0", "HTTP/1.1") or not target.startswith("/"):
        raise HttpError("400 Bad Request", "Invalid request line.")
    return head


def new_token() -> str:
    """Create a random token."""
    return secrets.token_urlsafe(TOKEN_BYTES)
