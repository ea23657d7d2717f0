"""Control allocation: controls of least norm within ranges, against the non-negative solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softgrasp.mechanics import actuation
from softgrasp.mechanics.actuation import Allocation

TENDONS = np.stack([np.cos(x := 2.0 * np.pi * np.arange(3) / 3.0), np.sin(x)])
"""Moments of three tendons around a segment, of which equal tensions make none."""
NUMBERS = st.integers(-2000, 2000).map(lambda number: 1e-3 * number)


def by_solver(allocation: Allocation, target: np.ndarray) -> np.ndarray | None:
    """Return the controls by non-negative least squares, as for null spaces of more dimensions."""
    plain = allocation._inverse @ target
    if allocation._inside(plain.tolist()):
        return plain
    bounds = np.concatenate([allocation.low - plain, plain - allocation.high])
    bounds = bounds[allocation._is_bounded]
    size = float(np.abs(bounds).max())
    allocation._distance[-1] = bounds / size
    idle = actuation._min_distance(allocation._distance)
    controls = None if idle is None else plain + size * (allocation._idle @ idle)
    return None if controls is None or not allocation._inside(controls.tolist()) else controls


@settings(max_examples=200)
@given(
    x=NUMBERS,
    y=NUMBERS,
    high=st.sampled_from([np.inf, 1.0, 3.0]),
    low=st.integers(0, 50).map(lambda number: 1e-2 * number),
)
def test_the_closed_form_is_that_of_non_negative_least_squares(x, y, high, low):
    allocation = Allocation(TENDONS, np.full(3, low), np.full(3, high))
    found = allocation.smallest(np.array([x, y]))
    expected = by_solver(allocation, np.array([x, y]))
    if expected is None:
        assert found is None
        return
    assert found == pytest.approx(expected, abs=1e-7)
    assert TENDONS @ found == pytest.approx([x, y], abs=1e-7)
    assert ((found >= low) & (found <= high)).all()


def test_a_range_that_leaves_one_point_is_reached_and_a_smaller_one_is_not():
    target = TENDONS @ np.array([0.0, 0.6, 1.2])
    found = Allocation(TENDONS, np.zeros(3), np.full(3, 1.2)).smallest(target)
    assert found == pytest.approx([0.0, 0.6, 1.2], abs=1e-9)
    assert Allocation(TENDONS, np.zeros(3), np.full(3, 1.19)).smallest(target) is None
