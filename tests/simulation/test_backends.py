"""What every backend has to keep to: the same scene in, the same kind of result out."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model.scene import build
from softgrasp.sim.closure_law import ESTABLISHED, LOST, debounce, free_actuators, next_targets
from softgrasp.sim.controller import closure_layout
from tests.simulation.engines import require_engine

BACKENDS = ["mujoco", "ode", pytest.param("webots", marks=pytest.mark.webots)]
K = 1e5
"""Default contact stiffness [N/m]."""


def ball_scene(**changes: object) -> sg.GraspScene:
    """A ball in a precision grasp, in the middle of four fingers."""
    fields: dict[str, object] = {
        "grasp": "precision",
        "self_contact": False,
        "success": sg.SuccessCriterion(hold_time=0.2),
    }
    ball = sg.load_object("sphere_35", density=500.0)
    scene = sg.GraspScene(hand=sg.load_hand("four_finger"), object=ball)
    return scene.replace(**(fields | changes))


@pytest.fixture(scope="module")
def reference() -> sg.GraspResult:
    return sg.simulate(ball_scene())


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    require_engine(request.param)
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def result(backend: str) -> sg.GraspResult:
    return sg.simulate(ball_scene(), backend=backend)


def test_it_says_who_it_is(result: sg.GraspResult, backend: str) -> None:
    assert result.backend["name"] == backend
    assert result.backend["version"]


def test_arrays_have_the_names_and_shapes_of_the_reference(
    result: sg.GraspResult, reference: sg.GraspResult
) -> None:
    assert result.trajectory().keys() == reference.trajectory().keys()
    for name, array in result.trajectory().items():
        expected = reference.trajectory()[name]
        assert array.dtype == expected.dtype
        assert array.shape[1:] == expected.shape[1:]
    for name in ("joint_names", "actuator_names", "contact_bodies"):
        assert getattr(result, name).tolist() == getattr(reference, name).tolist()


def test_time_begins_at_zero_and_runs_in_control_periods(result: sg.GraspResult) -> None:
    period = result.scene.control_period
    assert result.time[0] == 0.0
    assert np.diff(result.time) == pytest.approx(period, rel=1e-9)


def test_it_starts_where_the_scene_does(result: sg.GraspResult, reference: sg.GraspResult) -> None:
    assert result.joint_position[0] == pytest.approx(reference.joint_position[0], abs=1e-12)
    assert result.object_position[0] == pytest.approx(reference.object_position[0], abs=1e-12)
    assert result.object_quat_wxyz[0] == pytest.approx(reference.object_quat_wxyz[0], abs=1e-12)


def test_without_contact_joints_move_as_in_the_reference(
    result: sg.GraspResult, reference: sg.GraspResult
) -> None:
    first = min(event.time_s for r in (result, reference) for event in r.events)
    rows = result.time[: len(reference.time)] < first
    gap = result.joint_position[: len(rows)][rows] - reference.joint_position[: len(rows)][rows]
    assert rows.sum() > 200
    assert np.degrees(np.abs(gap)).max() < 5e-3


def test_contacts_are_those_that_its_own_forces_make(result: sg.GraspResult) -> None:
    closure = result.scene.closure
    zeros = [0] * len(result.contact_bodies)
    counts, touched, in_contact, changes = (zeros.copy() for _ in range(4))
    message = []
    for row, forces in enumerate(result.normal_force.tolist()):
        debounce(forces, closure.threshold, closure.samples, counts, touched, in_contact, changes)
        assert result.in_contact[row].tolist() == [bool(flag) for flag in in_contact]
        for body, change in enumerate(changes):
            name = str(result.contact_bodies[body])
            for bit, kind in ((ESTABLISHED, "established"), (LOST, "lost")):
                if change & bit:
                    message.append((float(result.time[row]), name, kind))
    events = [(e.time_s, e.body, e.kind) for e in result.events if e.kind != "touching"]
    assert sorted(events) == sorted(message)


def test_targets_are_those_that_its_contacts_allow_bit_for_bit(result: sg.GraspResult) -> None:
    layout = closure_layout(build(result.scene))
    limits = (layout.lower.tolist(), layout.upper.tolist())
    targets = list(result.scene.start)
    for row, held in enumerate(result.in_contact.astype(int).tolist()):
        free = free_actuators(layout.stops, held)
        targets = next_targets(targets, layout.increments.tolist(), free, *limits)
        assert result.joint_target[row].tolist() == targets


def test_force_over_penetration_is_the_stiffness_that_was_asked(result: sg.GraspResult) -> None:
    measured = result.contact_model.measured_stiffness_N_m
    assert len(measured) == 4
    assert list(measured.values()) == pytest.approx([K] * 4, rel=0.05)


def test_normals_point_into_the_object_and_lie_on_its_surface(result: sg.GraspResult) -> None:
    centre = result.object_position[-1]
    held = [contact for contact in result.contacts if contact.in_contact]
    assert len(held) == 4
    for contact in held:
        assert contact.point_m is not None
        assert contact.normal is not None
        way = np.array(contact.point_m) - centre
        assert np.linalg.norm(way) == pytest.approx(0.035, abs=5e-4)
        assert np.dot(way, contact.normal) / np.linalg.norm(way) == pytest.approx(-1.0, abs=1e-3)


def test_the_fingers_carry_the_weight(result: sg.GraspResult) -> None:
    """Friction and normal forces of all contacts balance gravity at the end of the hold test."""
    assert result.held is True
    assert result.hold is not None
    friction = sum(contact.friction_force_N for contact in result.contacts)
    normal = sum(contact.normal_force_N for contact in result.contacts)
    assert 0.0 < result.hold.weight_N < friction + normal
    assert friction <= math.sqrt(2.0) * 0.5 * normal  # ODE's friction is a pyramid


def test_a_ball_of_lead_and_more_is_dropped(backend: str) -> None:
    heavy = ball_scene().object.replace(density=40_000.0)
    result = sg.simulate(ball_scene(object=heavy), backend=backend)
    assert result.held is False
    assert result.hold is not None
    assert result.object_position[-1, 2] < result.object_position[0, 2] - 5e-4


def test_two_runs_are_equal_bit_for_bit(result: sg.GraspResult, backend: str) -> None:
    again = sg.simulate(ball_scene(), backend=backend)
    assert again.trajectory_sha256 == result.trajectory_sha256
    assert again.events == result.events


def test_results_are_saved_and_loaded(result: sg.GraspResult, tmp_path: Path) -> None:
    result.save(tmp_path)
    loaded = sg.load_result(tmp_path)
    assert loaded.trajectory_sha256 == result.trajectory_sha256
    assert loaded.backend == result.backend
    assert loaded.events == result.events


SCENES = {
    "prescribed": {"actuation": "prescribed", "success": None},
    "fixed object": {"object_mount": "fixed", "success": None},
    "gravity": {"gravity": True, "success": None, "grasp": "power"},
}


@pytest.mark.parametrize("name", SCENES)
def test_kinds_of_scenes_end_as_in_the_reference(backend: str, name: str) -> None:
    scene = ball_scene(**SCENES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, result = sg.simulate(scene), sg.simulate(scene, backend=backend)
    assert result.status is expected.status
    bodies = {contact.body for contact in expected.contacts if contact.in_contact}
    assert {contact.body for contact in result.contacts if contact.in_contact} == bodies
    gap = np.degrees(np.abs(result.joint_position[-1] - expected.joint_position[-1]))
    assert gap.max() < 0.5


def test_a_planar_object_stays_in_its_plane(backend: str) -> None:
    scene = sg.GraspScene(
        hand=sg.load_hand("two_finger_planar"),
        object=sg.load_object("sphere_25", density=500.0),
        object_mount="planar",
        grasp="precision",
        self_contact=False,
    )
    expected, result = sg.simulate(scene), sg.simulate(scene, backend=backend)
    assert result.status is expected.status
    assert np.abs(result.object_position[:, 1]).max() < 1e-9
    assert result.object_position[-1] == pytest.approx(expected.object_position[-1], abs=1e-4)
    forces = [contact.normal_force_N for contact in expected.contacts]
    got = [contact.normal_force_N for contact in result.contacts]
    assert got == pytest.approx(forces, rel=0.02, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hybrid_sphere", "paper000_arm"])
def test_shipped_scenes_end_as_in_the_reference(backend: str, name: str) -> None:
    scene = sg.load_scene(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, result = sg.simulate(scene), sg.simulate(scene, backend=backend)
    assert result.status is expected.status
    assert result.held is expected.held
