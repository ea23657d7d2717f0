"""Without the extras, a verb that needs one says what to install and ends with exit code 3."""

import subprocess
import sys
from pathlib import Path

import pytest

from softgrasp.cli.doctor import OPTIONAL
from softgrasp.errors import EXTRAS, BackendUnavailable, missing_library

BASE = (
    f"import sys; sys.modules.update(dict.fromkeys({sorted(EXTRAS)}))\n"
    "from softgrasp.cli import main\nsys.exit(main(sys.argv[1:]))"
)
"""A process in which no optional module can be imported."""

NEEDS = {
    "view allegro_left": "view",
    "twin serve": "twin",
    "sweep two_finger_planar sphere --density 100,200": "sweep",
}
"""Verbs and their extras; test_packaging has the others."""
WORKS = ("check demo", "doctor", "grasp two_finger_planar sphere --no-video")


def run(words: str, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BASE, *words.split()],
        cwd=directory, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("words", NEEDS)
def test_a_missing_extra_is_a_sentence(words, tmp_path):
    done = run(words, tmp_path)
    assert done.returncode == 3, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert f"pip install 'softgrasp[{NEEDS[words]}]'" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", WORKS)
def test_the_base_installation_needs_no_extra(words, tmp_path):
    done = run(words, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("module", ["task_env", "gym_env", "dm_env"])
def test_a_module_of_environments_names_the_extra(module, tmp_path):
    code = BASE.splitlines()[0] + f"\nimport softgrasp.envs.{module}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    last = done.stderr.strip().splitlines()[-1]
    extra = "dm" if module == "dm_env" else "gym"
    assert last.startswith("softgrasp.errors.BackendUnavailable: expected the package ")
    assert last.endswith(f"pip install 'softgrasp[{extra}]'")


def test_a_module_that_is_no_extra_stays_an_error_of_python():
    missing = missing_library(ModuleNotFoundError(name="viser.uplot"))
    assert isinstance(missing, BackendUnavailable)
    assert str(missing) == "expected the package viser, found none; pip install 'softgrasp[view]'"
    error = ModuleNotFoundError(name="softgrasp.gone")
    with pytest.raises(ModuleNotFoundError) as raised:
        missing_library(error)
    assert raised.value is error


def test_doctor_and_errors_name_the_same_extras():
    modules = {"dm-control": "dm_control", "opencv-python-headless": "cv2", "dartpy": None}
    modules |= {"pycollada": "collada", "rerun-sdk": "rerun", "usd-core": "pxr"}
    for name, (extra, _) in OPTIONAL.items():
        module = modules.get(name, name.replace("-", "_"))
        assert module is None or EXTRAS[module] == extra
