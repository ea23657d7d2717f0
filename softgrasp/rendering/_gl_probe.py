"""Render one pixel with OpenGL; exit status 0 on success.

Run as a script in a child process, because a faulty driver can terminate the process. The argument
is ``egl`` or ``osmesa``.
"""

from __future__ import annotations

import importlib
import sys

import mujoco
import numpy as np

_MODEL = """
<mujoco>
  <worldbody><geom type="sphere" size="1" rgba="1 1 1 1"/></worldbody>
</mujoco>
"""


def draws(kind: str) -> bool:
    """Return whether the centre pixel of a rendered white sphere is not black."""
    model = mujoco.MjModel.from_xml_string(_MODEL)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    context = importlib.import_module(f"mujoco.{kind}").GLContext(8, 8)
    context.make_current()
    drawing = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, drawing)
    camera, scene = mujoco.MjvCamera(), mujoco.MjvScene(model, maxgeom=10)
    mujoco.mjv_defaultFreeCamera(model, camera)
    every = mujoco.mjtCatBit.mjCAT_ALL.value
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, camera, every, scene)
    pixels, view = np.zeros((8, 8, 3), dtype=np.uint8), mujoco.MjrRect(0, 0, 8, 8)
    mujoco.mjr_render(view, scene, drawing)
    mujoco.mjr_readPixels(pixels, None, view, drawing)
    drawing.free()
    context.free()
    return bool(pixels[4, 4].any())


if __name__ == "__main__":
    sys.exit(0 if draws(sys.argv[1]) else 1)
