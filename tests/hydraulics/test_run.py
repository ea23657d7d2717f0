"""A whole run of an arm: what its numbers have to do with one another."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.hydraulics import TorqueTable
from softgrasp.hydraulics.arm import ArmChain
from softgrasp.hydraulics.description import end_link
from softgrasp.hydraulics.report import PosedArm, upright
from softgrasp.hydraulics.run import ArmRun, arm_moves
from softgrasp.rendering.camera import Camera
from tests.hydraulics.arms import one_section, two_sections


@cache
def short_run() -> ArmRun:
    """One section of two cells, pressed in a tenth of a second."""
    table = TorqueTable(np.array([0.0, 0.1]), np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]]))
    return sg.hydraulics.run_arm(one_section(), table, 1.2, links=2)


def test_shape_and_positions_belong_together() -> None:
    """The rest of the chain at the last pressures has the same bends, lengths and ends."""
    run = short_run()
    rest = ArmChain(one_section(), 2).rest(run.pressures[-1])
    assert np.linalg.norm(run.bends[-1], axis=1) == pytest.approx(rest.bends, abs=2e-3)
    assert run.lengths[-1] == pytest.approx(rest.lengths, abs=1e-5)
    assert run.ends[-1] == pytest.approx(rest.ends, abs=1e-3)
    assert run.backbone[:, -1] == pytest.approx(run.ends[:, -1])
    assert run.curvatures[-1] * run.lengths[-1][:, None] == pytest.approx(run.bends[-1])
    assert run.commanded[-1] == pytest.approx([0.5, 0.0, 0.0])


def test_a_chamber_towards_x_bends_away_from_it() -> None:
    run = short_run()
    assert run.ends[-1, -1, 0] < -0.01
    assert run.curvatures[-1, 0, 0] < 0.0
    assert np.abs(run.curvatures[:, 0, 1]).max() < 1e-9


def test_a_move_is_reported_by_numbers_of_the_recording() -> None:
    run = short_run()
    (move,) = arm_moves(run)
    assert (move.begin, move.command_end) == (0.0, 0.1)
    assert move.end == pytest.approx(1.2)
    assert move.distance == pytest.approx(np.linalg.norm(run.ends[-1, -1] - run.ends[0, -1]))
    assert move.settling is not None
    after = run.times > move.settling + 1e-9
    off = np.linalg.norm(run.ends[after, -1] - run.ends[-1, -1], axis=1)
    assert off.max() <= 0.02 * move.distance
    assert move.top_speed == pytest.approx(run.speeds[:, -1].max())
    assert move.overshoot >= 0.0


def test_torques_that_stand_still_move_nothing() -> None:
    table = TorqueTable(np.array([0.0]), np.zeros((1, 3)))
    assert arm_moves(sg.hydraulics.run_arm(one_section(), table, 0.05, links=1)) == []


def test_one_torque_per_chamber() -> None:
    table = TorqueTable(np.array([0.0, 0.1]), np.zeros((2, 3)))
    with pytest.raises(
        sg.DescriptionError, match=r"expected one torque per chamber \(6\), found 3"
    ):
        sg.hydraulics.run_arm(two_sections(), table)


@pytest.mark.parametrize("gravity", [(0, 0, 9.81), (0, 0, -9.81), (3.0, -4.0, 2.0), (9.81, 0, 0)])
def test_the_video_rotates_weight_down(gravity: tuple[float, float, float]) -> None:
    rotation = upright(np.array(gravity))
    assert rotation @ gravity == pytest.approx([0.0, 0.0, -np.linalg.norm(gravity)], abs=1e-12)
    assert rotation @ rotation.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_the_video_poses_the_recorded_arm_above_the_floor() -> None:
    run = short_run()
    posed = PosedArm(run)
    end = posed.pose(0.5).body(end_link(run.arm.sections[-1])).xpos
    assert end == pytest.approx(posed.rotation @ run.ends[50, -1])
    assert end[2] < 0.0  # it hangs
    assert posed.model.geom("floor").pos[2] < posed.cloud()[:, 2].min()
    camera = Camera((0.0, 0.0, 0.0), 1.0, 90.0, 0.0)
    assert 1 == len(posed.marks(0.0, camera)) < len(posed.marks(1.2, camera))
