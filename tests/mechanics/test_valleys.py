"""Valleys of profiles: how many, where, how deep, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.io.soft_finger_mesh import find_valleys
from softgrasp.mechanics.transforms import Array

PLACES = (np.arange(500) + 0.5) / 500 * 0.06
BY_HAND = (
    "; give their places along the finger by hand, from the base in metres, such as "
    "valleys=(0.008, 0.016)"
)


def notched(at: Array, depths: Array, half_width: float = 1e-3) -> Array:
    """A height of 20 mm with triangular notches."""
    reach = 1.0 - np.abs(PLACES[:, None] - at) / half_width
    return 0.02 - (depths * np.clip(reach, 0.0, 1.0)).sum(axis=1)


@settings(max_examples=40)
@given(st.integers(1, 15), st.floats(0.3, 1.0), st.integers(0, 2**32 - 1))
def test_notches_are_found_between_the_samples(count: int, least: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pitch = 0.06 / (count + 1)
    at = pitch * (np.arange(1, count + 1) + rng.uniform(-0.2, 0.2, count))
    depths = 0.01 * rng.uniform(least, 1.0, count)
    result = find_valleys(PLACES, notched(at, depths))
    np.testing.assert_allclose(result.positions, at, atol=0.1 * (PLACES[1] - PLACES[0]))
    # smoothing fills a notch of 1 mm a little
    np.testing.assert_allclose(result.depths, depths, rtol=0.25)


@settings(max_examples=25)
@given(st.floats(1e-3, 1e3), st.floats(-10.0, 10.0), st.floats(1e-3, 1e3))
def test_scale_and_origin_make_no_difference(scale: float, origin: float, height: float) -> None:
    profile = notched(np.array([0.013, 0.03, 0.05]), np.array([0.004, 0.01, 0.007]))
    one = find_valleys(PLACES, profile)
    other = find_valleys(origin + scale * PLACES, height * profile)
    np.testing.assert_allclose((other.positions - origin) / scale, one.positions, rtol=1e-6)
    np.testing.assert_allclose(other.depths / height, one.depths, rtol=1e-9)


def test_the_place_of_a_flat_valley_is_its_middle() -> None:
    profile = np.where(np.abs(PLACES - 0.02) < 2e-3, 0.004, 0.02)
    assert find_valleys(PLACES, profile).positions == pytest.approx([0.02], abs=2e-5)


def test_ripples_are_no_valleys_and_the_ends_are_none() -> None:
    ripples = 3e-4 * np.cos(2 * np.pi * PLACES / 2e-3)
    profile = notched(np.array([0.02, 0.04]), np.array([0.01, 0.01])) + ripples
    profile *= np.where((PLACES < 1e-3) | (PLACES > 0.059), 0.5, 1.0)
    assert find_valleys(PLACES, profile).positions == pytest.approx([0.02, 0.04], abs=1e-4)


def test_the_number_that_is_expected_takes_the_deepest() -> None:
    at, depths = np.array([0.01, 0.02, 0.03, 0.04]), np.array([0.001, 0.01, 0.0012, 0.009])
    assert len(find_valleys(PLACES, notched(at, depths)).positions) == 2
    # 1 mm is a tenth of the deepest: only who knows of it is given it
    assert find_valleys(PLACES, notched(at, depths), 2).positions == pytest.approx(
        [0.02, 0.04], abs=1e-5
    )
    assert find_valleys(PLACES, notched(at, depths), 4).positions == pytest.approx(at, abs=1e-5)


@pytest.mark.parametrize(
    ("depths", "expected", "sentence"),
    [
        (
            [0.0001, 0.0001],
            None,
            "expected valleys between bellows, found none that is 0.6 mm deep",
        ),
        ([0.0001, 0.0001], 2, "expected 2 valleys between bellows, found none that is 0.6 mm deep"),
        (
            [0.01, 0.01],
            3,
            "expected 3 valleys between bellows, found 2, at 20, 40 mm and 9.05, 9.05 mm deep",
        ),
        (
            [0.01, 0.008],
            1,
            "expected 1 valley deeper than others, found 2, at 20, 40 mm and 9.05, 7.24 mm deep",
        ),
    ],
)
def test_another_number_is_refused(
    depths: list[float], expected: int | None, sentence: str
) -> None:
    profile = notched(np.array([0.02, 0.04]), np.array(depths))
    with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence + BY_HAND)}$"):
        find_valleys(PLACES, profile, expected)


def test_no_valleys_cannot_be_expected() -> None:
    with pytest.raises(
        sg.DescriptionError, match=r"^expected at least 1 valley, found 0 asked for$"
    ):
        find_valleys(PLACES, notched(np.array([0.02]), np.array([0.01])), 0)
