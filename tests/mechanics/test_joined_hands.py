"""Two hands as one: frames, palms, drives, and a grasp that is one hand's twice."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.mechanics.hand_kinematics import PlacedHand, fingertips, joined_hands, link_frames
from softgrasp.mechanics.transforms import transform
from softgrasp.model.hand import build_hand_spec

LEFT = sg.Pose(position=(-0.15, 0.0, 0.0), quaternion=(1.0, 0.0, -1.0, 0.0))
RIGHT = sg.Pose(position=(0.15, 0.0, 0.0), quaternion=(1.0, 0.0, 1.0, 0.0))


def two(name: str = "four_finger") -> sg.Hand:
    hand = sg.load_hand(name)
    return joined_hands("two", [PlacedHand("left", hand, LEFT), PlacedHand("right", hand, RIGHT)])


@pytest.mark.parametrize("name", ["four_finger", "allegro_right", "soft_gripper"])
def test_each_part_stands_where_its_pose_says(name: str) -> None:
    hand, joined = sg.load_hand(name), two(name)
    alone = link_frames(hand, hand.posture([actuator.start for actuator in hand.actuators]))
    result = link_frames(joined, joined.posture([actuator.start for actuator in joined.actuators]))
    for prefix, pose in (("left", LEFT), ("right", RIGHT)):
        frame = transform(pose.position, pose.quaternion)
        for body, inner in alone.items():
            np.testing.assert_allclose(result[f"{prefix}_{body}"], frame @ inner, atol=1e-12)


def test_the_joined_hand_weighs_what_its_parts_weigh() -> None:
    alone = build_hand_spec(sg.load_hand("four_finger")).compile()
    joined = build_hand_spec(two()).compile()
    assert joined.body_mass.sum() == pytest.approx(2 * alone.body_mass.sum(), rel=1e-12)
    assert joined.nu == 2 * alone.nu


def test_palms_are_bodies_of_their_own_around_their_own_fingers() -> None:
    model = build_hand_spec(two("modular")).compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    positions = {name: data.geom(name).xpos for name in ("left_palm", "right_palm")}
    assert positions["left_palm"][0] < -0.1 < 0.1 < positions["right_palm"][0]


def test_a_ball_too_large_for_one_hand_is_held_by_both() -> None:
    result = sg.simulate(sg.load_scene("two_hands_ball"))
    assert result.held
    held = {contact.finger for contact in result.contacts if contact.in_contact}
    assert held == {f"{side}_F{index}" for side in ("left", "right") for index in (1, 2, 3, 4)}
    # the scene is its own mirror image in the plane x = 0
    forces = {contact.body: contact.normal_force_N for contact in result.contacts}
    for index, twin in ((1, 2), (2, 1), (3, 4), (4, 3)):
        mirrored = forces[f"right_F{twin}_P3"]
        assert forces[f"left_F{index}_P3"] == pytest.approx(mirrored, rel=1e-3)


def test_one_of_the_hands_alone_does_not_hold_it() -> None:
    scene = sg.load_scene("two_hands_ball")
    still = scene.closure.replace(active=(True,) * 12 + (False,) * 12)
    assert not sg.simulate(scene.replace(closure=still)).held


def test_the_joined_hand_lies_in_a_file_and_in_a_scene(tmp_path: Path) -> None:
    hand = sg.load_hand("two_hands")
    assert hand.name == "two_hands"
    assert fingertips(hand, hand.posture([d.start for d in hand.actuators])).keys() == {
        f"{side}_F{index}" for side in ("left", "right") for index in (1, 2, 3, 4)
    }
    scene = sg.load_scene("two_hands_ball")
    assert sg.load_scene(sg.save_scene(scene, tmp_path / "scene.yaml")) == scene


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "hands: [{hand: four_finger, name: left}]",
            "expected at least two hands to join, found 1",
        ),
        (
            "hands: [{hand: four_finger}]",
            "hands[0]: expected a mapping with hand, name, pose, found {'hand': 'four_finger'}",
        ),
        (
            "hands: [{hand: four_finger, name: a, at: 1}]",
            "at: expected hand, name, pose, found 'at'",
        ),
        (
            "hands: [{hand: modular, name: a}, {hand: modular, name: a}]",
            "expected hands of different names, found 'a' twice",
        ),
        ("hands: two", "hands: expected a list of hands, found 'two'"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "hand.yaml"
    file.write_text(f"name: mine\n{text}\n")
    with pytest.raises(sg.DescriptionError) as message:
        sg.load_hand(file)
    assert str(message.value).endswith(sentence)
