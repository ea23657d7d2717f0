"""Shadows lie where the lamp is hidden, soft at the rim, and inside what is expected of them."""

import mujoco
import numpy as np
import pytest

from softgrasp.rendering import Camera
from softgrasp.rendering import camera as extents
from softgrasp.rendering.rays import Caster
from softgrasp.rendering.shading import LAMP_TANGENT, Lamp, shadow_cover, visibility

MODEL = """
<mujoco>
  <worldbody>
    <geom type="box" size=".05 .05 .01" pos="0 0 .3"/>
    <geom type="plane" size="0 0 .1"/>
  </worldbody>
</mujoco>
"""
SIZE = 161
NO_SKIN = np.zeros(SIZE * SIZE, dtype=bool)


@pytest.fixture(scope="module")
def stage():
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    lamp = Lamp(np.array([0.0, 0.0, 1.0]), *extents.bounding_ball(model, data))
    boxes = extents.box_corners(model, data, extents.solid_geoms(model))
    side = np.linspace(-0.16, 0.16, SIZE)
    x, y = np.meshgrid(side, side)
    points = np.stack([x, y, np.zeros_like(x)], axis=-1)
    surface = np.zeros(x.shape, dtype=np.int32)
    caster = Caster(model, data)
    fraction = visibility(
        caster, lamp, surface, np.arange(x.size), points.reshape(-1, 3), NO_SKIN[: x.size]
    )
    return lamp, boxes, points, fraction


def test_the_share_is_that_of_the_lamp_which_is_seen(stage):
    _, _, points, fraction = stage
    reach = np.abs(points[..., :2]).max(axis=-1)
    penumbra = 0.31 * LAMP_TANGENT
    assert (fraction[reach < 0.05 - 2 * penumbra] < 1e-3).all()
    assert (fraction[reach > 0.05 + 2 * penumbra] > 0.999).all()
    rim = np.interp(0.05, points[SIZE // 2, SIZE // 2 :, 0], fraction[SIZE // 2, SIZE // 2 :])
    assert rim == pytest.approx(0.5, abs=0.15)
    profile = fraction[SIZE // 2, SIZE // 2 :]
    assert (np.diff(profile) >= -0.1).all()
    assert len(np.unique(profile)) > 6


@pytest.mark.parametrize("camera", [Camera((0, 0, 0), 1.0, 30.0, -40.0, 28.0)])
@pytest.mark.parametrize("step", [1, 2])
def test_no_shadow_lies_outside_its_cover(stage, camera, step):
    lamp, boxes, points, fraction = stage
    plane = np.zeros(3), np.array([0.0, 0.0, 1.0])
    mask = shadow_cover(lamp, camera, boxes, plane, (160, 120), step)
    assert mask.shape == (120 // step, 160 // step)
    dark = points[fraction < 1e-3]
    column, row, _ = camera.project(dark, 160, 120).T
    assert mask[(row // step).astype(int), (column // step).astype(int)].all()
    assert mask.mean() < 0.2


def test_a_plane_that_faces_away_has_no_shadow(stage):
    lamp, boxes, _, _ = stage
    plane = np.zeros(3), np.array([0.0, 0.0, -1.0])
    camera = Camera((0, 0, 0), 1.0, 30.0, -40.0)
    assert not shadow_cover(lamp, camera, boxes, plane, (160, 120), 1).any()


def test_light_is_not_mixed_between_surfaces():
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    lamp = Lamp(np.array([0.0, 0.0, 1.0]), np.zeros(3), 1.0)
    surface = np.arange(64, dtype=np.int32).reshape(8, 8)
    points = np.zeros((64, 3))

    class Odd(Caster):
        def blocked(self, origin, targets, slack, on_skin=None):
            return np.arange(len(targets)) % 2 == 1

    caster = Odd(model, mujoco.MjData(model))
    fraction = visibility(caster, lamp, surface, np.arange(64), points, NO_SKIN[:64])
    assert set(np.unique(fraction)) == {0.0, 1.0}
