"""Ctrl-C: exit code 130, and what was finished is valid on disk."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.cli import main
from tests.conftest import QUICK, files_in

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0
"""Seconds after which something hangs."""
PROGRAM = """
import signal, sys
import softgrasp.pipeline as room
from softgrasp.cli import main

def simulate(scene, backend, progress):
    def tell(now):
        progress(now)
        print("simulating", flush=True)
    return usual(scene, backend, progress=tell)

usual, room.simulate = room.simulate, simulate
# a test runner in the background may have made its children deaf to it
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main())
"""
"""The command line, which says when a simulation is under way."""


def interrupted(
    words: tuple[str, ...], directory: Path, when: Callable[[], bool]
) -> tuple[int, str]:
    """Exit code and standard error of a process that gets a real SIGINT."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "simulating\n"
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end and not when():
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, errors


@pytest.mark.slow
def test_while_simulating_the_finished_part_is_kept(tmp_path):
    code, errors = interrupted(
        ("grasp", "four_finger", "sphere", "--duration", "1000", "--out", "run", *QUICK),
        tmp_path,
        lambda: True,
    )
    assert code == 130
    part = sg.load_result(tmp_path / "run")
    now = part.simulated_time
    assert errors == (
        f"softgrasp: interrupted at {now:.3f} s of the run, which is written up to there: "
        "run/result.json, run/trajectory.npz\n"
    )
    assert 0.0 < now < 1000.0
    assert files_in(tmp_path / "run") == ["result.json", "trajectory.npz"]
    assert part.warnings == (f"interrupted by the user at {now:.3f} s",)


@pytest.mark.slow
def test_while_drawing_the_numbers_stand_and_nothing_is_half_written(tmp_path):
    directory = tmp_path / "run"
    code, errors = interrupted(
        ("grasp", "four_finger", "sphere", "--duration", "0.1", "--out", "run",
         "--renderer", "raycast", "--no-report"),
        tmp_path,
        lambda: any(path.suffix == ".mp4" for path in directory.glob("*")),
    )  # fmt: skip
    assert code == 130
    assert errors == (
        "softgrasp: interrupted while writing; finished and valid: run/result.json, "
        "run/trajectory.npz\n"
    )
    assert files_in(directory) == ["result.json", "trajectory.npz"]
    assert sg.load_result(directory).simulated_time == pytest.approx(0.1)


def test_before_the_run_nothing_is_written(run, tmp_path, monkeypatch):
    from softgrasp.cli import grasp as job

    def stop(directory: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "require_writable", stop)
    ran = run("grasp", "four_finger", "sphere", *QUICK)
    assert ran == (130, "", "softgrasp: interrupted\n")
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("module", ["typer", "softgrasp.cli.app", "softgrasp.cli.grasp", "numpy"])
def test_while_a_module_is_imported_it_is_quiet(module):
    program = f"""
import sys
from softgrasp.cli import main

class Stop:
    def find_spec(self, name, *_):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stop())
sys.exit(main(["grasp", "four_finger", "sphere", "--out", "nowhere"]))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 130
    assert ran.stderr.strip() in ("", "softgrasp: interrupted")  # typer ends without a line


def test_an_interrupt_in_a_thread_other_than_the_main_one_is_left_to_the_program():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(main, ["list", "closures"]).result() == 0
        scene = sg.load_scene("demo").replace(duration=0.02, success=None)
        assert pool.submit(sg.simulate, scene).result().simulated_time == pytest.approx(0.02)
    assert signal.getsignal(signal.SIGINT) is not None
