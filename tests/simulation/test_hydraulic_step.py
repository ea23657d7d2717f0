"""Time steps of arms: safe ones, and what is said of those that are too long."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from softgrasp.errors import DescriptionError
from softgrasp.hydraulics import move_arm
from softgrasp.hydraulics.arm import ArmChain, drag_rate, safe_step
from softgrasp.hydraulics.description import HydraulicArm, SectionDamping
from softgrasp.model.timestep import spring_limit
from softgrasp.sim.soft_dynamics import stable_step_of
from tests.mechanics.hydraulic.arms import one_section, undamped, with_sections

PRESSURES = (0.0, 3e5, 3e5)


def damped(**rates: float) -> HydraulicArm:
    return with_sections(one_section(), damping=SectionDamping(**rates))


def test_drag_slows_every_motion_down_at_its_rate_over_the_mass() -> None:
    """All cells have drag in proportion to mass, so every mode has d/m: 20 N·s/m over 0.1 kg."""
    chain = ArmChain(damped(drag=20.0), 3)
    assert drag_rate(chain.model, chain._drag) == pytest.approx(200.0, rel=1e-4)
    assert drag_rate(chain.model, np.zeros_like(chain._drag)) == 0.0


def test_a_safe_step_is_that_of_springs_or_of_drag_alone() -> None:
    bare, chain = ArmChain(undamped(one_section()), 3), ArmChain(one_section(), 3)
    limit, none = spring_limit(bare.model), np.zeros_like(bare._drag)
    assert safe_step(bare.model, none) == pytest.approx(limit, rel=2e-3)
    for model in (bare.model, chain.model):  # damping that is taken implicitly allows more
        assert stable_step_of(model, "implicitfast") == (
            pytest.approx(safe_step(model, none), rel=5e-3)
        )
    thick = none.copy()
    thick[1:, 0] = 1e9
    assert safe_step(bare.model, thick) == (
        pytest.approx(2.0 / drag_rate(bare.model, thick), rel=2e-3)
    )


@pytest.mark.parametrize("rates", [{"drag": 20.0}, {"drag": 300.0}, {"rotational_drag": 0.05}])
def test_drag_without_damping_of_the_material_comes_to_rest(rates: dict[str, float]) -> None:
    """The fastest springs have nothing but the drag, which is a force of the run."""
    chain = ArmChain(damped(**rates), 2)
    result = chain.move(PRESSURES, 0.5, sample=0.1)
    assert np.abs(chain.data.qvel).max() < 1.0
    ways = np.linalg.norm(np.diff(result.ends[:, -1], axis=0), axis=1)
    assert ways[-1] < ways[0]


def test_a_step_that_is_too_long_names_the_integrator_and_the_step() -> None:
    arm = one_section()
    longest = stable_step_of(ArmChain(arm, 2).model, "implicitfast")
    with pytest.raises(DescriptionError) as refused:
        ArmChain(arm, 2).move(PRESSURES, 0.1, timestep=5e-3)
    assert str(refused.value) == (
        f"timestep: expected a step of at most {longest:.3g} s with the integrator 'implicitfast' "
        "and this arm, found 0.005 s; stable at it: integrator 'discrete'; without a timestep a "
        "safe one is taken"
    )
    for timestep in (0.9 * longest, None):
        ArmChain(arm, 2).move(PRESSURES, 0.02, timestep=timestep)


def test_a_step_that_no_length_saves_is_refused_too() -> None:
    stiff = with_sections(one_section(), axial_stiffness=1e9)
    with pytest.raises(DescriptionError, match=r"of less than 1e-06 s with .* found 0.005 s"):
        ArmChain(stiff, 8).move(PRESSURES, 0.1, timestep=5e-3)


def test_the_integrator_that_is_named_is_stable() -> None:
    """And comes to the same place."""
    chain = ArmChain(one_section(), 2)
    ends = [
        chain.move(PRESSURES, 1.5, sample=0.1, timestep=timestep, integrator=integrator).ends[-1]
        for timestep, integrator in ((5e-3, "discrete"), (1e-3, "implicitfast"))
    ]
    assert ends[0] == pytest.approx(ends[1], abs=2e-3)


def test_no_step_is_safe_from_drag_that_is_too_thick_for_it() -> None:
    with pytest.raises(DescriptionError) as refused:
        ArmChain(damped(drag=500.0), 2).move(PRESSURES, 0.1, timestep=1e-3, integrator="discrete")
    assert str(refused.value) == (
        "timestep: expected a step of at most 0.0004 s, as drag is an explicit force with every "
        "integrator, found 0.001 s; without a timestep a safe one is taken"
    )


def test_integrators_and_methods_that_do_not_exist_are_refused() -> None:
    with pytest.raises(DescriptionError) as refused:
        ArmChain(one_section(), 1).move(PRESSURES, 0.1, integrator="rk4")
    assert str(refused.value) == (
        "integrator: no integrator 'rk4'; known: discrete, euler, implicit, implicitfast"
    )
    with pytest.raises(DescriptionError, match="method: no method 'Euler'; known: BDF, DOP853"):
        move_arm(one_section(), PRESSURES, 0.1, method="Euler")  # type: ignore[arg-type]


def test_steps_fill_a_row() -> None:
    chain = ArmChain(one_section(), 1)
    chain.move(PRESSURES, 0.02, timestep=3e-4, integrator="discrete")
    assert chain.model.opt.timestep == pytest.approx(0.01 / math.ceil(0.01 / 3e-4))
    assert chain.model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE
