"""The grasp matrix: duality, invariances, and grasps whose weakness is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from softgrasp.mechanics.grasp_matrix import grasp_matrix, smallest_singular_value

seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_force_and_moment_are_summed(seed: int) -> None:
    random = np.random.default_rng(seed)
    points, forces = random.normal(size=(2, 5, 3))
    centre, length = random.normal(size=3), 0.3
    wrench = grasp_matrix(points, centre, length) @ forces.ravel()
    np.testing.assert_allclose(wrench[:3], forces.sum(axis=0), atol=1e-12)
    moment = np.cross(points - centre, forces).sum(axis=0) / length
    np.testing.assert_allclose(wrench[3:], moment, atol=1e-12)


@given(seeds)
def test_its_transpose_gives_the_velocities_of_the_contacts(seed: int) -> None:
    random = np.random.default_rng(seed)
    points, centre = random.normal(size=(4, 3)), random.normal(size=3)
    speed, spin = random.normal(size=(2, 3))
    found = grasp_matrix(points, centre, 1.0).T @ np.concatenate([speed, spin])
    expected = speed + np.cross(spin, points - centre)
    np.testing.assert_allclose(found.reshape(-1, 3), expected, atol=1e-12)


@given(seeds, st.floats(0.01, 100.0))
def test_quality_does_not_depend_on_frame_or_size(seed: int, size: float) -> None:
    random = np.random.default_rng(seed)
    points, centre, shift = random.normal(size=(4, 3)), random.normal(size=3), random.normal(size=3)
    turn = Rotation.random(rng=random)
    before = smallest_singular_value(points, centre)
    after = smallest_singular_value(
        size * turn.apply(points) + shift, size * turn.apply(centre) + shift
    )
    assert after == pytest.approx(before, rel=1e-7, abs=1e-9)


def test_two_contacts_do_not_hold_against_the_turn_about_their_line() -> None:
    pair = [(0.03, 0.0, 0.0), (-0.03, 0.0, 0.0)]
    assert smallest_singular_value(pair, (0.0, 0.0, 0.0)) == pytest.approx(0.0, abs=1e-12)


def test_a_regular_ring_is_known() -> None:
    """Three contacts on a circle: forces √3; moments about an axis in the plane √1.5, about the
    normal √3."""
    angles = np.arange(3) * 2 * np.pi / 3
    ring = 0.05 * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(3)])
    assert smallest_singular_value(ring, np.zeros(3)) == pytest.approx(np.sqrt(1.5))


@pytest.mark.parametrize("points", [np.zeros((0, 3)), [(0.1, 0.0, 0.0)], np.zeros((3, 3))])
def test_too_few_contacts_hold_nothing(points: object) -> None:
    assert smallest_singular_value(points, np.zeros(3)) == 0.0
