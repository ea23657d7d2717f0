"""Habits of all tests: no test depends on the clock, or on chance."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

from softgrasp.cli import main, terminal
from softgrasp.description.hand import Hand
from softgrasp.io.files import MARKER
from softgrasp.io.urdf import hand as urdf_hand
from softgrasp.report import style

settings.register_profile("all", deadline=None, derandomize=True)
settings.register_profile("quick", settings.get_profile("all"), max_examples=40)


def pytest_configure(config: pytest.Config) -> None:
    """Draw fewer examples where slow tests are left out."""
    quick = "not slow" in config.getoption("markexpr")
    settings.load_profile("quick" if quick else "all")


# --------------------
# Grasps of one hand are synthesized once: it is a pure function, and most of the time of a URDF.


@pytest.fixture(autouse=True, scope="session")
def synthesized_once() -> Iterator[None]:
    """Keep the grasps synthesized for a hand for the further tests that load the same hand."""
    kept: dict[tuple[object, ...], Hand] = {}
    synthesize = urdf_hand.with_synthesized_grasps

    def from_memory(hand: Hand, fastest: Mapping[str, float]) -> Hand:
        key = (hand.model_dump_json(), *sorted(fastest.items()))
        if key in kept:
            return kept[key]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = synthesize(hand, fastest)
        for warning in caught:
            warnings.warn_explicit(warning.message, None, warning.filename, warning.lineno)
        if not caught:
            kept[key] = result
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(urdf_hand, "with_synthesized_grasps", from_memory)
        yield


@pytest.fixture(autouse=True, scope="session")
def coarse_figures() -> Iterator[None]:
    """Draw figures with few pixels; test_grasp_report asserts how many they have for users."""
    with pytest.MonkeyPatch.context() as patch:
        if "SOFTGRASP_WRITE_DOCS" not in os.environ:
            patch.setattr(style, "DPI", 60)
        yield


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
    """Runs ``softgrasp`` with words, in the test's own folder, without lines of progress."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(terminal, "LINE_INTERVAL", math.inf)  # however slow the machine is

    def softgrasp(*words: str | Path) -> Ran:
        code = main([str(word) for word in words])
        return Ran(code, *capfd.readouterr())

    return softgrasp


@contextmanager
def limited_file_size(size: int) -> Iterator[None]:
    """Let no file of this process exceed a size [bytes], as if the disk were full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def usual_ctrl_c() -> Iterator[None]:
    """Let SIGINT raise KeyboardInterrupt; a test runner in the background may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def files_in(directory: Path) -> list[str]:
    """Names of all files and directories in a directory, but for markers of runs."""
    paths = (path for path in directory.rglob("*") if path.name != MARKER)
    return sorted(path.relative_to(directory).as_posix() for path in paths)
