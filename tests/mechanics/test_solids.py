"""Points around a solid: balls, planes and swollen hulls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from softgrasp.mechanics.geometry import ball_points, plane_normal, swollen_points

SQUARE = np.array([[1.0, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0]])


def test_ball_points_lie_on_the_ball() -> None:
    assert np.linalg.norm(ball_points(0.3), axis=1) == pytest.approx(0.3)


def test_the_normal_of_a_flat_set_is_square_to_it() -> None:
    assert plane_normal(SQUARE) == pytest.approx((0, 0, 1))
    assert plane_normal(SQUARE[:, [2, 0, 1]]) == pytest.approx((1, 0, 0))


def test_the_normal_of_a_line_is_square_to_it_and_upright() -> None:
    assert plane_normal([[0, 0, 0], [1, 0, 0]]) == pytest.approx((0, 0, 1))
    assert plane_normal([[0, 0, 0], [0, 0, 1]]) == pytest.approx((1, 0, 0))


def test_a_swollen_square_is_a_slab_of_twice_the_radius() -> None:
    points = swollen_points(SQUARE, 0.1)
    assert np.ptp(points, axis=0) == pytest.approx((2.2, 2.2, 0.2), abs=2e-3)
    hull = ConvexHull(points)
    assert 4 * 0.2 < hull.volume < 2.2 * 2.2 * 0.2


def test_two_points_swell_to_a_capsule() -> None:
    hull = ConvexHull(swollen_points([[0, 0, 0], [1, 0, 0]], 0.1))
    capsule = np.pi * 0.1**2 + 4 / 3 * np.pi * 0.1**3
    assert hull.volume == pytest.approx(capsule, rel=0.15)
