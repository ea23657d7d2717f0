"""Arm and fluid by turns against both in one system of equations, and the lag inside MuJoCo."""

from __future__ import annotations

import warnings
from functools import cache

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import softgrasp as sg
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.hydraulics import (
    PressureRecording,
    TorqueTable,
    drive_model,
    drive_pressures,
    move_driven_arm,
    pressure_of_torque,
    tip_errors,
)
from softgrasp.hydraulics.arm import ArmChain, ChainRecording, move_driven_chain, tendon_jacobian
from softgrasp.hydraulics.description import HydraulicArm
from softgrasp.hydraulics.model import arm_spec
from softgrasp.mechanics.transforms import Array
from tests.mechanics.hydraulic.arms import one_section, two_sections, with_drive, with_sections

TORQUES = np.array([0.0, 1.0, 1.2])


def push(_: float) -> Array:
    return TORQUES


@cache
def laminar() -> HydraulicArm:
    """One section without drag, which is a force of the run, in laminar flow."""
    arm = with_drive(one_section(), "tube", flow="laminar")
    return with_sections(arm, damping=arm.sections[0].damping.replace(drag=0.0))


@cache
def by_turns(
    arm: HydraulicArm, links: int, duration: float, timestep: float | None = None
) -> tuple[ChainRecording, PressureRecording]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftgraspWarning)
        return move_driven_chain(ArmChain(arm, links), push, duration, timestep=timestep)


def in_one_system(arm: HydraulicArm, links: int, duration: float) -> tuple[Array, Array]:
    """Joints and pressures of the chain of MuJoCo and its fluid every 0.01 s, by LSODA."""
    chain, fluid = ArmChain(arm, links), drive_model(arm, "state")
    model, data, count = chain.model, chain.data, chain.model.nv
    volumes = tendon_jacobian(model) * np.array([[part.area] for part in arm.chambers])
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL

    def slope(_: float, flat: Array) -> Array:
        actuators = flat[2 * count :].reshape(-1, 3)
        data.qpos[:], data.qvel[:], data.ctrl[:] = (
            flat[:count],
            flat[count : 2 * count],
            actuators.T[1],
        )
        mujoco.mj_forward(model, data)
        rates = fluid.rates(actuators, TORQUES, volumes @ data.qvel)
        return np.concatenate([data.qvel, data.qacc, rates.ravel()])

    start = np.zeros(2 * count + 3 * fluid.channels)
    scale = np.ones(len(start))
    scale[2 * count :].reshape(-1, 3)[:, 1:] = 1e6
    times = np.linspace(0.0, duration, round(duration / 0.01) + 1)
    done = solve_ivp(slope, (0.0, duration), start, "LSODA", times, rtol=1e-8, atol=1e-9 * scale)
    assert done.success
    return done.y[:count].T, done.y[2 * count :].T.reshape(len(times), -1, 3)[:, :, 1]


def test_by_turns_converges_to_one_system() -> None:
    """Of the first order in joints and pressures, from 100 times the water's time constant."""
    joints, pressures = in_one_system(laminar(), 2, 0.06)
    off = []
    for timestep in (1e-3, 5e-4, 2.5e-4, 1.25e-4):
        chain, pressed = by_turns(laminar(), 2, 0.06, timestep)
        result = np.stack([pressed(time) for time in chain.times.tolist()])
        bend = np.abs(chain.joints - joints).max() / np.abs(joints).max()
        off.append([bend, np.abs(result - pressures).max() / pressures.max()])
    errors = np.array(off)
    ratios = errors[:-1] / errors[1:]
    assert ratios[:, 0] == pytest.approx(2.0, rel=0.03)
    assert ratios[:, 1].min() > 1.7  # pressures have a part of the second order beside
    assert errors[0, 0] < 0.005
    assert errors[-1].max() < 1e-3


def test_an_arm_of_more_segments_comes_near_the_chain() -> None:
    """The lumped model and its fluid in one system: the gap halves with twice the segments."""
    chain, _ = by_turns(laminar(), 6, 0.1)
    gaps = []
    for segments in (1, 2):
        arm = laminar().replace(segments=segments)
        lumped = move_driven_arm(arm, TORQUES, 0.1, tolerance=1e-5)
        gaps.append(tip_errors(chain, lumped).max_sectional)
    assert np.ptp(chain.ends[:, 0, 0]) > 0.05
    assert gaps[1] < 0.65 * gaps[0]


@pytest.mark.parametrize("timestep", [2e-3, 1e-3, 1e-4])
def test_the_coupling_is_stable_at_any_step_of_the_chain(timestep: float) -> None:
    """The fastest pole of the water is -1.06e5 1/s."""
    chain, pressures = by_turns(laminar(), 1, 0.1, timestep)
    assert np.abs(chain.joints).max() < 1.0
    at_rest = pressure_of_torque(laminar().drive, TORQUES)
    settled = pressures.times > 0.03
    assert np.abs(pressures.chambers - at_rest)[settled].max() < 0.25 * at_rest.max()


def test_the_model_is_as_before_afterwards() -> None:
    chain = ArmChain(one_section(), 1)
    pressures = np.array([0.0, 2e5, 3e5])
    before = chain.move(pressures, 0.05)
    move_driven_chain(chain, lambda _: 0.1 * TORQUES, 0.02)
    assert chain.move(pressures, 0.05).joints == pytest.approx(before.joints, rel=0, abs=0)


def test_recorded_ends_are_those_of_the_recorded_joints() -> None:
    chain = ArmChain(one_section(), 2)
    result = chain.move([0.0, 3e5, 3e5], 0.1)
    data = mujoco.MjData(chain.model)
    for joints, ends in zip(result.joints, result.ends, strict=True):
        data.qpos[:] = joints
        mujoco.mj_kinematics(chain.model, data)
        assert data.body("base_end").xpos == pytest.approx(ends[0], rel=0, abs=1e-15)


def test_static_and_state_end_alike_and_differ_on_the_way() -> None:
    table = TorqueTable(np.array([0.0, 0.3, 1.5]), np.array([0.0 * TORQUES, TORQUES, TORQUES]))
    runs = {
        kind: sg.run_arm(one_section(), table, links=2, coupling=kind)
        for kind in ("static", "state")
    }
    assert runs["state"].coupling == "state" == sg.run_arm(one_section(), table, 0.01).coupling
    errors = tip_errors(*(run.recording for run in runs.values())).errors
    assert errors[-1].max() < 1e-3 < errors.max()
    # nobody presses on the first chamber: only the arm that bends over it does
    assert runs["static"].pressures[:, 0] == pytest.approx(0.0)
    assert np.abs(runs["state"].pressures[:, 0]).max() > 100.0
    with pytest.raises(DescriptionError, match="coupling: expected static or state, found 'no'"):
        sg.run_arm(one_section(), table, coupling="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("coupling", ["static", "state"])
def test_the_user_is_told_of_a_flow_beyond_its_law(coupling: str) -> None:
    table = TorqueTable(np.array([0.0, 0.1]), np.array([0.0 * TORQUES, TORQUES]))
    with pytest.warns(SoftgraspWarning, match=r"Reynolds number of at most 2300, .* found \d{4,}"):
        run = sg.run_arm(laminar(), table, links=1, coupling=coupling)  # type: ignore[arg-type]
    assert run.largest_reynolds > 2300.0


def test_water_that_would_boil_is_told() -> None:
    table = TorqueTable(np.array([0.0, 0.02]), 1.5 * np.array([[1, 0, 0, 0, 1, 1]] * 2))
    with pytest.warns(SoftgraspWarning, match=r"chamber 4: expected pressures above -99000 Pa"):
        sg.run_arm(two_sections(), table, links=6)


def test_a_torque_whose_pressure_a_chamber_does_not_stand_is_refused() -> None:
    chambers = tuple(part.replace(pressure_max=3e5) for part in one_section().sections[0].chambers)
    arm = with_sections(one_section(), chambers=chambers)
    with pytest.raises(DescriptionError, match=r"pressures\[1\]: expected 0 to 300000 Pa"):
        move_driven_chain(ArmChain(arm, 1), push, 0.1)


def test_a_lagged_arm_has_its_drives_in_its_file() -> None:
    """The exported model alone: its pressure has 63 % after the lag, and its force."""
    arm = laminar()
    spec = arm_spec(arm, 2, lagged=True)
    spec.compile()
    model = mujoco.MjModel.from_xml_string(spec.to_xml())
    data, lag = mujoco.MjData(model), float(drive_model(arm).lags()[0])
    assert lag == pytest.approx(11.3e-3, rel=1e-3)
    data.ctrl[:] = pressure_of_torque(arm.drive, TORQUES)
    model.opt.timestep = lag / 20.0
    for _ in range(20):
        mujoco.mj_step(model, data)
    assert data.act == pytest.approx((1.0 - np.exp(-1.0)) * data.ctrl, rel=1e-4)


def test_one_lag_is_near_the_three_states_of_a_drive() -> None:
    """1.0 mm after a step of 1.5 N·m in laminar flow, where the end of the arm goes 0.93 m."""
    arm = with_drive(two_sections(), "tube", flow="laminar")
    torques = 1.5 * np.array([1.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftgraspWarning)
        pressures = drive_pressures(arm, lambda _: torques, 0.5, timestep=1e-3)
    exact = ArmChain(arm, 4).move(pressures, 0.5)
    lagged = ArmChain(arm, 4, lagged=True)
    result = lagged.move(pressure_of_torque(arm.drive, torques), 0.5)
    assert tip_errors(exact, result).max_sectional < 1.5e-3
    rest = lagged.rest(pressure_of_torque(arm.drive, torques))
    assert rest.ends == pytest.approx(ArmChain(arm, 4).rest(0.4 * torques * 1e6).ends, abs=1e-9)
    with pytest.raises(DescriptionError, match=r"lagged: .*expected a chain without lags"):
        move_driven_chain(lagged, lambda _: torques, 0.1)
