"""``softgrasp twin serve``: a process that listens, tells where, and ends cleanly."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

import pytest

from softgrasp.twin.files import load_register_map
from softgrasp.twin.modbus_server import connect_controller
from tests.cli.conftest import Run
from tests.twin.serving import serving


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_serves_until_it_is_told_to_end(number: signal.Signals) -> None:
    with serving("--port", "0", "--time-constant", "1e-6") as there:
        document = there.document
        assert document["host"] == "127.0.0.1"
        assert document["token"] is False
        assert document["map"]["reads"]["pressure"]["address"] == 4

        async def talk() -> float:
            registers = load_register_map()
            async with connect_controller("127.0.0.1", there.port, registers) as client:
                await client.set_targets(negative=-70e3)
                await client.trigger(negative=True)
                return (await client.read()).pressure

        assert asyncio.run(talk()) == -70e3
        assert there.stop(number) == 0
        assert there.farewell() == "softgrasp: stopped; 1 connections, 3 requests"
        assert there.errors() == ""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", there.port), timeout=5)


def test_a_token_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTGRASP_TWIN_TOKEN", "a token for tests")
    with serving("--port", "0", "--host", "0.0.0.0") as there:
        assert there.document["token"] is True

        async def talk() -> None:
            registers = load_register_map()
            async with connect_controller(
                "127.0.0.1", there.port, registers, token="a token for tests"
            ) as client:
                await client.trigger(positive=True)

        asyncio.run(talk())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--host", "0.0.0.0"), "host: expected a token (--token) with an address that other"),
        (("--host", "0.0.0.0", "--token", "short"), "token: expected a token of 8 letters"),
        (("--map", "softgrasp_defualt"), "no register map 'softgrasp_defualt'; did you mean"),
        (("--map", "missing.yaml"), "missing.yaml: expected a readable YAML file"),
        (("--time-constant", "0"), "time_constant: expected a number above 0, found 0.0"),
    ],
)
def test_mistakes_are_told(words: tuple[str, ...], message: str, run: Run, tmp_path: Path) -> None:
    ran = run("twin", "serve", "--port", "0", *words)
    assert ran.code == 2
    assert message in ran.err
    assert ran.out == ""


def test_a_port_that_is_taken_is_told(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ran = run("twin", "serve", "--port", str(port))
    assert ran.code == 2
    assert f"127.0.0.1:{port}: expected an address to listen on, found: " in ran.err
