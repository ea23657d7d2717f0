"""Twice as many joints: what stays the same, and what the change tells."""

from __future__ import annotations

import math
import re
import warnings

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import eigh

import softgrasp as sg
from softgrasp.continuum.pcc import segment_transform
from softgrasp.continuum.rld import finger_from_bendable, joint_compliances, refine
from softgrasp.description.bendable import (
    Backbone,
    Bendable,
    Chamber,
    CurvatureLimits,
    Inertial,
    Tendon,
)
from softgrasp.model.soft_finger import finger_model
from tests.conftest import Golden
from tests.support.beams import FREQUENCIES, under_tip_force


@pytest.mark.parametrize("joints", [1, 4, 8])
def test_a_midpoint_chain_becomes_the_midpoint_chain_of_twice_the_joints(joints: int) -> None:
    numbers = {"length": 0.1, "bending_stiffness": 2e-3, "mass": 0.02, "bending_damping": 1e-5}
    finer = refine(sg.rld.discretise(**numbers, joints=joints, pressure_moment=1e-7))
    target = sg.rld.discretise(**numbers, joints=2 * joints, pressure_moment=1e-7)
    for joint, other in zip(finer.joints, target.joints, strict=True):
        assert joint.position == pytest.approx(other.position)
        assert joint.stiffness == pytest.approx(other.stiffness)
        assert joint.damping == pytest.approx(other.damping)
        assert joint.pressure_gain == other.pressure_gain
    for link, twin in zip(finer.links, target.links, strict=True):
        assert link.mass == pytest.approx(twin.mass)
        assert link.center == pytest.approx(twin.center)


def test_refinement_keeps_mass_and_compliance() -> None:
    finger = sg.io.load_finger("paper000")
    finer = refine(refine(finger))
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


def test_no_estimate_without_refinement() -> None:
    rest = sg.equilibrium(sg.io.load_finger("paper000"), pressure=1e4, error_estimate=False)
    assert np.isnan(rest.discretisation_error)


# Rigid links with springs: compliance, layouts, frequencies, nonsense.


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


def test_the_default_section_adds_its_rotary_inertia() -> None:
    """The figures of docs/soft_fingers.md for the call without a section."""
    for layout, expected in (("midpoint", [0.16, -0.14, -1.42]), ("interfaces", [12.2, 11.6, 9.8])):
        finger = sg.rld.discretise(1.0, 1.0, 1.0, 8, layout)
        error = 100 * (frequencies(finger, 3) / FREQUENCIES - 1)
        assert error == pytest.approx(expected, abs=0.05)


def test_interface_joints_as_in_paper_000_vibrate_an_eighth_too_fast() -> None:
    finger = sg.rld.discretise(1.0, 1.0, 1.0, 8, "interfaces", section=(1e-5, 1e-5))
    error = 100 * (frequencies(finger, 3) / FREQUENCIES - 1)
    assert error == pytest.approx([12.5, 13.4, 14.1], abs=0.1)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"length": 0.0}, "length"),
        ({"bending_stiffness": -1.0}, "bending_stiffness"),
        ({"mass": float("nan")}, "mass"),
        ({"joints": 0}, "joints"),
        ({"layout": "midpoints"}, "layout"),
        ({"section": (0.01, 0.0)}, "section"),
        ({"section": (-0.01, 0.01)}, "section"),
    ],
)
def test_wrong_arguments_are_refused(
    changes: dict[str, object], sentence: str, golden: Golden
) -> None:
    numbers = {"length": 1.0, "bending_stiffness": 1.0, "mass": 1.0} | changes
    golden.refused(lambda: sg.rld.discretise(**numbers), sentence)


def test_a_finger_needs_a_link_more_than_joints_and_joints_in_order(golden: Golden) -> None:
    finger = sg.rld.discretise(1.0, 1.0, 1.0, 3)
    golden.refused(lambda: finger.replace(links=finger.links[1:]), "links")
    golden.refused(lambda: finger.replace(joints=finger.joints[::-1]), "joints[1].position")


# Bendable segments as soft fingers: the same beam, the same plane, the same push.


def bendable(
    actuation: tuple[Chamber | Tendon, ...] = (),
    inertial: Inertial | None = None,
    phi: float | None = 0.0,
    **backbone: float,
) -> Bendable:
    """A segment of 200 mm that weighs 50 g; bends at phi only, or to all sides."""
    given = {"length": 0.2, "radius": 0.015, "bending_stiffness": 4e-3, "damping": 2e-5, "links": 5}
    return Bendable(
        name="part",
        parent="base",
        child="end",
        limits=CurvatureLimits(kappa_max=10.0, phi_min=phi, phi_max=phi),
        backbone=Backbone(**given | backbone),
        actuation=actuation,
        inertial=inertial or Inertial(mass=0.05),
    )


def test_the_finger_is_the_beam_of_the_bendable() -> None:
    finger = finger_from_bendable(bendable())
    assert finger == sg.rld.discretise(
        0.2, 4e-3, 0.05, 5, bending_damping=2e-5, section=(0.03, 0.03), name="part"
    )
    # 0.2 m / 5 links: k = EI n / L and c = d n / L
    assert [joint.stiffness for joint in finger.joints] == pytest.approx([0.1] * 5)
    assert [joint.damping for joint in finger.joints] == pytest.approx([5e-4] * 5)
    assert finger.tip == (0.2, 0.0, 0.0)


@given(st.floats(-math.pi, math.pi), st.floats(-math.pi, math.pi), st.floats(1e-5, 1e-3))
def test_a_chamber_pushes_its_side_away(phi: float, angle: float, area: float) -> None:
    part = bendable((Chamber(angle=angle, radius=0.01, area=area),), phi=phi)
    (gain,) = {joint.pressure_gain for joint in finger_from_bendable(part).joints}
    assert gain == pytest.approx(-area * 0.01 * math.cos(angle - phi), abs=1e-15)


def test_chambers_that_are_pressed_together_add_up() -> None:
    chambers = tuple(
        Chamber(angle=rotation * math.tau / 3, radius=0.01, area=1e-4) for rotation in range(3)
    )
    part = bendable(chambers)
    gains = [
        finger_from_bendable(part, driven=pressed).joints[0].pressure_gain
        for pressed in ((0,), (1, 2), (0, 1, 2), None, (1, 1), ())
    ]
    assert gains == pytest.approx([-1e-6, 1e-6, 0.0, 0.0, 0.5e-6, 0.0], abs=1e-18)


def test_tendons_pull_where_chambers_push() -> None:
    part = bendable((Tendon(angle=0.3, radius=0.01), Tendon(angle=2.0, radius=0.02)), phi=0.1)
    arms = {
        driven: finger_from_bendable(part, driven=driven).joints[0].tendon_arm
        for driven in ((0,), (1,), None)
    }
    assert arms[0,] == pytest.approx(0.01 * math.cos(0.2))
    assert arms[1,] == pytest.approx(0.02 * math.cos(1.9))
    assert arms[None] == pytest.approx(arms[0,] + arms[1,])


def test_it_twists_and_stretches_as_the_bendable() -> None:
    finger = finger_from_bendable(bendable(axial_stiffness=300.0, torsion_stiffness=1e-3))
    assert sum(1 / joint.axial_stiffness for joint in finger.joints) == pytest.approx(0.2 / 300)
    assert sum(1 / joint.torsion_stiffness for joint in finger.joints) == pytest.approx(0.2 / 1e-3)


def test_it_may_bend_to_all_sides() -> None:
    finger = finger_from_bendable(bendable(phi=None))
    assert not finger.planar
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sag = sg.equilibrium(finger, tip_force=(0.0, 0.01, 0.0), gravity=False)
    assert sag.tip_position[1] > 1e-3
    assert sag.tip_position[2] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("part", "lost"),
    [
        (
            bendable((Chamber(angle=0.0, radius=0.01, area=1e-4),), phi=None),
            "no actuators that bend it to all sides",
        ),
        (
            bendable(inertial=Inertial(mass=0.1, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))),
            "no specified inertia",
        ),
    ],
)
def test_properties_that_a_finger_cannot_have_are_reported(part: Bendable, lost: str) -> None:
    sentence = f"bendable 'part': a soft finger has {lost}; ignored"
    with pytest.warns(sg.SoftgraspWarning, match=f"^{re.escape(sentence)}$"):
        finger = finger_from_bendable(part)
    assert {joint.pressure_gain for joint in finger.joints} == {0.0}


@pytest.mark.parametrize("stiffness", [None, 0.0])
def test_a_stiffness_is_needed(stiffness: float | None, golden: Golden) -> None:
    golden.refused(
        lambda: finger_from_bendable(bendable(bending_stiffness=stiffness)),
        "backbone.bending_stiffness: bendable 'part'",
    )


def test_a_mass_is_needed(golden: Golden) -> None:
    golden.refused(
        lambda: finger_from_bendable(bendable().replace(inertial=None)),
        "inertial.mass: bendable 'part'",
    )


@pytest.mark.parametrize("number", [1, -1])
def test_wrong_chamber_numbers_are_refused(number: int, golden: Golden) -> None:
    part = bendable((Chamber(angle=0.0, radius=0.01, area=1e-4),))
    golden.refused(lambda: finger_from_bendable(part, driven=(number,)), "driven: bendable 'part'")


def test_links_halve_the_error_of_the_end_four_times() -> None:
    part = bendable((Chamber(angle=math.pi, radius=0.01, area=1e-4),))
    end = segment_transform(20e3 * 1e-4 * 0.01 / 4e-3, 0.0, 0.2)[:3, 3]
    errors = []
    for links in (4, 8, 16):
        finer = part.replace(backbone=part.backbone.replace(links=links))
        rest = sg.equilibrium(finger_from_bendable(finer), pressure=20e3, gravity=False)
        errors.append(np.linalg.norm(np.subtract(rest.tip_position, [end[2], end[1], -end[0]])))
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx([2.0, 2.0], abs=0.05)


# Stiffness of joints from the compliance of their cells.


@given(
    st.floats(0.01, 2.0), st.floats(1e-4, 10.0), st.integers(1, 40),
    st.sampled_from(("midpoint", "interfaces_corrected")),
)  # fmt: skip
def test_uniform_beams_have_the_springs_of_discretise(
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


@pytest.mark.parametrize(
    ("joints", "positions", "stiffness", "sentence"),
    [
        ([0.5, 0.2], [0, 1], 1.0, "joints"),
        ([0.5], [1, 0], 1.0, "positions"),
        ([0.5], [0, 1], [1.0, 0.0], "bending_stiffness"),
        ([0.5, 1.5], [0, 1], 1.0, "joints"),
    ],
)
def test_wrong_cells_are_refused(
    joints: list[float], positions: list[float], stiffness: float, sentence: str, golden: Golden
) -> None:
    golden.refused(lambda: joint_compliances(joints, positions, stiffness), sentence)
