"""Closures as values: selected by type, serialised, and refused with a message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import softgrasp as sg
from softgrasp.description.closure import CLOSURES, DefaultClosure
from softgrasp.errors import DescriptionError
from tests.conftest import Golden
from tests.support.scenes import pinch

SOME: dict[str, Any] = {
    "position-increment": sg.PositionIncrementClosure(samples=5),
    "synergy-increment": sg.description.SynergyIncrementClosure(synergy_stiffness=3.0, end=(2.0,)),
    "force-limited": sg.description.ForceLimitedClosure(torque=0.3),
    "underactuated": sg.description.UnderactuatedClosure(control_mode="tension", differential=True),
    "joint-torque": sg.description.JointTorqueClosure(rates=(1.0,), torque=0.2),
}


@pytest.mark.parametrize("name", SOME)
def test_closures_survive_serialisation(name: str) -> None:
    scene = pinch(closure=SOME[name])
    again = sg.GraspScene(**scene.model_dump(mode="json"))
    assert again == scene
    assert type(again.closure) is CLOSURES[name] is type(SOME[name])
    assert scene.closure.name == name


def test_position_increments_are_the_default_closure() -> None:
    default = pinch(closure={"samples": 3})
    assert not default.specifies_closure
    assert default.closure.specified == {"samples": 3}
    assert default.closure.concrete == sg.PositionIncrementClosure(samples=3)
    assert pinch().closure == DefaultClosure()
    assert pinch(closure=sg.PositionIncrementClosure()).specifies_closure
    for scene in (default, pinch(closure={"type": "position-increment"})):
        assert sg.GraspScene.model_validate_json(scene.model_dump_json()).closure == scene.closure


def test_every_closure_has_actuators_for_every_grasp() -> None:
    for name, kind in CLOSURES.items():
        hand = sg.load_hand("hybrid_gripper" if name == "pressure" else "four_finger")
        scene = pinch(hand=hand, closure=kind())
        sizes = {len(scene.actuators), len(scene.rates), len(scene.start), len(scene.limits)}
        assert len(sizes) == 1
        assert scene.longest_closure > 0.0


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: pinch(closure={"type": "magnet"}),
        "closure: expected default, position-increment, synergy-increment, force-limited, "
        "underactuated, joint-torque or pressure, found 'magnet'",
    ),
    (
        lambda: sg.description.ForceLimitedClosure(force=1.0, torque=1.0),
        "expected exactly one of force and torque, found both",
    ),
    (
        lambda: sg.description.ForceLimitedClosure(force=0.1),
        "expected a force above the contact threshold (0.1 N), found 0.1 N",
    ),
    (
        lambda: pinch(closure=sg.description.PressureClosure()),
        "closure: expected a hand with soft fingers, found 'four_finger' without",
    ),
    (
        lambda: pinch(closure=sg.description.JointTorqueClosure(rates=(1.0, 2.0))),
        "closure.rates: expected 1 rate, 3 (one per joint of a finger) or 12 (one per joint), "
        "found 2",
    ),
    (
        lambda: pinch(closure=sg.description.UnderactuatedClosure(rates=(0.1, 0.1))),
        "closure.rates: expected 1 or 4 values, one per tendon, found 2",
    ),
    (
        lambda: pinch(closure=sg.description.SynergyIncrementClosure(start=(0.0, 0.0))),
        "closure.start: expected 1 value, one per synergy, found 2",
    ),
    (
        lambda: pinch(closure=sg.description.SynergyIncrementClosure(start=(-9.0,))),
        "closure.start: expected weights that bring joint 'F1_J1' inside its limits "
        "[-0.523599, 1.5708] rad ([-30, 90]°), found -4.72976 rad (-270.995°)",
    ),
    (
        lambda: pinch(
            hand=sg.load_hand("soft_gripper"), closure=sg.description.UnderactuatedClosure()
        ),
        "closure.type: expected a hand with joints that are driven for closure 'underactuated', "
        "found 'soft_gripper' without",
    ),
    (
        lambda: pinch(closure=sg.PositionIncrementClosure(ends=(0.5, None))),
        "closure.ends: expected 12 values, one per joint, found 2",
    ),
    (
        lambda: pinch(closure=sg.description.JointTorqueClosure(ends=(None,) * 12)),
        "closure.ends: expected none with closure 'joint-torque', which does not move joints by "
        "their servos, found some",
    ),
]


def test_actuators_stop_at_their_ends_and_others_at_their_limits() -> None:
    plain = pinch()
    scene = pinch(closure=sg.PositionIncrementClosure(ends=(0.1, None, -9.0, *[None] * 9)))
    rates, start = plain.rates, plain.start
    assert rates[0] > 0.0
    assert scene.limits[0] == (plain.limits[0][0], 0.1)
    assert scene.limits[1] == plain.limits[1]
    assert scene.limits[2] == (plain.limits[2][0], start[2])  # an end behind the start: it stays
    assert scene.longest_closure == plain.longest_closure  # that of the others
    only = pinch(closure=sg.PositionIncrementClosure(ends=(0.1,) * 12))
    assert only.longest_closure < plain.longest_closure


@pytest.mark.parametrize(("make", "part"), REFUSED)
def test_closures_that_do_not_fit_are_refused(
    make: Callable[[], Any], part: str, golden: Golden
) -> None:
    golden.refused(make, part)


@pytest.mark.parametrize(
    "closure",
    [
        sg.description.ForceLimitedClosure(),
        sg.description.UnderactuatedClosure(),
        sg.description.JointTorqueClosure(),
        sg.description.SynergyIncrementClosure(synergy_stiffness=1.0),
    ],
    ids=lambda closure: closure.name,
)
def test_prescribed_joints_are_refused_with_closures_that_yield(
    closure: Any, golden: Golden
) -> None:
    golden.refused(lambda: pinch(closure=closure, actuation="prescribed"), "actuation")


def test_default_pulleys_follow_strength_and_rate_of_the_joints() -> None:
    scene = pinch(grasp="power")
    tendons = sg.description.UnderactuatedClosure().tendons_of(scene.hand, scene.preset)
    assert [tendon.name for tendon in tendons] == ["F1", "F2", "F3", "F4"]
    radii = [pulley.radius for pulley in tendons[0].pulleys]
    assert radii == pytest.approx([0.01, 0.01 * 1.5 / 2.4, 0.01 * 0.8 / 2.4])
    assert tendons[0].tension_limit == pytest.approx(0.25 * 2.4 / 0.01)
    (item,) = sg.description.UnderactuatedClosure(differential=True).tendons_of(
        scene.hand, scene.preset
    )
    assert len(item.pulleys) == 12


def test_tendons_of_the_hand_are_used() -> None:
    hand = sg.load_hand("underactuated_1")
    closure = sg.description.UnderactuatedClosure(tension=20.0)
    tendons = closure.tendons_of(hand, hand.grasps.power)
    assert [tendon.name for tendon in tendons] == ["thumb", "index", "middle"]
    assert {pulley.radius for tendon in tendons for pulley in tendon.pulleys} == {0.01}
    assert {tendon.tension_limit for tendon in tendons} == {20.0}


def with_tendon(*joints: str) -> sg.Hand:
    pulleys = tuple(sg.description.Pulley(joint=joint, radius=0.01) for joint in joints)
    return sg.load_hand("four_finger").replace(
        tendons=(sg.description.Tendon(name="T", pulleys=pulleys),)
    )


def test_tendons_over_missing_joints_are_refused(golden: Golden) -> None:
    with pytest.raises(DescriptionError, match="did you mean 'F1_J1'") as caught:
        with_tendon("F1_J2", "F1_J11")
    assert str(caught.value).startswith(
        "tendons[0].pulleys[1].joint: expected a joint of the hand, found 'F1_J11'; "
    )
    golden.refused(lambda: with_tendon("F1_J2", "F1_J2"), "pulleys[1]")
