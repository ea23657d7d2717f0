"""Templates from which users start."""

from __future__ import annotations

from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.io.files import KINDS, template, write_template

LOAD = {"hand": sg.load_hand, "object": sg.load_object, "scene": sg.load_scene}


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_loads_under_its_new_name(kind: str, tmp_path: Path) -> None:
    file = write_template(kind, "a_new-1", tmp_path / "any.yaml")
    assert LOAD[kind](file).name == "a_new-1"
    assert "NAME" not in file.read_text("utf-8")


def test_the_scene_template_is_a_grasp_that_holds(tmp_path: Path) -> None:
    scene = sg.load_scene(write_template("scene", "mine", tmp_path / "mine.yaml"))
    assert scene.success == sg.SuccessCriterion()
    assert sg.simulate(scene).held


@pytest.mark.parametrize("name", ["", "2x", "a b", "a/b", "a: b", "ä.b"])
def test_a_name_must_do_as_a_file_name(name: str) -> None:
    with pytest.raises(sg.DescriptionError, match="expected a name of letters, digits, _ and -"):
        template("hand", name)


def test_an_unknown_kind_is_reported() -> None:
    with pytest.raises(sg.DescriptionError, match="no template of a 'hnad'; did you mean 'hand'"):
        template("hnad", "x")


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("mine")
    with pytest.raises(sg.ResultError, match="expected no file, found one; it is not overwritten"):
        write_template("hand", "x", file)
    assert file.read_text() == "mine"
