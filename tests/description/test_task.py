"""Sequences, preshapes and criteria: short forms, defaults, and sentences about what cannot be."""

from __future__ import annotations

from typing import Any

import pytest

import softgrasp as sg
from tests.conftest import Golden
from tests.support.scenes import pinch


def test_a_type_alone_is_a_phase_with_its_defaults() -> None:
    scene = pinch(sequence=("approach", "close", {"type": "lift", "height": 0.2}))
    assert scene.sequence == (
        sg.description.ApproachPhase(),
        sg.description.ClosePhase(),
        sg.description.LiftPhase(height=0.2),
    )
    assert [phase.label for phase in scene.sequence] == ["approach", "close", "lift"]
    assert scene.on_wrist
    assert not scene.is_plain
    assert sg.GraspScene.model_validate_json(scene.model_dump_json()) == scene


def test_peak_acceleration_of_a_shake() -> None:
    shake = sg.description.ShakePhase(amplitude=0.05, frequency=2.0, cycles=3)
    assert shake.time == 1.5
    assert shake.peak_acceleration == pytest.approx(7.8957 * 1.1122, rel=1e-4)  # A(2πf)² and more
    assert sg.description.ShakePhase().reach == 0.02
    assert sg.description.ShakePhase(angle=0.1).reach == 0.0


def test_criteria_with_other_tests_keep_the_gravity_of_the_scene() -> None:
    assert sg.SuccessCriterion().gravity == (0.0, 0.0, -9.81)
    assert sg.SuccessCriterion(motion=("lift",)).gravity is None
    assert sg.SuccessCriterion(directions=((1.0, 0.0, 0.0),)).gravity is None
    both = sg.SuccessCriterion(directions=((1.0, 0.0, 0.0),), gravity=(0.0, 0.0, -1.0))
    assert both.gravity == (0.0, 0.0, -1.0)
    assert both.replace(name="b").gravity == both.gravity
    assert sg.SuccessCriterion(motion=("lift",)).replace(name="c").gravity is None


def test_a_scene_starts_from_a_preshape() -> None:
    assert pinch(preshape="straight").start == (0.0,) * 12
    led = pinch(sequence=({"type": "preshape", "preshape": "straight"}, "close"))
    assert led.start == pinch().start
    assert led.closing_start == (0.0,) * 12


REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"sequence": ("approach", "clos")},
        "sequence[1]: expected approach, preshape, close, hold, lift, move, shake, release or "
        "place, found 'clos'; did you mean 'close'?",
    ),
    (
        {"sequence": ("release", "close")},
        "sequence[0].type: expected a release only after 'close', found it before",
    ),
    (
        {"sequence": ("close", "place", "release")},
        "sequence[2].type: expected one release or place, found 2",
    ),
    (
        {"sequence": ("close", "place"), "success": {"gravity": [0, 0, -1.0]}},
        "success: expected no gravity, motion, directions, pulls or removes beside a sequence that "
        "lets the object go, after which they would act; found some",
    ),
    (
        {"success": {"motion": ["place"]}},
        "success.motion[0]: expected hold, lift, move or shake, found 'place'",
    ),
    (
        {"sequence": ("close", {"type": "place", "max_force": 0.0})},
        "sequence[1].max_force: expected a number above 0, found 0.0",
    ),
    ({"sequence": ("close", "close")}, "sequence[1].type: expected one close, found 2"),
    ({"sequence": ("hold",)}, "sequence: expected one close among its phases, found none"),
    (
        {"sequence": ("close", "approach")},
        "sequence[1].type: expected an approach only as the first phase, found it after 'close'; "
        "use 'move' for later motions",
    ),
    (
        {"sequence": ("close", {"type": "preshape", "preshape": "open"})},
        "sequence[1].type: expected a preshape only before the fingers close, found it after "
        "'close'",
    ),
    (
        {"sequence": ("close", "lift"), "object_mount": "fixed"},
        "sequence[1]: expected a free object to lift, found a fixed one",
    ),
    (
        {"success": {"motion": ["shake"]}, "object_mount": "planar"},
        "success.motion[0]: expected a free object to shake, found a planar one",
    ),
    (
        {"sequence": ("close", "lift"), "lift": {}, "gravity": True},
        "lift: expected a lift or a sequence, found both; lift is also a phase of sequences",
    ),
    (
        {"sequence": ("close", {"type": "move"})},
        "sequence[1]: expected a displacement or a rotation, found neither",
    ),
    (
        {"sequence": ("close", {"type": "shake", "amplitude": 0.0})},
        "sequence[1]: expected an amplitude or an angle, found neither",
    ),
    (
        {"sequence": ("close", {"type": "shake", "direction": (0, 0, 0)})},
        "sequence[1].direction: expected a direction, found a vector without length",
    ),
    (
        {"sequence": ("close", {"type": "lift", "hight": 1.0})},
        "sequence[1].hight: no such field; did you mean 'height'? known: height, name, time, type",
    ),
    (
        {"success": {"motion": ["close"]}},
        "success.motion[0]: expected hold, lift, move or shake, found 'close'",
    ),
    (
        {"success": {"gravity": None}},
        "success: expected something that tests the grasp: gravity, motion, directions or pulls "
        "here, or a sequence that continues after its close; found none",
    ),
    (
        {"success": {"directions": [[0, 1.0, 0]]}, "object_mount": "planar"},
        "success.directions[0]: expected a component in the x–z plane, in which a planar object "
        "moves, found (0.0, 1.0, 0.0)",
    ),
    ({"preshape": "strait"}, "preshape: hand 'four_finger' has no preshape 'strait'; did"),
    (
        {"sequence": ({"type": "preshape", "preshape": "fist"}, "close")},
        "sequence[0].preshape: hand 'four_finger' has no preshape 'fist'",
    ),
]


@pytest.mark.parametrize(("changes", "part"), REFUSED)
def test_impossible_tasks_are_refused(changes: dict[str, Any], part: str, golden: Golden) -> None:
    golden.refused(lambda: pinch(**changes), part)


def test_preshapes_beyond_limits_are_refused_in_degrees(golden: Golden) -> None:
    hand = sg.load_hand("four_finger")
    golden.refused(
        lambda: hand.replace(preshapes={"far": (0.0, 2.0, *(0.0,) * 10)}),
        "preshapes[0].positions[1]",
    )
    golden.refused(lambda: hand.replace(preshapes={"short": (0.0,)}), "preshapes[0].positions")
    twice = [{"name": "a", "positions": (0.0,) * 12}] * 2
    golden.refused(lambda: hand.replace(preshapes=twice), "preshapes[1].name")
