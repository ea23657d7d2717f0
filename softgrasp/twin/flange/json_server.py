"""A small HTTP server of JSON documents to be read: bounded in all that clients can do."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self

from softgrasp.description.loopback import is_loopback
from softgrasp.errors import ConnectionLostError, DescriptionError
from softgrasp.twin.flange.http_head import MAX_HEAD, Head, RefusedRequest, read_head

Document = Mapping[str, Any]
SHORTEST_TOKEN = 8
SEND_BUFFER = 65536
"""Bytes of answers that the operating system keeps for a client that does not take them."""
Answer = Callable[[str], Document | None]
"""From the path of a request to the document that is there, None where there is none."""


@dataclass(frozen=True)
class ServerLimits:
    """What one client, and all of them together, can take."""

    connections: int = 32
    """At the same time; more are told so and let go."""
    head_time: float = 10.0
    """For a whole request, the wait for it included [s]."""
    answer_time: float = 5.0
    """For a client to take an answer [s]."""


class JsonServer:
    """Answers GET and HEAD, over connections that stay open.

    A bearer token is wanted where one is given; it is compared in constant time.
    """

    def __init__(
        self,
        answer: Answer,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str = "",
        limits: ServerLimits | None = None,
    ) -> None:
        """Take what is served; ``start`` makes the socket.

        Args:
            answer: Gives the documents.
            host: Address to listen on.
            port: Port; 0 leaves the choice to the operating system.
            token: What clients have to show; empty: nothing.
            limits: What clients can take.

        Raises:
            DescriptionError: The address can be reached by other machines, and there is no token;
                or the token is too short.
        """
        if not is_loopback(host) and not token:
            raise DescriptionError(
                f"expected a token for the address {host}, which other machines can reach, "
                f"found none; without a token listen on 127.0.0.1"
            )
        visible = token.isascii() and token.isprintable() and token.strip() == token
        if token and (not visible or len(token) < SHORTEST_TOKEN):
            raise DescriptionError(
                f"expected a token of {SHORTEST_TOKEN} visible ASCII letters or more, "
                f"found another of {len(token)}"
            )
        self._answer, self._token = answer, token.encode()
        # the name may stand for two addresses, and each would get a port of its own
        self.host, self.port = "127.0.0.1" if host == "localhost" else host, port
        self.limits = limits or ServerLimits()
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen; from then on ``port`` is the real one.

        Raises:
            ConnectionLostError: The address cannot be listened on.
        """
        try:
            self._server = await asyncio.start_server(
                self._serve, self.host, self.port, limit=MAX_HEAD
            )
        except OSError as error:
            raise ConnectionLostError(
                f"http://{self.host}:{self.port}: expected an address that is free, found: "
                f"{error.strerror or error}"
            ) from None
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Listen no more and let all clients go."""
        if self._server is not None:
            self._server.close()
        for client in tuple(self._clients):
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = asyncio.current_task()
        assert client is not None  # a stream server calls this in a task
        self._clients.add(client)
        # a client that is slow, leaves or breaks off ends its own connection only, and the end
        # of the server ends them all
        ends = (OSError, TimeoutError, asyncio.CancelledError)
        try:
            with contextlib.suppress(*ends):
                connection = writer.get_extra_info("socket")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
                await self._talk(reader, writer)
        finally:
            self._clients.discard(client)
            if writer.transport.get_write_buffer_size():
                writer.transport.abort()  # it does not take its answer: nothing waits for it
            else:
                writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self._clients) > self.limits.connections:
                raise RefusedRequest(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections")
            while True:
                async with asyncio.timeout(self.limits.head_time):
                    head = await read_head(reader)
                if head is None:
                    return
                status, document = self._reply(head)
                await self._send(writer, status, document, head)
                if not head.stays:
                    return
        except RefusedRequest as error:
            await self._send(writer, error.status, {"error": str(error)}, None)

    def _reply(self, head: Head) -> tuple[HTTPStatus, Document]:
        if not hmac.compare_digest(head.token.encode(), self._token) and self._token:
            return HTTPStatus.UNAUTHORIZED, {
                "error": "expected the header Authorization: Bearer with the token of the server"
            }
        if head.method not in ("GET", "HEAD"):
            return HTTPStatus.METHOD_NOT_ALLOWED, {
                "error": f"expected GET or HEAD, found {head.method}"
            }
        document = self._answer(head.path)
        if document is None:
            return HTTPStatus.NOT_FOUND, {"error": f"no document at {head.path[:120]}"}
        return HTTPStatus.OK, document

    async def _send(
        self,
        writer: asyncio.StreamWriter,
        status: HTTPStatus,
        document: Document,
        head: Head | None,
    ) -> None:
        body = json.dumps(document, allow_nan=False).encode()
        lines = [
            f"HTTP/1.1 {status.value} {status.phrase}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "Cache-Control: no-store",
            "X-Content-Type-Options: nosniff",
            f"Connection: {'keep-alive' if head is not None and head.stays else 'close'}",
        ]
        if status is HTTPStatus.UNAUTHORIZED:
            lines.append("WWW-Authenticate: Bearer")
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            lines.append("Allow: GET, HEAD")
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        if head is None or head.method != "HEAD":
            writer.write(body)
        async with asyncio.timeout(self.limits.answer_time):
            await writer.drain()
