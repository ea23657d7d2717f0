"""Points around a solid: balls, planes and swollen hulls."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from softgrasp.mechanics import geometry
from softgrasp.mechanics.geometry import ball_points, plane_normal, swollen_points

SQUARE = np.array([[1.0, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0]])


def test_ball_points_lie_on_the_ball() -> None:
    assert np.linalg.norm(ball_points(0.3), axis=1) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("points", "normal"),
    [
        (SQUARE, (0, 0, 1)),
        (SQUARE[:, [2, 0, 1]], (1, 0, 0)),
        ([[0, 0, 0], [1, 0, 0]], (0, 0, 1)),  # of a line, upright
        ([[0, 0, 0], [0, 0, 1]], (1, 0, 0)),
    ],
)
def test_the_normal_of_a_flat_set_is_square_to_it(points: object, normal: object) -> None:
    assert plane_normal(points) == pytest.approx(normal)


def test_a_swollen_square_is_a_slab_of_twice_the_radius() -> None:
    points = swollen_points(SQUARE, 0.1)
    assert np.ptp(points, axis=0) == pytest.approx((2.2, 2.2, 0.2), abs=2e-3)
    assert 4 * 0.2 < ConvexHull(points).volume < 2.2 * 2.2 * 0.2


def test_two_points_swell_to_a_capsule() -> None:
    hull = ConvexHull(swollen_points([[0, 0, 0], [1, 0, 0]], 0.1))
    assert hull.volume == pytest.approx(np.pi * 0.1**2 + 4 / 3 * np.pi * 0.1**3, rel=0.15)


# Superellipsoids against the solids they contain, against integrals, and as meshes.


RADII = (0.02, 0.03, 0.05)
radii = st.tuples(*[st.floats(0.005, 0.1)] * 3)
exponents = st.tuples(*[st.floats(0.1, 2.0)] * 2)


def test_an_ellipsoid_and_an_octahedron_are_exact() -> None:
    a, b, c = RADII
    assert geometry.volume(RADII, (1.0, 1.0)) == pytest.approx(4 / 3 * math.pi * a * b * c)
    mass = geometry.volume(RADII, (1.0, 1.0))
    expected = [mass / 5 * (b * b + c * c), mass / 5 * (a * a + c * c), mass / 5 * (a * a + b * b)]
    np.testing.assert_allclose(geometry.moments(RADII, (1.0, 1.0)), expected)
    assert geometry.volume(RADII, (2.0, 2.0)) == pytest.approx(4 / 3 * a * b * c)
    expected = [8 / 60 * a * b * c * s for s in (b * b + c * c, a * a + c * c, a * a + b * b)]
    np.testing.assert_allclose(geometry.moments(RADII, (2.0, 2.0)), expected)


@pytest.mark.slow
@pytest.mark.parametrize("form", [(0.5, 0.5), (1.0, 0.3), (0.3, 1.6), (1.7, 0.8)])
def test_volume_and_moments_are_the_integrals(form: tuple[float, float]) -> None:
    first, second = form
    count = 240
    middle = (np.arange(count) + 0.5) / count
    x, y, z = np.meshgrid(middle, middle, middle, indexing="ij")
    inside = (x ** (2 / second) + y ** (2 / second)) ** (second / first) + z ** (2 / first) <= 1.0
    cell = 8 * np.prod(RADII) / count**3
    assert geometry.volume(RADII, form) == pytest.approx(inside.sum() * cell, rel=2e-3)
    squares = [(r * v[inside]) ** 2 for r, v in zip(RADII, (x, y, z), strict=True)]
    about_x, about_y, about_z = geometry.moments(RADII, form)
    assert about_x == pytest.approx((squares[1] + squares[2]).sum() * cell, rel=3e-3)
    assert about_y == pytest.approx((squares[0] + squares[2]).sum() * cell, rel=3e-3)
    assert about_z == pytest.approx((squares[0] + squares[1]).sum() * cell, rel=3e-3)


@given(radii, exponents)
def test_triangles_close_outward_around_the_volume(
    radii: tuple[float, float, float], exponents: tuple[float, float]
) -> None:
    vertices, faces = geometry.triangles(radii, exponents)
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(geometry.volume(radii, exponents), rel=1e-9)
    assert (np.abs(vertices) <= 1.06 * np.array(radii)).all()
    np.testing.assert_allclose(mesh.center_mass, 0.0, atol=1e-6)
