"""Hand Jacobians: moved contact points, and the selection of what contacts carry."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import softgrasp as sg
from tests.mechanics.quality.grasps import disc, random_sphere

quality = sg.quality
seeds = st.integers(0, 2**32 - 1)


def chain(angles: np.ndarray, axes: np.ndarray, links: np.ndarray) -> tuple[Rotation, np.ndarray]:
    """End of a chain of hinges: its rotation and origin."""
    rotation, origin = Rotation.identity(), np.zeros(3)
    for angle, axis, link in zip(angles, axes, links, strict=True):
        rotation = rotation * Rotation.from_rotvec(angle * axis)
        origin = origin + rotation.apply(link)
    return rotation, origin


def body_jacobian(angles: np.ndarray, axes: np.ndarray, links: np.ndarray) -> np.ndarray:
    """Linear over angular velocity of the end per joint speed, by hinge axes."""
    end = chain(angles, axes, links)[1]
    rotation, origin, columns = Rotation.identity(), np.zeros(3), []
    for angle, axis, link in zip(angles, axes, links, strict=True):
        about = rotation.apply(axis)
        columns.append(np.concatenate([np.cross(about, end - origin), about]))
        rotation = rotation * Rotation.from_rotvec(angle * axis)
        origin = origin + rotation.apply(link)
    return np.column_stack(columns)


@given(seeds)
def test_contact_points_move_as_the_chain_does(seed: int) -> None:
    random = np.random.default_rng(seed)
    axes = random.normal(size=(4, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    links, angles, local = random.normal(size=(4, 3)), random.normal(size=4), random.normal(size=3)

    def point(q: np.ndarray) -> np.ndarray:
        rotation, origin = chain(q, axes, links)
        return origin + rotation.apply(local)

    origin = chain(angles, axes, links)[1]
    jacobian = body_jacobian(angles, axes, links)
    result = quality.contact_jacobians([point(angles)], [origin], [jacobian])
    step = 1e-6
    moved = [(point(angles + d) - point(angles - d)) / (2 * step) for d in step * np.eye(4)]
    np.testing.assert_allclose(result[0, :3].T, moved, atol=1e-7)
    np.testing.assert_array_equal(result[0, 3:], jacobian[3:])


@given(seeds, st.sampled_from(["frictionless", "hard", "soft", "complete"]))
def test_a_hand_that_carries_the_object_along_keeps_contact(seed: int, model: str) -> None:
    """J q̇ = Gᵀ ẋ where the hand is one body that moves with the object."""
    random = np.random.default_rng(seed)
    points, normals = random_sphere(random, 4)
    twists = np.broadcast_to(np.eye(6), (4, 6, 6))
    moved = quality.contact_jacobians(points, np.zeros((4, 3)), twists)
    J = quality.hand_jacobian(moved, normals, model)
    np.testing.assert_allclose(J, quality.grasp_matrix(points, normals, model).T, atol=1e-12)


def test_the_plane() -> None:
    points, normals = disc(0, 90, 200)
    arms = np.stack([-points[:, 1], points[:, 0]], axis=1)
    twists = np.zeros((3, 3, 3))
    twists[:, :2, :2], twists[:, :2, 2], twists[:, 2, 2] = np.eye(2), arms, 1.0
    for model in ("frictionless", "hard", "complete"):
        J = quality.hand_jacobian(twists, normals, model)
        np.testing.assert_allclose(J, quality.grasp_matrix(points, normals, model).T, atol=1e-15)
    J = quality.hand_jacobian(twists[:, :2], normals)
    np.testing.assert_allclose(J, quality.grasp_matrix(points, normals).T, atol=1e-15)
