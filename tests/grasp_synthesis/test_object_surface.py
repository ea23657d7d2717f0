"""Signed distance of objects, their surface samples, and antipodal pairs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from softgrasp.grasp_synthesis.object_surface import (
    ObjectSurface,
    antipodal_pairs,
    convex_part,
    in_cones,
    object_surface,
    triangle_distance,
)
from softgrasp.mechanics.geometry import ball_points
from softgrasp.mechanics.transforms import Array

HALF = np.array([0.02, 0.03, 0.04])
CORNERS = np.array(list(product((-1.0, 1.0), repeat=3))) * HALF


@pytest.fixture(scope="module")
def box() -> ObjectSurface:
    return object_surface([convex_part(CORNERS)], np.zeros(3))


def box_distance(points: Array) -> Array:
    """Signed distance of the box."""
    beyond = np.abs(points) - HALF
    outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=1)
    return np.asarray(outside + np.minimum(beyond.max(axis=1), 0.0))


def test_the_distance_is_that_of_a_box(box: ObjectSurface) -> None:
    points = np.random.default_rng(0).uniform(-1.0, 1.0, size=(3000, 3)) * (HALF + 0.018)
    distance, _ = box.distance(points)
    error = np.abs(distance - box_distance(points))
    assert error.max() < 0.6 * box.cell
    assert np.median(error) < 0.05 * box.cell


def test_the_gradient_is_the_derivative_of_the_distance(box: ObjectSurface) -> None:
    points = np.random.default_rng(1).uniform(-0.09, 0.09, size=(500, 3))
    _, gradient = box.distance(points)
    step = 1e-9
    for axis in range(3):
        ahead, _ = box.distance(points + step * np.eye(3)[axis])
        behind, _ = box.distance(points - step * np.eye(3)[axis])
        assert gradient[:, axis] == pytest.approx((ahead - behind) / (2 * step), abs=1e-4)


@pytest.mark.slow
def test_a_moved_object_has_the_same_distances() -> None:
    ball = ball_points(0.03, 24, 11)
    rotation = Rotation.from_rotvec([0.3, -0.8, 1.1])
    offset = np.array([0.05, -0.02, 0.01])
    still = object_surface([convex_part(ball)], np.zeros(3))
    moved = object_surface([convex_part(rotation.apply(ball) + offset)], offset)
    points = np.random.default_rng(2).uniform(-0.026, 0.026, size=(500, 3))
    there, _ = moved.distance(rotation.apply(points) + offset)
    assert there == pytest.approx(still.distance(points)[0], abs=0.3 * still.cell)
    assert moved.radius == pytest.approx(still.radius)


def test_the_union_of_two_parts_is_inside_where_one_is() -> None:
    parts = [convex_part(CORNERS), convex_part(CORNERS + np.array([0.03, 0.0, 0.0]))]
    surface = object_surface(parts, np.zeros(3))
    inside, _ = surface.distance(np.array([[0.0, 0.0, 0.0], [0.045, 0.0, 0.0], [0.06, 0.0, 0.0]]))
    assert inside[0] < 0.0
    assert inside[1] < 0.0
    assert inside[2] == pytest.approx(0.01, abs=surface.cell)
    samples = surface.sample(np.random.default_rng(0), 300)
    # no sample is on a face that the other part covers
    covered = (np.abs(samples.points[:, 0] - 0.02) < 1e-9) & (np.abs(samples.normals[:, 0]) > 0.9)
    assert not covered.any()


def test_antipodal_pairs_lie_in_both_friction_cones(box: ObjectSurface) -> None:
    pairs = antipodal_pairs(box, np.random.default_rng(3), 400, friction=0.5)
    assert len(pairs.widths) > 100
    direction = (pairs.second.points - pairs.first.points) / pairs.widths[:, None]
    for samples, sign in ((pairs.first, -1.0), (pairs.second, 1.0)):
        along = sign * (samples.normals * direction).sum(axis=1)
        assert (np.sqrt(np.maximum(1.0 - np.square(along), 0.0)) <= 0.5 * along + 1e-9).all()
    assert np.abs(box_distance(pairs.second.points)).max() < 1e-9


def test_the_cone_test_refuses_a_line_outside_a_cone() -> None:
    normals, line = np.array([[-1.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 0.0]])
    tilt = np.arctan(0.5)
    for angle, held in ((0.9 * tilt, True), (1.1 * tilt, False)):
        other = np.array([[np.cos(angle), np.sin(angle), 0.0]])
        assert in_cones(normals, other, line, 0.5).tolist() == [held]
        assert in_cones(-other, -normals, line, 0.5).tolist() == [held]


def test_the_distance_to_a_triangle_is_that_to_face_edge_or_corner() -> None:
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    points = np.array([[0.2, 0.2, 0.5], [0.5, -0.3, 0.0], [2.0, 0.0, 0.0], [-0.3, -0.4, 0.0]])
    distances = triangle_distance(points, np.tile(corners, (4, 1, 1)))
    assert distances == pytest.approx([0.5, 0.3, 1.0, 0.5])
