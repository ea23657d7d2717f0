"""Robots: masses and their units, inertia, limits, followers, segments and control."""

from __future__ import annotations

import math
from collections.abc import Iterator

from softgrasp.description.robot import RigidJoint, Robot
from softgrasp.formats.hand_doubts import range_doubt
from softgrasp.inspection.bendable_checks import bendable_checks, hardware_check
from softgrasp.inspection.bodies import Body
from softgrasp.inspection.finding import Check, Finding, Inspection, Severity, counted
from softgrasp.inspection.link_bodies import link_bodies
from softgrasp.inspection.mass_rules import DENSITIES, density_check, inertia_check
from softgrasp.inspection.mimics import mimic_check
from softgrasp.inspection.units_guess import mass_guess

USUAL_MASS = (1e-3, 1e3)
"""Of a whole robot [kg]."""


def inspect_robot(robot: Robot) -> Inspection:
    """All checks of a robot.

    Raises:
        DescriptionError: A mesh cannot be read.
    """
    bodies = link_bodies(robot)
    checks = [
        _mass_check(robot, bodies),
        density_check(bodies),
        inertia_check(bodies),
        _limit_check(robot),
        mimic_check(robot),
        *bendable_checks(robot),
        *([hardware_check(robot)] if robot.control else []),
    ]
    return Inspection("robot", robot.name, tuple(checks))


def total_mass(robot: Robot) -> float:
    """Mass of all links and bendables that have one [kg]."""
    inertials = [
        *(link.inertial for link in robot.links),
        *(part.inertial for part in robot.bendables),
    ]
    return math.fsum(inertial.mass for inertial in inertials if inertial is not None)


def _mass_check(robot: Robot, bodies: list[Body]) -> Check:
    mass, (low, high) = total_mass(robot), USUAL_MASS
    findings = [*_massless(robot)]
    if mass and not low <= mass <= high:
        findings.append(
            Finding(
                subject=f"robot '{robot.name}'",
                severity="problem",
                check="mass",
                expected=f"{low:g} … {high:g} kg in all",
                actual=f"{mass:.6g} kg",
                numbers={"mass_kg": mass, **_whole_guess(mass, bodies)},
                advice=_mass_advice(mass, bodies),
            )
        )
    inertials = [part.inertial for part in robot.links] + [p.inertial for p in robot.bendables]
    heavy = counted(sum(inertial is not None for inertial in inertials), "part")
    return Check("mass", f"{mass:.6g} kg in {heavy}", tuple(findings))


def _whole_guess(mass: float, bodies: list[Body]) -> dict[str, float]:
    repaired = _mass_by_density(mass, bodies)
    return {} if repaired is None else {"repaired_mass_kg": repaired}


def _mass_by_density(mass: float, bodies: list[Body]) -> float | None:
    """The whole mass once the links of odd density have their unit put right [kg]."""
    low, high = DENSITIES
    known = [(body.mass, body.density) for body in bodies if body.density is not None]
    guess = mass_guess([density for _, density in known], DENSITIES)
    if guess is None:
        return None
    odd = math.fsum(part for part, density in known if not low <= density <= high)
    return mass - odd + odd / guess.factor


def _mass_advice(mass: float, bodies: list[Body]) -> str:
    repaired = _mass_by_density(mass, bodies)
    if repaired is None:
        return "masses are in kg"
    return (
        f"with the links of odd density put right it is {repaired:.4g} kg: softgrasp check "
        "FILE --fix --out FIXED.urdf"
    )


def _massless(robot: Robot) -> Iterator[Finding]:
    for joint in robot.joints:
        if joint.type != "fixed" and not _carries_mass(robot, joint.child):
            yield Finding(
                subject=f"joint '{joint.name}'",
                severity="problem",
                check="mass",
                expected="a mass in what it moves",
                actual="none",
            )


def _carries_mass(robot: Robot, link: str) -> bool:
    """Whether a link, or what hangs on it, has a mass."""
    todo = [link]
    while todo:
        name = todo.pop()
        on_it = [part for part in robot.bendables if part.parent == name]
        inertials = [robot.link(name).inertial, *(part.inertial for part in on_it)]
        if any(inertial is not None for inertial in inertials):
            return True
        todo += [part.child for part in on_it]
        todo += [joint.child for joint in robot.joints if joint.parent == name]
    return False


def _limit_check(robot: Robot) -> Check:
    moving = [joint for joint in robot.joints if joint.type != "fixed"]
    findings = tuple(finding for joint in moving for finding in _limit_findings(joint))
    return Check("limits", f"{counted(len(moving), 'moving joint')}", findings)


def _limit_findings(joint: RigidJoint) -> Iterator[Finding]:
    low, high = joint.lower, joint.upper
    unit = "m" if joint.type == "prismatic" else "rad"
    if joint.type != "continuous" and low is not None and high is not None:
        limits_text, numbers = f"{low:.4g} … {high:.4g} {unit}", {"lower": low, "upper": high}
        if low == high:
            yield _limit(joint, "remark", "limits apart", limits_text, numbers, "it cannot move")
        elif joint.type == "revolute" and (doubt := range_doubt(low, high)):
            yield _limit(joint, doubt.severity, doubt.expected, doubt.actual, numbers, doubt.advice)
        if joint.mimic is None and not low <= 0.0 <= high:
            yield _limit(
                joint,
                "remark",
                "limits that hold 0, where a simulation starts",
                limits_text,
                numbers,
            )
    zero = [name for name in ("effort", "velocity") if getattr(joint, name) == 0.0]
    if zero and joint.mimic is None:
        yield _limit(
            joint,
            "remark",
            f"a limit of {' and '.join(zero)} above 0",
            "0",
            dict.fromkeys(zero, 0.0),
            "softgrasp takes it for no limit",
        )


def _limit(
    joint: RigidJoint,
    severity: Severity,
    expected: str,
    actual: str,
    numbers: dict[str, float],
    advice: str = "",
) -> Finding:
    return Finding(
        subject=f"joint '{joint.name}'",
        severity=severity,
        check="limits",
        expected=expected,
        actual=actual,
        numbers=numbers,
        advice=advice,
    )
