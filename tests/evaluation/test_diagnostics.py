"""What a result tells of itself where a verdict would be taken for more than it is."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import pytest

import softgrasp as sg
from tests.support import mjcf_hands
from tests.support.scenes import ball, pinch


def message(result: sg.GraspResult, beginning: str) -> list[str]:
    return [sentence for sentence in result.warnings if sentence.startswith(beginning)]


@pytest.mark.parametrize("gravity", [False, True])
def test_a_lift_without_weight_is_reported(gravity: bool) -> None:
    lifting = sg.io.load_criterion("lift_10cm")
    table = (sg.Table(),) if gravity else ()
    result = sg.simulate(pinch(success=lifting, gravity=gravity, surroundings=table))
    assert (result.hold.weight_N == 0.0) is not gravity
    assert len(message(result, "the object weighs nothing in its test: ")) == (not gravity)


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.01, 0.03])
def test_a_hand_that_misses_reports_by_how_much(gap: float) -> None:
    """The ball is beside the fingers, and farther by the gap."""
    distances = []
    for y in (0.07, 0.07 + gap):
        result = sg.simulate(pinch(object_position=(0.0, y, -0.08), gravity=False))
        (sentence,) = message(result, "nothing touched the object: the hand came no nearer than ")
        assert result.outcome is sg.Outcome.MISSED
        distances.append(1e-3 * float(sentence.split("than ")[1].split(" mm")[0]))
    assert distances[1] - distances[0] == pytest.approx(gap, abs=2e-3)


@pytest.mark.slow
def test_a_hand_that_its_servos_cannot_move_has_not_closed(tmp_path: Path) -> None:
    """The joints of both fingers have springs that are stiffer than their servos."""
    stiff = 'damping=".01" stiffness="1000"'
    file = tmp_path / "hand.xml"
    file.write_text(mjcf_hands.MOTORS.replace('damping=".01"', stiff), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is added to the model
        hand = sg.load_hand(file)
    result = sg.simulate(sg.GraspScene(hand=hand, object=ball(), gravity=False))
    assert result.outcome is sg.Outcome.NOT_CLOSED
    assert result.message == (
        "the hand cannot close: no joint made half of its commanded travel, and nothing touched "
        "the object"
    )


@pytest.mark.parametrize("gap", [0.02, 0.28])
def test_an_object_out_of_reach_reports_by_how_much(gap: float) -> None:
    """The ball is so far below all that the hand reaches."""
    distances = []
    for z in (-0.5, -0.5 - gap):
        result = sg.simulate(pinch(object_position=(0.0, 0.0, z)))
        assert result.status is sg.GraspStatus.NOT_CLOSED
        distances.append(1e-3 * float(result.message.split("out of reach: ")[1].split(" mm")[0]))
    assert distances[1] - distances[0] == pytest.approx(gap, abs=2e-3)


def soft_grasp(pressure: float) -> sg.GraspResult:
    """A soft gripper closes on a sphere without weight."""
    scene = sg.GraspScene(
        hand=sg.load_hand("soft_gripper"), object=sg.load_object("sphere"), grasp="power",
        closure={"type": "pressure", "pressure": pressure},
    )  # fmt: skip
    return sg.simulate(scene)


def test_a_pressure_that_is_too_low_reports_which_one_touches() -> None:
    """The angle is in proportion to the pressure, and the finger touches at that pressure only."""
    result = soft_grasp(2e4)
    assert result.outcome is sg.Outcome.MISSED
    (sentence,) = message(result, "the pressure is too low: 20 kPa bends the free finger F1 by ")
    assert sentence.endswith("request more (--pressure)")
    numbers = re.search(r"by ([\d.]+)°, .* at ([\d.]+)°, which takes ([\d.]+) kPa", sentence)
    bends, touches, needed = (float(number) for number in numbers.groups())
    assert touches / bends == pytest.approx(needed / 20.0, rel=0.02)
    digit = result.scene.hand.soft_fingers[0]
    assert bends == pytest.approx(math.degrees(2e4 * digit.finger.bending), rel=5e-3)
    step = 180.0 / 90 * 1e-3 / math.degrees(digit.finger.bending)  # pressures that are tried [kPa]
    before, after = (soft_grasp(1e3 * (needed + change)) for change in (-2.0 * step, step))
    assert not before.normal_force.any()
    assert after.normal_force.any()
    assert message(soft_grasp(2e3 * needed), "the pressure is too low") == []


def test_a_density_that_no_material_has_is_doubted() -> None:
    with pytest.warns(sg.SoftgraspWarning) as warned:
        sg.compile_model(pinch(object=ball(density=7.86)))
    assert [str(item.message) for item in warned] == [
        "object 'ball': a density of 7.86 kg/m³ is that of no material; is its density in "
        "g/cm³? Then it has 7860 kg/m³"
    ]


def test_a_hand_that_points_up_is_advised_to_rotate_above_a_table() -> None:
    upward = sg.Pose(quaternion=(0.0, 1.0, 0.0, 0.0))
    scene = pinch(surroundings=(sg.Table(),), gravity=True, hand_pose=upward)
    with pytest.raises(sg.BuildError) as refused:
        sg.compile_model(scene)
    assert str(refused.value).endswith(
        "; the hand's fingers point up, and objects on a table are grasped from above: flip the "
        "hand with hand_pose.quaternion [1, 0, 0, 0] (--hand-euler-deg 0 0 0)"
    )
    rotated = scene.replace(hand_pose=sg.Pose(quaternion=(1.0, 0.0, 0.0, 0.0)))
    with pytest.warns(sg.SoftgraspWarning, match="farther from the palm"):
        sg.compile_model(rotated)
