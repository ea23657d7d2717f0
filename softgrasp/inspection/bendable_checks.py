"""What is wrong with bendable segments, their drives and the control of a robot."""

from __future__ import annotations

import math
from collections.abc import Iterator

from softgrasp.description.bendable import AGREEMENT, Bendable, BendableActuator, Chamber
from softgrasp.description.control_system import ControlledJoint
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError
from softgrasp.extensions import HARDWARE_CHECKS, load
from softgrasp.inspection.finding import Check, Finding, counted

NEARLY = 1e-6
"""Directions and moments smaller than this, relative, count as none [–]."""


def bendable_checks(robot: Robot) -> list[Check]:
    """Stiffness and mass, drives and control of every segment; none where there is none."""
    if not robot.bendables:
        return []
    controlled = {joint.name: joint for system in robot.control for joint in system.joints}
    parts = robot.bendables
    return [
        Check("segments", counted(len(parts), "segment"), _each(_body_findings(p) for p in parts)),
        Check(
            "actuators",
            counted(sum(len(part.actuation) for part in parts), "actuator"),
            _each(_actuator_findings(part) for part in parts),
        ),
        Check(
            "control",
            f"{counted(len(controlled), 'joint')} under ros2_control",
            _each(_control_findings(part, controlled.get(part.name)) for part in parts),
        ),
    ]


def hardware_check(robot: Robot) -> Check:
    """What softgrasp's own controllers would refuse; a real robot may have another plugin."""
    findings = []
    for system in robot.control:
        try:
            for reference in HARDWARE_CHECKS:
                load(reference)(system)
        except DescriptionError as error:
            findings.append(
                Finding(
                    subject=f"control '{system.name}'",
                    severity="problem",
                    check="hardware",
                    expected="hardware that softgrasp can drive",
                    actual=str(error),
                )
            )
    return Check("hardware", counted(len(robot.control), "ros2_control element"), tuple(findings))


def _each(groups: Iterator[Iterator[Finding]]) -> tuple[Finding, ...]:
    return tuple(finding for group in groups for finding in group)


def _problem(part: Bendable, check: str, expected: str, actual: str, **numbers: float) -> Finding:
    return Finding(
        subject=f"bendable '{part.name}'",
        severity="problem",
        check=check,
        expected=expected,
        actual=actual,
        numbers=numbers,
    )


def _body_findings(part: Bendable) -> Iterator[Finding]:
    if not part.backbone.bending_stiffness:
        yield _problem(part, "segments", "a bending_stiffness", "none")
    if part.inertial is None:
        yield _problem(part, "segments", "a mass", "none")


def _actuator_findings(part: Bendable) -> Iterator[Finding]:
    if not part.actuation:
        return
    kind = f"{part.actuation[0].type}s"
    directions = [angle for actuator in part.actuation for angle in _directions(actuator)]
    number = float(len(part.actuation))
    if part.planar:
        assert part.limits.phi_min is not None  # a planar one has a plane
        if all(math.cos(angle - part.limits.phi_min) < NEARLY for angle in directions):
            yield _problem(
                part, "actuators", f"{kind} that bend it in its plane", "none", drives=number
            )
        return
    gap = _widest_gap(directions)
    if gap >= math.pi - NEARLY:
        yield _problem(
            part,
            "actuators",
            f"{kind} that bend it in every plane",
            f"none over {math.degrees(gap):.0f}° around the backbone",
            drives=number,
            gap_rad=gap,
        )
    if (rest := _imbalance(part.actuation)) >= NEARLY:
        yield _problem(
            part,
            "actuators",
            f"{kind} that bend nothing where all act alike",
            f"{100 * rest:.3g} % of their lever arms left over",
            drives=number,
            imbalance=rest,
        )


def _directions(actuator: BendableActuator) -> list[float]:
    """Towards where an actuator can bend [rad]: a tendon its side, a chamber away from it."""
    if not isinstance(actuator, Chamber):
        return [actuator.angle]
    sucks = [actuator.angle] if actuator.pressure_min < 0.0 else []
    return [actuator.angle + math.pi, *sucks]


def _widest_gap(directions: list[float]) -> float:
    """Largest angle without a pull [rad]; below half a turn, pulls add up to any direction."""
    around = sorted(angle % math.tau for angle in directions)
    return max(b - a for a, b in zip(around, [*around[1:], around[0] + math.tau], strict=True))


def _imbalance(actuators: tuple[BendableActuator, ...]) -> float:
    """What is left of the lever arms where tensions or pressures are equal, as a part of them."""
    arms = [
        actuator.radius * (actuator.area if isinstance(actuator, Chamber) else 1.0)
        for actuator in actuators
    ]
    x = math.fsum(
        arm * math.cos(actuator.angle) for arm, actuator in zip(arms, actuators, strict=True)
    )
    y = math.fsum(
        arm * math.sin(actuator.angle) for arm, actuator in zip(arms, actuators, strict=True)
    )
    return math.hypot(x, y) / math.fsum(arms)


def _control_findings(part: Bendable, joint: ControlledJoint | None) -> Iterator[Finding]:
    if joint is None:
        yield _problem(part, "control", "a ros2_control joint of its name", "none")
        return
    if not joint.commands:
        yield _problem(part, "control", "a command interface", "none")
    for interface in joint.commands:
        commanded_max = interface.max
        beyond = commanded_max is not None and commanded_max > part.kappa_max * (1.0 + AGREEMENT)
        if interface.name == "kappa" and commanded_max is not None and beyond:
            yield _problem(
                part,
                "control",
                f"commands of kappa up to its limit {part.kappa_max:g} 1/m",
                f"{commanded_max:g} 1/m",
                asked_per_m=commanded_max,
                limit_per_m=part.kappa_max,
            )
