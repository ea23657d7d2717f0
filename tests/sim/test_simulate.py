"""What every backend has to keep to: the same scene in, the same kind of result out."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.evaluation.hold_result import object_tracks
from softgrasp.evaluation.result import Interrupted
from softgrasp.evaluation.result_builder import chatter_warnings
from softgrasp.pipeline import compile_scene
from softgrasp.sim.control_state import caught_warnings, closure_layout
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sim.laws import (
    ESTABLISHED,
    GRIP_INTERVAL,
    LOST,
    DebouncedFlags,
    debounce,
    free_actuators,
    grip_targets,
    next_targets,
)
from softgrasp.sim.stepper import driven
from tests.conftest import Golden
from tests.sim.engines import require_engine
from tests.support.scenes import diverging, pinch

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
    return sg.simulate(ball_scene(), backend=backend, quality_rate=None)


def test_the_backend_is_named(result: sg.GraspResult, backend: str) -> None:
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


def test_contacts_are_those_that_its_forces_make(result: sg.GraspResult) -> None:
    closure = result.scene.closure
    flags = DebouncedFlags.initial(len(result.contact_bodies))
    message = []
    for row, forces in enumerate(result.normal_force.tolist()):
        flags = debounce(forces, closure.threshold, closure.samples, flags)
        assert result.in_contact[row].tolist() == [bool(flag) for flag in flags.active]
        for body, change in enumerate(flags.changes):
            name = str(result.contact_bodies[body])
            for bit, kind in ((ESTABLISHED, "established"), (LOST, "lost")):
                if change & bit:
                    message.append((float(result.time[row]), name, kind))
    events = [(e.time_s, e.body, e.kind) for e in result.events if e.kind != "touching"]
    assert sorted(events) == sorted(message)


def test_targets_are_those_that_its_contacts_allow_bit_for_bit(result: sg.GraspResult) -> None:
    layout = closure_layout(compile_scene(result.scene))
    limits = (layout.lower.tolist(), layout.upper.tolist())
    targets, before = list(result.scene.start), [True] * len(layout.stops)
    assert any(layout.leads)
    closed_rows = np.searchsorted(result.time, result.closing.end_s - 1e-9)
    for row, held in enumerate(result.in_contact.astype(int).tolist()):
        positions = result.joint_position[row].tolist()
        free = free_actuators(layout.stops, held)
        new = [item and not now for item, now in zip(before, free, strict=True)]
        targets = grip_targets(targets, positions, new, layout.stops, layout.leads, held)
        targets = next_targets(targets, layout.increments.tolist(), free, *limits)
        assert result.joint_target[row].tolist() == targets, row
        if row == closed_rows or (row % GRIP_INTERVAL == 0 < row < closed_rows):
            old = [not item for item in free]
            targets = grip_targets(targets, positions, old, layout.stops, layout.leads, held)
        before = free


def test_force_over_penetration_is_the_stiffness_that_was_requested(result: sg.GraspResult) -> None:
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
    friction = sum(contact.friction_force_N for contact in result.contacts)
    normal = sum(contact.normal_force_N for contact in result.contacts)
    assert 0.0 < result.hold.weight_N < friction + normal
    assert friction <= math.sqrt(2.0) * 0.5 * normal  # ODE's friction is a pyramid


def test_a_ball_of_lead_and_more_is_dropped(backend: str) -> None:
    heavy = ball_scene().object.replace(density=40_000.0)
    result = sg.simulate(ball_scene(object=heavy), backend=backend, quality_rate=None)
    assert result.held is False
    assert result.hold is not None
    assert result.object_position[-1, 2] < result.object_position[0, 2] - 5e-4


def test_two_runs_are_equal_bit_for_bit(result: sg.GraspResult, backend: str) -> None:
    again = sg.simulate(ball_scene(), backend=backend, quality_rate=None)
    assert again.trajectory_sha256 == result.trajectory_sha256
    assert again.events == result.events


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
    assert np.degrees(np.abs(result.joint_position[-1] - expected.joint_position[-1])).max() < 0.5


def test_a_planar_object_stays_in_its_plane(backend: str) -> None:
    scene = sg.GraspScene(
        hand=sg.load_hand("two_finger_planar"),
        object=sg.load_object("sphere_25", density=500.0),
        object_mount="planar",
        grasp="precision",
        self_contact=False,
    )
    long_steps = scene.replace(solver=sg.description.Solver(refinement=1))
    expected, result = sg.simulate(long_steps), sg.simulate(scene, backend=backend)
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


# Whole runs: outcomes, events, determinism, mounts, divergence.


@pytest.fixture(scope="module")
def run_result() -> sg.GraspResult:
    return sg.simulate(pinch(success=sg.SuccessCriterion()))


def test_a_centred_pinch_closes_with_all_four_fingertips_at_once(
    run_result: sg.GraspResult,
) -> None:
    assert run_result.status is sg.GraspStatus.CLOSED
    assert run_result.held
    established = [event for event in run_result.events if event.kind == "established"]
    assert {event.body for event in established} == {"F1_P3", "F2_P3", "F3_P3", "F4_P3"}
    assert len({event.time_s for event in established}) == 1


def test_events_name_point_normal_force_and_separation(run_result: sg.GraspResult) -> None:
    event = next(event for event in run_result.events if event.body == "F1_P3")
    assert event.kind == "touching"
    assert (event.finger, event.phalanx) == ("F1", "P3")
    centre = run_result.object_position[round(event.time_s / 1e-3)]
    assert event.point_m is not None
    assert event.normal is not None
    assert event.separation_m is not None
    outward = np.subtract(event.point_m, centre)
    assert np.linalg.norm(outward) == pytest.approx(0.03, abs=1e-3)
    # the normal points into the object
    assert np.dot(outward / np.linalg.norm(outward), event.normal) == pytest.approx(-1, abs=1e-3)
    assert event.separation_m < 0 < event.normal_force_N


def test_the_summed_normal_forces_are_those_of_the_contacts(run_result: sg.GraspResult) -> None:
    for contact in run_result.contacts:
        column = run_result.contact_bodies.tolist().index(contact.body)
        assert contact.normal_force_N == pytest.approx(
            run_result.normal_force[-1, column], abs=1e-9
        )
        assert contact.friction_force_N == pytest.approx(
            run_result.friction_force[-1, column], abs=1e-9
        )


def test_a_hand_that_misses_has_no_contact() -> None:
    missed = sg.simulate(pinch(object_position=(0.0, 0.0, -0.14)))
    assert missed.status is sg.GraspStatus.NO_CONTACT
    assert missed.message == "the hand has closed without establishing contact with the object"
    assert missed.events == ()


def test_a_short_run_is_timed_out() -> None:
    short = sg.simulate(pinch(duration=0.05))
    assert short.status is sg.GraspStatus.TIMED_OUT
    assert short.simulated_time == pytest.approx(0.05)


def test_an_object_that_is_flicked_away_is_ejected() -> None:
    item = (True,) * 3 + (False,) * 9
    closure = sg.PositionIncrementClosure(rates=(3.0, 0.5, 0.5), active=item)
    assert sg.simulate(pinch(closure=closure, duration=1.5)).status is sg.GraspStatus.EJECTED


def test_inactive_joints_stay_where_they_are() -> None:
    active = (False, False, False) + (True,) * 9
    closed = sg.simulate(pinch(closure=sg.PositionIncrementClosure(active=active)))
    assert np.ptp(closed.joint_target[:, :3]) < np.ptp(closed.joint_target[:, 3:6])
    assert np.all(np.ptp(closed.joint_target[:, :3], axis=0) == 0)


def test_prescribed_joints_follow_their_targets_whatever_the_load() -> None:
    prescribed = sg.simulate(pinch(actuation="prescribed", object_mount="fixed"))
    # a target set at one control sample is reached at the next
    assert np.abs(prescribed.joint_position[1:] - prescribed.joint_target[:-1]).max() < 1e-6


def test_servo_forces_keep_to_their_limits() -> None:
    """A fixed ball cannot give way, and joints that never stop push on it until they cannot."""
    closure = sg.PositionIncrementClosure(samples=1000, grip_force=None)  # nothing stops
    run = ClosureRun(compile_scene(scene := pinch(object_mount="fixed", closure=closure)))
    run.run()
    limits = np.array([row.force_limit for row in scene.hand.joints])
    force = np.abs(run.data.actuator_force)
    assert np.all(force <= limits)
    assert np.any(force == limits)


@pytest.mark.parametrize("mount", ["free", "planar", "fixed"])
def test_the_track_of_the_object_is_where_the_engine_has_it(mount: str) -> None:
    scene = pinch(object_mount=mount, object_position=(-0.004, 0, -0.085))
    run = ClosureRun(compile_scene(scene))
    run.run()
    (position, quaternion), *_ = object_tracks(run, run.recording.qpos[: run.recording.rows])
    run.data.qpos[:] = run.recording.qpos[run.recording.rows - 1]
    mujoco.mj_kinematics(run.model, run.data)
    body = run.data.body("object")
    assert position[-1] == pytest.approx(body.xpos, abs=1e-12)
    assert abs(quaternion[-1] @ body.xquat) == pytest.approx(1.0, abs=1e-12)
    assert (np.linalg.norm(position[-1] - position[0]) == 0.0) == (mount == "fixed")


def test_gravity_moves_no_joint_of_a_hand_that_compensates_it() -> None:
    still = sg.PositionIncrementClosure(rates=0.0)
    calm = sg.simulate(pinch(closure=still, object_position=(0.3, 0, 0), gravity=True))
    assert np.ptp(calm.joint_position, axis=0).max() < 1e-6


def test_moving_the_whole_scene_moves_the_result() -> None:
    shift = np.array([0.3, -0.2, 0.1])
    here = sg.simulate(pinch())
    there = sg.simulate(pinch(hand_pose=sg.Pose(position=tuple(shift))))
    assert np.allclose(there.object_position - shift, here.object_position, atol=1e-6)
    assert there.status is here.status


def test_a_diverged_run_states_what_to_change_and_keeps_finite_numbers(tmp_path: Path) -> None:
    diverged = sg.simulate(diverging(success=sg.SuccessCriterion()))
    assert diverged.status is sg.GraspStatus.DIVERGED
    assert diverged.held is False
    assert re.fullmatch(
        r"the simulation has diverged: it broke at 0\.\d+ s, first seen in joint '\w+'; use a "
        r"smaller timestep than 0\.0005 s \(try 0\.0001 s\), a softer contact, or slower closing "
        r"rates",
        diverged.message,
    )
    assert all(np.isfinite(a).all() for a in diverged.trajectory().values() if a.dtype.kind == "f")
    diverged.save(tmp_path)
    assert sg.load_result(tmp_path).status is sg.GraspStatus.DIVERGED


def advance(run: ClosureRun, samples: int) -> None:
    """Let a run go on for some control samples."""
    driven(run.advancing(samples), run._stepper.run_chunk)


def test_a_state_that_is_not_a_number_is_seen_and_nothing_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = ClosureRun(compile_scene(pinch()))
    advance(run, 300)
    run.data.qvel[0] = np.nan
    with caught_warnings() as message:
        advance(run, 2)
    assert run.diverged
    assert any("Nan" in text or "NaN" in text for text in message)
    assert np.isfinite(run.recording.qpos[: run.recording.rows]).all()
    assert list(tmp_path.iterdir()) == []  # no MUJOCO_LOG.TXT either


@pytest.mark.parametrize("samples", [300, 700])
def test_no_work_is_lost_on_a_state_that_is_not_a_number(samples: int) -> None:
    run = ClosureRun(compile_scene(pinch()))
    advance(run, samples)
    before = run.data.time
    run.data.qvel[0] = np.nan
    with caught_warnings():
        advance(run, 200)
    assert run.diverged
    assert run.data.time - before < 2.5 * run.model.opt.timestep


def test_forces_that_jump_from_sample_to_sample_are_reported() -> None:
    steady, jumping = np.full((30, 2), 10.0), np.full((30, 2), 10.0)
    jumping[::2, 1] = 5.0
    assert chatter_warnings(steady, ["a", "b"]) == []
    assert chatter_warnings(jumping[:5], ["a", "b"]) == []
    assert chatter_warnings(jumping, ["a", "b"]) == [
        "contact forces at the end jump from sample to sample, most on b by 67% on average: "
        "contact points change places, as on the edges of a faceted mesh; try a smoother mesh, a "
        "primitive, or a smaller timestep"
    ]


def test_the_arrays_of_a_result_are_copies_and_cannot_be_written() -> None:
    result = sg.simulate(pinch(duration=0.02))
    for key, array in result.trajectory().items():
        assert getattr(result, key) is array
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[-1]
    mine = np.array(result.time)
    again = replace(result, time=mine)
    mine[0] = 1.0
    assert again.time[0] == 0.0


def test_an_interrupt_keeps_what_was_finished() -> None:
    def stop(now: float) -> None:
        if now > 0.1:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        sg.simulate(pinch(), progress=stop)
    part = stopped.value.result
    assert part.status is sg.GraspStatus.TIMED_OUT
    assert 0.1 < part.simulated_time < 0.5
    assert part.warnings == (f"interrupted by the user at {part.simulated_time:.3f} s",)


@pytest.mark.parametrize("late", [False, True])
def test_an_interrupted_hold_test_gives_no_verdict(late: bool) -> None:
    until = 0.9 if late else 0.02

    def stop(now: float) -> None:
        if now > until:
            raise KeyboardInterrupt

    scene = pinch(success=sg.SuccessCriterion(), duration=None if late else 0.01)
    with pytest.raises(Interrupted) as stopped:
        sg.simulate(scene, progress=stop)
    part = stopped.value.result
    assert part.held is None
    assert part.hold is None


def test_a_quick_settling_is_not_a_time_out() -> None:
    hasty = pinch(closure=sg.PositionIncrementClosure(samples=30, settle_time=0.005))
    assert sg.simulate(hasty).status is sg.GraspStatus.CLOSED


def test_an_unknown_backend_is_named_with_what_exists(golden: Golden) -> None:
    golden.refused(
        lambda: sg.simulate(pinch(), backend="mujuco"), "no backend 'mujuco'", sg.BackendUnavailable
    )
