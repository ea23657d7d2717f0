"""Drives: power, exactness of the steps, tubes, dry friction, and bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from examples.paper003.drive_power import drive_power, drive_rates
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.hydraulics import DriveStepper, drive_model, drive_pressures, pressure_of_torque
from softgrasp.hydraulics.description import HydraulicArm
from softgrasp.hydraulics.drive import exponential, poiseuille_resistance, reynolds, tube_resistance
from softgrasp.mechanics.transforms import Array
from tests.hydraulics.arms import one_section, two_sections, with_drive


def laminar(friction: float = 0.0) -> HydraulicArm:
    """One section whose tubes are wide enough to be laminar nearly always, or taken to be so."""
    arm = with_drive(one_section(), "tube", flow="laminar")
    return with_drive(arm, "piston", friction=friction)


def with_blasius() -> HydraulicArm:
    return with_drive(one_section(), "tube", flow="blasius")


def quiet_step(stepper: DriveStepper, torque: float) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftgraspWarning)
        return stepper.step(torque)


@settings(max_examples=30)
@given(
    st.floats(-0.3, 0.3),
    st.floats(-1e6, 1e6),
    st.floats(-1e6, 1e6),
    st.floats(-2.5, 2.5),
    st.sampled_from(["laminar", "blasius"]),
)
def test_power_in_is_stored_or_lost(
    speed: float, chamber: float, cylinder: float, torque: float, flow: str
) -> None:
    arm = with_drive(laminar(friction=30.0), "tube", flow=flow)
    states = np.tile([speed, chamber, cylinder], (3, 1))
    power = drive_power(drive_model(arm), states, np.full(3, torque))
    parts = [power.supplied, power.stored, power.viscous, power.dry, power.tube]
    assert np.abs(power.gap).max() <= 1e-10 * max(np.abs(parts).max(), 1e-6)
    assert min(power.viscous.min(), power.dry.min(), power.tube.min()) >= -1e-9


@pytest.mark.parametrize("timestep", [1e-4, 1e-3, 0.02])
def test_laminar_steps_are_exact_at_any_length(timestep: float) -> None:
    model = drive_model(laminar())
    stepper, whole = DriveStepper(model, timestep), DriveStepper(model, 0.04)
    for _ in range(round(0.04 / timestep)):
        quiet_step(stepper, 2.0)
    quiet_step(whole, 2.0)
    assert stepper.states == pytest.approx(whole.states, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("arm", [laminar(), with_blasius()], ids=["laminar", "blasius"])
def test_steps_are_those_of_a_general_solver(arm: HydraulicArm) -> None:
    item = arm.sections[0].replace(chambers=arm.sections[0].chambers[:1])
    model = drive_model(arm.replace(sections=(item,)))
    stepper = DriveStepper(model, 1e-4)
    for _ in range(50):
        quiet_step(stepper, 1.5)
    solved = solve_ivp(
        lambda _, y: drive_rates(model, y[None], np.full(1, 1.5))[0],
        (0.0, 0.005),
        np.zeros(3),
        method="Radau",
        rtol=1e-6,
        atol=[1e-8, 1e-1, 1e-1],
    )
    near = 1e-5 if arm == laminar() else 2e-3
    assert stepper.states[0] == pytest.approx(solved.y[:, -1], rel=near)


def test_exponentials_are_those_of_scipy() -> None:
    scales = np.array([0.1, 1.0, 3.0, 8.0, 0.0])[:, None, None]
    matrices = np.random.default_rng(2).normal(size=(5, 4, 4)) * scales
    target = np.stack([expm(matrix) for matrix in matrices])
    assert exponential(matrices) == pytest.approx(target, rel=1e-11, abs=1e-11)


def test_the_chamber_in_a_bundle_yields_more_than_a_free_one() -> None:
    """C_a: volume that the whole section takes at 1 Pa, against eq 34's unit, a third of it."""
    arm = one_section()
    section, actuator = arm.sections[0], arm.drive
    chamber = section.chambers[0]
    free = chamber.area**2 * section.length / (section.axial_stiffness / 3.0)
    free += chamber.area * section.length / actuator.fluid.bulk_modulus
    result = drive_model(arm).compliances[0]
    assert result == pytest.approx(1.38e-11, rel=1e-3)
    assert result / free == pytest.approx(10.0, rel=0.01)


def test_the_tube_is_laminar_then_turbulent() -> None:
    tube, fluid = one_section().drive.tube, one_section().drive.fluid
    slow, fast = 5e-6, 1.3e-5 / 0.3
    assert reynolds(tube, fluid, slow) < 2300.0
    assert tube_resistance(tube, fluid, slow) == poiseuille_resistance(tube, fluid)
    number = float(reynolds(tube, fluid, fast))
    assert number == pytest.approx(13_800.0, rel=0.01)
    # Darcy and Weisbach with f = 0.3164 / Re^¼
    speed = 4.0 * fast / (np.pi * tube.diameter**2)
    drop = 0.3164 / number**0.25 * tube.length / tube.diameter * 0.5 * fluid.density * speed**2
    assert tube_resistance(tube, fluid, fast) * fast == pytest.approx(drop, rel=1e-12)


def test_the_resistance_has_no_jump() -> None:
    tube, fluid = one_section().drive.tube, one_section().drive.fluid
    result = tube_resistance(tube, fluid, np.linspace(1e-6, 3e-5, 4000))
    assert (np.diff(result) >= 0.0).all()
    assert np.abs(np.diff(result) / result[:-1]).max() < 0.004


def test_turbulent_flow_under_the_law_of_laminar_flow_is_reported_once() -> None:
    stepper = DriveStepper(drive_model(laminar()), 1e-3)
    with pytest.warns(SoftgraspWarning, match="Reynolds number of at most 2300, where Pois"):
        stepper.step(2.5)
    stepper.step(2.5)  # another warning would be an error here


def test_dry_friction_holds_a_piston_until_the_torque_is_enough() -> None:
    arm = laminar(friction=50.0)
    stepper = DriveStepper(drive_model(arm), 1e-3)
    held = 0.99 * 50.0 * arm.drive.screw.lead / (2.0 * np.pi * arm.drive.screw.efficiency)
    assert stepper.step(held) == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    assert quiet_step(stepper, 1.5)[0] > 0.0


@pytest.mark.parametrize("torques", [(1.5,), (1.5, 1.45), (1.5, 0.5)])
def test_dry_friction_keeps_the_pressure_within_its_band(torques: tuple[float, ...]) -> None:
    arm = laminar(friction=50.0)
    stepper = DriveStepper(drive_model(arm), 2e-3)
    for torque in torques:
        for _ in range(100):
            quiet_step(stepper, torque)
    at_rest = float(pressure_of_torque(arm.drive, torques[-1]))
    band = 50.0 / arm.drive.piston.area
    assert stepper.states[0, 0] == pytest.approx(0.0, abs=1e-6)
    assert abs(stepper.pressures[0] - at_rest) <= band * (1.0 + 1e-6)
    if torques == (1.5, 0.5):
        assert stepper.pressures[0] > at_rest  # it came down, and friction held it up


def test_dry_friction_is_the_same_in_short_and_long_steps() -> None:
    result = []
    for timestep in (5e-4, 4e-3):
        stepper = DriveStepper(drive_model(laminar(friction=50.0)), timestep)
        for torque in (1.5, 1.0):
            for _ in range(round(0.06 / timestep)):
                quiet_step(stepper, torque)
        result.append(stepper.states)
    assert result[0] == pytest.approx(result[1], rel=1e-7, abs=1e-9)


def test_an_explicit_step_would_have_to_be_short() -> None:
    assert 2.0 / np.abs(drive_model(two_sections()).poles()).max() == pytest.approx(
        8.68e-5, rel=1e-3
    )


def test_bad_torques_and_steps_are_reported() -> None:
    model = drive_model(two_sections())
    with pytest.raises(DescriptionError, match=r"torque: .*at most 2.5 N·m, found 3 N·m"):
        DriveStepper(model, 1e-3).step(3.0)
    with pytest.raises(DescriptionError, match=r"one torque per chamber \(6\), found shape \(2,\)"):
        DriveStepper(model, 1e-3).step([1.0, 1.0])
    with pytest.raises(DescriptionError, match="timestep: expected a step above 0 s, found 0 s"):
        DriveStepper(model, 0.0)
    with pytest.raises(DescriptionError, match="duration: expected a time above 0 s"):
        drive_pressures(two_sections(), lambda _: 1.0, 0.0)


def test_a_recording_of_pressures_is_a_function_of_time() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftgraspWarning)
        result = drive_pressures(laminar(), lambda t: 100.0 * t, 0.01)
    assert result.chambers.shape == result.cylinders.shape == (11, 3)
    assert result(0.0055) == pytest.approx(0.5 * (result.chambers[5] + result.chambers[6]))
    assert (np.diff(result.chambers[:, 0]) > 0.0).all()
