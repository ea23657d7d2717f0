"""Joint positions of soft fingers are those of their MuJoCo model."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.continuum.statics import joint_positions
from softgrasp.model.soft_finger import finger_model

FINGERS = {
    "paper000": sg.load_finger("paper000"),
    "spatial": sg.rld.discretise(0.1, 1e-3, 0.02, 5, planar=False),
    "twisting": sg.rld.discretise(0.1, 1e-3, 0.02, 5, torsion_stiffness=1e-3),
    "all ways": sg.rld.discretise(
        0.1, 1e-3, 0.02, 4, planar=False, torsion_stiffness=1e-3, axial_stiffness=10.0
    ),
}
MODELS = {name: finger_model(finger) for name, finger in FINGERS.items()}


@pytest.mark.parametrize("name", FINGERS)
@given(st.data())
@settings(max_examples=20, deadline=None)
def test_positions_are_those_of_the_engine(name: str, data: st.DataObject) -> None:
    finger, model = FINGERS[name], MODELS[name]
    angles = data.draw(st.lists(st.floats(-2, 2), min_size=model.nq, max_size=model.nq))
    state = mujoco.MjData(model)
    state.qpos[:] = angles
    mujoco.mj_kinematics(model, state)
    points = joint_positions(finger, angles)
    for index in range(len(finger.joints)):
        assert points[index] == pytest.approx(state.body(f"link{index + 1}").xpos, abs=1e-12)
    assert points[-1] == pytest.approx(state.site("tip").xpos, abs=1e-12)


@pytest.mark.parametrize("name", FINGERS)
def test_many_instants_at_once_are_each_of_them(name: str) -> None:
    finger, count = FINGERS[name], MODELS[name].nq
    angles = np.random.default_rng(1).uniform(-1, 1, (3, 4, count))
    whole = joint_positions(finger, angles)
    assert whole.shape == (3, 4, len(finger.joints) + 1, 3)
    assert whole[1, 2] == pytest.approx(joint_positions(finger, angles[1, 2]))


def test_another_number_of_angles_is_refused() -> None:
    with pytest.raises(sg.DescriptionError, match=r"angles: expected 7 angles, found shape \(3,\)"):
        joint_positions(FINGERS["paper000"], [0.0, 0.0, 0.0])
