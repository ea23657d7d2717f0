"""Measures from singular values: planar two-link arm, random hands, contacts on a ring."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.quality.matrix_measures import smallest_singular_value
from tests.quality.grasps import equator, random_sphere

quality = sg.quality
seeds = st.integers(0, 2**32 - 1)


def two_links(first: float, second: float, bend: float, rotation: float = 0.3) -> np.ndarray:
    """Compute the Jacobian of the tip of a planar arm."""
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
def test_manipulability_of_two_links(
    links: tuple[float, float], bend: float, lengths: tuple[float, float] | None, measure: float
) -> None:
    """w = l₁ l₂ |sin q₂| (Yoshikawa 1985)."""
    result = quality.manipulability(two_links(*links, np.radians(bend)))
    assert result.measure == pytest.approx(measure, rel=5e-6, abs=1e-15)
    assert result.measure == pytest.approx(links[0] * links[1] * np.sin(np.radians(bend)))
    if lengths is not None:
        np.testing.assert_allclose(result.lengths, lengths, atol=5e-7)
        assert result.isotropy == pytest.approx(lengths[1] / lengths[0], abs=1e-6)


def test_force_ellipsoid_has_reciprocal_lengths() -> None:
    J = two_links(1.0, 0.7, 1.0)
    motion, force = quality.manipulability(J), quality.manipulability(J, "force")
    np.testing.assert_allclose(force.lengths, 1 / motion.lengths[::-1])
    np.testing.assert_allclose(force.axes, motion.axes[:, ::-1])
    ends = force.axes * force.lengths  # forces with torques of unit norm
    np.testing.assert_allclose(np.linalg.norm(J.T @ ends, axis=0), 1.0)


def test_straight_arm_has_infinite_force_semi_axis() -> None:
    force = quality.manipulability(two_links(1.0, 1.0, 0.0, rotation=0.0), "force")
    assert force.lengths[0] == np.inf
    np.testing.assert_allclose(np.abs(force.axes[:, 0]), [1, 0], atol=1e-12)


@pytest.mark.parametrize("kind", ["velocity", "force"])
def test_a_hand_that_cannot_move_is_not_isotropic(kind: str) -> None:
    """Its velocities are all 0, and it bears all forces without torques."""
    assert quality.manipulability(np.zeros((2, 2)), kind).isotropy == 0.0


def test_one_joint_has_one_semi_axis() -> None:
    result = quality.manipulability([[2.0], [0.0], [0.0]])
    np.testing.assert_array_equal(result.lengths, [2, 0, 0])
    assert result.measure == 0.0
    assert result.axes.shape == (3, 3)


@given(seeds)
def test_measures_of_a_random_hand(seed: int) -> None:
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


def test_too_few_joints_have_zero_volume() -> None:
    G = quality.grasp_matrix(*random_sphere(np.random.default_rng(1), 3))
    J = np.random.default_rng(2).normal(size=(9, 4))
    assert quality.manipulability_volume(G, J) == 0.0
    assert quality.distance_to_singularity(G, J) > 0.0
    assert quality.uniformity_of_transformation(G, np.zeros((9, 4))) == np.inf


@given(seeds, st.floats(0.01, 100.0))
def test_normalized_singular_value_is_invariant_to_frame_and_size(seed: int, size: float) -> None:
    random = np.random.default_rng(seed)
    points, center, shift = random.normal(size=(4, 3)), random.normal(size=3), random.normal(size=3)
    rotation = Rotation.random(rng=random)
    before = smallest_singular_value(points, center)
    after = smallest_singular_value(
        size * rotation.apply(points) + shift, size * rotation.apply(center) + shift
    )
    assert after == pytest.approx(before, rel=1e-7, abs=1e-9)


def test_points_of_many_grasps_that_are_not_present_do_not_count() -> None:
    random = np.random.default_rng(0)
    points, centers = random.normal(size=(40, 5, 3)), random.normal(size=(40, 3))
    present = random.random((40, 5)) < 0.6
    each = [
        smallest_singular_value(point[on], center)
        for point, center, on in zip(points, centers, present, strict=True)
    ]
    together = smallest_singular_value(points, centers, present)
    assert together == pytest.approx(np.array(each), abs=1e-14)


def test_regular_ring() -> None:
    """Three contacts on a circle: forces √3; moments about an axis in the plane √1.5, about the
    normal √3."""
    ring = equator(0, 120, 240, radius=0.05)[0]
    assert smallest_singular_value(ring, np.zeros(3)) == pytest.approx(np.sqrt(1.5))


@pytest.mark.parametrize(
    "points",
    [np.zeros((0, 3)), [(0.1, 0.0, 0.0)], np.zeros((3, 3)), [(0.03, 0.0, 0.0), (-0.03, 0.0, 0.0)]],
)
def test_too_few_contacts_give_zero(points: object) -> None:
    assert smallest_singular_value(points, np.zeros(3)) == pytest.approx(0.0, abs=1e-12)


def test_unknown_kind() -> None:
    with pytest.raises(sg.DescriptionError, match="no kind 'forces'; did you mean 'force'"):
        quality.manipulability(np.eye(2), "forces")
