"""A patch is found again, turned and shifted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter

from softgrasp.vision.tip_tracking import Floats
from softgrasp.vision.tip_tracking import Patch
from softgrasp.vision.tip_tracking import Pose

pytest.importorskip("cv2", reason="OpenCV is the extra 'calibrate'")

SHAPE, PLACE = (90, 100), np.array([52.3, 43.8])


def scene(rotation: float, shift: tuple[float, float]) -> Floats:
    """Two soft bars that cross at PLACE, turned about it and shifted."""
    rows, columns = np.indices(SHAPE)
    x, y = columns + 0.5 - PLACE[0] - shift[0], rows + 0.5 - PLACE[1] - shift[1]
    along = np.cos(rotation) * x + np.sin(rotation) * y
    beside = np.cos(rotation) * y - np.sin(rotation) * x
    end = 1.0 / (1.0 + np.exp(along / 0.8))
    bar = 1.0 / (1.0 + np.exp((np.abs(beside) - 9.0 + 0.1 * along) / 0.8))
    return np.asarray(end * bar, dtype=np.float32)


def patch() -> Patch:
    rows, columns = np.indices(SHAPE)
    return Patch(scene(0.0, (0.0, 0.0)), np.hypot(columns - 45.0, rows - 43.0) < 20.0, PLACE)


@settings(max_examples=60)
@given(
    st.floats(-0.3, 0.3),
    st.tuples(st.floats(-4.0, 4.0), st.floats(-4.0, 4.0)),
    st.floats(0.3, 3.0),
    st.floats(-50.0, 50.0),
)
def test_pose_is_found_in_any_light(
    rotation: float, shift: tuple[float, float], contrast: float, level: float
) -> None:
    image = np.float32(contrast) * scene(rotation, shift) + np.float32(level)
    result = patch().locate(image, Pose(PLACE, 0.0, 0.0))
    np.testing.assert_allclose(result.position - PLACE, shift, atol=0.03)
    assert result.angle == pytest.approx(rotation, abs=2e-3)
    assert result.likeness > 0.999


def test_noise_costs_a_twentieth_of_a_pixel() -> None:
    rng, errors = np.random.default_rng(3), []
    for _ in range(20):
        noise = rng.normal(0.0, 0.05, SHAPE)
        image = np.asarray(scene(0.1, (1.4, -0.7)) + noise, dtype=np.float32)
        result = patch().locate(
            np.asarray(gaussian_filter(image, 1.0), dtype=np.float32), Pose(PLACE, 0.0, 0.0)
        )
        errors.append(result.position - PLACE - (1.4, -0.7))
    assert np.sqrt(np.mean(np.square(errors))) < 0.05


def test_where_it_is_not_the_likeness_is_low() -> None:
    noise = np.random.default_rng(4).normal(0.0, 1.0, SHAPE).astype(np.float32)
    assert patch().locate(noise, Pose(PLACE, 0.0, 0.0)).likeness < 0.5
    assert patch().locate(np.ones(SHAPE, dtype=np.float32), Pose(PLACE, 0.0, 0.0)).likeness == 0.0
