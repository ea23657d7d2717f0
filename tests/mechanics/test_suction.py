"""The lip of a cup on planes and balls: strain, blocking and the limits of its load."""

from __future__ import annotations

import math

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.contact import ATMOSPHERE, SuctionCup
from softgrasp.mechanics.suction import LipLoad, is_blocked, lip_points, lip_strain

RADIUS, HEIGHT, COUNT = 0.015, 0.004, 8


def depths_on_ball(ball: float) -> np.ndarray:
    """Distance of a centred ball below the plane of a lip that touches it."""
    away = np.square(lip_points(RADIUS, COUNT)).sum(axis=2)
    return math.sqrt(ball**2 - RADIUS**2) - np.sqrt(ball**2 - away)


def test_a_flat_plate_strains_no_spring_at_any_distance():
    assert lip_strain(np.full(COUNT, 0.0), RADIUS, HEIGHT) == pytest.approx(0.0, abs=1e-12)
    assert lip_strain(np.full(COUNT, 3e-3), RADIUS, HEIGHT) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("degrees", [2.0, 8.0])
def test_the_cone_springs_on_a_tilted_plate_have_the_strain_of_geometry(degrees: float):
    slope = math.tan(math.radians(degrees))
    depths = slope * lip_points(RADIUS, COUNT)[0, :, 0]
    longer = math.hypot(RADIUS, HEIGHT + slope * RADIUS) / math.hypot(RADIUS, HEIGHT) - 1.0
    perimeter = math.sqrt(1.0 + (slope * math.cos(math.pi / COUNT)) ** 2) - 1.0
    assert lip_strain(depths, RADIUS, HEIGHT) == pytest.approx(longer, rel=1e-9)
    assert longer > perimeter


def test_strain_has_no_unit():
    depths = 1e-3 * np.sin(np.arange(COUNT))
    expected = lip_strain(depths, RADIUS, HEIGHT)
    assert lip_strain(10.0 * depths, 10.0 * RADIUS, 10.0 * HEIGHT) == pytest.approx(expected)


def test_a_ball_protrudes_through_the_cone_from_a_curvature_on():
    """Half way to the lip the cone is half as high, which is the stricter of the two rings."""
    smallest = next(
        ball
        for ball in np.arange(0.016, 0.1, 1e-5)
        if math.sqrt(ball**2 - RADIUS**2 / 4) - math.sqrt(ball**2 - RADIUS**2) <= HEIGHT / 2
    )
    assert smallest == pytest.approx(0.0438, abs=2e-4)
    assert is_blocked(depths_on_ball(smallest - 2e-5), HEIGHT)
    assert not is_blocked(depths_on_ball(smallest + 2e-5), HEIGHT)


def test_a_load_is_at_its_limits_where_its_components_are():
    limit = LipLoad(suction=40.0, normal=30.0, shear=15.0, moment=0.225, torsion=-0.225)
    usage = limit.usage(0.5, RADIUS)
    assert usage == pytest.approx({"pull": 0.25, "shear": 1.0, "moment": 1.0, "torsion": 1.0})
    assert limit.usage(0.5, RADIUS, 0.15)["moment"] == pytest.approx(1.5)
    assert limit._replace(normal=0.0).usage(0.5, RADIUS)["pull"] == pytest.approx(1.0)


def test_no_cup_pulls_with_more_than_a_vacuum():
    assert SuctionCup(diameter=0.03, depth=4e-3, pressure=ATMOSPHERE).pressure == ATMOSPHERE
    with pytest.raises(sg.DescriptionError) as refused:
        SuctionCup(diameter=0.03, depth=4e-3, pressure=1.01 * ATMOSPHERE)
    assert refused.value.field == "pressure"
