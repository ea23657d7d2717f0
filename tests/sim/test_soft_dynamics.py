"""A finger on its way: where it comes to rest, how it swings, and what a wrong step says."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.continuum.settling import settling
from softgrasp.continuum.statics import PlanarChain, rest
from softgrasp.model.robot import robot_model
from softgrasp.model.soft_finger import finger_model
from softgrasp.model.timestep import damped_spring_limit, spring_limit
from softgrasp.sim.soft_dynamics import (
    INTEGRATORS,
    ReleaseTestRig,
    first_mode,
    is_stable,
    linear_mode,
    release_motion,
    rest_shape,
    small_motion,
    stable_step_of,
)
from softgrasp.sim.soft_statics import damp_finger, loaded_finger, solve_loaded_shape
from tests.conftest import Golden
from tests.support.beams import FREQUENCIES

PAPER = sg.io.load_finger("paper000")


def test_under_pressure_it_comes_to_rest_at_its_equilibrium() -> None:
    joints = tuple(joint.replace(damping=20 * joint.damping) for joint in PAPER.joints)
    damped = PAPER.replace(joints=joints)
    motion = sg.soft.move_finger(damped, 3.0, pressure=1e5, tip_mass=0.02)
    rest = sg.equilibrium(damped, pressure=1e5, tip_mass=0.02)
    assert motion.joint_angles[-1] == pytest.approx(rest.joint_angles, abs=1e-5)
    assert motion.tip_position[-1] == pytest.approx(rest.tip_position, abs=1e-6)


@pytest.mark.slow
def test_a_beam_swings_at_its_natural_frequency() -> None:
    """Within 0.3 %: the shape under a tip load holds a few per cent of higher modes."""
    length, stiffness, mass = 0.1, 2e-3, 0.02
    beam = sg.rld.discretise(length, stiffness, mass, 16, section=(1e-4, 1e-4))
    first = FREQUENCIES[0] * np.sqrt(stiffness / (mass / length * length**4)) / (2 * np.pi)
    rest = sg.equilibrium(beam, tip_force=(0, 0, -1e-3), gravity=False)
    motion = sg.soft.move_finger(
        beam, 6 / first, start_angles=rest.joint_angles, gravity=False, timestep=2e-5,
        integrator="rk4",
    )  # fmt: skip
    height = motion.tip_position[:, 2]
    crossings = np.flatnonzero((height[:-1] < 0) & (height[1:] >= 0))
    period = np.diff(motion.time[crossings[[0, -1]]])[0] / (len(crossings) - 1)
    assert 1 / period == pytest.approx(first, rel=3e-3)


def test_energy_is_lost_to_the_dampers_only() -> None:
    """Without damping an RK4 step keeps the energy of a swinging beam."""
    beam = sg.rld.discretise(0.1, 2e-3, 0.02, 6)
    start = np.full(6, 0.1)
    motion = sg.soft.move_finger(
        beam, 0.3, start_angles=start, gravity=False, timestep=2e-5, integrator="rk4"
    )
    spring = 0.5 * (motion.joint_angles**2 @ [joint.stiffness for joint in beam.joints])
    assert spring.max() <= spring[0] * (1 + 1e-6)
    assert spring[5000:].max() > 0.9 * spring[0]


def test_a_step_that_is_too_long_is_an_error_with_the_joint_and_the_step(golden: Golden) -> None:
    golden.refused(
        lambda: sg.soft.move_finger(PAPER, 1.0, start_angles=0.15, timestep=2e-3),
        "finger 'paper000'",
        sg.SimulationError,
    )
    sg.soft.move_finger(PAPER, 0.2, start_angles=0.15, timestep=0.00097)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"timestep": -1.0}, "timestep: expected a number above 0, found -1.0"),
        ({"integrator": "rk5"}, "integrator: no integrator 'rk5'; did you mean 'rk4'?"),
        ({"pressure": [1.0, 2.0]}, "pressure: expected a finite number or "),
        ({"start_angles": [1.0, 2.0]}, "start_angles: expected one angle or 7, found shape (2,)"),
        ({"pressure": np.nan}, "pressure: expected a finite number or "),
    ],
)
def test_refusals(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(sg.DescriptionError) as caught:
        sg.soft.move_finger(PAPER, 0.1, **options)
    assert str(caught.value).startswith(sentence)


# Releases in MuJoCo against closed forms; other engines are held to it in tests/crosschecks.


@pytest.fixture(scope="module")
def release() -> sg.description.FingerRelease:
    return sg.io.load_release("paper000_release")


def test_the_shape_under_the_weight_is_that_of_equilibrium(
    release: sg.description.FingerRelease,
) -> None:
    rest = sg.equilibrium(release.finger, tip_mass=release.tip_mass, error_estimate=False)
    np.testing.assert_allclose(solve_loaded_shape(release), rest.joint_angles, atol=1e-10)


def test_a_weight_in_the_last_link_is_one_at_the_tip(release: sg.description.FingerRelease) -> None:
    loaded = loaded_finger(release.finger, release.tip_mass)
    rest = sg.equilibrium(loaded, error_estimate=False)
    np.testing.assert_allclose(rest.joint_angles, solve_loaded_shape(release), atol=1e-10)
    extra = loaded.links[-1].mass - release.finger.links[-1].mass
    assert extra == pytest.approx(release.tip_mass)


def test_a_finger_creeps_to_its_shape_of_rest(release: sg.description.FingerRelease) -> None:
    loaded = loaded_finger(release.finger, release.tip_mass)
    way = rest_shape(loaded, small_motion(loaded).rate, "mujoco", timestep=1e-3)
    np.testing.assert_allclose(way.angles[-1], solve_loaded_shape(release), atol=1e-9)


def test_a_release_starts_at_rest_and_ends_without_the_weight(
    release: sg.description.FingerRelease,
) -> None:
    motion = release_motion(release)
    assert motion.angles.shape == (1001, 7)
    assert motion.tip.shape == (1001, 2)
    assert motion.engine.name == "mujoco"
    np.testing.assert_allclose(motion.angles[0], solve_loaded_shape(release))
    rest = sg.equilibrium(release.finger, error_estimate=False)
    np.testing.assert_allclose(motion.angles[-1], rest.joint_angles, atol=1e-4)


def test_samples_do_not_depend_on_how_often_the_engine_steps(
    release: sg.description.FingerRelease,
) -> None:
    fine = release_motion(release, timestep=2.5e-4)
    finer = release_motion(release, timestep=1.25e-4)
    assert fine.angles.shape == finer.angles.shape
    assert np.degrees(np.abs(fine.angles - finer.angles).max()) < 0.02


def test_all_of_the_damping_is_c_plus_hk(release: sg.description.FingerRelease) -> None:
    whole, plain = damp_finger(release), release.finger
    for joint, own in zip(whole.joints, plain.joints, strict=True):
        assert joint.damping == pytest.approx(own.damping + 1e-3 * own.stiffness)
    assert damp_finger(release.replace(webots_timestep=None)) == plain
    # without it the finger swings on for longer
    times = [
        settling(motion.time, motion.tip[:, 1], "band-5%").time
        for motion in (
            release_motion(item) for item in (release, release.replace(webots_timestep=None))
        )
    ]
    assert times[1] > 1.2 * times[0]


def test_the_linear_mode_is_that_of_its_formulas(release: sg.description.FingerRelease) -> None:
    finger = damp_finger(release)
    mode = linear_mode(finger)
    # a damped mode swings a little slower than the one without dampers, and dies away with ζ·ω
    rate = small_motion(finger).rate
    assert mode.frequency < rate / (2 * np.pi) < mode.frequency / np.sqrt(1 - mode.ratio**2) * 1.01
    assert mode.decay == pytest.approx(mode.ratio * rate, rel=0.01)
    steps = [linear_mode(finger, step) for step in (1e-3, 1e-4, 1e-5)]
    errors = [abs(item.frequency - mode.frequency) for item in steps]
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(10, rel=0.1)


def test_a_weight_that_cannot_be_carried_is_reported(
    release: sg.description.FingerRelease, golden: Golden
) -> None:
    golden.refused(lambda: solve_loaded_shape(release.replace(tip_mass=1e9)), "tip_mass")


def test_a_time_step_that_diverges_is_reported(release: sg.description.FingerRelease) -> None:
    with pytest.raises(sg.SimulationError, match="diverging"):
        release_motion(release.replace(sample_period=5e-3, duration=1.0), timestep=5e-3)


# Releases side by side: each is the motion of its finger alone.


FINGER = sg.io.load_finger("paper000")
CHAIN = PlanarChain.of(FINGER)
STIFFNESS = np.array([joint.stiffness for joint in FINGER.joints])
DAMPING = np.array([joint.damping for joint in FINGER.joints])


def hung(grams: float) -> np.ndarray:
    loads = CHAIN.weight.plus(CHAIN.at_tip((0.0, -9.81e-3 * grams)))
    return rest(STIFFNESS, loads, np.zeros(7)).angles


def test_a_release_is_the_motion_of_the_finger_alone() -> None:
    start = hung(40)
    message = ReleaseTestRig(FINGER).release(STIFFNESS[None], DAMPING[None], start[None], 0.2)
    motion = sg.soft.move_finger(FINGER, 0.2, start_angles=start, timestep=2.5e-4)
    np.testing.assert_allclose(message.height[0], motion.tip_position[::2, 2], atol=1e-12)
    np.testing.assert_allclose(message.time, motion.time[::2], atol=1e-12)


def test_rows_depend_neither_on_one_another_nor_on_threads() -> None:
    k = STIFFNESS * np.array([[1.0], [0.8], [1.3], [1.0]])
    c = DAMPING * np.array([[1.0], [2.0], [0.5], [3.0]])
    start = np.array([hung(m) for m in (0, 20, 40, 100)])
    together = ReleaseTestRig(FINGER, threads=2).release(k, c, start, 0.1).height
    rig = ReleaseTestRig(FINGER)
    for row in range(4):
        part = slice(row, row + 1)
        np.testing.assert_array_equal(
            rig.release(k[part], c[part], start[part], 0.1).height[0], together[row]
        )


def test_a_finger_that_diverges_is_not_a_number_and_the_others_stay() -> None:
    rig = ReleaseTestRig(FINGER, timestep=5e-3)  # far beyond what its springs allow
    start = np.array([hung(40), np.full(7, np.nan)])
    k = np.array([STIFFNESS, STIFFNESS])
    assert np.isnan(rig.release(k, np.array([DAMPING, DAMPING]), start, 0.5).height).all()
    fine = ReleaseTestRig(FINGER).release(k, np.array([DAMPING, DAMPING]), start, 0.1).height
    assert np.isfinite(fine[0]).all()
    assert np.isnan(fine[1]).all()


# Stable time steps: the closed form of one oscillator, and a run on both sides of the limit.


OSCILLATOR = """
<mujoco><option gravity="0 0 0"/><worldbody><body><joint type="slide" stiffness="{stiffness}"/>
<geom size="0.1" mass="1"/></body></worldbody></mujoco>
"""


@pytest.mark.parametrize("frequency", [1e3, 2e4])
def test_one_oscillator_has_the_limits_of_the_textbook(frequency: float) -> None:
    """Semi-implicit Euler: h < 2/ω. Runge–Kutta of fourth order: h < 2√2/ω."""
    model = mujoco.MjModel.from_xml_string(OSCILLATOR.format(stiffness=frequency**2))
    steps = sg.stable_timestep(model)
    for name in ("euler", "implicitfast"):
        assert steps[name] == pytest.approx(2 / frequency, rel=1e-3)
    assert steps["rk4"] == pytest.approx(2 * np.sqrt(2) / frequency, rel=1e-3)
    assert steps["discrete"] == 1e-2
    for name in ("euler", "implicitfast", "rk4"):
        assert is_stable(model, name, 0.99 * steps[name])
        assert not is_stable(model, name, 1.01 * steps[name])


@pytest.mark.parametrize("joints", [1, 2, 24])
def test_the_first_mode_is_that_of_a_cantilever(joints: int) -> None:
    """ω = 1.8751²·√(EI/m′L⁴); of one joint at mid-length √24 instead of 1.8751²."""
    length, stiffness, mass = 0.1, 2e-3, 1e-4
    finger = sg.rld.discretise(length, stiffness, mass, joints)
    mode = first_mode(finger, np.array([joint.stiffness for joint in finger.joints]))
    unit = math.sqrt(stiffness / (mass / length * length**4)) / (2.0 * math.pi)
    factor, error = {1: (math.sqrt(24), 6e-3), 2: (1.8751**2, 0.07), 24: (1.8751**2, 5e-3)}[joints]
    assert mode.frequency == pytest.approx(factor * unit, rel=error)
    assert mode.weights.sum() == pytest.approx(1.0)
    assert mode.weights.argmax() == 0
    rate = 2.0 * math.pi * mode.frequency
    critical = np.full(joints, 2.0 * rate * mode.inertia)
    assert mode.ratio(critical) == pytest.approx(1.0)


def test_the_limit_of_the_finger_is_near_the_one_of_the_reference() -> None:
    """It measured 1.2 ms stable and 1.5 ms unstable for a finger much like it."""
    steps = sg.stable_timestep(sg.io.load_finger("paper000"))
    assert 1.2e-3 < steps["implicitfast"] < 1.5e-3
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
    model = sg.hydraulics.ArmChain(
        sg.hydraulics.load_hydraulic_arm("hydraulic_two_section"), 1
    ).model
    bound = damped_spring_limit(model)
    assert bound > 1.5 * spring_limit(model)
    assert bound == pytest.approx(stable_step_of(model, "implicitfast"), rel=0.01)
    model.dof_damping[:] = 0.0
    assert damped_spring_limit(model) == pytest.approx(spring_limit(model), rel=2e-3)
    model.jnt_stiffness[:] = 0.0
    assert damped_spring_limit(model) == 1.0


@pytest.mark.parametrize("integrator", ["euler", "implicitfast", "implicit", "rk4"])
@pytest.mark.parametrize("name", ["paper000", "soft_gripper_two"])
def test_the_largest_step_is_where_a_step_of_mujoco_grows(name: str, integrator: str) -> None:
    """Eigenvalues of the differentiated step, by columns, on both sides of the limit."""
    model = (
        finger_model(sg.io.load_finger(name))
        if name == "paper000"
        else robot_model(sg.io.load_robot(name))
    )
    model.opt.integrator = INTEGRATORS[integrator]
    limit = stable_step_of(model, integrator)
    assert 0.0 < limit <= 1e-2
    for factor, grows in ((0.999, False), (1.001, True)):
        model.opt.timestep = factor * limit
        assert (growth(model) > 1.0 + 1e-5) is (grows and limit < 1e-2)


def growth(model: mujoco.MjModel) -> float:
    """Largest magnitude of the eigenvalues of a step from rest."""
    data, columns = mujoco.MjData(model), []
    for index in range(2 * model.nv):
        ends = []
        for change in (1e-6, -1e-6):
            mujoco.mj_resetData(model, data)
            (data.qpos if index < model.nv else data.qvel)[index % model.nv] += change
            mujoco.mj_step(model, data)
            ends.append(np.concatenate([data.qpos, data.qvel]))
        columns.append((ends[0] - ends[1]) / 2e-6)
    return float(np.abs(np.linalg.eigvals(np.stack(columns, axis=1))).max())


def test_a_finger_that_no_step_bears_is_refused() -> None:
    """One millimetre in eight cells: its springs are too stiff for masses of a milligram."""
    finger = sg.rld.discretise(1e-3, 1e-3, 1e-3, joints=8)
    with pytest.raises(sg.DescriptionError, match="timestep: finger 'finger': expected springs"):
        sg.soft.move_finger(finger, 0.01)
    assert np.isfinite(sg.soft.move_finger(finger, 0.01, integrator="discrete").joint_angles).all()
