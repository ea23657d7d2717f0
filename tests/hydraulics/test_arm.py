"""The arm as a chain in MuJoCo against the lumped segment model, which knows no engine."""

from __future__ import annotations

import math
import warnings
from functools import cache, partial

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import softgrasp as sg
from examples.paper003.drive_power import drive_rates
from examples.paper003.lumped_motion import move_arm
from examples.paper003.statics import arm_rest
from examples.paper003.tip_errors import tip_errors
from softgrasp.description.bendable import TipLoad
from softgrasp.errors import DescriptionError, DivergedError, SoftgraspWarning
from softgrasp.hydraulics import (
    PressureRecording,
    TipRecording,
    TorqueTable,
    drive_model,
    drive_pressures,
    pressure_of_torque,
)
from softgrasp.hydraulics.arm import (
    ArmChain,
    ChainRecording,
    arm_spec,
    discretisation_error,
    drag_rate,
    move_driven_chain,
    safe_step,
    tendon_jacobian,
)
from softgrasp.hydraulics.description import HydraulicArm, SectionDamping
from softgrasp.mechanics.transforms import Array
from softgrasp.model.timestep import spring_limit
from softgrasp.sim.soft_dynamics import stable_step_of
from tests.conftest import Golden
from tests.hydraulics.arms import (
    WEIGHTLESS,
    one_section,
    two_sections,
    undamped,
    with_drive,
    with_sections,
)

BENT = [(0.0, 1e6, 1e6), (1e6, 0.0, 0.0), (0.0, 6e5, 2e5)]


@pytest.mark.parametrize("pressures", BENT)
@pytest.mark.parametrize("links", [1, 4])
def test_without_weight_bends_and_lengths_are_the_same(
    pressures: tuple[float, ...], links: int
) -> None:
    """Constant moment and force: every cell bends alike, whatever its size."""
    arm = one_section(links).replace(gravity=WEIGHTLESS)
    chain, lumped = ArmChain(arm, links).rest(pressures), arm_rest(arm, pressures)
    assert np.degrees(chain.bends) == pytest.approx(np.degrees(lumped.bends), abs=1e-5)
    assert chain.lengths == pytest.approx(lumped.lengths, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("pressures", BENT[:2])
def test_with_weight_the_limits_of_many_cells_agree(pressures: tuple[float, ...]) -> None:
    """Within 0.05°; masses at the ends of segments are off by 1/n, which Richardson takes away."""
    four, eight = (arm_rest(one_section(count), pressures) for count in (4, 8))
    chain = ArmChain(one_section(), 8).rest(pressures)
    limit = 2.0 * eight.bends - four.bends
    assert np.degrees(chain.bends) == pytest.approx(np.degrees(limit), abs=0.05)
    assert chain.lengths == pytest.approx(eight.lengths, abs=1e-6)


def test_the_table_of_the_page() -> None:
    """Two sections at 0.6 MPa: the change of the end falls by four with twice the cells."""
    pressures = 0.6e6 * np.array([1.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    ends = [ArmChain(two_sections(), links).rest(pressures).ends[-1] for links in (1, 2, 4, 8)]
    changes = np.linalg.norm(np.diff(ends, axis=0), axis=1)
    assert changes == pytest.approx([0.0874, 0.0218, 0.0054], abs=2e-4)


@pytest.mark.slow
def test_loads_in_space_have_the_same_limit_as_the_lumped_model() -> None:
    """Out of the plane, twisted, with a load that follows the tip: 1/n² for cells, 1/n for arcs."""
    load = TipLoad(force=(0.5, 0.3, 0.0), moment=(0.0, 0.1, 0.05))
    arm = two_sections().replace(gravity=WEIGHTLESS, tip_load=load)
    pressures = (2e5, 0.0, 1e5, 0.0, 3e5, 0.0)
    coarse, fine = (ArmChain(arm, links).rest(pressures).ends[-1] for links in (4, 8))
    two, four = (arm_rest(arm.replace(segments=n), pressures) for n in (2, 4))
    assert np.abs(four.strains[:, 3]).max() > 0.005
    limit = (4.0 * fine - coarse) / 3.0
    assert limit == pytest.approx(2.0 * four.ends[-1] - two.ends[-1], abs=2e-3)


def pushed(force: tuple[float, float, float], moment: tuple[float, float, float]) -> HydraulicArm:
    """Two sections without weight under a load in the axes of the base."""
    load = TipLoad(force=force, moment=moment, frame="base")
    return two_sections().replace(gravity=WEIGHTLESS, tip_load=load)


@pytest.mark.parametrize("links", [1, 2, 8])
def test_a_small_force_at_the_tip_bends_a_chain_as_a_beam(links: int) -> None:
    """F L³/3EI (1 − 1/4N²) with N cells, which are hinged in their middles: 0.9990 at 8 a section.

    A force that acts elsewhere than at the tip makes an error of the first order in 1/N.
    """
    arm = pushed((1e-4, 0.0, 0.0), (0.0, 0.0, 0.0))
    length = sum(section.length for section in arm.sections)
    beam = 1e-4 * length**3 / (3.0 * arm.sections[0].bending_stiffness)
    cells = 2 * links
    aside = ArmChain(arm, links).rest([0.0] * 6).ends[-1, 0]
    assert aside / beam == pytest.approx(1.0 - 0.25 / cells**2, abs=1e-5)


@pytest.mark.slow
def test_a_chain_buckles_as_a_column_and_converges_with_the_square_of_the_cell() -> None:
    """Euler's π² EI/4L²: 0.9993 of it with 8 cells a section."""
    arm = pushed((0.0, 0.0, -3.0), (0.0, 0.0, 0.0))
    length = sum(section.length for section in arm.sections)
    euler = np.pi**2 * arm.sections[0].bending_stiffness / (4.0 * length**2)
    factors = [ArmChain(arm, n).rest([0.0] * 6).buckling_factor for n in (2, 4, 8)]
    off = 1.0 - 3.0 * np.array(factors) / euler
    assert 0.0 < off[-1] < 1.0e-3
    assert off[:-1] / off[1:] == pytest.approx([4.0, 4.0], rel=0.1)


def test_loads_at_the_tip_balance_the_moment_about_the_base() -> None:
    """The first joint bears F × lever + M about its axis, whatever the shape."""
    force, moment = np.array([0.4, 0.3, -0.2]), np.array([0.05, -0.1, 0.02])
    chain = ArmChain(pushed(tuple(force.tolist()), tuple(moment.tolist())), 3)
    chain.rest([0.0] * 6)
    model, data = chain.model, chain.data
    tip = chain.ends()[-1]
    for joint in range(model.njnt):
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE:
            continue
        about = moment + np.cross(tip - data.xanchor[joint], force)
        borne = model.jnt_stiffness[joint] * data.qpos[model.jnt_qposadr[joint]]
        assert borne == pytest.approx(float(data.xaxis[joint] @ about), abs=1e-6)


@cache
def finest(pressures: tuple[float, ...]) -> Array:
    return np.asarray(ArmChain(two_sections(), 32).rest(pressures).ends[-1])


@pytest.mark.slow
@pytest.mark.parametrize("links", [1, pytest.param(2, marks=pytest.mark.slow), 4])
def test_the_error_of_the_cells_is_estimated(links: int) -> None:
    """Within a fifth of the distance from a chain of 32 cells."""
    pressures = 0.6e6 * np.array([1.0, 0.0, 0.0, 0.0, 1.0, 1.0])
    end = ArmChain(two_sections(), links).rest(pressures).ends[-1]
    true = np.linalg.norm(end - finest(tuple(pressures)))
    assert discretisation_error(two_sections(), links, pressures) == pytest.approx(true, rel=0.2)


def step(_: float) -> Array:
    return np.array([0.0, 3e5, 3e5])


def test_the_motions_of_chain_and_lumped_model_come_together() -> None:
    """A step of 0.3 MPa: the gap halves with twice the segments (their masses are at the ends)."""
    chain = ArmChain(one_section(), 6).move(step, 0.3, timestep=4e-4)
    gaps = []
    for segments in (1, 2):
        lumped = move_arm(one_section(segments), step, 0.3, tolerance=1e-5)
        gaps.append(tip_errors(chain, lumped).max_sectional)
    assert np.ptp(chain.ends[:, 0, 0]) > 0.05
    assert gaps[1] < 0.65 * gaps[0]
    assert gaps[1] < 0.025


def test_a_motion_ends_at_the_rest() -> None:
    chain = ArmChain(one_section(), 2)
    result = chain.move(step, 1.5, sample=0.1)
    assert isinstance(result, TipRecording)
    assert result.times[-1] == pytest.approx(1.5)
    assert result.ends[-1] == pytest.approx(chain.rest(step(0.0)).ends, abs=2e-4)


@pytest.mark.parametrize("duration", [0.004, 0.02, 0.025])
def test_a_motion_lasts_as_long_as_it_should(duration: float) -> None:
    """Samples of 10 ms do not round it."""
    chain = ArmChain(one_section(), 2)
    result = chain.move(step, duration)
    assert result.times[-1] == pytest.approx(duration, rel=1e-12)
    assert chain.data.time == pytest.approx(duration, rel=1e-9)
    assert len(result.times) == len(result.ends) == math.ceil(duration / 0.01) + 1


def test_what_cannot_be_moved_is_reported(golden: Golden) -> None:
    chain = ArmChain(one_section(), 8)
    golden.refused(lambda: chain.move(step, 0.0), "duration: expected a time above 0 s, found 0 s")
    for use in (chain.rest, lambda given: chain.move(given, 0.1)):
        with pytest.raises(DescriptionError, match=r"pressures\[0\]: expected 0 to 1e\+06 Pa"):
            use([2e6, 0.0, 0.0])
    far = one_section().replace(tip_load=TipLoad(force=(1e6, 0.0, 0.0)))
    with pytest.raises(
        DivergedError, match=r"its motion has diverged at 0.00\d s; a timestep below "
    ):
        ArmChain(far, 2).move(step, 0.1)


def test_ends_and_joints_of_a_row_belong_together() -> None:
    """With long steps too: the bodies of the last step stand where it began."""
    chain = ArmChain(one_section(), 2)
    result = chain.move(step, 0.1, timestep=0.01, integrator="discrete")
    for row, ends in zip(result.joints, result.ends, strict=True):
        chain.data.qpos[:] = row
        mujoco.mj_kinematics(chain.model, chain.data)
        assert chain.ends() == pytest.approx(ends, abs=1e-12)


def test_a_pressure_beyond_its_limit_between_two_rows_is_refused(golden: Golden) -> None:
    def spike(time: float) -> Array:
        return np.array([2e6 if 0.012 < time < 0.018 else 0.0, 0.0, 0.0])

    for move in (ArmChain(one_section(), 2).move, partial(move_arm, one_section())):
        golden.refused(partial(move, spike, 0.1, sample=0.05), "pressures[0]")


# --------------------
# Arm and fluid by turns against both in one system of equations, and the lag inside MuJoCo.


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
        rates = drive_rates(fluid, actuators, TORQUES, volumes @ data.qvel)
        return np.concatenate([data.qvel, data.qacc, rates.ravel()])

    start = np.zeros(2 * count + 3 * fluid.channels)
    scale = np.ones(len(start))
    scale[2 * count :].reshape(-1, 3)[:, 1:] = 1e6
    times = np.linspace(0.0, duration, round(duration / 0.01) + 1)
    done = solve_ivp(slope, (0.0, duration), start, "LSODA", times, rtol=1e-8, atol=1e-9 * scale)
    assert done.success
    return done.y[:count].T, done.y[2 * count :].T.reshape(len(times), -1, 3)[:, :, 1]


def test_alternately_converges_to_one_system() -> None:
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


def test_static_and_state_end_alike_and_differ_in_between() -> None:
    table = TorqueTable(np.array([0.0, 0.3, 1.5]), np.array([0.0 * TORQUES, TORQUES, TORQUES]))
    runs = {
        kind: sg.hydraulics.run_arm(one_section(), table, links=2, coupling=kind)
        for kind in ("static", "state")
    }
    assert (
        runs["state"].coupling
        == "state"
        == sg.hydraulics.run_arm(one_section(), table, 0.01).coupling
    )
    errors = tip_errors(*(run.recording for run in runs.values())).errors
    assert errors[-1].max() < 1e-3 < errors.max()
    # nobody presses on the first chamber: only the arm that bends over it does
    assert runs["static"].pressures[:, 0] == pytest.approx(0.0)
    assert np.abs(runs["state"].pressures[:, 0]).max() > 100.0
    with pytest.raises(DescriptionError, match="coupling: expected static or state, found 'no'"):
        sg.hydraulics.run_arm(one_section(), table, coupling="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("coupling", ["static", "state"])
def test_the_user_is_warned_of_a_flow_beyond_its_law(coupling: str) -> None:
    table = TorqueTable(np.array([0.0, 0.1]), np.array([0.0 * TORQUES, TORQUES]))
    with pytest.warns(SoftgraspWarning, match=r"Reynolds number of at most 2300, .* found \d{4,}"):
        run = sg.hydraulics.run_arm(laminar(), table, links=1, coupling=coupling)  # type: ignore[arg-type]
    assert run.largest_reynolds > 2300.0


def test_water_that_would_boil_is_reported() -> None:
    table = TorqueTable(np.array([0.0, 0.02]), 1.5 * np.array([[1, 0, 0, 0, 1, 1]] * 2))
    with pytest.warns(SoftgraspWarning, match=r"chamber 4: expected pressures above -99000 Pa"):
        sg.hydraulics.run_arm(two_sections(), table, links=6)


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


# --------------------
# Time steps of arms: safe ones, and what is said of those that are too long.


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


def test_a_step_that_is_too_long_names_the_integrator_and_the_step(golden: Golden) -> None:
    arm = one_section()
    longest = stable_step_of(ArmChain(arm, 2).model, "implicitfast")
    golden.refused(
        lambda: ArmChain(arm, 2).move(PRESSURES, 0.1, timestep=5e-3),
        f"timestep: expected a step of at most {longest:.3g} s",
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


def test_no_step_is_safe_from_drag_that_is_too_thick_for_it(golden: Golden) -> None:
    golden.refused(
        lambda: ArmChain(damped(drag=500.0), 2).move(
            PRESSURES, 0.1, timestep=1e-3, integrator="discrete"
        ),
        "timestep",
    )


def test_integrators_and_methods_that_do_not_exist_are_refused(golden: Golden) -> None:
    golden.refused(
        lambda: ArmChain(one_section(), 1).move(PRESSURES, 0.1, integrator="rk4"), "integrator"
    )
    with pytest.raises(DescriptionError, match="method: no method 'Euler'; known: BDF, DOP853"):
        move_arm(one_section(), PRESSURES, 0.1, method="Euler")  # type: ignore[arg-type]


def test_steps_fill_a_row() -> None:
    chain = ArmChain(one_section(), 1)
    chain.move(PRESSURES, 0.02, timestep=3e-4, integrator="discrete")
    assert chain.model.opt.timestep == pytest.approx(0.01 / math.ceil(0.01 / 3e-4))
    assert chain.model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE
