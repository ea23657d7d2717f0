"""Objects from mesh files remember the file they were read from."""

from __future__ import annotations

from pathlib import Path

import pytest

import softgrasp as sg
from tests.support.scenes import pinch

TETRAHEDRON = "v 0 0 0\nv 40 0 0\nv 0 40 0\nv 0 0 40\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"

HANDS = ".yaml, .yml, .ucrdf, .urdf, .xacro, .xml"


def test_a_mesh_file_in_millimetres(tmp_path: Path) -> None:
    path = tmp_path / "corner.obj"
    path.write_text(TETRAHEDRON)
    obj = sg.load_object(path, density=1000, units="mm")
    model = sg.compile_model(pinch(object=obj))
    assert model.body("object").mass[0] == pytest.approx(1000 * 0.04**3 / 6)


def test_a_mesh_file_that_has_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "corner.obj"
    path.write_text(TETRAHEDRON)
    obj = sg.load_object(path, mass=0.1, units="mm")
    path.write_text(TETRAHEDRON.replace("40", "41"))
    with pytest.raises(sg.DescriptionError, match="it has changed"):
        sg.compile_model(pinch(object=obj))


def test_a_mesh_file_needs_a_mass(tmp_path: Path) -> None:
    path = tmp_path / "corner.obj"
    path.write_text(TETRAHEDRON)
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_object(path)
    assert str(refused.value) == "expected exactly one of mass and density, found neither"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("a.xml", "a.xml: expected a MuJoCo model (.xml), found no such file"),
        ("some/hand", f"some/hand: expected a hand as {HANDS} or a library name, found 'hand'"),
    ],
)
def test_files_of_other_kinds_are_refused(name: str, sentence: str) -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_hand(name)
    assert str(refused.value) == sentence
