"""Pressures that lag, and stiffness that depends on them, alone and in runs of grasps."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.backends.webots.world import require_supported
from softgrasp.description.soft_finger import PressureLag
from softgrasp.errors import BuildError, DescriptionError
from softgrasp.model import names
from softgrasp.pipeline import compile_scene
from softgrasp.sim.control_state import closure_layout
from softgrasp.sim.pressures import PressureLags
from softgrasp.sim.soft_statics import blocked_force
from tests.conftest import Golden

FILL, VENT, DEAD = 0.08, 0.2, 0.03
LAG = PressureLag(fill_time=FILL, vent_time=VENT, dead_time=DEAD)
HIGH = 100e3


def lagged(lag: PressureLag | None, **fields: object) -> sg.GraspScene:
    """The soft gripper on a ball, with a lag of each finger."""
    hand = sg.load_hand("soft_gripper")
    fingers = tuple(
        soft_finger.replace(finger=soft_finger.finger.replace(pressure_lag=lag))
        for soft_finger in hand.soft_fingers
    )
    hand = hand.replace(soft_fingers=fingers)
    return sg.GraspScene(hand=hand, object=sg.load_object("sphere"), grasp="precision", **fields)


def lags_of(period: float) -> PressureLags:
    layout = closure_layout(compile_scene(lagged(LAG, control_period=period)))
    assert layout.lags is not None
    return layout.lags


def response(targets: np.ndarray, lags: PressureLags, chunk: int = 10_000) -> np.ndarray:
    """Pressure of the first finger under targets, (n,), planned in chunks."""
    plan, before = np.repeat(targets[:, None], 2, axis=1), np.zeros(2)
    state, rows = lags.at_rest(before), []
    for begin in range(0, len(plan), chunk):
        part = plan[begin : begin + chunk]
        sent = lags.follow(part, before, state)
        state, before = state.after(part, before, sent), part[-1]
        rows.append(sent[:, 0])
    return np.concatenate(rows)


@pytest.mark.parametrize("period", [1e-3, 5e-3])
def test_a_step_is_exact_whatever_the_period(period: float) -> None:
    """Filling and venting with their time constants, after the dead time, until a thousandth."""
    lags = lags_of(period)
    time = period * np.arange(round(1.6 / period))
    pressure = response(np.where(time < 0.8, HIGH, 0.0), lags)
    since = (time - DEAD).clip(0.0)
    full = HIGH * -np.expm1(-since / FILL)
    exact = np.where(time <= 0.8 + DEAD, full, HIGH * np.exp(-(since - 0.8) / VENT))
    highest = float(np.ptp(sg.load_hand("soft_gripper").soft_fingers[0].limits))
    near = np.abs(pressure - exact) <= 1e-9 * HIGH
    settled = np.abs(exact - np.where(time <= 0.8 + DEAD, HIGH, 0.0)) <= 1e-3 * highest
    assert (near | settled).all()
    assert near.sum() > 0.6 * len(time)
    assert pressure[-1] == pytest.approx(exact[-1], abs=1e-3 * highest)


def test_chunks_of_a_plan_do_not_matter() -> None:
    """A state after any number of samples continues exactly."""
    targets = HIGH * np.random.default_rng(0).random(60)
    whole = response(targets, lags_of(0.01))
    for chunk in (1, 2, 7):
        np.testing.assert_array_equal(response(targets, lags_of(0.01), chunk), whole)


def test_a_grasp_closes_later_by_the_lag() -> None:
    """The recorded pressure is that of the finger; the run ends when it has arrived."""
    plain, slow = sg.simulate(lagged(None)), sg.simulate(lagged(LAG))
    assert slow.outcome is plain.outcome
    half = [
        float(item.time[np.argmax(item.pressure[:, 0] > 0.5 * HIGH)])  # type: ignore[index]
        for item in (plain, slow)
    ]
    # behind a ramp a lag of first order is late by dead time and time constant
    assert half[1] - half[0] == pytest.approx(DEAD + FILL, abs=2e-3)
    assert slow.pressure[-1] == pytest.approx(plain.pressure[-1])
    first = [int(np.argmax(item.in_contact.any(axis=1))) for item in (plain, slow)]
    assert (first[1] - first[0]) * 1e-3 == pytest.approx(DEAD + FILL, abs=0.02)


@pytest.mark.slow
def test_a_repeated_run_is_the_same() -> None:
    """With a hold test, whose pushes start from stored states."""
    scene = lagged(LAG, success=sg.io.load_criterion("pull_out"))
    first, second = sg.simulate(scene), sg.simulate(scene)
    assert first.pressure is not None
    np.testing.assert_array_equal(first.pressure, second.pressure)
    np.testing.assert_array_equal(first.joint_position, second.joint_position)
    assert first.outcome is second.outcome


def test_engines_without_a_lag_refuse_it(golden: Golden) -> None:
    require_supported(lagged(None))
    golden.refused(lambda: require_supported(lagged(LAG)), "pressure_lag", BuildError)


def test_an_environment_lags_as_a_run() -> None:
    """Its controls at the rate of the grasp are those of the run."""
    run = sg.simulate(lagged(LAG))
    pytest.importorskip("gymnasium", reason="gymnasium is the extra 'gym'")
    from softgrasp.envs.gym_env import GraspEnv

    environment = GraspEnv(lagged(LAG))
    environment.reset(seed=0)
    for _ in range(3):
        environment.step(np.ones(2))
    last = round(environment.data.time / 1e-3) - 1
    assert 0.0 < run.pressure[last, 0] < run.joint_target[-1, 0]
    np.testing.assert_allclose(environment.data.ctrl, run.pressure[last], rtol=1e-12)
    environment.close()


def test_files_keep_a_lag(tmp_path: object) -> None:
    finger = lagged(LAG).hand.soft_fingers[0].finger
    assert sg.io.load_finger(sg.io.save_finger(finger, f"{tmp_path}/finger.yaml")) == finger
    assert LAG.replace(vent_time=None).vent == FILL
    with pytest.raises(DescriptionError) as caught:
        PressureLag(fill_time=-1.0)
    assert caught.value.field == "fill_time"


# Stiffness by pressure.

STIFFENING = 4e-6


def stiffening(value: float, pressure: float | None = None) -> sg.GraspScene:
    """The soft gripper, whose fingers stiffen, or have the stiffness at a pressure."""
    hand = sg.load_hand("soft_gripper")
    fingers = []
    for soft_finger in hand.soft_fingers:
        joints = tuple(j.replace(damping=2.0 * j.damping) for j in soft_finger.finger.joints)
        finger = soft_finger.finger.replace(stiffness_pressure=value, joints=joints)
        fingers.append(
            soft_finger.replace(finger=finger if pressure is None else finger.at_pressure(pressure))
        )
    hand = hand.replace(soft_fingers=tuple(fingers))
    return sg.GraspScene(hand=hand, object=sg.load_object("sphere"), grasp="precision")


def rest_at(scene: sg.GraspScene, pressure: float) -> np.ndarray:
    """Joint angles of the fingers at rest under a pressure; the ball is far away."""
    built = compile_scene(scene)
    layout, data = closure_layout(built), mujoco.MjData(built.model)
    mujoco.mj_resetDataKeyframe(built.model, data, 0)
    data.joint(names.OBJECT).qpos[2] += 1e3
    data.ctrl[:] = pressure
    for _ in range(round(2.0 / built.model.opt.timestep)):
        if layout.stiffening is not None:
            layout.stiffening.apply(built.model, data.ctrl)
        mujoco.mj_step(built.model, data)
    return data.qpos[layout.qpos_of_joint].copy()


def test_a_finger_at_rest_has_the_stiffness_at_its_pressure() -> None:
    pressure = 6e4
    stiff, same, soft = (
        rest_at(scene, pressure)
        for scene in (stiffening(STIFFENING), stiffening(STIFFENING, pressure), stiffening(0.0))
    )
    np.testing.assert_allclose(stiff, same, atol=1e-9)
    assert np.abs(soft).max() > 1.15 * np.abs(stiff).max()


def test_stiffening_is_a_moment_of_the_pressure() -> None:
    """−k·s·P·q beside −k·q, and the force of the blocked tip and equilibria know it."""
    built = compile_scene(stiffening(STIFFENING))
    layout, data, pressure = closure_layout(built), mujoco.MjData(built.model), 5e4
    data.ctrl[:], data.qpos[layout.qpos_of_joint] = pressure, 0.1
    mujoco.mj_forward(built.model, data)
    before = data.qfrc_spring.copy()
    layout.stiffening.apply(built.model, data.ctrl)
    mujoco.mj_forward(built.model, data)
    np.testing.assert_allclose(data.qfrc_spring, before * (1.0 + STIFFENING * pressure))
    finger = stiffening(STIFFENING).hand.soft_fingers[0].finger
    fixed = finger.at_pressure(pressure)
    shapes = [sg.equilibrium(item, pressure=pressure, error_estimate=False).joint_angles
              for item in (finger, fixed, finger.replace(stiffness_pressure=0.0))]  # fmt: skip
    np.testing.assert_allclose(shapes[0], shapes[1], rtol=1e-9)
    assert shapes[2].sum() > 1.1 * shapes[0].sum()
    forces = [blocked_force(item, [pressure])[0] for item in (finger, fixed)]
    assert forces[0] == pytest.approx(forces[1])


def test_a_run_stiffens_and_leaves_the_model_as_built() -> None:
    built = compile_scene(stiffening(STIFFENING))
    before = built.model.jnt_stiffness.copy()
    first = sg.simulate(stiffening(STIFFENING))
    again, plain = sg.simulate(stiffening(STIFFENING)), sg.simulate(stiffening(0.0))
    np.testing.assert_array_equal(first.joint_position, again.joint_position)
    assert first.outcome is plain.outcome
    assert first.normal_force[-1].sum() < plain.normal_force[-1].sum()
    built.model.jnt_stiffness[:] = 0.0
    built.start.write(built.model)
    np.testing.assert_array_equal(built.model.jnt_stiffness, before)


def test_a_stiffness_below_zero_is_refused() -> None:
    with pytest.raises(DescriptionError) as caught:
        stiffening(-2e-5)
    assert caught.value.field == "finger.stiffness_pressure"
