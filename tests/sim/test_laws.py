"""The laws of closure and debounce, on plain lists, without any engine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.sim.laws import (
    ESTABLISHED,
    LOST,
    TOUCHING,
    DebouncedFlags,
    debounce,
    free_actuators,
    next_targets,
)
from softgrasp.sim.stepper import planned_targets

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


def test_nine_samples_do_not_establish_and_the_tenth_does() -> None:
    body = Body()
    for _ in range(SAMPLES - 1):
        body.feed(1.0)
        assert body.in_contact == [0]
    assert body.feed(1.0) == ESTABLISHED
    assert body.in_contact == [1]


def test_one_low_sample_resets_the_count() -> None:
    body = Body()
    for _ in range(SAMPLES - 1):
        body.feed(1.0)
    body.feed(0.0)
    for _ in range(SAMPLES - 1):
        body.feed(1.0)
        assert body.in_contact == [0]
    body.feed(1.0)
    assert body.in_contact == [1]


def test_contact_is_lost_at_the_first_low_sample() -> None:
    body = Body()
    for _ in range(SAMPLES + 5):
        body.feed(1.0)
    assert body.feed(0.05) == LOST
    assert body.in_contact == [0]


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
    return planned_targets(start, growth, free, limits, samples)


def closed(in_contact: list[int], targets: list[float] | None = None) -> list[float]:
    """Targets one sample later."""
    return plan(in_contact, targets)[1].tolist()


def test_without_contact_every_joint_grows() -> None:
    assert closed([0] * 5) == [0.1] * 6


def test_a_touching_fingertip_stops_its_whole_finger_and_no_other() -> None:
    assert closed([0, 0, 1, 0, 0]) == [0, 0, 0, 0.1, 0.1, 0.1]


def test_a_touching_first_phalanx_stops_only_its_joint() -> None:
    assert closed([1, 0, 0, 0, 0]) == [0, 0.1, 0.1, 0.1, 0.1, 0.1]


def test_a_row_without_a_body_stops_with_the_phalanges_behind_it() -> None:
    assert closed([0, 0, 0, 1, 0]) == [0.1, 0.1, 0.1, 0, 0, 0.1]


def test_targets_stop_at_the_limits() -> None:
    assert closed([0] * 5, [0.95, 1.0, 0.0, 0.0, 0.0, 0.0])[:3] == [1.0, 1.0, 0.1]
    lowest = plan([0] * 5, [-0.95, -1.0, 0.0, 0.0, 0.0, 0.0], [-0.1] * 6)[1]
    assert lowest[:3].tolist() == [-1.0, -1.0, -0.1]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_controller_of_other_engines_stops_at_both_limits(sign: float) -> None:
    targets = [sign * value for value in (0.0, 0.95, 1.0, 0.5)]
    increments, free = [0.1 * sign] * 4, [True, True, True, False]
    following = next_targets(targets, increments, free, [-1.0] * 4, [1.0] * 4)
    assert following == [sign * value for value in (0.1, 1.0, 1.0, 0.5)]


@given(st.lists(st.integers(0, 1), min_size=5, max_size=5))
def test_a_joint_moves_exactly_when_nothing_from_its_phalanx_on_touches(
    contacts: list[int],
) -> None:
    bodies = [[0, 1, 2], [1, 2], [2], [3, 4], [3, 4], [4]]
    expected = [0.0 if any(contacts[b] for b in own) else 0.1 for own in bodies]
    assert closed(contacts) == expected


def test_an_inactive_joint_stands_still() -> None:
    targets = plan([0] * 5, increments=[0.1, 0.0, 0.1, 0.1, 0.1, 0.1], samples=3)
    assert targets[:, 1].tolist() == [0.0] * 4


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
