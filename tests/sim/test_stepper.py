"""Switching friction: the law, and a grasp in which it switches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.pipeline import compile_scene
from softgrasp.sim.friction import update_slip
from softgrasp.sim.grasp_run import ClosureRun
from tests.support.scenes import pinch


@given(st.integers(0, 2**32 - 1))
def test_the_law_is_that_of_any_contact_of_a_pair(seed: int) -> None:
    random = np.random.default_rng(seed)
    pairs = random.integers(-1, 4, size=9).tolist()
    rows = np.where(random.random(9) < 0.2, -1, 3 * np.arange(9)).tolist()
    velocities = random.normal(size=27).tolist()
    before = random.integers(0, 2, size=4).tolist()
    slipping = before.copy()
    changed = update_slip(pairs, rows, velocities, [1.0] * 4, slipping)
    for pair in range(4):
        own = [index for index, other in enumerate(pairs) if other == pair]
        fast = [
            rows[i] >= 0 and np.hypot(velocities[rows[i] + 1], velocities[rows[i] + 2]) > 1.0
            for i in own
        ]
        assert slipping[pair] == (int(any(fast)) if own else before[pair])
    assert changed == (slipping != before)


def friction_grasp(**fields: object) -> sg.GraspScene:
    contact = pinch().requested_contact.replace(
        static_friction=0.5, dynamic_friction=0.2, critical_velocity=1e-3
    )
    heavy = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.03), density=2000)
    return pinch(object=heavy, contact=contact, object_position=(0.0, 0.004, -0.085), **fields)


@pytest.mark.slow
def test_friction_follows_the_slip_of_every_physics_step() -> None:
    run = ClosureRun(compile_scene(friction_grasp()))
    law, coefficients, torsions, slips = run._stepper._friction, set(), set(), []

    def check(_: float) -> None:
        coefficients.update(law.friction[:, 0].tolist())
        assert (law.friction[:, 0] == law.friction[:, 1]).all()
        torsions.update(law.friction[:, 2].tolist())
        slips.append(any(law.slipping))

    run._progress = check
    run.run()
    assert coefficients == {0.2, 0.5}
    assert torsions == {0.003}  # which does not switch
    assert {True, False} <= set(slips)


@pytest.mark.parametrize("substeps", [1, 2])
def test_prescribed_joints_are_on_a_line_between_their_targets(substeps: int) -> None:
    run = ClosureRun(
        compile_scene(pinch(actuation="prescribed", timestep=1e-3 / substeps, duration=0.05))
    )
    run.run()
    recording, joints = run.recording, run.layout.qpos_of_actuator
    # the last physics step of a sample starts one step before the target, at constant velocity
    target, moved = recording.control[:-1], recording.qpos[1:, joints]
    rows = slice(1, recording.rows - 1)
    np.testing.assert_allclose(moved[rows], target[rows], atol=2e-6)
