"""Directions and places drawn at random are uniform in what they are drawn from."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, kstest

from softgrasp.mechanics.transforms import (
    Array,
    axes_beside,
    direction_in_cone,
    point_in_ball,
    quaternion_between,
)

MANY = 4000
PARTS = st.floats(-1.0, 1.0).filter(lambda value: abs(value) > 1e-3)
DIRECTIONS = st.tuples(PARTS, PARTS, PARTS).map(lambda v: np.array(v) / np.linalg.norm(v))


def directions(axis: tuple[float, float, float], angle: float) -> Array:
    random = np.random.default_rng(7)
    return np.array([direction_in_cone(random, axis, angle) for _ in range(MANY)])


def test_directions_are_uniform_over_the_sphere() -> None:
    drawn = directions((0.3, -0.2, 0.9), math.pi)
    assert np.linalg.norm(drawn, axis=1) == pytest.approx(1.0)
    # Rayleigh: 3 n |mean|² is chi-square with 3 degrees of freedom
    assert 3 * MANY * float(np.square(drawn.mean(axis=0)).sum()) < chi2.ppf(0.999, 3)
    # equal areas: eight bands of z by eight sectors have equal counts
    band = np.clip(((drawn[:, 2] + 1.0) * 4).astype(int), 0, 7)
    sector = np.clip(((np.arctan2(drawn[:, 1], drawn[:, 0]) / math.pi + 1) * 4).astype(int), 0, 7)
    counts = np.bincount(8 * band + sector, minlength=64)
    expected = MANY / 64
    assert float(np.square(counts - expected).sum() / expected) < chi2.ppf(0.999, 63)


def test_directions_of_a_cone_stay_in_it_and_fill_it_evenly() -> None:
    axis, angle = np.array([0.0, 0.6, -0.8]), 0.7
    cosine = directions((0.0, 0.6, -0.8), angle) @ axis
    assert cosine.min() >= math.cos(angle) - 1e-12
    low = math.cos(angle)
    assert kstest((cosine - low) / (1.0 - low), "uniform").pvalue > 1e-3


def test_a_cone_of_no_opening_is_its_axis() -> None:
    drawn = direction_in_cone(np.random.default_rng(0), (0.0, 2.0, 0.0), 0.0)
    assert drawn == pytest.approx([0.0, 1.0, 0.0])


def test_places_are_uniform_in_the_ball() -> None:
    random = np.random.default_rng(3)
    positions = np.array([point_in_ball(random, 0.02) for _ in range(MANY)])
    fraction = (np.linalg.norm(positions, axis=1) / 0.02) ** 3  # of the volume
    assert kstest(fraction, "uniform").pvalue > 1e-3
    assert np.abs(positions.mean(axis=0)).max() < 4 * 0.02 / math.sqrt(5 * MANY)


@given(DIRECTIONS)
def test_axes_beside_an_axis_are_a_right_handed_frame(axis: Array) -> None:
    frame = np.column_stack(axes_beside(axis))
    assert frame.T @ frame == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(frame) == pytest.approx(1.0)
    assert frame[:, 2] == pytest.approx(axis)


@given(DIRECTIONS, DIRECTIONS)
def test_the_turn_between_two_directions_is_the_smallest(start: Array, end: Array) -> None:
    rotation = quaternion_between(start, end)
    assert rotation @ start == pytest.approx(end, abs=1e-9)
    assert np.trace(rotation) == pytest.approx(1.0 + 2.0 * float(start @ end), abs=1e-9)


@given(DIRECTIONS)
def test_opposite_directions_are_half_a_turn_apart(start: Array) -> None:
    rotation = quaternion_between(start, -start)
    assert rotation @ start == pytest.approx(-start, abs=1e-9)
    assert np.trace(rotation) == pytest.approx(-1.0, abs=1e-9)
