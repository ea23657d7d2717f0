"""A side file: the model of a hand, and what is to be otherwise."""

from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.hand import Hand
from softgrasp.model.hand import build_hand_spec
from tests.support.robots import written
from tests.support.urdf_hands import BODY, BOX, GRIPPER, LIMIT


def hand_of(directory: Path, side: str, text: str = GRIPPER) -> Hand:
    written(directory, text, "hand.urdf")
    return sg.load_hand(written(directory, f"model: hand.urdf\n{side}", "mine.yaml"))


def refused(directory: Path, side: str, text: str = GRIPPER) -> str:
    with pytest.raises(sg.DescriptionError) as caught:
        hand_of(directory, side, text)
    return str(caught.value).replace(f"{directory}/", "")


def test_a_side_file_that_changes_nothing(tmp_path):
    assert hand_of(tmp_path, "") == sg.load_hand(tmp_path / "hand.urdf")


def test_names_rates_and_grasps(tmp_path):
    side = """
units: {length: mm, angle: deg}
name: mine
fingers: {left: F1, right: F2}
rates: 45
grasps:
  precision: {center: [0, 0, 110], rates: [30, 3, 30, 3], start: [5, 0, 5, 0]}
"""
    hand, result = hand_of(tmp_path, side), sg.load_hand(tmp_path / "hand.urdf")
    assert hand.name == "mine"
    assert [finger.name for finger in hand.fingers] == ["F1", "F2"]
    assert hand.grasps.power.center == result.grasps.power.center
    assert hand.grasps.power.rates == pytest.approx((np.radians(45.0),))
    assert hand.grasps.precision.center == pytest.approx((0.0, 0.0, 0.11))
    assert hand.grasps.precision.rates == pytest.approx(np.radians([30.0, 3.0, 30.0, 3.0]))
    assert hand.grasps.precision.start == pytest.approx(np.radians([5.0, 0.0, 5.0, 0.0]))


def test_joints(tmp_path):
    side = """
units: {angle: deg}
joints:
  left_1: {limits: [-10, 60], effort: 4, damping: 0.5}
  left_2: {servo_stiffness: 7, armature: 0.01}
"""
    first, second = hand_of(tmp_path, side).fingers[0].phalanges
    assert first.limits == pytest.approx(np.radians([-10.0, 60.0]))
    assert (first.force_limit, first.damping) == (4.0, 0.5)
    assert (second.servo_stiffness, second.armature) == (7.0, 0.01)


@pytest.mark.slow
def test_what_a_file_leaves_out(tmp_path):
    """Limits of a continuous joint, and a density for links without inertia."""
    text = GRIPPER.replace(BODY + BOX, BOX).replace('type="revolute"', 'type="continuous"', 1)
    text = text.replace(LIMIT, '<limit effort="2" velocity="3"/>', 1)
    hand = hand_of(tmp_path, "density: 800\njoints: {left_1: {limits: [0, 1]}}\n", text)
    assert hand.fingers[0].phalanges[0].limits == (0.0, 1.0)
    model = build_hand_spec(hand).compile()
    assert model.body("left_near").mass[0] == pytest.approx(800.0 * 0.014 * 0.03 * 0.06)


@pytest.mark.parametrize(
    ("side", "sentence"),
    [
        ("fingers: {letf: F1}\n", "mine.yaml:2: fingers.letf"),
        ("joints: {left_3: {effort: 1}}\n", "hand.urdf: joints.left_3"),
        ("joints: {left_1: {limit: [0, 1]}}\n", "mine.yaml:2: joints.left_1.limit"),
        ("joints: {left_1: {limits: 1}}\n", "mine.yaml:2: joints.left_1.limits"),
        ("density: -1\n", "mine.yaml:2: density"),
        ("grasps: {pwer: {center: [0, 0, 0]}}\n", "mine.yaml:2: grasps.pwer"),
        ("grasps: {power: {centre: [0, 0, 0]}}\n", "mine.yaml:2: grasps.power.centre"),
    ],
)
def test_mistakes(side, sentence, tmp_path, golden):
    golden(refused(tmp_path, side), sentence)


def test_a_model_of_another_kind(tmp_path, golden):
    path = written(tmp_path, "model: hand.stl\n", "mine.yaml")
    golden.refused(lambda: sg.load_hand(path), "1: model")
