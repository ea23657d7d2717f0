"""A folder of meshes stands for its meshes where objects vary."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import trimesh

import softgrasp as sg
from softgrasp.cli.sweep import axis_of
from softgrasp.io.object import expand_directories
from softgrasp.io.scene import load_plan


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two meshes and a note."""
    meshes = tmp_path / "meshes"
    meshes.mkdir()
    trimesh.creation.box((0.04, 0.04, 0.05)).export(meshes / "b.STL")
    trimesh.creation.icosphere(radius=0.025).export(meshes / "a.obj")
    (meshes / "notes.txt").write_text("none", encoding="utf-8")
    return meshes


def test_a_folder_is_its_meshes_by_name_and_names_stay(directory: Path) -> None:
    files = [str(directory / "a.obj"), str(directory / "b.STL")]
    assert expand_directories("object", ["sphere", "meshes"], directory.parent) == [
        "sphere",
        *files,
    ]
    assert expand_directories("scene", ["meshes"], directory.parent) == ["meshes"]
    assert expand_directories("object.density", [700.0], directory.parent) == [700.0]


def test_on_the_command_line_and_in_a_plan_file(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
    monkeypatch.chdir(directory.parent)
    message = axis_of("object=meshes")
    assert [Path(str(value)).name for value in message["values"]] == ["a.obj", "b.STL"]
    path = directory.parent / "plan.yaml"
    path.write_text(
        "scene: {hand: four_finger, object: sphere, duration: 0.01}\naxes: {object: [meshes]}\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(directory)  # names are relative to the plan
    table = sg.sweep(load_plan(path), workers=1)
    assert table["status"].tolist() == ["TIMED_OUT", "TIMED_OUT"]
    assert [Path(value).name for value in table["object"]] == ["a.obj", "b.STL"]
    assert (table["wall_build_s"] > 0.0).all()


def test_a_folder_without_meshes_is_told(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    sentence = f"{tmp_path}: expected mesh files (.stl, .obj, .ply, .glb, .off), found notes.txt"
    with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
        expand_directories("object", [str(tmp_path)], Path())
