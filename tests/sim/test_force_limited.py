"""Squeezing to a force: shipped hands with shipped objects, and what is said where it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.pipeline import compile_scene
from softgrasp.sim.contacts import ContactReader
from softgrasp.sim.control_state import RELEASE_RATIO
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sim.laws import relieve_targets
from softgrasp.sim.stepper import BACKTRACK_RATIO, TargetBacktracking
from tests.model.test_weak_servos import jaws
from tests.support.scenes import pinch

EXCESS = 0.4
"""What a drive may press above the force that was asked for, where nothing else presses [N]."""


def slow(*values: Any) -> Any:
    return pytest.param(*values, marks=pytest.mark.slow)


def squeezed(hand: str, obj: str, force: float = 5.0, **changes: Any) -> sg.GraspResult:
    scene = sg.GraspScene(
        hand=sg.load_hand(hand),
        object=sg.load_object(obj),
        grasp="power",
        closure=sg.description.ForceLimitedClosure(force=force, **changes),
        success=sg.SuccessCriterion(),
    )
    return sg.simulate(scene)


def fingertips(result: sg.GraspResult) -> list[float]:
    """Normal forces of the phalanges in contact when the closure has ended [N]."""
    row = np.searchsorted(result.time, result.phases[0].end_s)
    phalanges = [bool(contact.finger) for contact in result.contacts]
    forces: list[float] = result.normal_force[row, result.in_contact[row] & phalanges].tolist()
    return forces


@pytest.mark.parametrize(
    ("hand", "obj", "force"),
    [
        ("three_fingered", "sphere", 5.0),
        slow("three_fingered", "cylinder", 5.0),
        ("three_fingered", "cylinder", 2.0),
        ("three_fingered", "cuboid", 5.0),
        ("four_finger", "sphere", 5.0),
        slow("four_finger", "cylinder", 2.0),
        ("underactuated_1", "cylinder", 5.0),
        slow("underactuated_1", "cylinder", 2.0),
        slow("three_fingered", "mug", 5.0),
        slow("three_fingered", "pear", 5.0),
        slow("four_finger", "capsule", 5.0),
        slow("four_finger", "screwdriver", 5.0),
    ],
)
def test_opposed_fingers_press_with_the_force_that_was_requested(
    hand: str, obj: str, force: float
) -> None:
    result = squeezed(hand, obj, force)
    assert result.status is sg.GraspStatus.CLOSED
    assert result.held
    forces = fingertips(result)
    assert len(forces) == len(result.scene.hand.fingers)
    assert RELEASE_RATIO * force <= min(forces)
    assert max(forces) <= force + EXCESS


@pytest.mark.parametrize(
    ("hand", "obj"),
    [
        ("modular", "cylinder"),
        ("vizzy", "sphere"),
        slow("vizzy", "mug"),
        slow("dlr_hit_ii", "cylinder"),
        slow("allegro_right", "cylinder"),
        slow("ub_hand_iv", "cylinder"),
        slow("paradigmatic", "sphere"),
    ],
)
def test_hands_whose_parts_press_each_other_hold(hand: str, obj: str) -> None:
    result = squeezed(hand, obj)
    assert result.status is sg.GraspStatus.CLOSED
    assert result.held
    assert 0.8 * 5.0 <= max(fingertips(result)) <= 5.0 + EXCESS


def test_contact_is_established_soon_after_the_first_touch() -> None:
    # a finger that gave way at every touch began again for ever
    result = squeezed("three_fingered", "sphere")
    first = min(event.time_s for event in result.events if event.kind == "touching")
    begins = [contact.established_s[0] for contact in result.contacts if contact.in_contact]
    assert len(begins) == 3
    assert max(begins) - first < 0.1


@pytest.mark.slow
def test_the_force_does_not_depend_on_the_approach() -> None:
    scene = sg.GraspScene(hand=sg.load_hand("three_fingered"), object=sg.load_object("sphere"))
    ends = []
    for factor in (0.5, 1.0, 2.0):
        rates = tuple(factor * rate for rate in scene.closing_motion.rates)
        result = squeezed("three_fingered", "sphere", rates=rates)
        ends.append(fingertips(result))
        assert result.held
    assert np.array(ends) == pytest.approx(5.0, abs=EXCESS)
    slowly = squeezed("three_fingered", "sphere", contact_rate_fraction=0.01)
    assert max(fingertips(slowly)) == pytest.approx(5.0, abs=0.02)


def weight_moment(model: mujoco.MjModel, data: mujoco.MjData, joint: int) -> float:
    """Moment about a hinge of the weight of all that it carries [N·m]."""
    carried, moment = [int(model.jnt_bodyid[joint])], 0.0
    for body in range(carried[0], model.nbody):
        if body == carried[0] or model.body_parentid[body] in carried:
            carried.append(body)
            arm = data.xipos[body] - data.xanchor[joint]
            weight = model.body_mass[body] * model.opt.gravity
            moment += float(data.xaxis[joint] @ np.cross(arm, weight))
    return moment


@pytest.mark.parametrize("compensated", [1.0, 0.0])
def test_lag_is_cut_to_what_a_fraction_of_the_force_and_the_weight_need(compensated: float) -> None:
    run = ClosureRun(compile_scene(pinch(closure=sg.description.ForceLimitedClosure(force=5.0))))
    run.run()
    model, data = run.model, run.data
    model.opt.gravity[:], model.body_gravcomp[:] = (3.0, 0.0, -9.0), compensated
    data.qvel[:] = 0.0
    mujoco.mj_forward(model, data)
    own = next(p for p in ContactReader(model).read(data) if p.body == "F1_P3")
    actuator = [actuator.name for actuator in run.scene.actuators].index("F1_J2")
    joint = model.joint("F1_J2")
    reach = np.array(own.point) - data.xanchor[joint.id]
    arm = abs(data.xaxis[joint.id] @ np.cross(reach, own.normal))
    kp = model.actuator("F1_J2").gainprm[0]
    at = float(data.qpos[joint.qposadr[0]])
    far = run.state.targets.copy()
    far[actuator] = at + 1.0
    result = TargetBacktracking(model, run.layout).targets(data, far, [actuator])
    weight = abs(weight_moment(model, data, joint.id))
    assert weight > 0.01 * 5.0 * arm
    largest = BACKTRACK_RATIO * 5.0 * arm + (1.0 - compensated) * weight
    assert kp * (result[actuator] - at) == pytest.approx(largest, rel=1e-6)
    assert (np.delete(result, actuator) == np.delete(far, actuator)).all()
    near = far.copy()
    near[actuator] = at + 1e-6  # never ahead of where it is
    assert (
        TargetBacktracking(model, run.layout).targets(data, near, [actuator])[actuator]
        == near[actuator]
    )
    far[actuator] = at - 1.0  # a target behind its joint lags by no more
    behind = TargetBacktracking(model, run.layout).targets(data, far, [actuator])
    assert kp * (at - behind[actuator]) == pytest.approx(largest, rel=1e-6)


def test_a_touch_that_never_becomes_a_contact_is_reported() -> None:
    result = sg.simulate(pinch(closure=sg.PositionIncrementClosure(threshold=500.0), duration=1.2))
    message = [warning for warning in result.warnings if "no contact was established" in warning]
    assert len(message) == 1
    assert "touched the object for" in message[0]
    assert "contact takes 10 samples in a row above 500 N; lower closure.threshold" in message[0]
    assert not [warning for warning in sg.simulate(pinch()).warnings if "established" in warning]


def test_a_force_out_of_reach_is_reported_with_advice() -> None:
    result = sg.simulate(
        pinch(closure=sg.description.ForceLimitedClosure(force=1000.0), duration=0.8)
    )
    message = [warning for warning in result.warnings if "requested" in warning]
    assert len(message) == 1
    assert message[0].startswith("at the end of the closure F")
    assert "pressed with less than the requested 1000 N" in message[0]
    assert "request a lower closure.force" in message[0]
    reached = sg.simulate(pinch(closure=sg.description.ForceLimitedClosure(force=5.0)))
    assert not [warning for warning in reached.warnings if "requested" in warning]


def test_an_object_that_was_pushed_out_is_reported_with_advice() -> None:
    result = sg.simulate(
        sg.GraspScene(
            hand=sg.load_hand("three_fingered"),
            object=sg.load_object("strawberry"),
            grasp="precision",
            closure=sg.description.ForceLimitedClosure(force=5.0),
        )
    )
    assert result.outcome.name in ("EJECTED", "MISSED")
    message = [warning for warning in result.warnings if "the last contact was lost at" in warning]
    assert len(message) == 1
    assert "pressed to the requested 5 N" in message[0]
    assert "try another closure.force, the other grasp" in message[0]


@pytest.mark.parametrize(
    ("hand", "obj", "force"),
    [
        ("paradigmatic", "sphere", 5.0),
        ("human_24dof", "sphere", 5.0),
        slow("ub_hand_iv", "pear", 5.0),
        slow("dlr_hit_ii_coupled", "capsule", 5.0),
        slow("paradigmatic", "sphere", 2.0),
    ],
)
def test_a_thumb_against_four_fingers_keeps_its_limit(hand: str, obj: str, force: float) -> None:
    # it ended with up to four times its limit, as four fingers pressed the object against it
    closure = sg.description.ForceLimitedClosure(force=force)
    scene = sg.GraspScene(
        hand=sg.load_hand(hand), object=sg.load_object(obj), grasp="precision", closure=closure
    )
    result = sg.simulate(scene)
    assert result.status is sg.GraspStatus.CLOSED
    reached = {reached_force.finger: reached_force for reached_force in result.reached_forces}
    assert len(reached) >= 3
    assert all(item.force_N <= 1.05 * force for item in reached.values())
    weak = [item for item in reached.values() if item.force_N < RELEASE_RATIO * force]
    assert any(item.force_N >= RELEASE_RATIO * force for item in reached.values())
    assert all(item.reason for item in weak)


@pytest.mark.slow
def test_the_table_of_limits_is_saved(tmp_path: Path) -> None:
    result = sg.simulate(pinch(closure=sg.description.ForceLimitedClosure(force=3.0)))
    result.save(tmp_path)
    assert len(result.reached_forces) == 4
    assert sg.load_result(tmp_path).reached_forces == result.reached_forces
    for reached_force in result.reached_forces:
        assert (reached_force.limit_N, reached_force.reason, reached_force.exceeds) == (
            3.0,
            "",
            False,
        )
        row = result.normal_force[-10:, result.contact_bodies.tolist().index(reached_force.body)]
        assert reached_force.force_N == pytest.approx(row.mean())
    assert sg.simulate(pinch()).reached_forces == ()


def test_leads_shrink_by_the_ratio_of_limit_and_force() -> None:
    stops = [(0, 1), (1,), (), (2,)]
    targets, positions = [1.0, 2.0, 3.0, 4.0], [0.9, 2.2, 3.0, 3.5]
    relieved = relieve_targets(targets, positions, [1.0, 8.0, 3.9], 4.0, stops)
    assert relieved == pytest.approx([0.9 + 0.05, 2.2 - 0.1, 3.0, 4.0])
    assert relieve_targets(targets, positions, [4.0, 4.0, 4.0], 4.0, stops) == targets


@pytest.mark.slow
def test_servos_of_a_file_keep_the_torque(tmp_path: Path) -> None:
    hand = sg.load_hand(jaws(tmp_path, 4000.0))
    closure = sg.description.ForceLimitedClosure(torque=2.5)
    scene = sg.GraspScene(hand=hand, object=sg.load_object("sphere"), closure=closure)
    run = ClosureRun(compile_scene(scene))
    run.run()
    assert run.recording.in_contact[run.recording.rows - 1].any()
    assert np.abs(run.data.actuator_force).max() == pytest.approx(2.5, rel=1e-3)
