"""A hand put where its drives say: frames of its rows, followers, limits, soft fingers at rest."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.mechanics.hand_kinematics import link_frames
from softgrasp.viewer.scene_markers import RAYS, _texts, fans
from tests.mjcf_hands import LOOP, TENDON, written
from tests.view.hands import part_way, posed


@pytest.mark.parametrize("name", ["four_finger", "dlr_hit_ii_coupled", "vizzy", "two_hands"])
def test_frames_are_those_of_the_rows(name: str) -> None:
    hand = sg.load_hand(name)
    one, targets = posed(hand), part_way(hand)
    one.pose(targets)
    target = link_frames(hand, hand.posture(targets))
    frames = {frame.name: frame for frame in one.frames()}
    for finger in hand.fingers:
        for row in finger.phalanges:
            result = frames[finger.joint_of(row)]
            np.testing.assert_allclose(result.pose, target[finger.body_of(row)], atol=1e-9)
            assert result.value == pytest.approx(hand.posture(targets)[result.name])
            assert result.limits == row.limits


@pytest.mark.filterwarnings("ignore::softgrasp.errors.SoftgraspWarning")
@pytest.mark.parametrize("text", [TENDON, LOOP], ids=["tendon", "loop"])
def test_frames_of_a_model_of_its_own_have_z_along_the_axes(text: str, tmp_path: Path) -> None:
    hand = sg.load_hand(written(tmp_path, text))
    one = posed(hand)
    one.pose(part_way(hand))
    frames = one.frames()
    assert frames
    for frame in frames:
        joint = one.model.joint(frame.name).id
        np.testing.assert_allclose(frame.pose[:3, 2], one.data.xaxis[joint], atol=1e-9)
        np.testing.assert_allclose(frame.pose[:3, 3], one.data.xanchor[joint], atol=1e-12)
        np.testing.assert_allclose(frame.pose[:3, :3].T @ frame.pose[:3, :3], np.eye(3), atol=1e-9)
        assert np.linalg.det(frame.pose[:3, :3]) == pytest.approx(1.0)


def test_followers_follow() -> None:
    hand = sg.load_hand("dlr_hit_ii_coupled")
    one = posed(hand)
    one.pose(part_way(hand, 0.6))
    values = {frame.name: frame.value for frame in one.frames()}
    assert hand.couplings
    for coupling in hand.couplings:
        target = coupling.ratio * values[coupling.leader] + coupling.offset
        assert values[coupling.joint] == pytest.approx(target)


@pytest.mark.parametrize("name", ["soft_gripper", "hybrid_gripper"])
def test_a_soft_finger_stands_where_nothing_would_move_it(name: str) -> None:
    hand = sg.load_hand(name)
    one, targets = posed(hand), part_way(hand, 0.7)
    one.pose(targets)
    one.model.opt.gravity[:] = 0.0
    one.data.ctrl[:] = targets
    mujoco.mj_forward(one.model, one.data)
    pushed = np.abs(one.data.qfrc_actuator).max()
    soft = [j for j in range(one.model.njnt) if one.model.jnt_stiffness[j] > 0.0]
    left = (one.data.qfrc_actuator + one.data.qfrc_passive)[one.model.jnt_dofadr[soft]]
    assert pushed > 0.0
    np.testing.assert_allclose(left, 0.0, atol=1e-9 * pushed)


def test_fans_reach_from_limit_to_limit_around_the_axis() -> None:
    hand = sg.load_hand("four_finger")
    one = posed(hand)
    one.pose(part_way(hand))
    frames = one.frames()
    vertices, faces = fans(frames, 0.02)
    assert faces.max() == len(vertices) - 1
    for frame, own in zip(frames, np.split(vertices, len(frames)), strict=True):
        assert len(own) == RAYS + 2
        rays = (own[1:] - own[0]) @ frame.pose[:3, :3]
        np.testing.assert_allclose(own[0], frame.pose[:3, 3])
        np.testing.assert_allclose(rays[:, 2], 0.0, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(rays, axis=1), 0.02)
        ends = np.arctan2(rays[[0, -1], 1], rays[[0, -1], 0]) + frame.value
        np.testing.assert_allclose(ends, frame.limits, atol=1e-9)


def test_frames_in_one_place_share_a_label() -> None:
    texts = _texts(posed(sg.load_hand("allegro_right")).frames())
    assert texts["index_J1"] == "index_J1, index_J2"
    assert "index_J2" not in texts
    assert sum(text.count(",") + 1 for text in texts.values()) == 16
