"""Scenes in YAML: names, parts written out, round trips."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp import assets
from softgrasp.io.scene import is_release
from tests.scenes import ball, pinch


def test_a_scene_comes_back_equal(tmp_path: Path) -> None:
    scene = pinch(
        name="s",
        contact=sg.Contact(stiffness=1e6, damping=1e3),
        success=sg.SuccessCriterion(),
        gravity=True,
        closure=sg.PositionIncrementClosure(rates=(1.0, 0.5, 0.2), samples=5),
        hand_pose=sg.Pose(position=(0.1, 0.2, 0.3)),
    )
    assert sg.load_scene(sg.save_scene(scene, tmp_path / "s.yaml")) == scene


@settings(max_examples=15, deadline=None)
@given(
    st.floats(1e-3, 1.0),
    st.sampled_from(["free", "fixed", "planar"]),
    st.tuples(*[st.floats(-3, 3)] * 3),
    st.integers(0, 2**31),
)
def test_any_numbers_come_back_equal(
    tmp_path_factory: pytest.TempPathFactory,
    radius: float,
    mount: str,
    euler: tuple[float, float, float],
    seed: int,
) -> None:
    scene = pinch(
        name="any", object=ball(radius), object_mount=mount, object_euler=euler, seed=seed
    )
    path = tmp_path_factory.mktemp("any") / "any.yaml"
    assert sg.load_scene(sg.save_scene(scene, path)) == scene


def test_a_shipped_hand_is_written_by_name_and_a_changed_one_in_full(tmp_path: Path) -> None:
    scene = pinch(name="s")
    assert "hand: four_finger\n" in sg.save_scene(scene, tmp_path / "s.yaml").read_text()
    changed = scene.replace(hand=scene.hand.replace(source="mine"))
    path = sg.save_scene(changed, tmp_path / "s.yaml")
    assert "fingers:" in path.read_text()
    assert sg.load_scene(path) == changed


def test_the_units_of_a_scene_hold_for_all_its_fields(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "units: {length: mm, angle: deg}\nhand: four_finger\nobject: sphere\n"
        "closure: {rates: [60, 6, 3]}\nobject_position: [0, 0, -85]\n"
        "success: {max_drop: 0.5, max_rotation: 5}\ncontact: {torsional_friction: 3}\n"
        f"hand_pose: {{position: [0, 0, 100], euler: [{math.degrees(0.5)}, 0, 0]}}\n"
    )
    scene = sg.load_scene(path)
    rotated = sg.Pose(position=(0, 0, 0.1), quaternion=(math.cos(0.25), math.sin(0.25), 0, 0))
    assert scene.hand_pose.position == rotated.position
    assert scene.hand_pose.quaternion == pytest.approx(rotated.quaternion)
    assert scene.closure.rates == pytest.approx([math.radians(rate) for rate in (60, 6, 3)])
    assert scene.object_position == (0, 0, -0.085)
    assert scene.success == sg.SuccessCriterion(max_drop=5e-4, max_rotation=math.radians(5))
    assert scene.contact == sg.Contact(torsional_friction=0.003)


def test_a_shipped_object_with_another_density(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("hand: four_finger\nobject: {library: sphere, density: 123}\n")
    assert sg.load_scene(path).object == sg.load_object("sphere", density=123)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "hand: four_fingers\nobject: sphere\n",
            "{path}:1: hand: no hand 'four_fingers'; did you mean 'four_finger'? known: ",
        ),
        (
            "hand: four_finger\nobject: sphare\n",
            "{path}:2: object: no object 'sphare'; did you mean 'sphere'? known: ",
        ),
        (
            "object: sphere\n",
            "{path}: hand: this field is missing; expected a library name, a file, or a mapping "
            "with its fields",
        ),
        (
            "hand: four_finger\nobject: [sphere]\n",
            "{path}:2: object: expected a library name, a file, or a mapping with its fields, "
            "found ['sphere']",
        ),
        (
            "hand: four_finger\nobject: sphere\nhand_pose: {eulr: [1, 0, 0]}\n",
            "{path}:3: the hand: hand_pose.eulr: no such field; did you mean 'euler'?",
        ),
        (
            "hand: four_finger\nobject: sphere\nobject_position: [0, 0]\n",
            "{path}:3: object_position: expected more values, found only 2",
        ),
        (
            "hand: four_finger\nobject: sphere\ncontrol_period: 1e-6\nduration: 10\n",
            "{path}:3: control_period: expected at least 5e-06 s, so that 10 s of closing have at "
            "most 2000000 control samples, found 1e-06 s",
        ),
        (
            "hand: four_finger\nobject: {library: sphere, colour: red}\n",
            "{path}:2: object: expected only mass, density or elasticity beside 'library', "
            "found ['colour']",
        ),
        (
            "hand: four_finger\n"
            "object:\n  name: b\n  shape: {type: sphere, radius: 0}\n  mass: 1\n",
            "{path}:4: object.shape.radius: expected a number above 0, found 0",
        ),
        (
            "hand: four_finger\nobject: sphere\nduration: -1\n",
            "{path}:3: duration: expected a number above 0, found -1",
        ),
    ],
)
def test_mistakes_are_told_with_file_line_and_field(
    tmp_path: Path, text: str, sentence: str
) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_scene(path)
    assert str(refused.value).startswith(sentence.format(path=path))


@pytest.mark.parametrize("name", [name for name in assets.names("scenes") if not is_release(name)])
def test_every_shipped_scene_loads_and_comes_back_equal(name: str, tmp_path: Path) -> None:
    scene = sg.load_scene(name)
    assert sg.load_scene(sg.save_scene(scene, tmp_path / f"{name}.yaml")) == scene
