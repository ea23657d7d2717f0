"""Time steps adapt to contact: peaks, forces at rest and servo lag do not depend on the step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import softgrasp as sg
from softgrasp.description.scene import Solver
from softgrasp.pipeline import compile_scene
from softgrasp.sim.grasp_run import ClosureRun
from tests.support.pads import pads
from tests.support.scenes import ball

STIFFNESS, DAMPING, SPEED = 1e5, 300.0, 0.1
"""Of the default contact [N/m, N·s/m], and of the pads [m/s]."""


def peak_of_the_law(mass: float) -> float:
    """Largest force of a wall that moves at SPEED into a free body, F = K·δ + D·δ' [N]."""

    def force(state: Any) -> Any:
        return np.maximum(STIFFNESS * state[0] + DAMPING * state[1], 0.0)

    def motion(_: float, state: Any) -> list[float]:
        return [state[1], -float(force(state)) / mass]

    end = 20.0 * mass / DAMPING + 3.0 * np.sqrt(mass / STIFFNESS)
    solved = solve_ivp(motion, (0.0, end), [0.0, SPEED], rtol=1e-9, max_step=end / 2000)
    return float(force(solved.y).max())


def struck(mass: float, **changes: Any) -> sg.GraspResult:
    """A ball that one pad strikes at SPEED and pushes away."""
    scene = pads(
        1, object=ball(0.03).weighing(mass=mass), actuation="prescribed", duration=0.13, **changes
    )
    return sg.simulate(scene, quality_rate=None)


@pytest.mark.parametrize("mass", [0.02, 0.1, 0.5])
def test_the_peak_of_a_first_touch_is_that_of_the_law(mass: float) -> None:
    result = struck(mass)
    assert result.peak.resolved
    assert result.peak_force == pytest.approx(peak_of_the_law(mass), rel=0.15)
    assert result.peak.time_s == pytest.approx(0.1, abs=2e-3)


def test_a_peak_that_is_not_resolved_is_too_low_and_marked(tmp_path: Path) -> None:
    result = struck(0.02, timestep=1e-3)
    assert not result.peak.resolved
    assert result.peak_force < 0.9 * peak_of_the_law(0.02)
    doubt = result.peak.doubt
    assert doubt.startswith("not resolved at the time step of 1 ms, too low")
    assert sum(doubt in warning for warning in result.warnings) == 1
    result.save(tmp_path)
    assert '"resolved": false' in (tmp_path / "result.json").read_text()
    assert sg.load_result(tmp_path).peak == result.peak
    assert struck(0.02).peak != result.peak


@pytest.mark.parametrize("mass", [0.02, 0.2])
def test_forces_at_rest_are_those_of_a_short_step(mass: float) -> None:
    scene = pads(2, object=ball(0.03).weighing(mass=mass))
    short = sg.simulate(scene.replace(timestep=2e-5), quality_rate=None).normal_force[-1].sum()
    usual = sg.simulate(scene, quality_rate=None).normal_force[-1].sum()
    assert usual == pytest.approx(short, rel=1e-3)


@pytest.mark.parametrize("timestep", [1e-3, 5e-4, 1e-4])
def test_a_servo_follows_its_targets_as_without_steps(timestep: float) -> None:
    scene = pads(2, timestep=timestep, duration=0.09)
    result = sg.simulate(scene, quality_rate=None)
    model = sg.compile_model(scene)
    servo = model.actuator(str(result.actuator_names[0]))
    gain, rate = float(servo.gainprm[0]), -float(servo.biasprm[2])
    mass = float(model.dof_M0[model.joint(str(result.joint_names[0])).dofadr[0]])
    matrix = np.array([[0.0, 1.0, 0.0], [-gain / mass, -rate / mass, gain / mass], [0.0, 0.0, 0.0]])
    step, state, expected = expm(scene.control_period * matrix), np.zeros(3), [0.0]
    for target in result.joint_target[:-1, 0]:  # held for a control period
        state = step @ [*state[:2], target]
        expected.append(state[0])
    assert np.abs(result.joint_position[:, 0] - expected).max() < 0.1 * timestep * SPEED


def test_steps_are_short_from_a_touch_until_nothing_changes() -> None:
    run = ClosureRun(compile_scene(pads(2)))
    coarse = float(run.model.opt.timestep)
    steps = {}
    refinement = run._stepper.refinement
    follow = refinement.follow

    def noted(forces: Any, data: Any) -> None:
        steps[round(float(data.time), 3)] = float(run.model.opt.timestep)
        follow(forces, data)

    refinement.follow = noted
    run.run()
    touch = next(event.time_s for event in run.events if event.kind == "touching")
    short = [time for time, step in steps.items() if step < coarse]
    assert min(steps.values()) <= 1e-4
    assert touch - 2.5e-3 <= min(short) <= touch + 1e-9
    assert float(run.model.opt.timestep) == coarse


def test_who_chooses_a_step_gets_it() -> None:
    assert len(compile_scene(pads(2)).fine) > 0
    assert compile_scene(pads(2, timestep=5e-4)).fine == ()
    assert compile_scene(pads(2, solver=Solver(refinement=1))).fine == ()
    (fine,) = compile_scene(pads(2, timestep=5e-4, solver=Solver(refinement=4))).fine
    assert fine.timestep == pytest.approx(1.25e-4)
    assert compile_scene(pads(2, contact=sg.Contact(model="native"))).fine == ()
