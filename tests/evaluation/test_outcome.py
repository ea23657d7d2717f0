"""Outcomes: a scene that ends in each of them, edges of thresholds, and the words that follow."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.cli.grasp import summary_lines
from softgrasp.evaluation.outcome import EJECTION_SPEED, SLIPPING_SPEED
from softgrasp.mechanics.transforms import quaternion_of, transform
from softgrasp.model.names import hand_body
from softgrasp.quality import can_balance
from softgrasp.report import grasp_text
from softgrasp.report.grasp_tables import key_numbers
from softgrasp.sim.hold_test import palm_body
from softgrasp.sweeps.table import row_of
from tests.conftest import Golden
from tests.sim.test_put_down import PLACE, carry
from tests.sim.test_simulate import diverging
from tests.support.pads import on_a_stand, pads
from tests.support.scenes import ball, pinch

Outcome = sg.Outcome
TEST = sg.SuccessCriterion(ramp_time=0.1, hold_time=0.3)
FLICK = sg.PositionIncrementClosure(rates=(3.0, 0.5, 0.5), active=(True,) * 3 + (False,) * 9)


@cache
def ending(name: str) -> sg.GraspResult:
    """A run that ends in an outcome, by the name of its cause."""
    slippery = sg.Contact(static_friction=0.02)
    scenes = {
        "held": lambda: pinch(success=TEST),
        "without a test": pinch,
        "heavy object": lambda: pads(2, success=TEST, object=ball(0.03).weighing(mass=0.825)),
        "slippery object": lambda: pads(2, success=TEST, contact=slippery),
        "on a stand": lambda: pads(2, success=TEST, contact=slippery, **on_a_stand()),
        "yielding servos": lambda: pads(2, success=TEST.replace(gravity=(40.0, 0.0, 0.0))),
        "flicked away": lambda: pinch(closure=FLICK, duration=1.5),
        "ball beside the hand": lambda: pinch(object_position=(0.0, 0.0, -0.14)),
        "beside it, with a test": lambda: pinch(object_position=(0, 0, -0.14), success=TEST),
        "short timeout": lambda: pinch(duration=0.05),
        "no rates": lambda: pinch(closure=sg.PositionIncrementClosure(rates=0.0), success=TEST),
        "out of reach": lambda: pinch(object_position=(0.5, 0.0, 0.0)),
        "too stiff": lambda: diverging(success=TEST),
        "put down": lambda: carry(PLACE),
        "let go in the air": lambda: carry("release", "hold"),
    }
    return sg.simulate(scenes[name]())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("held", Outcome.HELD),
        ("without a test", Outcome.CLOSED),
        ("heavy object", Outcome.SLIPPING),
        ("slippery object", Outcome.DROPPED),
        ("on a stand", Outcome.SUPPORTED),
        ("yielding servos", Outcome.SHIFTED),
        ("flicked away", Outcome.EJECTED),
        ("ball beside the hand", Outcome.MISSED),
        ("beside it, with a test", Outcome.MISSED),
        ("short timeout", Outcome.TIMED_OUT),
        ("no rates", Outcome.NOT_CLOSED),
        ("out of reach", Outcome.NOT_CLOSED),
        ("too stiff", Outcome.UNSTABLE),
        ("put down", Outcome.PLACED),
        ("let go in the air", Outcome.MISPLACED),
    ],
)
def test_every_outcome_comes_from_its_cause(name: str, expected: sg.Outcome) -> None:
    result = ending(name)
    assert result.outcome is expected, result.message
    criterion = result.success_criterion
    held = expected in (Outcome.HELD, Outcome.PLACED, Outcome.MISPLACED)
    assert result.held is (None if criterion is None else held)
    assert row_of(result)["outcome"] == expected.name
    word, tone = grasp_text.verdict(result)
    assert word == expected.name.capitalize().replace("_", " ")
    if name in ("held", "heavy object", "slippery object", "on a stand", "yielding servos"):
        # the closure gripped, whatever became of it in the test
        assert result.status is sg.GraspStatus.CLOSED
    tones = {Outcome.HELD: "good", Outcome.PLACED: "good", Outcome.CLOSED: "neutral"}
    assert tone == tones.get(expected, "bad")
    # it is said of no other end that the hand has closed on the object
    assert ("has closed on the object" in result.message) is (expected is Outcome.CLOSED)


def test_every_outcome_is_produced_above() -> None:
    marks = test_every_outcome_comes_from_its_cause.pytestmark[0].args[1]
    assert {expected for _, expected in marks} == set(Outcome)


def test_a_hand_without_rates_is_refused_before_the_object_moves(golden: Golden) -> None:
    refused = ending("no rates")
    assert refused.status is sg.GraspStatus.NOT_CLOSED
    golden(refused.message, "the hand cannot close on the object and was not moved")
    assert len(refused.time) == 1
    assert refused.object.displacement_m == (0.0, 0.0, 0.0)


def test_a_hand_that_presses_on_one_side_alone_has_not_closed_on_the_object() -> None:
    assert sg.simulate(pads(1)).outcome in (Outcome.MISSED, Outcome.EJECTED)
    assert sg.simulate(pads(2)).outcome is Outcome.CLOSED
    assert sg.simulate(pads(3)).outcome is Outcome.CLOSED


def test_a_saved_result_has_the_same_outcome(tmp_path) -> None:
    for name in ("held", "no rates", "too stiff", "slippery object"):
        ending(name).save(tmp_path / name)
        loaded = sg.load_result(tmp_path / name)
        assert loaded.outcome is ending(name).outcome
        assert loaded.message == ending(name).message


def test_an_object_that_creeps_faster_than_the_limit_slips() -> None:
    assert ending("held").hold.creep_m_s < SLIPPING_SPEED
    wide = TEST.replace(max_drop=1.0, max_rotation=3.0)
    crept = sg.simulate(pads(2, success=wide, object=ball(0.03).weighing(mass=0.825)))
    assert crept.hold.creep_m_s > SLIPPING_SPEED
    assert (crept.held, crept.outcome) == (False, Outcome.SLIPPING)
    assert crept.message == (
        f"the object slips in the hand: it moved by {1e3 * crept.hold.drop_m:.3g} mm in the palm, "
        f"at {1e3 * crept.hold.creep_m_s:.2g} mm/s at the end"
    )


@pytest.mark.parametrize(("factor", "expected"), [(0.99, "MISSED"), (1.01, "EJECTED")])
def test_the_speed_at_the_last_contact_parts_missed_from_ejected(factor, expected) -> None:
    missed = ending("ball beside the hand")
    force, moved = missed.normal_force.copy(), missed.object_position.copy()
    force[:101, 0] = 1.0  # the last touch is at row 100
    after = np.clip(missed.time - missed.time[100], 0.0, 0.01)  # it stops 10 samples later
    moved[:, 0] += factor * EJECTION_SPEED * after
    assert replace(missed, normal_force=force, object_position=moved).outcome.name == expected


@pytest.mark.parametrize(("fraction", "expected"), [(0.49, "NOT_CLOSED"), (0.51, "MISSED")])
def test_a_hand_that_makes_less_than_half_of_its_travel_is_held_back(fraction, expected) -> None:
    missed = ending("ball beside the hand")
    assert not missed.normal_force.any()
    moved = missed.joint_position.copy()
    for actuator in missed.scene.actuators:
        target = missed.joint_target[:, missed.actuator_names == actuator.name]
        moved[:, missed.joint_names == actuator.joint] = fraction * (target - target[0])
    assert replace(missed, joint_position=moved).outcome.name == expected


def test_an_object_that_one_push_has_taken_is_dropped_though_another_one_has_not() -> None:
    pushes = {"directions": ((0.0, 0.0, -400.0), (1.0, 0.0, 0.0)), "direction_time": 0.2}
    result = sg.simulate(pads(2, success=sg.SuccessCriterion(**pushes, max_drop=0.05)))
    assert [test.contacts for test in result.hold.directions] == [0, 2]
    assert [test.held for test in result.hold.directions] == [False, True]
    assert result.outcome is Outcome.DROPPED


def test_an_object_is_ejected_from_two_radii_on() -> None:
    brief = [sg.simulate(pinch(closure=FLICK, duration=duration)) for duration in (0.7, 0.75)]
    travels = [float(np.linalg.norm(result.object.displacement_m)) for result in brief]
    assert 0.05 < travels[0] < 2.0 * 0.03 < travels[1] < 0.07
    assert [result.status.name for result in brief] == ["TIMED_OUT", "EJECTED"]


def test_targets_of_the_wrist_do_not_count_as_closing() -> None:
    closed = sg.simulate(pinch(sequence=("close",)))
    assert closed.outcome is Outcome.CLOSED
    count = len(closed.scene.actuators)
    for column, expected in ((count, Outcome.CLOSED), (count - 1, Outcome.TIMED_OUT)):
        targets = closed.joint_target.copy()
        targets[-1, column] += 1e-4
        assert replace(closed, joint_target=targets).outcome is expected, column


def test_warnings_of_the_engine_make_a_run_unstable() -> None:
    texts = (
        "MuJoCo: Nan, Inf or huge value in CTRL at ACTUATOR 1. The simulation is unstable (once)",
        "MuJoCo: Linesearch objective is not convex (once; rounding in the solver)",
    )
    unstable, harmless = (replace(ending("held"), warnings=(text,)) for text in texts)
    assert unstable.outcome is Outcome.UNSTABLE
    assert unstable.message == f"the simulation is unstable: {texts[0]}"
    assert harmless.outcome is Outcome.HELD


def test_one_contact_is_no_grasp() -> None:
    closed = ending("without a test")
    item = closed.in_contact.copy()
    item[-1, np.flatnonzero(item[-1])[1:]] = False
    single = replace(closed, in_contact=item)
    assert single.outcome is Outcome.MISSED
    assert single.message == (
        "the hand has closed beside the object: no two opposing contacts press on it at the end"
    )


@pytest.mark.parametrize("friction", [0.0, 0.3, 1.0])
def test_two_contacts_balance_up_to_twice_the_friction_angle(friction: float) -> None:
    limit = 2.0 * math.atan(friction)
    for angle, expected in ((limit - 0.02, True), (limit + 0.02, False)):
        second = (-math.cos(angle), math.sin(angle), 0.0)
        assert can_balance([(1.0, 0.0, 0.0), second], friction) is (expected and angle >= 0.0)
    assert can_balance([(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0)], friction)
    assert not can_balance([(1.0, 0.0, 0.0)], friction)
    assert can_balance([(math.cos(a), math.sin(a), 0.0) for a in (0.0, 2.0, 4.0)], friction)


ARM = 0.1
"""Distance of the wrist joint from the ball [m]."""


def hanging(stiffness: float) -> sg.Hand:
    """Two pads on a wrist beside the ball, which bends about y with that stiffness [N·m/rad]."""
    hand = pads(2).hand
    onto_y = sg.Pose(position=(-ARM, 0.0, 0.0), quaternion=(math.sqrt(0.5), -math.sqrt(0.5), 0, 0))
    wrist = sg.description.Finger(
        name="wrist",
        base=onto_y,
        convention="placed",
        phalanges=(
            sg.description.Phalanx(
                limits=(-1.0, 1.0),
                shape=sg.Sphere(radius=0.01),
                density=1000,
                servo_stiffness=stiffness,
                force_limit=50.0,
                armature=0.01,
            ),
        ),
    )
    back = np.linalg.inv(transform(onto_y.position, onto_y.quaternion))
    carried = []
    for finger in hand.fingers:
        base = back @ transform(finger.base.position, finger.base.quaternion)
        pose = sg.Pose(position=tuple(base[:3, 3].tolist()), quaternion=quaternion_of(base))
        carried.append(finger.replace(on="wrist_P1", base=pose))
    preset = sg.description.GraspPreset(center=(0, 0, 0), rates=(0.0, 0.1, 0.1))
    grasps = sg.description.Grasps(power=preset, precision=preset)
    return hand.replace(fingers=(wrist, *carried), grasps=grasps)


@cache
def hung(stiffness: float) -> sg.GraspResult:
    return sg.simulate(pads(2, hand=hanging(stiffness), success=TEST.replace(hold_time=0.6)))


LOADED = TEST.replace(gravity=(3.0, 4.0, -9.0), motion=({"type": "lift", "height": 0.02},))


@cache
def lifted(**limits: float) -> sg.GraspResult:
    """A ball that is loaded and then lifted, under a criterion with other limits."""
    return sg.simulate(pinch(success=LOADED.replace(**limits)))


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("max_drop", "drop_m"),
        ("max_rotation", "rotation_rad"),
        ("max_creep", "creep_m_s"),
        ("min_lift", "lifted_m"),
    ],
)
def test_a_grasp_is_held_within_each_limit_and_not_beyond_it(limit: str, value: str) -> None:
    hold = lifted(min_lift=0.0).hold
    assert hold is not None
    measured = getattr(hold, value)
    assert measured > 0.0
    within, beyond = (1.01, 0.99) if limit.startswith("max") else (0.99, 1.01)
    assert lifted(**{limit: within * measured}).held is True
    assert lifted(**{limit: beyond * measured}).held is False


def test_as_many_contacts_as_required_hold_and_fewer_do_not() -> None:
    assert [lifted(min_contacts=count).held for count in (4, 5)] == [True, False]


def test_a_lift_is_no_sag_of_the_palm() -> None:
    hold = lifted(min_lift=0.0).hold
    assert hold.lifted_m == pytest.approx(0.02, rel=0.02)
    assert hold.sag_m is not None
    assert hold.sag_m < 0.1 * hold.lifted_m


@pytest.mark.parametrize(("angle", "expected"), [(72.0, "CLOSED"), (74.0, "MISSED")])
def test_contacts_oppose_within_both_friction_angles_and_ten_degrees(angle, expected) -> None:
    assert 72.0 < 2.0 * (math.degrees(math.atan(0.5)) + 10.0) < 74.0
    closed = sg.simulate(pads(2))
    first, second = closed.contacts
    turn = math.radians(angle)
    assert first.normal == pytest.approx((-1.0, 0.0, 0.0))
    oblique = second.replace(normal=(math.cos(turn), math.sin(turn), 0.0))
    assert replace(closed, contacts=(first, oblique)).outcome.name == expected


def test_a_wrist_that_sags_drops_nothing() -> None:
    soft, stiff = hung(10.0), hung(1000.0)
    for result in (soft, stiff):
        assert (result.held, result.outcome) == (True, Outcome.HELD)
        assert result.hold.drop_m < 1e-4
        assert row_of(result)["hold_sag_m"] == result.hold.sag_m
    assert soft.hold.sag_m is not None
    begin = int(np.searchsorted(soft.time, soft.hold.start_s))
    fallen = np.linalg.norm(soft.object_position[begin:] - soft.object_position[begin], axis=1)
    # in the world the ball falls farther than the criterion allows: with the palm
    assert fallen.max() > TEST.max_drop
    assert soft.hold.sag_m == pytest.approx(fallen.max(), rel=0.05)
    torque = ARM * soft.hold.weight_N  # the hand itself is compensated
    assert soft.hold.sag_m == pytest.approx(ARM * torque / 10.0, rel=0.01)
    assert stiff.hold.sag_m == pytest.approx(soft.hold.sag_m / 100.0, rel=0.1)


def test_the_sag_of_a_test_begins_with_the_test() -> None:
    before, stiffness = 2.0, 10.0
    result = sg.simulate(
        pads(2, hand=hanging(stiffness), success=TEST, gravity=(0.0, 0.0, -before))
    )
    added = result.hold.weight_N * (1.0 - before / 9.81)  # the weight before it bends it already
    assert result.hold.sag_m == pytest.approx(ARM**2 * added / stiffness, rel=0.02)


def test_page_and_terminal_name_the_sag() -> None:
    soft = hung(10.0)
    assert soft.hold is not None
    clause = grasp_text.sag_clause(soft)
    assert re.fullmatch(r"The palm sagged by \d\.\d+ mm", clause)
    assert clause in grasp_text.summary(soft)
    assert dict(key_numbers(soft))["Sag of the palm"] in clause
    assert f"sag       {clause}" in summary_lines(soft)
    assert grasp_text.sag_clause(ending("held")) == ""
    assert "Sag of the palm" not in dict(key_numbers(ending("held")))


def test_the_palm_is_behind_the_wrist() -> None:
    for hand, palm in ((hanging(1.0), "wrist_P1"), (sg.load_hand("four_finger"), "palm")):
        model = sg.compile_model(sg.GraspScene(hand=hand, object=ball(0.02)))
        assert model.body(palm_body(model, hand)).name == palm


@pytest.mark.parametrize("fixed", [1, 2])
def test_the_palm_carries_all_fingers(fixed: int) -> None:
    """One finger stands beside the wrist, on the base; the other on the wrist."""
    hand = hanging(1.0)
    fingers = list(hand.fingers)
    fingers[fixed] = fingers[fixed].replace(on="")
    hand = hand.replace(fingers=tuple(fingers))
    model = sg.compile_model(sg.GraspScene(hand=hand, object=ball(0.02)))
    assert model.body(palm_body(model, hand)).name == hand_body(hand)


@pytest.mark.parametrize(("speed", "expected"), [(0.9e-4, "SHIFTED"), (1.1e-4, "SLIPPING")])
def test_what_left_the_limits_and_rests_does_not_slip(speed: float, expected: str) -> None:
    shifted = ending("yielding servos")
    # two servos of 2 kN/m in the direction of the load
    assert shifted.hold.drop_m == pytest.approx(shifted.hold.weight_N / 4e3, rel=0.05)
    assert shifted.message == (
        "the object rests in the hand, but not within the limits of the test: it moved by "
        f"{1e3 * shifted.hold.drop_m:.3g} mm in the palm, more than the 0.5 mm allowed"
    )
    assert replace(shifted, hold=shifted.hold.replace(creep_m_s=speed)).outcome.name == expected


def test_a_limit_of_creep_below_the_speed_of_rest_counts() -> None:
    shifted = ending("yielding servos")
    scene = shifted.scene.replace(success=TEST.replace(max_creep=1e-6))
    crept = replace(shifted, scene=scene, hold=shifted.hold.replace(creep_m_s=2e-6))
    assert crept.outcome is Outcome.SLIPPING


def two_in_a_row() -> sg.GraspScene:
    """A ball and a box that press on one another between four fingers."""
    box = sg.description.PlacedObject(
        object=sg.load_object("cuboid"), position=(0.0276, 0, -0.08), name="box"
    )
    ball_of_25 = sg.load_object("sphere_25")
    return pinch(object=ball_of_25, object_position=(-0.02, 0, -0.08), objects=(box,))


@pytest.mark.parametrize("name", ["against_wall", "corner", "two in a row"])
def test_a_grasp_against_a_wall_or_an_object_closes(name: str) -> None:
    scene = two_in_a_row() if name == "two in a row" else sg.load_scene(name)
    closed = sg.simulate(scene.replace(success=None))
    assert closed.outcome is Outcome.CLOSED, closed.message
    assert closed.closing_contacts == ()  # those at the end
    # the same contacts of the hand alone cannot balance
    assert replace(closed, other_contacts=()).outcome is Outcome.MISSED


def test_what_falls_from_a_wall_was_grasped() -> None:
    scene = sg.load_scene("against_wall")
    fallen = sg.simulate(scene.replace(object=scene.object.weighing(mass=1.1)))
    assert {contact.second for contact in fallen.closing_contacts} == {"wall"}
    assert (fallen.status, fallen.outcome) == (sg.GraspStatus.CLOSED, Outcome.DROPPED)
    assert replace(fallen, closing_contacts=()).outcome is Outcome.MISSED


@pytest.mark.parametrize(
    ("gravity", "outcome", "held"),
    [
        ((0.0, 0.0, 0.0), Outcome.CLOSED, None),
        ((0.0, 0.0, -1e-6), Outcome.CLOSED, None),
        ((0.0, -0.097, 0.0), Outcome.CLOSED, None),
        ((0.0, -0.099, 0.0), Outcome.HELD, True),
    ],
)
def test_no_load_proves_nothing(gravity, outcome, held) -> None:
    result = sg.simulate(pads(2, success=TEST.replace(gravity=gravity)))
    assert (result.outcome, result.held) == (outcome, held)
    assert ("the test applied no load" in result.message) is (held is None)
    assert any("the test applied no load" in text for text in result.warnings) is (held is None)


def test_a_hold_phase_without_gravity_proves_nothing() -> None:
    still = sg.SuccessCriterion(gravity=None, motion=({"type": "hold", "time": 0.1},))
    result = sg.simulate(pads(2, success=still))
    assert (result.outcome, result.held) == (Outcome.CLOSED, None)
    assert "does not show whether the hand holds it" in grasp_text.summary(result)


def test_inertia_alone_may_hold_and_is_named() -> None:
    shake = {"type": "shake", "amplitude": 0.01, "frequency": 4.0, "direction": (0, 0, 1)}
    result = sg.simulate(pads(2, success=sg.SuccessCriterion(gravity=None, motion=(shake,))))
    largest = 1.1122 * 0.01 * (2.0 * math.pi * 4.0) ** 2
    assert result.hold.load_m_s2 == result.hold.inertia_m_s2 == pytest.approx(largest)
    assert result.outcome is Outcome.HELD
    assert result.message == (
        "the object was held in the hold test, whose only load was the inertia of the motion, up "
        f"to {largest:.3g} m/s² without gravity"
    )
