"""Fingers that twist and stretch, and that tendons and motors bend: laws of the rod."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.bendable import Tendon
from softgrasp.mechanics.actuation import actuation_forces
from softgrasp.model.names import finger_joint_names
from tests.conftest import Golden

LENGTH, BENDING, TORSION, AXIAL = 0.2, 4e-3, 3e-3, 150.0
ARM = 0.01


def rod(joints: int = 8, planar: bool = False, mass: float = 1e-9) -> sg.SoftFinger:
    return sg.rld.discretise(
        LENGTH, BENDING, mass, joints, planar=planar, torsion_stiffness=TORSION,
        axial_stiffness=AXIAL, tendon_arm=ARM, bending_damping=4e-4,
    )  # fmt: skip


def column(finger: sg.SoftFinger, angles: np.ndarray, freedom: str) -> np.ndarray:
    return angles[..., [way == freedom for _, way in finger.freedoms]]


@pytest.mark.parametrize("joints", [1, 3, 8])
def test_a_moment_about_its_axis_twists_it(joints: int) -> None:
    rest = sg.equilibrium(rod(joints), tip_moment=(0.01, 0, 0), gravity=False)
    assert rest.converged
    twist = column(rod(joints), rest.joint_angles, "twist")
    assert twist.sum() == pytest.approx(0.01 * LENGTH / TORSION, rel=1e-10)
    assert rest.tip_position == pytest.approx([LENGTH, 0, 0], abs=1e-12)


@pytest.mark.parametrize("joints", [1, 3, 8])
def test_a_force_along_it_stretches_it(joints: int) -> None:
    rest = sg.equilibrium(rod(joints), tip_force=(6.0, 0, 0), gravity=False)
    assert rest.converged
    assert rest.tip_position == pytest.approx([LENGTH * (1 + 6.0 / AXIAL), 0, 0], abs=1e-12)
    assert rest.tip_angle == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("planar", [True, False])
def test_a_tendon_makes_an_arc_that_is_pressed_together(planar: bool) -> None:
    """κ = T r / EI over a length l (1 − T/EA), exact but for the chords of the arc."""
    errors = []
    for joints in (8, 16, 32):
        rest = sg.equilibrium(rod(joints, planar), tension=1.5, gravity=False)
        theta = 1.5 * ARM * LENGTH / BENDING
        length = LENGTH * (1 - 1.5 / AXIAL)
        assert rest.tip_angle == pytest.approx(theta, abs=1e-9)
        end = sg.pcc.segment_transform(theta / length, 0.0, length)[:3, 3]
        errors.append(np.linalg.norm(rest.tip_position - [end[2], 0.0, -end[0]]))
    orders = [math.log2(before / after) for before, after in pairwise(errors)]
    assert errors[0] < 1e-3 * LENGTH
    assert orders == pytest.approx([2.0, 2.0], abs=0.05)


def test_a_pressure_lengthens_a_finger_by_its_area() -> None:
    """P A L / EA, as the model of the same bendable (paper 002's segment with a chamber)."""
    finger = sg.rld.discretise(LENGTH, BENDING, 1e-9, axial_stiffness=AXIAL, pressure_area=1e-4)
    rest = sg.equilibrium(finger, pressure=1e5, gravity=False)
    stretched = LENGTH * (1 + 1e5 * 1e-4 / AXIAL)
    assert rest.tip_position == pytest.approx([stretched, 0, 0], abs=1e-12)


def test_antagonist_tendons_only_press_it_together() -> None:
    part = sg.io.load_robot("soft_gripper_two").bendable("left_finger")
    pair = tuple(Tendon(angle=angle, radius=0.006) for angle in (0.0, math.pi))
    part = part.replace(actuation=pair, backbone=part.backbone.replace(axial_stiffness=300.0))
    rest = sg.equilibrium(sg.soft.finger_from_bendable(part), tension=10.0, gravity=False)
    assert rest.tip_position == pytest.approx([0.1 * (1 - 20.0 / 300.0), 0, 0], abs=1e-9)


@pytest.mark.slow
def test_a_load_beyond_what_a_finger_can_be_is_reported() -> None:
    with pytest.warns(sg.SoftgraspWarning, match="expected joints that turn by less than half"):
        sg.equilibrium(sg.io.load_finger("paper000"), pressure=1e8, gravity=False)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tip_mass": -1.0}, "tip_mass"),
        ({"tip_mass": math.nan}, "tip_mass"),
        ({"start_angles": 7.0}, "start_angles"),
    ],
)
def test_a_motion_refuses_nonsense(given: dict[str, float], sentence: str, golden: Golden) -> None:
    golden.refused(lambda: sg.soft.move_finger(rod(), 0.01, **given), sentence)


def test_a_load_that_makes_a_motion_diverge_is_not_blamed_on_the_step() -> None:
    with pytest.raises(sg.SimulationError, match="so its actuation or load is too large"):
        sg.soft.move_finger(sg.io.load_finger("paper000"), 0.3, pressure=1e8, gravity=False)


@pytest.mark.slow
def test_all_freedoms_together_converge_with_the_square_of_the_cells() -> None:
    loads = {"tip_force": (1.0, 0.02, 0.03), "tip_moment": (0.004, 0.01, -0.004)}
    tips = {
        joints: sg.equilibrium(
            rod(joints), **loads, gravity=False, error_estimate=joints == 8
        )
        for joints in (8, 16, 32, 64)
    }  # fmt: skip
    steps = [np.linalg.norm(tips[a].tip_position - tips[b].tip_position) for a, b in pairwise(tips)]
    assert [math.log2(before / after) for before, after in pairwise(steps)] == pytest.approx(
        [2.0, 2.0], abs=0.1
    )
    true = np.linalg.norm(tips[8].tip_position - tips[64].tip_position)
    assert tips[8].discretisation_error == pytest.approx(true, rel=0.1)


def test_bending_to_all_sides_converges_with_the_square_of_the_cells() -> None:
    """With y before z at every joint the chain turns about its axis, which is of first order."""
    loads = {"tip_force": (0.0, 1.0, 1.5), "tip_moment": (0.0, 1.0, -2.0)}
    tips = [
        sg.equilibrium(
            sg.rld.discretise(1.0, 1.0, 1e-9, joints, planar=False),
            **loads, gravity=False, error_estimate=False,
        ).tip_position
        for joints in (8, 16, 32, 64)
    ]  # fmt: skip
    steps = [np.linalg.norm(first - second) for first, second in pairwise(tips)]
    assert steps[0] < 0.015
    assert [math.log2(before / after) for before, after in pairwise(steps)] == pytest.approx(
        [2.0, 2.0], abs=0.05
    )


def test_moments_of_motors_bend_each_joint_by_its_compliance() -> None:
    finger = sg.rld.discretise(LENGTH, BENDING, 1e-9, 4)
    moments = np.array([1.0, -2.0, 0.5, 3.0]) * 1e-2
    rest = sg.equilibrium(finger, joint_moments=moments, gravity=False)
    stiffness = [joint.stiffness for joint in finger.joints]
    assert rest.joint_angles == pytest.approx(moments / stiffness, abs=1e-11)
    assert rest.discretisation_error < 0.02 * LENGTH
    assert sg.equilibrium(finger, joint_moments=0.01, gravity=False).tip_angle == pytest.approx(
        0.01 * finger.compliance
    )


def test_a_motion_ends_at_the_rest_shape() -> None:
    finger = rod(4, mass=0.05)
    loads = {"tension": 0.8, "joint_moments": 1e-3}
    motion = sg.soft.move_finger(finger, 6.0, **loads)
    rest = sg.equilibrium(finger, **loads)
    assert motion.joint_angles[-1] == pytest.approx(rest.joint_angles, abs=2e-5)
    assert motion.tip_position[-1] == pytest.approx(rest.tip_position, abs=2e-6)


def test_names_state_how_a_joint_yields() -> None:
    assert finger_joint_names(rod(2)) == ["J1s", "J1t", "J1y", "J1z", "J2z", "J2y", "J2t", "J2s"]
    assert finger_joint_names(rod(2, planar=True), "y") == ["J1", "J2"]
    assert finger_joint_names(rod(2), "twist") == ["J1t", "J2t"]


def test_actuators_change_in_time() -> None:
    finger = sg.rld.discretise(LENGTH, BENDING, 0.01, 2, pressure_moment=1e-6, tendon_arm=ARM)
    forces = actuation_forces(
        finger,
        pressure=[0.0, 1e3, 2e3],
        tension=0.5,
        joint_moments=[[0.0, 0.1], [0.2, 0.3], [0.4, 0.5]],
        steps=3,
    )
    assert forces == pytest.approx(np.array([[0.005, 0.105], [0.206, 0.306], [0.407, 0.507]]))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"tension": -1.0}, "tension"),
        ({"tension": math.nan}, "tension"),
        ({"joint_moments": [1.0, 2.0]}, "joint_moments"),
        ({"pressure": [1.0]}, "pressure"),
    ],
)
def test_nonsense_is_refused(given: dict[str, object], sentence: str, golden: Golden) -> None:
    golden.refused(lambda: sg.equilibrium(rod(), **given), sentence)


@pytest.mark.parametrize("field", ["torsion_stiffness", "axial_stiffness"])
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_stiffness_is_above_zero(field: str, value: float) -> None:
    sentence = rf"^{field}: expected a number above 0, found {value}$"
    with pytest.raises(sg.DescriptionError, match=sentence):
        sg.rld.discretise(1.0, 1.0, 1.0, **{field: value})
