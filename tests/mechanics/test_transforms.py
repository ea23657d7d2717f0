"""Directions and places drawn at random are uniform in what they are drawn from."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, kstest

from softgrasp.mechanics import transforms as tf
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


def test_directions_are_uniform_in_a_cone() -> None:
    axis, angle = np.array([0.0, 0.6, -0.8]), 0.7
    cosine = directions((0.0, 0.6, -0.8), angle) @ axis
    assert cosine.min() >= math.cos(angle) - 1e-12
    low = math.cos(angle)
    assert kstest((cosine - low) / (1.0 - low), "uniform").pvalue > 1e-3


def test_a_cone_of_no_opening_is_its_axis() -> None:
    drawn = direction_in_cone(np.random.default_rng(0), (0.0, 2.0, 0.0), 0.0)
    assert drawn == pytest.approx([0.0, 1.0, 0.0])


def test_points_are_uniform_in_the_ball() -> None:
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
def test_the_rotation_between_two_directions_is_the_smallest(start: Array, end: Array) -> None:
    rotation = quaternion_between(start, end)
    assert rotation @ start == pytest.approx(end, abs=1e-9)
    assert np.trace(rotation) == pytest.approx(1.0 + 2.0 * float(start @ end), abs=1e-9)


@given(DIRECTIONS)
def test_the_rotation_between_opposite_directions_is_a_half_rotation(start: Array) -> None:
    rotation = quaternion_between(start, -start)
    assert rotation @ start == pytest.approx(-start, abs=1e-9)
    assert np.trace(rotation) == pytest.approx(-1.0, abs=1e-9)


# Rigid transforms: group laws, conventions and round trips.


ANGLES = st.tuples(*[st.floats(-3, 3)] * 3)
PITCH_SAFE = st.tuples(st.floats(-3, 3), st.floats(-1.5, 1.5), st.floats(-3, 3))


@given(PITCH_SAFE)
def test_euler_angles_survive_the_round_trip(euler: tuple[float, float, float]) -> None:
    quaternion = tf.quaternion_of(tf.rotation_from_euler(euler))
    assert tf.euler_from_quaternions(quaternion) == pytest.approx(euler, abs=1e-6)


def test_euler_is_intrinsic_z_y_x() -> None:
    x, y, z = 0.3, -0.4, 0.5
    expected = tf.rotate_about("z", z) @ tf.rotate_about("y", y) @ tf.rotate_about("x", x)
    assert np.allclose(tf.rotation_from_euler((x, y, z)), expected[:3, :3], atol=1e-15)


@given(ANGLES)
def test_quaternion_and_matrix_agree_and_w_is_not_negative(
    euler: tuple[float, float, float],
) -> None:
    matrix = tf.rotation_from_euler(euler)
    quaternion = tf.quaternion_of(matrix)
    assert quaternion[0] >= 0
    assert np.allclose(tf.transform(quaternion=quaternion)[:3, :3], matrix, atol=1e-12)


@given(ANGLES, ANGLES)
def test_relative_rotations_start_from_the_reference(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> None:
    start, end = (tf.rotation_from_euler(euler) for euler in (first, second))
    rotated = tf.relative_quaternions(tf.quaternion_of(end), tf.quaternion_of(start))
    assert np.allclose(tf.transform(quaternion=rotated)[:3, :3] @ start, end, atol=1e-9)


def test_rotation_angles_are_those_of_the_quaternions() -> None:
    assert tf.rotation_angles(tf.quaternion_of(tf.rotate_about("y", 0.7))) == pytest.approx(0.7)


@given(ANGLES, st.floats(0, 1e-3))
def test_the_nearest_rotation_of_a_rotation_is_itself(
    euler: tuple[float, float, float], noise: float
) -> None:
    rotation = tf.rotation_from_euler(euler)
    result, error = tf.nearest_rotation(rotation * (1 + noise))
    assert np.allclose(result, rotation, atol=1e-12)
    assert error == pytest.approx((1 + noise) ** 2 - 1, abs=1e-12)


def test_the_nearest_rotation_keeps_reflections() -> None:
    result, error = tf.nearest_rotation(np.diag([1.0, 1.0, -1.0]))
    assert np.linalg.det(result) == pytest.approx(-1)
    assert error == 0
