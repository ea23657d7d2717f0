"""Upsampling without a shift; conservative masks for rays; visible geoms."""

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from softgrasp.rendering.rays import STEP, Caster, between, corners, cover, grow, repeat, window

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
    answer = repeat(corners(mask, np.logical_and), shape)
    last_row, last_column = mask.shape[0] - 1, mask.shape[1] - 1
    for row, column in np.ndindex(shape):
        rows = [row // STEP, min(row // STEP + 1, last_row)]
        columns = [column // STEP, min(column // STEP + 1, last_column)]
        assert answer[row, column] == mask[np.ix_(rows, columns)].all()


def test_grown_adds_the_neighbours_beside():
    mask = np.zeros((5, 5), dtype=bool)
    mask[2, 2] = mask[0, 0] = True
    assert grow(mask).sum() == 5 + 3


# Masks for rays and visible geoms.


HULLS = hnp.arrays(
    float, st.tuples(st.integers(1, 3), st.integers(1, 6), st.just(2)), elements=st.floats(-20, 60)
)


@given(HULLS, st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_cover_has_every_cell_that_a_hull_touches(hulls, seed):
    mask = cover(hulls, (30, 40))
    weights = np.random.default_rng(seed).dirichlet(np.ones(hulls.shape[1]), size=50)
    cells = np.floor(np.einsum("pk,hkx->hpx", weights, hulls).reshape(-1, 2)).astype(int)
    inside = ((cells >= 0) & (cells < [40, 30])).all(axis=1)
    assert mask[cells[inside, 1], cells[inside, 0]].all()


def test_cover_is_close_to_the_hull():
    square = np.array([[[10.0, 5.0], [20.0, 5.0], [20.0, 15.0], [10.0, 15.0]]])
    mask = cover(square, (30, 40))
    assert mask[5:15, 10:20].all()
    assert mask.sum() <= 12 * 12


def test_cover_of_a_point_behind_the_camera_is_everything():
    assert cover(np.array([[[np.nan, np.nan], [1.0, 1.0]]]), (3, 4)).all()


def test_window_holds_the_mask_and_its_margin():
    mask = np.zeros((10, 12), dtype=bool)
    mask[4, 5] = mask[6, 1] = True
    assert window(mask, margin=2) == (slice(2, 9), slice(0, 8))
    assert window(np.zeros((3, 3), dtype=bool), margin=2) == (slice(0, 0), slice(0, 0))


MODEL = """
<mujoco>
  <worldbody>
    <geom type="sphere" size=".1"/>
    <geom type="sphere" size=".2" group="3"/>
    <geom type="plane" size="1 1 .1" pos="0 0 -1"/>
  </worldbody>
</mujoco>
"""


def _caster():
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return Caster(model, data)


def test_hits_have_geom_distance_and_normal_and_skip_hidden_groups():
    hits = _caster().hits(
        np.array([0.0, 0.0, 1.0]), np.array([[0, 0, -2.0], [0.3, 0, -1], [0, 0, 1]])
    )
    assert hits.geom.tolist() == [0, 2, -1]
    assert hits.distance[:2] == pytest.approx([0.45, 2.0])
    assert hits.normal[:2] == pytest.approx(np.array([[0, 0, 1], [0, 0, 1]]))


def test_blocked_counts_only_what_lies_before_the_target():
    caster, top = _caster(), np.array([0.0, 0.0, 1.0])
    targets = np.array([[0, 0, -0.5], [0, 0, 0.1], [0, 0, 0.5], [0.5, 0, -0.5]])
    assert caster.blocked(top, targets, slack=1e-3).tolist() == [True, False, False, False]


def test_no_rays_meet_nothing():
    hits = _caster().hits(np.zeros(3), np.empty((0, 3)))
    assert hits.geom.shape == (0,)
