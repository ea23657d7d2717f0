"""softgrasp twin robot, and what it says of words that are wrong."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run


def test_it_serves_for_a_while(run: Run) -> None:
    ran = run("twin", "robot", "--port", "0", "--duration", "0.05", "--udp", "127.0.0.1:9")
    assert ran.code == 0, ran.err
    assert "the robot 'irb120' tells its pose at http://127.0.0.1:" in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--host", "0.0.0.0"), "expected a token for the address 0.0.0.0"),
        (("--udp", "3"), "--udp: expected HOST:PORT such as 127.0.0.1:8611, found '3'"),
        (("--udp", "8.8.8.8:53"), "--udp: host: expected a loopback address such as 127.0.0.1"),
        (("--udp", "127.0.0.1:99999"), "--udp: port: expected a number at most 65535"),
        (("--program", "pick"), "no robot program 'pick'; "),
        (("--rate", "0"), "--rate"),
    ],
)
def test_mistakes(run: Run, words: tuple[str, ...], sentence: str) -> None:
    ran = run("twin", "robot", "--duration", "0", "--port", "0", *words)
    assert ran.code == 2
    assert sentence in ran.err
    assert "Traceback" not in ran.err


def test_twin_alone_shows_its_verbs(run: Run) -> None:
    ran = run("twin")
    assert ran.code == 2
    assert "robot" in ran.err
