"""Access checks of the browser page: admitted and refused requests, and limits."""

from __future__ import annotations

import contextlib
import gc
import logging
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import viser
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.server import Server
from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.http11 import Request
from websockets.sync.client import connect

from softgrasp.errors import BackendUnavailable, SoftgraspError
from softgrasp.viewer import server
from softgrasp.viewer.page import Page, free_port
from softgrasp.viewer.server import AccessCheck

TOKEN = "a-word-that-nobody-guesses"
COOKIE = f"other=1; softgrasp_1={TOKEN}"
PRINTABLE = st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f")
PATIENCE = 120.0
"""Seconds after which something hangs."""
VERSION = f"viser-v{viser.__version__}"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with Page("inside", port=0) as page:
        yield page


def status(check: AccessCheck, target: str = "/", host: str = "h:1", **fields: str) -> int:
    """Status of the answer to a request; 200 where it is admitted."""
    headers = Headers({"Host": host} | {k.replace("_", "-"): v for k, v in fields.items()})
    refusal = check.refusal(Request(target, headers))
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
    "target", ["/", "/?token=", f"/?token={TOKEN[:-1]}", f"/?Token={TOKEN}", f"/{TOKEN}"]
)
def test_without_the_token_there_is_nothing(target: str) -> None:
    check = AccessCheck(TOKEN, 1)
    assert status(check, target) == 403
    refusal = check.refusal(Request(target, Headers({"Host": "h:1"})))
    assert refusal is not None
    assert refusal[1].startswith("This page requires its token: open the complete address")
    assert TOKEN not in str(refusal)


def test_the_token_becomes_a_cookie_and_leaves_the_address() -> None:
    check = AccessCheck(TOKEN, 1)
    refusal = check.refusal(Request(f"//evil.org/?a=1&token={TOKEN}", Headers({"Host": "h:1"})))
    assert refusal is not None
    assert refusal[0] == 303
    assert refusal[2] == {
        "Location": "/?a=1",
        "Set-Cookie": f"softgrasp_1={TOKEN}; Path=/; HttpOnly; SameSite=Strict",
    }
    assert status(check, Cookie=COOKIE) == 200


@pytest.mark.parametrize("cookie", ["softgrasp_1=wrong", f"softgrasp_2={TOKEN}", ";=;;", ""])
def test_a_wrong_cookie_and_the_cookie_of_another_server_do_not_help(cookie: str) -> None:
    assert status(AccessCheck(TOKEN, 1), Cookie=cookie) == 403


@pytest.mark.parametrize("origin", ["http://evil.org", "null", "http://h:2", "http://h:1.evil.org"])
def test_other_sites_are_refused_though_the_browser_sends_the_cookie(origin: str) -> None:
    assert status(AccessCheck(TOKEN, 1), Cookie=COOKIE, Origin=origin) == 403
    assert status(AccessCheck(TOKEN, 1), Cookie=COOKIE, Origin="http://h:1") == 200


@pytest.mark.parametrize(
    ("site", "kind", "expected"),
    [
        ("cross-site", "iframe", 403), ("same-site", "iframe", 403),
        ("cross-site", "document", 200),
        ("same-origin", "iframe", 200), ("none", "document", 200), ("cross-site", "object", 403),
    ],
)  # fmt: skip
def test_a_frame_of_another_site_shows_nothing(site: str, kind: str, expected: int) -> None:
    check = AccessCheck(None, 1)
    fields = {"Sec_Fetch_Site": site, "Sec_Fetch_Dest": kind}
    assert status(check, host="127.0.0.1:1", **fields) == expected


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:1", "localhost", "[::1]:9"])
def test_this_machine_needs_no_token(host: str) -> None:
    assert status(AccessCheck(None, 1), host=host) == 200
    assert status(AccessCheck(None, 1), host=host, Origin=f"http://{host}") == 200


@pytest.mark.parametrize(
    "host",
    ["evil.org:8080", "127.0.0.1.evil.org", "192.168.0.2", "", "[", "a@127.0.0.1", "127.0.0.1:x"],
)
def test_a_site_that_points_to_this_machine_sees_nothing(host: str) -> None:
    assert status(AccessCheck(None, 1), host=host, Origin=f"http://{host}") in (400, 403)


@pytest.mark.parametrize("name", ["Host", "Origin", "Cookie"])
def test_a_field_that_is_there_twice_is_refused(name: str) -> None:
    headers = Headers([("Host", "127.0.0.1"), (name, "127.0.0.1"), (name, "evil.org")])
    refusal = AccessCheck(None, 1).refusal(Request("/", headers))
    assert refusal is not None
    assert refusal[0] == 400


def test_the_query_is_limited() -> None:
    many = "&".join(f"a{k}=1" for k in range(server.MAX_FIELDS + 1))
    assert status(AccessCheck(TOKEN, 1), f"/?{many}", Cookie=COOKIE) == 400


@given(text=st.text(PRINTABLE), target=st.text(PRINTABLE))
def test_any_text_is_no_token(text: str, target: str) -> None:
    cookie = f"softgrasp_1={text}"
    assert status(AccessCheck(TOKEN, 1), f"/?{target}", Cookie=cookie) in (400, 403)


# The page


def test_a_page_for_others_requires_its_token_and_states_who_sees_it() -> None:
    with Page("open", port=0, host="0.0.0.0") as page:
        assert page.token is not None
        assert page.words == (
            f"open http://{socket.gethostname()}:{page.port}/?token={page.token} in a browser; "
            "everyone on the network with this address and its token can see and use the page, "
            "and the connection is not encrypted"
        )
        assert answered(page.port, request("h:1")).startswith(b"HTTP/1.1 403 ")
        cookie = f"Cookie: softgrasp_{page.port}={page.token}"
        passed = answered(page.port, request("h:1", cookie))
        assert passed.startswith(b"HTTP/1.1 200 ")
        assert b"<!doctype html>" in passed.lower()
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://127.0.0.1:{page.port}", subprotocols=[VERSION])
    assert len(page.token) >= 32


@pytest.mark.parametrize("origin", ["http://evil.org", "null", "http://127.0.0.1:1"])
def test_another_site_cannot_connect(page: Page, origin: str) -> None:
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"ws://127.0.0.1:{page.port}", origin=origin, subprotocols=[VERSION])
    upgrade = [f"{name}: {value}" for name, value in server.UPGRADE.items()]
    answer = answered(page.port, request("evil.org", *upgrade))
    assert answer.startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT"])
def test_only_reading_is_allowed(page: Page, method: str) -> None:
    assert not answered(page.port, request("127.0.0.1", method=method)).startswith(b"HTTP/1.1 2")


def test_a_request_that_is_none_leaves_no_trace_in_the_log(
    page: Page, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        for raw in (
            b"\r\n\r\n",
            b"\x16\x03\x01\n" * 50,
            request("127.0.0.1", "X: " + "x" * 20_000),
        ):
            answered(page.port, raw)
    assert caplog.records == []


class Opened:
    """Connection that has not sent a request."""

    request = None

    def __init__(self, host: str) -> None:
        self.remote_address = (host, 1)
        self.aborted = False
        self.transport = self

    def abort(self) -> None:
        self.aborted = True


def test_of_silent_connections_the_oldest_of_an_address_are_closed() -> None:
    many = [Opened("10.0.0.1") for _ in range(server.MAX_SILENT + 5)]
    few = [Opened("10.0.0.2") for _ in range(server.MAX_SILENT)]
    talking = Opened("10.0.0.1")
    talking.request = "GET"  # type: ignore[assignment]

    class Serving:
        handlers = dict.fromkeys([talking, *few, *many])

        def is_serving(self) -> bool:
            return False

    server._drop_silent(Serving())  # type: ignore[arg-type]
    assert [one.aborted for one in many] == [True] * 5 + [False] * server.MAX_SILENT
    assert not any(one.aborted for one in [talking, *few])


def test_silent_connections_lock_nobody_out(page: Page) -> None:
    host = f"127.0.0.1:{page.port}"
    with connect(f"ws://{host}", subprotocols=[VERSION]) as browser, ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", page.port)))
            for _ in range(300)
        ]
        assert answered(page.port, request(host)).startswith(b"HTTP/1.1 200 ")
        while len(select.select(silent, [], [])[0]) < 300 - server.MAX_SILENT:
            pass  # the others are closed some seconds later
        browser.ping().wait(PATIENCE)
        assert answered(page.port, request(host)).startswith(b"HTTP/1.1 200 ")


def test_the_pages_of_one_address_are_limited(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_OPEN", 1)
    with (
        connect(f"ws://127.0.0.1:{page.port}", subprotocols=[VERSION]),
        pytest.raises(InvalidStatus, match="503"),
    ):
        connect(f"ws://127.0.0.1:{page.port}", subprotocols=[VERSION])


@pytest.mark.parametrize("lacking", ["the hook", "the server"])
def test_a_page_that_cannot_be_protected_is_not_opened(
    lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other(Server):
        """A server of another version."""

    if lacking == "the server":
        monkeypatch.setattr(server, "Server", Other)
    else:
        monkeypatch.setattr(server, "_install", lambda *_: None)
    with pytest.raises(BackendUnavailable, match="expected a protected page, found an open one"):
        Page("open", port=0)


def test_a_connection_from_before_the_checks_is_closed() -> None:
    opened = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    early = socket.create_connection(("127.0.0.1", opened.get_port()))
    loop = opened.get_event_loop()
    (served,) = [one for one in gc.get_objects() if type(one) is Server and one.get_loop() is loop]
    while not served.handlers:  # it is accepted, with the hook of then
        time.sleep(0.01)
    server.protect(opened, AccessCheck(TOKEN, 1))
    with early, contextlib.suppress(ConnectionError):
        early.settimeout(PATIENCE)
        early.sendall(request("127.0.0.1"))
        assert early.recv(10) == b""
    opened.stop()


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(SoftgraspError) as refused:
        free_port("192.0.2.1", 8080)
    assert str(refused.value).startswith(
        "192.0.2.1: expected an address of this machine, found: Cannot assign requested address"
    )
    with pytest.raises(
        SoftgraspError, match=r"no\.such\.machine\.invalid: expected an address of "
    ):
        free_port("no.such.machine.invalid", 8080)


def test_a_port_in_use_is_replaced_by_the_next() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert free_port("127.0.0.1", port) > port
