"""Camera framing, and points whose hull contains the geoms."""

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from softgrasp.errors import DescriptionError
from softgrasp.rendering import Camera, frame_points, geom_corner_points

POINTS = hnp.arrays(float, st.tuples(st.integers(2, 30), st.just(3)), elements=st.floats(-1, 1))
ANGLES = {
    "azimuth_deg": st.floats(-360, 360),
    "elevation_deg": st.floats(-89, 89),
    "aspect": st.floats(0.3, 3.0),
    "margin": st.floats(0.0, 0.3),
}


@given(points=POINTS, fovy=st.floats(10, 90), **ANGLES)
@settings(deadline=None)
def test_all_points_lie_inside_the_margin_and_two_sides_are_touched(
    points, fovy, azimuth_deg, elevation_deg, aspect, margin
):
    if np.ptp(points, axis=0).max() < 0.1:
        points = np.vstack([points, [*points[:1], [0.3, 0.2, 0.1], [-0.1, 0.3, -0.3]]])
    camera = frame_points(
        points,
        azimuth_deg=azimuth_deg,
        elevation_deg=elevation_deg,
        aspect=aspect,
        margin=margin,
        fovy_deg=fovy,
    )
    column, row, depth = camera.project(points, aspect * 1000, 1000).T
    position = np.stack([column / (aspect * 1000), row / 1000], axis=1)
    assert (depth > 0).all()
    assert position.min() >= margin - 1e-6
    assert position.max() <= 1 - margin + 1e-6
    touched = np.isclose(position, margin, atol=1e-6) | np.isclose(position, 1 - margin, atol=1e-6)
    nearest = np.isclose(depth.min(), 0.01)
    assert touched.any(axis=1).sum() >= 2 or nearest


def test_one_point_is_seen_in_the_middle_from_nearby():
    camera = frame_points([[1.0, 2.0, 3.0]], azimuth_deg=30, elevation_deg=-20, aspect=1.0)
    assert camera.project([[1.0, 2.0, 3.0]], 100, 100)[0] == pytest.approx([50, 50, 0.01])


@given(st.floats(-360, 360), st.floats(-89, 89))
@settings(deadline=None)
def test_axes_are_right_handed_and_upright(azimuth, elevation):
    axes = Camera((0, 0, 0), 1.0, azimuth, elevation).axes()
    assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.cross(axes[0], axes[1]) == pytest.approx(-axes[2], abs=1e-12)
    assert axes[0, 2] == 0.0
    assert axes[1, 2] > 0.0


def test_headings_are_those_of_mujoco():
    assert Camera((0, 0, 0), 1.0, 90.0, 0.0).axes()[2] == pytest.approx([0, 1, 0], abs=1e-12)
    assert Camera((0, 0, 0), 2.0, 0.0, -90.0).position == pytest.approx([0, 0, 2])


def test_rays_and_projection_undo_each_other():
    camera = Camera((0.1, -0.2, 0.3), 0.7, 40.0, -25.0)
    rays = camera.rays([10.0, 300.0], [20.0, 100.0], 320, 240)
    pixels = camera.project(camera.position + 0.4 * rays, 320, 240)
    assert pixels == pytest.approx(np.array([[10, 20, 0.4], [300, 100, 0.4]]))


def test_points_behind_the_camera_have_no_pixel():
    camera = Camera((0, 0, 0), 1.0, 0.0, 0.0)
    assert np.isnan(camera.project([[-2.0, 0, 0]], 10, 10)[0, :2]).all()


@pytest.mark.parametrize(
    ("points", "margin", "sentence"),
    [
        (np.empty((0, 3)), 0.1, "points: expected one or more finite points"),
        ([[np.nan, 0, 0]], 0.1, "points: expected one or more finite points"),
        ([[0, 0, 0]], 0.5, "margin: expected 0 <= margin < 0.5, found 0.5"),
    ],
)
def test_what_cannot_be_framed_is_refused(points, margin, sentence):
    with pytest.raises(DescriptionError, match=sentence):
        frame_points(points, azimuth_deg=0, elevation_deg=0, aspect=1, margin=margin)


SHAPES = """
<mujoco>
  <asset><mesh name="wedge" vertex="0 0 0  .1 0 0  0 .2 0  0 0 .3"/></asset>
  <worldbody>
    <geom type="sphere" size=".1" pos="1 0 0"/>
    <geom type="capsule" size=".05 .2" pos="0 1 0" euler="30 40 0"/>
    <geom type="ellipsoid" size=".1 .2 .3" euler="10 20 30"/>
    <geom type="cylinder" size=".1 .2" pos="0 0 1" euler="60 0 0"/>
    <geom type="box" size=".1 .2 .3" pos="2 0 0" euler="0 0 45"/>
    <geom type="mesh" mesh="wedge" pos="3 0 0"/>
    <geom type="plane" size="1 1 .1"/>
    <geom type="sphere" size="9" group="3"/>
    <geom type="sphere" size="9" rgba="1 1 1 0"/>
  </worldbody>
</mujoco>
"""


# Rays that are aimed at random seldom find the corners of a box or a wedge.
@pytest.mark.parametrize(
    ("geom", "looseness"), [(0, 0.08), (1, 0.08), (2, 0.08), (3, 0.08), (4, 0.18), (5, 0.18)]
)
def test_corner_points_hold_the_geom_closely(geom, looseness):
    model = mujoco.MjModel.from_xml_string(SHAPES)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    corners = geom_corner_points(model, data, [geom])
    surface = _surface(model, data, geom)
    directions = np.random.default_rng(1).normal(size=(200, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    reach = (corners @ directions.T).max(axis=0)
    needed = (surface @ directions.T).max(axis=0)
    size = np.ptp(surface, axis=0).max()
    assert (reach >= needed - 1e-4 * size).all()
    assert (reach <= needed + looseness * size).all()


def _surface(model, data, geom):
    """Where rays from outside meet the geom."""
    center, rng = data.geom_xpos[geom], np.random.default_rng(0)
    away = rng.normal(size=(2000, 3))
    away *= 5.0 / np.linalg.norm(away, axis=1, keepdims=True)
    aim = center + rng.uniform(-0.3, 0.3, size=(2000, 3))
    points = []
    for start, target in zip(center + away, aim, strict=True):
        vector = target - start
        if model.geom_type[geom] == int(mujoco.mjtGeom.mjGEOM_MESH):
            part = mujoco.mj_rayMesh(model, data, geom, start, vector, None)
        else:
            frame, size = data.geom_xmat[geom], model.geom_size[geom]
            kind = int(model.geom_type[geom])
            part = mujoco.mju_rayGeom(center, frame, size, start, vector, kind, None)
        if part >= 0:
            points.append(start + part * vector)
    return np.array(points)


def test_only_what_is_shown_and_ends_has_corners():
    model = mujoco.MjModel.from_xml_string(SHAPES)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    shown = geom_corner_points(model, data)
    assert len(shown) == len(geom_corner_points(model, data, range(6)))
    assert np.abs(shown).max() < 4.0
    assert geom_corner_points(model, data, [6]).shape == (0, 3)
