"""Twice as many joints: what stays the same, and what the change tells."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.continuum.rld import refined
from softgrasp.continuum.statics import under_tip_force, under_tip_moment


@pytest.mark.parametrize("joints", [1, 4, 8])
def test_a_midpoint_chain_becomes_the_midpoint_chain_of_twice_the_joints(joints: int) -> None:
    numbers = {"length": 0.1, "bending_stiffness": 2e-3, "mass": 0.02, "bending_damping": 1e-5}
    finer = refined(sg.rld.discretise(**numbers, joints=joints, pressure_moment=1e-7))
    target = sg.rld.discretise(**numbers, joints=2 * joints, pressure_moment=1e-7)
    for one, other in zip(finer.joints, target.joints, strict=True):
        assert one.position == pytest.approx(other.position)
        assert one.stiffness == pytest.approx(other.stiffness)
        assert one.damping == pytest.approx(other.damping)
        assert one.pressure_gain == other.pressure_gain
    for link, twin in zip(finer.links, target.links, strict=True):
        assert link.mass == pytest.approx(twin.mass)
        assert link.center == pytest.approx(twin.center)


def test_mass_and_compliance_of_a_measured_finger_stay() -> None:
    finger = sg.load_finger("paper000")
    finer = refined(refined(finger))
    assert len(finer.joints) == 28
    assert finer.compliance == pytest.approx(finger.compliance)
    masses = [sum(link.mass for link in each.links) for each in (finger, finer)]
    assert masses[1] == pytest.approx(masses[0])
    moments = [
        sum(link.mass * np.array(link.center) for link in each.links) for each in (finger, finer)
    ]
    assert moments[1] == pytest.approx(moments[0], abs=1e-6)


@pytest.mark.parametrize("load", [1.0, 3.0, 10.0])
def test_the_estimate_is_the_distance_from_the_elastica(load: float) -> None:
    finger = sg.rld.discretise(1.0, 1.0, 1e-9, 8)
    rest = sg.equilibrium(finger, tip_force=(0, 0, -load), gravity=False)
    exact = under_tip_force(load)
    true = np.hypot(rest.tip_position[0] - exact.x, -rest.tip_position[2] - exact.y)
    assert rest.discretisation_error == pytest.approx(true, rel=0.02)


def test_the_estimate_under_a_moment() -> None:
    finger = sg.rld.discretise(1.0, 1.0, 1e-9, 8)
    rest = sg.equilibrium(finger, tip_moment=(0, np.pi / 2, 0), gravity=False)
    exact = under_tip_moment(np.pi / 2)
    true = np.hypot(rest.tip_position[0] - exact.x, -rest.tip_position[2] - exact.y)
    assert rest.discretisation_error == pytest.approx(true, rel=0.02)


def test_no_estimate_where_none_is_asked_for() -> None:
    rest = sg.equilibrium(sg.load_finger("paper000"), pressure=1e4, error_estimate=False)
    assert np.isnan(rest.discretisation_error)
