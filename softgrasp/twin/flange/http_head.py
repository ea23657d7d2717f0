"""The head of an HTTP request, read with a bound on its length and its time."""

from __future__ import annotations

import asyncio
import io
import re
from http import HTTPStatus
from http.client import HTTPException, parse_headers
from typing import NamedTuple
from urllib.parse import urlsplit

MAX_HEAD = 8192
"""Bytes of a request's line and headers."""
LINE = re.compile(r"(?P<method>[A-Z]{1,16}) (?P<target>/[!-~]{0,1024}) HTTP/1\.(?P<minor>[01])")


class Head(NamedTuple):
    """What a client asks for."""

    method: str
    path: str
    token: str
    """Of ``Authorization: Bearer …``; empty where there is none."""
    stays: bool
    """Whether the connection is to be kept open."""


class RefusedRequest(Exception):
    """A request that is answered with an error, and a connection that is closed then."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """The next request on a connection, None where the client has left.

    Args:
        reader: Has ``MOST_HEAD`` as its limit.

    Raises:
        RefusedRequest: It is too long, is none, or has a body.
    """
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise RefusedRequest(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"expected a head of at most {MAX_HEAD} bytes, found more",
        ) from None
    return parse_head(raw)


def parse_head(raw: bytes) -> Head:
    """The head of a request from its bytes, the empty line behind it included.

    Raises:
        RefusedRequest: It is none, or has a body.
    """
    first, _, rest = raw.partition(b"\r\n")
    line = LINE.fullmatch(first.decode("latin-1"))
    if line is None:
        raise RefusedRequest(
            HTTPStatus.BAD_REQUEST, "expected a line such as GET /health HTTP/1.1, found another"
        )
    try:
        headers = parse_headers(io.BytesIO(rest))
    except HTTPException as error:
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, f"expected headers, found: {error}") from None
    # a body that is not read would be taken for the next request
    lengths = {length.strip() for length in headers.get_all("Content-Length", [])}
    if "Transfer-Encoding" in headers or lengths - {"0"}:
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, "expected a request without a body")
    kind, _, token = headers.get("Authorization", "").partition(" ")
    wish = headers.get("Connection", "keep-alive" if line["minor"] == "1" else "close")
    return Head(
        method=line["method"],
        path=urlsplit(line["target"]).path,
        token=token.strip() if kind.lower() == "bearer" else "",
        stays=wish.strip().lower() == "keep-alive",
    )
