"""Fingers at rest: the exact beam, convergence, an independent solver, invariances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import root

import softgrasp as sg
from softgrasp.continuum import statics
from tests.conftest import Golden
from tests.support import beams

FORCES = (1.0, 2.0, 3.0, 5.0, 10.0)
WEIGHTS = (1.0, 5.0, 10.0, 20.0)


def beam(joints: int, layout: sg.rld.Layout = "midpoint", mass: float = 1e-9) -> sg.SoftFinger:
    return sg.rld.discretise(1.0, 1.0, mass, joints, layout)


def missed(rest: sg.soft.Equilibrium, exact: statics.Tip) -> float:
    """Distance of a tip from the exact one [% of the length]."""
    assert rest.converged
    x, y, z = rest.tip_position
    assert abs(y) < 1e-12
    return 100 * float(np.hypot(x - exact.x, z + exact.y))


def under_force(joints: int, load: float, layout: sg.rld.Layout = "midpoint") -> float:
    rest = sg.equilibrium(beam(joints, layout), tip_force=(0, 0, -load), gravity=False)
    return missed(rest, beams.under_tip_force(load))


def test_eight_midpoint_joints_under_a_tip_force() -> None:
    errors = [under_force(8, load) for load in FORCES]
    assert errors == pytest.approx([0.129, 0.240, 0.326, 0.447, 0.642], rel=0.02)


def test_eight_midpoint_joints_under_their_weight() -> None:
    errors = [
        missed(sg.equilibrium(beam(8, mass=load / 9.81)), beams.self_weight_deflection(load))
        for load in WEIGHTS
    ]
    assert errors == pytest.approx([0.097, 0.446, 0.736, 1.062], rel=0.02)


@pytest.mark.parametrize("moment", [np.pi / 2, np.pi])
@pytest.mark.parametrize("joints", [4, 8, 32])
def test_a_pure_moment_gives_the_exact_angle_and_the_closed_form(
    joints: int, moment: float
) -> None:
    """tip = exact · x cot x with x = φ/2n: the trapezoid rule on a circle."""
    rest = sg.equilibrium(beam(joints), tip_moment=(0, moment, 0), gravity=False)
    exact = beams.under_tip_moment(moment)
    assert rest.tip_angle == pytest.approx(moment, abs=1e-11)
    x = moment / (2 * joints)
    scale = x / np.tan(x)
    assert rest.tip_position == pytest.approx([scale * exact.x, 0, -scale * exact.y], abs=1e-11)


@pytest.mark.parametrize("load", [1.0, 10.0])
def test_the_midpoint_layout_is_of_second_order_and_interfaces_of_first(load: float) -> None:
    for layout, order in (("midpoint", 2.0), ("interfaces", 1.0)):
        coarse, fine = (under_force(joints, load, layout) for joints in (16, 64))
        assert np.log(coarse / fine) / np.log(4) == pytest.approx(order, abs=0.05)


def test_interfaces_as_in_paper_000_are_five_to_eight_percent_off() -> None:
    errors = [under_force(8, load, "interfaces") for load in FORCES]
    assert errors == pytest.approx([4.56, 6.74, 7.59, 8.11, 8.33], rel=0.01)
    corrected = [under_force(7, load, "interfaces_corrected") for load in FORCES]
    assert corrected == pytest.approx([1.03, 1.77, 2.29, 2.98, 4.02], rel=0.01)


def planar(finger: sg.SoftFinger, force: np.ndarray, moment: float, gravity: float) -> np.ndarray:
    """The same rest shape without MuJoCo: moments of all forces about every joint, in the plane."""
    joints = np.array([joint.position for joint in finger.joints])[:, ::2]
    centers = np.array([link.balance for link in finger.links])[1:, ::2]
    masses = np.array([link.mass for link in finger.links])[1:]
    springs = np.array([joint.stiffness for joint in finger.joints])
    tip = np.array(finger.tip)[::2]

    def moments(angles: np.ndarray) -> np.ndarray:
        rotated, positions, weights = np.cumsum(angles), [joints[0]], []
        rotations = [np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]) for a in rotated]
        ends = [*joints[1:], tip]
        for rotation, start, center, end in zip(rotations, joints, centers, ends, strict=True):
            weights.append(positions[-1] + rotation @ (center - start))
            positions.append(positions[-1] + rotation @ (end - start))
        left = moment - springs * angles
        for index in range(len(angles)):
            arms = [(positions[-1] - positions[index], force)]
            arms += [
                (weights[link] - positions[index], np.array([0.0, -gravity * masses[link]]))
                for link in range(index, len(angles))
            ]
            # about +y, which turns +x towards −z
            left[index] += sum(arm[1] * load[0] - arm[0] * load[1] for arm, load in arms)
        return left

    result = root(moments, np.zeros(len(springs)), method="hybr", options={"xtol": 1e-14})
    return np.asarray(result.x)


def test_an_independent_planar_solver_finds_the_same_angles() -> None:
    finger = sg.io.load_finger("paper000")
    rest = sg.equilibrium(finger, tip_force=(0.05, 0, -0.3), tip_moment=(0, 0.004, 0))
    expected = planar(finger, np.array([0.05, -0.3]), 0.004, 9.81)
    assert rest.converged
    assert rest.joint_angles == pytest.approx(expected, abs=1e-9)


def test_pressure_bends_every_joint_by_its_gain() -> None:
    finger = sg.io.load_finger("paper000")
    rest = sg.equilibrium(finger, pressure=50e3, gravity=False)
    expected = [50e3 * joint.pressure_gain / joint.stiffness for joint in finger.joints]
    assert rest.joint_angles == pytest.approx(expected, rel=1e-12)


def test_a_spatial_finger_bends_the_same_in_every_plane() -> None:
    finger = sg.rld.discretise(1.0, 1.0, 1e-9, 8, planar=False)
    down = sg.equilibrium(finger, tip_force=(0, 0, -2), gravity=False)
    aside = sg.equilibrium(finger, tip_force=(0, 2, 0), gravity=False)
    x, y, z = down.tip_position
    assert aside.tip_position == pytest.approx([x, -z, y], abs=1e-10)
    assert aside.tip_angle == pytest.approx(down.tip_angle, abs=1e-10)
    flat = sg.equilibrium(beam(8), tip_force=(0, 0, -2), gravity=False)
    assert down.tip_position == pytest.approx(flat.tip_position, abs=1e-12)


@pytest.mark.parametrize("mass", [1e-20, 1e-9, 1e-3])
def test_any_mass_is_legal_and_weighs_what_it_should(mass: float) -> None:
    rest = sg.equilibrium(beam(8, mass=mass))
    assert rest.converged
    assert -rest.tip_position[2] == pytest.approx(mass * 9.81 / 8, rel=0.01, abs=1e-10)


@pytest.mark.parametrize(
    ("loads", "sentence"),
    [
        ({"tip_force": (0, 1)}, "tip_force"),
        ({"tip_mass": -0.1}, "tip_mass"),
        ({"pressure": float("inf")}, "pressure"),
    ],
)
def test_nonsense_is_refused(loads: dict[str, object], sentence: str, golden: Golden) -> None:
    golden.refused(lambda: sg.equilibrium(beam(4), **loads), sentence)
