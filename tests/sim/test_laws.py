"""The closing laws on plain lists, and every implementation of them on random force series."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.envs.core import ObjectPose
from softgrasp.envs.episode import Episode
from softgrasp.sim.laws import (
    ESTABLISHED,
    LOST,
    TOUCHING,
    DebouncedFlags,
    debounce,
    free_actuators,
    grip_targets,
    latch,
    light_touches,
    limited_lead,
    next_targets,
)
from softgrasp.sim.stepper import plan_targets
from tests.support import closing_trials, warp_in_python
from tests.support.closing_trials import ACTUATORS, Track, Trial, by_laws, drawn

THRESHOLD, SAMPLES = 0.1, 10


class Body:
    """One body's contact, fed sample by sample."""

    def __init__(self, samples: int = SAMPLES) -> None:
        self.samples, self.flags = samples, DebouncedFlags.initial(1)

    @property
    def in_contact(self) -> list[int]:
        return self.flags.active

    def feed(self, force: float) -> int:
        self.flags = debounce([force], THRESHOLD, self.samples, self.flags)
        return self.flags.changes[0]


def test_a_force_equal_to_the_threshold_is_not_above_it() -> None:
    body = Body(samples=1)
    assert body.feed(THRESHOLD) == TOUCHING
    assert body.in_contact == [0]


def test_a_touch_is_reported_once_until_contact_is_lost() -> None:
    body = Body(samples=2)
    message = [body.feed(force) for force in (0.05, 0.0, 0.05, 1.0, 1.0, 0.0, 0.05)]
    assert message == [TOUCHING, 0, 0, 0, ESTABLISHED, LOST, TOUCHING]


@given(st.lists(st.floats(0, 1), max_size=80), st.integers(1, 12))
def test_contact_is_the_and_of_the_last_samples(forces: list[float], samples: int) -> None:
    body = Body(samples)
    for index, force in enumerate(forces, start=1):
        body.feed(force)
        window = forces[max(0, index - samples) : index]
        expected = len(window) == samples and all(f > THRESHOLD for f in window)
        assert body.in_contact == [int(expected)]


@given(st.lists(st.floats(0, 1), max_size=80))
def test_established_and_lost_alternate(forces: list[float]) -> None:
    body = Body(samples=3)
    message = [change for force in forces if (change := body.feed(force) & (ESTABLISHED | LOST))]
    assert message == [(ESTABLISHED, LOST)[index % 2] for index in range(len(message))]


def test_light_touches_end_with_contact_with_pressing_and_with_patience() -> None:
    counts, marks = [0, 0, 0], []
    for _ in range(3):
        light, counts = light_touches([0.05, 0.0, 1.0], [0, 0, 0], [0, 0, 1], 2, counts)
        marks.append(light)
    assert marks == [[1, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert counts == [3, 0, 0]
    # the sample at which it becomes a contact counts, however long it took
    light, _ = light_touches([5.0, 0.0, 1.0], [1, 0, 0], [0, 0, 1], 2, counts)
    assert light == [1, 0, 0]


STOPS = [(0, 1, 2), (1, 2), (2,), (3, 4), (3, 4), (4,)]
"""Two fingers of three joints, the second finger's first row without a body."""


def plan(
    in_contact: list[int],
    targets: list[float] | None = None,
    increments: list[float] | None = None,
    samples: int = 1,
) -> np.ndarray:
    """The coming targets of these two fingers, the present ones first."""
    free = free_actuators(STOPS, in_contact)
    limits = (np.full(6, -1.0), np.full(6, 1.0))
    start, growth = np.array(targets or [0.0] * 6), np.array(increments or [0.1] * 6)
    return plan_targets(start, growth, free, limits, samples)


def closed(in_contact: list[int], targets: list[float] | None = None) -> list[float]:
    """Targets one sample later."""
    return plan(in_contact, targets)[1].tolist()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_controller_of_other_engines_stops_at_both_limits(sign: float) -> None:
    targets = [sign * value for value in (0.0, 0.95, 1.0, 0.5)]
    increments, free = [0.1 * sign] * 4, [True, True, True, False]
    following = next_targets(targets, increments, free, [-1.0] * 4, [1.0] * 4)
    assert following == [sign * value for value in (0.1, 1.0, 1.0, 0.5)]


@pytest.mark.parametrize("contacts", list(product((0, 1), repeat=5)))
def test_a_joint_moves_exactly_when_nothing_from_its_phalanx_on_touches(
    contacts: tuple[int, ...],
) -> None:
    bodies = [[0, 1, 2], [1, 2], [2], [3, 4], [3, 4], [4]]
    expected = [0.0 if any(contacts[b] for b in own) else 0.1 for own in bodies]
    assert closed(list(contacts)) == expected


ANGLES = st.lists(st.floats(-1, 1), min_size=6, max_size=6)
GROWTHS = st.lists(st.floats(-0.3, 0.3), min_size=6, max_size=6)


@given(ANGLES, GROWTHS, st.lists(st.integers(0, 1), min_size=5, max_size=5))
def test_a_plan_is_the_same_bit_for_bit_made_at_once_or_sample_by_sample(
    targets: list[float], growths: list[float], contacts: list[int]
) -> None:
    at_once = plan(contacts, targets, growths, samples=12)
    now = targets
    for row in at_once[1:].tolist():
        sample = plan(contacts, now, growths)[1].tolist()
        free = free_actuators(STOPS, contacts)
        assert next_targets(now, growths, free, [-1.0] * 6, [1.0] * 6) == sample
        now = sample
        assert row == now


@given(ANGLES, GROWTHS)
def test_targets_move_in_one_direction_within_the_limits_and_then_rest(
    targets: list[float], growths: list[float]
) -> None:
    planned = plan([0] * 5, targets, growths, samples=30)
    assert np.abs(planned).max() <= 1.0
    steps = np.diff(planned, axis=0)
    assert (steps * np.sign(growths) >= 0).all()
    moving = (steps != 0).any(axis=1)
    assert not moving[np.argmin(moving) :].any() or moving.all()


# The grip force, and flags.

ANGLE = st.floats(-3, 3)


@given(ANGLE, ANGLE, st.floats(0, 3))
def test_a_lead_is_limited_towards_the_joint_and_else_kept(
    target: float, position: float, lead: float
) -> None:
    limited = limited_lead(target, position, lead)
    assert abs(limited - position) <= lead * (1.0 + 1e-12) + 1e-15
    if abs(target - position) <= lead:
        assert limited == target
    else:
        assert abs(limited - position) == pytest.approx(lead, abs=1e-15)
        assert (limited - position) * (target - position) >= 0.0


LEADS = [(0.1, 0.2, 0.3), (0.1, 0.2), (float("inf"),), (0.1, 0.2), (), (0.2,)]
FLAGS = st.lists(st.booleans(), min_size=6, max_size=6)


@given(ANGLES, ANGLES, FLAGS, st.lists(st.integers(0, 1), min_size=5, max_size=5))
def test_the_outermost_body_in_contact_limits_an_actuator(
    targets: list[float], positions: list[float], acting: list[bool], contacts: list[int]
) -> None:
    limited = grip_targets(targets, positions, acting, STOPS, LEADS, contacts)
    for d, (bodies, leads) in enumerate(zip(STOPS, LEADS, strict=True)):
        touching = [lead for body, lead in zip(bodies, leads, strict=False) if contacts[body]]
        expected = targets[d]
        if acting[d] and touching:
            expected = limited_lead(targets[d], positions[d], max(touching))
        assert limited[d] == expected


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=30))
def test_a_latch_is_set_since_the_last_reset(steps: list[tuple[int, int]]) -> None:
    flags = [0]
    for index, (on, off) in enumerate(steps):
        flags = latch([on], [off], flags)
        resets = [i for i, (s, r) in enumerate(steps[: index + 1]) if r and not s]
        since = steps[resets[-1] + 1 if resets else 0 : index + 1]
        assert flags == [int(any(s for s, _ in since))]


# Every implementation, sample by sample.

SEEDS = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module", params=["python", pytest.param("warp", marks=pytest.mark.slow)])
def worlds(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The backend of MuJoCo Warp: its kernels executed by Python, or compiled for the CPU."""
    if request.param == "python":
        with warp_in_python.imported() as module:
            yield module
    else:
        pytest.importorskip("mujoco_warp")
        yield import_module("softgrasp.backends.warp.worlds")


@pytest.mark.parametrize("name", ["by_samples", "by_blocks", "by_job"])
@given(SEEDS)
def test_stepper_and_webots_controller_follow_the_laws(name: str, seed: int) -> None:
    play: Callable[[Trial], Track] = getattr(closing_trials, name)
    assert play(drawn(seed)) == by_laws(drawn(seed))


@given(seed=SEEDS)
def test_kernels_follow_the_laws(worlds: Any, seed: int) -> None:
    assert closing_trials.by_kernels(drawn(seed), worlds) == by_laws(drawn(seed))


@given(SEEDS)
def test_a_closing_agent_in_an_environment_follows_the_laws(seed: int) -> None:
    trial = drawn(seed, grips=False)
    assert closing_trials.by_episode(trial) == by_laws(trial)


def test_a_trial_has_what_the_laws_distinguish() -> None:
    tracks = [by_laws(drawn(seed)) for seed in range(20)]
    bits = {bit for track in tracks for row in track.changes.values() for bit in row}
    assert {TOUCHING, ESTABLISHED, LOST, TOUCHING | ESTABLISHED} <= bits
    targets = np.array([track.targets for track in tracks])
    assert (np.abs(targets) == 0.6).any()
    assert (np.abs(targets) > 0.6).any()  # a joint beyond its limit, which its target follows
    free = np.array([by_laws(drawn(seed, grips=False)).targets for seed in range(20)])
    assert (free != targets).any()


@pytest.mark.parametrize("action", ["increments", "targets"])
@given(SEEDS, st.lists(st.floats(-1.5, 1.5), min_size=ACTUATORS, max_size=ACTUATORS))
def test_the_plan_of_an_action_is_that_of_the_law(
    action: str, seed: int, values: list[float]
) -> None:
    trial, count = drawn(seed), 30
    episode = Episode(
        closing_trials.task_of(trial, action, count), ObjectPose(np.zeros((1, 3)), np.eye(3)[None])
    )
    clipped, layout = np.clip(values, -1.0, 1.0), trial.layout
    increments, limits = clipped * layout.increments, (layout.lower, layout.upper)
    if action == "targets":
        goal = layout.lower + 0.5 * (clipped + 1.0) * (layout.upper - layout.lower)
        increments = np.copysign(layout.increments, goal - trial.start)
        limits = (np.minimum(goal, trial.start), np.maximum(goal, trial.start))
    expected = trial.start
    for row in episode.plan(values).targets.tolist():
        expected = next_targets(
            expected, increments.tolist(), [True] * ACTUATORS, *(limit.tolist() for limit in limits)
        )
        assert row == expected


def test_targets_of_a_learning_task_move_by_the_law() -> None:
    pytest.importorskip("gymnasium")
    from softgrasp.envs.task_env import TaskEnv
    from softgrasp.envs.task_simulation import PERIOD

    simulation, random = TaskEnv("CloseAndHold").simulation, np.random.default_rng(0)
    low, high = simulation.built.lower.tolist(), simulation.built.upper.tolist()
    for speed in (0.1, 10.0, -10.0):
        before = simulation.targets[0].tolist()
        speeds = speed * random.random(len(low))
        simulation.matrix = np.diag(speeds)
        simulation.step(np.ones((1, len(low))))
        expected = next_targets(before, (PERIOD * speeds).tolist(), [True] * len(low), low, high)
        assert simulation.targets[0].tolist() == expected
