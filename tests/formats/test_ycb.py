"""A local YCB folder: names, masses, and what is said when something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
import trimesh

from softgrasp.errors import DescriptionError
from softgrasp.io.mesh import load_mesh
from softgrasp.io.object import load_ycb
from tests.outside import outside_file


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A YCB folder with boxes for objects."""
    box = trimesh.creation.box((0.04, 0.05, 0.06))
    files = [
        "016_pear/google_16k/nontextured.stl",
        "025_mug/full.stl",
        "025_mug/decimated_2k.obj",
        "043_phillips_screwdriver/google_16k/nontextured.ply",
        "044_flat_screwdriver/google_16k/nontextured.ply",
        "065-a_cups/google_16k/nontextured.stl",
        "099_thing/google_16k/textured.obj",
    ]
    for file in files:
        target = tmp_path / file
        target.parent.mkdir(parents=True, exist_ok=True)
        box.export(target)
    (tmp_path / "017_orange").mkdir()
    (tmp_path / "README.md").write_text("")
    return tmp_path


def refusal(name: str, root: Path | None) -> str:
    with pytest.raises(DescriptionError) as caught:
        load_ycb(name, root=root)
    return str(caught.value)


@pytest.mark.parametrize("name", ["ycb:016_pear", "ycb:pear", "016_pear", "pear"])
def test_an_object_is_found_by_any_of_its_names(directory: Path, name: str) -> None:
    pear = load_ycb(name, root=directory)
    assert pear.name == "016_pear"
    assert pear.mass == 0.049
    assert pear.density is None
    assert pear.material is not None
    assert pear.material.static_friction == 0.5
    assert "Calli et al. 2015" in pear.source


def test_letters_and_endings_name_objects(directory: Path) -> None:
    assert load_ycb("a_cups", root=directory).mass == 0.013
    assert load_ycb("phillips_screwdriver", root=directory).name == "043_phillips_screwdriver"


def test_the_small_mesh_comes_first(directory: Path) -> None:
    shape = load_ycb("mug", root=directory).shape
    assert shape.type == "mesh"
    assert shape.file.endswith("025_mug/decimated_2k.obj")
    assert load_mesh(shape).sha256 == shape.sha256


def test_the_folder_comes_from_the_environment(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOFTGRASP_YCB", str(directory))
    assert load_ycb("pear").name == "016_pear"
    monkeypatch.delenv("SOFTGRASP_YCB")
    text = refusal("pear", None)
    assert text.startswith("expected the folder of the YCB objects in SOFTGRASP_YCB, found none")
    assert "export SOFTGRASP_YCB=FOLDER" in text
    monkeypatch.setenv("SOFTGRASP_YCB", str(directory / "gone"))
    text = refusal("pear", None)
    assert text == f"{directory / 'gone'}: expected the folder of the YCB objects, found none"


def test_an_unknown_object_is_answered_with_what_exists(directory: Path) -> None:
    assert "no YCB object 'paer'; did you mean 'pear'? known: a_cups, flat_s" in refusal(
        "ycb:paer", directory
    )
    assert "did you mean '025_mug'?" in refusal("026_mug", directory)


def test_an_ambiguous_ending_names_the_candidates(directory: Path) -> None:
    assert refusal("screwdriver", directory).endswith(
        "expected one YCB object, found 2 that end in 'screwdriver': 043_phillips_screwdriver, "
        "044_flat_screwdriver"
    )


def test_a_folder_without_objects_is_refused(tmp_path: Path) -> None:
    assert "expected folders such as 025_mug with a mesh" in refusal("pear", tmp_path)


def test_an_object_without_a_published_mass_needs_one(directory: Path) -> None:
    assert refusal("thing", directory) == (
        "no published mass of the YCB object '099_thing' is known here; give a mass or a density"
    )
    assert load_ycb("thing", root=directory, density=500.0).density == 500.0
    assert load_ycb("pear", root=directory, mass=0.2).mass == 0.2


@pytest.mark.parametrize(
    ("name", "volume", "center"),
    [
        ("strawberry", 48.22e-6, (-1.49e-3, 15.43e-3, 21.11e-3)),
        ("phillips_screwdriver", 76.51e-6, (2.66e-3, 22.22e-3, 16.37e-3)),
    ],
)
@pytest.mark.filterwarnings("ignore::softgrasp.errors.SoftgraspWarning")
def test_the_real_meshes_stand_at_their_centre_of_mass(
    name: str, volume: float, center: tuple[float, float, float]
) -> None:
    shape = load_ycb(name, root=outside_file("ycb")).shape
    assert shape.type == "mesh"
    body = load_mesh(shape.replace(collision="hull"))
    assert body.volume == pytest.approx(volume, rel=1e-3)
    assert tuple(body.center_of_mass) == pytest.approx(center, abs=4e-4)
