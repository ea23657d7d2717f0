"""Units that a hand's file hardly means are asked about whenever it is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.io.hand_sanity import millimetres_doubt, range_doubt
from softgrasp.io.urdf.length_unit import robot_units
from tests.support.gripper_urdf import gripper_urdf
from tests.support.robots import written

DEGREES = (
    "expected a range of at most 6.283 rad (one rotation), found -30 … 90 rad; are the limits in "
    "degrees?"
)


def test_one_rotation_is_usual_two_are_odd_more_are_degrees() -> None:
    assert range_doubt(-3.1, 3.1) is None
    rotations = range_doubt(-6.28, 6.28)
    assert rotations is not None
    assert (rotations.severity, rotations.advice) == ("remark", "")
    degrees = range_doubt(-30.0, 90.0)
    assert degrees is not None
    assert (degrees.severity, degrees.message) == ("problem", DEGREES)


def test_a_thousandfold_length_is_questioned() -> None:
    assert millimetres_doubt(0.2, 2.0) is None
    doubt = millimetres_doubt(110.0, 2.0)
    assert doubt is not None
    assert doubt.advice == "is the file in mm? Divided by 1000 it is 110 mm"


def test_reading_limits_in_degrees_warns_and_the_grasp_stays_before_the_palm(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, gripper_urdf(3, limits=(-30.0, 90.0)), "hand.urdf")
    with pytest.warns(sg.SoftgraspWarning) as message:
        hand = sg.load_hand(path)
    assert f"joint 'f1_j1' and 5 more: {DEGREES}" in [str(one.message) for one in message]
    for _, preset in hand.grasps:
        assert preset.center[2] > 0.0


def test_the_file_and_its_yaml_file_are_reported_alike(tmp_path: Path) -> None:
    path = written(tmp_path, gripper_urdf(2, limits=(-30.0, 90.0)), "hand.urdf")
    with pytest.warns(sg.SoftgraspWarning, match="degrees"):
        hand = sg.load_hand(path)
    of_hand = sg.inspect(hand).check("limits").findings
    of_robot = sg.inspect(sg.io.load_robot(path)).check("limits").findings
    assert [one.sentence for one in of_hand] == [one.sentence for one in of_robot]
    assert {one.severity for one in (*of_hand, *of_robot)} == {"problem"}


def test_lengths_in_millimetres_are_one_error_and_one_option(tmp_path: Path) -> None:
    """The unit makes the hand that metres describe."""
    path = written(tmp_path, gripper_urdf(2, unit=1e3), "hand.urdf")
    with pytest.raises(sg.DescriptionError, match="the file is in millimetres: add --units mm"):
        sg.load_hand(path)
    with robot_units("mm"):
        hand = sg.load_hand(path)
    known = sg.load_hand(written(tmp_path, gripper_urdf(2), "known.urdf"))
    for one, other in zip(hand.fingers, known.fingers, strict=True):
        assert np.allclose(one.link_ends, other.link_ends)
    side = written(tmp_path, "model: hand.urdf\nunits: {length: mm}\n", "hand.yaml")
    assert sg.load_hand(side).fingers == hand.fingers


def test_a_unit_changes_no_robot_that_is_plausible_in_metres(tmp_path: Path) -> None:
    path = written(tmp_path, gripper_urdf(2), "hand.urdf")
    known = sg.load_hand(path)
    with robot_units("mm"):
        assert sg.load_hand(path) == known
