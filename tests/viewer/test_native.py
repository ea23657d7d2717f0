"""Camera of the MuJoCo viewer."""

import mujoco
import numpy as np
import pytest

from softgrasp.rendering.camera import Camera
from softgrasp.viewer.native import aim


def test_the_viewer_is_where_the_camera_stands():
    camera, free = Camera((0.1, -0.2, 0.3), 0.7, 33.0, -12.0, 40.0), mujoco.MjvCamera()
    aim(free, camera)
    model = mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")
    scene = mujoco.MjvScene(model, 10)
    option, moved = mujoco.MjvOption(), mujoco.mjtCatBit.mjCAT_ALL
    mujoco.mjv_updateScene(model, mujoco.MjData(model), option, None, free, moved, scene)
    eyes = np.mean([eye.pos for eye in scene.camera], axis=0)
    np.testing.assert_allclose(eyes, camera.position, atol=1e-6)
    assert scene.camera[0].forward == pytest.approx(camera.axes()[2], abs=1e-6)
