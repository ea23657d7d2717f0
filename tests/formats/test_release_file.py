"""Releases in YAML: read, written, and told apart from scenes."""

from __future__ import annotations

from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp import assets
from softgrasp.io.scene import is_release

RELEASES = [name for name in assets.names("scenes") if is_release(name)]


def test_the_shipped_release_is_table_one_of_paper_000() -> None:
    assert RELEASES == ["paper000_release"]
    result = sg.load_release("paper000_release")
    assert result.finger == sg.load_finger("paper000")
    assert (result.tip_mass, result.webots_timestep, result.timestep) == (0.02, 1e-3, 1e-3)
    assert result.source


@pytest.mark.parametrize("name", RELEASES)
def test_every_shipped_release_comes_back_equal(name: str, tmp_path: Path) -> None:
    result = sg.load_release(name)
    assert sg.load_release(sg.save_release(result, tmp_path / f"{name}.yaml")) == result


def test_a_changed_finger_is_written_out_and_a_nameless_release_is_called_as_its_file(
    tmp_path: Path,
) -> None:
    finger = sg.load_finger("paper000")
    stiffer = finger.replace(
        joints=tuple(joint.replace(stiffness=2 * joint.stiffness) for joint in finger.joints)
    )
    made = sg.FingerRelease(finger=stiffer, tip_mass=0.05)
    result = sg.load_release(sg.save_release(made, tmp_path / "stiff.yaml"))
    assert result == made.replace(name="stiff")


def test_a_finger_file_lies_beside_the_release(tmp_path: Path) -> None:
    sg.save_finger(sg.load_finger("paper000").replace(name="own"), tmp_path / "own.yaml")
    (tmp_path / "r.yaml").write_text("finger: own.yaml\ntip_mass: 0.01\n")
    assert sg.load_release(tmp_path / "r.yaml").finger.name == "own"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("finger: paper00\ntip_mass: 0.02\n", "{path}:1: finger: no finger 'paper00'; did you mean "
         "'paper000'?"),
        ("finger: paper000\ntip_mass: -1\n",
         "{path}:2: tip_mass: expected a number above 0, found -1"),
        ("finger: [1]\ntip_mass: 0.02\n", "{path}:1: finger: expected a library name, a file, or a "
         "mapping with its fields, found [1]"),
        ("finger: paper000\n", "{path}: tip_mass: "),
        ("tip_mass: 0.02\n", "{path}: finger: "),
        ("finger:\n  joints: []\n  links: []\n  tip: [0, 0, 0]\ntip_mass: 0.02\n",
         "{path}:2: finger.joints: "),
        ("hand: four_finger\nobject: sphere\n", "{path}: expected the release of a finger (finger, "
         "tip_mass), found a scene with a hand and an object"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_file_line_and_field(
    text: str, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_release(path)
    assert str(refused.value).startswith(sentence.format(path=path))


def test_a_release_is_no_scene(tmp_path: Path) -> None:
    path = assets.find("scenes", "paper000_release")
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_scene("paper000_release")
    assert str(refused.value) == (
        f"{path}: expected a scene with a hand and an object, found the release of a finger, "
        "which is not a grasp; softgrasp crosscheck takes it"
    )


def test_a_release_is_written_as_yaml_only(tmp_path: Path) -> None:
    with pytest.raises(sg.DescriptionError, match=r"expected a \.yaml file"):
        sg.save_release(sg.load_release("paper000_release"), tmp_path / "r.json")
