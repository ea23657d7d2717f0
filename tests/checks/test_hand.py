"""Hands: shipped ones pass, and each check has a hand that trips it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp import assets
from softgrasp.checks.report import Finding
from softgrasp.mechanics.transforms import quaternion_of

EVERY = ("size", "mass", "density", "inertia", "limits", "overlap", "closing", "reach", "build")


def row(**fields: Any) -> sg.description.Phalanx:
    return sg.description.Phalanx(
        **({"a": 0.05, "density": 1200.0, "limits": (-0.2, 1.4)} | fields)
    )


def finger(
    name: str, side: float, *rows: sg.description.Phalanx, **fields: Any
) -> sg.description.Finger:
    """A finger that hangs down beside the middle and bends inwards."""
    inwards = -math.copysign(1.0, side)
    frame = np.eye(4)
    frame[:3, :3] = np.transpose([[0, 0, -1], [inwards, 0, 0], [0, -inwards, 0]])
    base = sg.Pose(position=(side, 0.0, 0.0), quaternion=quaternion_of(frame))
    return sg.description.Finger(
        name=name, base=base, convention="standard", phalanges=rows or (row(), row()), **fields
    )


def hand(*fingers: sg.description.Finger, **fields: Any) -> sg.Hand:
    """Two fingers that stand apart, without a palm."""
    preset = fields.pop(
        "preset", sg.description.GraspPreset(center=(0.0, 0.0, -0.05), rates=(1.0,))
    )
    return sg.Hand(
        name="h",
        fingers=fingers or (finger("L", -0.05), finger("R", 0.05)),
        grasps=sg.description.Grasps(power=preset, precision=preset),
        palm=sg.description.Palm(kind="none"),
        **fields,
    )


def only(described: sg.Hand, check: str) -> Finding:
    (finding,) = sg.inspect(described).check(check).findings
    return finding


@pytest.mark.parametrize("name", assets.names("hands"))
def test_a_shipped_hand_has_no_problems(name: str) -> None:
    result = sg.inspect(sg.load_hand(name))
    assert tuple(check.name for check in result.checks) == EVERY
    assert [problem.sentence for problem in result.problems] == []


def test_a_plain_hand_has_no_findings() -> None:
    result = sg.inspect(hand())
    assert result.findings == ()
    assert result.verdict == "9 checks: no problems found"
    assert result.check("inertia").measured == (
        "stated for 4 of 4 bodies, 1 x that of a uniform solid of their geometry"
    )


@pytest.mark.parametrize(("mass", "severity"), [(1e-4, "problem"), (10.0, "problem")])
def test_masses(mass: float, severity: str) -> None:
    heavy = hand(finger("L", -0.05, row(density=None, mass=mass)), finger("R", 0.05,
                 row(density=None, mass=mass)))  # fmt: skip
    finding = only(heavy, "mass")
    assert finding.severity == severity
    assert finding.numbers["mass_kg"] == pytest.approx(2 * mass)


def test_a_mass_in_grams() -> None:
    grams = row(density=None, mass=1e3 * 1200.0 * (math.pi * 0.008**2 * (0.05 + 4 / 3 * 0.008)))
    result = sg.inspect(hand(finger("L", -0.05, grams), finger("R", 0.05)))
    (finding,) = result.check("density").findings
    assert finding.subject == "link 'L_P1'"
    assert finding.advice == (
        "divided by 1000 it is 0.01464 kg and 1200 kg/m³: grams written as kilograms"
    )


def test_sizes() -> None:
    assert only(hand(finger("L", -0.05, row(a=2.5)), finger("R", 0.05)), "size").actual == "2.5 m"


@pytest.mark.parametrize(
    ("limits", "severity", "result"),
    [
        ((0.0, 0.0), "remark", "0 … 1e-09 rad"),
        ((-90.0, 90.0), "problem", "-90 … 90 rad"),
        ((-3.2, 3.2), "remark", "-3.2 … 3.2 rad"),
    ],
)
def test_limits(limits: tuple[float, float], severity: str, result: str) -> None:
    odd = hand(finger("L", -0.05, row(limits=limits), row()), finger("R", 0.05))
    finding = only(odd, "limits")
    assert (finding.severity, finding.actual) == (severity, result)
    assert finding.subject == "joint 'L_J1'"


def test_a_start_on_the_wrong_side() -> None:
    stuck = hand(finger("L", -0.05, row(start=1.4), row()), finger("R", 0.05))
    power, precision = sg.inspect(stuck).check("closing").findings
    assert power.sentence == (
        "grasp 'power': expected joint 'L_J1' to start below its upper limit, to which it closes, "
        "found 1.4 rad (80.2141°); its start is on the wrong side, or its rate has the wrong sign"
    )
    assert precision.severity == "problem"
    still = hand(preset=sg.description.GraspPreset(center=(0.0, 0.0, -0.05), rates=(0.0,)))
    assert sg.inspect(still).check("closing").findings[0].actual == "rates of 0 in all"


def test_fingers_that_start_inside_each_other() -> None:
    finding = only(hand(finger("L", -0.005, row()), finger("R", 0.005, row())), "overlap")
    assert finding.severity == "remark"  # they do not collide, so a grasp is possible
    # capsules of radius 8 mm, 10 mm apart
    assert finding.numbers["deepest_m"] == pytest.approx(0.006, abs=1e-6)
    assert "L_P1 and R_P1 6.00 mm" in finding.actual


def test_an_overlap_where_no_grasp_starts_has_another_advice() -> None:
    open_first = sg.description.GraspPreset(
        center=(0.0, 0.0, -0.05), rates=(1.0,), start=(0.0, 0.0)
    )
    fingers = (finger("L", -0.02, row(start=0.8)), finger("R", 0.02, row(start=0.8)))
    advice = "they do not collide in a simulation; move the start or the shapes"
    assert only(hand(*fingers), "overlap").advice == advice
    elsewhere = only(hand(*fingers, preset=open_first), "overlap")
    assert elsewhere.advice == "both grasps start elsewhere"


@pytest.mark.parametrize(
    ("depth", "severity"), [(0.05, None), (0.10, "remark"), (0.3, "remark"), (2.0, "problem")]
)
def test_the_reach_of_the_fingers(depth: float, severity: str | None) -> None:
    """Fingers of 100 mm, 50 mm beside the middle."""
    far = hand(preset=sg.description.GraspPreset(center=(0.0, 0.0, -depth), rates=(1.0,)))
    result = sg.inspect(far).check("reach").findings
    assert [item.severity for item in result] == ([] if severity is None else [severity] * 2)
    for item in result:
        assert item.numbers["short_by_m"] == pytest.approx(math.hypot(0.05, depth) - 0.1)


def test_a_hand_that_mujoco_refuses() -> None:
    light = hand(finger("L", -0.05, row(density=None, mass=1e-17)), finger("R", 0.05))
    result = sg.inspect(light)
    assert [check.name for check in result.checks] == ["build"]
    assert "expected a body that MuJoCo can move" in result.problems[0].actual


def test_a_ball_that_does_not_fit_at_the_centre() -> None:
    inside = hand(preset=sg.description.GraspPreset(center=(-0.05, 0.0, -0.03), rates=(1.0,)))
    assert len(sg.inspect(inside).check("build").findings) == 2
