"""Visual elements do not affect the physics."""

import mujoco
import numpy as np
import pytest

from softgrasp.model import visual

FALLING = """
<mujoco>
  <option timestep="0.001"/>
  <worldbody>
    <body pos="0 0 .3"><freejoint/><geom name="thing" type="box" size=".02 .03 .04"/></body>
    <body><joint axis="0 1 0"/><geom type="capsule" size=".01 .1" pos=".05 0 .1"/></body>
  </worldbody>
</mujoco>
"""


def _model(visuals):
    spec = mujoco.MjSpec.from_string(FALLING)
    if visuals:
        visual.add_visuals(spec, floor_height=0.1)
    return spec.compile()


def test_motion_is_bit_identical():
    states = []
    for visuals in (False, True):
        model = _model(visuals)
        data = mujoco.MjData(model)
        for _ in range(500):
            mujoco.mj_step(model, data)
        states.append(np.concatenate([data.qpos, data.qvel]))
        assert model.nbody == 3
    assert (states[0] == states[1]).all()


def test_floor_height_and_contacts():
    floor = _model(visuals=True).geom(visual.FLOOR_NAME)
    assert (floor.type, floor.group) == (mujoco.mjtGeom.mjGEOM_PLANE, visual.FLOOR_GROUP)
    assert (floor.contype, floor.conaffinity) == (0, 0)
    assert floor.pos == pytest.approx([0, 0, 0.1])
