"""Closing motions and grasps of hands from URDF: symmetry, arrival times, rates."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.hand import Hand
from softgrasp.grasp_synthesis import DescribedHand, SynthesizedGrasps, synthesize_grasps
from softgrasp.grasp_synthesis.closing_motion import closing_of
from softgrasp.io.grasp_presets import link_surfaces, surface_points
from softgrasp.mechanics.transforms import rotation_from_euler
from tests.support.robots import written
from tests.support.urdf_hands import BODY, GRIPPER, LIMIT, PALM, joint, link, robot

PALM_MIDDLE = np.array([0.0, 0.0, -0.01])


def closing_hand(hand: Hand) -> DescribedHand:
    """Return a hand with its surface points."""
    return DescribedHand(hand, link_surfaces(hand))


def grasps_of(hand: Hand) -> SynthesizedGrasps:
    return synthesize_grasps(closing_hand(hand))


def hand_of(directory: Path, text: str) -> Hand:
    return sg.load_hand(written(directory, text, "hand.urdf"))


def test_symmetric_gripper_grasps_in_the_middle(tmp_path: Path) -> None:
    for _, preset in hand_of(tmp_path, GRIPPER).grasps:
        x, y, z = preset.center
        assert x == pytest.approx(0.0, abs=5e-3)  # rates compensate for the rest
        assert y == pytest.approx(0.0, abs=5e-3)
        assert 0.03 < z < 0.13


def test_fingers_close_towards_the_palm_for_any_sign_of_their_axes(tmp_path: Path) -> None:
    described = closing_hand(hand_of(tmp_path, GRIPPER))
    assert described.middle == pytest.approx(PALM_MIDDLE, abs=1e-3)
    closing = closing_of(described)
    assert closing.end.tolist() == [1.2] * 4
    assert closing.start.tolist() == [-0.2] * 4
    assert closing.groups == ((0, 1), (2, 3))
    assert closing.order.tolist() == [0, 1, 0, 1]
    back = GRIPPER.replace('xyz="0 1 0"', 'xyz="0 -1 0"', 2).replace(
        LIMIT, LIMIT.replace("-0.2", "-1.2").replace('"1.2"', '"0.2"'), 2
    )
    closing = closing_of(closing_hand(hand_of(tmp_path, back)))
    assert closing.end.tolist() == [-1.2, -1.2, 1.2, 1.2]


def test_sliding_jaws_close_towards_each_other(tmp_path: Path) -> None:
    """With closed jaws at zero the open limit is the other one."""
    limit = '<limit lower="0" upper="0.04" effort="40" velocity="0.1"/>'
    jaws = "".join(
        link(name) + joint(f"{name}_slide", "base", name, f"{x} 0 0", axis, limit, "prismatic")
        for name, x, axis in (("one", -0.007, "-1 0 0"), ("two", 0.007, "1 0 0"))
    )
    hand = hand_of(tmp_path, robot(PALM, jaws))
    power = hand.grasps.power
    assert power.start == (0.04, 0.04)
    assert power.rates[0] == pytest.approx(power.rates[1], rel=0.05)
    assert power.rates[0] < 0.0
    assert power.center[0] == pytest.approx(0.0, abs=1e-3)
    assert hand.joints[0].servo_stiffness == pytest.approx(40.0 / 5e-3)


def test_joint_that_spreads_fingers_is_fixed(tmp_path: Path) -> None:
    knuckle = link("knuckle", BODY) + joint("spread", "base", "knuckle", "-0.05 0 0", "0 0 1")
    text = GRIPPER.replace('<parent link="base"/><child link="left_near"/>',
                           '<parent link="knuckle"/><child link="left_near"/>')  # fmt: skip
    text = text.replace('xyz="-0.05 0 0"', 'xyz="0 0 0"').replace("</robot>", knuckle + "</robot>")
    text = text.replace("-0.2", "-1.2")
    hand = hand_of(tmp_path, text)
    rates = dict(
        zip([actuator.name for actuator in hand.actuators], hand.grasps.power.rates, strict=True)
    )
    assert rates["spread"] == 0.0
    assert all(rates[name] != 0.0 for name in rates if name != "spread")


@pytest.mark.slow
def test_fingers_arrive_together(tmp_path: Path) -> None:
    """The finger with the longer travel has the higher rate."""
    hand = hand_of(tmp_path, GRIPPER.replace('xyz="-0.05 0 0"', 'xyz="-0.09 0 0"'))
    scene = sg.GraspScene(hand=hand, object=sg.load_object("sphere"), grasp="precision")
    result = sg.simulate(scene)
    first = {}
    for event in result.events:
        first.setdefault(event.finger, event.time_s)
    assert set(first) == {"left", "right"}
    assert abs(first["left"] - first["right"]) < 0.05


def test_first_joints_lead_in_a_precision_grasp(tmp_path: Path) -> None:
    first, second, *_ = hand_of(tmp_path, GRIPPER).grasps.precision.rates
    assert second == pytest.approx(0.15 * first, rel=1e-3)
    first, second, *_ = hand_of(tmp_path, GRIPPER).grasps.power.rates
    assert second == pytest.approx(first)


def test_elongated_objects_are_across_the_plane_of_closing(tmp_path: Path) -> None:
    """The fingers rotate about y, so a cylinder is along y."""
    euler = hand_of(tmp_path, GRIPPER).grasps.power.object_euler
    along = rotation_from_euler(euler) @ [0.0, 0.0, 1.0]
    assert np.abs(along) == pytest.approx([0.0, 1.0, 0.0], abs=1e-6)
    assert hand_of(tmp_path, GRIPPER).grasps.power.upright_euler is None


@pytest.mark.slow
def test_single_finger_warns(tmp_path: Path) -> None:
    text = robot(
        PALM.replace("0.12 0.04 0.02", "0.01 0.01 0.01"),
        link("near"),
        joint("only", "base", "near", "0 0 0"),
    )
    path = written(tmp_path, text, "hand.urdf")
    with pytest.warns(
        sg.SoftgraspWarning, match="its fingers do not touch a ball from opposing sides"
    ):
        sg.load_hand(path)


@pytest.mark.slow
def test_the_same_hand_gives_the_same_grasps(tmp_path: Path) -> None:
    hand = hand_of(tmp_path, GRIPPER)
    assert grasps_of(hand) == grasps_of(hand)


@pytest.mark.slow
def test_four_finger_hand() -> None:
    """The synthesis needs shapes only, not a URDF."""
    hand = sg.load_hand("four_finger")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = grasps_of(hand)
    for grasp in (result.power, result.precision):
        assert grasp.enclosed
        x, y, z = grasp.center
        assert abs(x) < 5e-3
        assert abs(y) < 0.012
        assert -0.12 < z < -0.03
        assert min(grasp.rates) > 0.0


def test_surfaces_have_the_size_of_their_shapes() -> None:
    box = sg.Cuboid(size=(0.02, 0.04, 0.06))
    points = surface_points([(box, sg.Pose(position=(0.1, 0.0, 0.0)))])
    assert points.min(axis=0) == pytest.approx([0.09, -0.02, -0.03])
    assert points.max(axis=0) == pytest.approx([0.11, 0.02, 0.03])
    assert np.isclose(np.abs(points - [0.1, 0.0, 0.0]), [0.01, 0.02, 0.03]).any(axis=1).all()
    ball = surface_points([(sg.Sphere(radius=0.03), sg.Pose())])
    assert np.linalg.norm(ball, axis=1).max() == pytest.approx(0.03)
