"""Shapes of fingers on a flange, kinematic models and tip errors, against known laws."""

from __future__ import annotations

import re

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
from softgrasp.twin.finger_pieces import (
    arm_joints,
    chord_pieces,
    flange_transform,
    mirrored,
    mounted_fingers,
    rigid_pieces,
    roots_in_flange,
    tip_error,
    twin_shape,
)
from softgrasp.twin.flange_server import SimulatedRobot
from softgrasp.twin.piecewise_bending import angles_at

LENGTHS = np.array([14.0, 14.0, 12.32, 15.39]) * 1e-3


BENDS = np.radians([10.0, 15.0, 20.0, 25.0])
FLAT = np.zeros(4)
MOUNT = MountedPose(position=(0.0, 0.0, 0.05), quaternion=(np.cos(0.2), 0.0, 0.0, np.sin(0.2)))
THREE = GripperMount.around_axis(3, 0.03, height=0.02, mount=MOUNT)
parts = st.floats(-1.0, 1.0)


@settings(max_examples=50)
@given(rotation=st.tuples(parts, parts, parts, parts), position=st.tuples(parts, parts, parts))
def test_the_flange_rotation_agrees_with_scipy(rotation: tuple, position: tuple) -> None:
    norm = np.linalg.norm(rotation)
    if norm < 0.1:
        return
    result = flange_transform(position, np.array(rotation) / norm)
    assert result[:3, :3] == pytest.approx(
        Rotation.from_quat(rotation, scalar_first=True).as_matrix(), abs=1e-14
    )
    assert result[:3, 3] == pytest.approx(position)


def test_fingers_are_the_product_of_all_frames() -> None:
    flange = flange_transform((0.4, -0.1, 0.5), (0.5, 0.5, -0.5, 0.5))
    result = mounted_fingers(flange, THREE, BENDS, FLAT, LENGTHS)
    assert result.shape == (3, 5, 4, 4)
    own = pcc.chain_frames(BENDS / LENGTHS, FLAT, LENGTHS, "webster")
    mount = translate(z=0.05) @ rotate_about("z", 0.4)
    for index in range(3):
        around = 2.0 * np.pi * index / 3
        root = rotate_about("z", around) @ translate(0.03, 0.0, 0.02) @ rotate_about("z", np.pi)
        assert result[index] == pytest.approx(flange @ mount @ root @ own, abs=1e-14)


def test_the_fingers_stay_alike_around_the_axis() -> None:
    tips = mounted_fingers(np.eye(4), THREE, BENDS, FLAT, LENGTHS)[:, -1, :3, 3]
    axis = rotate_about("z", 2.0 * np.pi / 3)[:3, :3]
    assert tips[[1, 2, 0]] == pytest.approx(tips @ axis.T, abs=1e-15)
    # they bend towards the axis, by as much as one finger alone
    inwards = 0.03 - np.hypot(tips[:, 0], tips[:, 1])
    alone = pcc.chain_transform(BENDS / LENGTHS, FLAT, LENGTHS)[0, 3]
    assert inwards == pytest.approx(np.full(3, alone))


def test_moving_the_robot_moves_all_and_bends_nothing() -> None:
    still = mounted_fingers(np.eye(4), THREE, BENDS, FLAT, LENGTHS)
    flange = flange_transform((1.0, 2.0, 3.0), (0.1, 0.7, 0.1, 0.7))
    moved = mounted_fingers(flange, THREE, BENDS, FLAT, LENGTHS)
    assert np.linalg.inv(flange) @ moved == pytest.approx(still, abs=1e-15)
    spans = [np.linalg.norm(np.diff(one[..., :3, 3], axis=1), axis=-1) for one in (still, moved)]
    assert spans[0] == pytest.approx(spans[1])


def test_each_finger_may_bend_independently() -> None:
    bends = np.array([BENDS, 0.5 * BENDS, 0.0 * BENDS])
    result = mounted_fingers(np.eye(4), THREE, bends, FLAT, LENGTHS)
    same = mounted_fingers(np.eye(4), THREE, 0.5 * BENDS, FLAT, LENGTHS)
    assert result[1] == pytest.approx(same[1])
    assert result[2, -1, 2, 3] == pytest.approx(0.05 + 0.02 + LENGTHS.sum())


def test_tilted_fingers_lean_outwards() -> None:
    tilted = GripperMount.around_axis(4, 0.03, tilt=0.3)
    roots = roots_in_flange(tilted)
    outwards = np.sum(roots[:, :3, 2] * roots[:, :3, 3], axis=1) / 0.03
    assert outwards == pytest.approx(np.full(4, np.sin(0.3)))
    assert roots[:, 2, 2] == pytest.approx(np.full(4, np.cos(0.3)))


def test_a_quaternion_near_one_is_normalised_another_refused() -> None:
    result = MountedPose(quaternion=(1.0009, 0.0, 0.0, 0.0))
    assert result.quaternion == (1.0, 0.0, 0.0, 0.0)
    message = (
        "quaternion: expected a quaternion (w, x, y, z) of norm 1 within 0.001, found "
        "(1.0, 0.1, 0.0, 0.0) of norm 1.00499"
    )
    with pytest.raises(DescriptionError, match=re.escape(message)):
        MountedPose(quaternion=(1.0, 0.1, 0.0, 0.0))
    with pytest.raises(DescriptionError, match=re.escape(message)):
        flange_transform((0, 0, 0), (1.0, 0.1, 0.0, 0.0))
    for wrong in ((1.0, 0.0, 0.0), ("w", 0.0, 0.0, 0.0), (np.nan, 0.0, 0.0, 0.0)):
        with pytest.raises(DescriptionError, match="quaternion"):
            MountedPose(quaternion=wrong)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"flange": np.eye(3)}, "flange: expected (4, 4), found shape (3, 3)"),
        ({"thetas": np.zeros(3)}, "thetas: expected angles of shape (4,) or (3, 4), found (3,)"),
        ({"phis": np.zeros((2, 4))}, "phis: expected angles of shape (4,) or (3, 4), found (2, 4)"),
    ],
)
def test_inconsistent_shapes_are_refused(change: dict, sentence: str) -> None:
    given_ = {"flange": np.eye(4), "thetas": BENDS, "phis": FLAT} | change
    with pytest.raises(DescriptionError) as refused:
        mounted_fingers(gripper=THREE, lengths=LENGTHS, **given_)
    assert str(refused.value) == sentence


def test_a_flange_without_numbers_is_refused() -> None:
    with pytest.raises(DescriptionError, match="expected a position of 3 and a quaternion of 4"):
        flange_transform((0, 0), (1, 0, 0, 0))
    with pytest.raises(DescriptionError, match="expected 1 to 100 fingers, found 0"):
        GripperMount.around_axis(0, 0.03)


angles = st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3).map(np.array)
RIGID_PIECES_LENGTHS = np.array([0.014, 0.02, 0.01])


@settings(max_examples=40)
@given(thetas=angles, phis=angles)
def test_chords_end_where_arcs_end(thetas: np.ndarray, phis: np.ndarray) -> None:
    chords = chord_pieces(thetas, phis, RIGID_PIECES_LENGTHS)
    chain = pcc.chain_frames(thetas / RIGID_PIECES_LENGTHS, phis, RIGID_PIECES_LENGTHS, "webster")
    assert chords.tops == pytest.approx(chain[1:], abs=1e-15)
    assert chords.points == pytest.approx(chain[:, :3, 3], abs=1e-15)


@settings(max_examples=40)
@given(thetas=angles, phis=angles, order=st.sampled_from(["unity", "plane"]))
def test_pieces_keep_their_length_and_run_along_z(
    thetas: np.ndarray, phis: np.ndarray, order: str
) -> None:
    pieces = rigid_pieces(thetas, phis, RIGID_PIECES_LENGTHS, order)
    ways = np.diff(pieces.points, axis=0)
    assert np.linalg.norm(ways, axis=1) == pytest.approx(RIGID_PIECES_LENGTHS)
    assert ways == pytest.approx(
        RIGID_PIECES_LENGTHS[:, None] * pieces.bottoms[:, :3, 2], abs=1e-16
    )
    assert pieces.tip == pytest.approx(pieces.points[-1])


def test_unity_rotates_about_z_then_about_y() -> None:
    """Extrinsic z, x, y of scipy is Unity's order of Euler angles."""
    rotated = rigid_pieces([0.4], [0.7], [1.0]).tops[0, :3, :3]
    assert rotated == pytest.approx(Rotation.from_euler("zxy", [0.7, 0.0, 0.4]).as_matrix())


@pytest.mark.parametrize("order", ["unity", "plane"])
def test_the_difference_from_arcs_vanishes_with_the_length_of_the_pieces(order: str) -> None:
    """Twice as many pieces, half the error: it is of first order."""
    apart = []
    for count in (8, 16, 32):
        lengths = np.full(count, 0.05 / count)
        bends = np.full(count, 1.2 / count)
        arc = pcc.chain_transform(bends / lengths, 0.0 * bends, lengths)[:3, 3]
        apart.append(np.linalg.norm(rigid_pieces(bends, 0 * bends, lengths, order).tip - arc))
    assert apart[0] / apart[1] == pytest.approx(2.0, rel=0.02)
    assert apart[1] / apart[2] == pytest.approx(2.0, rel=0.02)


def test_mirroring_twice_changes_nothing() -> None:
    frames = rigid_pieces([0.1, 0.2, 0.3], [1.0, 2.0, 3.0], RIGID_PIECES_LENGTHS).tops
    for axis in ("x", "y", "z"):
        assert np.linalg.det(mirrored(frames, axis)[:, :3, :3]) == pytest.approx(np.ones(3))
        assert mirrored(mirrored(frames, axis), axis) == pytest.approx(frames)


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        (([0.1], [0.1, 0.2], [1.0]), "expected one value per segment in each, found shapes "
         "thetas (1,), phis (2,), lengths (1,)"),
        (([0.1], [0.1], [0.0]), "expected finite angles and lengths above 0, found [0.1] "
         "and [0.1], lengths [0.]"),
        (([0.1], [0.1], [1.0], "unty"), "expected an order of rotations, found 'unty'; did you "
         "mean 'unity'? known: plane, unity"),
    ],
)  # fmt: skip
def test_invalid_pieces_are_refused(given_: tuple, sentence: str) -> None:
    with pytest.raises(DescriptionError) as refused:
        rigid_pieces(*given_)
    assert str(refused.value) == sentence


def test_tip_error_is_the_distance_over_the_length() -> None:
    assert tip_error((0.03, 0.0, 0.04), (0.0, 0.0, 0.0), LENGTHS) == pytest.approx(0.05 / 0.05571)
    both = tip_error([[0.03, 0, 0.04], [0, 0, 0]], [0, 0, 0], LENGTHS)
    assert both == pytest.approx([0.05 / 0.05571, 0.0])


def test_tip_error_does_not_depend_on_frame_and_unit() -> None:
    random = np.random.default_rng(0)
    tip, reference = random.normal(size=(2, 20, 3))
    rotation, shift = Rotation.random(rng=1).as_matrix(), random.normal(size=3)
    moved = tip_error(tip @ rotation.T + shift, reference @ rotation.T + shift, LENGTHS)
    assert moved == pytest.approx(tip_error(tip, reference, LENGTHS))
    millimetres = tip_error(1e3 * tip, 1e3 * reference, 1e3 * LENGTHS)
    assert millimetres == pytest.approx(tip_error(tip, reference, LENGTHS))


@pytest.mark.parametrize(
    ("tip", "reference", "lengths", "sentence"),
    [
        ((0, 0), (0, 0, 0), LENGTHS, "tip: expected points (..., 3) of finite numbers, found shape "
         "(2,)"),
        ((0, 0, 0), (0, 0, np.nan), LENGTHS, "reference: expected points (..., 3) of finite "
         "numbers, found shape (3,)"),
        ((0, 0, 0), (0, 0, 0), [0.0], "lengths: expected lengths above 0, found [0.]"),
    ],
)  # fmt: skip
def test_invalid_points_are_refused(tip: tuple, reference: tuple, lengths: object,
                                     sentence: str) -> None:  # fmt: skip
    with pytest.raises(DescriptionError) as refused:
        tip_error(tip, reference, lengths)
    assert str(refused.value) == sentence


TWIN = load_twin()
ROBOT = SimulatedRobot(TWIN.flange.program)


@pytest.mark.parametrize("pressure", [-90e3, 0.0, 120e3])
def test_a_shape_is_that_of_the_mounted_fingers(pressure: float) -> None:
    flange = ROBOT.sample_at(3.3)
    twin = TWIN.replace(phis=(0.2, 0.1, 0.05, 0.0))
    shape = twin_shape(twin, pressure, flange)
    target = mounted_fingers(
        flange_transform(flange.position, flange.quaternion),
        twin.gripper,
        angles_at(twin.finger, pressure),
        twin.phis,
        twin.finger.lengths,
        twin.frame,
    )
    np.testing.assert_allclose(shape.roots[:, None] @ shape.frames, target, atol=1e-12)
    np.testing.assert_allclose(shape.tips, target[:, -1, :3, 3], atol=1e-12)
    assert shape.bend == pytest.approx(angles_at(twin.finger, pressure).sum())


def test_pressures_within_the_margin_are_clipped_and_others_refused() -> None:
    flange = ROBOT.sample_at(0.0)
    end, beyond = (twin_shape(TWIN, pressure, flange) for pressure in (120e3, 120.4e3))
    np.testing.assert_array_equal(end.angles, beyond.angles)
    with pytest.raises(DescriptionError, match=r"measured pressure, -90 to 120 kPa, found 121"):
        twin_shape(TWIN, 121e3, flange)


def test_the_arm_is_drawn_where_its_flange_is() -> None:
    joints = None
    for time in np.arange(0.0, TWIN.flange.program.period, 0.1).tolist():
        flange = ROBOT.sample_at(time).replace(joints=())
        joints = arm_joints(TWIN, flange, joints)
        assert joints is not None
        np.testing.assert_allclose(joints, ROBOT.joints_at(time), atol=1e-5)
        result = forward_kinematics(TWIN.arm.chain, joints.tolist())[-1]
        target = flange_transform(flange.position, flange.quaternion)
        np.testing.assert_allclose(result, target, atol=1e-8)


def test_joints_that_the_robot_reports_are_taken() -> None:
    flange = ROBOT.sample_at(0.7)
    joints = arm_joints(TWIN, flange, None)
    assert joints is not None
    assert tuple(joints) == flange.joints == ROBOT.joints_at(0.7)


def test_after_a_gap_of_poses_the_arm_is_drawn_within_its_limits() -> None:
    before = np.array(ROBOT.joints_at(0.0))
    for time in np.arange(0.8, 2.0 * TWIN.flange.program.period, 0.8).tolist():
        before = arm_joints(TWIN, ROBOT.sample_at(time).replace(joints=()), before)
        assert before is not None
        np.testing.assert_allclose(before, ROBOT.joints_at(time), atol=1e-5)


def test_an_arm_out_of_reach_is_not_drawn() -> None:
    far = ROBOT.sample_at(0.0).replace(position=(9.0, 0.0, 0.0), joints=())
    assert arm_joints(TWIN, far, None) is None
    assert arm_joints(TWIN.replace(arm=None), ROBOT.sample_at(0.0), None) is None
