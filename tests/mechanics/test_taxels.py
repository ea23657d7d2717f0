"""Taxels: whatever touches wherever, no force is lost, and it is felt where it acts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.mechanics.contact import distribute, taxel_centers, taxel_grid

BOX = np.array([[-0.01, -0.008, -0.008], [0.05, 0.008, 0.008]])
"""Around a link along x."""
numbers = st.floats(-0.1, 0.1)


@given(
    st.lists(st.tuples(numbers, numbers, numbers, st.floats(0.0, 100.0)), min_size=1, max_size=6),
    st.integers(1, 6),
    st.integers(1, 9),
)
def test_the_sum_over_the_taxels_is_the_force(contacts, rows, columns) -> None:
    table = np.array(contacts)
    felt = distribute(taxel_grid(BOX, rows, columns), table[:, :3], table[:, 3])
    assert felt.shape == (rows, columns)
    assert felt.min() >= 0.0
    assert felt.sum() == pytest.approx(table[:, 3].sum(), rel=1e-12, abs=1e-12)


def test_a_force_on_a_taxel_is_all_its_own() -> None:
    grid = taxel_grid(BOX, 4, 8)
    along, around = taxel_centers(grid)
    for row, x in enumerate(along):
        for column, angle in enumerate(around):
            way = np.array([x, 0.008 * math.cos(angle), 0.008 * math.sin(angle)])
            felt = distribute(grid, (grid.center + way)[None], np.array([2.0]))
            expected = np.zeros((4, 8))
            expected[row, column] = 2.0
            np.testing.assert_allclose(felt, expected, atol=1e-12)


def test_the_seam_at_the_back_is_none() -> None:
    grid = taxel_grid(BOX, 1, 8)
    back = np.array([[0.02, -0.008, 0.0]])
    felt = distribute(grid, back, np.array([1.0]))
    np.testing.assert_allclose(felt[0], [0.5, 0, 0, 0, 0, 0, 0, 0.5], atol=1e-12)


def test_rows_lie_along_the_longest_edge() -> None:
    grid = taxel_grid(BOX[:, [1, 2, 0]], 4, 8)
    np.testing.assert_array_equal(grid.axes[0], [0, 0, 1])
    assert np.linalg.det(grid.axes) == pytest.approx(1.0)
    assert grid.length == pytest.approx(0.06)
