"""MuJoCo's own viewer begins where the hand fills the window."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from softgrasp.render.camera import Camera
from softgrasp.view.native import begin_from


def test_viewers_begin_where_the_camera_stands() -> None:
    model = mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")
    before = np.array(model.opt.gravity)
    camera = Camera((0.1, -0.2, 0.3), 0.7, 33.0, -12.0, 40.0)
    begin_from(model, camera)
    free = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, free)
    np.testing.assert_allclose(free.lookat, camera.lookat)
    assert (free.distance, free.azimuth, free.elevation) == pytest.approx((0.7, 33.0, -12.0))
    assert model.vis.global_.fovy == pytest.approx(40.0)
    np.testing.assert_array_equal(model.opt.gravity, before)
