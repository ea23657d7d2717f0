"""A MUJOCO_GL that does not work must not end a program that draws nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from softgrasp import assets
from softgrasp.errors import SoftgraspWarning

ROOT = Path(__file__).resolve().parents[1]


def imported(choice: str) -> str:
    """What a fresh interpreter says that imports softgrasp and mujoco with this choice."""
    code = "import softgrasp, mujoco; print(mujoco.mj_versionString())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT), "MUJOCO_GL": choice},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_a_typo_is_reported_and_survived() -> None:
    assert imported("elg") == (
        "softgrasp:0: SoftgraspWarning: MUJOCO_GL=elg: expected one of disable, disabled, off, "
        "false, 0, enable, enabled, on, true, 1, glfw, glx, egl, osmesa; ignored\n"
    )


def test_a_choice_that_works_is_left_alone() -> None:
    assert imported("off") == ""


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As before the first import of mujoco, on Linux without any library."""
    monkeypatch.delitem(sys.modules, "mujoco", raising=False)
    monkeypatch.setattr(assets.platform, "system", lambda: "Linux")
    monkeypatch.setattr(assets, "_loads", lambda library: False)
    return monkeypatch


@pytest.mark.parametrize(("choice", "library"), [("egl", "EGL"), (" OSMesa ", "OSMesa")])
def test_missing_libraries_are_named(choice: str, library: str, fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv("MUJOCO_GL", choice)
    with pytest.warns(SoftgraspWarning, match=f"expected the library lib{library}, found none"):
        assets.drop_unusable_choice()
    assert "MUJOCO_GL" not in os.environ


def test_egl_needs_some_opengl_besides(fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv("MUJOCO_GL", "egl")
    fresh.setattr(assets, "_loads", lambda library: library == "EGL")
    with pytest.warns(SoftgraspWarning, match="expected the library libOpenGL, found none"):
        assets.drop_unusable_choice()
    fresh.setenv("MUJOCO_GL", "egl")
    fresh.setattr(assets, "_loads", lambda library: library in ("EGL", "GL"))
    assets.drop_unusable_choice()
    assert os.environ["MUJOCO_GL"] == "egl"


def test_after_the_import_of_mujoco_it_is_too_late_to_change_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", sys)
    monkeypatch.setenv("MUJOCO_GL", "elg")
    assets.drop_unusable_choice()
    assert os.environ["MUJOCO_GL"] == "elg"


def test_a_library_is_searched_under_its_numbers() -> None:
    assert assets._loads("c") is (sys.platform == "linux")
    assert not assets._loads("softgrasp_has_no_such_library")
