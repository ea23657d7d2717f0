"""Habits of all tests: no test depends on the clock, or on chance."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
import warnings
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pytest
from hypothesis import settings

from softgrasp import __version__, assets
from softgrasp.cli import main, terminal
from softgrasp.description.hand import Hand
from softgrasp.errors import DescriptionError
from softgrasp.io.files import MARKER
from softgrasp.io.urdf import hand as urdf_hand
from softgrasp.report import style

settings.register_profile("all", deadline=None, derandomize=True)
settings.register_profile("quick", settings.get_profile("all"), max_examples=40)


def pytest_configure(config: pytest.Config) -> None:
    """Draw fewer examples where slow tests are left out; let one process write a file."""
    if config.getoption("write_sentences") and config.getoption("dist", "no") == "load":
        raise pytest.UsageError("--write-sentences: expected --dist loadfile beside -n")
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
# Whole sentences of errors stand in one file a module, in the directory `sentences` next to it.


def slice_of(text: str) -> tuple[int, int]:
    """Part and number of parts in ``K/N``, K from 0.

    Raises:
        UsageError: It is no such pair.
    """
    part, _, count = text.partition("/")
    if not (part.isdigit() and count.isdigit() and int(part) < int(count)):
        raise pytest.UsageError(f"--slice: expected K/N with 0 <= K < N, found {text}")
    return int(part), int(count)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-sentences", action="store_true", help="write sentences anew")
    parser.addoption("--slice", metavar="K/N", type=slice_of, help="part K of N of the tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests without sentences where these are written, and those of other slices.

    Cases of one test are in the same slice, as they share its fixtures.
    """
    if config.getoption("write_sentences"):
        items[:] = [item for item in items if "golden" in getattr(item, "fixturenames", ())]
    if config.getoption("slice"):
        part, count = config.getoption("slice")
        slices: list[list[pytest.Item]] = [[] for _ in range(count)]
        for item in items:
            slices[zlib.crc32(item.nodeid.partition("[")[0].encode()) % count].append(item)
        items[:] = slices.pop(part)
        config.hook.pytest_deselected(items=[item for left in slices for item in left])


VARIABLE = {
    sys.executable: "PYTHON",
    str(Path(__file__).parents[1]): "CHECKOUT",
    __version__: "VERSION",
    **{", ".join(assets.names(kind)): kind.upper() for kind in ("hands", "objects", "robots")},
}
"""What sentences have that a change elsewhere changes, and its name in the files."""


class Golden:
    """The sentences of one test; `pytest --write-sentences` writes them instead of comparing."""

    written: ClassVar[set[str]] = set()

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self.module = request.path
        self.path = self.module.parent / "sentences" / f"{self.module.stem}.json"
        self.name, self.seen = request.node.name, []
        self.writes = request.config.getoption("write_sentences")
        self.directory = str(request.node.funcargs.get("tmp_path", "no directory"))

    def __call__(self, error: BaseException | str, part: str) -> None:
        """Assert that a sentence has a part, such as its field, and is the one in the file."""
        text = str(error)
        for value, name in {self.directory: "TMP", **VARIABLE}.items():
            text = text.replace(value, name)
        assert part in text
        if not self.writes:
            assert [text] == self.known().get(self.name, [])[len(self.seen) :][:1]
        self.seen.append(text)

    def refused(
        self, call: Callable[[], object], part: str, error: type[Exception] = DescriptionError
    ) -> None:
        """Assert that a call raises an error of a class, whose sentence has a part."""
        with pytest.raises(error) as caught:
            call()
        self(caught.value, part)

    def known(self) -> dict[str, list[str]]:
        return json.loads(self.path.read_text("utf-8")) if self.path.exists() else {}

    def write(self) -> None:
        """Put the sentences into the file; those of former cases and functions leave it."""
        function, module = self.name.partition("[")[0], self.module.read_text("utf-8")
        lines = {key: seen for key, seen in self.known().items() if f"def {key.partition('[')[0]}("
                 in module and (f"{self.path}:{function}" in self.written
                                or key.partition("[")[0] != function)}  # fmt: skip
        lines[self.name] = self.seen
        self.written.add(f"{self.path}:{function}")
        rows = [
            f"{json.dumps(key)}: {json.dumps(lines[key], ensure_ascii=False)}"
            for key in sorted(lines)
        ]
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")


OUTCOME: pytest.StashKey[str] = pytest.StashKey()
"""How the body of a test ended."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep how a test ended, for its fixtures."""
    report = yield
    if report.when == "call":
        item.stash[OUTCOME] = report.outcome
    return report


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Iterator[Golden]:
    """Compares sentences with those of the test in `sentences`."""
    sentences = Golden(request)
    yield sentences
    if sentences.writes:
        sentences.write()
    elif request.node.stash[OUTCOME] == "passed":  # one that was skipped has said none
        assert len(sentences.seen) == len(sentences.known()[sentences.name])


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
