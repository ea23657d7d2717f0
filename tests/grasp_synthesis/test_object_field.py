"""Signed distances and orientations of objects for the search of grasps."""

from __future__ import annotations

import numpy as np
import pytest

from softgrasp.description.geometry import Cuboid, Cylinder, Shape, Sphere
from softgrasp.grasp_synthesis.object_field import (
    ObjectField,
    cube_rotations,
    distinct,
    principal_axes,
)
from softgrasp.io.grasp_presets import corners
from softgrasp.io.mesh_repair import hull_of
from softgrasp.mechanics.transforms import rotation_from_euler
from softgrasp.model.shapes import mass_properties


def field_of(shape: Shape) -> ObjectField:
    hull = hull_of(corners(shape))
    return ObjectField([(hull.vertices, hull.faces)], mass_properties(shape).inertia)


def test_distances_from_a_box_are_exact_near_its_faces() -> None:
    field = field_of(Cuboid(size=(0.04, 0.06, 0.1)))
    points = np.array([[0.021, 0.0, 0.0], [0.0, 0.028, 0.01], [0.003, -0.004, -0.0505]])
    assert field.distances(points) == pytest.approx([0.001, -0.002, 0.0005], abs=1e-6)
    assert field.normals(points[:1])[0] == pytest.approx([-1.0, 0.0, 0.0], abs=1e-6)


def test_distances_grow_away_from_the_object() -> None:
    field = field_of(Sphere(radius=0.03))
    away = np.linspace(0.0, 0.3, 60)[:, None] * np.array([0.6, 0.0, 0.8])
    distances = field.distances(away)
    assert (np.diff(distances) > 0.0).all()
    near = distances[(distances > -0.01) & (distances < 0.01)]
    assert near == pytest.approx(
        np.linalg.norm(away, axis=1)[(distances > -0.01) & (distances < 0.01)] - 0.03, abs=1.5e-3
    )  # facets of the hull


def test_parts_are_united() -> None:
    hull = hull_of(corners(Cuboid(size=(0.02, 0.02, 0.02))))
    parts = [(hull.vertices + np.array([x, 0.0, 0.0]), hull.faces) for x in (-0.03, 0.03)]
    field = ObjectField(parts, np.diag([1.0, 2.0, 2.0]))
    points = np.array([[-0.03, 0.0, 0.0], [0.0, 0.0, 0.0], [0.03, 0.0, 0.0], [0.03, 0.011, 0.0]])
    assert field.distances(points) == pytest.approx([-0.01, 0.02, -0.01, 0.001], abs=2e-3)


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        (Sphere(radius=0.03), 1),
        (Cuboid(size=(0.05, 0.05, 0.05)), 1),
        (Cylinder(radius=0.02, height=0.1), 3),
        (Cuboid(size=(0.02, 0.03, 0.05)), 6),
    ],
    ids=["ball", "cube", "cylinder", "box"],
)
def test_equivalent_orientations_are_one(shape: Shape, count: int) -> None:
    field = field_of(shape)
    tilt = rotation_from_euler((0.3, 0.4, 0.5))
    assert len(distinct(field, tilt @ cube_rotations() @ field.axes.T)) == count


def test_principal_axes_of_equal_inertia_follow_the_frame() -> None:
    assert principal_axes(np.eye(3)) == pytest.approx(np.eye(3))
    axes = principal_axes(np.diag([3.0, 3.0, 1.0]))
    assert axes[:, 0] == pytest.approx([0.0, 0.0, 1.0])
    assert np.linalg.det(axes) == pytest.approx(1.0)
