"""Hands as trees of placed joints: frames against MuJoCo, couplings, and what stops what."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.description.finger import Coupling, Finger, Phalanx
from softgrasp.description.geometry import Part
from softgrasp.description.hand import GraspPreset, Grasps, Hand
from softgrasp.mechanics.hand_kinematics import link_frames
from softgrasp.model.hand import build_hand_spec

UPRIGHT = sg.Pose(position=(0.0, 0.0, 0.03), quaternion=(1.0, 1.0, 0.0, 0.0))
GRASPS = Grasps(
    power=GraspPreset(center=(0, 0, 0.1), rates=1.0),
    precision=GraspPreset(center=(0, 0, 0.1), rates=1.0),
)


def row(**fields: object) -> Phalanx:
    return Phalanx(**({"density": 1000.0, "limits": (-1.0, 1.5)} | fields))  # type: ignore[arg-type]


def tree(ratio: float = 0.7) -> Hand:
    """A finger that carries two fingers, the second of which follows the first."""
    stem = Finger(
        name="stem", convention="placed", phalanges=(row(), row(origin=UPRIGHT)), tip=(0, 0, 0.02)
    )
    pose = sg.Pose(position=(0.01, 0.0, 0.02), quaternion=(0.9, 0.1, 0.3, 0.2))
    twin = pose.replace(position=(-0.01, 0.0, 0.02))
    one = Finger(
        name="one",
        on="stem_P2",
        base=pose,
        convention="placed",
        phalanges=(row(),),
        tip=(0.03, 0, 0),
    )
    two = Finger(
        name="two",
        on="stem_P2",
        base=twin,
        convention="placed",
        phalanges=(row(driven=False), row(origin=UPRIGHT, joint="prismatic", limits=(0.0, 0.01))),
        tip=(0.03, 0, 0),
    )
    follows = Coupling(joint="two_J1", leader="one_J1", ratio=ratio, offset=0.1)
    return Hand(
        name="tree",
        fingers=(stem, one, two),
        couplings=(follows,),
        grasps=GRASPS,
        palm=sg.Palm(kind="none"),
    )


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


def test_a_joint_that_follows_has_no_drive_and_stands_where_its_leader_has_it() -> None:
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


def test_a_drive_is_stopped_by_all_that_it_moves() -> None:
    stops = {actuator.name: set(actuator.stops) for actuator in tree().actuators}
    outer = {"one_P1", "two_P1", "two_P2"}
    assert stops == {
        "stem_J1": {"stem_P1", "stem_P2"} | outer,
        "stem_J2": {"stem_P2"} | outer,
        "one_J1": outer,  # itself, and the finger that follows it
        "two_J2": {"two_P2"},
    }


def test_the_compiled_coupling_keeps_its_ratio_under_load() -> None:
    hand = tree(ratio=-0.5)
    model = build_hand_spec(hand).compile()
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


def test_several_shapes_weigh_what_one_solid_weighs() -> None:
    """A box cut in two has the inertia of the whole one."""
    whole = row(shape=sg.Cuboid(size=(0.02, 0.03, 0.06)), shape_pose=sg.Pose(position=(0, 0, 0.03)))
    half = sg.Cuboid(size=(0.02, 0.03, 0.03))
    parts = tuple(Part(shape=half, pose=sg.Pose(position=(0, 0, z))) for z in (0.015, 0.045))
    cut = row(parts=parts)
    models = []
    for phalanx in (whole, cut):
        finger = Finger(name="F", convention="placed", phalanges=(phalanx,), tip=(0, 0, 0.06))
        hand = Hand(name="h", fingers=(finger,), grasps=GRASPS, palm=sg.Palm(kind="none"))
        models.append(build_hand_spec(hand).compile())
    for field in ("body_mass", "body_ipos"):
        first, second = (getattr(model, field)[-1] for model in models)
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)
    moments = [np.sort(model.body_inertia[-1]) for model in models]
    np.testing.assert_allclose(*moments, rtol=1e-9)


def test_a_spring_pulls_a_passive_joint_to_its_rest_angle() -> None:
    passive = row(driven=False, stiffness=0.5, rest_angle=0.4, start=0.0)
    finger = Finger(name="F", convention="placed", phalanges=(passive,), tip=(0, 0, 0.05))
    hand = Hand(name="h", fingers=(finger,), grasps=GRASPS, palm=sg.Palm(kind="none"))
    model = build_hand_spec(hand).compile()
    assert model.nu == 0
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 5000)
    assert float(data.qpos[0]) == pytest.approx(0.4, abs=1e-3)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"couplings": (Coupling(joint="two_J9", leader="one_J1"),)},
            "couplings[0].joint: expected a joint of the hand, found 'two_J9'; "
            "did you mean 'two_J2'? known: one_J1, stem_J1, stem_J2, two_J1, two_J2",
        ),
        (
            {"couplings": (Coupling(joint="one_J1", leader="two_J1"),)},
            "couplings[0].joint: expected a joint with driven: false, found 'one_J1', "
            "which has a drive",
        ),
        (
            {"couplings": (Coupling(joint="two_J1", leader="two_J1"),)},
            "couplings[0].leader: expected a leader that does not follow, found a circle "
            "through 'two_J1'",
        ),
        (
            {"couplings": (Coupling(joint="two_J1", leader="one_J1"),) * 2},
            "couplings[1].joint: expected one coupling a joint, found two of 'two_J1'",
        ),
    ],
)
def test_couplings_that_cannot_be(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(sg.DescriptionError) as message:
        tree().replace(**change)
    assert str(message.value) == sentence


def test_a_finger_stands_on_an_earlier_one() -> None:
    hand = tree()
    with pytest.raises(sg.DescriptionError) as message:
        hand.replace(fingers=(hand.fingers[0], hand.fingers[1].replace(on="stem_P3")), couplings=())
    assert str(message.value) == (
        "fingers[1].on: expected a body of an earlier finger, found 'stem_P3'; did you mean "
        "'stem_P2'? known: stem_P1, stem_P2"
    )


def test_rows_keep_to_their_convention() -> None:
    with pytest.raises(sg.DescriptionError) as message:
        Finger(name="F", convention="placed", phalanges=(row(a=0.03),), tip=(0, 0, 0.1))
    assert str(message.value) == (
        "phalanges[0]: expected an origin only in a row of convention 'placed', "
        "found a, alpha, d or theta"
    )
    with pytest.raises(sg.DescriptionError) as message:
        Finger(name="F", convention="standard", phalanges=(row(a=0.03, origin=UPRIGHT),))
    assert str(message.value) == (
        "phalanges[0].origin: expected none with convention 'standard', found one"
    )
    assert math.isclose(UPRIGHT.quaternion[0], math.sqrt(0.5))
