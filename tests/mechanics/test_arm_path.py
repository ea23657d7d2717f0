"""Straight lines of an arm's flange."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.io.scene import load_arm
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.trajectory import flange_jacobian, straight_path

ARM = load_arm("ur3e").chain
START = [row.start for row in ARM.phalanges]
ANGLES = st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=6)


@given(ANGLES)
@settings(max_examples=30, deadline=None)
def test_the_jacobian_is_that_of_finite_differences(angles: list[float]) -> None:
    frames = forward_kinematics(ARM, angles)
    own = flange_jacobian(ARM, frames)
    for joint in range(6):
        ends = []
        for sign in (1.0, -1.0):
            moved = list(angles)
            moved[joint] += sign * 1e-6
            ends.append(forward_kinematics(ARM, moved)[-1])
        linear = (ends[0][:3, 3] - ends[1][:3, 3]) / 2e-6
        spin = (ends[0][:3, :3] - ends[1][:3, :3]) / 2e-6 @ frames[-1, :3, :3].T
        angular = [spin[2, 1], spin[0, 2], spin[1, 0]]
        assert own[:, joint] == pytest.approx([*linear, *angular], abs=1e-8)


def test_the_jacobian_of_modified_rows_turns_about_their_own_axes() -> None:
    rows = tuple(sg.Phalanx(a=0.1, alpha=0.4, mass=0.1) for _ in range(3))
    chain = sg.Finger(name="m", convention="modified", phalanges=rows, tip=(0.1, 0.0, 0.0))
    angles = [0.3, -0.2, 0.5]
    own = flange_jacobian(chain, forward_kinematics(chain, angles))
    for joint in range(3):
        moved = [a + (1e-6 if i == joint else 0.0) for i, a in enumerate(angles)]
        ahead = forward_kinematics(chain, moved)[-1, :3, 3]
        here = forward_kinematics(chain, angles)[-1, :3, 3]
        assert own[:3, joint] == pytest.approx((ahead - here) / 1e-6, abs=1e-6)


def test_the_flange_goes_straight_and_does_not_turn() -> None:
    fractions = np.linspace(0.0, 1.0, 9)
    path = straight_path(ARM, START, (0.02, -0.03, 0.1), fractions)
    home = forward_kinematics(ARM, START)[-1]
    for fraction, joints in zip(fractions, path, strict=True):
        frame = forward_kinematics(ARM, joints.tolist())[-1]
        assert frame[:3, :3] == pytest.approx(home[:3, :3], abs=1e-8)
        assert frame[:3, 3] - home[:3, 3] == pytest.approx(
            fraction * np.array([0.02, -0.03, 0.1]), abs=1e-8
        )
    assert path[0] == pytest.approx(START)


def test_a_line_out_of_reach_is_refused() -> None:
    sentence = "arm 'ur3e': expected to reach every point of the lift, found none at"
    with pytest.raises(sg.BuildError, match=sentence):
        straight_path(ARM, START, (0.0, 0.0, 2.0), np.linspace(0.1, 1.0, 5))
