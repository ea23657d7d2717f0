"""Releases side by side: each is the motion of its finger alone."""

from __future__ import annotations

import mujoco
import numpy as np

import softgrasp as sg
from softgrasp.continuum.statics import PlanarChain, rest
from softgrasp.model.soft_finger import TIP, finger_model
from softgrasp.sim.soft_dynamics import ReleaseTestRig

FINGER = sg.load_finger("paper000")
CHAIN = PlanarChain.of(FINGER)
STIFFNESS = np.array([joint.stiffness for joint in FINGER.joints])
DAMPING = np.array([joint.damping for joint in FINGER.joints])


def hung(grams: float) -> np.ndarray:
    loads = CHAIN.weight.plus(CHAIN.at_tip((0.0, -9.81e-3 * grams)))
    return rest(STIFFNESS, loads, np.zeros(7)).angles


def test_a_release_is_the_motion_of_the_finger_alone() -> None:
    start = hung(40)
    message = ReleaseTestRig(FINGER).release(STIFFNESS[None], DAMPING[None], start[None], 0.2)
    motion = sg.move_finger(FINGER, 0.2, start_angles=start, timestep=2.5e-4)
    np.testing.assert_allclose(message.height[0], motion.tip_position[::2, 2], atol=1e-12)
    np.testing.assert_allclose(message.time, motion.time[::2], atol=1e-12)


def test_rows_depend_neither_on_one_another_nor_on_threads() -> None:
    k = STIFFNESS * np.array([[1.0], [0.8], [1.3], [1.0]])
    c = DAMPING * np.array([[1.0], [2.0], [0.5], [3.0]])
    start = np.array([hung(m) for m in (0, 20, 40, 100)])
    together = ReleaseTestRig(FINGER, threads=2).release(k, c, start, 0.1).height
    rig = ReleaseTestRig(FINGER)
    for row in range(4):
        part = slice(row, row + 1)
        np.testing.assert_array_equal(
            rig.release(k[part], c[part], start[part], 0.1).height[0], together[row]
        )


def test_a_finger_that_diverges_is_not_a_number_and_the_others_stay() -> None:
    rig = ReleaseTestRig(FINGER, timestep=5e-3)  # far beyond what its springs allow
    start = np.array([hung(40), np.full(7, np.nan)])
    k = np.array([STIFFNESS, STIFFNESS])
    message = rig.release(k, np.array([DAMPING, DAMPING]), start, 0.5).height
    assert np.isnan(message).all()
    fine = ReleaseTestRig(FINGER).release(k, np.array([DAMPING, DAMPING]), start, 0.1).height
    assert np.isfinite(fine[0]).all()
    assert np.isnan(fine[1]).all()


def test_a_load_that_is_taken_away_at_once_gives_the_same_motion() -> None:
    """Paper 000 starts again from the angles of a first simulation; MuJoCo lets go directly."""
    model = finger_model(FINGER)
    model.opt.timestep = 2.5e-4
    data, linear = mujoco.MjData(model), np.zeros((3, 7))
    data.qpos[:] = hung(40)

    def step(force: float) -> float:
        mujoco.mj_forward(model, data)
        mujoco.mj_jacSite(model, data, linear, None, model.site(TIP).id)
        data.qfrc_applied[:] = force * linear[2]
        height = data.site(TIP).xpos[2]
        mujoco.mj_step(model, data)
        return float(height)

    for _ in range(400):
        step(-0.04 * 9.81)
    direct = np.array([step(0.0) for _ in range(401)])[::2]
    two_steps = ReleaseTestRig(FINGER).release(STIFFNESS[None], DAMPING[None], hung(40)[None], 0.1)
    np.testing.assert_allclose(direct, two_steps.height[0], atol=1e-9)
