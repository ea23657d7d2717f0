"""Contacts in motion against closed forms: F = K·δ + D·δ̇ ≥ 0 and Coulomb's law (decision 0004).

The targets at a converged step are those of ``contact_rigs``; ``benchmarks/contact_dynamics.py``
prints how near to them other settings and steps are.
"""

from __future__ import annotations

import math
from itertools import pairwise

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.mechanics.contact_stiffness import explicit_damping, friction_rate
from softgrasp.pipeline import compile_scene
from softgrasp.report.grasp_tables import acting_notes
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sim.stepper import driven
from softgrasp.sim.stiffness_feedback import (
    INTERVAL,
    LONGEST_INTERVAL,
    TOLERANCE,
    StiffnessFeedback,
)
from tests.support import contact_rigs as rigs
from tests.support.pads import pads
from tests.support.scenes import ball, pinch

FINE = rigs.FINE
K, D = 1e5, 300.0


@pytest.mark.parametrize("mass", [0.079, 0.89, 2.18])
def test_a_bounce_has_depth_duration_and_restitution_of_the_law(mass: float) -> None:
    measured, exact = rigs.bounce(mass, FINE), rigs.exact_bounce(mass, K, D)
    assert measured.depth == pytest.approx(exact.depth, rel=rigs.DEPTH)
    assert measured.duration == pytest.approx(exact.duration, rel=rigs.DURATION)
    assert measured.restitution == pytest.approx(exact.restitution, abs=rigs.RESTITUTION)


@pytest.mark.parametrize(("step", "period_error", "decrement_error"),
                         [(FINE, rigs.PERIOD, rigs.DECREMENT), (1e-3, 0.05, 0.1)])  # fmt: skip
def test_a_body_in_contact_oscillates_with_its_mass_alone(
    step: float, period_error: float, decrement_error: float
) -> None:
    mass = 2.18
    period, decrement = rigs.oscillation(mass, step, load=200.0)
    exact_period, exact_decrement = rigs.exact_oscillation(mass, K, D)
    assert period == pytest.approx(exact_period, rel=period_error)
    assert decrement == pytest.approx(exact_decrement, rel=decrement_error)


@pytest.mark.parametrize("speed", [0.01, 0.05, 0.2])
def test_a_kicked_ball_slips_as_far_as_coulomb_lets_it(speed: float) -> None:
    mass, force = 0.079, 11.1
    coulomb = rigs.coulomb_slip(mass, force, speed)
    slipped = rigs.slip(mass, force, speed, FINE)
    assert slipped == pytest.approx(coulomb, abs=max(rigs.SLIP * coulomb, rigs.SLIP_FLOOR))


@pytest.mark.parametrize("speed", [0.1, 1.0])
def test_a_box_slides_to_its_stop_and_stays_down(speed: float) -> None:
    distance, height = rigs.slide(speed, 2e-5 if speed == 1.0 else FINE)
    assert distance == pytest.approx(speed**2 / (2.0 * 0.5 * rigs.G), rel=0.01)
    assert height < rigs.RISE


def test_a_pressed_ball_breaks_away_at_the_friction_limit() -> None:
    assert rigs.breakaway(0.079, 11.1, 2e-5) == pytest.approx(1.0, rel=rigs.BREAKAWAY)


def test_creep_near_the_limit_is_below_a_micrometre_a_second() -> None:
    assert 0.0 < rigs.creep(2.18, 43.0, 1e-3) < rigs.CREEP


@pytest.mark.parametrize("density", [160.0, 700.0, 7860.0, 19250.0])
@pytest.mark.parametrize("grasp", ["power", "precision"])
def test_shipped_grasps_do_not_creep(density: float, grasp: str) -> None:
    ball = sg.load_object("sphere").replace(density=density)
    # gold weighs 21 N: more than friction holds at the hand's grip force of 7 N per finger
    closure = sg.PositionIncrementClosure(grip_force=None if density > 1e4 else "hand")
    scene = sg.GraspScene(hand=sg.load_hand("four_finger"), object=ball, grasp=grasp,
                          closure=closure, success=sg.SuccessCriterion())  # fmt: skip
    result = sg.simulate(scene)
    assert result.held
    assert result.hold.creep_m_s < 1e-6
    deviations = [
        pair.stiffness_N_m / K - 1 for pair in result.contact_model.pairs if pair.touching
    ]
    assert deviations
    assert max(map(abs, deviations)) < 0.01


def test_stiffness_holds_where_servos_are_at_their_limits() -> None:
    model = sg.simulate(sg.load_scene("fingers_meet")).contact_model
    assert {item.actuator for item in model.saturated} == {"F1_J1", "F2_J1", "F3_J1", "F4_J1"}
    assert len([pair for pair in model.pairs if not pair.second.startswith("object")]) >= 2
    for pair in model.pairs:
        if pair.touching:
            assert pair.stiffness_N_m == pytest.approx(K, rel=0.01)
            assert pair.damping_N_s_m == pytest.approx(D, rel=0.01)


def test_soft_fingers_keep_the_stiffness_of_their_contacts() -> None:
    result = sg.simulate(sg.load_scene("hybrid_sphere"))
    assert result.held
    for pair in result.contact_model.pairs:
        if pair.touching:
            assert pair.stiffness_N_m == pytest.approx(pair.set_stiffness_N_m, rel=0.01)


def test_acting_stiffness_and_friction_are_those_of_the_contact_forces() -> None:
    """K is normal force over depth at rest, and sliding the tangential force over its limit."""
    run = ClosureRun(compile_scene(pinch()))
    run.run()
    acting, force = run.stiffness.acting(run.data), np.zeros(6)
    assert len(acting) == run.data.ncon >= 2
    for index, contact in enumerate(acting):
        mujoco.mj_contactForce(run.model, run.data, index, force)
        assert contact.depth == -run.data.contact.dist[index]
        limit = run.data.contact.friction[index, 0] * force[0]
        assert contact.friction_ratio == pytest.approx(np.hypot(*force[1:3]) / limit, rel=1e-6)
        assert contact.stiffness * contact.depth == pytest.approx(force[0], rel=0.01)


def test_feedback_mends_a_wrong_conversion() -> None:
    built = compile_scene(pinch())
    built.start.pair_solref[:] *= 1.9
    result = ClosureRun(built)
    result.run()
    acting = result.stiffness.pairs(result.data)
    assert [pair.stiffness_N_m for pair in acting] == pytest.approx([K] * len(acting), rel=1e-3)


def test_feedback_is_rare_where_nothing_changes_and_frequent_where_it_does() -> None:
    built = compile_scene(pinch())
    run = ClosureRun(built)
    feedback = run.stiffness
    feedback.history = []
    rows = []
    for _ in range(6):  # the pinch touches and stays in contact
        rows.append(feedback.next_row)
        driven(run.advancing(feedback.next_row + 1 - run.recording.rows), run._stepper.run_chunk)
        if len(rows) == 5:
            assert run.data.ncon
            built.model.pair_solref[:] *= 1.05
    steps = [after - before for before, after in pairwise([0, *rows, feedback.next_row])]
    assert steps[0] == INTERVAL
    assert max(steps) == LONGEST_INTERVAL
    assert all(step in (INTERVAL, 2 * INTERVAL, LONGEST_INTERVAL) for step in steps)
    assert steps[-1] == INTERVAL  # what was disturbed is corrected
    assert feedback.history[-1][0] == rows[-1]
    feedback.restart(100)
    assert feedback.next_row == 100 + INTERVAL


def touching_pairs(run: ClosureRun) -> list[int]:
    """Return the geom pairs that touch at the end."""
    pairs = [pair for pair in run.stiffness.pairs(run.data) if pair.touching]
    return [run.model.pair(f"{pair.first}|{pair.second}").id for pair in pairs]


def test_feedback_corrects_when_it_is_due_and_starts_as_built() -> None:
    built = compile_scene(pinch())
    run = ClosureRun(built)
    run.run()
    feedback, right = run.stiffness, built.model.pair_solref.copy()
    built.model.pair_solref[:] *= 1.01
    mujoco.mj_step(built.model, run.data)
    feedback.correct(run.data, feedback.next_row - 1)  # not due
    assert built.model.pair_solref == pytest.approx(1.01 * right)
    feedback.correct(run.data, feedback.next_row)
    touching = touching_pairs(run)
    assert touching
    assert built.model.pair_solref[touching] == pytest.approx(right[touching], rel=TOLERANCE)
    StiffnessFeedback(built)
    assert np.array_equal(built.model.pair_solref, built.start.pair_solref)


@pytest.mark.parametrize("wrong", [3.0, 1.2, 0.9, 0.4])
def test_one_correction_changes_the_stiffness_by_no_more_than_a_quarter(wrong: float) -> None:
    built = compile_scene(pinch())
    run = ClosureRun(built)
    run.run()
    feedback, right = run.stiffness, built.model.pair_solref.copy()
    touching = touching_pairs(run)
    built.model.pair_solref[:] *= wrong
    mujoco.mj_step(built.model, run.data)
    feedback.correct(run.data, feedback.next_row)
    corrected = min(max(1.0, wrong / 1.25), wrong * 1.25)
    assert built.model.pair_solref[touching] == pytest.approx(
        corrected * right[touching], rel=TOLERANCE
    )


@pytest.mark.parametrize(("fraction", "slides"), [(0.95, False), (1.2, True)])
def test_a_pair_slides_at_its_friction_limit_alone(fraction: float, slides: bool) -> None:
    press = float(sg.simulate(pads(2)).normal_force[-1].min())
    loaded = ball().weighing(mass=fraction * 2.0 * 0.5 * press / 9.81)
    result = sg.simulate(pads(2, object=loaded, success=sg.SuccessCriterion()))
    assert [pair.sliding > 0.0 for pair in result.contact_model.pairs] == [slides] * 2


def test_the_step_that_resolves_an_impact_is_reported() -> None:
    assert sg.simulate(pinch()).contact_model.impact_timestep_s is None
    result = sg.simulate(pinch(timestep=1e-3))
    resolved = result.contact_model.impact_timestep_s
    assert resolved is not None
    assert resolved < result.contact_model.timestep_s
    mass = 0.079  # of the rule: depth within 15 % at 0.15/(A·D)
    step = 0.15 * mass / D
    exact = rigs.exact_bounce(mass, K, D).depth
    assert rigs.bounce(mass, step).depth == pytest.approx(exact, rel=0.15)
    assert rigs.bounce(mass, 4.0 * step).depth > 1.3 * exact


def test_damping_and_friction_rate_follow_their_formulas() -> None:
    assert explicit_damping(K, D, 1e-3) == pytest.approx(200.0)
    assert explicit_damping(K, D, 1e-2) == pytest.approx(150.0)  # half of D stays
    assert friction_rate(K, D, 1e-5) == pytest.approx(1.13 * math.sqrt(K / (D * 1e-5)))


def test_a_pair_that_moves_at_the_end_is_reported_and_settles_to_its_stiffness() -> None:
    # the ball swings slowly between the soft finger and the compliant thumb
    hand = sg.load_hand("hybrid_gripper")
    hand = hand.replace(contact=hand.contact.replace(stiffness=1e4))
    scene = sg.GraspScene(hand=hand, object=sg.load_object("sphere_35"), grasp="power")
    ended, settled = (sg.simulate(scene.replace(duration=time)) for time in (None, 6.0))
    moving = ended.contact_model.moving
    assert {pair.first for pair in moving} == {"thumb_P1", "thumb_P2", "finger_L7"}
    position, step = ended.object_position[-2:], 1e-3
    speed = np.linalg.norm(position[1] - position[0]) / step
    assert min(pair.speed_m_s for pair in moving) < speed < 1.1 * max(p.speed_m_s for p in moving)
    assert any(note.startswith("Not at rest at the end: 3 pairs") for note in acting_notes(ended))
    assert not settled.contact_model.moving
    assert not any("Not at rest" in note for note in acting_notes(settled))
    for pair in settled.contact_model.pairs:
        assert pair.at_rest
        assert pair.stiffness_N_m == pytest.approx(1e4, rel=1e-5)


@pytest.mark.parametrize("about", [None, (0.0, 0.0, 0.0)])
def test_what_a_wrist_rotates_does_not_drift_out_of_the_hand(
    about: tuple[float, float, float] | None,
) -> None:
    """Rotation at ω about hinges at a distance R lets friction drift at ω²·R/b: here by 1.1 mm."""
    turn = {"type": "shake", "amplitude": 0.0, "axis": (0, 1, 0), "angle": 0.3, "frequency": 2.0,
            "cycles": 3, "about": about}  # fmt: skip
    held = sg.simulate(
        pinch(
            sequence=("close", turn), success=sg.SuccessCriterion(gravity=None, max_rotation=0.35)
        )
    ).hold
    assert held.drop_m < 1e-4
