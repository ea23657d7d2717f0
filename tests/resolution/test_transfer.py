"""Grasps transferred between hands: tips at the contacts, the object still held."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.resolution import TransferredGrasp, transfer_grasp


@cache
def held() -> sg.GraspResult:
    """The precision grasp of a ball by four fingers."""
    scene = sg.GraspScene(
        hand=sg.load_hand("four_finger"),
        object=sg.load_object("sphere"),
        grasp="precision",
        success=sg.SuccessCriterion(),
    )
    return sg.simulate(scene)


@cache
def transferred(name: str) -> TransferredGrasp:
    return transfer_grasp(held(), sg.load_hand(name))


@pytest.mark.parametrize(("name", "fingers"), [("three_fingered", 3), ("two_finger_planar", 2)])
def test_a_ball_that_four_fingers_hold_is_held_by_another_hand(name: str, fingers: int):
    grasp = transferred(name)
    assert len(grasp.fingers) == len(set(grasp.fingers.values())) == fingers
    assert max(grasp.error_mm.values()) < 1.0
    assert sg.simulate(grasp.scene).outcome is sg.Outcome.HELD


def test_fingers_touch_near_the_contacts_that_they_take_over():
    grasp, before = transferred("three_fingered"), held()
    result = sg.simulate(grasp.scene)
    center = before.object_position[-1]
    for finger, other in grasp.fingers.items():
        (new,) = (c.point_m for c in result.contacts if c.finger == finger and c.in_contact)
        (old,) = (c.point_m for c in before.contacts if c.finger == other and c.in_contact)
        ours, theirs = np.array(new) - result.object_position[-1], np.array(old) - center
        cosine = ours @ theirs / np.linalg.norm(ours) / np.linalg.norm(theirs)
        assert cosine > np.cos(np.radians(25.0))


def test_the_object_keeps_its_pose_in_the_world():
    grasp, before = transferred("three_fingered"), held()
    np.testing.assert_allclose(grasp.scene.object_position, before.object_position[-1])
    assert grasp.scene.object == before.scene.object
    assert grasp.scene.success == before.scene.success


@pytest.mark.slow
@pytest.mark.parametrize("name", ["allegro_right", "dlr_hit_ii", "human_24dof"])
def test_anthropomorphic_hands_take_over_all_four_contacts(name: str):
    grasp = transferred(name)
    assert sorted(grasp.fingers.values()) == ["F1", "F2", "F3", "F4"]
    assert sg.simulate(grasp.scene).outcome is sg.Outcome.HELD


def test_a_result_without_contacts_is_refused():
    open_hand = sg.simulate(held().scene.replace(closure={"active": (False,) * 12}))
    with pytest.raises(sg.DescriptionError, match="at least 2 fingers in contact") as caught:
        transfer_grasp(open_hand, sg.load_hand("three_fingered"))
    assert caught.value.field == "result"


def test_a_hand_that_is_too_small_is_refused():
    tiny = sg.load_hand("two_finger_planar")
    short = [
        finger.replace(phalanges=[row.replace(a=row.a / 10) for row in finger.phalanges])
        for finger in tiny.fingers
    ]
    with pytest.raises(sg.BuildError, match="clears the object"):
        transfer_grasp(held(), tiny.replace(fingers=short))
