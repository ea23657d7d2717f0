"""Rigid transforms: group laws, conventions and round trips."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.mechanics import transforms as tf

ANGLES = st.tuples(*[st.floats(-3, 3)] * 3)
PITCH_SAFE = st.tuples(st.floats(-3, 3), st.floats(-1.5, 1.5), st.floats(-3, 3))


@given(PITCH_SAFE)
def test_euler_angles_come_back(euler: tuple[float, float, float]) -> None:
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
def test_the_relative_rotation_leads_from_the_reference(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> None:
    start, end = (tf.rotation_from_euler(euler) for euler in (first, second))
    rotated = tf.relative_quaternions(tf.quaternion_of(end), tf.quaternion_of(start))
    assert np.allclose(tf.transform(quaternion=rotated)[:3, :3] @ start, end, atol=1e-9)


def test_the_angle_of_a_turn_is_its_angle() -> None:
    assert tf.rotation_angles(tf.quaternion_of(tf.rotate_about("y", 0.7))) == pytest.approx(0.7)


@given(ANGLES, st.floats(0, 1e-3))
def test_the_nearest_rotation_of_a_rotation_is_itself(
    euler: tuple[float, float, float], noise: float
) -> None:
    rotation = tf.rotation_from_euler(euler)
    result, error = tf.nearest_rotation(rotation * (1 + noise))
    assert np.allclose(result, rotation, atol=1e-12)
    assert error == pytest.approx((1 + noise) ** 2 - 1, abs=1e-12)


def test_a_reflection_stays_a_reflection() -> None:
    result, error = tf.nearest_rotation(np.diag([1.0, 1.0, -1.0]))
    assert np.linalg.det(result) == pytest.approx(-1)
    assert error == 0
