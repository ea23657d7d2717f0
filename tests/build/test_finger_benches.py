"""The benches as MuJoCo scenes: what they show is what calibration solves in closed form."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.continuum.statics import PlanarChain, pressed, rest
from softgrasp.model.soft_finger import PLATE_FORCE, dead_weight_rig, tip_force_rig

FINGER = sg.load_finger("paper000")
CHAIN = PlanarChain.of(FINGER)
STIFFNESS = np.array([joint.stiffness for joint in FINGER.joints])
GAINS = np.array([joint.pressure_gain for joint in FINGER.joints])
SLUGGISH = 30.0
"""Dampers so many times stronger: the finger comes to rest soon."""


def at_rest(
    spec: mujoco.MjSpec, moments: np.ndarray | None = None, slow: float = 1e-4
) -> mujoco.MjData:
    model = spec.compile()
    model.dof_damping *= SLUGGISH
    data = mujoco.MjData(model)
    if moments is not None:
        data.ctrl[:] = moments
    mujoco.mj_step(model, data, round(2.0 / model.opt.timestep))
    assert np.abs(data.qvel).max() < slow
    return data


def test_a_dead_weight_hangs_where_the_balance_says() -> None:
    data = at_rest(dead_weight_rig(FINGER, 0.04))
    loads = CHAIN.weight.plus(CHAIN.at_tip((0.0, -0.04 * 9.81)))
    result = rest(STIFFNESS, loads, np.zeros(7)).angles
    np.testing.assert_allclose(data.qpos, result, atol=1e-5)
    assert data.sensor("tip_position").data[::2] == pytest.approx(CHAIN.tip(result), abs=1e-6)


@pytest.mark.parametrize("pressure", [2e4, 1e5])
def test_the_plate_feels_the_force_of_the_balance(pressure: float) -> None:
    height = float(CHAIN.tip(rest(STIFFNESS, CHAIN.weight, np.zeros(7)).angles)[1])
    data = at_rest(tip_force_rig(FINGER, height), pressure * GAINS)
    result = pressed(CHAIN, STIFFNESS, CHAIN.weight, pressure * GAINS, height)
    across, along, up = data.sensor(PLATE_FORCE).data
    assert up == pytest.approx(float(result.force), rel=2e-3)
    assert (across, along) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_friction_holds_the_tip_back() -> None:
    height = float(CHAIN.tip(rest(STIFFNESS, CHAIN.weight, np.zeros(7)).angles)[1])
    # the tip still creeps a little
    data = at_rest(tip_force_rig(FINGER, height, friction=0.5), 6e4 * GAINS, slow=2e-3)
    across, _, up = data.sensor(PLATE_FORCE).data
    assert 0.1 * up < abs(across) <= 0.5 * up * 1.001
