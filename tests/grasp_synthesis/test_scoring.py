"""How contacts on a ball oppose one another: exact cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from softgrasp.grasp_synthesis.scoring import directions, enclosures


def least(normals: list[list[float]], friction: float) -> float:
    result, _ = enclosures(
        np.array([normals]), np.ones((1, len(normals)), dtype=bool), friction=friction
    )
    return float(result[0])


def test_two_opposite_contacts_give_the_friction_across() -> None:
    assert least([[1, 0, 0], [-1, 0, 0]], 0.5) == pytest.approx(0.5, abs=0.08)
    assert least([[1, 0, 0], [-1, 0, 0]], 0.0) <= 0.05


def test_six_contacts_along_the_axes() -> None:
    """Without friction the worst direction is a diagonal: 1/√3."""
    axes = [[s * (i == j) for j in range(3)] for i in range(3) for s in (1, -1)]
    assert least(axes, 0.0) == pytest.approx(1.0 / np.sqrt(3.0), abs=0.06)


def test_contacts_from_one_side_do_not_enclose() -> None:
    assert least([[1, 0, 0], [0.8, 0.6, 0]], 0.3) < -0.5
    assert least([[1, 0, 0]], 0.5) < -0.8


def test_what_does_not_touch_gives_nothing() -> None:
    normals = np.array([[[1.0, 0, 0], [-1.0, 0, 0]]])
    both, _ = enclosures(normals, np.array([[True, True]]))
    one, _ = enclosures(normals, np.array([[True, False]]))
    none, mean = enclosures(normals, np.array([[False, False]]))
    assert both[0] > 0.0 > one[0]
    assert (none[0], mean[0]) == (-1.0, -1.0)


@given(st.integers(0, 1000))
def test_turning_all_contacts_changes_little(seed: int) -> None:
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(4, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    rotated = normals @ Rotation.random(rng=rng).as_matrix().T
    assert least(normals.tolist(), 0.4) == pytest.approx(least(rotated.tolist(), 0.4), abs=0.2)


def test_directions_are_spread_evenly() -> None:
    result = directions(96)
    assert np.linalg.norm(result, axis=1) == pytest.approx(np.ones(96))
    assert result.mean(axis=0) == pytest.approx(np.zeros(3), abs=0.01)
