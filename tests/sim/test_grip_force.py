"""Grip force of position increments: servos that contact has stopped press with a force at most."""

from __future__ import annotations

from typing import Any

import pytest

import softgrasp as sg
from softgrasp import assets
from softgrasp.backends.webots.backend import world_and_job
from softgrasp.errors import SoftgraspError
from softgrasp.mechanics.hand_kinematics import contact_arms
from softgrasp.pipeline import compile_scene
from softgrasp.report.grasp_tables import acting_notes
from softgrasp.sim.control_state import closure_layout
from softgrasp.sim.grasp_run import ClosureRun
from tests.support.scenes import pinch


def limited(force: float | str | None, **changes: Any) -> sg.GraspScene:
    closure = sg.PositionIncrementClosure(grip_force=force)
    return pinch(closure=closure, success=sg.SuccessCriterion(), **changes)


@pytest.mark.parametrize("grasp", ["precision", "power"])
def test_no_stopped_servo_exceeds_the_torque_of_its_grip_force(grasp: str) -> None:
    force, hand = 2.0, sg.load_hand("four_finger")
    scene = limited(force, hand=hand, object=sg.load_object("sphere"), grasp=grasp)
    run = ClosureRun(compile_scene(scene))
    run.close()
    arms = contact_arms(hand, hand.posture([actuator.start for actuator in hand.actuators]))
    assert arms["F1_J1"] == pytest.approx({"F1_P1": 0.05, "F1_P2": 0.085, "F1_P3": 0.113})
    checked = 0
    for index, actuator in enumerate(scene.actuators):
        stops = [run.built.bodies.index(body) for body in actuator.stops]
        touching = [body for body in stops if run.state.in_contact[body]]
        if touching:
            stiffness = run.model.actuator(actuator.name).gainprm[0]
            lead = abs(
                run.state.targets[index] - run.data.qpos[run.layout.joint_of_actuator[index]]
            )
            arm = max(arms[actuator.name][run.built.bodies[body]] for body in touching)
            assert stiffness * lead <= 1.0001 * force * arm
            checked += 1
    assert checked >= 8


def test_a_lower_force_presses_less_and_none_leaves_the_trajectory() -> None:
    results = [sg.simulate(limited(force)) for force in (None, 1e3, 4.0, 2.0)]
    assert all(result.held for result in results)
    assert results[0].trajectory_sha256 == results[1].trajectory_sha256
    squeezes = [sum(c.normal_force_N for c in result.contacts) for result in results[1:]]
    assert squeezes[0] > 1.3 * squeezes[1] > 1.3 * 1.3 * squeezes[2]


@pytest.mark.slow
def test_prescribed_joints_and_the_scenes_of_the_paper_have_no_limit() -> None:
    scene = sg.load_scene("paper004_precision_cylinder")
    assert scene.hand.grip_force is not None
    limit = scene.replace(closure=scene.closure.replace(grip_force="hand"))
    assert limit.actuation == "prescribed"
    assert not any(closure_layout(compile_scene(limit)).leads)
    assert any(closure_layout(compile_scene(limit.replace(actuation="servo"))).leads)
    assert sg.simulate(scene).trajectory_sha256 == sg.simulate(limit).trajectory_sha256
    for name in assets.names("scenes"):
        if name.startswith("paper004_"):
            paper = sg.load_scene(name)
            assert paper.closure.grip_limit(paper.hand) is None, name


def test_the_closure_overrides_the_hand() -> None:
    hand = sg.load_hand("four_finger").replace(grip_force=3.0)
    assert sg.PositionIncrementClosure().grip_limit(hand) == 3.0
    assert sg.PositionIncrementClosure(grip_force=5.0).grip_limit(hand) == 5.0
    assert sg.PositionIncrementClosure(grip_force=None).grip_limit(hand) is None
    assert not any(closure_layout(compile_scene(limited(None, hand=hand))).leads)
    assert any(closure_layout(compile_scene(pinch(hand=hand))).leads)


def test_a_job_for_webots_carries_the_limit() -> None:
    built = compile_scene(limited(2.0))
    _, job = world_and_job(built, 1e-3, "job.json")
    leads, joints = job["actuators"]["leads"], job["actuators"]["joints"]
    assert [tuple(row) for row in leads] == list(closure_layout(built).leads)
    names = [job["joints"][index]["name"] for index in joints]
    assert names == [actuator.joint for actuator in built.scene.actuators]
    assert [phase["limits_grip"] for phase in job["phases"]] == [True, False]


@pytest.mark.parametrize("force", [0, -1.0])
def test_a_force_that_is_not_positive_is_refused(force: float) -> None:
    with pytest.raises(SoftgraspError, match="grip_force: expected a number above 0, found"):
        sg.load_hand("four_finger").replace(grip_force=force)
    with pytest.raises(SoftgraspError, match="grip_force: expected"):
        sg.PositionIncrementClosure(grip_force=force)


def test_a_limited_grip_is_not_remarked() -> None:
    strawberry = sg.load_object("strawberry")
    free = acting_notes(sg.simulate(limited(None, object=strawberry)))
    assert any("times the force" in note for note in free)
    chosen = acting_notes(sg.simulate(limited(2.0, object=strawberry)))
    assert not any("times the force" in note for note in chosen)
