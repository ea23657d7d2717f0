"""Access checks of the browser page: admitted and refused requests."""

import contextlib
import gc
import logging
import socket
import time
from collections.abc import Iterator

import pytest
import viser
from websockets.asyncio.server import Server
from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.http11 import Request
from websockets.sync.client import connect

from softgrasp.errors import BackendUnavailable
from softgrasp.viewer import server
from softgrasp.viewer.page import Page
from softgrasp.viewer.server import refusal_of

PATIENCE = 120.0
"""Seconds after which something hangs."""
VERSION = f"viser-v{viser.__version__}"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with Page("inside", port=0) as page:
        yield page


def status(host: str = "127.0.0.1:1", **fields: str) -> int:
    """Status of the answer to a request; 200 where it is admitted."""
    headers = Headers({"Host": host} | {k.replace("_", "-"): v for k, v in fields.items()})
    refusal = refusal_of(Request("/", headers))
    return 200 if refusal is None else int(refusal[0])


def answered(port: int, raw: bytes) -> bytes:
    """All that comes back to some bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as own:
        own.sendall(raw)
        result = b""
        while more := own.recv(65536):
            result += more
        return result


def request(host: str, *fields: str, target: str = "/", method: str = "GET") -> bytes:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *fields, "", ""]
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"Origin": "http://127.0.0.1:1"}, 200), ({"Origin": "http://evil.org"}, 403),
        ({"Origin": "null"}, 403), ({"Origin": "http://127.0.0.1:2"}, 403),
        ({"Origin": "http://127.0.0.1:1.evil.org"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "iframe"}, 403),
        ({"Sec_Fetch_Site": "same-site", "Sec_Fetch_Dest": "iframe"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "object"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Dest": "document"}, 200),
        ({"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Dest": "iframe"}, 200),
        ({"Sec_Fetch_Site": "none", "Sec_Fetch_Dest": "document"}, 200),
    ],
)  # fmt: skip
def test_other_sites_and_frames_of_them_are_refused(fields, expected):
    assert status(**fields) == expected


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:1", "localhost", "[::1]:9"])
def test_this_machine_is_admitted(host):
    assert status(host) == 200
    assert status(host, Origin=f"http://{host}") == 200


@pytest.mark.parametrize(
    "host",
    ["evil.org:8080", "127.0.0.1.evil.org", "192.168.0.2", "", "[", "a@127.0.0.1", "127.0.0.1:x"],
)
def test_a_site_that_points_to_this_machine_sees_nothing(host):
    assert status(host, Origin=f"http://{host}") in (400, 403)


@pytest.mark.parametrize("name", ["Host", "Origin"])
def test_a_field_that_is_there_twice_is_refused(name):
    headers = Headers([("Host", "127.0.0.1"), (name, "127.0.0.1"), (name, "evil.org")])
    refusal = refusal_of(Request("/", headers))
    assert refusal[0] == 400


# The page


@pytest.mark.parametrize("origin", ["http://evil.org", "null", "http://127.0.0.1:1"])
def test_another_site_cannot_connect(page, origin):
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"ws://127.0.0.1:{page.port}", origin=origin, subprotocols=[VERSION])
    upgrade = [f"{name}: {value}" for name, value in server.UPGRADE.items()]
    answer = answered(page.port, request("evil.org", *upgrade))
    assert answer.startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT"])
def test_only_reading_is_allowed(page, method):
    assert not answered(page.port, request("127.0.0.1", method=method)).startswith(b"HTTP/1.1 2")


def test_a_request_that_is_none_leaves_no_trace_in_the_log(page, caplog):
    with caplog.at_level(logging.INFO):
        for raw in (
            b"\r\n\r\n",
            b"\x16\x03\x01\n" * 50,
            request("127.0.0.1", "X: " + "x" * 20_000),
        ):
            answered(page.port, raw)
    assert caplog.records == []


@pytest.mark.parametrize("lacking", ["the hook", "the server"])
def test_a_page_that_cannot_be_protected_is_not_opened(lacking, monkeypatch):
    class Other(Server):
        """A server of another version."""

    if lacking == "the server":
        monkeypatch.setattr(server, "Server", Other)
    else:
        monkeypatch.setattr(server, "_install", lambda *_: None)
    with pytest.raises(BackendUnavailable, match="expected a protected page, found an open one"):
        Page("open", port=0)


def test_a_connection_from_before_the_checks_is_closed():
    opened = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    early = socket.create_connection(("127.0.0.1", opened.get_port()))
    loop = opened.get_event_loop()
    (served,) = [
        item for item in gc.get_objects() if type(item) is Server and item.get_loop() is loop
    ]
    while not served.handlers:  # it is accepted, with the hook of then
        time.sleep(0.01)
    server.protect(opened)
    with early, contextlib.suppress(ConnectionError):
        early.settimeout(PATIENCE)
        early.sendall(request("127.0.0.1"))
        assert early.recv(10) == b""
    opened.stop()
