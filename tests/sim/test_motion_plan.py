"""Gravity grows in steps that follow a ramp and never overshoot the full load."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.evaluation.analysis import hand_pose_at
from softgrasp.mechanics.trajectory import move, shaken
from softgrasp.model.arm import carrier_start, carrier_targets, home_pose
from softgrasp.model.names import WRIST_JOINTS
from softgrasp.pipeline import compile_scene
from softgrasp.sim.hold_test import gravity_steps
from tests.conftest import Golden
from tests.support.scenes import pinch

BEFORE = np.array([0.1, 0.0, -1.0])


@given(st.floats(0.0, 2.0), st.floats(0.01, 3.0), st.sampled_from([1e-3, 5e-4, 1e-5]))
def test_steps_follow_the_ramp_and_end_at_the_full_load(
    ramp: float, hold: float, period: float
) -> None:
    criterion = sg.SuccessCriterion(ramp_time=ramp, hold_time=hold)
    *steps, (samples, load) = gravity_steps(criterion, BEFORE, period)
    np.testing.assert_array_equal(load, criterion.gravity)
    assert samples == round(hold / period)
    assert sum(count for count, _ in steps) == max(round(ramp / period), 1)
    fraction = np.array([(g - BEFORE)[2] for _, g in steps]) / (load - BEFORE)[2]
    np.testing.assert_allclose(fraction[-1], 1.0, rtol=1e-12)
    taken = np.diff(np.concatenate([[0.0], fraction]))
    assert (taken > 0.0).all()
    # put on at once, an undamped spring swings to twice the step
    assert (fraction + taken - 1.0).max() <= taken[-1] + 1e-12
    assert taken[-1] == pytest.approx(1.0 / max(round(ramp / period), 1))


# A wrist that goes through phases: exact, repeatable, and told with its times.


SHORT = (
    {"type": "approach", "time": 0.2},
    "close",
    {"type": "hold", "time": 0.05},
    {"type": "lift", "height": 0.05, "time": 0.3},
    {"type": "move", "displacement": (0.02, 0, 0), "rotation_vector": (0.3, 0, 0.4), "time": 0.3},
    {"type": "shake", "amplitude": 0.01, "frequency": 5.0, "cycles": 2},
)
MOTION_LIMITS = sg.SuccessCriterion(gravity=None, max_drop=5e-3, max_rotation=0.35)


@cache
def scene() -> sg.GraspScene:
    return pinch(sequence=SHORT, success=MOTION_LIMITS)


@cache
def result() -> sg.GraspResult:
    return sg.simulate(scene())


@cache
def shipped(name: str) -> sg.GraspResult:
    return sg.simulate(sg.load_scene(name))


def test_phases_follow_one_another_without_gaps() -> None:
    spans = result().phases
    assert [span.name for span in spans] == ["approach", "close", "hold", "lift", "move", "shake"]
    assert spans[0].start_s == 0.0
    assert spans[-1].end_s == result().simulated_time
    for before, after in pairwise(spans):
        assert before.end_s == after.start_s
    lasting = [round(span.end_s - span.start_s, 9) for span in spans]
    assert lasting[:1] + lasting[2:] == [0.2, 0.05, 0.3, 0.3, 0.4]
    assert result().hold.start_s == result().closing.end_s == spans[1].end_s
    assert result().held is True


def test_creep_is_the_mean_speed_in_the_hand_over_the_last_cycle_of_a_shake() -> None:
    last, cycle = len(result().time) - 1, 0.2
    ends = []
    for row in (last - 200, last):
        pose = hand_pose_at(result(), row)
        ends.append(pose[:3, :3].T @ (result().object_position[row] - pose[:3, 3]))
    speed = float(np.linalg.norm(ends[1] - ends[0])) / cycle
    assert speed > 0.0
    assert result().hold.creep_m_s == pytest.approx(speed, rel=1e-6)


def test_a_prescribed_wrist_is_on_the_path() -> None:
    exact = sg.simulate(scene().replace(actuation="prescribed"))
    home, spans = home_pose(scene()), {span.name: span for span in exact.phases}

    def pose(name: str) -> np.ndarray:
        return hand_pose_at(exact, int(np.searchsorted(exact.time, spans[name].end_s - 1e-9)))

    back = [0.0, 0.0, 0.10]  # from above: the grasp is below the palm
    np.testing.assert_allclose(hand_pose_at(exact, 0)[:3, 3], home[:3, 3] + back, atol=1e-12)
    np.testing.assert_allclose(pose("approach"), home, atol=1e-6)
    np.testing.assert_allclose(pose("close"), home, atol=1e-6)
    up = home.copy()
    up[2, 3] += 0.05
    np.testing.assert_allclose(pose("lift"), up, atol=1e-6)
    there = move(up, [[0.02, 0, 0]], [[0.3, 0, 0.4]], (0, 0, 0))[0]
    np.testing.assert_allclose(pose("move"), there, atol=1e-6)
    np.testing.assert_allclose(pose("shake"), there, atol=1e-6)  # it returns
    first = int(np.searchsorted(exact.time, spans["shake"].start_s - 1e-9))
    track = [hand_pose_at(exact, row)[2, 3] for row in range(first + 1, len(exact.time))]
    wave = 0.01 * shaken(2, len(track))
    # a prescribed joint reaches a target one control sample after it was given
    np.testing.assert_allclose(track[1:], there[2, 3] + wave[:-1], atol=1e-5)


def test_the_model_stands_where_it_is_in_the_result() -> None:
    model = compile_scene(scene()).model
    data = mujoco.MjData(model)
    for row in (0, len(result().time) // 2, -1):
        for name in WRIST_JOINTS:
            position = result().joint_names.tolist().index(name)
            data.qpos[model.joint(name).qposadr[0]] = result().joint_position[row, position]
        mujoco.mj_kinematics(model, data)
        pose = hand_pose_at(result(), row)
        np.testing.assert_allclose(data.body("palm").xpos, pose[:3, 3], atol=1e-12)
        np.testing.assert_allclose(data.body("palm").xmat.reshape(3, 3), pose[:3, :3], atol=1e-12)


@pytest.mark.slow
def test_it_repeats_bit_for_bit_and_through_a_file(tmp_path: Path) -> None:
    assert sg.simulate(scene()).trajectory_sha256 == result().trajectory_sha256
    again = sg.load_scene(sg.save_scene(scene(), tmp_path / "scene.yaml"))
    assert again.replace(name=scene().name) == scene()
    assert sg.simulate(again).trajectory_sha256 == result().trajectory_sha256
    result().save(tmp_path)
    loaded = sg.load_result(tmp_path)
    assert loaded.phases == result().phases
    assert loaded.hold == result().hold
    assert sg.simulate(loaded.scene).trajectory_sha256 == result().trajectory_sha256


def test_fingers_wait_for_their_close_and_go_to_preshapes() -> None:
    shaped = pinch(
        sequence=(
            {"type": "preshape", "preshape": "open", "time": 0.1},
            {"type": "hold", "time": 0.05},
            "close",
        )
    )
    run = sg.simulate(shaped)
    targets = run.joint_target[:, :12]
    np.testing.assert_array_equal(targets[0], shaped.start)
    at = int(np.searchsorted(run.time, 0.1 - 1e-9))
    target = np.array(shaped.hand.preshape("open").positions)
    np.testing.assert_allclose(targets[at], target, atol=1e-15)
    np.testing.assert_array_equal(targets[at : at + 51], np.tile(targets[at], (51, 1)))
    assert (targets[at + 52] != targets[at]).any()
    assert run.status is sg.GraspStatus.CLOSED


@pytest.mark.slow
def test_the_shipped_task_holds_and_the_slippery_one_drops() -> None:
    held, dropped = shipped("sequence_strawberry"), shipped("sequence_dropped")
    assert (held.status, held.held) == (sg.GraspStatus.CLOSED, True)
    assert held.hold.failed_in is None
    assert held.hold.lifted_m == pytest.approx(0.1, abs=2e-3)
    # the closure gripped; it is the lift that loses it
    assert (dropped.status, dropped.held) == (sg.GraspStatus.CLOSED, False)
    assert dropped.outcome is sg.Outcome.DROPPED
    assert dropped.hold.failed_in == "lift"
    lift = next(span for span in dropped.phases if span.name == "lift")
    assert lift.start_s < dropped.hold.failed_s < lift.end_s
    # it stands on the table again
    assert dropped.hold.lifted_m == pytest.approx(0.0, abs=1e-3)


@pytest.mark.slow
def test_the_plate_is_taken_from_the_edge_of_its_table_but_not_from_above() -> None:
    edge = shipped("table_edge")
    assert (edge.status, edge.held) == (sg.GraspStatus.CLOSED, True)
    spans = {span.name: span for span in edge.phases}
    slid = int(np.searchsorted(edge.time, spans["slide"].end_s - 1e-9))
    half = 0.5 * edge.scene.object.shape.size[1]
    assert edge.object_position[slid, 1] + half > 0.04  # beyond the edge, which is the x axis
    assert edge.object_position[slid, 1] < -0.01  # and still standing on the table
    assert edge.object_position[slid, 2] == pytest.approx(0.002, abs=1e-4)
    assert edge.object_position[-1, 2] > 0.095
    obj = edge.scene.object_position
    above = edge.scene.hand_pose.replace(position=(obj[0], obj[1], 0.126))
    plain = edge.scene.replace(sequence=("close", "lift"), preshape=None, hand_pose=above)
    flat = sg.simulate(plain)
    assert flat.held is False
    assert flat.object_position[-1, 2] == pytest.approx(0.002, abs=1e-4)


def test_an_arm_takes_the_hand_along_the_same_path() -> None:
    arm = sg.load_scene("paper000_arm").replace(lift=None, sequence=("approach", "close"))
    home = home_pose(arm)
    start = np.array(carrier_start(arm))
    away = home.copy()
    away[2, 3] += 0.10  # the gripper reaches down
    wave = shaken(1, 333)[:, None]  # 3 Hz
    poses = move(away, wave * [0.0, 0.0, 0.0136], wave * [0.0, 0.0, 0.0], np.zeros(3))
    path = carrier_targets(arm, poses, start)
    np.testing.assert_allclose(path[-1], start, atol=1e-9)  # back to where it began
    solved = carrier_targets(arm.replace(control_period=0.02), poses, start)  # at every sample
    assert np.abs(path - solved).max() < 2e-6
    fractions = np.linspace(0.0, 1.0, 51)[1:, None]
    down = move(away, fractions * [0.0, 0.0, -0.10], 0.0 * fractions * np.ones(3), np.zeros(3))
    arrived = carrier_targets(arm.replace(control_period=0.02), down, start)[-1]
    np.testing.assert_allclose(arrived, [row.start for row in arm.arm.chain.phalanges], atol=1e-8)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"sequence": ("close", "lift")}, "sequence"),
        ({"success": {"motion": ["shake"]}}, "success"),
    ],
)
def test_other_engines_and_batches_leave_them_to_mujoco(
    changes: dict, field: str, golden: Golden
) -> None:
    requested = pinch(**changes)
    golden.refused(lambda: sg.simulate(requested, "ode"), field, sg.BuildError)
