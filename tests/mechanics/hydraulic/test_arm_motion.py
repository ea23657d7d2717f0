"""Kinematics of segments: those of pcc, and their derivatives by central differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softgrasp.continuum.pcc import arc_functions, bend_jacobian, bend_transform
from softgrasp.hydraulics.segment_model import SMALL, arc_numbers, arm_motion, bend_motion
from softgrasp.mechanics.transforms import Array, rotate_about

STEP = 1e-5


def random_motion(seed: int, segments: int = 3) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    strains = random.normal(size=(segments, 4)) * [1.0, 1.0, 0.02, 0.5]
    strains[:, 2] += 0.4
    return strains, random.normal(size=(segments, 4)) * [3.0, 3.0, 0.1, 2.0]


@settings(max_examples=40)
@given(st.floats(-4.0, 4.0), st.floats(-4.0, 4.0), st.floats(-2.0, 2.0))
def test_frames_and_jacobian_are_those_of_constant_curvature(u: float, v: float, t: float) -> None:
    result = bend_motion(np.array([u, v, 0.4, t]), np.zeros(4))
    frame = bend_transform(u, v, 0.4) @ rotate_about("z", t)
    assert result.frame == pytest.approx(frame, abs=1e-14)
    assert result.jacobian[:, :3] == pytest.approx(bend_jacobian(u, v, 0.4), abs=1e-13)
    assert result.jacobian[3:, 3] == pytest.approx(frame[:3, 2], abs=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.05, 0.099, 0.101, 0.5, 0.999, 1.001, 3.0, 6.0])
def test_the_functions_of_one_angle_are_those_of_pcc(angle: float) -> None:
    target = [float(part) for part in arc_functions(angle)]
    assert arc_numbers(angle)[:5] == pytest.approx(target, abs=3e-14)


def test_series_and_closed_forms_meet() -> None:
    below, above = arc_numbers(SMALL - 1e-13), arc_numbers(SMALL)
    assert below == pytest.approx(above, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_velocities_and_accelerations_are_derivatives(seed: int) -> None:
    strains, rates = random_motion(seed)
    before, now, after = (arm_motion(strains + k * STEP * rates, rates) for k in (-1, 0, 1))
    positions = (after.frames[:, :3, 3] - before.frames[:, :3, 3]) / (2.0 * STEP)
    assert now.velocity == pytest.approx(positions, abs=1e-7)
    assert np.einsum("nix,x->ni", now.linear, rates.ravel()) == pytest.approx(now.velocity)
    assert np.einsum("nix,x->ni", now.local_angular, rates.ravel()) == pytest.approx(now.local_spin)
    speeds = (after.velocity - before.velocity) / (2.0 * STEP)
    assert now.acceleration == pytest.approx(speeds, rel=1e-7, abs=1e-7)
    rotations = now.frames[:, :3, :3]
    tumbling = (after.frames - before.frames)[:, :3, :3] / (2.0 * STEP)
    spins = tumbling @ rotations.transpose(0, 2, 1)
    spin = np.einsum("nij,nj->ni", rotations, now.local_spin)
    for row, column, axis in ((2, 1, 0), (0, 2, 1), (1, 0, 2)):
        assert spins[:, row, column] == pytest.approx(spin[:, axis], abs=1e-7)
    # in the turning frame the derivative of ω is the same vector: ω × ω = 0
    faster = (after.local_spin - before.local_spin) / (2.0 * STEP)
    assert now.local_angular_acceleration == pytest.approx(faster, rel=1e-7, abs=1e-7)


def test_the_printed_angular_velocity_is_wrong_where_the_plane_turns() -> None:
    """Eq 5 and 6: the rate of the rotation vector; right in a plane, 53 % off at 60 degrees."""
    theta = np.radians(60.0)
    for rate, target in (((1.0, 0.0), 0.0), ((0.0, theta), 0.53)):
        motion = bend_motion(np.array([theta, 0.0, 0.4, 0.0]), np.array([*rate, 0.0, 0.0]))
        omega = motion.jacobian[3:, :2] @ rate
        printed = np.array([-rate[1], rate[0], 0.0])
        off = np.linalg.norm(printed - omega) / np.linalg.norm(omega)
        assert off == pytest.approx(target, abs=0.005)
