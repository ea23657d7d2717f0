"""Grasps simulated together are grasps simulated alone, whichever way it is done."""

from __future__ import annotations

import re

import pytest

import softgrasp as sg
from softgrasp.build.scene import build
from softgrasp.simulation import batch
from softgrasp.simulation.batch import run_batch, topology
from softgrasp.simulation.closure_run import ClosureRun
from softgrasp.simulation.mujoco_backend import result_of
from softgrasp.simulation.together import Together
from softgrasp.simulation.workspace import Workspace
from tests.scenes import ball, diverging, pinch

NEEDS_NUMBA = "the compiled loop needs numba"


def scenes() -> list[sg.GraspScene | Exception]:
    """Grasps that share a batch, one that has its own topology, one that is a mistake, one that
    cannot be built, and one that diverges."""
    balls = [
        pinch(object=sg.GraspObject(name="ball", shape=sg.Sphere(radius=radius), density=900))
        for radius in (0.026, 0.028, 0.03, 0.032, 0.034)
    ]
    box = sg.GraspObject(name="box", shape=sg.Cuboid(size=(0.05, 0.05, 0.05)), mass=0.1)
    inside = pinch(object_position=(0.0, 0.0, 0.0))
    return [*balls[:3], pinch(object=box), ValueError("no scene"), inside, *balls[3:]]


@pytest.mark.parametrize("compiled", [False, True])
def test_together_is_alone(compiled: bool) -> None:
    if compiled:
        pytest.importorskip("numba", reason=NEEDS_NUMBA)
    asked = scenes()
    told = [one.result for one in Together(compiled=compiled).simulate(asked)]
    assert len(told) == len(asked)
    for scene, found in zip(asked, told, strict=True):
        if isinstance(scene, Exception):
            assert found is scene
            continue
        if isinstance(found, sg.BuildError):
            with pytest.raises(sg.BuildError, match=f"^{re.escape(str(found))}$"):
                sg.simulate(scene)
            continue
        alone = sg.simulate(scene)
        assert isinstance(found, sg.GraspResult)
        assert found.trajectory_sha256 == alone.trajectory_sha256
        assert found.events == alone.events
        assert found.contacts == alone.contacts
        assert found.contact_model == alone.contact_model
        assert found.hold == alone.hold
        assert found.warnings == alone.warnings
        assert found.status is alone.status
    assert any(isinstance(found, sg.BuildError) for found in told)


def test_a_workspace_serves_smaller_and_other_batches() -> None:
    workspace = Workspace()
    balls = [scene for scene in scenes() if isinstance(scene, sg.GraspScene)][:3]

    def hashes(scenes: list[sg.GraspScene]) -> list[str]:
        runs = run_batch([build(scene) for scene in scenes], workspace=workspace)
        return [result_of(run, [], 0.0).trajectory_sha256 for run in runs]

    together = hashes(balls)
    assert [hashes([scene]) for scene in balls] == [[one] for one in together]
    assert hashes(balls[::-1]) == together[::-1]


def test_a_grasp_that_diverges_in_a_batch_is_told_as_alone_and_harms_no_other() -> None:
    wild = diverging(success=sg.SuccessCriterion())
    calm = wild.replace(contact=wild.asked_contact.replace(stiffness=1e4, damping=10.0))
    asked = [wild, calm, wild, calm]
    assert len({topology(build(scene)) for scene in asked}) == 1
    told = [one.result for one in Together(compiled=False).simulate(asked)]
    for scene, found in zip(asked, told, strict=True):
        alone = sg.simulate(scene)
        assert isinstance(found, sg.GraspResult)
        assert found.status is alone.status
        assert found.message == alone.message
        assert found.trajectory_sha256 == alone.trajectory_sha256
        assert found.warnings == alone.warnings
    assert {found.status for found in told if isinstance(found, sg.GraspResult)} > {
        sg.GraspStatus.DIVERGED
    }


def test_a_workspace_carries_nothing_from_one_run_to_the_next() -> None:
    workspace = Workspace()
    asked = [
        pinch(),
        pinch(object=sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.027), density=2000)),
        pinch(hand=sg.load_hand("three_fingered"), success=sg.SuccessCriterion(hold_time=0.05)),
        pinch(duration=0.05),
        pinch(),
    ]
    for scene in asked:
        run = ClosureRun(build(scene), workspace=workspace)
        run.run()
        found, alone = result_of(run, [], 0.0), sg.simulate(scene)
        assert found.trajectory_sha256 == alone.trajectory_sha256
        assert found.events == alone.events
        assert found.contacts == alone.contacts
    first = workspace.data(build(pinch()).model)
    assert workspace.data(build(pinch()).model) is first
    assert workspace.data(build(pinch(hand=sg.load_hand("vizzy"))).model) is not first


def test_grasps_that_mujoco_does_not_batch_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("models of other sizes")

    monkeypatch.setattr(batch, "Lanes", refuse)
    asked = [pinch(object=ball(density=density)) for density in (300.0, 600.0, 900.0, 1200.0)]
    told = [one.result for one in Together(compiled=False).simulate(asked)]
    for scene, found in zip(asked, told, strict=True):
        assert isinstance(found, sg.GraspResult)
        assert found.trajectory_sha256 == sg.simulate(scene).trajectory_sha256
