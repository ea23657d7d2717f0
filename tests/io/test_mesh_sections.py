"""Cross-sections and pieces of solids against closed forms."""

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from softgrasp.io.mesh_sections import extents, sections, slices
from tests.support.bellows_mesh import bellows_mesh


def test_the_sections_of_a_tapered_bar_are_rectangles():
    bar = trimesh.creation.box((1.0, 0.2, 0.3))
    bar.vertices[:, 2] *= np.where(bar.vertices[:, 0] > 0.0, 0.5, 1.0)
    positions = np.linspace(-0.45, 0.45, 19)
    height = 0.3 * (1.0 - 0.5 * (positions + 0.5))
    result = sections(bar.vertices, bar.faces, positions)
    np.testing.assert_allclose(result.areas, 0.2 * height, rtol=1e-12)
    np.testing.assert_allclose(result.centers, 0.0, atol=1e-12)
    np.testing.assert_allclose(result.second_moments, 0.2 * height**3 / 12.0, rtol=1e-12)
    low, high = extents(bar.vertices, bar.faces, positions)
    np.testing.assert_allclose(high, np.stack([0.0 * height + 0.1, 0.5 * height], -1), rtol=1e-12)
    np.testing.assert_allclose(low, -high, rtol=1e-12)


def test_second_moments_count_from_the_centroid_wherever_the_bar_lies():
    bar = trimesh.creation.box((1.0, 0.2, 0.3))
    bar.apply_translation((5.0, 2.0, -3.0))
    result = sections(bar.vertices, bar.faces, np.array([5.0]))
    assert result.second_moments == pytest.approx([0.2 * 0.3**3 / 12.0], rel=1e-9)
    assert result.centers[0] == pytest.approx([2.0, -3.0])


def test_a_plane_through_vertices_and_one_beside_the_solid():
    bar = trimesh.creation.box((1.0, 0.2, 0.3)).subdivide()
    result = sections(bar.vertices, bar.faces, np.array([-0.6, 0.0, 0.6]))
    assert result.areas == pytest.approx([0.0, 0.06, 0.0])
    assert np.isnan(result.centers[[0, 2]]).all()


def test_holes_are_material_only_where_that_is_requested():
    outer = trimesh.creation.box((1.0, 0.4, 0.4))
    chamber = trimesh.creation.box((0.6, 0.2, 0.1))
    chamber.apply_translation((0.0, 0.0, 0.1))
    chamber.invert()
    tube = trimesh.util.concatenate([outer, chamber])
    positions = np.array([-0.4, 0.0, 0.4])
    hollow = sections(tube.vertices, tube.faces, positions)
    assert hollow.areas == pytest.approx([0.16, 0.14, 0.16])
    assert hollow.centers[1, 1] == pytest.approx(-0.1 * 0.02 / 0.14)
    whole = 0.4**4 / 12.0
    hole = 0.2 * 0.1**3 / 12.0 + 0.02 * 0.1**2
    shift = 0.14 * (0.1 * 0.02 / 0.14) ** 2
    assert hollow.second_moments == pytest.approx([whole, whole - hole - shift, whole])
    filled = sections(tube.vertices, tube.faces, positions, filled=True)
    assert filled.areas == pytest.approx([0.16] * 3)
    assert filled.second_moments == pytest.approx([whole] * 3)


@settings(max_examples=20)
@given(
    cuts=st.lists(st.floats(0.001, 0.0625), min_size=1, max_size=8, unique=True),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_pieces_are_the_whole(cuts, seed):
    made = bellows_mesh(5, taper=0.3, resolution=4e-3).surface
    noise = np.random.default_rng(seed).normal(scale=1e-4, size=made.vertices.shape)
    vertices = made.vertices + noise
    whole = trimesh.triangles.mass_properties(vertices[made.faces])
    pieces = slices(vertices, made.faces, np.sort(cuts))
    assert len(pieces) == len(cuts) + 1
    volumes = np.array([piece.volume for piece in pieces])
    centers = np.array([piece.center for piece in pieces])
    assert volumes.sum() == pytest.approx(whole.volume, rel=1e-9)
    np.testing.assert_allclose(volumes @ centers / whole.volume, whole.center_mass, atol=1e-12)


def test_pieces_cut_through_rings_of_vertices_are_closed_solids():
    made = bellows_mesh(7, resolution=3e-3)
    pieces = slices(made.surface.vertices, made.surface.faces, made.valleys)
    for piece in pieces:
        assert trimesh.Trimesh(piece.vertices, piece.faces, process=False).is_watertight
    assert [piece.size[0] for piece in pieces] == pytest.approx([0.0635 / 8] * 8)
    assert sum(piece.volume for piece in pieces) == pytest.approx(made.surface.volume, rel=1e-9)
