"""Fingers on a robot's flange, against scipy's rotations and by what must not change."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from softgrasp.continuum import pcc
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import rotate_about, translate
from softgrasp.twin.description import GripperMount, MountedPose
from softgrasp.twin.finger_pieces import flange_transform, mounted_fingers, roots_in_flange

LENGTHS = np.array([14.0, 14.0, 12.32, 15.39]) * 1e-3
BENDS = np.radians([10.0, 15.0, 20.0, 25.0])
FLAT = np.zeros(4)
MOUNT = MountedPose(position=(0.0, 0.0, 0.05), quaternion=(np.cos(0.2), 0.0, 0.0, np.sin(0.2)))
THREE = GripperMount.around_axis(3, 0.03, height=0.02, mount=MOUNT)
parts = st.floats(-1.0, 1.0)


@settings(max_examples=50)
@given(turn=st.tuples(parts, parts, parts, parts), place=st.tuples(parts, parts, parts))
def test_the_flange_turns_as_scipy_says(rotation: tuple, position: tuple) -> None:
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


def test_each_finger_may_bend_on_its_own() -> None:
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
def test_shapes_that_do_not_go_together_are_refused(change: dict, sentence: str) -> None:
    given_ = {"flange": np.eye(4), "thetas": BENDS, "phis": FLAT} | change
    with pytest.raises(DescriptionError) as refused:
        mounted_fingers(gripper=THREE, lengths=LENGTHS, **given_)
    assert str(refused.value) == sentence


def test_a_flange_without_numbers_is_refused() -> None:
    with pytest.raises(DescriptionError, match="expected a position of 3 and a quaternion of 4"):
        flange_transform((0, 0), (1, 0, 0, 0))
    with pytest.raises(DescriptionError, match="expected at least 1 finger, found 0"):
        GripperMount.around_axis(0, 0.03)
