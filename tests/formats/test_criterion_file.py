"""Success criteria by name and by file, and in scenes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp import assets
from tests.scenes import pinch

SHIPPED = ["dexgraspbench", "hold", "isaac_shake", "lift_10cm", "pull_out", "sequence"]


def test_what_is_shipped_is_named_and_sourced() -> None:
    assert assets.names("criteria") == SHIPPED
    for name in SHIPPED:
        criterion = sg.load_criterion(name)
        assert criterion.name == name
        assert criterion.source


def test_the_default_hold_test_is_a_file_too() -> None:
    assert sg.load_criterion("hold").replace(source="") == sg.SuccessCriterion()


def test_the_six_forces_of_dexgraspbench() -> None:
    criterion = sg.load_criterion("dexgraspbench")
    assert {tuple(map(abs, load)) for load in criterion.directions} == {
        (10.0, 0.0, 0.0),
        (0.0, 10.0, 0.0),
        (0.0, 0.0, 10.0),
    }
    assert tuple(map(sum, zip(*criterion.directions, strict=True))) == (0.0, 0.0, 0.0)
    assert (criterion.direction_time, criterion.gravity) == (2.0, None)
    assert criterion.max_drop == 0.05
    assert criterion.max_rotation == pytest.approx(math.radians(15.0))


def test_a_file_has_units_and_lends_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "units: {length: mm, angle: deg}\n"
        "motion:\n"
        "  - hold\n"
        "  - {type: move, displacement: [10, 0, 0], rotation_vector: [0, 0, 90], about: [1, 2, 3]}\n"
        "  - {type: shake, amplitude: 5, angle: 10}\n"
        "max_drop: 2\n"
        "min_lift: 30\n"
    )
    result = sg.load_criterion(path)
    assert result == sg.SuccessCriterion(
        name="mine",
        motion=(
            sg.HoldPhase(),
            sg.MovePhase(
                displacement=(0.01, 0, 0), rotation_vector=(0, 0, 90 * math.pi / 180),
                about=(0.001, 0.002, 0.003),
            ),
            sg.ShakePhase(amplitude=0.005, angle=10 * math.pi / 180),
        ),
        max_drop=0.002,
        min_lift=0.03,
    )  # fmt: skip


def test_mistakes_have_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("max_drop: 0.1\nmotion:\n  - {type: shak}\n")
    with pytest.raises(sg.DescriptionError) as message:
        sg.load_criterion(path)
    assert str(message.value) == (
        f"{path}:3: motion[0]: expected hold, lift, move or shake, found 'shak'; "
        "did you mean 'shake'?"
    )
    with pytest.raises(sg.DescriptionError) as message:
        sg.load_criterion("lift_10")
    assert str(message.value) == (
        "no criterion 'lift_10'; did you mean 'lift_10cm'? known: " + ", ".join(SHIPPED)
    )


def test_a_scene_names_its_criterion(tmp_path: Path) -> None:
    scene = pinch(object=sg.load_object("sphere"), success=sg.load_criterion("isaac_shake"))
    path = sg.save_scene(scene, tmp_path / "s.yaml")
    assert "success: isaac_shake\n" in path.read_text()
    assert sg.load_scene(path).success == scene.success
    path.write_text("hand: four_finger\nobject: sphere\nsuccess: isaac_shak\n")
    with pytest.raises(sg.DescriptionError) as message:
        sg.load_scene(path)
    assert str(message.value) == (
        f"{path}:3: success: no criterion 'isaac_shak'; did you mean 'isaac_shake'? known: "
        + ", ".join(SHIPPED)
    )


def test_a_scene_file_has_phases_and_preshapes_in_its_units(tmp_path: Path) -> None:
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
        sg.ApproachPhase(offset=(0, 0, 0.05)),
        sg.ClosePhase(),
        sg.ShakePhase(axis=(1, 0, 0), angle=30 * math.pi / 180),
    )
    again = sg.load_scene(sg.save_scene(scene, tmp_path / "again.yaml"))
    assert again.replace(name=scene.name) == scene


def test_preshapes_of_a_hand_file_are_in_its_units() -> None:
    hand = sg.load_hand("four_finger")
    assert hand.preshape("open").positions == (-math.pi / 6, 0.0, 0.0) * 4
