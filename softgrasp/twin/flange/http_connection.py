"""One HTTP connection that is kept open, asked from a thread, with a deadline for each answer."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from http.client import HTTPConnection, HTTPException
from typing import NamedTuple
from urllib.parse import urlsplit

from softgrasp.errors import BadAnswerError, ConnectionLostError

MAX_BYTES = 65536
"""A longer answer is no pose."""


class Answer(NamedTuple):
    """What a server said."""

    status: int
    reason: str
    body: bytes


class KeptConnection:
    """Asks one address again and again."""

    def __init__(self, url: str, timeout: float, token: str = "") -> None:
        """Take the address; the connection is made by the first question.

        Args:
            url: What is asked for.
            timeout: Longest wait for one answer, connecting and all of its bytes included [s].
            token: Sent as a bearer token where it is not empty.
        """
        self.url, self.timeout = url, timeout
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = {"Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection: HTTPConnection | None = None

    async def get(self) -> Answer:
        """Ask once.

        Raises:
            ConnectionLostError: There is no connection, it broke, or the answer did not come in
                time; the next question makes a new one.
            BadAnswerError: The answer is too long.
        """
        connection = self._connection or HTTPConnection(
            self._host, self._port, timeout=self.timeout
        )
        self._connection = connection
        try:
            async with asyncio.timeout(self.timeout):
                return await asyncio.to_thread(self._ask, connection)
        except TimeoutError:
            message = f"expected an answer within {self.timeout:g} s, found none"
        except (OSError, HTTPException) as error:
            message = f"expected an answer, found: {_reason(error)}"
        except BaseException:
            self.close()  # cancelled in the middle of an answer: the rest of it must not be read
            raise
        self.close()
        raise ConnectionLostError(f"{self.url}: {message}")

    def close(self) -> None:
        """Cut the connection; a thread that waits for an answer is woken."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if connection.sock is not None:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
        connection.close()

    def _ask(self, connection: HTTPConnection) -> Answer:
        connection.request("GET", self._path, headers=self._headers)
        answer = connection.getresponse()
        body = answer.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise BadAnswerError(
                f"{self.url}: expected an answer of at most {MAX_BYTES} bytes, found more"
            )
        return Answer(answer.status, answer.reason, body)


def _reason(error: Exception) -> str:
    reason_text = getattr(error, "strerror", None) or " ".join(str(error).split())
    return str(reason_text or type(error).__name__)[:120]
