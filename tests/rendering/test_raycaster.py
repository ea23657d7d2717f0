"""The ray caster draws the geometry of the model as OpenGL does."""

import mujoco
import numpy as np
import pytest

from softgrasp.model import visual
from softgrasp.rendering import Camera, frame_points, geom_corner_points, open_renderer, rays

SIZE = (240, 180)
AGREEMENT = 0.98
"""Least intersection over union of the same silhouette, drawn with OpenGL and by rays."""


def _camera(model, data, azimuth=125.0, size=SIZE):
    points = geom_corner_points(model, data)
    return frame_points(points, azimuth_deg=azimuth, elevation_deg=-18, aspect=size[0] / size[1])


@pytest.mark.gl
@pytest.mark.parametrize("kind", ["sphere", "ellipsoid", "pipe"])
def test_silhouettes_agree_with_opengl(make_scene, mask_of, egl, kind):
    model, data = make_scene(kind)
    camera = _camera(model, data)
    obj = model.geom("object").id
    hand = [k for k in range(model.ngeom) if k not in (obj, model.geom("floor").id)]
    with (
        open_renderer(model, *SIZE, "gl") as first,
        open_renderer(model, *SIZE, "raycast") as other,
    ):
        for geoms in ([obj], hand):
            masks = [mask_of(renderer, data, camera, geoms) for renderer in (first, other)]
            overlap = (masks[0] & masks[1]).sum() / (masks[0] | masks[1]).sum()
            assert overlap > AGREEMENT


@pytest.mark.gl
def test_colours_and_checker_agree_with_opengl(scene, egl):
    model, data = scene
    camera = _camera(model, data)
    with (
        open_renderer(model, *SIZE, "gl") as first,
        open_renderer(model, *SIZE, "raycast") as other,
    ):
        images = [renderer.draw(data, camera).astype(int) for renderer in (first, other)]
    difference = np.abs(images[0] - images[1]).max(axis=-1)
    assert np.median(difference) < 6
    light = [np.ravel(image[:20, :, 1]) for image in images]
    assert np.corrcoef(*[np.ravel(image[110:, :50, 1]) for image in images])[0, 1] > 0.95
    assert light[0].mean() == pytest.approx(light[1].mean(), abs=10)


CHECKERS = """
<mujoco>
  <asset>
    <texture name="squares" type="2d" builtin="checker" rgb1=".2 .3 .4" rgb2=".8 .7 .6"
      width="64" height="64"/>
    <texture type="skybox" builtin="gradient" rgb1=".7 .8 .9" rgb2="1 1 1" width="8" height="48"/>
    <material name="squares" texture="squares" texuniform="{}" texrepeat="{}" specular="0"/>
  </asset>
  <worldbody>
    <light type="directional" dir="0 .5 -1"/>
    <geom type="plane" material="squares" size="{}" pos="{}" euler="{}"/>
  </worldbody>
</mujoco>
"""


@pytest.mark.gl
@pytest.mark.parametrize(
    "lay",
    [
        ("true", "25 25", "0 0 .05", "0 0 0", "0 0 0"),
        ("true", "10 5", ".3 .2 .05", ".05 .1 0", "0 0 30"),
        ("false", "6 3", ".3 .2 .05", "0 0 0", "0 0 0"),
        ("false", "6 3", "0 0 .05", ".01 0 0", "0 0 0"),
    ],
)
def test_checkers_lie_as_opengl_lays_them(egl, lay):
    model = mujoco.MjModel.from_xml_string(CHECKERS.format(*lay))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = Camera((0.03, 0.01, 0.0), 0.4, 125.0, -40.0)
    images = []
    for choice in ("gl", "raycast"):
        with open_renderer(model, 160, 120, choice) as renderer:
            images.append(np.ravel(renderer.draw(data, camera)[50:, :, 1]))
    assert np.corrcoef(*images)[0, 1] > 0.97


def test_every_ray_agrees_with_the_coarse_first_image(scene, mask_of):
    model, data = scene
    camera = _camera(model, data)
    obj = model.geom("object").id
    with open_renderer(model, *SIZE, "raycast") as renderer:
        mask = mask_of(renderer, data, camera, [obj])
    columns, rows = np.meshgrid(np.arange(SIZE[0]) + 0.5, np.arange(SIZE[1]) + 0.5)
    every = camera.rays(columns, rows, *SIZE).reshape(-1, 3)
    hit = rays.Caster(model, data).hits(camera.position, every).geom.reshape(SIZE[::-1])
    assert ((hit == obj) & mask).sum() / ((hit == obj) | mask).sum() > 0.98


def test_two_draws_are_equal_and_nothing_is_changed(make_scene):
    model, data = make_scene("pipe")
    camera = _camera(model, data)
    before = model.geom_size.copy(), model.geom_rgba.copy(), data.qpos.copy(), data.geom_xpos.copy()
    with open_renderer(model, *SIZE, "raycast") as renderer:
        first = renderer.draw(data, camera, colors={1: (0, 1, 0, 1)})
        second = renderer.draw(data, camera)
        third = renderer.draw(data, camera)
    assert (second == third).all()
    assert (first != second).any()
    after = model.geom_size, model.geom_rgba, data.qpos, data.geom_xpos
    assert all((a == b).all() for a, b in zip(before, after, strict=True))


def test_colours_for_one_image(scene, mask_of):
    model, data = scene
    camera = _camera(model, data)
    obj = model.geom("object").id
    with open_renderer(model, *SIZE, "raycast") as renderer:
        mask = mask_of(renderer, data, camera, [obj])
        green = renderer.draw(data, camera, colors={obj: (0, 1, 0, 1)})[mask].mean(axis=0)
        own = renderer.draw(data, camera)[mask].mean(axis=0)
    assert green.argmax() == 1
    assert own.argmax() == 0


def test_hidden_groups_and_clear_geoms_are_not_drawn():
    xml = """
    <mujoco><worldbody>
      <geom type="sphere" size=".1" {}/>
    </worldbody></mujoco>"""
    camera = Camera((0, 0, 0), 1.0, 0.0, -20.0)
    images = {}
    for attributes in ("", 'group="3"', 'rgba="1 0 0 0"', 'group="2"'):
        model = mujoco.MjModel.from_xml_string(xml.format(attributes))
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        with open_renderer(model, 60, 40, "raycast") as renderer:
            images[attributes] = renderer.draw(data, camera)
    assert (images['group="3"'] == images['rgba="1 0 0 0"']).all()
    assert (images[""] != images['group="3"']).any()
    assert (images['group="2"'] == images[""]).all()


@pytest.mark.parametrize("size", [(2, 2), (2, 3), (61, 47), (64, 33)])
def test_any_size(make_scene, size):
    model, data = make_scene("pipe")
    with open_renderer(model, *size, "raycast") as renderer:
        assert renderer.draw(data, _camera(model, data)).shape == (size[1], size[0], 3)


def test_a_camera_among_the_bodies(scene):
    model, data = scene
    camera = Camera((0.0, 0.0, -0.04), 0.02, 10.0, -30.0)
    with open_renderer(model, *SIZE, "raycast") as renderer:
        assert np.ptp(renderer.draw(data, camera)) > 50


def test_a_shadow_falls_on_the_floor_behind_the_hand(scene, make_scene):
    model, data = scene
    camera = _camera(model, data)
    with open_renderer(model, *SIZE, "raycast") as renderer:
        shaded = renderer.draw(data, camera).astype(int)
    spec = mujoco.MjSpec()
    visual.add_visuals(spec, floor_height=-0.16)
    bare = spec.compile()
    nothing = mujoco.MjData(bare)
    mujoco.mj_forward(bare, nothing)
    with open_renderer(bare, *SIZE, "raycast") as renderer:
        light = renderer.draw(nothing, camera).astype(int)
    floor = rays.Caster(model, data)
    columns, rows = np.meshgrid(np.arange(SIZE[0]) + 0.5, np.arange(SIZE[1]) + 0.5)
    every = camera.rays(columns, rows, *SIZE).reshape(-1, 3)
    seen = floor.hits(camera.position, every).geom.reshape(SIZE[::-1]) == model.geom("floor").id
    ratio = shaded[seen].mean(axis=-1) / light[seen].mean(axis=-1)
    assert (ratio < 0.65).mean() > 0.01
    assert np.median(ratio) == pytest.approx(1.0, abs=0.01)


def test_the_hand_is_lit_from_the_cameras_side(make_scene, mask_of):
    model, data = make_scene()
    hand = [model.geom(f"f{k}_p1").id for k in (1, 2, 3, 4)]
    means = []
    with open_renderer(model, *SIZE, "raycast") as renderer:
        for azimuth in (20.0, 110.0, 200.0, 290.0):
            camera = _camera(model, data, azimuth)
            mask = mask_of(renderer, data, camera, hand)
            means.append(renderer.draw(data, camera)[mask].mean())
    assert max(means) / min(means) < 1.25


def test_a_plane_with_edges_and_a_plain_colour():
    model = mujoco.MjModel.from_xml_string("""
    <mujoco><worldbody>
      <geom type="plane" size=".1 .1 .1" rgba="1 0 0 1"/>
      <geom type="plane" size="0 0 .1" pos="0 0 -.1" rgba="0 0 1 1"/>
    </worldbody></mujoco>""")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with open_renderer(model, 80, 60, "raycast") as renderer:
        image = renderer.draw(data, Camera((0, 0, 0), 1.0, 0.0, -80.0)).astype(int)
    assert image[30, 40].argmax() == 0
    assert image[55, 5].argmax() == 2
    column = image[:, 40]
    rows = (column[:, 0] > column[:, 2]).sum()
    expected = Camera((0, 0, 0), 1.0, 0.0, -80.0).project([[0.1, 0, 0], [-0.1, 0, 0]], 80, 60)[:, 1]
    assert rows == pytest.approx(abs(np.diff(expected)[0]), abs=1.5)


def test_a_model_without_geoms_is_sky():
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with open_renderer(model, 40, 30, "raycast") as renderer:
        image = renderer.draw(data, Camera((0, 0, 0), 1.0, 0.0, 0.0))
    assert (np.diff(image[:, 0].astype(int).sum(axis=-1)) >= 0).all()
    assert np.ptp(image[0], axis=0).max() <= 2
