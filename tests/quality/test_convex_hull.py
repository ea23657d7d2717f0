"""Hulls and smallest reach: bodies with known facets, and random points against Qhull."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from softgrasp.quality.convex_hull import (
    GrowingHull,
    Support,
    all_vertices,
    facets_of,
    nearest_of,
    nearest_point,
    of_pyramids,
    shortest_reach,
)

seeds = st.integers(0, 2**32 - 1)


def polytope(points: np.ndarray) -> Support:
    """Return the support function of the hull of points."""
    return of_pyramids(points[:, None], "L1")


def ball(directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate the support function of the unit ball."""
    return np.ones(len(directions)), directions


@pytest.mark.parametrize("dimension", [3, 6])
def test_box(dimension: int) -> None:
    sides = np.linspace(1, 2, dimension)
    corners = np.array(list(product([-1, 1], repeat=dimension))) * sides
    facets = facets_of(corners)
    assert facets.volume == pytest.approx(np.prod(2 * sides), rel=1e-8)
    assert nearest_of(facets, polytope(corners)).upper == pytest.approx(1.0, rel=1e-9)
    result = shortest_reach(polytope(corners), dimension, 5.0)
    assert result.met
    assert result.upper == pytest.approx(1.0, rel=1e-9)
    np.testing.assert_allclose(np.abs(result.direction), np.eye(dimension)[0], atol=1e-7)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_bounds_scale_with_the_body(unit: float) -> None:
    points = np.random.default_rng(1).normal(size=(20, 5))
    first = shortest_reach(polytope(points), 5, 5.0, 1e-3)
    second = shortest_reach(polytope(unit * points), 5, unit * 5.0, 1e-3)
    assert first.met
    assert [second.lower / unit, second.upper / unit] == pytest.approx([first.lower, first.upper])


def test_bounds_enclose_the_reach_of_a_ball() -> None:
    result = shortest_reach(ball, 3, 1.0, 0.01)
    assert result.lower <= 1.0 <= result.upper
    assert result.upper - result.lower <= 0.01
    result = shortest_reach(ball, 6, 1.0, 1e-3, max_facets=500)
    assert not result.met
    assert result.lower <= 1.0 <= result.upper


def test_minkowski_sum_of_segments_is_a_box() -> None:
    support = of_pyramids(np.eye(6)[:, None], "Linf")
    assert facets_of(all_vertices(support, 6, 1.0, 200)).volume == pytest.approx(1.0, rel=1e-8)
    assert all_vertices(support, 6, 1.0, 20) is None


def test_flat_body_has_a_normal() -> None:
    corners = np.array([(-1, -1, 0), (1, -1, 0), (-1, 1, 0), (1, 1, 0)], dtype=float)
    result = shortest_reach(polytope(corners), 3, 2.0)
    assert (result.flat, result.lower, result.upper) == (True, 0.0, 0.0)
    np.testing.assert_allclose(np.abs(result.direction), [0, 0, 1], atol=1e-12)
    result = shortest_reach(polytope(corners + np.array([0, 0, 0.3])), 3, 2.0)
    assert result.flat
    assert result.upper == pytest.approx(-0.3)


@settings(max_examples=20)
@given(seeds, st.integers(3, 6))
def test_smallest_reach_equals_the_nearest_facet(seed: int, dimension: int) -> None:
    points = np.random.default_rng(seed).normal(size=(20, dimension))
    lowest = -ConvexHull(points).equations[:, -1].max()
    result = shortest_reach(polytope(points), dimension, 5.0)
    if lowest > 1e-6:
        assert result.upper == pytest.approx(lowest, abs=1e-7)
        assert result.lower == pytest.approx(lowest, abs=1e-7)
    else:
        assert result.lower <= 1e-6


@settings(max_examples=20)
@given(seeds, st.integers(3, 6))
def test_growing_hull_equals_the_hull(seed: int, dimension: int) -> None:
    random = np.random.default_rng(seed)
    corners = 0.05 * np.vstack([np.eye(dimension), -np.eye(dimension)])
    signs = np.array(list(product([0, dimension], repeat=dimension)))
    hull = GrowingHull(corners, signs + np.arange(dimension))
    points = random.normal(size=(15, dimension))
    added = [hull.add(point) for point in points]
    assert not hull.add(0.9 * points[0])  # inside
    assert hull.error() < 1e-8
    everything = np.vstack([corners, points])
    assert (hull.planes @ everything.T).max() < 1 + 1e-8
    volume = np.abs(np.linalg.det(everything[: len(hull.points)][hull.vertices])).sum()
    if all(added):
        volume /= np.prod(np.arange(1, dimension + 1))
        assert volume == pytest.approx(ConvexHull(everything).volume, rel=1e-8)


def test_point_of_a_flat_simplex_is_rejected() -> None:
    corners = np.vstack([np.eye(2), -np.eye(2)])
    hull = GrowingHull(corners, np.array([[0, 1], [1, 2], [2, 3], [3, 0]]))
    assert hull.add(np.array([2.0, 0.0]))
    assert not hull.add(np.array([2.0 + 1e-10, 0.0]))


def test_a_point_that_sees_all_facets_is_rejected() -> None:
    """Only rounding lets it see them, and then there is no border to connect it with."""
    corners = np.vstack([np.eye(2), -np.eye(2)])
    hull = GrowingHull(corners, np.array([[0, 1], [1, 2], [2, 3], [3, 0]]))
    hull.planes = np.tile([2.0, 0.0], (4, 1))
    facets = hull.vertices.tolist()
    assert not hull.add(np.array([1.0, 0.0]))
    assert hull.vertices.tolist() == facets


@settings(max_examples=20)
@given(seeds)
def test_nearest_point_is_optimal(seed: int) -> None:
    """p is nearest to the origin if w·p ≥ p·p for all points w of the hull."""
    points = np.random.default_rng(seed).normal(size=(9, 6)) + 0.7
    nearest = nearest_point(points)
    assert (points @ nearest).min() >= nearest @ nearest - 1e-9
