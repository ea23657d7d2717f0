"""Stiffness of joints from the compliance of their cells."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.continuum.rld import joint_compliances


@given(
    st.floats(0.01, 2.0), st.floats(1e-4, 10.0), st.integers(1, 40),
    st.sampled_from(("midpoint", "interfaces_corrected")),
)  # fmt: skip
def test_a_uniform_beam_gets_the_springs_of_discretise(
    length: float, stiffness: float, joints: int, layout: sg.rld.Layout
) -> None:
    finger = sg.rld.discretise(length, stiffness, 1.0, joints, layout)
    along = [joint.position[0] for joint in finger.joints]
    result = joint_compliances(along, [0.0, length], stiffness)
    np.testing.assert_allclose(1.0 / result, [joint.stiffness for joint in finger.joints])


@given(
    st.lists(st.floats(0.01, 0.99), min_size=1, max_size=12, unique=True),
    st.floats(0.1, 10.0),
    st.integers(2, 50),
)
def test_the_sum_is_that_of_the_beam_wherever_the_joints_are(
    joints: list[float], ratio: float, samples: int
) -> None:
    positions = np.linspace(0.0, 1.0, samples)
    stiffness = np.geomspace(1.0, ratio, samples)
    result = joint_compliances(np.sort(joints), positions, stiffness)
    assert (result > 0.0).all()
    assert result.sum() == pytest.approx(np.trapezoid(1.0 / stiffness, positions), rel=1e-12)


def test_a_joint_bends_for_its_cell() -> None:
    # EI is 1 in the first half and 4 in the second
    positions, stiffness = [0.0, 0.5, 0.5 + 1e-12, 1.0], [1.0, 1.0, 4.0, 4.0]
    result = joint_compliances([0.2, 0.4, 0.9], positions, stiffness)
    assert result == pytest.approx([0.3, 0.2 + 0.15 / 4, 0.35 / 4])


def test_samples_of_a_tapered_beam_converge_with_the_square_of_their_distance() -> None:
    # EI = (1 − 0.5 x)^3, so the integral of 1/EI is [(1 − 0.5 x)^-2]
    exact = np.diff((1.0 - 0.5 * np.array([0.0, 0.5, 1.0])) ** -2)
    errors = []
    for samples in (11, 21, 41):
        positions = np.linspace(0.0, 1.0, samples)
        result = joint_compliances([0.25, 0.75], positions, (1.0 - 0.5 * positions) ** 3)
        errors.append(np.abs(result - exact).max())
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders == pytest.approx([2.0, 2.0], abs=0.1)


@pytest.mark.parametrize(
    ("joints", "positions", "stiffness", "sentence"),
    [
        ([0.5, 0.2], [0, 1], 1.0, "joints: expected ascending numbers, found 0.5, 0.2"),
        ([0.5], [1, 0], 1.0, "places: expected ascending numbers, found 1, 0"),
        ([0.5], [0, 1], [1.0, 0.0], "bending_stiffness: expected numbers above 0, found 0"),
        (
            [0.5, 1.5],
            [0, 1],
            1.0,
            "joints: expected places from 0 to 1 m, found joints from 0.5 to 1.5 m",
        ),
    ],
)
def test_nonsense_is_refused(
    joints: list[float], positions: list[float], stiffness: float, sentence: str
) -> None:
    with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
        joint_compliances(joints, positions, stiffness)
