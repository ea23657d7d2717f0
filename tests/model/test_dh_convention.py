"""Conversion of hands between DH conventions: bodies, joint axes and fingertips are unchanged."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import softgrasp as sg
from softgrasp import assets
from softgrasp.mechanics.transforms import quaternion_of, rotate_about
from softgrasp.model.hand import add_hand
from tests.conftest import Golden
from tests.support.kinematics import fingertip

RIGID = [
    name
    for name in assets.names("hands")
    if {finger.convention for finger in sg.load_hand(name).fingers} == {"standard"}
]
ANGLE = st.floats(-math.pi, math.pi)
LENGTH = st.floats(-0.1, 0.1).filter(lambda value: value == 0 or abs(value) > 1e-6)
FEW = settings(max_examples=15, deadline=None)


def hand_of(finger: sg.description.Finger, **fields: object) -> sg.Hand:
    preset = sg.description.GraspPreset(center=(0, 0, 0), rates=1.0)
    return sg.Hand(
        name="one",
        fingers=(finger,),
        grasps=sg.description.Grasps(power=preset, precision=preset),
        **({"palm": sg.description.Palm(kind="none")} | fields),
    )


def model_of(hand: sg.Hand) -> mujoco.MjModel:
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    add_hand(spec, hand, sg.Pose(), "servo")
    return spec.compile()


def assert_same_bodies(first: sg.Hand, second: sg.Hand, seed: int = 0) -> None:
    """Compare masses, centres of mass, geoms, axes, tips and mass matrix at random joints."""
    models = [model_of(first), model_of(second)]
    assert_allclose(models[0].body_mass, models[1].body_mass, rtol=1e-12)
    assert models[0].ngeom == models[1].ngeom
    generator = np.random.default_rng(seed)
    for _ in range(3):
        joints, result = generator.uniform(-0.5, 0.5, models[0].nq), []
        for model in models:
            data = mujoco.MjData(model)
            data.qpos[:] = joints
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_makeM(model, data)
            dense = np.zeros((model.nv, model.nv))
            mujoco.mj_fullM(model, data, dense)
            # an axis is a line: its direction, and its point that is nearest to the origin
            along = (data.xanchor * data.xaxis).sum(axis=1, keepdims=True)
            slides = model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE
            nearest = np.where(slides[:, None], 0.0, data.xanchor - along * data.xaxis)
            result.append(
                (data.xipos, data.geom_xpos, data.site_xpos, data.xaxis, nearest, 1e3 * dense)
            )
        for here, there in zip(*result, strict=True):
            assert_allclose(here, there, atol=1e-12)


@pytest.mark.parametrize("name", RIGID)
def test_shipped_hands_round_trip(name: str) -> None:
    hand = sg.load_hand(name)
    modified = sg.model.with_convention(hand, "modified")
    assert {finger.convention for finger in modified.fingers} == {"modified"}
    assert_same_bodies(hand, modified)
    again = sg.model.with_convention(modified, "standard")
    assert_same_bodies(hand, again)
    twisted = {finger.name: finger.phalanges[-1].alpha for finger in hand.fingers}
    if not any(twisted.values()):
        assert again == hand


@st.composite
def fingers(draw: st.DrawFn, convention: str) -> sg.description.Finger:
    """Draw a finger of one to five rows with bodies and any base."""
    count = draw(st.integers(1, 5))
    rows = [
        sg.description.Phalanx(
            a=draw(LENGTH),
            alpha=draw(ANGLE),
            d=draw(LENGTH),
            theta=draw(ANGLE),
            joint=draw(st.sampled_from(["revolute", "revolute", "prismatic"])),
            limits=(-0.5, 0.5),
            density=1000.0,
            radius=0.004,
            shape=draw(st.sampled_from([None, sg.Cuboid(size=(0.01, 0.02, 0.03))])),
            shape_pose=sg.Pose(position=(draw(LENGTH), 0.0, draw(LENGTH))),
        )
        for _ in range(count)
    ]
    rows = [row if row.shape or abs(row.a) > 0 or abs(row.d) > 0 else row.replace(a=0.03)
            for row in rows]  # fmt: skip
    tip = (0.0, 0.0, 0.0)
    if convention == "modified":
        tip = (draw(st.floats(0.01, 0.1)), draw(LENGTH), draw(LENGTH))
        ball = sg.Sphere(radius=0.01)
        rows = [row.replace(shape=row.shape or draw(st.sampled_from([None, ball]))) for row in rows]
    rotation = rotate_about("x", draw(ANGLE)) @ rotate_about("z", draw(ANGLE))
    base = sg.Pose(position=(draw(LENGTH), draw(LENGTH), 0.0), quaternion=quaternion_of(rotation))
    return sg.description.Finger(
        name="F", base=base, convention=convention, phalanges=tuple(rows), tip=tip
    )


@pytest.mark.parametrize("convention", ["standard", "modified"])
@FEW
@given(st.data())
def test_any_finger_keeps_tip_axes_and_bodies(convention: str, data: st.DataObject) -> None:
    finger = data.draw(fingers(convention))
    other = {"standard": "modified", "modified": "standard"}[convention]
    hand = hand_of(finger)
    try:
        converted = sg.model.with_convention(hand, other)
    except sg.DescriptionError as refusal:
        assert not all(finger.has_body)
        assert "has no body, and would need one of" in str(refusal)  # noqa: PT017
        return
    joints = data.draw(st.lists(ANGLE, min_size=len(finger.phalanges),
                                max_size=len(finger.phalanges)))  # fmt: skip
    tips = [fingertip(one.fingers[0], joints) for one in (hand, converted)]
    assert_allclose(tips[0], tips[1], atol=1e-12)
    assert_same_bodies(hand, converted)


def test_row_that_would_need_a_body_is_rejected(golden: Golden) -> None:
    rows = (sg.description.Phalanx(), sg.description.Phalanx(a=0.03, d=0.02, density=1e3))
    finger = sg.description.Finger(name="F", convention="standard", phalanges=rows)
    golden.refused(
        lambda: sg.model.with_convention(hand_of(finger), "modified"),
        "finger 'F': row 'P1' has no body, and would need one",
    )


def test_changed_automatic_palm_warns() -> None:
    rows = (sg.description.Phalanx(a=0.03, d=0.02, density=1e3),)
    there = sg.Pose(position=(0.1, 0.0, 0.0))
    fingers = tuple(
        sg.description.Finger(name=name, base=base, convention="standard", phalanges=rows)
        for name, base in (("A", sg.Pose()), ("B", there))
    )
    hand = hand_of(fingers[0]).replace(fingers=fingers, palm=sg.description.Palm())
    with pytest.warns(sg.SoftgraspWarning, match="its automatic palm encloses the frames"):
        sg.model.with_convention(hand, "modified")


def test_unknown_convention() -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        sg.model.with_convention(sg.load_hand("four_finger"), "craig")
    assert str(refused.value) == "convention: expected standard or modified, found 'craig'"
