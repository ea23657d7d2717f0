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

SERVER_PATIENCE = 5.0
"""For an answer of the page itself [s]."""

LOOPBACK = "127.0.0.1"
TOKEN_BYTES = 24
MAX_HEAD = 16 * 1024
"""Longest head of a request [bytes]."""
MAX_FIELDS = 20
"""Of a query."""
MAX_OPEN = 64
"""Connections at once."""
PATIENCE, PATIENCE_FILE, PATIENCE_CLOSE = 10.0, 60.0, 2.0
"""For the head of a request, for a file of the page, and for the end of it all [s]."""
CHUNK = 64 * 1024
INNER_FIELD = "X-Softgrasp-Gate"
"""Field in which a request that was let through shows the page's word."""
FRAMES = ("iframe", "frame", "embed", "object")
"""Parts of a page that show another one."""
END = b"\r\n\r\n"

T = TypeVar("T")


class Head(NamedTuple):
    """The first lines of a request; names of fields are in small letters."""

    method: str
    target: str
    fields: dict[str, str]

    @property
    def query(self) -> list[tuple[str, str]]:
        """Names and values of the query."""
        return parse_qsl(urlsplit(self.target).query, max_num_fields=MAX_FIELDS)

    @property
    def cookies(self) -> dict[str, str]:
        """Values of cookies by their names."""
        parts = (part.partition("=") for part in self.fields.get("cookie", "").split(";"))
        return {name.strip(): value.strip() for name, _, value in parts}

    @property
    def host(self) -> str:
        """The name by which this machine was asked for, without its port."""
        parts = urlsplit(f"//{self.fields.get('host', '')}")
        _ = parts.port  # refuses what is no number
        return "" if parts.username is not None else parts.hostname or ""

    @property
    def from_elsewhere(self) -> bool:
        """Whether the page of another site asks, or has a frame for this one."""
        origin = self.fields.get("origin")
        if origin is not None and urlsplit(origin).netloc != self.fields.get("host"):
            return True
        framed = self.fields.get("sec-fetch-dest") in FRAMES
        return framed and self.fields.get("sec-fetch-site") not in ("same-origin", "none", None)


class HttpError(Exception):
    """A request that is not let through, and what it gets instead."""

    def __init__(self, status: str, message: str = "", fields: str = "") -> None:
        """Keep the answer: number and words, what its page says, more fields of its head."""
        super().__init__(f"{status}: {message}")
        self.status, self.message, self.fields = status, message, fields

    @property
    def text(self) -> bytes:
        """The whole answer."""
        body = f"{self.message}\n".encode()
        head = (
            f"HTTP/1.1 {self.status}\r\n{self.fields}Content-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n"
            "Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body


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
    asking = http.client.HTTPConnection(LOOPBACK, port, timeout=SERVER_PATIENCE)
    try:
        asking.request("GET", "/")
        return asking.getresponse().status
    finally:
        asking.close()


class AuthProxy:
    """Listens on an address and passes connections on to a page on this machine's loopback.

    A connection is passed on as it is, WebSockets too, once its first request was let through. With
    a token it has to show it: as ``?token=``, after which a cookie takes over by a redirect, so
    that the token does not stay in the address; or as that cookie. Without one it has to have asked
    for this machine by a name of its own, which a site that only points to this machine has not.
    What pages of other sites ask for is refused by its ``Origin``, and so is a page in a frame of
    theirs. Heads are bounded in size and time, connections in number.

    Args:
        host: Address to listen on.
        port: Port to listen on, 0 for any free one.
        inner: Port of the page on the loopback.
        token: The token; None for a gate that only this machine reaches.
        word: What the page asks for, which is added to the first request of a connection.

    Raises:
        OSError: The address cannot be listened on.
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
        """Listen no longer, and end all connections."""
        with contextlib.suppress(TimeoutError):
            self._run(self._end(), PATIENCE_CLOSE)
        self._stop()

    def check(self, head: Head) -> None:
        """Let a request through, or not.

        Raises:
            AnswerInstead: It comes from another site, or shows neither the token nor, where there
                is none, a name of this machine; or it shows the token in its address, and is to
                come back with the cookie.
        """
        if INNER_FIELD.lower() in head.fields:
            raise HttpError("400 Bad Request", "Only the gate says this.")
        if head.method not in ("GET", "HEAD"):
            raise HttpError("405 Method Not Allowed", "This page is only read.")
        if head.from_elsewhere:
            raise HttpError("403 Forbidden", "The page of another site asked for this one.")
        if self.token is not None:
            self._check_token(head, self.token)
        elif not is_loopback(head.host):
            raise HttpError(
                "403 Forbidden",
                "Only this machine sees this page: open the address that softgrasp has printed, or "
                "start it with --host.",
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
                "This page needs its token: open the whole address that softgrasp has printed.",
            )

    def _is_token(self, shown: str) -> bool:
        expected = (self.token or "").encode()
        return hmac.compare_digest(shown.encode("utf-8", "replace"), expected)

    async def _listen(self, host: str, port: int) -> asyncio.Server:
        return await asyncio.start_server(self._welcome, host, port, limit=MAX_HEAD)

    def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._meet(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its first byte to its last."""
        try:
            if len(self._tasks) > MAX_OPEN:
                raise HttpError("503 Service Unavailable", "Too many connections are open.")
            raw = await _first_head(reader)
            head = parsed(raw)
            self.check(head)
            waits = None if "upgrade" in head.fields else PATIENCE_FILE
            async with asyncio.timeout(waits):
                await self._pass_on(raw, reader, writer)
        except HttpError as instead:
            await _send(instead, reader, writer)
        except (OSError, EOFError):
            pass  # the other side has gone, or takes nothing; a TimeoutError is an OSError
        finally:
            writer.close()

    async def _pass_on(
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

    async def _end(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _run(self, work: Coroutine[Any, Any, T], patience: float | None = None) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(patience)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_CLOSE)
        self._loop.close()


async def _first_head(reader: asyncio.StreamReader) -> bytes:
    try:
        async with asyncio.timeout(PATIENCE):
            return await reader.readuntil(END)
    except asyncio.LimitOverrunError:
        message = f"The head of the request is longer than {MAX_HEAD} bytes."
        raise HttpError("431 Request Header Fields Too Large", message) from None
    except TimeoutError:
        raise HttpError("408 Request Timeout", "The request did not end in time.") from None


async def _send(
    instead: HttpError, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer; what still comes is read, or the answer would be thrown away with it."""
    with contextlib.suppress(OSError):
        async with asyncio.timeout(PATIENCE_CLOSE):
            writer.write(instead.text)
            writer.write_eof()
            await writer.drain()
            while await reader.read(CHUNK):
                pass


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on until one side has gone."""
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()


def parsed(raw: bytes) -> Head:
    """The head of a request.

    Raises:
        AnswerInstead: It is none.
    """
    lines = raw.removesuffix(END).decode("latin-1").split("\r\n")
    method, _, rest = lines[0].partition(" ")
    target, _, version = rest.partition(" ")
    fields = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip() or name.lower() in fields:
            raise HttpError("400 Bad Request", "A line of the request is no field.")
        fields[name.lower()] = value.strip()
    head = Head(method, target, fields)
    try:
        # all of them refuse what they cannot read
        _ = head.query, head.host, urlsplit(fields.get("origin", ""))
    except ValueError:
        raise HttpError("400 Bad Request", "The address cannot be read.") from None
    if version not in ("HTTP/1.0", "HTTP/1.1") or not target.startswith("/"):
        raise HttpError("400 Bad Request", "This is no request of a browser.")
    return head


def new_token() -> str:
    """A random token."""
    return secrets.token_urlsafe(TOKEN_BYTES)
