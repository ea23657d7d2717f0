"""Bellows fingers: closed, as large as asked, valleys where they are said to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softgrasp.io.mesh_sections import extents
from tests.conftest import Golden
from tests.support.bellows_mesh import bellows_mesh


@settings(max_examples=25)
@given(
    count=st.integers(1, 12),
    length=st.floats(0.02, 0.3),
    fractions=st.tuples(st.floats(0.1, 0.9), st.floats(0.1, 1.0), st.floats(0.05, 0.95)),
    taper=st.floats(0.0, 0.8),
)
def test_the_surface_is_closed_and_has_the_requested_size(
    count: int, length: float, fractions: tuple[float, float, float], taper: float
) -> None:
    width, height = fractions[0] * length, fractions[1] * length
    made = bellows_mesh(
        count, length=length, width=width, height=height, depth=fractions[2] * height, taper=taper,
        resolution=length / 20,
    )  # fmt: skip
    assert made.surface.is_watertight
    assert made.surface.is_winding_consistent
    assert 0.0 < made.surface.volume < length * width * height
    np.testing.assert_allclose(
        made.surface.bounds, [[0.0, -0.5 * width, 0.0], [length, 0.5 * width, height]], atol=1e-12
    )


def test_the_surface_is_lowest_at_the_valleys() -> None:
    depths = (0.004, 0.008, 0.006)
    made = bellows_mesh((0.01, 0.03, 0.04), length=0.06, taper=0.25, depth=depths)
    top = extents(made.surface.vertices, made.surface.faces, made.valleys)[1][:, 1]
    shrink = 1.0 - 0.25 * made.valleys / 0.06
    np.testing.assert_allclose(top, shrink * (0.021 - np.array(depths)), rtol=1e-9)
    np.testing.assert_allclose(made.joints[:, 2], 0.5 * top, rtol=1e-9)
    for side in (-1e-4, 1e-4):
        beside = extents(made.surface.vertices, made.surface.faces, made.valleys + side)[1][:, 1]
        assert (beside > top).all()


def test_a_finer_mesh_has_the_volume_of_elliptic_lobes() -> None:
    # half an ellipse over each pitch fills pi/4 of the depth
    exact = 0.02 * 0.0635 * (0.021 - 0.008 + 0.008 * np.pi / 4)
    errors = [exact - bellows_mesh(resolution=h).surface.volume for h in (1e-3, 5e-4, 2.5e-4)]
    assert errors[2] / exact < 2e-3
    # the walls at the valleys are upright: the chords' error falls with the power 1.5
    assert np.log2(errors[0] / errors[1]) == pytest.approx(1.5, abs=0.2)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"valleys": 0}, "valleys"),
        ({"valleys": (0.02, 0.01)}, "valleys"),
        ({"length": -1.0}, "length"),
        ({"resolution": 0.0}, "resolution"),
        ({"taper": 1.0}, "taper"),
        ({"depth": (1e-3, 2e-3)}, "depth"),
        ({"depth": 0.03}, "depth"),
    ],
)
def test_nonsense_is_refused(changes: dict[str, object], sentence: str, golden: Golden) -> None:
    golden.refused(lambda: bellows_mesh(**changes), sentence)
