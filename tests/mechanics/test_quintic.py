"""Motions of degree five: both ends as asked, and the minimum-jerk motion from rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.mechanics.trajectory import Quintic
from softgrasp.mechanics.transforms import minimum_jerk

NUMBERS = st.floats(-3.0, 3.0)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.floats(0.1, 5.0))
def test_it_begins_and_ends_as_asked(
    begin: float, end: float, velocity: float, acceleration: float, duration: float
) -> None:
    motion = Quintic([begin], [end], duration, [velocity], [acceleration])
    starts = [motion.at(0.0, order)[0] for order in range(3)]
    assert starts == pytest.approx([begin, velocity, acceleration], abs=1e-9)
    before = duration * (1.0 - 1e-9)
    stops = [motion.at(before, order)[0] for order in range(3)]
    assert stops == pytest.approx([end, 0.0, 0.0], abs=1e-4)
    assert motion.at(duration + 1.0)[0] == end
    assert motion.at(duration + 1.0, 1)[0] == 0.0


def test_from_rest_it_is_the_minimum_jerk_motion() -> None:
    times = np.linspace(0.0, 2.0, 50)
    motion = Quintic([1.0, -2.0], [4.0, 2.0], 2.0)
    target = np.array([1.0, -2.0]) + minimum_jerk(times / 2.0)[:, None] * [3.0, 4.0]
    assert motion.at(times) == pytest.approx(target)
    assert np.linalg.norm(motion.at(times, 1), axis=1).max() <= 1.875 * 5.0 / 2.0


def test_without_a_duration_it_is_there_at_once() -> None:
    assert Quintic([1.0], [2.0], 0.0).at(0.0)[0] == 2.0
