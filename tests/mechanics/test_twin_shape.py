"""Shapes of a twin's fingers: those of mounted fingers, and nothing beyond what was measured."""

from __future__ import annotations

import numpy as np
import pytest

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.twin.files import load_twin
from softgrasp.twin.finger_pieces import arm_joints, flange_transform, mounted_fingers, twin_shape
from softgrasp.twin.flange_server import SimulatedRobot
from softgrasp.twin.piecewise_bending import angles_at

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


def test_noise_at_the_ends_of_the_range_is_cut_off_and_more_is_refused() -> None:
    flange = ROBOT.sample_at(0.0)
    end, beyond = (twin_shape(TWIN, pressure, flange) for pressure in (120e3, 120.4e3))
    np.testing.assert_array_equal(end.angles, beyond.angles)
    with pytest.raises(DescriptionError, match=r"of -90 to 120 kPa, which was measured; found 121"):
        twin_shape(TWIN, 121e3, flange)


def test_the_arm_is_drawn_where_its_flange_is() -> None:
    joints = None
    for time in np.arange(0.0, TWIN.flange.program.period, 0.1).tolist():
        flange = ROBOT.sample_at(time)
        joints = arm_joints(TWIN, flange, joints)
        assert joints is not None
        result = forward_kinematics(TWIN.arm.chain, joints.tolist())[-1]
        target = flange_transform(flange.position, flange.quaternion)
        np.testing.assert_allclose(result, target, atol=1e-8)


def test_an_arm_that_does_not_reach_is_not_drawn() -> None:
    far = ROBOT.sample_at(0.0).replace(position=(9.0, 0.0, 0.0))
    assert arm_joints(TWIN, far, None) is None
    assert arm_joints(TWIN.replace(arm=None), ROBOT.sample_at(0.0), None) is None
