"""Samples stepped in blocks are samples stepped one by one, bit for bit."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.evaluation.result_builder import result_of
from softgrasp.pipeline import SceneRunner, compile_scene
from softgrasp.sim import stepper
from softgrasp.sim.blocks import BlockRollout, can_step_blocks
from softgrasp.sim.control_state import Workspace, closure_layout
from softgrasp.sim.grasp_run import ClosureRun
from tests.support.scenes import ball, diverging, pinch

HELD = sg.SuccessCriterion(ramp_time=0.05, hold_time=0.05)
PUSHED = HELD.replace(gravity=None, directions=((0.0, 0.0, -9.81),), direction_time=0.1)
OTHER = sg.description.PlacedObject(object=ball(0.0195), position=(0, -0.02, -0.085))
SCENES: dict[str, dict[str, Any]] = {
    "held": {"success": HELD},
    "several steps a sample": {"timestep": 2e-4, "duration": 0.6},
    "contact from the first force on": {"closure": sg.PositionIncrementClosure(samples=1)},
    "stiff and light": {"object": ball(density=100.0), "contact": sg.Contact(stiffness=1e6)},
    "several contacts a body": {
        "object": sg.load_object("strawberry"), "grasp": "power", "duration": 0.9,
    },
    "a grip force": {"closure": sg.PositionIncrementClosure(grip_force=2.0)},
    "a synergy": {"closure": sg.description.SynergyIncrementClosure(), "duration": 0.8},
    "tendons": {"closure": sg.description.UnderactuatedClosure(), "duration": 0.8},
    "pushes": {"success": PUSHED},
    "several objects": {
        "object": ball(0.0195), "object_position": (0, 0.02, -0.085), "objects": (OTHER,),
    },
}  # fmt: skip


def finished(scene: sg.GraspScene) -> ClosureRun:
    run = ClosureRun(compile_scene(scene))
    run.run()
    return run


def one_by_one(scene: sg.GraspScene, monkeypatch: pytest.MonkeyPatch) -> ClosureRun:
    with monkeypatch.context() as patch:
        patch.setattr(stepper, "can_step_blocks", lambda *_: False)
        return finished(scene)


@pytest.mark.parametrize("name", SCENES)
def test_blocks_are_their_samples_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, counted = pinch(**SCENES[name]), Counter[str]()
    run = BlockRollout.run

    def count(self: BlockRollout, *arguments: Any) -> tuple[int, bool] | None:
        done = run(self, *arguments)
        counted["blocks"] += 1
        counted["set back"] += done is not None and done[0] < len(arguments[0]) - 1
        return done

    monkeypatch.setattr(BlockRollout, "run", count)
    together, alone = finished(scene), one_by_one(scene, monkeypatch)
    assert counted["blocks"] > 10
    assert counted["set back"] > 0
    rows = alone.recording.rows
    assert together.recording.rows == rows
    assert together.finished == alone.finished
    assert together.hold_from == alone.hold_from
    assert together.events == alone.events
    assert together.events
    for field in ("time", "qpos", "control", "force", "in_contact"):
        first, second = getattr(together.recording, field), getattr(alone.recording, field)
        np.testing.assert_array_equal(first[:rows], second[:rows], err_msg=field)
    for field in ("qpos", "qvel", "qacc_warmstart", "ctrl", "sensordata", "efc_force"):
        first, second = getattr(together.data, field), getattr(alone.data, field)
        np.testing.assert_array_equal(first, second, err_msg=field)
    assert together.contact_points() == alone.contact_points()
    for field in ("force", "row", "timestep"):
        first, second = getattr(together.peaks, field), getattr(alone.peaks, field)
        np.testing.assert_array_equal(first, second, err_msg=field)


def test_what_runs_sample_by_sample() -> None:
    def steps_blocks(**changes: Any) -> bool:
        built = compile_scene(pinch(**changes))
        return can_step_blocks(built.model, closure_layout(built))

    assert steps_blocks()
    assert steps_blocks(timestep=2e-4)
    assert not steps_blocks(timestep=2e-5)
    assert not steps_blocks(actuation="prescribed")
    assert not steps_blocks(closure=sg.description.ForceLimitedClosure(force=5.0))
    assert not steps_blocks(closure=sg.description.ForceLimitedClosure(torque=0.2))


def test_a_run_that_is_over_before_its_first_step() -> None:
    run = finished(pinch(closure=pinch().closure.replace(active=(False,) * 12, settle_time=1e-9)))
    assert run.recording.rows == 1
    assert run.data.time == 0.0


def test_a_run_that_diverges_in_a_block_is_reported_as_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = diverging(success=sg.SuccessCriterion())
    together, alone = finished(scene), one_by_one(scene, monkeypatch)
    assert together.diverged
    assert alone.diverged
    assert together.engine_warnings == alone.engine_warnings
    first, second = (result_of(run, [], 0.0) for run in (together, alone))
    assert first.trajectory_sha256 == second.trajectory_sha256
    assert first.message == second.message
    assert first.warnings == second.warnings


def test_warnings_of_steps_that_are_set_back_are_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = pinch(solver=sg.description.Solver(refinement=1))
    steps = BlockRollout._step

    def warned(self: BlockRollout, count: int) -> None:
        steps(self, count)
        for _ in range(count):
            self._warnings["a step"] += 1

    monkeypatch.setattr(BlockRollout, "_step", warned)
    run = finished(scene)
    assert run.engine_warnings == {"a step": run.recording.rows - 1}


# Scenes simulated in the same memory are scenes simulated alone.


def test_a_runner_simulates_as_single_runs() -> None:
    balls = [
        pinch(object=sg.GraspObject(name="ball", shape=sg.Sphere(radius=radius), density=900))
        for radius in (0.026, 0.032)
    ]
    requested = [*balls, ValueError("no scene"), pinch(object_position=(0.0, 0.0, 0.0))]
    results = [item.result for item in SceneRunner(quality_rate=0.0).simulate(requested)]
    assert len(results) == len(requested)
    for scene, result in zip(requested, results, strict=True):
        if isinstance(scene, Exception):
            assert result is scene
            continue
        if isinstance(result, sg.BuildError):
            with pytest.raises(sg.BuildError, match=f"^{re.escape(str(result))}$"):
                sg.simulate(scene)
            continue
        alone = sg.simulate(scene, quality_rate=0.0)
        assert isinstance(result, sg.GraspResult)
        assert result.trajectory_sha256 == alone.trajectory_sha256
        assert result.events == alone.events
        assert result.contacts == alone.contacts
        assert result.contact_model == alone.contact_model
        assert result.warnings == alone.warnings
        assert result.status is alone.status
    assert any(isinstance(result, sg.BuildError) for result in results)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"duration": 0.322},  # it ends with short steps
        {"success": sg.SuccessCriterion(hold_time=0.05)},
        {"contact": sg.Contact(static_friction=0.3, dynamic_friction=0.1), "gravity": True},
    ],
)
def test_a_compiled_scene_runs_again_as_the_first_time(changes: dict[str, Any]) -> None:
    built = compile_scene(pinch(hand=sg.load_hand("four_finger"), **changes))
    runs = []
    for _ in range(2):
        run = ClosureRun(built)
        run.run()
        runs.append(run.recording.force[: run.recording.rows].copy())
    np.testing.assert_array_equal(*runs)


def test_a_workspace_carries_nothing_from_one_run_to_the_next() -> None:
    workspace = Workspace()
    requested = [
        pinch(),
        pinch(object=sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.027), density=2000)),
        pinch(hand=sg.load_hand("three_fingered"), success=sg.SuccessCriterion(hold_time=0.05)),
        pinch(duration=0.05),
        pinch(),
    ]
    for scene in requested:
        run = ClosureRun(compile_scene(scene), workspace=workspace)
        run.run()
        result, alone = result_of(run, [], 0.0), sg.simulate(scene, quality_rate=None)
        assert result.trajectory_sha256 == alone.trajectory_sha256
        assert result.events == alone.events
        assert result.contacts == alone.contacts
    first = workspace.data(compile_scene(pinch()).model)
    assert workspace.data(compile_scene(pinch()).model) is first
    assert workspace.data(compile_scene(pinch(hand=sg.load_hand("vizzy"))).model) is not first
