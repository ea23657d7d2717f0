"""Contacts of an episode are those of the law, and its outcome is that of a single run."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.envs.core import ObjectPose
from softgrasp.envs.episode import Episode, GraspTask
from softgrasp.sim.laws import DebouncedFlags, debounce
from tests.support.pads import on_a_stand, pads

TEST = sg.SuccessCriterion(ramp_time=0.1, hold_time=0.2)

FORCE = st.sampled_from([0.0, 0.05, 0.1, 0.2, 30.0])
"""Around the threshold of 0.1 N, which itself does not count."""


@cache
def task() -> GraspTask:
    return sg.make_env("demo", closing_time=0.05).task


def started() -> Episode:
    return Episode(task(), ObjectPose(np.zeros((1, 3)), np.eye(3)[None]))


@given(st.lists(st.lists(FORCE, min_size=20, max_size=20), min_size=1, max_size=6))
def test_contacts_are_those_of_the_law(actions):
    run, bodies, closure = started(), len(task().bodies), task().scene.closure
    flags = DebouncedFlags.initial(bodies)
    for forces in actions:
        plan = run.plan(np.zeros(len(task().active)))
        # every body has these forces, each later than the one before
        rows = np.array([np.roll(forces, body) for body in range(bodies)]).T[: len(plan.targets)]
        for row in rows.tolist():
            flags = debounce(row, closure.threshold, closure.samples, flags)
        pose = ObjectPose(np.zeros((plan.samples, 3)), np.tile(np.eye(3), (plan.samples, 1, 1)))
        run.update(plan, rows, pose)
        assert run.in_contact.tolist() == [bool(flag) for flag in flags.active]
        assert run.forces.tolist() == rows[-1].tolist()


def ended(speed: float, pressed: slice, jump: float = 0.0, support: float = 0.0) -> Episode:
    """Run an episode whose object moves in the palm at a speed [m/s] during the test.

    ``pressed`` are the samples in which all bodies press on it, and before the test it is displaced
    by ``jump`` [m] from its start. Something else than the hand bears ``support`` of its load.
    """
    period, bodies = task().scene.control_period, len(task().bodies)
    last = task().closing_samples + task().test_samples
    force = np.zeros((last, bodies))
    force[pressed] = 1.0
    x = jump + speed * period * np.maximum(np.arange(last) + 1 - task().closing_samples, 0)
    run = started()
    while not (run.terminated or run.truncated):
        plan = run.plan(np.zeros(len(task().active)))
        rows = slice(run.samples, run.samples + len(plan.targets))
        position = np.column_stack([x[rows], 0.0 * x[rows], 0.0 * x[rows]])[-plan.samples :]
        pose = ObjectPose(position, np.tile(np.eye(3), (len(position), 1, 1)))
        run.update(plan, force[rows], pose, support)
    return run


@pytest.mark.parametrize(
    ("speed", "pressed", "jump", "outcome"),
    [
        (0.0, slice(None), 0.0, "HELD"),
        (0.5e-3, slice(None), 0.0, "HELD"),
        (2.5e-3, slice(None), 0.0, "SLIPPING"),
        (1.0, slice(0, 50), 0.0, "DROPPED"),
        (1.0, slice(0), 0.0, "MISSED"),
        (0.0, slice(0), 1.0, "MISSED"),
        (0.0, slice(0, 20), 1.0, "EJECTED"),
    ],
)
def test_outcomes_are_those_of_single_runs(speed, pressed, jump, outcome):
    run = ended(speed, pressed, jump)
    assert run.outcome.name == outcome
    assert run.held is (outcome == "HELD")


@pytest.mark.parametrize(("support", "outcome"), [(0.09, "HELD"), (0.11, "SUPPORTED")])
def test_an_episode_whose_object_is_supported_is_not_held(support, outcome):
    run = ended(0.0, slice(None), support=support)
    assert run.outcome is sg.Outcome[outcome]
    assert run.held is (outcome == "HELD")


def test_an_environment_reads_what_bears_the_object():
    scene = pads(2, contact=sg.Contact(static_friction=0.0), success=TEST, **on_a_stand())
    for changes, outcome in (({}, "SUPPORTED"), ({"max_support": 1.0}, "HELD")):
        env = sg.make_env(scene.replace(success=TEST.replace(**changes)))
        env.reset(seed=0)
        over, info = False, {}
        while not over:
            _, _, terminated, truncated, info = env.step(env.action_space.high)
            over = terminated or truncated
        assert info["outcome"] == outcome
        assert sg.simulate(scene.replace(success=TEST.replace(**changes))).outcome.name == outcome


def test_a_test_without_load_is_refused():
    with pytest.raises(sg.DescriptionError, match=r"success\.gravity: expected a gravity of at le"):
        sg.make_env(pads(2, success=TEST.replace(gravity=(0.0, 0.0, -0.09))))
    sg.make_env(pads(2, success=TEST.replace(gravity=(0.0, 0.0, -0.1))))
