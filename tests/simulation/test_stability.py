"""Stable time steps: the closed form of one oscillator, and a run on both sides of the limit."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model.soft_finger import finger_model
from softgrasp.model.timestep import damped_spring_limit, spring_limit
from softgrasp.sim.engine import caught_warnings, has_diverged
from softgrasp.sim.soft_dynamics import stable_step_of

OSCILLATOR = """
<mujoco><option gravity="0 0 0"/><worldbody><body><joint type="slide" stiffness="{stiffness}"/>
<geom size="0.1" mass="1"/></body></worldbody></mujoco>
"""


@pytest.fixture(scope="module")
def steps() -> dict[str, float]:
    return sg.stable_timestep(sg.load_finger("paper000"))


@pytest.mark.parametrize("frequency", [1e3, 2e4])
def test_one_oscillator_has_the_limits_of_the_textbook(frequency: float) -> None:
    """Semi-implicit Euler: h < 2/ω. Runge–Kutta of fourth order: h < 2√2/ω."""
    model = mujoco.MjModel.from_xml_string(OSCILLATOR.format(stiffness=frequency**2))
    steps = sg.stable_timestep(model)
    for name in ("euler", "implicitfast"):
        assert steps[name] == pytest.approx(2 / frequency, rel=1e-3)
    assert steps["rk4"] == pytest.approx(2 * np.sqrt(2) / frequency, rel=1e-3)
    assert steps["discrete"] == 1e-2


def released(step: float, integrator: mujoco.mjtIntegrator) -> mujoco.MjData:
    """The finger of paper 000 half a second after it was let go."""
    model = finger_model(sg.load_finger("paper000"))
    model.opt.timestep, model.opt.integrator = step, integrator
    data = mujoco.MjData(model)
    data.qpos[:] = 0.05
    with caught_warnings():
        for _ in range(round(0.5 / step)):
            mujoco.mj_step(model, data)
            if has_diverged(data):
                break
    return data


def test_the_finger_rings_down_below_the_limit_and_blows_up_above(steps: dict[str, float]) -> None:
    """The reference measured 1.2 ms stable and 1.5 ms unstable for a finger much like it."""
    implicitfast = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    assert 1.2e-3 < steps["implicitfast"] < 1.5e-3
    below = released(0.95 * steps["implicitfast"], implicitfast)
    assert not has_diverged(below)
    assert np.abs(below.qpos).max() < 0.2
    above = released(1.1 * steps["implicitfast"], implicitfast)
    assert has_diverged(above) or np.abs(above.qpos).max() > 10


def test_runge_kutta_cannot_take_the_dampers_and_discrete_takes_all(
    steps: dict[str, float],
) -> None:
    assert steps["rk4"] < 2e-4
    assert steps["discrete"] == 1e-2


@pytest.mark.parametrize("damping", [0.0, 2e-6])
def test_the_springs_alone_give_a_safe_bound(damping: float) -> None:
    beam = sg.rld.discretise(0.1, 2e-3, 0.02, 6, bending_damping=damping)
    bound, result = spring_limit(finger_model(beam)), sg.stable_timestep(beam)["implicitfast"]
    assert bound <= result * 1.01
    if damping == 0.0:
        assert bound == pytest.approx(result, rel=0.01)


def test_dampers_taken_implicitly_lengthen_the_step() -> None:
    """An arm whose axis is stiff and damped: the bound is that of the linearised step."""
    model = sg.ArmChain(sg.load_hydraulic_arm("hydraulic_two_section"), 1).model
    bound = damped_spring_limit(model)
    assert bound > 1.5 * spring_limit(model)
    assert bound == pytest.approx(stable_step_of(model, "implicitfast"), rel=0.01)
    model.dof_damping[:] = 0.0
    assert damped_spring_limit(model) == pytest.approx(spring_limit(model), rel=2e-3)
    model.jnt_stiffness[:] = 0.0
    assert damped_spring_limit(model) == 1.0
