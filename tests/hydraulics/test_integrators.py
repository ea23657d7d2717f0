"""Drives of a moving arm: power, passive steps, exactness, and the one system of arm and fluid."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from examples.paper003.drive_power import drive_energy, drive_power, drive_rates
from examples.paper003.lumped_motion import move_driven_arm
from examples.paper003.statics import arm_rest
from softgrasp.description.bendable import TipLoad
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.hydraulics import CoupledStepper, drive_model, pressure_of_torque
from softgrasp.hydraulics.description import HydraulicArm
from softgrasp.hydraulics.drive import reynolds, tube_flow, tube_resistance
from softgrasp.mechanics.transforms import Array
from tests.hydraulics.arms import one_section, two_sections, with_drive

REGIMES = {"laminar": 1000.0, "between": 3000.0, "turbulent": 2e4}
"""Reynolds numbers of each."""


def flows(arm: HydraulicArm, flow: str = "laminar", friction: float = 0.0) -> HydraulicArm:
    return with_drive(with_drive(arm, "tube", flow=flow), "piston", friction=friction)


def stepped(stepper: CoupledStepper, torque: float, swept: Array) -> Array:
    """One step; the mean pressures that the arm has felt."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftgraspWarning)
        pressures, falls = stepper.press(torque)
        stepper.advance(swept)
    return np.asarray(pressures - falls * swept)


@given(st.floats(-3e6, 3e6), st.sampled_from(["laminar", "blasius"]))
def test_the_flow_of_a_drop_makes_that_drop(drop: float, law: str) -> None:
    actuator = flows(one_section(), law).drive
    flow = tube_flow(actuator.tube, actuator.fluid, drop)
    result = tube_resistance(actuator.tube, actuator.fluid, flow) * flow
    assert result == pytest.approx(drop, rel=1e-12)


@pytest.mark.parametrize("number", REGIMES.values(), ids=REGIMES)
def test_power_is_in_balance_in_every_regime_of_the_flow(number: float) -> None:
    """To 1e-10 of the largest power, with an arm that takes some of it."""
    model = drive_model(flows(one_section(), "blasius", friction=30.0), "state")
    tube, fluid = model.drive.tube, model.drive.fluid
    flow = number / float(reynolds(tube, fluid, 1.0))
    drop = float(tube_resistance(tube, fluid, flow)) * flow
    states = np.tile([0.02, 3e5, 3e5 + drop], (3, 1))
    assert reynolds(tube, fluid, model.flow(states)) == pytest.approx(number, rel=1e-9)
    power = drive_power(model, states, np.full(3, 1.5), np.array([2e-5, -1e-5, 0.0]))
    parts = [power.supplied, power.stored, power.viscous, power.dry, power.tube, power.arm]
    assert np.abs(power.gap).max() <= 1e-10 * np.abs(parts).max()


@pytest.mark.parametrize("law", ["laminar", pytest.param("blasius", marks=pytest.mark.slow)])
def test_work_of_motor_and_load_is_stored_or_lost(law: str) -> None:
    """Arm and fluid in one system, in three dimensions: to 1e-10 of the work."""
    load = TipLoad(force=(0.5, 0.3, 0.0), moment=(0.0, 0.1, 0.05))
    arm = flows(one_section(), law).replace(tip_load=load)
    result = move_driven_arm(
        arm,
        [0.0, 1.5, 1.0],
        0.0004,
        strains=[[0.3, -0.2, 0.4, 0.1]],
        rates=[[1.0, 2.0, 0.1, 0.5]],
        sample=2e-4,
        method="DOP853",
        tolerance=1e-12,
    )
    tube, fluid = arm.drive.tube, arm.drive.fluid
    assert reynolds(tube, fluid, drive_model(arm, "state").flow(result.drives[-1])).max() > 4000.0
    assert result.supplied[-1] > 1e-4
    assert np.abs(result.gap).max() <= 1e-10 * result.supplied[-1]
    assert (np.diff(result.lost) > 0.0).all()


@pytest.mark.slow
def test_arm_and_fluid_come_to_the_rest_of_the_torque() -> None:
    arm, torques = flows(one_section()), [0.0, 0.5, 0.5]
    result = move_driven_arm(arm, torques, 1.5, sample=0.1, tolerance=1e-5)
    pressures = pressure_of_torque(arm.drive, torques)
    assert result.pressures[-1] == pytest.approx(pressures, rel=1e-3, abs=100.0)
    assert result.ends[-1] == pytest.approx(arm_rest(arm, pressures).ends, abs=1e-3)


@settings(max_examples=40)
@given(
    st.floats(-0.3, 0.3),
    st.floats(-1e6, 1e6),
    st.floats(-1e6, 1e6),
    st.floats(-1e-3, 1e-3),
    st.sampled_from([1e-5, 1e-3, 0.1]),
    st.sampled_from(["laminar", "blasius"]),
)
def test_no_step_makes_energy(
    speed: float, chamber: float, cylinder: float, rate: float, timestep: float, law: str
) -> None:
    """What the arm gets is no more than what the drives lose, whatever arm and step."""
    model = drive_model(flows(one_section(), law), "state")
    stepper = CoupledStepper(model, timestep)
    stepper.states = np.tile([speed, chamber, cylinder], (3, 1))
    before, swept = drive_energy(model, stepper.states), np.full(3, rate)
    given_away = stepped(stepper, 0.0, swept) * swept * timestep
    left = before - drive_energy(model, stepper.states) - given_away
    assert left.min() >= -1e-9 * max(before.max(), np.abs(given_away).max(), 1e-12)


def test_steps_are_those_of_a_general_solver() -> None:
    """Exact for a chamber that opens evenly, its mean pressure too."""
    model = drive_model(flows(one_section()), "state")
    stepper, swept = CoupledStepper(model, 2e-3), np.full(3, 2e-5)

    def slope(_: float, y: Array) -> Array:
        return np.append(drive_rates(model, np.tile(y[:3], (3, 1)), 1.5, swept)[0], y[1])

    start = np.zeros(4)
    for _ in range(2):
        start[3] = 0.0
        solved = solve_ivp(
            slope, (0.0, 2e-3), start, "Radau", rtol=1e-7, atol=[1e-9, 1.0, 1.0, 1e-3]
        )
        start = solved.y[:, -1]
        mean = stepped(stepper, 1.5, swept)
        assert stepper.states[0] == pytest.approx(start[:3], rel=1e-4)
        assert mean[0] == pytest.approx(start[3] / 2e-3, rel=1e-4)


@pytest.mark.parametrize("law", ["laminar", "blasius"])
def test_steps_converge_where_the_flow_is_turbulent(law: str) -> None:
    """Exact at any step in laminar flow; of the first order where the resistance follows."""
    model, finals = drive_model(flows(one_section(), law), "state"), []
    for timestep in (2e-3, 1e-3, 5e-4, 1.25e-4):
        stepper = CoupledStepper(model, timestep)
        for index in range(round(0.1 / timestep)):
            middle = (np.floor(index * timestep / 2e-3) + 0.5) * 2e-3
            stepped(stepper, 1.5, np.full(3, 4e-5 * np.sin(20.0 * middle)))
        finals.append(stepper.states[0, 1])
    off = np.abs(np.array(finals[:-1]) - finals[-1])
    if law == "laminar":
        assert off.max() < 1e-6 * abs(finals[-1])
    else:
        assert off[0] > 1.7 * off[1] > 1.7**2 * off[2] > 0.0


def test_dry_friction_holds_a_piston_while_the_arm_draws() -> None:
    """The chamber is drawn open against a piston that sticks: its pressure falls with the water."""
    arm = flows(one_section(), friction=500.0)
    model, stepper = drive_model(arm, "state"), CoupledStepper(drive_model(arm, "state"), 1e-3)
    swept = np.array([1e-9, 0.0, 0.0])
    for _ in range(50):
        stepped(stepper, 0.0, swept)
    water = model.compliances[0] + model.cylinder_compliance
    assert stepper.states[:, 0] == pytest.approx([0.0, 0.0, 0.0])
    assert stepper.pressures[0] == pytest.approx(-1e-9 * 0.05 / water, rel=0.02)
    for _ in range(50):
        stepped(stepper, 1.5, np.zeros(3))
    at_rest, band = pressure_of_torque(arm.drive, 1.5), 500.0 / arm.drive.piston.area
    assert np.abs(stepper.pressures - at_rest).max() <= 1.001 * band


def test_turbulence_beyond_the_law_is_reported_with_its_number() -> None:
    stepper = CoupledStepper(drive_model(flows(one_section()), "state"), 1e-3)
    stepper.press(1.5)
    with pytest.warns(
        SoftgraspWarning, match=r"most 2300, where Poiseuille's law is valid, found \d"
    ):
        stepper.advance(np.full(3, 4e-5))
    stepper.press(1.5)
    stepper.advance(np.full(3, 4e-5))  # another warning would be an error here
    assert stepper.largest_reynolds > 2300.0


def test_what_does_not_fit_is_reported() -> None:
    with pytest.raises(DescriptionError, match="coupling: expected static or state, found 'both'"):
        drive_model(one_section(), "both")  # type: ignore[arg-type]
    with pytest.raises(DescriptionError, match="timestep: expected a step above 0 s, found -1 s"):
        CoupledStepper(drive_model(one_section(), "state"), -1.0)
    with pytest.raises(DescriptionError, match=r"one torque per chamber \(6\), found shape \(2,\)"):
        move_driven_arm(two_sections(), [1.0, 1.0], 0.1)
    with pytest.raises(
        DescriptionError,
        match=r"drive\.piston\.friction: expected pistons without dry friction, which has no "
        r"smooth equation, found 50 N; run_arm includes it",
    ):
        move_driven_arm(flows(one_section(), friction=50.0), np.zeros(3), 0.1)
