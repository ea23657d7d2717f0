"""Agreement of MuJoCo Warp's CPU device with MuJoCo: trajectories, contacts, hold tests.

Warp compiles its kernels for minutes on first use and keeps them in ``WARP_CACHE_PATH``.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.errors import ResultError, SimulationError
from softgrasp.evaluation.outcome import Outcome
from softgrasp.model.scene import CompiledScene
from softgrasp.pipeline import compile_scene
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sweeps.parameters import scene_of_row
from softgrasp.sweeps.planner import plan_grasps

if find_spec("mujoco_warp") is None:
    pytest.skip("needs mujoco-warp: pip install 'softgrasp[gpu]'", allow_module_level=True)

import warp

from softgrasp.backends.warp import kernels
from softgrasp.backends.warp.rows import WarpRows
from softgrasp.backends.warp.scenes import join, object_address, world
from softgrasp.backends.warp.worlds import WorldBatch

pytestmark = pytest.mark.slow
STEPS = 300
FREE_BOUND, PRIMITIVE_BOUND, MESH_BOUND = 1e-6, 5e-6, 1e-3
"""Largest difference of a joint or of the object's position in 300 steps, before contact and with
contact [rad or m]. With a mesh, points of contact change places: in MuJoCo itself an object that
starts 1e-7 m aside makes 1.7e-4."""
ORIENTATION_BOUND = 1e-5
"""The same of the quaternion of an object that is a primitive [–]."""
SPEED = {"four_finger": 3.7, "allegro_right": 3.2}
"""Factor on closing rates with which a hand touches after about 200 steps."""


def quick_scene(hand: str, obj: str, **fields: object) -> sg.GraspScene:
    """Return a closure that is so fast that it touches the object after about 200 steps.

    MuJoCo takes the time steps that Warp takes, which has no shorter ones where contacts begin.
    """
    scene = sg.GraspScene(
        hand=sg.load_hand(hand), object=sg.load_object(obj), solver={"refinement": 1}
    )
    rates = tuple(SPEED[hand] * rate for rate in scene.rates)
    return scene.replace(closure=scene.closure.replace(rates=rates), **fields)


@cache
def held_scene(**fields: object) -> sg.GraspScene:
    success = sg.SuccessCriterion(ramp_time=0.05, hold_time=0.05)
    return quick_scene("four_finger", "sphere", success=success, **fields)


def finished(built: CompiledScene) -> ClosureRun:
    run = ClosureRun(built)
    run.run()
    return run


@pytest.mark.parametrize("obj", ["sphere", "cuboid", "strawberry"])
@pytest.mark.parametrize("hand", ["four_finger", "allegro_right"])
def test_300_steps_agree_with_mujoco(hand, obj):
    scene = quick_scene(hand, obj, duration=STEPS * 1e-3)
    batch = WorldBatch(world(compile_scene(scene)), device="cpu", recorded=True)
    batch.run()
    log, expected = batch.outcome().log, finished(compile_scene(scene)).recording
    rows = slice(0, STEPS)
    pressed = (expected.force[rows] != 0.0).any(axis=1)
    assert pressed.sum() >= 20, "no contact to compare"
    differences = np.abs(log["qpos"][rows, 0] - expected.qpos[rows])
    assert differences[: pressed.argmax()].max() < FREE_BOUND
    difference = differences.max(axis=0)
    first = object_address(batch._base.model) + 3
    orientation = slice(first, first + 4)
    is_mesh = obj == "strawberry"
    assert difference[orientation].max() < (MESH_BOUND if is_mesh else ORIENTATION_BOUND)
    difference[orientation] = 0.0
    assert difference.max() < (MESH_BOUND if is_mesh else PRIMITIVE_BOUND)
    assert (log["active"][rows, 0] == expected.in_contact[rows]).all()


def test_closure_latching_hold_test_and_forces_at_rest_agree_in_worlds_of_other_numbers():
    dense = held_scene().replace(object=held_scene().object.replace(density=3000.0))
    slippery = held_scene().replace(
        contact=held_scene().requested_contact.replace(static_friction=0.05)
    )
    scenes = [held_scene(), dense, slippery]
    batch = WorldBatch(
        join([world(compile_scene(item)) for item in scenes]), device="cpu", recorded=True
    )
    batch.run()
    outcome = batch.outcome()
    for index, scene in enumerate(scenes):
        run = finished(compile_scene(scene))
        rows = run.recording.rows
        assert outcome.loop["closed_row"][index] == run.hold_from
        assert outcome.loop["end_row"][index] == rows - 1
        assert (outcome.log["active"][:rows, index] == run.recording.in_contact[:rows]).all()
        force = outcome.log["force"][rows - 1, index].sum()
        assert force == pytest.approx(run.recording.force[rows - 1].sum(), rel=2e-3)
        assert outcome.pair_solref[index] == pytest.approx(run.model.pair_solref, rel=1e-3)


def test_a_result_has_the_verdict_contacts_and_events_of_mujoco():
    ours, theirs = (sg.simulate(held_scene(), backend) for backend in ("warp", "mujoco"))
    assert ours.outcome is theirs.outcome is Outcome.HELD
    assert ours.backend["name"] == "warp"
    assert any("single precision" in text for text in ours.warnings)
    assert [(e.time_s, e.body, e.kind) for e in ours.events] == [
        (e.time_s, e.body, e.kind) for e in theirs.events
    ]
    forces = [contact.normal_force_N for contact in theirs.contacts]
    assert [c.normal_force_N for c in ours.contacts] == pytest.approx(forces, rel=5e-3, abs=1e-3)
    assert ours.hold.drop_m == pytest.approx(theirs.hold.drop_m, abs=1e-6)


def test_friction_that_switches_with_slip_is_that_of_mujoco():
    contact = held_scene().requested_contact.replace(
        static_friction=0.4, dynamic_friction=0.2, critical_velocity=1e-3
    )
    scene = held_scene().replace(contact=contact, success=None, duration=STEPS * 1e-3)
    batch = WorldBatch(world(compile_scene(scene)), device="cpu", recorded=True)
    batch.run()
    run = finished(compile_scene(scene))
    difference = batch.outcome().log["qpos"][:STEPS, 0] - run.recording.qpos[:STEPS]
    assert np.abs(difference).max() < 1e-5
    friction = batch._model.pair_friction.numpy()[0]
    assert friction == pytest.approx(run.model.pair_friction, rel=1e-6)


def test_results_do_not_depend_on_the_samples_that_a_graph_has():
    rows = []
    for block in (1, 7, 64):
        worlds = join([world(compile_scene(held_scene()))] * 2)
        batch = WorldBatch(worlds, device="cpu", block=block)
        batch.run()
        loop, summary, _, solref = batch.outcome()
        ended = {name: loop[name] for name in ("phase", "row", "idle", "end_row", "closed_row")}
        rows.append(ended | summary | {"pair_solref": solref})
    for other in rows[1:]:
        assert all(np.array_equal(rows[0][name], other[name]) for name in rows[0])


def test_what_a_graph_repeats_depends_on_the_state_of_the_device_alone():
    """Launched twice from one state, and replayed from it, a block ends in the same state."""
    batch = WorldBatch(world(compile_scene(held_scene())), device="cpu", block=3)
    batch.run(250)  # in contact
    state = {name: array.numpy().copy() for name, array in _arrays(batch).items()}
    ends = []
    for launch in (batch._step_samples, batch._step_samples, lambda _: batch.run(3)):
        for name, array in _arrays(batch).items():
            array.assign(state[name])
        with warp.ScopedDevice("cpu"):
            launch(3)
        ends.append({name: array.numpy().copy() for name, array in _arrays(batch).items()})
    assert any(not np.array_equal(state[name], ends[0][name]) for name in state)
    assert ends[0]["_loop.row"] == state["_loop.row"] + 3
    for other in ends[1:]:
        assert [name for name in state if not np.array_equal(ends[0][name], other[name])] == []


def _arrays(batch: WorldBatch) -> dict[str, warp.array]:
    """Return what the state of a batch consists of."""
    parts = {name: getattr(batch, name) for name in ("_loop", "_summary", "_stiffness")}
    arrays = {
        f"{part}.{name}": getattr(struct, name)
        for part, struct in parts.items()
        for name in struct._cls.vars
        if isinstance(getattr(struct, name), warp.array)
    }
    for part, names in {
        "_data": ("qpos", "qvel", "ctrl", "qacc_warmstart", "sensordata", "time"),
        "_model": ("pair_solref", "pair_friction"),
    }.items():
        arrays |= {f"{part}.{name}": getattr(getattr(batch, part), name) for name in names}
    return arrays | {"gravity": batch._model.opt.gravity}


def test_a_diverged_world_is_reported_and_leaves_the_others_alone():
    batch = WorldBatch(join([world(compile_scene(held_scene()))] * 2), device="cpu", recorded=True)
    batch.run(10)
    speeds = batch._data.qvel.numpy()
    speeds[1] = 1e6
    batch._data.qvel.assign(speeds)
    batch._loop.qvel.assign(speeds)  # the state from which a failed sample is stepped again
    batch.run(10)
    outcome = batch.outcome()
    assert [outcome.diverged(number) for number in (0, 1)] == [False, True]
    assert outcome.loop["end_row"][1] == 9
    assert np.isfinite(batch._data.qpos.numpy()[0]).all()


def test_a_failed_sample_is_stepped_again():
    batch = WorldBatch(world(compile_scene(held_scene())), device="cpu", recorded=True)
    batch.run(10)
    batch._data.qvel.fill_(float("nan"))
    batch.run(11)
    outcome = batch.outcome()
    expected = finished(compile_scene(held_scene())).recording
    assert outcome.loop["restarts"][0] == 1
    assert outcome.loop["phase"][0] == kernels.CLOSING
    assert np.abs(outcome.log["qpos"][:20, 0] - expected.qpos[:20]).max() < FREE_BOUND


def test_too_many_contacts_are_an_error(monkeypatch):
    monkeypatch.setenv("SOFTGRASP_WARP_CONTACTS", "2")
    with pytest.raises(SimulationError, match=r"needs more .*contacts.* than the backend warp has"):
        sg.simulate(quick_scene("four_finger", "cuboid", duration=0.26), "warp")


def test_rows_of_a_sweep_are_those_of_mujoco_and_are_checked_there(tmp_path):
    density = sg.description.Axis(path="object.density", values=(300.0, 1000.0))
    plan = sg.description.SweepPlan(scene=held_scene(), axes=(density,))
    ours = sg.sweep(plan, tmp_path / "warp", executor="warp")
    theirs = sg.sweep(plan, workers=1)
    assert ours["outcome"].tolist() == theirs["outcome"].tolist() == ["HELD", "HELD"]
    for column, bound in {
        "displacement_m": 1e-5,
        "hold_drop_m": 1e-5,
        "rotation_rad": 1e-4,
    }.items():
        assert np.abs(ours[column] - theirs[column]).max() < bound
    assert ours["final_force_N"].to_numpy() == pytest.approx(theirs["final_force_N"], rel=5e-3)
    assert ours["contact_order"].tolist() == theirs["contact_order"].tolist()
    checks = json.loads((tmp_path / "warp" / "checks.json").read_text(encoding="utf-8"))
    assert [check["row"] for check in checks["checked"]] == [0, 1]
    assert checks["flips"] == checks["computed_in_mujoco"] == []
    with pytest.raises(ResultError, match=r"expected finished rows of .*, found those of .*Warp"):
        sg.sweep(plan.replace(), tmp_path / "warp", workers=1)


def test_a_row_that_is_not_held_is_computed_in_mujoco():
    strict = held_scene().success.replace(max_drop=1e-9)
    density = sg.description.Axis(path="object.density", values=(500.0,))
    plan = sg.description.SweepPlan(scene=held_scene().replace(success=strict), axes=(density,))
    ours, theirs = (sg.sweep(plan, executor=item, workers=1) for item in ("warp", "local"))
    assert ours["outcome"].tolist() == theirs["outcome"].tolist() != ["HELD"]
    assert ours["trajectory_sha256"].tolist() == theirs["trajectory_sha256"].tolist()


def test_rows_with_meshes_are_computed_in_mujoco_with_a_warning(monkeypatch):
    scene = quick_scene("four_finger", "strawberry", success=held_scene().success)
    density = sg.description.Axis(path="object.density", values=(500.0, 600.0))
    plan = sg.description.SweepPlan(scene=scene, axes=(density,))
    with pytest.warns(sg.errors.SoftgraspWarning, match=r"rows whose object is a mesh.*_MESHES=1"):
        ours = sg.sweep(plan, executor="warp")
    theirs = sg.sweep(plan, workers=1)
    assert ours["trajectory_sha256"].tolist() == theirs["trajectory_sha256"].tolist()
    monkeypatch.setenv("SOFTGRASP_WARP_MESHES", "1")
    others: list[int] = []
    assert [rows for _, rows in WarpRows(plan).worlds([0, 1], others)] == [[0, 1]]
    assert others == []


def test_many_families_of_one_structure_are_one_batch():
    axes = (
        sg.description.Axis(path="object.shape.radius", values=(0.03, 0.031)),
        sg.description.Axis(path="object.density", values=(500.0, 900.0)),
    )
    plan = sg.description.SweepPlan(scene=held_scene(), axes=axes)
    ((worlds, rows),) = WarpRows(plan).worlds(range(4), [])
    assert rows == [0, 1, 2, 3]
    assert worlds.size == 4
    built = [compile_scene(scene_of_row(plan, row)).model for row in rows]
    for name, values in worlds.arrays.items():
        expected = np.stack([getattr(model, name) for model in built])
        assert np.allclose(values, expected, rtol=1e-9, atol=0.0), name


def test_a_planner_ranks_candidates_that_warp_simulated():
    plan = sg.description.GraspPlan(
        scene=held_scene(), candidates=4, method="poses", top=0, rank_by="hold_drop_m"
    )
    here, there = (plan_grasps(plan, executor=name, workers=1).table for name in ("local", "warp"))
    assert here["row"].tolist() == there["row"].tolist()
    assert here["outcome"].tolist() == there["outcome"].tolist()


@pytest.mark.parametrize("task", ["CloseAndHold", "Insertion", "TwoHands"])
def test_episodes_of_a_task_are_those_of_mujoco_until_touches_differ(task):
    """The free motion is the same to single precision, and a scripted policy succeeds in both."""
    pytest.importorskip("gymnasium")
    from benchmarks.scripted_policies import SCRIPTS
    from softgrasp.envs.task_env import TaskVectorEnv
    from softgrasp.envs.tasks import TASKS

    count, shapes = 3, TASKS[task].shapes
    both = [
        TaskVectorEnv(task, count, engine=engine, noise=0.0).simulation
        for engine in ("mujoco", "warp")
    ]
    succeeded = np.zeros((2, count), dtype=bool)
    for index, simulation in enumerate(both):
        for row in range(count):
            options = {"shape": shapes[row % len(shapes)]} if shapes else {}
            simulation.reset(row, np.random.default_rng(row), options)
        ended = np.zeros(count, dtype=bool)
        for _ in range(TASKS[task].steps):
            decision = simulation.step(SCRIPTS[task](simulation.features()))
            succeeded[index] |= decision.success & ~ended
            ended |= decision.terminated
            if ended.all():
                break
    assert succeeded.all()
    for simulation in both:
        for row in range(count):
            options = {"shape": shapes[row % len(shapes)]} if shapes else {}
            simulation.reset(row, np.random.default_rng(row), options)
    assert np.array_equal(both[0].physics.states, both[1].physics.states)
    still = np.zeros((count, both[0].channels))
    for _ in range(3):
        for simulation in both:
            simulation.step(still)
    assert both[1].physics.states == pytest.approx(both[0].physics.states, abs=2e-4)


def test_worlds_of_a_vector_keep_their_kind_of_shape():
    pytest.importorskip("gymnasium")
    from softgrasp.envs.task_env import TaskVectorEnv

    simulation = TaskVectorEnv("CloseAndHold", 4, engine="warp").simulation
    kinds = [int(simulation.physics.model(row).geom("object").type[0]) for row in range(4)]
    assert kinds == [6, 2, 5, 6]  # cube, ball, can, cube
    with pytest.raises(sg.DescriptionError, match=r"shape: expected 'cube'") as refused:
        simulation.reset(0, options={"shape": "ball"})
    assert refused.value.field == "shape"


def test_a_failed_step_is_taken_back_with_softer_friction():
    """World 0 has moved, world 1 has failed, world 2 has failed too often to try again."""
    count, speeds = 3, np.array([[1.0], [np.nan], [np.inf]], dtype=np.float32)
    step, failures = (warp.zeros(count, dtype=int, device="cpu") for _ in range(2))
    failures.assign(np.array([1, 0, kernels.RETRIES], dtype=np.int32))
    softness = warp.full(count, value=0.5, dtype=float, device="cpu")
    kept = [warp.full((count, 1), value=item, dtype=float, device="cpu") for item in (0.1, 0.2)]
    now = [warp.full((count, 1), value=0.3, dtype=float, device="cpu") for _ in range(3)]
    now[1].assign(speeds)
    warp.launch(
        kernels.take_back, count, [step, failures, 0.5, softness, *kept, *now], device="cpu"
    )
    assert step.numpy().tolist() == [1, 0, 0]
    assert failures.numpy().tolist() == [0, 1, kernels.RETRIES + 1]
    assert softness.numpy().tolist() == [0.5, 0.5 * kernels.SOFTENING, 0.5]
    positions, velocities, start = (array.numpy()[:, 0] for array in now)
    assert positions == pytest.approx([0.3, 0.1, 0.3])
    assert velocities == pytest.approx([1.0, 0.2, np.inf])
    assert start == pytest.approx([0.3, 0.0, 0.3])
    assert [array.numpy()[0, 0] for array in kept] == pytest.approx([0.3, 1.0])
