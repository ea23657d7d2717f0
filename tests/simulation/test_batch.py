"""Grasps in one batch are grasps one by one, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model.scene import BuiltScene, build
from softgrasp.sim.batch import can_be_batched, run_batch, topology
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sim.stepper import PlainStepper
from tests.scenes import pinch


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
        alone = ClosureRun(built(scene), stepper=PlainStepper)
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


def test_what_cannot_share_a_batch() -> None:
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
