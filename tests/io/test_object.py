"""Success criteria by name and by file, and in scenes."""

import math
import re
from pathlib import Path

import pytest
import trimesh

import softgrasp as sg
from softgrasp.cli.sweep import axis_of
from softgrasp.errors import DescriptionError
from softgrasp.io.mesh import load_mesh
from softgrasp.io.object import expand_directories, load_ycb
from softgrasp.io.scene import load_plan
from tests.support.outside import outside_file
from tests.support.scenes import pinch


def test_the_default_hold_test_is_a_file_too():
    assert sg.io.load_criterion("hold").replace(source="") == sg.SuccessCriterion()


def test_the_six_forces_of_dexgraspbench():
    criterion = sg.io.load_criterion("dexgraspbench")
    assert {tuple(map(abs, load)) for load in criterion.directions} == {
        (10.0, 0.0, 0.0),
        (0.0, 10.0, 0.0),
        (0.0, 0.0, 10.0),
    }
    assert tuple(map(sum, zip(*criterion.directions, strict=True))) == (0.0, 0.0, 0.0)
    assert (criterion.direction_time, criterion.gravity) == (2.0, None)
    assert criterion.max_drop == 0.05
    assert criterion.max_rotation == pytest.approx(math.radians(15.0))


def test_a_file_has_units_and_lends_its_name(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "units: {length: mm, angle: deg}\n"
        "motion:\n"
        "  - hold\n"
        "  - {type: move, displacement: [10, 0, 0], rotation_vector: [0, 0, 90], "
        "about: [1, 2, 3]}\n"
        "  - {type: shake, amplitude: 5, angle: 10}\n"
        "max_drop: 2\n"
        "min_lift: 30\n"
    )
    result = sg.io.load_criterion(path)
    assert result == sg.SuccessCriterion(
        name="mine",
        motion=(
            sg.description.HoldPhase(),
            sg.description.MovePhase(
                displacement=(0.01, 0, 0), rotation_vector=(0, 0, 90 * math.pi / 180),
                about=(0.001, 0.002, 0.003),
            ),
            sg.description.ShakePhase(amplitude=0.005, angle=10 * math.pi / 180),
        ),
        max_drop=0.002,
        min_lift=0.03,
    )  # fmt: skip


def test_mistakes_have_file_and_line(tmp_path, golden):
    path = tmp_path / "bad.yaml"
    path.write_text("max_drop: 0.1\nmotion:\n  - {type: shak}\n")
    golden.refused(lambda: sg.io.load_criterion(path), "3: motion[0]")
    golden.refused(lambda: sg.io.load_criterion("lift_10"), "no criterion 'lift_10'")


def test_a_scene_names_its_criterion(tmp_path, golden):
    scene = pinch(object=sg.load_object("sphere"), success=sg.io.load_criterion("isaac_shake"))
    path = sg.save_scene(scene, tmp_path / "s.yaml")
    assert "success: isaac_shake\n" in path.read_text()
    assert sg.load_scene(path).success == scene.success
    path.write_text("hand: four_finger\nobject: sphere\nsuccess: isaac_shak\n")
    golden.refused(lambda: sg.load_scene(path), "3: success")


def test_a_scene_file_has_phases_and_preshapes_in_its_units(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(
        "units: {length: mm, angle: deg}\n"
        "hand: four_finger\nobject: sphere\npreshape: open\n"
        "sequence:\n  - {type: approach, offset: [0, 0, 50]}\n  - close\n"
        "  - {type: shake, axis: [1, 0, 0], angle: 30}\n"
    )
    scene = sg.load_scene(path)
    assert scene.preshape == "open"
    assert scene.sequence == (
        sg.description.ApproachPhase(offset=(0, 0, 0.05)),
        sg.description.ClosePhase(),
        sg.description.ShakePhase(axis=(1, 0, 0), angle=30 * math.pi / 180),
    )
    again = sg.load_scene(sg.save_scene(scene, tmp_path / "again.yaml"))
    assert again.replace(name=scene.name) == scene


def test_preshapes_of_a_hand_file_are_in_its_units():
    hand = sg.load_hand("four_finger")
    assert hand.preshape("open").positions == (-math.pi / 6, 0.0, 0.0) * 4


# A folder of meshes stands for its meshes where objects vary.


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two meshes and a note."""
    meshes = tmp_path / "meshes"
    meshes.mkdir()
    trimesh.creation.box((0.04, 0.04, 0.05)).export(meshes / "b.STL")
    trimesh.creation.icosphere(radius=0.025).export(meshes / "a.obj")
    (meshes / "notes.txt").write_text("none", encoding="utf-8")
    return meshes


def test_a_directory_is_its_meshes_by_name_and_names_stay(directory):
    files = [str(directory / "a.obj"), str(directory / "b.STL")]
    assert expand_directories("object", ["sphere", "meshes"], directory.parent) == [
        "sphere",
        *files,
    ]
    assert expand_directories("scene", ["meshes"], directory.parent) == ["meshes"]
    assert expand_directories("object.density", [700.0], directory.parent) == [700.0]


def test_on_the_command_line_and_in_a_plan_file(directory, monkeypatch):
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


def test_a_directory_without_meshes_is_reported(tmp_path):
    (tmp_path / "notes.txt").touch()
    known = ".stl, .obj, .ply, .glb, .off, .dae"
    sentence = f"{tmp_path}: expected mesh files ({known}), found notes.txt"
    with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
        expand_directories("object", [str(tmp_path)], Path())


# A local YCB folder: names, masses, and what is said when something is missing.


@pytest.fixture
def ycb_directory(tmp_path: Path) -> Path:
    """A YCB folder with boxes for objects."""
    box = trimesh.creation.box((0.04, 0.05, 0.06))
    files = [
        "016_pear/google_16k/nontextured.stl", "025_mug/full.stl", "025_mug/decimated_2k.obj",
        "043_phillips_screwdriver/google_16k/nontextured.ply",
        "044_flat_screwdriver/google_16k/nontextured.ply", "065-a_cups/google_16k/nontextured.stl",
        "099_thing/google_16k/textured.obj",
    ]  # fmt: skip
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
def test_an_object_is_loaded_by_any_of_its_names(ycb_directory, name):
    pear = load_ycb(name, root=ycb_directory)
    assert pear.name == "016_pear"
    assert pear.mass == 0.049
    assert pear.density is None
    assert pear.material.static_friction == 0.5
    assert "Calli et al. 2015" in pear.source


def test_letters_and_endings_name_objects(ycb_directory):
    assert load_ycb("a_cups", root=ycb_directory).mass == 0.013
    assert load_ycb("phillips_screwdriver", root=ycb_directory).name == "043_phillips_screwdriver"


def test_the_small_mesh_comes_first(ycb_directory):
    shape = load_ycb("mug", root=ycb_directory).shape
    assert shape.type == "mesh"
    assert shape.file.endswith("025_mug/decimated_2k.obj")
    assert load_mesh(shape).sha256 == shape.sha256


def test_the_directory_comes_from_the_environment(ycb_directory, monkeypatch):
    monkeypatch.setenv("SOFTGRASP_YCB", str(ycb_directory))
    assert load_ycb("pear").name == "016_pear"
    monkeypatch.delenv("SOFTGRASP_YCB")
    text = refusal("pear", None)
    assert text.startswith("expected the directory of the YCB objects in SOFTGRASP_YCB, found none")
    assert "export SOFTGRASP_YCB=DIRECTORY" in text
    monkeypatch.setenv("SOFTGRASP_YCB", str(ycb_directory / "gone"))
    text = refusal("pear", None)
    assert (
        text == f"{ycb_directory / 'gone'}: expected the directory of the YCB objects, found none"
    )


def test_an_unknown_object_is_answered_with_what_exists(ycb_directory):
    assert "no YCB object 'paer'; did you mean 'pear'? known: a_cups, flat_s" in refusal(
        "ycb:paer", ycb_directory
    )
    assert "did you mean '025_mug'?" in refusal("026_mug", ycb_directory)


def test_an_ambiguous_ending_names_the_candidates(ycb_directory):
    assert refusal("screwdriver", ycb_directory).endswith(
        "expected one YCB object, found 2 that end in 'screwdriver': 043_phillips_screwdriver, "
        "044_flat_screwdriver"
    )


def test_a_directory_without_objects_is_refused(tmp_path):
    assert "expected directories such as 025_mug with a mesh" in refusal("pear", tmp_path)


def test_an_object_without_a_published_mass_needs_one(ycb_directory, golden):
    golden(refusal("thing", ycb_directory), "no published mass of the YCB object '099_thing'")
    assert load_ycb("thing", root=ycb_directory, density=500.0).density == 500.0
    assert load_ycb("pear", root=ycb_directory, mass=0.2).mass == 0.2


@pytest.mark.parametrize(
    ("name", "volume", "center"),
    [
        ("strawberry", 48.22e-6, (-1.49e-3, 15.43e-3, 21.11e-3)),
        ("phillips_screwdriver", 76.51e-6, (2.66e-3, 22.22e-3, 16.37e-3)),
    ],
)
@pytest.mark.filterwarnings("ignore::softgrasp.errors.SoftgraspWarning")
def test_the_real_meshes_stand_at_their_centre_of_mass(name, volume, center):
    shape = load_ycb(name, root=outside_file("ycb")).shape
    assert shape.type == "mesh"
    body = load_mesh(shape.replace(collision="hull"))
    assert body.volume == pytest.approx(volume, rel=1e-3)
    assert tuple(body.center_of_mass) == pytest.approx(center, abs=4e-4)
