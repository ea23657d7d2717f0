"""Learning tasks: rules of Gymnasium, seeds, what is drawn, success by slip, reward, policies."""

import json
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is the extra 'gym'")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from benchmarks.scripted_policies import SCRIPTS  # noqa: E402
from softgrasp._gymnasium import SCENE_ENV, TASK_VERSIONS  # noqa: E402
from softgrasp.envs import policies  # noqa: E402
from softgrasp.envs.task_env import TaskEnv, TaskVectorEnv  # noqa: E402
from softgrasp.envs.task_model import Source, object_of, scene_source, task_model  # noqa: E402
from softgrasp.envs.tasks import MAX_SLIP, TASKS  # noqa: E402
from softgrasp.envs.views import LABELS  # noqa: E402

SCORES = json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "data" / "learning.json").read_text("utf-8")
)


@cache
def env_of(task: str) -> TaskEnv:
    return TaskEnv(task)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_follows_the_rules_of_gymnasium(task):
    env = gymnasium.make(f"softgrasp/{task}-v{TASK_VERSIONS[task]}").unwrapped
    check_env(env, skip_render_check=True)
    assert env.spec.id == f"softgrasp/{task}-v{TASK_VERSIONS[task]}"


def actions_of(env: Any, count: int) -> np.ndarray:
    return np.random.default_rng(3).uniform(-1.0, 1.0, (count, *env.action_space.shape))


@pytest.mark.parametrize("task", ["Lift", "Insertion", "SoftReach"])
def test_the_same_seed_gives_the_same_bits_alone_and_in_a_vector(task):
    alone, vector = (
        env_of(task),
        gymnasium.make_vec(f"softgrasp/{task}-v{TASK_VERSIONS[task]}", num_envs=3),
    )
    assert isinstance(vector, TaskVectorEnv)
    actions = actions_of(alone, 8)
    observed, _ = vector.reset(seed=20)
    rows = [observed[1]]
    for action in actions:
        observed, rewards, *_ = vector.step(np.tile(action, (3, 1)))
        rows.append(np.append(observed[1], rewards[1]))
    first, _ = alone.reset(seed=21)
    assert np.array_equal(first, rows[0])
    for action, expected in zip(actions, rows[1:], strict=True):
        observed, reward, *_ = alone.step(action)
        assert np.array_equal(np.append(observed, reward), expected)
    other, _ = alone.reset(seed=22)
    assert not np.array_equal(other, first)


def test_what_is_drawn_lies_in_its_ranges_and_covers_them():
    env, task = env_of("CloseAndHold"), TASKS["CloseAndHold"]
    simulation = env.simulation
    pairs, model = simulation.built.object_pairs, simulation.physics.model(0)
    body, geom = model.body("object").id, model.geom("object").id
    frictions, kinds, offsets, sizes = [], set(), [], []
    for seed in range(40):
        env.reset(seed=seed)
        frictions.append(model.pair_friction[pairs[0], 0])
        kinds.add(int(model.geom_type[geom]))
        sizes.append(model.geom_size[geom, 0])
        offsets.append(simulation.physics.states[0, 1:][model.jnt_qposadr[model.body_jntadr[body]]])
    factor = np.array(frictions) / simulation.built.model.pair_friction[pairs[0], 0]
    for values, (low, high) in ((factor, task.friction), (np.array(sizes), task.size),
                                (np.array(offsets), (-task.position, task.position))):  # fmt: skip
        assert low <= values.min() < low + 0.2 * (high - low)
        assert high - 0.2 * (high - low) < values.max() <= high
    assert kinds == {2, 5, 6}  # ball, cylinder, box
    sphere = int(mujoco.mjtGeom.mjGEOM_SPHERE)
    assert sphere in kinds


@pytest.mark.parametrize("shape", ["ball", "cube", "can"])
def test_a_drawn_object_is_that_of_a_scene_compiled_with_it(shape):
    """Also its stiffness in contact, from which a constant ``solref`` would be off by 0.5 to 2."""
    env = env_of("CloseAndHold")
    env.reset(seed=0, options={"shape": shape, "size": 0.021, "density": 900.0, "friction": 1.0})
    compiled = task_model(_held_source(object_of(shape, 0.021, 900.0))).model
    model = env.simulation.physics.model(0)
    for field in ("body_mass", "body_inertia", "geom_type", "geom_size", "geom_rbound"):
        kind = field.partition("_")[0]
        index, other = (getattr(m, kind)("object").id for m in (model, compiled))
        assert np.allclose(
            getattr(model, field)[index], getattr(compiled, field)[other], rtol=1e-12
        )
    for field in ("body_invweight0", "dof_invweight0", "body_subtreemass", "geom_aabb"):
        assert np.allclose(getattr(model, field), getattr(compiled, field), rtol=1e-10)
    pairs, before = env.simulation.built.object_pairs, env.simulation.built.model.pair_solref
    assert model.pair_solref[pairs] == pytest.approx(compiled.pair_solref[pairs], rel=0.01)
    assert (np.abs(before[pairs] / compiled.pair_solref[pairs] - 1.0) > 0.05).all()


def _held_source(described: sg.GraspObject) -> Source:
    scene = sg.GraspScene(
        hand=sg.load_scene("four_finger_sphere").hand, object=described, grasp="precision",
        object_position=(0.0, 0.0, -0.105), object_euler=(0.0, 0.0, 0.0), gravity=True,
        closure=sg.PositionIncrementClosure(grip_force=None),
    )  # fmt: skip
    return scene_source(scene)


@pytest.mark.parametrize(
    ("palm_speed", "slip_speed", "succeeds"),
    [(0.0, 0.0, True), (0.5, 0.0, True), (0.0, 0.02, False), (0.5, 0.02, False)],
    ids=["at rest", "moved by the hand", "slips", "slips in a moved hand"],
)
def test_success_is_evaluated_in_the_hand(palm_speed, slip_speed, succeeds):
    """A hand that moves an object keeps it; one in which it slips by 0.4 mm a decision does not."""
    env = env_of("Lift")
    env.reset(seed=0)
    simulation, results = env.simulation, []
    features = simulation.features()
    features.fingers = np.ones_like(features.fingers)
    for step in range(12):
        time = 0.02 * step
        features.palm = np.array([[palm_speed * time, 0.0, 0.1]])
        features.relative = np.array([[0.0, 0.0, -0.1 - slip_speed * time]])
        features.object = features.palm + features.relative + [[0.0, 0.0, 0.2]]
        results.append(bool(simulation.update_success(features, np.ones(1))[0]))
    assert any(results) == succeeds
    assert slip_speed * 0.02 * TASKS["Lift"].window > MAX_SLIP or not slip_speed


def test_an_object_that_no_finger_touches_is_not_held():
    env = env_of("Lift")
    env.reset(seed=0)
    features = env.simulation.features()
    features.object = features.start + np.array([[0.0, 0.0, 0.2]])
    features.fingers = np.zeros_like(features.fingers)
    assert not any(env.simulation.update_success(features, np.ones(1))[0] for _ in range(20))


def test_the_reward_is_the_gain_of_progress_plus_one_for_success():
    env = env_of("TwoHands")
    _, info = env.reset(seed=4)
    start, total, over, fractions = info["progress"], 0.0, False, []
    while not over:
        action = SCRIPTS["TwoHands"](env.simulation.features())[0]
        _, reward, over, _, info = env.step(action)
        total += reward
        fractions.append(info["goal_fraction"])
    assert info["is_success"]
    assert total == pytest.approx(info["progress"] - start + 1.0, abs=1e-12)
    assert fractions[-1] == 1.0
    assert max(np.diff(fractions)) < 0.2  # graded: no jump to the goal


@pytest.mark.parametrize("task", ["Lift", "Valve", "InHandRotation"])
def test_more_of_the_goal_is_more_progress(task):
    from softgrasp.envs.tasks import progress

    env = env_of(task)
    env.reset(seed=1)
    features, values = env.simulation.features(), []
    for fraction in np.linspace(0.0, 1.0, 6):
        reached = fraction * features.goal[:, 0]
        features.object = features.start + np.array([[0.0, 0.0, reached[0]]])
        features.extra = np.full_like(features.extra, reached[0])
        half = 0.5 * reached
        features.rotation = np.array([[np.cos(half[0]), 0.0, np.sin(half[0]), 0.0]])
        features.start_rotation = np.array([[1.0, 0.0, 0.0, 0.0]])
        values.append(progress(TASKS[task], features, TASKS[task].measure(features))[0])
    assert np.diff(values) == pytest.approx(0.1, abs=1e-9)


def test_options_choose_the_goal_and_the_object():
    env = env_of("Lift")
    env.reset(seed=0, options={"goal": np.array([0.05]), "size": np.float32(0.02)})
    _, info = env.reset(seed=0, options={"goal": [0.05], "shape": "can", "size": 0.02})
    assert info["goal"] == [0.05]
    assert env.simulation.physics.model(0).geom("object").size[0] == 0.02
    for options, sentence in (
        ({"gaol": [0.05]}, "gaol: no such field; did you mean 'goal'?"),
        ({"goal": [0.05, 1.0]}, "goal: expected 1 numbers, found 2"),
        ({"goal": [float("nan")]}, "goal[0]: expected a finite number, found nan"),
        ({"goal": ["up"]}, "goal[0]: expected a number, found 'up'"),
        ({"friction": -3.0}, "friction: expected a number above 0, found -3"),
        ({"density": float("nan")}, "density: expected a finite number, found nan"),
        ({"size": "2"}, "size: expected a number, found '2'"),
        ({"shape": "cbe"}, "shape: expected a shape, found 'cbe'; did you mean 'cube'?"),
    ):
        with pytest.raises(sg.DescriptionError) as refused:
            env.reset(options=options)
        assert str(refused.value).startswith(sentence)


def test_tactile_and_image_observations_are_options():
    env = TaskEnv("CloseAndHold", observations=("state", "tactile", "rgb"), actions="joints")
    observed, _ = env.reset(seed=0)
    assert observed in env.observation_space
    assert env.action_space.shape == (12,)
    start = observed["rgb"]
    for _ in range(25):
        observed, *_ = env.step(np.ones(12, dtype=np.float32))
    assert (observed["rgb"] != start).mean() > 0.01
    bodies = len(env.simulation.built.source.bodies)
    assert observed["tactile"][:bodies].max() > 0.1
    env.close()


IMAGES = ("rgb", "depth", "segmentation", "points")


def test_equal_seeds_give_equal_images_in_any_environment_of_the_task():
    """Each draws them after another episode, whose object has another shape and size."""
    first, second = (TaskEnv("Lift", observations=IMAGES, visuals=True) for _ in range(2))
    observed, _ = first.reset(seed=3, options={"shape": "can"})
    second.reset(seed=4, options={"shape": "cube", "size": 0.03})
    again, _ = second.reset(seed=3, options={"shape": "can"})
    different, _ = second.reset(seed=5)
    assert observed in first.observation_space
    for name in IMAGES:
        np.testing.assert_array_equal(observed[name], again[name])
        assert not np.array_equal(observed[name], different[name])


def test_depth_segmentation_and_points_are_of_the_object_that_is_there():
    """The nearest point of a ball is its radius from its centre, as seen from the camera."""
    env = TaskEnv("CloseAndHold", observations=IMAGES, noise=0.0)
    observed, _ = env.reset(seed=0, options={"shape": "ball", "size": 0.022})
    features, camera = env.simulation.features(), env.views.camera
    on_object = observed["segmentation"] == LABELS.index("object")
    distance = np.linalg.norm(features.object[0] - camera.position) - 0.022
    assert observed["depth"][on_object].min() == pytest.approx(distance, abs=2e-3)
    away = np.linalg.norm(observed["points"] - features.relative[0], axis=1)
    assert np.abs(away - 0.022).min() < 1e-6
    assert (away > 0.022 - 1e-6).all()
    assert {*np.unique(observed["segmentation"])} == {0, 1, 2}


GOAL_TASKS = [task for task, item in TASKS.items() if item.achieved is not None]


@pytest.mark.parametrize("task", GOAL_TASKS)
def test_a_goal_environment_rewards_by_the_goals_that_it_shows(task):
    env = gymnasium.make(f"softgrasp/{task}-v{TASK_VERSIONS[task]}", goals=True).unwrapped
    check_env(env, skip_render_check=True)
    envs = TaskVectorEnv(task, 3, goals=True)
    envs.reset(seed=0)
    observed, rewards, *_ = envs.step(np.zeros(envs.action_space.shape))
    achieved, desired = observed["achieved_goal"], observed["desired_goal"]
    np.testing.assert_array_equal(rewards, envs.compute_reward(achieved, desired, {}))
    assert (rewards == -1.0).all()
    np.testing.assert_array_equal(envs.compute_reward(achieved, achieved, {}), np.zeros(3))
    beside = achieved.copy()
    beside[:, 0] += 2.0 * TASKS[task].tolerance * np.array([0.0, 0.4, 1.0], dtype=np.float32)
    assert envs.compute_reward(achieved, beside, {}).tolist() == [0.0, 0.0, -1.0]
    assert envs.compute_reward(achieved[2], beside[2], {}) == -1.0


def test_the_state_of_a_goal_environment_does_not_know_the_goal():
    env = TaskEnv("Lift", goals=True)
    first, _ = env.reset(seed=0, options={"goal": [0.04]})
    second, _ = env.reset(seed=0, options={"goal": [0.06]})
    np.testing.assert_array_equal(first["observation"], second["observation"])
    assert (first["desired_goal"], second["desired_goal"]) == pytest.approx((0.04, 0.06))
    with pytest.raises(sg.DescriptionError) as caught:
        TaskEnv("Insertion", goals=True)
    assert caught.value.field == "goals"


def test_any_object_of_files_rests_on_its_stand_until_it_is_grasped(tmp_path):
    """With its own mass, and the convex hull of its mesh, which begins at its lowest vertex."""
    corners = np.array([[x, y, z] for x in (0, 40) for y in (0, 30) for z in (0, 50)]) * 1e-3
    faces = ((1, 2, 4), (1, 4, 3), (5, 7, 8), (5, 8, 6), (1, 5, 6), (1, 6, 2), (3, 4, 8), (3, 8, 7),
             (1, 3, 7), (1, 7, 5), (2, 6, 8), (2, 8, 4))  # fmt: skip
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a} {b} {c}" for a, b, c in faces]
    (tmp_path / "brick.obj").write_text("\n".join(lines), encoding="utf-8")
    env = TaskEnv("LiftAny", objects=tmp_path)
    env.reset(seed=0, options={"density": 500.0})
    model = env.simulation.physics.model(0)
    assert model.body("object").mass[0] == pytest.approx(500.0 * 60e-6, rel=1e-6)
    assert env.simulation.built.half_height("brick", 1.0) == pytest.approx(0.025, abs=1e-9)
    for _ in range(5):
        env.step(np.zeros(4, dtype=np.float32))
    assert abs(env.simulation.features().height[0]) < 5e-4


def test_another_hand_lifts_and_pushes_are_drawn():
    env = TaskEnv("LiftAny", hand="three_fingered", objects=("can", "egg"))
    shapes, pushes = set(), []
    for seed in range(12):
        env.reset(seed=seed)
        shapes.add(int(env.simulation.physics.model(0).geom("object").type[0]))
        pushes.append(env.simulation._pushes[0].copy())
    assert shapes == {int(mujoco.mjtGeom.mjGEOM_CYLINDER), int(mujoco.mjtGeom.mjGEOM_ELLIPSOID)}
    largest = TASKS["LiftAny"].push
    assert 0.6 * largest < np.abs(pushes).max() <= largest
    offset = env.simulation.features().relative[0] - env.simulation.task.center
    assert np.abs(offset).max() < 0.03


def test_noise_changes_what_is_observed_and_not_what_happens():
    clean, noisy = TaskEnv("Lift", noise=0.0), env_of("Lift")
    first, second = clean.reset(seed=5)[0], noisy.reset(seed=5)[0]
    assert np.array_equal(clean.simulation.physics.states, noisy.simulation.physics.states)
    assert 0.0 < np.abs(first - second).max() < 0.1


@pytest.mark.parametrize(
    "order",
    [
        "import softgrasp, gymnasium",
        "import gymnasium, softgrasp",
        "import softgrasp, importlib.util; importlib.util.find_spec('gymnasium'); import gymnasium",
    ],
)
def test_the_environments_are_registered_on_import(order):
    """In any order, and softgrasp alone imports neither Gymnasium nor numpy."""
    alone = "import softgrasp, sys; assert not {'gymnasium', 'numpy'} & set(sys.modules); "
    listed = "print(*sorted(one for one in gymnasium.registry if one.startswith('softgrasp/')))"
    code = (alone if order.endswith("gymnasium") else "") + f"{order}; {listed}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    tasks = [f"softgrasp/{name}-v{version}" for name, version in TASK_VERSIONS.items()]
    tasks.append(SCENE_ENV)
    assert done.stdout.split() == sorted(tasks)


def test_a_vector_of_episodes_is_as_strict_as_one():
    envs = TaskVectorEnv("Lift", 2)
    zeros = np.zeros(envs.action_space.shape)
    with pytest.raises(sg.SimulationError, match=r"call reset\(\)"):
        envs.step(zeros)
    envs.reset(seed=0)
    for wrong in (zeros[0], np.zeros((3, 4)), np.full_like(zeros, np.nan), "up"):
        with pytest.raises(sg.DescriptionError) as caught:
            envs.step(wrong)
        assert caught.value.field == "action"
    for seed in (-1, 1.5, "a", True, [1], [1, 2, 3], [0, -1]):
        with pytest.raises(sg.DescriptionError) as caught:
            envs.reset(seed=seed)
        assert caught.value.field == "seed"
    for options in (5, {"friction": -3.0}, {"friction": float("nan")}, {"goal": [float("nan")]}):
        with pytest.raises(sg.DescriptionError):
            envs.reset(seed=0, options=options)


def test_a_pickled_environment_begins_the_same_episodes():
    envs = TaskVectorEnv("Lift", 2, noise=0.0)
    again = pickle.loads(pickle.dumps(envs))
    np.testing.assert_array_equal(envs.reset(seed=3)[0], again.reset(seed=3)[0])
    item = pickle.loads(pickle.dumps(TaskEnv("Lift")))
    np.testing.assert_array_equal(item.reset(seed=3)[0], TaskEnv("Lift").reset(seed=3)[0])


@pytest.mark.parametrize(
    ("task", "options", "field"),
    [
        ("Lfit", {}, None),
        ("Lift", {"observations": ("stat",)}, "observations[0]"),
        ("Lift", {"actions": "wrist"}, "actions"),
        ("Lift", {"engine": "wrap"}, "engine"),
        ("Lift", {"hand": "three_fingered"}, "hand"),
        ("LiftAny", {"objects": ("cbe",)}, "objects"),
        ("LiftAny", {"objects": "no_folder"}, "objects"),
        ("Valve", {"objects": ("cube",)}, "objects"),
        *(("Lift", {"noise": noise}, "noise") for noise in (float("nan"), float("inf"), -1.0, "x")),
        *(("Lift", {"num_envs": count}, "num_envs") for count in (0, -1, 1.5, True)),
        *(("Lift", {"objects": objects}, "objects") for objects in ((), 3)),
    ],
)
def test_what_no_task_has_is_refused(task, options, field, golden):
    with pytest.raises(sg.DescriptionError) as refused:
        sg.envs.make_task_env(task, **options)
    assert refused.value.field == field
    golden(refused.value, "expected")


# Constants that solved a task before it had to be stopped at a drawn goal, or to press gently.
SOLVED_BY: dict[str, list[list[float]]] = {
    "CloseAndHold": [[1.0, -1.0, 1.0, -1.0], [0.63, 0.83, 0.21, 0.46]],
    "Regrasp": [[1.0, 1.0], [0.09, 0.87]],
    "InHandRotation": [[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]],
    "Valve": [[-1.0, 1.0, 1.0]],
    "Insertion": [[0.0, 0.0, -1.0, 1.0]],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "task",
    [
        pytest.param(task, marks=[] if task in ("CloseAndHold", "Valve") else pytest.mark.slow)
        for task in TASKS
    ],
)
def test_no_constant_action_solves_a_task_that_its_script_solves(task):
    """−1, 0, 1, the same for all channels or drawn for each, and uniformly random constants."""
    channels, draw = env_of(task).simulation.channels, np.random.default_rng(0)
    fixed = [np.full(channels, value) for value in (-1.0, 0.0, 1.0)]
    several = np.repeat([*fixed, *map(np.array, SOLVED_BY.get(task, []))], 5, axis=0)
    single = [*draw.uniform(-1.0, 1.0, (20, channels)), *draw.integers(-1, 2, (20, channels))]
    solved = policies.successes(
        task, lambda _: np.concatenate([several, single]), 40 + len(several), 0
    )
    assert solved[: len(several)].reshape(-1, 5).mean(axis=1).max() <= 0.2
    assert solved[len(several) :].mean() <= 0.1
    solved = policies.successes(task, SCRIPTS[task], 10, 100, privileged=True).mean()
    assert solved < 1.0 if task == "LiftAny" else solved >= 0.9


@pytest.mark.slow  # every stored score again; the quick one is that of the first task
@pytest.mark.parametrize("task", [task for task in SCORES if "learned" in SCORES[task]])
def test_stored_policies_reach_their_stored_scores(task):
    score = policies.evaluate(task, policies.load_policy(task), 100, 10_000)
    assert score == pytest.approx(SCORES[task]["learned"], abs=0.05)


def test_a_stored_policy_succeeds_where_random_actions_fail():
    assert policies.evaluate("CloseAndHold", policies.load_policy("CloseAndHold"), 4, 0) == 1.0
    assert policies.evaluate("CloseAndHold", None, 4, 0) == 0.0


def test_two_objects_of_one_name_are_refused(tmp_path):
    for suffix in ("stl", "obj"):
        (tmp_path / f"mug.{suffix}").write_text("")
    with pytest.raises(sg.DescriptionError, match="expected different names") as refused:
        sg.envs.make_task_env("LiftAny", objects=tmp_path)
    assert refused.value.field == "objects"


def test_a_goal_that_is_no_number_is_not_reached():
    env: Any = TaskEnv("Lift", goals=True)
    assert env.compute_reward([0.05], [0.05], {}) == 0.0
    assert env.compute_reward([float("nan")], [0.05], {}) == -1.0
