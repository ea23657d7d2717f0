"""./dev says what is missing in one line, sets up once, and hands over to the right program."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "dev"
PYTEST = "python -m pytest -n 2 --dist loadfile"
OLD, NEW, FUTURE = (3, 10, 12), (3, 11, 2), (3, 15, 0)


NAMES = ("dev", "core-mujoco4", "gpu")


@pytest.fixture
def dev(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, with an empty checkout, no uv and no other Python."""
    loader = SourceFileLoader("softgrasp_dev", str(SCRIPT))
    spec = spec_from_loader(loader.name, loader)
    assert spec
    module = module_from_spec(spec)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(module)
    for name in (*(f"requirements/{name}.txt" for name in NAMES), "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(module, "ROOT", str(tmp_path))
    main = module.Environment(".venv", "requirements/dev.txt")
    monkeypatch.setattr(module, "MAIN", main)
    mujoco4 = module.Environment(".venv-mujoco4", "requirements/core-mujoco4.txt")
    monkeypatch.setattr(module, "MUJOCO4", mujoco4)
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000)
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.setenv(name, "")  # so that what the script removes comes back
    monkeypatch.delenv("SOFTGRASP_ODE_LIB", raising=False)
    monkeypatch.setattr(module.ctypes.util, "find_library", lambda name: f"lib{name}.so.8")
    module.machine = Machine(module, monkeypatch)
    module.machine.is_(python=NEW, programs={"apt"})
    return module


class Machine:
    """What the script believes to run on, and what it did there."""

    def __init__(self, module: ModuleType, monkeypatch: pytest.MonkeyPatch):
        self.module, self.monkeypatch = module, monkeypatch
        self.ran: list[str] = []

    def is_(
        self,
        python: tuple[int, int, int] = NEW,
        programs: set[str] = frozenset(),
        broken: Callable[[list[str]], bool] = lambda command: False,
    ) -> None:
        """Pretend to be started by this Python, with these programs on the PATH."""
        self.monkeypatch.setattr(self.module, "VERSION", python)
        result = {name: f"/usr/bin/{name}" for name in programs}
        self.monkeypatch.setattr(self.module.shutil, "which", result.get)
        self.monkeypatch.setattr(self.module, "works", lambda command: not broken(command))
        self.monkeypatch.setattr(self.module, "run", self.run)

    def run(self, command: list[str], text: str | None = None) -> None:
        """Note a setup step, and leave what it would leave."""
        root = self.module.ROOT + os.sep
        self.ran.append(" ".join(command).replace(root, ""))
        if "venv" in command:
            directory = Path(command[-1], "bin")
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "python").touch()
            if command[0] == sys.executable:
                (directory / "pip").touch()


def fails_without_setup(dev: ModuleType, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that ./dev demo prints where nothing can be set up."""
    assert dev.main(["demo"]) == 1
    assert dev.machine.ran == []
    return capsys.readouterr().err


def test_the_script_can_be_read_by_the_python_it_refuses():
    ast.parse(SCRIPT.read_text(), feature_version=(3, 6))
    assert os.access(SCRIPT, os.X_OK)


NO_VENV = {"broken": lambda command: "ensurepip" in command[-1]}


@pytest.mark.parametrize(
    ("machine", "sentence"),
    [
        ({"python": OLD, "programs": {"apt"}}, "softgrasp needs Python 3.11 or newer"),
        ({"python": FUTURE, "programs": {"apt"}}, "softgrasp needs Python 3.11 to 3.14"),
        ({"programs": {"apt"}} | NO_VENV, "apt install python3-venv"),
        ({"python": OLD, "programs": {"apt", "python3.12"}} | NO_VENV, "install python3.12-venv"),
        ({"python": OLD}, "install Python 3.11 or newer with its venv module"),
    ],
)
def test_a_machine_that_lacks_something_gets_the_cure(dev, capsys, machine, sentence, golden):
    dev.machine.is_(**machine)
    golden(fails_without_setup(dev, capsys), sentence)


def test_root_needs_no_sudo(dev, capsys, monkeypatch):
    monkeypatch.setattr(dev.os, "geteuid", lambda: 0)
    dev.machine.is_(python=OLD, programs={"apt"})
    assert fails_without_setup(dev, capsys).endswith(
        "found 3.10.12: apt install python3.11 python3.11-venv, or install uv\n"
    )


def test_a_newer_python_on_the_path_is_used_where_it_runs(dev):
    dev.machine.is_(
        python=OLD,
        programs={"python3.12", "python3.11"},
        broken=lambda command: command[0] == "/usr/bin/python3.12",
    )
    assert dev.find_python(None) == "/usr/bin/python3.11"


def test_uv_fetches_a_python_where_there_is_none(dev):
    dev.machine.is_(python=OLD, programs={"uv"})
    assert dev.find_python(dev.find_uv()) == "3.12"


def test_a_uv_that_does_not_run_is_not_used(dev):
    dev.machine.is_(programs={"uv"}, broken=lambda command: command[0] == "/usr/bin/uv")
    assert dev.find_uv() is None


def test_setup_with_uv(dev):
    dev.machine.is_(programs={"uv"})
    dev.MAIN.prepare()
    install = "/usr/bin/uv pip install --quiet --python .venv/bin/python --no-deps"
    assert dev.machine.ran == [
        f"/usr/bin/uv venv --quiet --python {sys.executable} .venv",
        f"{install} --require-hashes -r requirements/dev.txt",
        f"{install} --no-build-isolation --editable {dev.ROOT}",
    ]


def test_setup_with_pip(dev):
    dev.MAIN.prepare()
    install = ".venv/bin/python -m pip install --quiet --no-compile --no-deps"
    assert dev.machine.ran == [
        f"{sys.executable} -m venv --clear .venv",
        f"{install} --require-hashes -r requirements/dev.txt",
        f"{install} --no-build-isolation --editable {dev.ROOT}",
    ]


def test_ode_comes_from_a_wheel_where_the_system_has_none(dev, monkeypatch):
    dev.MAIN.prepare()
    dev.machine.ran.clear()
    monkeypatch.setattr(dev.ctypes.util, "find_library", lambda name: None)
    dev.MAIN.prepare()
    assert [step.split()[-1] for step in dev.machine.ran] == [dev.ROOT, "requirements/ode.txt"]
    dev.machine.ran.clear()
    dev.MAIN.prepare()
    assert dev.machine.ran == []


def test_the_wheel_can_be_selected(dev, monkeypatch):
    monkeypatch.setenv("SOFTGRASP_ODE_LIB", "dartpy")
    dev.MAIN.prepare()
    assert dev.machine.ran[-1].endswith("--require-hashes -r requirements/ode.txt")


def test_a_second_call_runs_nothing(dev):
    dev.MAIN.prepare()
    dev.machine.ran.clear()
    dev.MAIN.prepare()
    assert dev.machine.ran == []


def test_changed_requirements_make_the_environment_anew(dev):
    dev.MAIN.prepare()
    dev.machine.ran.clear()
    Path(dev.ROOT, "requirements/dev.txt").write_text("other")
    dev.MAIN.prepare()
    assert len(dev.machine.ran) == 3


def test_a_changed_project_is_only_installed_again(dev):
    dev.MAIN.prepare()
    dev.machine.ran.clear()
    Path(dev.ROOT, "pyproject.toml").write_text("other")
    dev.MAIN.prepare()
    (step,) = dev.machine.ran
    assert step.endswith(f"--editable {dev.ROOT}")


def test_an_interrupted_setup_starts_again(dev, monkeypatch):
    def interrupt(command: list[str]) -> None:
        dev.machine.run(command)
        if "--editable" in command:
            raise KeyboardInterrupt

    monkeypatch.setattr(dev, "run", interrupt)
    assert dev.main(["demo"]) == 130
    dev.machine.ran.clear()
    monkeypatch.setattr(dev, "run", dev.machine.run)
    dev.MAIN.prepare()
    assert len(dev.machine.ran) == 3


def test_a_failed_step_is_named(dev, capsys, monkeypatch, golden):
    monkeypatch.undo()
    monkeypatch.setattr(dev.MAIN, "prepare", lambda: dev.run([sys.executable, "-c", "exit(3)"]))
    assert dev.main(["demo"]) == 1
    golden(capsys.readouterr().err, "softgrasp: the setup stopped at the step above:")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["demo", "--seed", "3"], ".venv/bin/softgrasp demo --seed 3"),
        (["bench", "x"], ".venv/bin/softgrasp bench x"),
        (["mutate", "x"], ".venv/bin/python -m tests.mutation x"),
        (["docs", "--quiet"], ".venv/bin/mkdocs build --strict --quiet"),
        (
            ["webots", "mine.json"],
            ".venv/bin/python -m tests.backends.webots.proof mine.json",
        ),
        (["test", "-x"], f".venv/bin/{PYTEST} -m not slow -x"),
        (["test", "--all"], f".venv/bin/{PYTEST}"),
        (["test", "--slice", "2/5"], f".venv/bin/{PYTEST} -m slow --slice 2/5"),
        (["test", "--warp"], f".venv/bin/{PYTEST} tests/backends/warp"),
        (
            ["test", "--mujoco4"],
            f".venv-mujoco4/bin/{PYTEST} -m not slow @tests/core_selection.txt",
        ),
    ],
)
def test_verbs_hand_over_to_their_program(dev, monkeypatch, arguments, expected):
    became: list[str] = []
    monkeypatch.setattr(dev, "become", became.extend)
    monkeypatch.setattr(dev, "prepare_warp", lambda: None)
    monkeypatch.setattr(dev.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(dev.os, "chdir", lambda directory: None)
    assert dev.main(arguments) == 0
    assert " ".join(became).replace(dev.ROOT + os.sep, "") == expected


def test_warp_is_installed_beside_the_environment_once(dev, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setenv("WARP_CACHE_PATH", "")
    for _ in range(2):
        dev.prepare_warp()
    (step,) = dev.machine.ran
    folder = f"{dev.MAIN.folder}{os.sep}warp"
    assert f"--target .venv{os.sep}warp --no-deps --require-hashes" in step
    assert os.environ["PYTHONPATH"] == folder


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONDONTWRITEBYTECODE"])
def test_settings_meant_for_others_are_left_out(dev, monkeypatch, name):
    monkeypatch.setenv(name, "/opt/ros/humble")
    monkeypatch.setattr(dev, "become", lambda command: None)
    dev.main(["demo"])
    assert name not in os.environ


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), ([], 2), (["tset"], 2)])
def test_usage(dev, capsys, monkeypatch, arguments, code):
    monkeypatch.undo()
    assert dev.main(arguments) == code
    out, err = capsys.readouterr()
    assert "usage: ./dev demo" in (err if code else out)


def test_lint_takes_no_options(dev, capsys):
    assert dev.main(["lint", "--fix"]) == 1
    assert capsys.readouterr().err == "softgrasp: lint takes no options, found --fix\n"
