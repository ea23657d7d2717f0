"""Shapes of fingers on a flange, against known laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from softgrasp.continuum import pcc
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.transforms import rotate_about, translate
from softgrasp.twin.description import GripperMount, MountedPose
from softgrasp.twin.files import load_twin
from softgrasp.twin.flange_streams import SimulatedRobot
from softgrasp.twin.piecewise_bending import (
    angles_at,
    arm_joints,
    flange_transform,
    roots_in_flange,
    twin_shape,
)

LENGTHS = np.array([14.0, 14.0, 12.32, 15.39]) * 1e-3


BENDS = np.radians([10.0, 15.0, 20.0, 25.0])
FLAT = np.zeros(4)
MOUNT = MountedPose(position=(0.0, 0.0, 0.05), quaternion=(np.cos(0.2), 0.0, 0.0, np.sin(0.2)))
THREE = GripperMount.around_axis(3, 0.03, height=0.02, mount=MOUNT)
parts = st.floats(-1.0, 1.0)


def mounted_fingers(flange: np.ndarray) -> np.ndarray:
    """Frames along the three fingers in the robot's base frame, root to tip, (3, 5, 4, 4)."""
    finger = pcc.chain_frames(BENDS / LENGTHS, FLAT, LENGTHS, "webster")
    return flange @ roots_in_flange(THREE)[:, None] @ finger


@settings(max_examples=50)
@given(rotation=st.tuples(parts, parts, parts, parts), position=st.tuples(parts, parts, parts))
def test_the_flange_rotation_agrees_with_scipy(rotation, position):
    norm = np.linalg.norm(rotation)
    if norm < 0.1:
        return
    result = flange_transform(position, np.array(rotation) / norm)
    assert result[:3, :3] == pytest.approx(
        Rotation.from_quat(rotation, scalar_first=True).as_matrix(), abs=1e-14
    )
    assert result[:3, 3] == pytest.approx(position)


def test_fingers_are_the_product_of_all_frames():
    flange = flange_transform((0.4, -0.1, 0.5), (0.5, 0.5, -0.5, 0.5))
    result = mounted_fingers(flange)
    assert result.shape == (3, 5, 4, 4)
    own = pcc.chain_frames(BENDS / LENGTHS, FLAT, LENGTHS, "webster")
    mount = translate(z=0.05) @ rotate_about("z", 0.4)
    for index in range(3):
        around = 2.0 * np.pi * index / 3
        root = rotate_about("z", around) @ translate(0.03, 0.0, 0.02) @ rotate_about("z", np.pi)
        assert result[index] == pytest.approx(flange @ mount @ root @ own, abs=1e-14)


def test_the_fingers_stay_alike_around_the_axis():
    tips = mounted_fingers(np.eye(4))[:, -1, :3, 3]
    axis = rotate_about("z", 2.0 * np.pi / 3)[:3, :3]
    assert tips[[1, 2, 0]] == pytest.approx(tips @ axis.T, abs=1e-15)
    # they bend towards the axis, by as much as one finger alone
    inwards = 0.03 - np.hypot(tips[:, 0], tips[:, 1])
    alone = pcc.chain_transform(BENDS / LENGTHS, FLAT, LENGTHS)[0, 3]
    assert inwards == pytest.approx(np.full(3, alone))


def test_moving_the_robot_moves_all_and_bends_nothing():
    still = mounted_fingers(np.eye(4))
    flange = flange_transform((1.0, 2.0, 3.0), (0.1, 0.7, 0.1, 0.7))
    moved = mounted_fingers(flange)
    assert np.linalg.inv(flange) @ moved == pytest.approx(still, abs=1e-15)
    spans = [np.linalg.norm(np.diff(item[..., :3, 3], axis=1), axis=-1) for item in (still, moved)]
    assert spans[0] == pytest.approx(spans[1])


def test_tilted_fingers_lean_outwards():
    tilted = GripperMount.around_axis(4, 0.03, tilt=0.3)
    roots = roots_in_flange(tilted)
    outwards = np.sum(roots[:, :3, 2] * roots[:, :3, 3], axis=1) / 0.03
    assert outwards == pytest.approx(np.full(4, np.sin(0.3)))
    assert roots[:, 2, 2] == pytest.approx(np.full(4, np.cos(0.3)))


def test_a_flange_without_numbers_is_refused():
    with pytest.raises(DescriptionError, match="expected a position of 3 and a quaternion of 4"):
        flange_transform((0, 0), (1, 0, 0, 0))
    for refuse in (MountedPose, lambda quaternion: flange_transform((0, 0, 0), quaternion)):
        with pytest.raises(DescriptionError, match=r"of norm 1 within 0\.001, found .* 1\.00499"):
            refuse(quaternion=(1.0, 0.1, 0.0, 0.0))
    assert MountedPose(quaternion=(1.0009, 0.0, 0.0, 0.0)).quaternion == (1.0, 0.0, 0.0, 0.0)
    for wrong in ((1.0, 0.0, 0.0), ("w", 0.0, 0.0, 0.0), (np.nan, 0.0, 0.0, 0.0)):
        with pytest.raises(DescriptionError, match="quaternion"):
            MountedPose(quaternion=wrong)
    with pytest.raises(DescriptionError, match="expected 1 to 100 fingers, found 0"):
        GripperMount.around_axis(0, 0.03)


TWIN = load_twin()
ROBOT = SimulatedRobot(TWIN.flange.program)


@pytest.mark.parametrize("pressure", [-90e3, 0.0, 120e3])
def test_a_shape_is_that_of_the_mounted_fingers(pressure):
    flange = ROBOT.sample_at(3.3)
    twin = TWIN.replace(phis=(0.2, 0.1, 0.05, 0.0))
    shape = twin_shape(twin, pressure, flange)
    lengths = np.array(twin.finger.lengths)
    finger = pcc.chain_frames(
        angles_at(twin.finger, pressure) / lengths, twin.phis, lengths, twin.frame
    )
    base = flange_transform(flange.position, flange.quaternion)
    target = base @ roots_in_flange(twin.gripper)[:, None] @ finger
    np.testing.assert_allclose(shape.roots[:, None] @ shape.frames, target, atol=1e-12)
    np.testing.assert_allclose(shape.tips, target[:, -1, :3, 3], atol=1e-12)
    assert shape.bend == pytest.approx(angles_at(twin.finger, pressure).sum())


def test_pressures_within_the_margin_are_clipped_and_others_refused():
    flange = ROBOT.sample_at(0.0)
    end, beyond = (twin_shape(TWIN, pressure, flange) for pressure in (120e3, 120.4e3))
    np.testing.assert_array_equal(end.angles, beyond.angles)
    with pytest.raises(DescriptionError, match=r"measured pressure, -90 to 120 kPa, found 121"):
        twin_shape(TWIN, 121e3, flange)


def test_the_arm_is_drawn_where_its_flange_is():
    joints = None
    for time in np.arange(0.0, TWIN.flange.program.period, 0.1).tolist():
        flange = ROBOT.sample_at(time).replace(joints=())
        joints = arm_joints(TWIN, flange, joints)
        np.testing.assert_allclose(joints, ROBOT.joints_at(time), atol=1e-5)
        result = forward_kinematics(TWIN.arm.chain, joints.tolist())[-1]
        target = flange_transform(flange.position, flange.quaternion)
        np.testing.assert_allclose(result, target, atol=1e-8)


def test_joints_that_the_robot_reports_are_taken():
    flange = ROBOT.sample_at(0.7)
    joints = arm_joints(TWIN, flange, None)
    assert joints is not None
    assert tuple(joints) == flange.joints == ROBOT.joints_at(0.7)


def test_after_a_gap_of_poses_the_arm_is_drawn_within_its_limits():
    before = np.array(ROBOT.joints_at(0.0))
    for time in np.arange(0.8, 2.0 * TWIN.flange.program.period, 0.8).tolist():
        before = arm_joints(TWIN, ROBOT.sample_at(time).replace(joints=()), before)
        assert before is not None
        np.testing.assert_allclose(before, ROBOT.joints_at(time), atol=1e-5)


def test_an_arm_out_of_reach_is_not_drawn():
    far = ROBOT.sample_at(0.0).replace(position=(9.0, 0.0, 0.0), joints=())
    assert arm_joints(TWIN, far, None) is None
    assert arm_joints(TWIN.replace(arm=None), ROBOT.sample_at(0.0), None) is None
