"""Buckling loads against Euler's column, Greenhill's column and springs under a weight."""

from __future__ import annotations

import math

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.checks import buckling_loads
from softgrasp.description.bendable import Backbone, Bendable, CurvatureLimits, Inertial
from softgrasp.description.robot import Link, Robot
from softgrasp.hydraulics.arm import ArmChain
from softgrasp.hydraulics.description import arm_robot

LENGTH, STIFFNESS, MASS = 0.4, 0.5, 0.3
WEIGHTLESS = np.zeros(3)


def column(links: int, segments: int = 1) -> Robot:
    """A column of segments, one on the other."""
    parts = tuple(
        Bendable(
            name=f"s{index}",
            parent=f"l{index - 1}",
            child=f"l{index}",
            limits=CurvatureLimits(kappa_max=3.0),
            backbone=Backbone(
                length=LENGTH / segments, radius=0.02, bending_stiffness=STIFFNESS, links=links
            ),
            inertial=Inertial(mass=MASS / segments),
        )
        for index in range(1, segments + 1)
    )
    names = tuple(Link(name=f"l{index}") for index in range(segments + 1))
    return Robot(name="column", links=names, bendables=parts)


@pytest.mark.parametrize("segments", [1, 2])
def test_a_column_buckles_at_eulers_load_with_an_error_of_the_second_order(segments: int) -> None:
    euler = math.pi**2 * STIFFNESS / (4.0 * LENGTH**2)
    ends = [
        buckling_loads(column(links // segments, segments), WEIGHTLESS).tip_forces[f"l{segments}"]
        for links in (4, 8, 16)
    ]
    off = 1.0 - np.array(ends) / euler
    assert off[:-1] / off[1:] == pytest.approx([4.0, 4.0], rel=0.02)
    assert 0.0 < off[-1] < 1e-3


def test_a_column_under_its_weight_is_greenhills() -> None:
    """q L³/EI = 7.837; hanging it never buckles."""
    standing = buckling_loads(column(16)).weight_factor
    assert standing * MASS * 9.81 * LENGTH**2 / STIFFNESS == pytest.approx(7.837, rel=3e-3)
    hanging = buckling_loads(column(8), np.array([0.0, 0.0, 9.81]))
    assert math.isinf(hanging.weight_factor)
    assert hanging.tip_forces["l1"] > buckling_loads(column(8), WEIGHTLESS).tip_forces["l1"]


def test_weight_that_is_more_than_it_bears_leaves_no_force() -> None:
    loads = buckling_loads(sg.io.load_robot("three_segment_arm"))
    assert loads.weight_factor == pytest.approx(0.49, abs=0.01)
    assert loads.tip_forces == {"eef": 0.0}


@pytest.mark.slow
def test_an_arm_buckles_where_its_load_path_does() -> None:
    """The force of ``buckling_loads`` is where the equilibria of the chain branch."""
    shipped = sg.hydraulics.load_hydraulic_arm("hydraulic_two_section")
    weightless = shipped.replace(gravity=(0.0, 0.0, 0.0))
    (force,) = buckling_loads(arm_robot(weightless, 4), WEIGHTLESS).tip_forces.values()
    load = weightless.tip_load.replace(force=(0.0, 0.0, -1.2 * force), frame="base")
    chain = ArmChain(weightless.replace(tip_load=load), 4)
    assert 1.2 * chain.rest([0.0] * 6).buckling_factor == pytest.approx(1.0, rel=2e-3)


def test_a_robot_without_segments_is_refused() -> None:
    rigid = Robot(name="rigid", links=(Link(name="base"),))
    with pytest.raises(sg.DescriptionError, match="expected a robot with bendable segments"):
        buckling_loads(rigid)
