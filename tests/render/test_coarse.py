"""A coarse picture spreads to the whole one without a shift."""

import numpy as np
import pytest

from softgrasp.rendering.rays import STEP, between, corners, grown, repeated

SHAPES = [(7, 9), (8, 10), (1, 1), (2, 5)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_slope_stays_a_slope(shape):
    rows, columns = np.mgrid[: shape[0], : shape[1]].astype(np.float32)
    fine = 2.0 + 3.0 * rows - columns
    spread = between(fine[::STEP, ::STEP], shape)
    inner = np.s_[: (shape[0] - 1) // STEP * STEP + 1, : (shape[1] - 1) // STEP * STEP + 1]
    assert spread.shape == shape
    assert spread[inner] == pytest.approx(fine[inner])


def test_channels_are_kept_apart():
    coarse = np.random.default_rng(0).random((3, 4, 5)).astype(np.float32)
    together = between(coarse, (8, 10))
    assert all((between(coarse[k], (8, 10)) == together[k]).all() for k in range(3))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_pixel_asks_the_four_corners_of_its_cell(shape):
    mask = np.random.default_rng(1).random((-(-shape[0] // STEP), -(-shape[1] // STEP))) > 0.5
    answer = repeated(corners(mask, np.logical_and), shape)
    last_row, last_column = mask.shape[0] - 1, mask.shape[1] - 1
    for row, column in np.ndindex(shape):
        rows = [row // STEP, min(row // STEP + 1, last_row)]
        columns = [column // STEP, min(column // STEP + 1, last_column)]
        assert answer[row, column] == mask[np.ix_(rows, columns)].all()


def test_grown_adds_the_neighbours_beside():
    mask = np.zeros((5, 5), dtype=bool)
    mask[2, 2] = mask[0, 0] = True
    assert grown(mask).sum() == 5 + 3
