"""dm_control: the composed scene moves as ours does."""

from typing import Any

import mujoco
import numpy as np
import pytest
from absl.testing import absltest
from dm_env import StepType, test_utils

import softgrasp as sg
from softgrasp import envs
from softgrasp.sim.stiffness_feedback import StiffnessFeedback
from tests.support.scenes import ball, pinch

pytest.importorskip("dm_control", reason="dm_control is the extra 'dm' (Python 3.11 and 3.12)")


pytest.importorskip("gymnasium", reason="gymnasium is the extra 'gym'")
if mujoco.__version__.startswith("4"):
    pytest.skip("dm_control 1.0 needs MuJoCo below 4", allow_module_level=True)

TEST = sg.SuccessCriterion(ramp_time=0.05, hold_time=0.05)


def quick(**changes: Any) -> sg.GraspScene:
    return pinch(**({"duration": 0.45, "success": TEST} | changes))


def test_the_physics_move_as_ours_do():
    long_steps = sg.description.Solver(refinement=1)
    ours = sg.simulate(quick(solver=long_steps))
    env = sg.make_dm_env(quick(solver=long_steps))
    env.reset()
    physics, track = env.physics, []
    count = round(0.45 / 1e-3)
    for targets in ours.joint_target[:count]:
        track.append(physics.data.qpos[:12].copy())
        physics.data.ctrl[:] = targets
        physics.step()
    assert any(contact.in_contact for contact in ours.contacts)
    assert np.abs(np.array(track) - ours.joint_position[:count]).max() < 1e-4


def test_the_arena_has_the_solver_of_softgrasp():
    ours = sg.compile_model(quick())
    env = sg.make_dm_env(quick())
    theirs = env.physics.model
    for option in ("timestep", "integrator", "cone", "impratio", "noslip_iterations", "jacobian"):
        assert getattr(theirs.opt, option) == getattr(ours.opt, option), option
    assert np.array_equal(theirs.pair_solref, ours.pair_solref)
    assert np.array_equal(theirs.pair_friction, ours.pair_friction)


def test_a_missing_dm_control_states_what_to_install(monkeypatch):
    monkeypatch.setattr(envs, "find_spec", lambda name: None)
    with pytest.raises(sg.BackendUnavailable) as refused:
        sg.make_dm_env(quick())
    assert str(refused.value) == (
        "dm_control is not installed: pip install 'softgrasp[dm]' (Python 3.11 or 3.12)"
    )


def test_mujoco_4_is_named_as_the_reason(monkeypatch, golden):
    monkeypatch.setattr(mujoco, "__version__", "4.0.0")
    golden.refused(
        lambda: sg.make_dm_env(quick()),
        "dm_control 1.0 needs MuJoCo below 4,",
        sg.BackendUnavailable,
    )


def test_a_deformable_object_is_refused_and_sensors_are_reported_as_left_out(golden):
    obj = pinch().object.replace(elasticity=sg.description.Elasticity(young=1e5))
    golden.refused(lambda: sg.make_dm_env(quick(object=obj)), "object.elasticity")
    wrist = sg.description.ForceTorqueSensor(name="wrist")
    with pytest.warns(sg.SoftgraspWarning, match="sensors: 1 of the scene are left out"):
        sg.make_dm_env(quick(sensors=(wrist,)))


def test_soft_fingers_are_actuators_too():
    scene = sg.load_scene("demo_soft").replace(surroundings=(), lift=None)
    env = sg.make_dm_env(scene, closing_time=0.04)
    env.reset()
    for _ in range(3):
        step = env.step(np.ones(env.action_spec().shape))
    pressure = 3 * 0.02 * scene.rates[0]
    assert step.observation["target"] == pytest.approx([pressure] * len(scene.rates), rel=1e-5)


# The dm_env: its rules, and the same episodes as in our own engine.


class TestRules(test_utils.EnvironmentTestMixin, absltest.TestCase):
    """dm_env's own test of what an environment has to keep."""

    def make_object_under_test(self) -> Any:
        return sg.make_dm_env(quick(duration=0.1), noise=sg.description.PoseNoise(position=1e-3))

    def make_action_sequence(self) -> Any:
        generator = np.random.default_rng(0)
        for _ in range(25):
            yield generator.uniform(-1.0, 1.0, 12)


def test_the_stiffness_of_contacts_is_read_as_it_acted(monkeypatch):
    read: list[float] = []

    def correct(feedback: StiffnessFeedback, data: mujoco.MjData, row: int) -> None:
        read.extend(contact.stiffness for contact in feedback.acting(data))

    monkeypatch.setattr(StiffnessFeedback, "correct", correct)
    env = sg.make_dm_env(quick(contact=sg.Contact(stiffness=2e4)))
    env.reset()
    # also in the steps in which a contact begins
    for _ in range(20):
        env.step(np.ones(12))
    assert len(read) > 100
    assert 1e4 < min(read) <= max(read) < 4e4


def test_an_episode_goes_as_in_the_engine_of_softgrasp():
    ours, theirs = sg.make_env(quick()), sg.make_dm_env(quick())
    ours.reset()
    step = theirs.reset()
    over, closing = False, np.ones(12)
    while not over:
        observation, reward, over, _, info = ours.step(closing.astype(np.float32))
        step = theirs.step(closing)
        if observation["in_contact"].sum() >= 4:
            closing[:] = 0.0
        assert step.reward == reward
        assert step.last() is over
        for name, part in observation.items():
            assert step.observation[name] == pytest.approx(part, abs=1e-3), name
    assert info["is_success"]
    assert step.discount == 0.0


@pytest.mark.slow
def test_a_random_agent_lives_through_200_steps_and_seeds_repeat():
    def track(seed: int) -> np.ndarray:
        env = sg.make_dm_env(
            quick(), random_state=seed, noise=sg.description.PoseNoise(position=1e-3)
        )
        generator, rows = np.random.default_rng(1), []
        ends = 0
        for _ in range(200):
            step = env.step(generator.uniform(-1.0, 1.0, 12))
            spec = env.observation_spec()
            for name, part in step.observation.items():
                spec[name].validate(part)
            rows.append(np.concatenate(list(step.observation.values())))
            ends += step.last()
        assert ends >= 2
        return np.array(rows)

    first = track(3)
    assert np.array_equal(first, track(3))
    assert not np.array_equal(first[0], track(4)[0])


def test_a_time_limit_ends_without_a_verdict():
    env = sg.make_dm_env(quick(), time_limit=0.1)
    env.reset()
    steps = [env.step(np.zeros(12)) for _ in range(5)]
    assert [step.step_type for step in steps] == [StepType.MID] * 4 + [StepType.LAST]
    assert steps[-1].discount == 1.0


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"actuation": "prescribed"}, "actuation"),
        ({"contact": sg.Contact(static_friction=0.6, dynamic_friction=0.3)},
         "contact: expected servos and one frictio"),
        ({"object_mount": "planar"}, "object_mount"),
        ({"success": None, "gravity": True, "lift": sg.description.Lift(), "surroundings": (),
          "object": ball(0.025)}, "lift: expected none for dm_control, foun"),
    ],
    ids=["prescribed", "friction", "planar", "lift"],
)  # fmt: skip
def test_what_is_not_offered_is_refused(changes, sentence, golden):
    golden.refused(lambda: sg.make_dm_env(quick(**changes)), sentence, sg.BuildError)


@pytest.mark.parametrize("name", ["foam_cube", "demo_soft", "demo"])
def test_exported_scenes_are_read_by_mjcf(name):
    """Names are unique among skins and flexes together, and no body is lost."""
    from dm_control import mjcf

    scene = sg.load_scene(name).replace(adapt_grasp=False)
    read = mjcf.from_xml_string(sg.to_mjcf(scene))
    assert len(read.find_all("body")) == sg.compile_model(scene).nbody - 1
