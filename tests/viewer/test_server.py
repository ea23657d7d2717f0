"""Authentication proxy: admitted and rejected requests."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.errors import SoftgraspError
from softgrasp.viewer import server
from softgrasp.viewer.page import Page, proxy_before
from softgrasp.viewer.server import END, INNER_FIELD, AuthProxy, HttpError, parsed

TOKEN = "a-word-that-nobody-guesses"
SECRET = b"the page itself"


class Echo:
    """A page of one line, that then repeats what it is told."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                other, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(other,), daemon=True).start()

    def _answer(self, other: socket.socket) -> None:
        with other:
            self.heard.append(other.recv(65536))
            other.sendall(SECRET)
            while b"Upgrade" in self.heard[-1] and (more := other.recv(65536)):
                other.sendall(more)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module")
def echo() -> Iterator[Echo]:
    made = Echo()
    yield made
    made.close()


@pytest.fixture(scope="module")
def proxy(echo: Echo) -> Iterator[AuthProxy]:
    made = AuthProxy("127.0.0.1", 0, echo.port, TOKEN, "the word")
    yield made
    made.close()


def requested(proxy: AuthProxy, raw: bytes) -> bytes:
    """All that comes back to some bytes."""
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as own:
        own.sendall(raw)
        result = b""
        while more := own.recv(65536):
            result += more
        return result


def request(target: str, *fields: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {target} HTTP/1.1", "Host: h:1", *fields, "", ""]).encode()


def cookie(proxy: AuthProxy, token: str = TOKEN) -> str:
    return f"Cookie: other=1; softgrasp_{proxy.port}={token}"


@pytest.mark.parametrize(
    "target", ["/", "/?token=", f"/?token={TOKEN[:-1]}", f"/?Token={TOKEN}", f"/{TOKEN}"]
)
def test_without_the_token_there_is_nothing(proxy: AuthProxy, echo: Echo, target: str) -> None:
    before = len(echo.heard)
    answer = requested(proxy, request(target))
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert b"This page requires its token: open the complete address that softgrasp" in answer
    assert SECRET not in answer
    assert TOKEN.encode() not in answer
    assert len(echo.heard) == before


def test_the_token_becomes_a_cookie_and_leaves_the_address(proxy: AuthProxy) -> None:
    answer = requested(proxy, request(f"//evil.org/?a=1&token={TOKEN}")).decode()
    assert answer.startswith("HTTP/1.1 303 See Other\r\n")
    fields = dict(line.split(": ", 1) for line in answer.split("\r\n")[1:] if ": " in line)
    assert fields["Location"] == "/?a=1"
    name = f"softgrasp_{proxy.port}"
    assert fields["Set-Cookie"] == f"{name}={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    assert requested(proxy, request("/", cookie(proxy))) == SECRET


def test_a_wrong_cookie_and_the_cookie_of_another_server_do_not_help(proxy: AuthProxy) -> None:
    for field in (cookie(proxy, "wrong"), f"Cookie: softgrasp_1={TOKEN}", "Cookie: ;=;;"):
        assert requested(proxy, request("/", field)).startswith(b"HTTP/1.1 403 ")


def test_what_passes_arrives_byte_by_byte_and_goes_in_both_directions(
    proxy: AuthProxy, echo: Echo
) -> None:
    raw = request("/", cookie(proxy), "Upgrade: websocket")
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as own:
        own.sendall(raw)
        assert own.recv(len(SECRET)) == SECRET
        first, rest = raw.split(b"\r\n", 1)
        message = f"\r\n{INNER_FIELD}: the word\r\n".encode()
        assert echo.heard[-1] == first + message + rest
        for text in (b"\x00\xff" * 3000, b"more"):
            own.sendall(text)
            result = b""
            while len(result) < len(text):
                result += own.recv(65536)
            assert result == text


def test_other_sites_are_refused_though_the_browser_sends_the_cookie(proxy: AuthProxy) -> None:
    own, other = "Origin: http://h:1", "Origin: http://evil.org"
    assert requested(proxy, request("/", cookie(proxy), own)) == SECRET
    message = b"403 Forbidden"
    assert message in requested(proxy, request("/", cookie(proxy), other))
    assert message in requested(proxy, request("/", cookie(proxy), "Origin: null"))


def test_only_reading_is_allowed(proxy: AuthProxy) -> None:
    answer = requested(proxy, request("/", cookie(proxy), method="POST"))
    assert answer.startswith(b"HTTP/1.1 405 Method Not Allowed\r\n")


def test_heads_are_bounded(proxy: AuthProxy) -> None:
    answer = requested(proxy, request("/", cookie(proxy), "X: " + "x" * server.MAX_HEAD))
    assert answer.startswith(b"HTTP/1.1 431 ")
    many = "&".join(f"a{k}=1" for k in range(server.MAX_FIELDS + 1))
    assert b"400 Bad Request" in requested(proxy, request(f"/?{many}", cookie(proxy)))


def test_who_does_not_finish_is_not_waited_for(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_TIMEOUT", 0.05)
    impatient = AuthProxy("127.0.0.1", 0, echo.port, TOKEN)
    try:
        assert requested(impatient, b"GET / HT").startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    finally:
        impatient.close()


def test_connections_are_bounded(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_OPEN", 2)
    small = AuthProxy("127.0.0.1", 0, echo.port, TOKEN)
    address = ("127.0.0.1", small.port)
    try:
        with socket.create_connection(address), socket.create_connection(address):
            assert requested(small, request("/")).startswith(b"HTTP/1.1 503 ")
    finally:
        small.close()


def test_a_closed_proxy_disconnects_who_was_inside(echo: Echo) -> None:
    closing = AuthProxy("127.0.0.1", 0, echo.port, TOKEN)
    with socket.create_connection(("127.0.0.1", closing.port), timeout=20) as own:
        own.sendall(request("/", cookie(closing), "Upgrade: websocket"))
        assert own.recv(len(SECRET)) == SECRET
        closing.close()
        assert own.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", closing.port))


@given(st.binary(max_size=300))
def test_any_bytes_are_a_head_or_are_refused(raw: bytes) -> None:
    with contextlib.suppress(HttpError):
        assert parsed(raw + END).target.startswith("/")


@given(st.text(max_size=40))
def test_any_words_are_no_token(proxy: AuthProxy, text: str) -> None:
    with pytest.raises(HttpError, match=r"403|400"):
        proxy.check(parsed(request("/", f"Cookie: softgrasp_{proxy.port}={text!r}")))


def test_a_page_for_others_has_authentication_and_states_who_sees_it() -> None:
    with Page("open", port=0, host="0.0.0.0") as page:
        assert page.proxy.token is not None
        assert page.server.get_host() == "127.0.0.1"
        name = socket.gethostname()
        assert page.words == (
            f"open http://{name}:{page.port}/?token={page.proxy.token} in a browser; everyone on "
            "the network with this address and its token can see and use the page, and the "
            "connection is not encrypted"
        )
        assert b"403 Forbidden" in requested(page.proxy, request("/"))
        passed = requested(page.proxy, request("/", cookie(page.proxy, page.proxy.token)))
        assert b"200 OK" in passed
        assert b"<!doctype html>" in passed.lower()
    assert len(page.proxy.token) >= 32


@pytest.fixture(scope="module")
def own_gate(echo: Echo) -> Iterator[AuthProxy]:
    made = AuthProxy("127.0.0.1", 0, echo.port, None)
    yield made
    made.close()


def named(host: str, *fields: str) -> bytes:
    """A request that asks for this machine by a name."""
    return "\r\n".join(["GET / HTTP/1.1", f"Host: {host}", *fields, "", ""]).encode()


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:1", "localhost", "[::1]:9"])
def test_this_machine_needs_no_token(own_gate: AuthProxy, host: str) -> None:
    assert requested(own_gate, named(host)) == SECRET
    assert requested(own_gate, named(host, f"Origin: http://{host}")) == SECRET


@pytest.mark.parametrize(
    "host",
    ["evil.org:8080", "127.0.0.1.evil.org", "192.168.0.2", "", "[", "a@127.0.0.1", "127.0.0.1:x"],
)
def test_a_site_that_points_to_this_machine_sees_nothing(
    own_gate: AuthProxy, echo: Echo, host: str
) -> None:
    before = len(echo.heard)
    answer = requested(own_gate, named(host, f"Origin: http://{host}"))
    assert answer.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 400 "))
    assert len(echo.heard) == before


def test_a_site_cannot_speak_with_a_page_of_this_machine(own_gate: AuthProxy) -> None:
    host = f"127.0.0.1:{own_gate.port}"
    for origin in ("http://evil.org", "null", "http://127.0.0.1:1", f"http://{host}.evil.org"):
        upgrade = named(host, f"Origin: {origin}", "Upgrade: websocket")
        assert b"403 Forbidden" in requested(own_gate, upgrade)
    elsewhere = "Sec-Fetch-Site: cross-site"
    assert b"403 Forbidden" in requested(own_gate, named(host, elsewhere, "Sec-Fetch-Dest: iframe"))
    assert requested(own_gate, named(host, elsewhere, "Sec-Fetch-Dest: document")) == SECRET
    near = named(host, "Sec-Fetch-Site: same-site", "Sec-Fetch-Dest: iframe")
    assert b"403 Forbidden" in requested(own_gate, near)
    own = named(host, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Dest: iframe")
    assert requested(own_gate, own) == SECRET


@pytest.mark.parametrize("origin", [None, "http://evil.org"])
def test_the_page_answers_nobody_who_is_not_authenticated(origin: str | None) -> None:
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    with Page("inside", port=0) as page:
        inner = page.server.get_port()
        for field in ((), (f"{INNER_FIELD}: guess",)):
            with socket.create_connection(("127.0.0.1", inner), timeout=20) as own:
                own.sendall(named(f"127.0.0.1:{inner}", *field))
                assert own.recv(65536).startswith(b"HTTP/1.1 403 Forbidden\r\n")
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://127.0.0.1:{inner}", origin=origin, subprotocols=["viser-v1.1.1"])
        assert b"<!doctype html>" in requested(page.proxy, named("127.0.0.1")).lower()


def test_the_token_of_the_page_is_that_of_the_proxy(own_gate: AuthProxy) -> None:
    message = requested(own_gate, named("127.0.0.1", f"{INNER_FIELD}: guess"))
    assert message.startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(SoftgraspError) as refused:
        proxy_before(1, 8080, "192.0.2.1")
    assert str(refused.value).startswith(
        "192.0.2.1: expected an address of this machine, found: Cannot assign requested address"
    )
    with pytest.raises(
        SoftgraspError, match=r"no\.such\.machine\.invalid: expected an address of "
    ):
        proxy_before(1, 8080, "no.such.machine.invalid")
