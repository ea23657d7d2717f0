"""Ellipsoids of a planar arm of two links, and measures of hands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from tests.quality.grasps import random_sphere

quality = sg.quality
seeds = st.integers(0, 2**32 - 1)


def two_links(first: float, second: float, bend: float, rotation: float = 0.3) -> np.ndarray:
    """Jacobian of the tip of a planar arm."""
    near, far = rotation, rotation + bend
    tip = second * np.array([-np.sin(far), np.cos(far)])
    return np.column_stack([first * np.array([-np.sin(near), np.cos(near)]) + tip, tip])


@pytest.mark.parametrize(
    ("links", "bend", "lengths", "measure"),
    [
        ((1.0, 1.0), 90, (1.618034, 0.618034), 1.0),
        ((1.0, 1 / np.sqrt(2)), 135, (0.707107, 0.707107), 0.5),
        ((0.038, 0.038), 45, None, 0.00102106),
        ((1.0, 1.0), 0, (np.sqrt(5), 0.0), 0.0),
    ],
)
def test_two_links(
    links: tuple[float, float],
    bend: float,
    lengths: tuple[float, float] | None,
    measure: float,
) -> None:
    """w = l₁ l₂ |sin q₂| (Yoshikawa 1985)."""
    J = two_links(*links, np.radians(bend))
    result = quality.manipulability(J)
    assert result.measure == pytest.approx(measure, rel=5e-6, abs=1e-15)
    assert result.measure == pytest.approx(links[0] * links[1] * np.sin(np.radians(bend)))
    if lengths is not None:
        np.testing.assert_allclose(result.lengths, lengths, atol=5e-7)
        assert result.isotropy == pytest.approx(lengths[1] / lengths[0], abs=1e-6)


def test_where_motion_is_fast_force_is_weak() -> None:
    J = two_links(1.0, 0.7, 1.0)
    motion, force = quality.manipulability(J), quality.manipulability(J, "force")
    np.testing.assert_allclose(force.lengths, 1 / motion.lengths[::-1])
    np.testing.assert_allclose(force.axes, motion.axes[:, ::-1])
    ends = force.axes * force.lengths  # forces that take a unit of torque
    np.testing.assert_allclose(np.linalg.norm(J.T @ ends, axis=0), 1.0)


def test_a_straight_arm_bears_any_force_along_it() -> None:
    force = quality.manipulability(two_links(1.0, 1.0, 0.0, rotation=0.0), "force")
    assert force.lengths[0] == np.inf
    np.testing.assert_allclose(np.abs(force.axes[:, 0]), [1, 0], atol=1e-12)


def test_one_joint_moves_one_way() -> None:
    result = quality.manipulability([[2.0], [0.0], [0.0]])
    np.testing.assert_array_equal(result.lengths, [2, 0, 0])
    assert result.measure == 0.0
    assert result.axes.shape == (3, 3)


@given(seeds)
def test_measures_of_a_hand(seed: int) -> None:
    random = np.random.default_rng(seed)
    points, normals = random_sphere(random, 3)
    G = quality.grasp_matrix(points, normals)
    J = random.normal(size=(9, 9))
    H = quality.hand_object_jacobian(G, J)
    twist = random.normal(size=6)
    speeds = np.linalg.solve(J, G.T @ twist)  # the hand follows the object
    np.testing.assert_allclose(H @ speeds, twist, atol=1e-6 * max(1, np.abs(speeds).max()))
    values = np.linalg.svd(H, compute_uv=False)
    assert quality.distance_to_singularity(G, J) == pytest.approx(values[-1])
    assert quality.manipulability_volume(G, J) == pytest.approx(np.prod(values))
    assert quality.uniformity_of_transformation(G, J) == pytest.approx(values[0] / values[-1])
    assert quality.uniformity_of_transformation(G, J) >= 1.0


def test_too_few_joints_have_no_volume() -> None:
    G = quality.grasp_matrix(*random_sphere(np.random.default_rng(1), 3))
    J = np.random.default_rng(2).normal(size=(9, 4))
    assert quality.manipulability_volume(G, J) == 0.0
    assert quality.distance_to_singularity(G, J) > 0.0
    assert quality.uniformity_of_transformation(G, np.zeros((9, 4))) == np.inf


def test_an_unknown_kind_is_told() -> None:
    with pytest.raises(sg.DescriptionError, match="no kind 'forces'; did you mean 'force'"):
        quality.manipulability(np.eye(2), "forces")
