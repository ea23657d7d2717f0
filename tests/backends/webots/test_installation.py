"""Where Webots is looked for, and how its version is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from softgrasp.backends import processes
from softgrasp.backends.webots import launcher
from softgrasp.backends.webots.launcher import Webots, find_webots
from softgrasp.errors import BackendUnavailable
from tests.backends.webots.fake_webots import installed, is_dead, program
from tests.conftest import Golden

CURE = "install it from its makers (cyberbotics.com), R2023b or newer, or use --backend ode"


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with a screen and without Webots; the folder of its programs."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.delenv("WEBOTS_HOME", raising=False)
    return programs


def saying(programs: Path, words: str) -> Path:
    """A webots on the PATH that answers --version."""
    return program(programs / "webots", f"assert sys.argv[1:] == ['--version']; print({words!r})")


def refusal() -> str:
    with pytest.raises(BackendUnavailable) as caught:
        find_webots()
    return str(caught.value)


@pytest.mark.parametrize("home", [None, ""])
def test_without_webots_the_cure_is_named(
    monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    if home is not None:
        monkeypatch.setenv("WEBOTS_HOME", home)
    assert refusal() == f"no Webots found (looked at WEBOTS_HOME and PATH): {CURE}"


@pytest.mark.parametrize("position", ["webots", "bin/webots", "Contents/MacOS/webots"])
def test_webots_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, position: str) -> None:
    home = tmp_path / "home"
    program(home / position, "sys.exit('the version file is enough')")
    (home / "resources").mkdir()
    (home / "resources" / "version.txt").write_text("R2025a\n")
    monkeypatch.setenv("WEBOTS_HOME", str(home))
    assert find_webots() == Webots(home / position, "R2025a", home)


def test_a_home_without_webots_is_not_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bare_machine: Path, golden: Golden
) -> None:
    saying(bare_machine, "Webots version: R2025a")
    monkeypatch.setenv("WEBOTS_HOME", str(tmp_path))
    golden(refusal(), "WEBOTS_HOME")


def test_on_the_path_the_program_reports_its_version(bare_machine: Path) -> None:
    executable = saying(bare_machine, "Webots version: R2025a")
    assert find_webots() == Webots(executable, "R2025a", None)


def test_a_link_on_the_path_leads_to_the_home(tmp_path: Path, bare_machine: Path) -> None:
    webots = installed(tmp_path / "home", version="R2024a")
    (bare_machine / "webots").symlink_to(webots.executable)
    assert find_webots() == Webots(bare_machine / "webots", "R2024a", tmp_path / "home")


@pytest.mark.parametrize(
    ("words", "version"),
    [
        ("Webots version: R2023b", "R2023b"),
        ("Webots version: R2024a revision 1", "R2024a-rev1"),
        ("R2024a-rev1", "R2024a-rev1"),
        ("2025a", "R2025a"),
        ("Webots version: R2025b Nightly Build 12ab34c", "R2025b"),
        ("QStandardPaths: 0700 instead of 0755\nWebots version: R2026c\n", "R2026c"),
    ],
)
def test_forms_of_a_version(bare_machine: Path, words: str, version: str) -> None:
    saying(bare_machine, words)
    assert find_webots().version == version


@pytest.mark.parametrize("version", ["R2023a", "R2022b", "R2023a-rev1"])
def test_too_old(bare_machine: Path, version: str) -> None:
    executable = saying(bare_machine, f"Webots version: {version}")
    assert refusal() == (f"{executable}: expected Webots R2023b or newer, found {version}: {CURE}")


def test_an_answer_without_a_version(bare_machine: Path, golden: Golden) -> None:
    saying(bare_machine, "Released on 2025-01-31")
    golden(refusal(), "--version")


def test_a_version_file_without_a_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, golden: Golden
) -> None:
    monkeypatch.setenv("WEBOTS_HOME", str(tmp_path))
    installed(tmp_path, version="8.6.2")
    golden(refusal(), "TMP/resources/version.txt")


def test_a_program_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bare_machine: Path, golden: Golden
) -> None:
    monkeypatch.setattr(launcher, "ANSWER_TIME", 0.5)
    monkeypatch.setattr(processes, "GRACE", 0.1)
    number = tmp_path / "number"
    body = f"Path({str(number)!r}).write_text(str(os.getpid())); time.sleep(600)"
    program(bare_machine / "webots", body)
    golden(refusal(), "--version")
    assert not number.exists() or is_dead(number)


def test_a_program_that_cannot_be_started(bare_machine: Path, golden: Golden) -> None:
    executable = bare_machine / "webots"
    executable.write_bytes(b"\x7fELF of another machine")
    executable.chmod(0o755)
    golden(refusal(), "expected a program that runs")


def test_without_a_screen_the_program_runs_on_a_virtual_one(
    monkeypatch: pytest.MonkeyPatch, bare_machine: Path
) -> None:
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    body = "print('Webots version: R2025a' if 'DISPLAY' in os.environ else 'no display')"
    program(bare_machine / "webots", body)
    screen = "assert sys.argv[1] == '--auto-servernum'\nos.environ['DISPLAY'] = ':99'\n"
    program(bare_machine / "xvfb-run", screen + "os.execv(sys.argv[2], sys.argv[2:])")
    assert find_webots().version == "R2025a"
