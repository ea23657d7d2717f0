"""The Gymnasium environment: our own runs bit for bit, the rules of the API, what it refuses."""

import warnings
from functools import lru_cache
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp import envs
from softgrasp.mechanics.transforms import relative_quaternions
from softgrasp.pipeline import compile_scene
from softgrasp.sim.control_state import ClosureLayout, closure_layout
from softgrasp.sim.laws import free_actuators
from tests.support.scenes import pinch

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is the extra 'gym'")

CLOSING = 0.45
"""Time in which the pinch closes [s]."""
TEST = sg.SuccessCriterion(ramp_time=0.05, hold_time=0.05)
LONG_STEPS = sg.description.Solver(refinement=1)


def quick(**changes: Any) -> sg.GraspScene:
    """A grasp with a short hold test; environments have no grip force and long steps only."""
    closure = sg.PositionIncrementClosure(grip_force=None)
    common = {"duration": CLOSING, "success": TEST, "closure": closure, "solver": LONG_STEPS}
    return pinch(**(common | changes))


def on_a_table() -> sg.GraspScene:
    """A pole on a table, to be lifted."""
    pole = sg.GraspObject(name="pole", shape=sg.Cylinder(radius=0.025, height=0.12), density=300.0)
    lift = sg.description.Lift(height=0.02, time=0.2, hold_time=0.05)
    return quick(success=None, lift=lift, gravity=True, object=pole, surroundings=(sg.Table(),))


@lru_cache
def layout_of(scene: sg.GraspScene) -> ClosureLayout:
    return closure_layout(compile_scene(scene))


def closes(env: Any) -> np.ndarray:
    """What the scene's own controller would do: close what contact does not stop."""
    layout = layout_of(env.task.scene)
    touching = env.simulation.episode.in_contact.astype(int).tolist()
    free = free_actuators(layout.stops, touching)[: len(env.task.actuators)]
    return np.array(free, dtype=np.float32)[env.task.active]


def episode(env: Any, seed: int | None = None) -> tuple[np.ndarray, list[float], dict[str, Any]]:
    """Positions, rewards and last facts of an episode under the scene's own controller."""
    env.reset(seed=seed)
    rows, rewards, over, info = [env.data.qpos.copy()], [], False, {}
    while not over:
        _, reward, terminated, truncated, info = env.step(closes(env))
        rows.append(env.data.qpos.copy())
        rewards.append(reward)
        over = terminated or truncated
    return np.array(rows), rewards, info


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"actuation": "prescribed"},
        {"contact": sg.Contact(static_friction=0.6, dynamic_friction=0.3)},
        {"object_mount": "planar"},
        {"gravity": True},
    ],
    ids=["servo", "prescribed", "switching friction", "planar", "gravity"],
)
def test_the_controller_of_a_scene_does_the_same_in_its_environment(changes):
    scene = quick(**changes)
    env = sg.make_env(scene, decision_period=scene.control_period)
    result = sg.simulate(scene)
    rows, rewards, info = episode(env)
    joints = [env.model.joint(name).qposadr[0] for name in result.joint_names]
    count = len(rows) if not info["is_success"] else len(result.time)
    assert np.array_equal(rows[:, joints], result.joint_position[:count])
    assert info["is_success"] is result.held
    if info["in_test"]:  # an object that leaves the hand before ends the episode at once
        assert info["outcome"] == result.outcome.name
    if result.held:
        assert info["creep_m_s"] == pytest.approx(result.hold.creep_m_s, rel=1e-6, abs=1e-12)
        assert info["drop_m"] == pytest.approx(result.hold.drop_m, rel=1e-9)
        assert info["rotation_rad"] == pytest.approx(result.hold.rotation_rad, abs=1e-9)
        assert rewards == [0.0] * (len(rewards) - 1) + [1.0]


def test_a_lift_goes_as_in_a_run():
    scene = on_a_table()
    env = sg.make_env(scene, decision_period=scene.control_period)
    result = sg.simulate(scene)
    rows, _, info = episode(env)
    assert len(rows) > CLOSING / scene.control_period + 50
    joints = [env.model.joint(name).qposadr[0] for name in result.joint_names]
    assert np.array_equal(rows[:, joints], result.joint_position[: len(rows)])
    assert result.held
    assert info["is_success"]


def test_a_step_is_the_raw_engine_bit_for_bit():
    env = sg.make_env(quick())
    model = sg.compile_model(env.task.scene)
    servos, stiffness = model.actuator_biasprm, model.actuator_gainprm[:, 0]
    servos[:, 2] += 0.5 * model.opt.timestep * stiffness  # so that they lag as described
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    env.reset(seed=0)
    generator = np.random.default_rng(0)
    targets = data.ctrl.copy()
    for _ in range(15):
        action = generator.uniform(-1, 1, 12).astype(np.float32)
        env.step(action)
        for _ in range(20):
            targets = np.clip(
                targets + action * env.task.increments, env.task.lower, env.task.upper
            )
            data.ctrl[:] = targets
            mujoco.mj_step(model, data)
        assert np.array_equal(env.data.qpos, data.qpos)
        assert np.array_equal(env.data.qvel, data.qvel)


@pytest.mark.parametrize("action", ["increments", "targets"])
def test_the_environment_keeps_the_rules_of_gymnasium(action):
    from gymnasium.utils.env_checker import check_env

    env = sg.make_env(
        quick(), action=action, render_mode="rgb_array", size=(64, 48), renderer="raycast"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env)
    env.close()


def test_a_random_agent_lives_through_200_steps():
    env = sg.make_env(quick(), noise=sg.description.PoseNoise(position=1e-3), shaping=0.5)
    env.action_space.seed(1)
    env.reset(seed=1)
    ends = 0
    for _ in range(200):
        observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert observation in env.observation_space
        assert np.isfinite(reward)
        if terminated or truncated:
            ends += 1
            env.reset()
    assert ends >= 2


def test_the_same_seed_gives_the_same_bits_and_another_one_others():
    env, other = (
        sg.make_env(quick(), noise=sg.description.PoseNoise(position=2e-3, rotation=0.1))
        for _ in range(2)
    )
    first, _, _ = episode(env, seed=5)
    again, _, _ = episode(env, seed=5)
    elsewhere, _, _ = episode(other, seed=5)
    differently, _, _ = episode(env, seed=6)
    assert np.array_equal(first, again)
    assert np.array_equal(first, elsewhere)
    assert not np.array_equal(first[0], differently[0])
    at_rest, _ = sg.make_env(quick()).reset(seed=5)
    assert at_rest["object_position"] == pytest.approx([0.0, 0.0, -0.085], abs=1e-7)


def test_noise_has_its_standard_deviation_and_starts_clear_of_the_hand(golden):
    env = sg.make_env(quick(), noise=sg.description.PoseNoise(position=1e-3))
    positions = [env.reset(seed=seed)[0]["object_position"] for seed in range(200)]
    assert np.std(positions, axis=0) == pytest.approx([1e-3] * 3, rel=0.2)
    env.simulation._is_clear = lambda offset: False
    golden.refused(
        lambda: env.reset(seed=0), "noise: expected a start of the object cl", sg.SimulationError
    )


def test_an_object_on_a_table_stays_on_it():
    env = sg.make_env(on_a_table(), noise=sg.description.PoseNoise(position=2e-3, rotation=0.2))
    env.reset(seed=0)
    first = env.model.joint("object").qposadr[0]
    starts = []
    for _ in range(5):
        env.reset()
        starts.append(env.data.qpos[first : first + 7].copy())
    assert np.ptp([row[2] for row in starts]) == 0.0
    assert np.ptp([row[0] for row in starts]) > 1e-4
    upright = env.model.key_qpos[0, first + 3 : first + 7]
    rotations = relative_quaternions(np.array([row[3:] for row in starts]), upright)
    assert np.abs(rotations[:, 1:3]).max() < 1e-12
    assert np.ptp(rotations[:, 3]) > 1e-3


def test_a_vector_of_environments_runs_them_side_by_side():
    make_one = lambda: sg.make_env(quick(), noise=sg.description.PoseNoise(position=1e-3))  # noqa: E731
    vector = gymnasium.vector.SyncVectorEnv([make_one] * 3)
    observations, _ = vector.reset(seed=7)
    assert observations["joint_position"].shape == (3, 12)
    alone, _ = make_one().reset(seed=8)
    assert np.array_equal(observations["object_position"][1], alone["object_position"])
    for _ in range(3):
        observations, rewards, _, _, _ = vector.step(vector.action_space.sample())
    assert rewards.shape == (3,)
    vector.close()


def test_gymnasium_makes_it_by_its_name():
    env = gymnasium.make("softgrasp/Grasp-v0", scene=quick())
    own = sg.make_env(quick())
    assert env.unwrapped.observation_space == own.observation_space
    assert own.spec.id == env.spec.id == "softgrasp/Grasp-v0"


def test_targets_follow_an_action_at_the_rate_of_the_actuator():
    env = sg.make_env(quick(), action="targets", speed=2.0)
    env.reset()
    action = np.full(12, 0.2, dtype=np.float32)
    before = env.simulation.episode.targets.copy()
    observation, *_ = env.step(action)
    target = env.task.lower + 0.6 * (env.task.upper - env.task.lower)
    way = 20 * np.abs(env.task.increments)
    expected = before + np.clip(target - before, -way, way)
    assert observation["target"] == pytest.approx(expected, abs=1e-6)
    assert env.task.increments[0] == pytest.approx(2.0 * env.task.scene.rates[0] * 1e-3)
    for _ in range(4):
        observation, *_ = env.step(env.action_space.low)
    low = [phalanx.limits[0] for phalanx in env.task.scene.hand.joints]
    assert observation["target"][0] == pytest.approx(low[0], abs=0.1)


def test_actuators_without_a_rate_are_no_actions():
    scene = pinch(closure=sg.PositionIncrementClosure(active=(True, False, True) * 4))
    env = sg.make_env(scene)
    assert env.action_space.shape == (8,)
    observation, _ = env.reset()
    start = observation["target"].copy()
    observation, *_ = env.step(env.action_space.high)
    moved = observation["target"] != start
    assert moved.tolist() == [True, False, True] * 4


def test_soft_fingers_are_actuators_too():
    scene = sg.load_scene("soft_mug").replace(object_position=None)
    env = sg.make_env(scene, closing_time=0.04)
    observation, _ = env.reset()
    assert observation["target"].shape == env.action_space.shape
    observation, *_ = env.step(env.action_space.high)
    pressure = scene.rates[0] * 0.02
    assert observation["target"] == pytest.approx([pressure] * len(scene.rates), rel=1e-5)
    assert observation in env.observation_space


def test_shaping_adds_up_to_nothing():
    """With discount 1 a potential that is zero at both ends adds nothing to the return."""
    for policy in (1.0, 0.0):
        env = sg.make_env(quick(), shaping=0.7)
        env.reset()
        rewards, over = [], False
        while not over:
            action = closes(env) * policy
            _, reward, over, _, info = env.step(action.astype(np.float32))
            rewards.append(reward)
        assert sum(rewards) == pytest.approx(float(info["is_success"]), abs=1e-12)
    env = sg.make_env(quick(), shaping=0.7, discount=0.5)
    _, rewards, _ = episode(env)
    assert max(rewards[:-1]) == pytest.approx(0.5 * 0.7 * 1.0, abs=0.2)


def test_an_object_that_leaves_the_hand_ends_the_episode(golden):
    env = sg.make_env(quick(gravity=(0.0, 0.0, -50.0), duration=2.0))
    env.reset()
    still = np.zeros(12, dtype=np.float32)
    steps = 1
    while not (end := env.step(still))[2]:
        steps += 1
    assert end[1] == 0.0
    assert not end[3]
    assert not end[4]["in_test"]
    assert steps == pytest.approx(np.sqrt(2 * 0.06 / 50.0) / 0.02, abs=1.0)
    golden.refused(lambda: env.step(still), "expected an episode to go on,", sg.SimulationError)


def test_time_limits_truncate():
    env = sg.make_env(quick(), time_limit=0.1)
    env.reset()
    ends = [env.step(np.zeros(12, dtype=np.float32))[2:4] for _ in range(5)]
    assert ends == [(False, False)] * 4 + [(False, True)]


def test_a_diverged_motion_truncates_with_the_last_sound_observation():
    env = sg.make_env(quick())
    env.reset()
    before, *_ = env.step(np.zeros(12, dtype=np.float32))
    env.data.qvel[0] = 1e9
    after, reward, terminated, truncated, info = env.step(np.zeros(12, dtype=np.float32))
    assert (terminated, truncated, info["diverged"]) == (False, True, True)
    assert reward == 0.0
    assert all(np.array_equal(after[name], before[name]) for name in before)
    env.reset()
    assert not env.step(np.zeros(12, dtype=np.float32))[3]


def test_images_show_contact_and_change_nothing():
    env = sg.make_env(quick(), render_mode="rgb_array", size=(96, 72), renderer="raycast")
    plain = sg.make_env(quick())
    env.reset()
    plain.reset()
    start = env.render()
    assert start.shape == (72, 96, 3)
    assert start.dtype == np.uint8
    for _ in range(22):
        action = closes(env)
        env.step(action)
        env.render()
        plain.step(action)
    assert np.array_equal(env.data.qpos, plain.data.qpos)
    assert (env.render() != start).mean() > 0.02
    assert env.metadata["render_fps"] == 50
    with pytest.warns(UserWarning, match="expected render_mode='rgb_array' in make_env"):
        assert plain.render() is None
    env.close()


def test_a_scene_file_is_enough(tmp_path):
    sg.save_scene(quick(), tmp_path / "quick.yaml")
    env = sg.make_env(tmp_path / "quick.yaml")
    assert env.task.closing_samples == 450
    assert sg.make_env("demo").task.criterion == sg.load_scene("demo").success


IDLE = sg.PositionIncrementClosure(active=(False,) * 12)


@pytest.mark.parametrize(
    ("changes", "options", "sentence"),
    [
        ({}, {"decision_period": 0.0015}, "decision_period"),
        ({}, {"render_mode": "human"}, "render_mode"),
        ({"object_mount": "fixed", "success": None}, {}, "success"),
        ({"closure": IDLE}, {}, "closure.rates"),
        ({"sequence": ("close", "hold"), "success": None}, {}, "sequence"),
        ({"success": sg.io.load_criterion("dexgraspbench")}, {}, "success: expected a closure"),
    ],
    ids=["period", "render mode", "fixed", "no actuator", "sequence", "criterion"],
)
def test_what_does_not_fit_is_refused(changes, options, sentence, golden):
    golden.refused(lambda: sg.make_env(quick(**changes), **options), sentence)


def test_unknown_settings_and_options_are_refused(golden):
    with pytest.raises(sg.DescriptionError, match="did you mean 'speed'"):
        sg.make_env(quick(), sped=2.0)
    env = sg.make_env(quick())
    with pytest.raises(sg.SimulationError) as early:
        env.step(np.zeros(12, dtype=np.float32))
    assert str(early.value) == "expected an episode to go on, found none: call reset()"
    golden.refused(lambda: env.reset(options={"place": 1}), "expected no options,")
    env.reset()
    for action, result in ((np.zeros(3), "an array of shape (3,)"), (np.full(12, np.nan), "NaN")):
        with pytest.raises(sg.DescriptionError) as wrong:
            env.step(action)
        assert str(wrong.value) == f"action: expected 12 numbers, one per actuator, found {result}"


def test_a_missing_gymnasium_states_what_to_install(monkeypatch):
    monkeypatch.setattr(envs, "find_spec", lambda name: None)
    with pytest.raises(sg.BackendUnavailable) as refused:
        sg.make_env(quick())
    assert str(refused.value) == ("gymnasium is not installed: pip install 'softgrasp[gym]'")
