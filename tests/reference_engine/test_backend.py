"""Grasps in the reference engine: statics, closure and refused scenes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.errors import BuildError
from softgrasp.evaluation.result import GraspStatus
from softgrasp.evaluation.result_builder import result_of
from softgrasp.extensions import ENGINES
from softgrasp.pipeline import compile_scene
from tests.conftest import Golden
from tests.reference_engine.backend import ReferenceEngine, ReferenceRun


def scene(obj: str = "sphere", **fields: Any) -> sg.GraspScene:
    fields = {"grasp": "precision"} | fields
    return sg.GraspScene(hand=sg.load_hand("four_finger"), object=sg.load_object(obj), **fields)


@pytest.fixture(scope="module")
def held() -> ReferenceRun:
    """A short hold of a ball between four finger tips; without spin moments it is faster."""
    success = sg.SuccessCriterion(ramp_time=0.05, hold_time=0.05)
    solver = sg.description.Solver(contact_dimension=3)
    run = ReferenceRun(compile_scene(scene(success=success, solver=solver)))
    run.run()
    return run


@pytest.mark.slow
def test_forces_on_a_held_ball_balance_its_weight(held):
    touch, mass = held._dynamics.touch, float(held.model.body("object").mass[0])
    into = np.where(
        held.model.geom_bodyid[held._pairs.geoms[touch.points.pair, 1]]
        == held.model.body("object").id,
        1.0,
        -1.0,
    )
    forces = touch.forces.friction + touch.forces.normal[:, None] * touch.points.normal
    weight = 9.81 * mass
    assert len(touch.points.pair) == 4
    assert into @ forces == pytest.approx([0.0, 0.0, weight], abs=1e-3 * weight)
    assert (np.linalg.norm(touch.forces.friction, axis=1) < 0.5 * touch.forces.normal).all()


@pytest.mark.slow
def test_moments_of_the_servos_balance_the_finger_tips(held):
    """Jᵀ f of every finger is what its servos give, gravity of the links included."""
    data, touch = held.data, held._dynamics.touch
    on_second = touch.forces.friction + touch.forces.normal[:, None] * touch.points.normal
    of_contacts = np.tensordot(on_second, touch.jacobian, 2) + (
        touch.forces.spin @ touch.spin_jacobian
    )
    others = data.qfrc_actuator + data.qfrc_passive - data.qfrc_bias
    assert np.abs(data.qfrc_actuator[:12]).max() > 0.1
    assert of_contacts[:12] == pytest.approx(-others[:12], abs=1e-3)


@pytest.mark.slow
def test_a_result_has_the_fields_of_other_engines(held):
    result = result_of(held, [], 0.0, quality_rate=0.0)
    assert result.status is GraspStatus.CLOSED
    assert result.held
    assert result.backend["name"] == "reference"
    assert result.backend["version"].startswith("scipy ")
    assert result.contact_model.integrator == "Radau, adaptive"
    for stiffness in result.contact_model.measured_stiffness_N_m.values():
        assert stiffness == pytest.approx(1e5, rel=1e-3)
    final = [result.contact_of(f"F{finger}_P3") for finger in range(1, 5)]
    assert [contact.normal_force_N for contact in final] == pytest.approx(
        [final[0].normal_force_N] * 4, rel=1e-4
    )
    tips = [result.contact_bodies.tolist().index(contact.body) for contact in final]
    assert result.normal_force[-1, tips] == pytest.approx([c.normal_force_N for c in final])
    for contact in final:  # ten samples above 0.1 N establish contact
        assert contact.established_s[0] - contact.first_touch_s == pytest.approx(0.009, abs=1e-9)
    (warning,) = result.warnings
    assert "not resolved: compared at control samples only" in warning
    assert [phase.name for phase in result.phases] == ["close", "hold test"]
    assert len(result.quality_log.contacts(0)["points"]) == 4


def test_prescribed_fingers_press_with_stiffness_times_depth():
    """Forces on a fixed cylinder are K·δ of the prescribed posture: closed statics."""
    paper = sg.load_scene("paper004_precision_cylinder")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = sg.simulate(paper.replace(control_period=1e-3, timestep=None), ReferenceEngine())
        other = sg.simulate(paper.replace(control_period=1e-3, timestep=None), quality_rate=None)
    assert result.status is GraspStatus.CLOSED
    assert result.joint_target[-1] == pytest.approx(other.joint_target[-1], abs=2e-2)
    pressing = [contact for contact in result.contacts if contact.in_contact]
    assert [c.body for c in pressing] == [c.body for c in other.contacts if c.in_contact]
    for stiffness in result.contact_model.measured_stiffness_N_m.values():
        assert stiffness == pytest.approx(1e6, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda: scene("ellipsoid"), "geom 'object'"),
        (lambda: sg.load_scene("hybrid_sphere"), "hand.soft_fingers: the reference engine has"),
        (lambda: sg.load_scene("foam_cube"), "object.elasticity: the reference engine has no"),
        (lambda: scene(contact=sg.Contact(model="native")), "contact.model"),
        (
            lambda: scene(success=sg.SuccessCriterion(pulls=[{"direction": (0.0, 0.0, -1.0)}])),
            "success.pulls: the reference engine has no pull-out",
        ),
        (lambda: scene(solver={"contact_dimension": 6}), "solver.contact_dimension"),
    ],
)
def test_what_is_missing_is_refused_in_a_sentence(change, sentence, golden: Golden):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        golden.refused(lambda: sg.simulate(change(), ReferenceEngine()), sentence, BuildError)
        with pytest.raises(BuildError) as refused:
            ReferenceEngine().require_supported(sg.resolve(change()))
    golden(refused.value, sentence)


@pytest.mark.slow
def test_a_comparison_of_engines_runs_it(monkeypatch):
    monkeypatch.setitem(ENGINES, "reference", ReferenceEngine)
    quick = sg.comparison.crosscheck(scene(), ("reference", "mujoco"), quick=True)
    assert quick.finding("contacts").passed
    assert quick.engines["reference"].version.startswith("scipy ")
    assert "CFM of the world" not in quick.engines["reference"].parameters
    whole = sg.comparison.runs.run_grasps(
        scene(), ("reference",), quick=True, update=lambda *_: None
    )
    assert list(whole.finer["reference"]) == [1e-3]
