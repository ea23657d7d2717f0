"""Denavit–Hartenberg chains: published fingertips, both conventions, and what mirrors do."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import softgrasp as sg
from softgrasp.description.actuation import Coupling
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.geometry import Part
from softgrasp.description.hand import GraspPreset, Grasps, Hand
from softgrasp.mechanics.hand_kinematics import (
    PlacedHand,
    chain_links,
    forward_kinematics,
    join_hands,
    link_frames,
    row_transform,
    synergy_matrix,
)
from softgrasp.mechanics.transforms import quaternion_of, rotate_about, transform, translate
from softgrasp.model.hand import build_hand_spec
from tests.conftest import Golden
from tests.support.kinematics import fingertip, fingertips, soft_synergy_compliance

ANGLE = st.floats(-math.pi, math.pi)
LENGTH = st.floats(-0.1, 0.1).filter(lambda value: value == 0 or abs(value) > 1e-6)
FEW = settings(max_examples=30, deadline=None)
Chain = tuple[sg.description.Finger, list[float]]


def standard(rows: list[dict[str, float]], base: sg.Pose | None = None) -> sg.description.Finger:
    """A finger of standard rows with lengths in metres."""
    return sg.description.Finger(
        name="F1",
        base=base or sg.Pose(),
        convention="standard",
        phalanges=tuple(sg.description.Phalanx(density=1000, **row) for row in rows),
    )


def as_modified(finger: sg.description.Finger) -> sg.description.Finger:
    """The same chain in the modified convention: a and alpha move one row outwards."""
    a_before = [0.0] + [row.a for row in finger.phalanges]
    alpha_before = [0.0] + [row.alpha for row in finger.phalanges]
    rows = [
        row.replace(a=a, alpha=alpha)
        for row, a, alpha in zip(finger.phalanges, a_before[:-1], alpha_before[:-1], strict=True)
    ]
    return finger.replace(convention="modified", phalanges=rows, tip=(a_before[-1], 0.0, 0.0))


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """A finger of one to five standard rows, and joint angles for it."""
    count = draw(st.integers(1, 5))
    rows = [
        {"a": draw(LENGTH), "alpha": draw(ANGLE), "d": draw(LENGTH), "theta": draw(ANGLE)}
        for _ in range(count)
    ]
    rows[-1]["a"] = draw(st.floats(0.01, 0.1))
    base = sg.Pose(
        position=(draw(LENGTH), draw(LENGTH), draw(LENGTH)),
        quaternion=quaternion_of(rotate_about("x", draw(ANGLE)) @ rotate_about("z", draw(ANGLE))),
    )
    return standard(rows, base), draw(st.lists(ANGLE, min_size=count, max_size=count))


# SynGrasp 2.2 and 3.x; rows (a, alpha, d, theta) in mm and rad, fingertips in mm at q = 0 and 0.1
PUBLISHED = {
    "paradigmatic thumb": (
        [[0, -1, 0, -37], [1, 0, 0, 45], [0, 0, 1, 0]],
        [(0, -1.570796327, 0, 0), (25, 0, 0, 0), (15, 1.570796327, 0, 0), (10, 0, 0, 0)],
        (-37.0, 95.0, 0.0),
        (-42.9179, 93.9817, -7.4526),
    ),
    "allegro_left thumb (theta offsets, d)": (
        [
            [0, 0.996194698, 0.087155743, 16.958],
            [0, -0.087155743, 0.996194698, -73.288],
            [1, 0, 0, 18.2],
        ],
        [
            (5, 1.570796327, -6.95051, 0),
            (0, 1.570796327, -55.415032, 1.570796327),
            (51.399611, 0, 0, -1.570796327),
            (59.3, 0, 0, 0),
        ],
        (181.8347, -94.6899, 23.2),
        (181.3778, -77.7577, 5.0549),
    ),
    "vizzy thumb (negative a)": (
        [
            [-0.2982, 0.0799, -0.9512, 17.5949],
            [0.9187, -0.2462, -0.3087, -54.2112],
            [-0.2588, -0.9659, 0, -4.5],
        ],
        [(-22.5, 1.570796327, 0, 0), (-33, 0, 0, 0), (-28.48, 0, 0, 0)],
        (42.6377, -131.3636, 17.234),
        (50.1469, -125.4987, 24.9643),
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_fingertips_are_the_published_ones(name: str) -> None:
    base, rows, at_zero, at_tenth = PUBLISHED[name]
    for angle, expected in ((0.0, at_zero), (0.1, at_tenth)):
        frame = np.vstack([base, [0, 0, 0, 1]]).astype(float)
        for a, alpha, d, theta in rows:
            frame = frame @ row_transform(a, alpha, d, theta + angle, "standard")
        assert_allclose(frame[:3, 3], expected, atol=6e-5)


@FEW
@given(chains())
def test_both_conventions_describe_the_same_chain(chain: Chain) -> None:
    finger, joints = chain
    assert_allclose(fingertip(as_modified(finger), joints), fingertip(finger, joints), atol=1e-12)


@FEW
@given(chains())
def test_links_agree_with_forward_kinematics_at_zero(chain: Chain) -> None:
    finger, _ = chain
    for described in (finger, as_modified(finger)):
        frame = np.eye(4)
        for link in chain_links(described):
            frame = frame @ link.origin
        tip = frame @ [*link.end, 1.0]
        assert_allclose(tip[:3], fingertip(described, [0.0] * len(finger.phalanges)), atol=1e-12)


@FEW
@given(chains(), st.integers(0, 4), st.floats(-0.05, 0.05))
def test_a_prismatic_joint_slides_along_its_axis(chain: Chain, index: int, slide: float) -> None:
    finger, joints = chain
    index %= len(joints)
    rows = list(finger.phalanges)
    rows[index] = rows[index].replace(joint="prismatic", limits=(-1.0, 1.0), start=0.0)
    finger = finger.replace(phalanges=rows)
    joints[index] = 0.0
    before = fingertip(finger, joints)
    axis = forward_kinematics(finger, joints)[index][:3, 2]
    joints[index] = slide
    assert_allclose(fingertip(finger, joints), before + slide * axis, atol=1e-12)


def test_a_row_is_the_product_of_its_four_steps() -> None:
    a, alpha, d, theta = 0.03, 0.4, -0.02, 1.1
    about, along = rotate_about("z", theta) @ translate(z=d), translate(x=a)
    tilt = rotate_about("x", alpha)
    assert_allclose(row_transform(a, alpha, d, theta, "standard"), about @ along @ tilt)
    assert_allclose(row_transform(a, alpha, d, theta, "modified"), tilt @ along @ about)


def test_a_wrong_number_of_joint_variables_is_refused(golden: Golden) -> None:
    finger = standard([{"a": 0.05}, {"a": 0.03}])
    golden.refused(lambda: forward_kinematics(finger, [0.1]), "finger 'F1'")


# Hands as trees of placed joints: frames against MuJoCo, couplings, and what stops what.


UPRIGHT = sg.Pose(position=(0.0, 0.0, 0.03), quaternion=(1.0, 1.0, 0.0, 0.0))
GRASPS = Grasps(
    power=GraspPreset(center=(0, 0, 0.1), rates=1.0),
    precision=GraspPreset(center=(0, 0, 0.1), rates=1.0),
)


def row(**fields: object) -> Phalanx:
    return Phalanx(**({"density": 1000.0, "limits": (-1.0, 1.5)} | fields))  # type: ignore[arg-type]


def bare(name: str, *fingers: Finger, **fields: Any) -> Hand:
    """A hand without a palm."""
    palm = sg.description.Palm(kind="none")
    return Hand(name=name, fingers=fingers, grasps=GRASPS, palm=palm, **fields)


def tree(ratio: float = 0.7) -> Hand:
    """A finger that carries two fingers, the second of which follows the first."""
    stem = Finger(
        name="stem", convention="placed", phalanges=(row(), row(origin=UPRIGHT)), tip=(0, 0, 0.02)
    )
    pose = sg.Pose(position=(0.01, 0.0, 0.02), quaternion=(0.9, 0.1, 0.3, 0.2))
    twin = pose.replace(position=(-0.01, 0.0, 0.02))
    common: dict[str, Any] = {"on": "stem_P2", "convention": "placed", "tip": (0.03, 0, 0)}
    first = Finger(name="one", base=pose, phalanges=(row(),), **common)
    slide = row(origin=UPRIGHT, joint="prismatic", limits=(0.0, 0.01))
    second = Finger(name="two", base=twin, phalanges=(row(driven=False), slide), **common)
    follows = Coupling(joint="two_J1", leader="one_J1", ratio=ratio, offset=0.1)
    return bare("tree", stem, first, second, couplings=(follows,))


angles = st.floats(-1.0, 1.0)


@settings(max_examples=30, deadline=None)
@given(st.tuples(angles, angles, angles, st.floats(0.0, 0.01)))
def test_frames_are_those_of_the_compiled_hand(targets: tuple[float, ...]) -> None:
    hand = tree()
    model = build_hand_spec(hand).compile()
    data = mujoco.MjData(model)
    joints = hand.posture(targets)
    for name, value in joints.items():
        data.qpos[model.joint(name).qposadr[0]] = value
    mujoco.mj_kinematics(model, data)
    for body, frame in link_frames(hand, joints).items():
        np.testing.assert_allclose(data.body(body).xpos, frame[:3, 3], atol=1e-12)
        np.testing.assert_allclose(data.body(body).xmat.reshape(3, 3), frame[:3, :3], atol=1e-12)


def test_coupled_joints_have_no_actuator_and_follow_their_leader() -> None:
    hand = tree()
    assert [actuator.name for actuator in hand.actuators] == [
        "stem_J1",
        "stem_J2",
        "one_J1",
        "two_J2",
    ]
    assert hand.posture([0.1, 0.2, 0.5, 0.004]) == pytest.approx(
        {"stem_J1": 0.1, "stem_J2": 0.2, "one_J1": 0.5, "two_J1": 0.45, "two_J2": 0.004}
    )


def test_actuators_are_stopped_by_all_bodies_that_they_move() -> None:
    stops = {actuator.name: set(actuator.stops) for actuator in tree().actuators}
    outer = {"one_P1", "two_P1", "two_P2"}
    assert stops == {
        "stem_J1": {"stem_P1", "stem_P2"} | outer,
        "stem_J2": {"stem_P2"} | outer,
        "one_J1": outer,  # itself, and the finger that follows it
        "two_J2": {"two_P2"},
    }


def test_the_compiled_coupling_keeps_its_ratio_under_load() -> None:
    model = build_hand_spec(tree(ratio=-0.5)).compile()
    model.opt.gravity[:] = 0.0
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    data.actuator("one_J1").ctrl[0] = 0.6
    data.joint("two_J1").qfrc_applied[0] = 0.2  # against what drives it
    mujoco.mj_step(model, data, 3000)
    leader, follower = (float(data.joint(name).qpos[0]) for name in ("one_J1", "two_J1"))
    # the load of 0.2 N·m arrives at the leader's servo as −0.5 · 0.2 over kp = 6 N·m/rad
    assert leader == pytest.approx(0.6 - 0.5 * 0.2 / 6.0, abs=2e-4)
    assert follower == pytest.approx(-0.5 * leader + 0.1, abs=2e-3)


def test_several_shapes_have_the_mass_of_one_solid() -> None:
    """A box cut in two has the inertia of the whole one."""
    whole = row(shape=sg.Cuboid(size=(0.02, 0.03, 0.06)), shape_pose=sg.Pose(position=(0, 0, 0.03)))
    half = sg.Cuboid(size=(0.02, 0.03, 0.03))
    parts = tuple(Part(shape=half, pose=sg.Pose(position=(0, 0, z))) for z in (0.015, 0.045))
    cut = row(parts=parts)
    models = []
    for phalanx in (whole, cut):
        finger = Finger(name="F", convention="placed", phalanges=(phalanx,), tip=(0, 0, 0.06))
        models.append(build_hand_spec(bare("h", finger)).compile())
    for field in ("body_mass", "body_ipos"):
        first, second = (getattr(model, field)[-1] for model in models)
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(*[np.sort(model.body_inertia[-1]) for model in models], rtol=1e-9)


def test_a_spring_pulls_a_passive_joint_to_its_rest_angle() -> None:
    passive = row(driven=False, stiffness=0.5, rest_angle=0.4, start=0.0)
    finger = Finger(name="F", convention="placed", phalanges=(passive,), tip=(0, 0, 0.05))
    model = build_hand_spec(bare("h", finger)).compile()
    assert model.nu == 0
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 5000)
    assert float(data.qpos[0]) == pytest.approx(0.4, abs=1e-3)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"couplings": (Coupling(joint="two_J9", leader="one_J1"),)}, "couplings[0].joint"),
        ({"couplings": (Coupling(joint="one_J1", leader="two_J1"),)}, "couplings[0].joint"),
        ({"couplings": (Coupling(joint="two_J1", leader="two_J1"),)}, "couplings[0].leader"),
        ({"couplings": (Coupling(joint="two_J1", leader="one_J1"),) * 2}, "couplings[1].joint"),
    ],
)
def test_impossible_couplings_are_refused(
    change: dict[str, object], sentence: str, golden: Golden
) -> None:
    golden.refused(lambda: tree().replace(**change), sentence)


def test_a_finger_stands_on_an_earlier_one(golden: Golden) -> None:
    hand = tree()
    golden.refused(
        lambda: hand.replace(
            fingers=(hand.fingers[0], hand.fingers[1].replace(on="stem_P3")), couplings=()
        ),
        "fingers[1].on",
    )


def test_rows_of_another_convention_are_refused(golden: Golden) -> None:
    golden.refused(
        lambda: Finger(name="F", convention="placed", phalanges=(row(a=0.03),), tip=(0, 0, 0.1)),
        "phalanges[0]",
    )
    golden.refused(
        lambda: Finger(name="F", convention="standard", phalanges=(row(a=0.03, origin=UPRIGHT),)),
        "phalanges[0].origin",
    )
    assert math.isclose(UPRIGHT.quaternion[0], math.sqrt(0.5))


# Two hands as one: frames, palms, drives, and a grasp that is one hand's twice.


LEFT = sg.Pose(position=(-0.15, 0.0, 0.0), quaternion=(1.0, 0.0, -1.0, 0.0))
RIGHT = sg.Pose(position=(0.15, 0.0, 0.0), quaternion=(1.0, 0.0, 1.0, 0.0))


def two(name: str = "four_finger") -> sg.Hand:
    hand = sg.load_hand(name)
    return join_hands("two", [PlacedHand("left", hand, LEFT), PlacedHand("right", hand, RIGHT)])


@pytest.mark.parametrize("name", ["four_finger", "allegro_right", "soft_gripper"])
def test_each_part_has_its_pose(name: str) -> None:
    hand, joined = sg.load_hand(name), two(name)
    alone = link_frames(hand, hand.posture([actuator.start for actuator in hand.actuators]))
    result = link_frames(joined, joined.posture([actuator.start for actuator in joined.actuators]))
    for prefix, pose in (("left", LEFT), ("right", RIGHT)):
        frame = transform(pose.position, pose.quaternion)
        for body, inner in alone.items():
            np.testing.assert_allclose(result[f"{prefix}_{body}"], frame @ inner, atol=1e-12)


def test_the_joined_hand_has_the_mass_of_its_parts() -> None:
    alone = build_hand_spec(sg.load_hand("four_finger")).compile()
    joined = build_hand_spec(two()).compile()
    assert joined.body_mass.sum() == pytest.approx(2 * alone.body_mass.sum(), rel=1e-12)
    assert joined.nu == 2 * alone.nu


def test_each_palm_is_a_body_around_its_fingers() -> None:
    model = build_hand_spec(two("modular")).compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    positions = {name: data.geom(name).xpos for name in ("left_palm", "right_palm")}
    assert positions["left_palm"][0] < -0.1 < 0.1 < positions["right_palm"][0]


def test_both_hands_hold_a_ball_too_large_for_one() -> None:
    result = sg.simulate(sg.load_scene("two_hands_ball"))
    assert result.held
    held = {contact.finger for contact in result.contacts if contact.in_contact}
    assert held == {f"{side}_F{index}" for side in ("left", "right") for index in (1, 2, 3, 4)}
    # the scene is its own mirror image in the plane x = 0
    forces = {contact.body: contact.normal_force_N for contact in result.contacts}
    for index, twin in ((1, 2), (2, 1), (3, 4), (4, 3)):
        assert forces[f"left_F{index}_P3"] == pytest.approx(forces[f"right_F{twin}_P3"], rel=1e-3)


@pytest.mark.slow
def test_one_hand_alone_does_not_hold_it() -> None:
    scene = sg.load_scene("two_hands_ball")
    still = scene.closure.replace(active=(True,) * 12 + (False,) * 12)
    assert not sg.simulate(scene.replace(closure=still)).held


def test_joined_hands_are_read_from_files_and_scenes(tmp_path: Path) -> None:
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
        ("hands: [{hand: four_finger, name: left}]", "expected at least two hands to join"),
        ("hands: [{hand: four_finger}]", "hands[0]"),
        ("hands: [{hand: four_finger, name: a, at: 1}]", "at: expected hand, name, pose, found"),
        ("hands: [{hand: modular, name: a}, {hand: modular, name: a}]", "expected hands of"),
        ("hands: two", "hands"),
    ],
)
def test_wrong_joined_hands_are_refused(
    tmp_path: Path, text: str, sentence: str, golden: Golden
) -> None:
    file = tmp_path / "hand.yaml"
    file.write_text(f"name: mine\n{text}\n")
    golden.refused(lambda: sg.load_hand(file), sentence)


# Weights of synergies by least squares, their variance, and the compliance of soft synergies.


def santello() -> sg.description.Synergies:
    synergies = sg.load_hand("paradigmatic").synergies
    assert synergies is not None
    return synergies


def test_weights_of_a_posture_in_the_span_are_recovered() -> None:
    synergies = santello()
    target = np.random.default_rng(1).normal(size=synergies.count)
    assert sg.mechanics.synergy_weights(
        synergies, synergies.posture(target.tolist())
    ) == pytest.approx(target, abs=1e-9)


def test_the_residual_is_orthogonal_to_the_synergies() -> None:
    synergies = santello()
    postures = np.random.default_rng(2).normal(size=(5, 20))
    matrix = synergy_matrix(synergies)[:, :4]
    left = (
        postures - synergies.mean - sg.mechanics.synergy_weights(synergies, postures, 4) @ matrix.T
    )
    assert left @ matrix == pytest.approx(np.zeros((5, 4)), abs=1e-9)
    with pytest.raises(ValueError, match="expected 1 to 15 synergies, found 16"):
        sg.mechanics.synergy_weights(synergies, postures, 16)


def test_explained_variance_grows_to_one() -> None:
    synergies = santello()
    weights = np.random.default_rng(3).normal(size=(40, 3)) * [3.0, 1.0, 0.3]
    postures = synergies.mean + weights @ synergy_matrix(synergies)[:, :3].T
    fractions = sg.mechanics.variance_explained(synergies, postures)
    assert (np.diff(fractions) > -1e-12).all()
    assert 0.5 < fractions[0] < fractions[1] < 1.0
    assert fractions[2:] == pytest.approx(1.0)
    assert sg.mechanics.variance_explained(synergies, [synergies.mean]) == pytest.approx(1.0)


def test_compliances_in_series_add_up() -> None:
    result = soft_synergy_compliance([2.0, 4.0], [[1.0], [3.0]], 5.0)
    assert result == pytest.approx(np.array([[0.5 + 0.2, 0.6], [0.6, 0.25 + 1.8]]))
