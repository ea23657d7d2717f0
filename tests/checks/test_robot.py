"""Robots: what is wrong with masses, inertia, limits and followers, and how it is repaired."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp import assets
from softgrasp.checks.report import Finding
from softgrasp.checks.robot import bendable_checks, couplings, total_mass
from softgrasp.description.bendable import Bendable, Chamber, CurvatureLimits, Inertial, Origin
from softgrasp.description.geometry import Cuboid
from softgrasp.description.robot import Link, LinkShape, Mimic, RigidJoint, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.hydraulics.description import arm_robot
from softgrasp.io.urdf import read_robot, write_robot
from tests.support.outside import outside_file

BAR = (0.02, 0.03, 0.1)
VOLUME = math.prod(BAR)


def bar(name: str, mass: float | None, factor: float = 1.0, **inertial: object) -> Link:
    """A bar with the inertia of a uniform one, times a factor."""
    shape = (LinkShape(shape=Cuboid(size=BAR)),)
    if mass is None:
        return Link(name=name, visuals=shape)
    x, y, z = (edge**2 for edge in BAR)
    moments = tuple(factor * mass / 12 * both for both in (y + z, x + z, x + y))
    fields = {"mass": mass, "inertia": (*moments, 0.0, 0.0, 0.0)} | inertial
    return Link(name=name, inertial=Inertial(**fields), visuals=shape)


def joint(name: str, parent: str, child: str, **fields: object) -> RigidJoint:
    kept = {"lower": -1.0, "upper": 1.0, "effort": 1.0, "velocity": 1.0} | fields
    return RigidJoint(name=name, type="revolute", parent=parent, child=child, **kept)


def robot(*links: Link, **second: object) -> Robot:
    """Three links and two joints, where nothing else is said of water."""
    parts = links or tuple(bar(name, 1000.0 * VOLUME) for name in "abc")
    return Robot(
        name="r",
        links=parts,
        joints=(joint("first", "a", "b"), joint("second", "b", "c", **second)),
    )


@pytest.mark.parametrize("name", assets.names("robots"))
def test_a_shipped_robot_has_no_findings(name: str) -> None:
    assert sg.inspect(sg.io.load_robot(name)).findings == ()


def test_chambers_that_cannot_bend_to_the_limit_and_cells_that_cannot_follow_it() -> None:
    """Three chambers bend by p·A·r sin 60° between two of them; a cell follows up to 45°."""
    part = sg.io.load_robot("rigid_soft_finger").bendables[0]
    radius, area, pressure = 0.01, 1e-4, 1e5
    chambers = tuple(
        Chamber(angle=2 * math.pi * index / 3, radius=radius, area=area, pressure_max=pressure)
        for index in range(3)
    )
    backbone = part.backbone.replace(length=0.3, links=8, bending_stiffness=1.0)
    limits = CurvatureLimits(kappa_max=3.0)
    changes = {"backbone": backbone, "limits": limits, "actuation": chambers}
    weak = part.replace(**changes)

    def problems(bendable: Bendable) -> list[Finding]:
        robot = sg.io.load_robot("rigid_soft_finger").replace(bendables=(bendable,))
        findings = [finding for check in bendable_checks(robot) for finding in check.findings]
        return [finding for finding in findings if finding.check in ("segments", "actuators")]

    (problem,) = problems(weak)
    assert problem.numbers["reached_per_m"] == pytest.approx(0.1 * math.sqrt(0.75))
    strong = weak.replace(backbone=backbone.replace(bending_stiffness=0.03))
    assert problems(strong) == []
    (problem,) = problems(strong.replace(limits=CurvatureLimits(kappa_max=100.0), actuation=()))
    assert problem.expected == "at most 45° of bending a cell"
    assert problem.numbers["cell_angle_rad"] == pytest.approx(100.0 * 0.3 / 8)
    assert problem.actual.endswith("39 links follow it")


def test_a_robot_of_water_has_no_findings() -> None:
    assert sg.inspect(robot()).verdict == "5 checks: no problems found"
    assert sg.checks.repairs(robot()) == ()
    assert sg.checks.repair_robot(robot()) == robot()


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([1e3, 1e6, 1e9, 1e-3]),
    st.lists(st.floats(400.0, 2500.0), min_size=3, max_size=3),
)
def test_repair_recovers_the_robot_before_the_slip(factor: float, densities: list[float]) -> None:
    first, *others = (density * VOLUME for density in densities)
    true = robot(bar("a", first), *(bar(n, m) for n, m in zip("bc", others, strict=True)))
    odd = robot(bar("a", first), *(bar(n, factor * m) for n, m in zip("bc", others, strict=True)))
    for link, target in zip(sg.checks.repair_robot(odd).links, true.links, strict=True):
        assert link.inertial.mass == pytest.approx(target.inertial.mass)
        np.testing.assert_allclose(link.inertial.inertia, target.inertial.inertia)


def test_only_the_inertia_is_in_another_unit() -> None:
    water = 1000.0 * VOLUME
    odd = robot(bar("a", water), bar("b", water, 1e6), bar("c", water))
    (finding,) = sg.inspect(odd).problems
    assert finding.advice == "divided by 1e+06 it fits: kg·mm² written as kg·m²"
    (change,) = sg.checks.repairs(odd)
    assert (change.part, change.field) == ("b", "inertia")
    np.testing.assert_allclose(change.after, bar("b", water).inertial.inertia)


@pytest.mark.parametrize(
    ("inertia", "reason"),
    [
        (None, "that of a uniform solid of its geometry; none was stated"),
        ((1e-3,) * 3 + (0.0,) * 3, "the stated one is"),
        ((1e-5, 1e-5, 9e-5, 0.0, 0.0, 0.0), "no body has the stated one"),
    ],
)
def test_inertia_from_the_geometry(inertia: tuple[float, ...] | None, reason: str) -> None:
    water = 1000.0 * VOLUME
    rotated = Origin(rpy=(0.3, -0.2, 1.0))
    odd = robot(bar("a", water), bar("b", water, inertia=inertia), bar("c", water))
    assert len(sg.inspect(odd).problems) == 1
    (change,) = sg.checks.repairs(odd)
    assert reason in change.sentence
    np.testing.assert_allclose(change.after, bar("b", water).inertial.inertia, atol=1e-18)
    askew = robot(bar("a", water), bar("b", water, inertia=inertia, origin=rotated),
                  bar("c", water))  # fmt: skip
    assert sg.inspect(sg.checks.repair_robot(askew)).problems == ()


def test_masses_that_are_missing() -> None:
    water = 1000.0 * VOLUME
    shaped, bare = bar("c", None), bar("c", None).replace(visuals=())
    inspection = sg.inspect(robot(bar("a", water), bar("b", water), bare))
    assert inspection.problems == ()
    (finding,) = inspection.remarks
    assert finding.sentence == (
        "joint 'second': expected a mass in what it moves, found none; a simulation uses 1 mg"
    )
    inspection = sg.inspect(robot(bar("a", water), bar("b", water), shaped))
    assert inspection.problems == ()
    (finding,) = inspection.remarks
    assert finding.advice == "a simulation uses that of its shapes at 1300 kg/m³"


def test_a_fixed_point_mass_needs_no_inertia() -> None:
    water = 1000.0 * VOLUME
    point = Link(name="c", inertial=Inertial(mass=1e-3, inertia=(0.0,) * 6))
    links = robot(bar("a", water), bar("b", water), point)
    fixed = links.joints[1].replace(type="fixed")
    assert sg.inspect(links.replace(joints=(links.joints[0], fixed))).findings == ()


@pytest.mark.parametrize(
    ("fields", "severity", "expected"),
    [
        ({"lower": 0.0, "upper": 0.0}, "remark", "limits apart"),
        ({"lower": -6.28, "upper": 6.28}, "remark", "a range of at most 6.283 rad (one rotation)"),
        (
            {"lower": -180.0, "upper": 180.0},
            "problem",
            "a range of at most 6.283 rad (one rotation)",
        ),
        ({"lower": 0.5}, "remark", "limits with 0 between them, where a simulation starts"),
        ({"effort": 0.0, "velocity": 0.0}, "remark", "a limit of effort and velocity above 0"),
    ],
)
def test_limits(fields: dict[str, float], severity: str, expected: str) -> None:
    (finding,) = sg.inspect(robot(**fields)).findings
    assert (finding.check, finding.severity, finding.expected) == ("limits", severity, expected)


@pytest.mark.parametrize(
    ("multiplier", "offset", "limits", "fraction", "requested"),
    [
        (1.0, 0.0, (-1.0, 1.0), 1.0, (-1.0, 1.0)),
        (0.5, 0.5, (0.0, 1.0), 1.0, (0.0, 1.0)),
        (-1.0, 0.0, (0.0, 0.876), 0.438, (-1.0, 1.0)),
        (-1.0, 0.0, (1.0, 2.0), 0.0, (-1.0, 1.0)),
        (2.0, 0.0, (-1.0, 1.0), 0.5, (-2.0, 2.0)),
        (1.0, 5.0, (-1.0, 1.0), 0.0, (4.0, 6.0)),
        (0.0, 0.3, (0.0, 1.0), 1.0, (0.3, 0.3)),
        (0.0, 2.0, (0.0, 1.0), 0.0, (2.0, 2.0)),
    ],
)
def test_followers(
    multiplier: float,
    offset: float,
    limits: tuple[float, float],
    fraction: float,
    requested: tuple[float, float],
) -> None:
    mimic = Mimic(joint="first", multiplier=multiplier, offset=offset)
    described = robot(lower=limits[0], upper=limits[1], mimic=mimic)
    (result,) = couplings(described)
    assert result.fraction == pytest.approx(fraction)
    assert result.requested == pytest.approx(requested)
    problems = sg.inspect(described).problems
    assert bool(problems) == (fraction < 1.0)
    whole = sg.checks.repair_robot(described)
    assert sg.inspect(whole).problems == ()
    if problems:
        assert (whole.joints[1].lower, whole.joints[1].upper) == pytest.approx(requested)


@given(
    st.floats(-3, 3).filter(lambda factor: abs(factor) > 1e-2),
    st.floats(-2, 2),
    st.floats(-2, 0),
    st.floats(0.1, 2),
)
def test_the_range_of_a_follower_is_what_sampling_finds(
    multiplier: float, offset: float, lower: float, width: float
) -> None:
    mimic = Mimic(joint="first", multiplier=multiplier, offset=offset)
    (result,) = couplings(robot(lower=lower, upper=lower + width, mimic=mimic))
    follows = multiplier * np.linspace(-1.0, 1.0, 2001) + offset
    sampled = np.mean((follows >= lower) & (follows <= lower + width))
    assert result.fraction == pytest.approx(sampled, abs=2e-3)


BARRETT = "urdf_hands/bhand_model/robots/bhand_model.URDF"
ROBOTIQ = "urdf_hands/robotiq_arg85_description/robots/robotiq_arg85_description.URDF"
ABILITY = "urdf_hands/ability_hand/ability_hand_right_large_no_fsr.urdf"


def test_the_barrett_of_264_tonnes(tmp_path: Path) -> None:
    """Eight links weigh 1e6 times too much: 1000 kg/m³ as 1e9, while lengths are right."""
    barrett = sg.io.load_robot(outside_file(BARRETT))
    result = sg.inspect(barrett)
    assert result.check("mass").findings[0].numbers["mass_kg"] == pytest.approx(264276.86, abs=0.01)
    odd = result.check("density").findings
    assert len(odd) == 8
    assert {item.numbers["factor"] for item in odd} == {1e6}
    for item in odd:
        assert item.numbers["density_kg_m3"] == pytest.approx(1.004e9, rel=3e-3)
    assert result.check("inertia").findings == ()  # it is as wrong as the masses
    whole = sg.checks.repair_robot(barrett)
    assert total_mass(whole) == pytest.approx(0.6422, abs=1e-4)
    assert sg.inspect(whole).problems == ()
    assert read_robot(write_robot(whole, tmp_path / "fixed.urdf")) == whole


def test_the_robotiq_that_cannot_follow() -> None:
    gripper = sg.io.load_robot(outside_file(ROBOTIQ))
    result = sg.inspect(gripper)
    assert [problem.subject for problem in result.problems] == [
        "joint 'left_inner_finger_joint'",
        "joint 'right_inner_knuckle_joint'",
        "joint 'right_outer_knuckle_joint'",
    ]
    assert result.problems[0].sentence == (
        "joint 'left_inner_finger_joint': expected limits around -0.725 … 0 rad, -1 x those of "
        "'finger_joint' (0 … 0.725) + 0, found 0 … 0.8757 rad: 'finger_joint' can move only at 0, "
        "0 % of its range; set the limits that its leader requires, or change the sign of the "
        "multiplier"
    )
    assert sg.inspect(sg.checks.repair_robot(gripper)).problems == ()


def test_the_ability_hand_loads_without_an_image_of_its_wrist() -> None:
    with warnings.catch_warnings(record=True) as message:
        warnings.simplefilter("always")
        ability = sg.io.load_robot(outside_file(ABILITY))
    (warning,) = message
    assert issubclass(warning.category, SoftgraspWarning)
    assert str(warning.message).endswith(
        "left out: <visual> 'models/wristmesh.STL' (line 24), no such file"
    )
    assert sg.inspect(ability).findings == ()
    assert [round(coupling.fraction, 12) for coupling in couplings(ability)] == [1.0] * 4


def test_a_segment_that_folds_into_itself_is_named() -> None:
    """1 over its radius is the largest curvature of a tube whose inner side has a length."""
    robot = sg.io.load_robot("three_segment_arm")
    part = robot.bendables[0]
    for factor, count in ((0.99, 0), (1.01, 1)):
        limits = CurvatureLimits(kappa_max=factor / part.backbone.radius)
        folded = part.replace(limits=limits, backbone=part.backbone.replace(links=64))
        found = sg.inspect(robot.replace(bendables=(folded, *robot.bendables[1:])))
        assert sum("folds into itself" in problem.sentence for problem in found.problems) == count


def test_angles_of_four_decimals_are_those_that_they_round() -> None:
    """The arm of docs/hydraulic_arm.md has chambers at 2.0944 and 4.1888 rad."""
    exact = arm_robot(sg.hydraulics.load_hydraulic_arm("hydraulic_two_section"))
    for digits in (None, 4):
        parts = tuple(
            part.replace(
                actuation=tuple(
                    item.replace(angle=item.angle if digits is None else round(item.angle, digits))
                    for item in part.actuation
                )
            )
            for part in exact.bendables
        )
        assert sg.inspect(exact.replace(bendables=parts)).problems == ()
    coarse = parts[0].replace(
        actuation=tuple(item.replace(angle=round(item.angle, 2)) for item in parts[0].actuation)
    )
    (problem,) = sg.inspect(exact.replace(bendables=(coarse, *parts[1:]))).problems
    assert "lever arms unbalanced" in problem.sentence


def test_limits_of_four_decimals_agree() -> None:
    part = sg.io.load_robot("three_segment_arm").bendables[0]
    limits = CurvatureLimits(kappa_max=round(1.0472 / part.backbone.length, 4), theta_max=1.0472)
    assert part.replace(limits=limits).theta_max == 1.0472
    wrong = limits.replace(theta_max=1.048)
    with pytest.raises(DescriptionError, match="expected theta_max = kappa_max"):
        part.replace(limits=wrong)
