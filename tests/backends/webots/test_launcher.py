"""Running a world with a program that stands in for Webots: every way in which it can end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from softgrasp.backends import processes
from softgrasp.backends.webots import launcher
from softgrasp.backends.webots.launcher import run_world
from softgrasp.errors import BackendUnavailable, ResultError, SimulationError
from tests.backends.webots.fake_webots import installed, is_dead, program, project
from tests.conftest import Golden

Run = Callable[[str], tuple[str, ...]]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with a screen, on which stubborn processes are not waited for."""
    monkeypatch.setenv("PATH", f"{tmp_path}/programs:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.delenv("LIBGL_ALWAYS_SOFTWARE", raising=False)
    monkeypatch.setattr(processes, "GRACE", 0.1)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a world with a Webots of the given body."""
    world, result = project(tmp_path)

    def run(body: str) -> tuple[str, ...]:
        return run_world(world, result, webots=installed(tmp_path / "home", body))

    return run


@pytest.fixture
def headless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)


def failure(tmp_path: Path, run: Run, body: str) -> str:
    """What is said after the part that all failures have in common."""
    with pytest.raises(SimulationError) as caught:
        run(body)
    start = (
        f"{tmp_path}/worlds/grasp.wbt: expected Webots R2025a to leave the result "
        f"{tmp_path}/result.json, found none; it "
    )
    assert str(caught.value).startswith(start)
    return str(caught.value).removeprefix(start)


def seen(tmp_path: Path) -> tuple[list[str], dict[str, str]]:
    """Arguments and variables that the last program noted."""
    arguments, variables = json.loads((tmp_path / "seen.json").read_text())
    return arguments, variables


NOTE = "(project / 'seen.json').write_text(json.dumps([sys.argv[1:], dict(os.environ)]))\nleave()"


def test_a_result_is_left(tmp_path: Path, run: Run) -> None:
    assert run("print('INFO: one'); print('two', file=sys.stderr); leave('[1]')") == ()
    assert (tmp_path / "result.json").read_text() == "[1]"
    assert (tmp_path / "webots.stdout.txt").read_text() == "INFO: one\n"
    assert (tmp_path / "webots.stderr.txt").read_text() == "two\n"


def test_options_and_variables(tmp_path: Path, run: Run) -> None:
    run(NOTE)
    arguments, variables = seen(tmp_path)
    options = ["--batch", "--mode=fast", "--no-rendering", "--minimize", "--stdout", "--stderr"]
    assert arguments == [*options, f"{tmp_path}/worlds/grasp.wbt"]
    assert variables["AUDIODEV"] == "null"
    assert variables["WEBOTS_HOME"] == f"{tmp_path}/home"
    assert variables["DISPLAY"] == ":7"
    assert "LIBGL_ALWAYS_SOFTWARE" not in variables


def test_relative_paths_are_relative_to_the_directory_of_the_caller(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world, result = project(tmp_path)
    monkeypatch.chdir(tmp_path)
    webots = installed(tmp_path / "home", NOTE)
    paths = world.relative_to(tmp_path), result.relative_to(tmp_path)
    assert run_world(*paths, webots=webots) == ()
    assert seen(tmp_path)[0][-1] == str(world)


def test_webots_is_located_where_it_is_not_specified(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world, result = project(tmp_path)
    installed(tmp_path / "home", "leave()")
    monkeypatch.setenv("WEBOTS_HOME", str(tmp_path / "home"))
    assert run_world(world, result) == ()


@pytest.mark.usefixtures("headless")
def test_without_a_screen_it_runs_on_a_virtual_one(tmp_path: Path, run: Run) -> None:
    screen = "os.environ['DISPLAY'] = ' '.join(sys.argv[1:3])\n"
    program(tmp_path / "programs" / "xvfb-run", screen + "os.execv(sys.argv[2], sys.argv[2:])")
    assert run(NOTE) == ()
    variables = seen(tmp_path)[1]
    assert variables["DISPLAY"] == f"--auto-servernum {tmp_path}/home/webots"
    assert variables["LIBGL_ALWAYS_SOFTWARE"] == "true"


@pytest.mark.usefixtures("headless")
def test_wayland_is_a_screen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run) -> None:
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    run(NOTE)
    assert "LIBGL_ALWAYS_SOFTWARE" not in seen(tmp_path)[1]


@pytest.mark.usefixtures("headless")
def test_neither_a_screen_nor_xvfb(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run, golden: Golden
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    golden.refused(lambda: run("leave()"), "Webots needs a screen", BackendUnavailable)


def test_no_world(tmp_path: Path) -> None:
    with pytest.raises(SimulationError) as caught:
        run_world(tmp_path / "none.wbt", tmp_path / "result.json")
    assert str(caught.value) == f"{tmp_path}/none.wbt: expected a world for Webots, found no file"


def test_an_end_without_a_result(tmp_path: Path, run: Run) -> None:
    message = failure(tmp_path, run, "print('said'); print('why', file=sys.stderr)")
    assert message == "ended with exit code 0; its last lines:\nwhy"


def test_an_earlier_result_does_not_count(tmp_path: Path, run: Run) -> None:
    (tmp_path / "result.json").write_text("{}")
    message = failure(tmp_path, run, "sys.exit(1)")
    assert message == "ended with exit code 1; its last lines:\n(it wrote nothing)"
    assert not (tmp_path / "result.json").exists()


def test_an_earlier_result_that_cannot_be_removed(tmp_path: Path, run: Run) -> None:
    (tmp_path / "result.json").mkdir()
    with pytest.raises(ResultError) as caught:
        run("leave()")
    assert str(caught.value) == f"{tmp_path}/result.json: cannot be written: Is a directory"


def test_a_crash(tmp_path: Path, run: Run) -> None:
    message = failure(tmp_path, run, "os.kill(os.getpid(), signal.SIGSEGV)")
    assert message == "ended with exit code -11 (SIGSEGV); its last lines:\n(it wrote nothing)"


def test_a_crash_that_a_script_passes_on(tmp_path: Path, run: Run) -> None:
    message = failure(tmp_path, run, "print('\\n'.join(map(str, range(20)))); sys.exit(139)")
    last = "\n".join(map(str, range(5, 20)))
    assert message == f"ended with exit code 139 (SIGSEGV); its last lines:\n{last}"


@pytest.mark.parametrize(("code", "name"), [(139, "139 (SIGSEGV)"), (1, "1")])
def test_a_bad_end_after_the_result(run: Run, code: int, name: str) -> None:
    body = f"leave(); print('WARNING: box', file=sys.stderr); sys.exit({code})"
    assert run(body) == (
        "WARNING: box",
        f"the result is there, but Webots ended with exit code {name}",
    )


def test_no_end_after_the_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run) -> None:
    monkeypatch.setattr(launcher, "FAREWELL", 0.0)
    assert run("stubborn(); leave(); time.sleep(600)") == (
        "the result is there, but Webots did not end after its controller and was stopped",
    )
    assert is_dead(tmp_path / "stubborn.pid")


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: 'softgrasp_job' controller exited with status: 1.",
        "WARNING: 'softgrasp_job' controller crashed.",
        "INFO: 'softgrasp_job' controller exited successfully.",
        "WARNING: softgrasp_job: failed to start: python3 -u softgrasp_job.py",
        "WARNING: softgrasp_job: Could not find controller file:",
        "WARNING: softgrasp_job: Could not find the controller directory.",
        "ERROR: '/a/worlds/grasp.wbt': error: Failed to load due to syntax error(s).",
    ],
)
def test_webots_without_its_controller_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run, line: str
) -> None:
    monkeypatch.setattr(launcher, "FAREWELL", 0.0)
    message = failure(tmp_path, run, f"print({line!r}, flush=True); time.sleep(600)")
    assert message == f"did not end after its controller and was stopped; its last lines:\n{line}"


def test_a_run_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run
) -> None:
    times = iter([0.0])

    def clock() -> float:
        """Past the end from the moment on at which the stubborn process is there."""
        return next(times, 601.0 if (tmp_path / "stubborn.pid").exists() else 0.0)

    monkeypatch.setattr(launcher, "monotonic", clock)
    body = "print('step 7', file=sys.stderr, flush=True); stubborn(); time.sleep(600)"
    message = failure(tmp_path, run, body)
    assert message == "did not end within 600 s and was stopped; its last lines:\nstep 7"
    assert is_dead(tmp_path / "stubborn.pid")


def interrupted_once_there(file: Path) -> Callable[[float], None]:
    """A sleep that Ctrl-C ends as soon as a file exists."""

    def pause(seconds: float) -> None:
        if file.exists():
            raise KeyboardInterrupt
        sleep(seconds)

    sleep = time.sleep  # a test replaces it
    return pause


@pytest.mark.parametrize("twice", [False, True])
def test_ctrl_c_ends_everything(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, run: Run, twice: bool
) -> None:
    pause = interrupted_once_there(tmp_path / "stubborn.pid")
    monkeypatch.setattr(launcher, "sleep", pause)
    if twice:
        monkeypatch.setattr(processes, "GRACE", 600.0)
        monkeypatch.setattr(time, "sleep", pause)
    with pytest.raises(KeyboardInterrupt):
        run("stubborn(); time.sleep(600)")
    monkeypatch.undo()  # is_dead sleeps
    assert is_dead(tmp_path / "stubborn.pid")


def test_a_good_end_leaves_nothing_running(tmp_path: Path, run: Run) -> None:
    assert run("stubborn(); leave()") == ()
    assert is_dead(tmp_path / "stubborn.pid")


def test_warnings_are_reported_once(run: Run) -> None:
    body = """
        print("WARNING: Solid: no mass\\nINFO: WARNING: no\\nwarning: no\\nWARNING: Solid: no mass")
        sys.stderr.write("ERROR: no sound\\nWARNING: Solid: no mass\\nWARNING: 'º' cut")
        leave()
    """
    assert run(body) == ("WARNING: Solid: no mass", "ERROR: no sound", "WARNING: 'º' cut")


@pytest.mark.parametrize("number", [10, 12])
def test_no_more_than_ten_warnings(tmp_path: Path, run: Run, number: int) -> None:
    message = run(f"print('\\n'.join(f'ERROR: {{i}}' for i in range({number}))); leave()")
    if number == 10:
        assert message == tuple(f"ERROR: {i}" for i in range(10))
    else:
        assert message == (
            *(f"ERROR: {i}" for i in range(9)),
            f"3 more warnings of Webots are in {tmp_path}/webots.stderr.txt and webots.stdout.txt",
        )
