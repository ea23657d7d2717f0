"""Contact frames, grasp matrix and hand Jacobian: duality, planar case, kinematics of a chain."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import softgrasp as sg
from tests.quality.grasps import disc, random_disc, random_sphere

quality, grasp_matrix = sg.quality, sg.quality.grasp_matrix
seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_grasp_matrix_sums_forces_and_moments(seed: int) -> None:
    random = np.random.default_rng(seed)
    points, normals = random_sphere(random, 5)
    frames = quality.contact_frames(normals)
    wrenches = random.normal(size=(5, 6))
    center, length = random.normal(size=3), 0.3
    G = grasp_matrix(points, normals, "complete", center, torque_scale=length)
    result = G @ wrenches.ravel()
    forces = np.einsum("nij,nj->ni", frames, wrenches[:, :3])
    moments = np.einsum("nij,nj->ni", frames, wrenches[:, 3:])
    np.testing.assert_allclose(result[:3], forces.sum(axis=0), atol=1e-12)
    moment = (np.cross(points - center, forces) + moments).sum(axis=0) / length
    np.testing.assert_allclose(result[3:], moment, atol=1e-12)
    for model, kept in (("frictionless", 1), ("hard", 3), ("soft", 4)):
        part = grasp_matrix(points, normals, model, center, torque_scale=length)
        np.testing.assert_array_equal(part, G.reshape(6, 5, 6)[:, :, :kept].reshape(6, -1))


@given(seeds)
def test_transpose_gives_contact_velocities(seed: int) -> None:
    random = np.random.default_rng(seed)
    points, normals = random_sphere(random, 4)
    center, speed, spin = random.normal(size=(3, 3))
    result = grasp_matrix(points, normals, center=center).T @ np.concatenate([speed, spin])
    velocities = speed + np.cross(spin, points - center)
    expected = np.einsum("nji,nj->ni", quality.contact_frames(normals), velocities)
    np.testing.assert_allclose(result.reshape(-1, 3), expected, atol=1e-12)


@given(seeds)
def test_planar_grasp_matrix_is_a_block_of_the_spatial_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    points, normals = random_disc(random, 3)
    center = random.normal(size=2)
    flat = grasp_matrix(points, normals, center=center, torque_scale=0.3)
    padded = [np.column_stack([rows, np.zeros(3)]) for rows in (points, normals)]
    whole = grasp_matrix(*padded, center=(*center, 0.0), torque_scale=0.3)
    columns = np.arange(9).reshape(3, 3)[:, :2].ravel()
    np.testing.assert_allclose(flat, whole[[0, 1, 5]][:, columns], atol=1e-13)
    complete = grasp_matrix(points, normals, "complete", center)
    np.testing.assert_array_equal(complete[:, 2::3], np.eye(3)[:, [2, 2, 2]])


@given(seeds)
def test_frames_are_right_handed(seed: int) -> None:
    normals = random_sphere(np.random.default_rng(seed), 6)[1]
    normals[0], normals[1] = (0, 0, 1), (0, 0, -1)
    frames = quality.contact_frames(normals)
    np.testing.assert_allclose(frames[:, :, 0], normals, atol=1e-15)
    np.testing.assert_allclose(
        frames.transpose(0, 2, 1) @ frames, np.broadcast_to(np.eye(3), (6, 3, 3)), atol=1e-12
    )
    np.testing.assert_allclose(np.linalg.det(frames), 1.0)
    np.testing.assert_allclose(frames[2:, 2, 1], 0.0, atol=1e-15)  # t1 is horizontal
    np.testing.assert_allclose(frames[:2, :, 1], [(0, -1, 0), (0, 1, 0)], atol=1e-15)


def test_frames_with_specified_tangents() -> None:
    frames = quality.contact_frames([(0, 0, 1), (1, 0, 0)], tangents=[(0, 2, 5), (1, 0, 3)])
    np.testing.assert_allclose(frames[:, :, 1], [(0, 1, 0), (0, 0, 1)], atol=1e-15)


def chain(angles: np.ndarray, axes: np.ndarray, links: np.ndarray) -> tuple[Rotation, np.ndarray]:
    """Compute rotation and origin of the end of a chain of hinges."""
    rotation, origin = Rotation.identity(), np.zeros(3)
    for angle, axis, link in zip(angles, axes, links, strict=True):
        rotation = rotation * Rotation.from_rotvec(angle * axis)
        origin = origin + rotation.apply(link)
    return rotation, origin


def body_jacobian(angles: np.ndarray, axes: np.ndarray, links: np.ndarray) -> np.ndarray:
    """Compute linear over angular velocity of the end per joint speed from the hinge axes."""
    end = chain(angles, axes, links)[1]
    rotation, origin, columns = Rotation.identity(), np.zeros(3), []
    for angle, axis, link in zip(angles, axes, links, strict=True):
        about = rotation.apply(axis)
        columns.append(np.concatenate([np.cross(about, end - origin), about]))
        rotation = rotation * Rotation.from_rotvec(angle * axis)
        origin = origin + rotation.apply(link)
    return np.column_stack(columns)


@given(seeds)
def test_contact_jacobian_matches_finite_differences(seed: int) -> None:
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
def test_hand_jacobian_of_a_hand_that_moves_with_the_object(seed: int, model: str) -> None:
    """J q̇ = Gᵀ ẋ where the hand is one body that moves with the object."""
    points, normals = random_sphere(np.random.default_rng(seed), 4)
    twists = np.broadcast_to(np.eye(6), (4, 6, 6))
    moved = quality.contact_jacobians(points, np.zeros((4, 3)), twists)
    J = quality.hand_jacobian(moved, normals, model)
    np.testing.assert_allclose(J, grasp_matrix(points, normals, model).T, atol=1e-12)


def test_planar_hand_jacobian() -> None:
    points, normals = disc(0, 90, 200)
    arms = np.stack([-points[:, 1], points[:, 0]], axis=1)
    twists = np.zeros((3, 3, 3))
    twists[:, :2, :2], twists[:, :2, 2], twists[:, 2, 2] = np.eye(2), arms, 1.0
    for model in ("frictionless", "hard", "complete"):
        J = quality.hand_jacobian(twists, normals, model)
        np.testing.assert_allclose(J, grasp_matrix(points, normals, model).T, atol=1e-15)
    J = quality.hand_jacobian(twists[:, :2], normals)
    np.testing.assert_allclose(J, grasp_matrix(points, normals).T, atol=1e-15)
