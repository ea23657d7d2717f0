"""Grasps in one batch are grasps one by one, bit for bit."""

from __future__ import annotations

import re

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model.scene import BuiltScene, build
from softgrasp.sim import batch
from softgrasp.sim.batch import BatchRunner, can_be_batched, run_batch, topology
from softgrasp.sim.engine import Workspace
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sim.result_builder import result_of
from tests.support.scenes import ball, diverging, pinch


def scenes() -> list[sg.GraspScene]:
    """Grasps of other densities, frictions and sizes that are held against gravity."""
    base = pinch(success=sg.SuccessCriterion(ramp_time=0.05, hold_time=0.05))
    drawn = np.random.default_rng(3).uniform([200, 0.2, 0.02], [3000, 0.9, 0.024], (5, 3))
    return [
        base.replace(
            object=sg.GraspObject(name="ball", shape=sg.Sphere(radius=radius), density=density),
            contact=base.requested_contact.replace(static_friction=friction),
        )
        for density, friction, radius in drawn.tolist()
    ]


def built(scene: sg.GraspScene) -> BuiltScene:
    return build(scene)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_is_its_grasps_one_by_one(threads: int) -> None:
    assert len({topology(built(scene)) for scene in scenes()}) == 1
    together = list(run_batch([built(scene) for scene in scenes()], threads))
    for scene, run in zip(scenes(), together, strict=True):
        alone = ClosureRun(built(scene))
        alone.run()
        rows = alone.recording.rows
        assert run.recording.rows == rows
        assert run.finished == alone.finished
        assert run.hold_from == alone.hold_from
        assert run.events == alone.events
        assert run.events
        for name in ("time", "qpos", "control", "force", "in_contact"):
            one, other = getattr(run.recording, name), getattr(alone.recording, name)
            np.testing.assert_array_equal(one[:rows], other[:rows], err_msg=name)


def test_what_cannot_be_in_one_batch() -> None:
    assert can_be_batched(built(pinch()))
    assert not can_be_batched(built(pinch(actuation="prescribed")))
    contact = pinch().requested_contact.replace(static_friction=0.6, dynamic_friction=0.4)
    assert not can_be_batched(built(pinch(contact=contact)))
    other = pinch(hand=sg.load_hand("three_fingered"))
    assert topology(built(other)) != topology(built(pinch()))


def test_a_run_that_is_over_before_its_first_step_and_a_very_long_one() -> None:
    closure = pinch().closure.replace(active=(False,) * 12, settle_time=1e-9)
    still = pinch(closure=closure)
    (run,) = run_batch([built(still)])
    alone = ClosureRun(built(still))
    alone.run()
    assert run.recording.rows == alone.recording.rows == 1
    assert run.data.time == alone.data.time == 0.0
    assert not can_be_batched(built(pinch(duration=200.0)))


# Grasps simulated together are grasps simulated alone, whichever way it is done.


def together_scenes() -> list[sg.GraspScene | Exception]:
    """Grasps that share a batch, one that has its own topology, one that is a mistake, one that
    cannot be built, and one that diverges."""
    balls = [
        pinch(object=sg.GraspObject(name="ball", shape=sg.Sphere(radius=radius), density=900))
        for radius in (0.026, 0.028, 0.03, 0.032, 0.034)
    ]
    box = sg.GraspObject(name="box", shape=sg.Cuboid(size=(0.05, 0.05, 0.05)), mass=0.1)
    inside = pinch(object_position=(0.0, 0.0, 0.0))
    return [*balls[:3], pinch(object=box), ValueError("no scene"), inside, *balls[3:]]


def test_a_batch_runner_simulates_as_single_runs() -> None:
    requested = together_scenes()
    message = [one.result for one in BatchRunner().simulate(requested)]
    assert len(message) == len(requested)
    for scene, result in zip(requested, message, strict=True):
        if isinstance(scene, Exception):
            assert result is scene
            continue
        if isinstance(result, sg.BuildError):
            with pytest.raises(sg.BuildError, match=f"^{re.escape(str(result))}$"):
                sg.simulate(scene)
            continue
        alone = sg.simulate(scene)
        assert isinstance(result, sg.GraspResult)
        assert result.trajectory_sha256 == alone.trajectory_sha256
        assert result.events == alone.events
        assert result.contacts == alone.contacts
        assert result.contact_model == alone.contact_model
        assert result.hold == alone.hold
        assert result.warnings == alone.warnings
        assert result.status is alone.status
    assert any(isinstance(result, sg.BuildError) for result in message)


def test_a_workspace_serves_smaller_and_other_batches() -> None:
    workspace = Workspace()
    balls = [scene for scene in together_scenes() if isinstance(scene, sg.GraspScene)][:3]

    def hashes(scenes: list[sg.GraspScene]) -> list[str]:
        runs = run_batch([build(scene) for scene in scenes], workspace=workspace)
        return [result_of(run, [], 0.0).trajectory_sha256 for run in runs]

    together = hashes(balls)
    assert [hashes([scene]) for scene in balls] == [[one] for one in together]
    assert hashes(balls[::-1]) == together[::-1]


def test_a_grasp_that_diverges_in_a_batch_is_reported_as_alone_and_harms_no_other() -> None:
    wild = diverging(success=sg.SuccessCriterion())
    calm = wild.replace(contact=wild.requested_contact.replace(stiffness=1e4, damping=10.0))
    requested = [wild, calm, wild, calm]
    assert len({topology(build(scene)) for scene in requested}) == 1
    message = [one.result for one in BatchRunner().simulate(requested)]
    for scene, result in zip(requested, message, strict=True):
        alone = sg.simulate(scene)
        assert isinstance(result, sg.GraspResult)
        assert result.status is alone.status
        assert result.message == alone.message
        assert result.trajectory_sha256 == alone.trajectory_sha256
        assert result.warnings == alone.warnings
    assert {result.status for result in message if isinstance(result, sg.GraspResult)} > {
        sg.GraspStatus.DIVERGED
    }


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
        run = ClosureRun(build(scene), workspace=workspace)
        run.run()
        result, alone = result_of(run, [], 0.0), sg.simulate(scene)
        assert result.trajectory_sha256 == alone.trajectory_sha256
        assert result.events == alone.events
        assert result.contacts == alone.contacts
    first = workspace.data(build(pinch()).model)
    assert workspace.data(build(pinch()).model) is first
    assert workspace.data(build(pinch(hand=sg.load_hand("vizzy"))).model) is not first


def test_grasps_that_mujoco_does_not_batch_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("models of other sizes")

    monkeypatch.setattr(batch, "BatchSimulator", refuse)
    requested = [pinch(object=ball(density=density)) for density in (300.0, 600.0, 900.0, 1200.0)]
    message = [one.result for one in BatchRunner().simulate(requested)]
    for scene, result in zip(requested, message, strict=True):
        assert isinstance(result, sg.GraspResult)
        assert result.trajectory_sha256 == sg.simulate(scene).trajectory_sha256
