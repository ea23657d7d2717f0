"""Bendable segments as soft fingers: the same beam, the same plane, the same push."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.continuum.pcc import segment_transform
from softgrasp.continuum.rld import finger_from_bendable
from softgrasp.description.bendable import (
    Backbone,
    Bendable,
    Chamber,
    CurvatureLimits,
    Inertial,
    Tendon,
)


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


def test_it_is_the_beam_of_the_bendable() -> None:
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


def test_under_pressure_it_ends_where_the_constant_curvature_does() -> None:
    part = bendable((Chamber(angle=math.pi, radius=0.01, area=1e-4),), phi=0.0, links=40)
    rest = sg.equilibrium(finger_from_bendable(part), pressure=20e3, gravity=False)
    # the moment P A r bends to the side opposite of the chamber: phi = 0, towards bendable +x
    end = segment_transform(20e3 * 1e-4 * 0.01 / 4e-3, 0.0, 0.2)[:3, 3]
    assert end[0] > 0.01
    assert rest.tip_position == pytest.approx([end[2], end[1], -end[0]], abs=1e-5)


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
            "no drives that bend it to all sides",
        ),
        (
            bendable(inertial=Inertial(mass=0.1, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0))),
            "no inertia of its own",
        ),
    ],
)
def test_what_a_finger_has_not_is_told(part: Bendable, lost: str) -> None:
    sentence = f"bendable 'part': a soft finger has {lost}; left out"
    with pytest.warns(sg.SoftgraspWarning, match=f"^{re.escape(sentence)}$"):
        finger = finger_from_bendable(part)
    assert {joint.pressure_gain for joint in finger.joints} == {0.0}


@pytest.mark.parametrize("stiffness", [None, 0.0])
def test_a_stiffness_is_needed(stiffness: float | None) -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        finger_from_bendable(bendable(bending_stiffness=stiffness))
    assert str(refused.value) == (
        f"backbone.bending_stiffness: bendable 'part': expected a number above 0, found {stiffness}"
    )


def test_a_mass_is_needed() -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        finger_from_bendable(bendable().replace(inertial=None))
    assert str(refused.value) == (
        "inertial.mass: bendable 'part': expected the mass of the segment, found none"
    )


@pytest.mark.parametrize("number", [1, -1])
def test_only_its_own_chambers_can_be_pressed(number: int) -> None:
    part = bendable((Chamber(angle=0.0, radius=0.01, area=1e-4),))
    with pytest.raises(sg.DescriptionError) as refused:
        finger_from_bendable(part, driven=(number,))
    assert str(refused.value) == (
        "driven: bendable 'part': expected numbers of its 1 chambers or tendons, counted from 0, "
        f"found {number}"
    )


def test_links_halve_the_error_of_the_end_four_times() -> None:
    part = bendable((Chamber(angle=math.pi, radius=0.01, area=1e-4),))
    end = segment_transform(20e3 * 1e-4 * 0.01 / 4e-3, 0.0, 0.2)[:3, 3]
    errors = []
    for links in (4, 8, 16):
        finer = part.replace(backbone=part.backbone.replace(links=links))
        rest = sg.equilibrium(finger_from_bendable(finer), pressure=20e3, gravity=False)
        errors.append(np.linalg.norm(np.subtract(rest.tip_position, [end[2], end[1], -end[0]])))
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders == pytest.approx([2.0, 2.0], abs=0.05)
