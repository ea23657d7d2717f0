"""Habits of all tests: no test depends on the clock, or on chance."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

from softgrasp.cli import main

settings.register_profile("softgrasp", deadline=None, derandomize=True)
settings.load_profile("softgrasp")


# --------------------
# Verbs run in this process, in an empty folder.


QUICK = ("--no-report", "--no-video", "--renderer", "none")
"""Numbers only: no figures, no film."""


class Ran(NamedTuple):
    """What a command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs ``softgrasp`` with words, in the test's own folder."""
    monkeypatch.chdir(tmp_path)

    def softgrasp(*words: str | Path) -> Ran:
        code = main([str(word) for word in words])
        return Ran(code, *capfd.readouterr())

    return softgrasp


def files_in(directory: Path) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*"))
