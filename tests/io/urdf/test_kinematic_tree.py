"""Joints that follow: couplings, chains of them, and ranges that do not fit."""

import re
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.hand import Hand
from softgrasp.model.hand import build_hand_spec
from tests.support.robots import written
from tests.support.urdf_hands import LEFT, LIMIT, PALM, RIGHT, ROBOTIQ, real_hand, robot


def follower(low: float, high: float, mimic: str) -> str:
    """The right finger, whose first joint follows."""
    limit = f'<limit lower="{low}" upper="{high}" effort="2" velocity="3"/>{mimic}'
    return RIGHT.replace(LIMIT, limit, 1)


def hand_of(directory: Path, right: str, left: str = LEFT) -> Hand:
    return sg.load_hand(written(directory, robot(PALM, left, right), "hand.urdf"))


def row(hand: Hand, joint: str) -> sg.description.Phalanx:
    return next(row for row in hand.joints if row.joint_name == joint)


@pytest.mark.slow
def test_a_mimic_is_a_coupling(tmp_path):
    mimic = '<mimic joint="left_1" multiplier="0.5" offset="0.1"/>'
    hand = hand_of(tmp_path, follower(-1, 1, mimic))
    assert [actuator.name for actuator in hand.actuators] == ["left_1", "left_2", "right_2"]
    (coupling,) = hand.couplings
    assert (coupling.joint, coupling.leader) == ("right_1", "left_1")
    assert (coupling.ratio, coupling.offset) == (0.5, 0.1)
    assert row(hand, "right_1").limits == (-1.0, 1.0)
    posture = hand.posture([0.8, 0.0, 0.0])
    assert posture["right_1"] == pytest.approx(0.5)


@pytest.mark.slow
def test_a_chain_of_mimics_is_reported_by_its_first_leader(tmp_path):
    """c = 2·b − 0.1 and b = 0.5·a + 0.1 make c = a + 0.1."""
    first = '<mimic joint="left_1" multiplier="0.5" offset="0.1"/>'
    second = '<mimic joint="right_1" multiplier="2" offset="-0.1"/>'
    right = follower(-2, 2, first).replace(
        LIMIT, f'<limit lower="-2" upper="2" effort="1" velocity="1"/>{second}'
    )
    hand = hand_of(tmp_path, right)
    last = {c.joint: c for c in hand.couplings}["right_2"]
    assert last.leader == "left_1"
    assert last.ratio == pytest.approx(1.0)
    assert last.offset == pytest.approx(0.1)
    model = sg.compile_model(
        sg.GraspScene(hand=hand, object=sg.load_object("sphere"), object_position=(0, 0, 0.5))
    )
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    data.ctrl[:2] = (0.6, 0.2)
    for _ in range(3000):
        mujoco.mj_step(model, data)
    a, b, c = (float(data.joint(name).qpos[0]) for name in ("left_1", "right_1", "right_2"))
    assert (b, c) == (pytest.approx(0.5 * a + 0.1, abs=2e-3), pytest.approx(a + 0.1, abs=4e-3))


def test_where_ranges_have_nothing_in_common_the_mechanism_is_replaced(tmp_path):
    text = (
        "joint 'right_1' follows -1 · 'left_1' over [-1.2, 0.2] rad ([-68.7549, 11.4592]°), but "
        "its limits are [0.2, 1] rad ([11.4592, 57.2958]°), which allows 0 % of the leader's "
        "range; the limits are replaced by [-1.2, 0.2] rad ([-68.7549, 11.4592]°)"
    )
    right = follower(0.2, 1, '<mimic joint="left_1" multiplier="-1"/>')
    right = right.replace('"0 -1 0"', '"0 1 0"', 1)
    with pytest.warns(sg.SoftgraspWarning, match=f"^{re.escape(text)}$"):
        hand = hand_of(tmp_path, right)
    assert row(hand, "right_1").limits == (-1.2, 0.2)
    assert row(hand, "left_1").limits == (-0.2, 1.2)


@pytest.mark.slow
def test_where_ranges_overlap_the_leader_stops(tmp_path):
    text = (
        "joint 'right_1' follows 1 · 'left_1' over [-0.2, 1.2] rad ([-11.4592, 68.7549]°), but its "
        "limits are [0, 1] rad ([0, 57.2958]°); 'left_1' stops at [0, 1] rad ([0, 57.2958]°) "
        "instead of [-0.2, 1.2] rad ([-11.4592, 68.7549]°)"
    )
    with pytest.warns(sg.SoftgraspWarning, match=f"^{re.escape(text)}$"):
        hand = hand_of(tmp_path, follower(0, 1, '<mimic joint="left_1"/>'))
    assert row(hand, "left_1").limits == (0.0, 1.0)
    assert row(hand, "right_1").limits == (0.0, 1.0)


def test_ranges_that_fit_give_no_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hand_of(tmp_path, follower(-0.2, 1.2, '<mimic joint="left_1"/>'))


def test_a_continuous_follower_needs_no_limits(tmp_path):
    right = RIGHT.replace('type="revolute"', 'type="continuous"', 1).replace(
        LIMIT, '<mimic joint="left_1" multiplier="2"/>', 1
    )
    assert row(hand_of(tmp_path, right), "right_1").limits == (-0.4, 2.4)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*implausible above")
def test_the_pads_of_the_real_gripper_stay_parallel():
    """Its printed limits would keep three joints at 0; its multipliers close it as the real one."""
    with pytest.warns(sg.SoftgraspWarning, match="the limits are replaced") as message:
        hand = sg.load_hand(real_hand(ROBOTIQ))
    replaced = [str(item.message) for item in message if "limits are replaced" in str(item.message)]
    assert len(replaced) == 3
    assert [actuator.name for actuator in hand.actuators] == ["finger_joint"]
    model = build_hand_spec(hand).compile()
    data = mujoco.MjData(model)
    for angle in (0.0, 0.4, 0.7):
        for name, value in hand.posture([angle]).items():
            data.joint(name).qpos[0] = value
        mujoco.mj_kinematics(model, data)
        left, right = (data.body(f"{side}_inner_finger") for side in ("left", "right"))
        assert left.xpos[0] == pytest.approx(-right.xpos[0], abs=1e-3)
        assert left.xpos[2] == pytest.approx(right.xpos[2], abs=1e-3)
        rotation = left.xmat.reshape(3, 3)
        assert np.abs(rotation) == pytest.approx(np.abs(np.round(rotation)), abs=1e-9)
