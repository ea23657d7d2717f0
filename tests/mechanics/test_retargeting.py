"""Human keypoints to the posture of a hand: recovery of known postures, invariance, motions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.mechanics.retargeting import (
    DIGITS,
    KEYPOINTS,
    finger_lines,
    imitate_fingers,
    retarget,
)

RANDOM = np.random.default_rng(3)


def keypoints_of(hand: sg.Hand, joints: dict[str, float]) -> np.ndarray:
    """Keypoints whose four points a finger are its joints, those at one position once, and tip."""
    points = np.zeros((KEYPOINTS, 3))
    lines = finger_lines(hand, joints)
    for name, human in imitate_fingers(hand).items():
        line = lines[name]
        apart = np.linalg.norm(np.diff(line, axis=0), axis=1) > 1e-9
        points[DIGITS[human] : DIGITS[human] + 4] = line[[True, *apart]]
    return points


def random_targets(hand: sg.Hand) -> np.ndarray:
    low, high = np.array([actuator.limits for actuator in hand.actuators]).T
    return low + RANDOM.uniform(0.1, 0.9, len(low)) * (high - low)


@pytest.mark.parametrize("name", ["four_finger", "paradigmatic", "vizzy"])
def test_the_posture_of_a_hand_is_recovered_from_keypoints_of_it(name: str):
    hand = sg.load_hand(name)
    joints = hand.posture(random_targets(hand).tolist())
    moved = Rotation.from_euler("xyz", [0.4, -1.0, 2.0])
    result = retarget(hand, np.add(moved.apply(keypoints_of(hand, joints)), (0.1, -0.3, 0.5)))
    assert max(result.residual_mm.values()) < 1.0
    assert result.joints == pytest.approx(joints, abs=0.01)
    assert result.scale == pytest.approx(1.0)
    np.testing.assert_allclose(result.hand_pose.position, (0.1, -0.3, 0.5), atol=1e-3)
    targets = dict(
        zip((actuator.joint for actuator in hand.actuators), result.targets, strict=True)
    )
    assert targets == pytest.approx({name: result.joints[name] for name in targets}, abs=1e-9)


def test_the_size_of_the_human_hand_does_not_matter():
    hand = sg.load_hand("four_finger")
    points = keypoints_of(hand, hand.posture(random_targets(hand).tolist()))
    once, thrice = retarget(hand, points), retarget(hand, 3.0 * points)
    assert thrice.joints == pytest.approx(once.joints, abs=1e-4)
    assert 3.0 * thrice.scale == pytest.approx(once.scale)


def test_a_posture_beyond_the_limits_ends_within_them():
    hand = sg.load_hand("four_finger")
    limits = np.array([actuator.limits for actuator in hand.actuators])
    result = retarget(hand, keypoints_of(hand, hand.posture((limits[:, 1] + 0.3).tolist())))
    targets = np.array(result.targets)
    assert ((targets >= limits[:, 0]) & (targets <= limits[:, 1])).all()
    assert max(result.residual_mm.values()) > 1.0


def test_a_motion_is_followed_from_posture_to_posture():
    hand = sg.load_hand("four_finger")
    low, high = np.array([actuator.limits for actuator in hand.actuators]).T
    previous = None
    for part in np.linspace(0.3, 0.6, 4):
        joints = hand.posture((low + part * (high - low)).tolist())
        previous = retarget(hand, keypoints_of(hand, joints), previous=previous)
        assert max(previous.residual_mm.values()) < 1.0
        assert previous.joints == pytest.approx(joints, abs=0.02)


def test_fingers_are_matched_by_name_and_else_in_order():
    assert imitate_fingers(sg.load_hand("vizzy"))["thumb"] == "thumb"
    assert imitate_fingers(sg.load_hand("four_finger")) == {
        "F1": "thumb",
        "F2": "index",
        "F3": "middle",
        "F4": "ring",
    }
    assert imitate_fingers(sg.load_hand("allegro_right")) == {
        "index": "index",
        "middle": "middle",
        "last": "ring",
        "thumb": "thumb",
    }


@pytest.mark.slow
def test_an_imported_hand_follows_keypoints_of_its_fingers():
    hand = sg.load_hand(str(Path(__file__).parents[1] / "first_hour" / "trigrip.urdf"))
    low, high = np.array([actuator.limits for actuator in hand.actuators]).T
    joints = hand.posture((low + 0.4 * (high - low)).tolist())
    points = np.zeros((KEYPOINTS, 3))
    for name, human in imitate_fingers(hand).items():
        line = finger_lines(hand, joints)[name]
        along = np.concatenate([[0.0], np.linalg.norm(np.diff(line, axis=0), axis=1).cumsum()])
        at = along[-1] * np.linspace(0.0, 1.0, 4)
        points[DIGITS[human] : DIGITS[human] + 4] = np.stack(
            [np.interp(at, along, column) for column in line.T], axis=1
        )
    result = retarget(hand, points)
    assert max(result.residual_mm.values()) < 1.0
    assert set(result.joints) == set(joints)


def test_wrong_keypoints_and_fingers_are_refused():
    hand = sg.load_hand("four_finger")
    with pytest.raises(sg.DescriptionError, match=r"shape \(21, 3\), found \(20, 3\)") as caught:
        retarget(hand, np.zeros((20, 3)))
    assert caught.value.field == "keypoints"
    with pytest.raises(sg.DescriptionError, match="finite"):
        retarget(hand, np.full((21, 3), np.nan))
    with pytest.raises(sg.DescriptionError, match="found 'F9'") as caught:
        retarget(hand, np.zeros((21, 3)), fingers={"F9": "thumb"})
    assert caught.value.field == "fingers"


@pytest.mark.parametrize(
    "factor", [0.0, 1e-200, 1e200, np.nan, np.array([[1.0], *[[0.0]] * 4, *[[1.0]] * 16])]
)
def test_keypoints_without_lengths_of_fingers_are_refused(factor: float | np.ndarray):
    hand = sg.load_hand("paradigmatic")
    points = keypoints_of(hand, hand.posture(random_targets(hand).tolist()))
    with pytest.raises(sg.DescriptionError) as refused:
        retarget(hand, factor * points)
    assert refused.value.field == "keypoints"


@pytest.mark.parametrize("points", ["text", [[1.0], [1.0, 2.0]], [None] * KEYPOINTS])
def test_what_is_no_array_of_keypoints_is_refused(points: object):
    with pytest.raises(sg.DescriptionError) as refused:
        retarget(sg.load_hand("four_finger"), points)  # type: ignore[arg-type]
    assert refused.value.field == "keypoints"


def test_a_motion_of_another_hand_or_of_no_finger_is_refused():
    hand, other = sg.load_hand("paradigmatic"), sg.load_hand("four_finger")
    points = keypoints_of(hand, hand.posture(random_targets(hand).tolist()))
    with pytest.raises(sg.DescriptionError) as refused:
        retarget(other, points, previous=retarget(hand, points))
    assert refused.value.field == "previous"
    with pytest.raises(sg.DescriptionError) as refused:
        retarget(hand, points, fingers={})
    assert refused.value.field == "fingers"
