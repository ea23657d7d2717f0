"""Analysis of a result at an instant: matrices against the description, stiffness by physics."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp import quality
from softgrasp.errors import DescriptionError, ResultError
from softgrasp.evaluation.result_files import load_result
from tests.conftest import Golden
from tests.support.kinematics import point_jacobians
from tests.support.pads import pads
from tests.support.scenes import ball, pinch

HANDS = ["four_finger", "three_fingered", "dlr_hit_ii_coupled", "allegro_right"]


@cache
def grasped(hand: str) -> sg.GraspResult:
    """A hand that is turned and moved, so that frames cannot be mixed up unseen."""
    pose = sg.Pose(position=(0.1, -0.2, 0.3), quaternion=(0.8, 0.1, -0.5, 0.3))
    return sg.simulate(
        sg.GraspScene(hand=sg.load_hand(hand), object=ball(), hand_pose=pose), quality_rate=None
    )


@pytest.mark.parametrize("hand", HANDS)
def test_the_hand_jacobian_is_that_of_the_description(hand: str) -> None:
    """MuJoCo's Jacobians of the model against z × (p − o) from Denavit–Hartenberg rows."""
    result = grasped(hand)
    analysis = sg.analysis_of(result)
    assert len(analysis.points) >= 2
    pose = result.scene.hand_pose
    rotation = Rotation.from_quat(pose.quaternion, scalar_first=True)
    points = rotation.inv().apply(analysis.points - pose.position)
    joints = dict(zip(result.joint_names.tolist(), result.joint_position[-1].tolist(), strict=True))
    names, own = point_jacobians(result.scene.hand, joints, analysis.bodies.tolist(), points)
    linear = np.einsum("ij,njm->nim", rotation.as_matrix(), own[:, :3])
    follow = np.zeros((len(names), len(analysis.joint_names)))
    leaders = {c.joint: c for c in result.scene.hand.couplings}
    for row, name in enumerate(names):
        leader = leaders[name].leader if name in leaders else name
        ratio = leaders[name].ratio if name in leaders else 1.0
        follow[row, analysis.joint_names.index(leader)] = ratio
    expected = quality.hand_jacobian(linear, analysis.normals) @ follow
    assert np.abs(analysis.J - expected).max() < 1e-9
    assert np.abs(analysis.J).max() > 0.01
    rows, palm = analysis.J.reshape(len(analysis.points), 3, -1), analysis.bodies == "palm"
    assert not rows[palm].any()


def test_g_and_j_meet_at_the_contacts() -> None:
    """Motions that both allow, Gᵀ ẋ = J q̇, do the same power on both sides."""
    analysis = sg.analysis_of(grasped("four_finger"))
    assert analysis.G.shape == (6, 3 * len(analysis.points))
    for force in np.eye(analysis.G.shape[1]):
        wrench = analysis.G @ force
        arm = analysis.points[(int(force.argmax()) // 3)] - analysis.center
        assert wrench[3:] == pytest.approx(np.cross(arm, wrench[:3]), abs=1e-12)
    squeeze = analysis.internal_forces
    assert squeeze.shape[1] == analysis.G.shape[1] - 6
    assert np.abs(analysis.G @ squeeze).max() < 1e-9


def test_contacts_are_those_of_the_result_and_may_count_once_a_body() -> None:
    result = grasped("four_finger")
    once = sg.analysis_of(result, per_body=True)
    touching = [contact for contact in result.contacts if contact.point_m is not None]
    assert sorted(once.bodies.tolist()) == sorted(contact.body for contact in touching)
    for contact in touching:
        row = once.bodies.tolist().index(contact.body)
        assert once.points[row] == pytest.approx(contact.point_m, abs=1e-5)
        assert once.normals[row] == pytest.approx(contact.normal, abs=1e-3)


def test_the_stiffness_is_that_of_the_physics() -> None:
    """Two pads in line: twice contact and servo in series, as the pushed object gives way."""
    analysis = sg.analysis_of(sg.simulate(pads(2)))
    expected = 2.0 / (1.0 / 1e5 + 1.0 / 2e3)
    assert analysis.stiffness[0, 0] == pytest.approx(expected, rel=1e-6)
    force = 1.0
    mass = float(sg.compile_model(pads(2)).body("object").mass[0])
    push = sg.SuccessCriterion(
        directions=((force / mass, 0.0, 0.0),), direction_time=0.6, max_drop=0.05, max_rotation=3.0
    )
    pushed = sg.simulate(pads(2, success=push))
    assert force / pushed.hold.directions[0].drop_m == pytest.approx(expected, rel=0.01)


@pytest.mark.slow
def test_measures_are_the_functions_of_these_contacts() -> None:
    analysis = sg.analysis_of(grasped("four_finger"), per_body=True)
    message = analysis.measures
    assert message["epsilon"] == pytest.approx(quality.epsilon(**analysis.contacts), abs=1e-9)
    assert message["volume"] == pytest.approx(quality.volume(**analysis.contacts), rel=1e-9)
    assert message["torque_scale_m"] == pytest.approx(0.03)
    assert message["pgr"] >= message["pcr"] > 0.0
    assert (message["norm"], message["edges"], message["edge_norm"]) == ("L1", 8, "normal")


def test_an_instant_before_contact_and_one_that_is_not_there() -> None:
    result = grasped("four_finger")
    early = sg.analysis_of(result, 0.0)
    assert early.G.shape == (6, 0)
    assert early.measures["reason"] == "nothing touches"
    with pytest.raises(DescriptionError) as caught:
        sg.analysis_of(result, 99.0)
    last = float(result.time[-1])
    assert str(caught.value) == (f"time: expected a time in the run, 0 to {last:g} s; found 99 s")


@pytest.mark.slow
def test_what_was_saved_is_analysed_alike(tmp_path: Path) -> None:
    result = sg.simulate(pinch())
    result.save(tmp_path)
    first, second = sg.analysis_of(result), sg.analysis_of(load_result(tmp_path))
    assert np.array_equal(first.G, second.G)
    assert np.array_equal(first.J, second.J)
    assert first.measures == second.measures


def test_joints_that_nothing_holds_have_no_stiffness(golden: Golden) -> None:
    analysis = sg.analysis_of(grasped("four_finger"))
    held = analysis.joint_stiffness.copy()
    held[0], held[:, 0] = 0.0, 0.0
    golden.refused(lambda: replace(analysis, joint_stiffness=held).stiffness, "joint_stiffness")


def test_a_deformable_object_is_refused(golden: Golden) -> None:
    foam = sg.load_object("sphere").replace(elasticity=sg.description.Elasticity(young=5e4))
    scene = pinch(object=foam, duration=0.05)
    golden.refused(
        lambda: sg.analysis_of(sg.simulate(scene)),
        "expected a rigid object to analyse its grasp",
        ResultError,
    )
