"""Rigid links with springs: compliance, layouts, frequencies, nonsense."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh

import softgrasp as sg
from softgrasp.continuum.statics import FREQUENCIES
from softgrasp.model.soft_finger import finger_model

LAYOUTS = ("midpoint", "interfaces", "interfaces_corrected")


@given(
    st.floats(0.01, 2.0), st.floats(1e-4, 10.0), st.floats(1e-20, 1.0), st.integers(1, 40),
    st.sampled_from(LAYOUTS),
)  # fmt: skip
def test_the_links_are_the_beam(
    length: float, stiffness: float, mass: float, joints: int, layout: sg.rld.Layout
) -> None:
    finger = sg.rld.discretise(length, stiffness, mass, joints, layout)
    assert len(finger.joints) == joints
    assert len(finger.links) == joints + 1
    assert sum(link.mass for link in finger.links) == pytest.approx(mass)
    assert sum(link.size[0] for link in finger.links) == pytest.approx(length)
    whole = length / stiffness * (joints / (joints + 1) if layout == "interfaces" else 1.0)
    assert finger.compliance == pytest.approx(whole)


def test_joints_sit_in_the_middle_of_their_cells() -> None:
    finger = sg.rld.discretise(0.4, 1.0, 0.1, 4)
    assert [joint.position[0] for joint in finger.joints] == pytest.approx([0.05, 0.15, 0.25, 0.35])
    assert [link.size[0] for link in finger.links] == pytest.approx([0.05, 0.1, 0.1, 0.1, 0.05])
    assert [joint.stiffness for joint in finger.joints] == pytest.approx([10.0] * 4)


def frequencies(finger: sg.SoftFinger, count: int) -> np.ndarray:
    """Natural frequencies of the straight finger [rad/s], from MuJoCo's own mass matrix."""
    model = finger_model(finger)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    springs = np.diag([joint.stiffness for joint in finger.joints])
    return np.sqrt(eigh(springs, mass, eigvals_only=True)[:count])


def test_eight_midpoint_joints_vibrate_as_the_beam_within_two_percent() -> None:
    # links are thin, so that only their lengths give them inertia
    finger = sg.rld.discretise(1.0, 1.0, 1.0, 8, section=(1e-5, 1e-5))
    error = 100 * (frequencies(finger, 3) / FREQUENCIES - 1)
    assert error == pytest.approx([0.360, 1.257, 2.030], abs=0.01)


def test_interface_joints_as_in_paper_000_vibrate_an_eighth_too_fast() -> None:
    finger = sg.rld.discretise(1.0, 1.0, 1.0, 8, "interfaces", section=(1e-5, 1e-5))
    error = 100 * (frequencies(finger, 3) / FREQUENCIES - 1)
    assert error == pytest.approx([12.5, 13.4, 14.1], abs=0.1)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"length": 0.0}, "length: expected a number above 0, found 0.0"),
        ({"bending_stiffness": -1.0}, "bending_stiffness: expected a number above 0, found -1.0"),
        ({"mass": float("nan")}, "mass: expected a number above 0, found nan"),
        ({"joints": 0}, "joints: expected a whole number from 1 on, found 0"),
        (
            {"layout": "midpoints"},
            "layout: expected a layout, found 'midpoints'; did you mean 'midpoint'? known: "
            "interfaces, interfaces_corrected, midpoint",
        ),
    ],
)
def test_nonsense_is_refused(changes: dict[str, object], sentence: str) -> None:
    numbers = {"length": 1.0, "bending_stiffness": 1.0, "mass": 1.0} | changes
    with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
        sg.rld.discretise(**numbers)


def test_a_finger_needs_a_link_more_than_joints_and_joints_in_order() -> None:
    finger = sg.rld.discretise(1.0, 1.0, 1.0, 3)
    with pytest.raises(sg.DescriptionError) as refused:
        finger.replace(links=finger.links[1:])
    assert str(refused.value) == "links: expected 4 links for 3 joints, found 3"
    with pytest.raises(sg.DescriptionError) as refused:
        finger.replace(joints=finger.joints[::-1])
    assert str(refused.value) == (
        "joints[1].position: expected joints in order from the base, found x = 0.5 m after "
        "0.833333 m"
    )
