"""Enclosure of a ball by contacts: exact cases and invariance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from softgrasp.grasp_synthesis.scoring import directions, enclosures


def smallest_force(normals: list[list[float]], friction: float) -> float:
    """Compute the smallest force of contacts over all directions."""
    result, _ = enclosures(
        np.array([normals]), np.ones((1, len(normals)), dtype=bool), friction=friction
    )
    return float(result[0])


def test_two_opposite_contacts_have_the_friction_coefficient() -> None:
    assert smallest_force([[1, 0, 0], [-1, 0, 0]], 0.5) == pytest.approx(0.5, abs=0.08)
    assert smallest_force([[1, 0, 0], [-1, 0, 0]], 0.0) <= 0.05


def test_six_contacts_along_the_axes() -> None:
    """Without friction the worst direction is a diagonal: 1/√3."""
    axes = [[s * (i == j) for j in range(3)] for i in range(3) for s in (1, -1)]
    assert smallest_force(axes, 0.0) == pytest.approx(1.0 / np.sqrt(3.0), abs=0.06)


def test_contacts_from_one_side_do_not_enclose() -> None:
    assert smallest_force([[1, 0, 0], [0.8, 0.6, 0]], 0.3) < -0.5
    assert smallest_force([[1, 0, 0]], 0.5) < -0.8


def test_missing_contacts_exert_no_force() -> None:
    normals = np.array([[[1.0, 0, 0], [-1.0, 0, 0]]])
    both, _ = enclosures(normals, np.array([[True, True]]))
    item, _ = enclosures(normals, np.array([[True, False]]))
    none, mean = enclosures(normals, np.array([[False, False]]))
    assert both[0] > 0.0 > item[0]
    assert (none[0], mean[0]) == (-1.0, -1.0)


@given(st.integers(0, 1000))
def test_enclosure_is_nearly_invariant_to_rotation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    normals = rng.normal(size=(4, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    rotated = normals @ Rotation.random(rng=rng).as_matrix().T
    assert smallest_force(normals.tolist(), 0.4) == pytest.approx(
        smallest_force(rotated.tolist(), 0.4), abs=0.2
    )


def test_directions_are_evenly_distributed() -> None:
    result = directions(96)
    assert np.linalg.norm(result, axis=1) == pytest.approx(np.ones(96))
    assert result.mean(axis=0) == pytest.approx(np.zeros(3), abs=0.01)
