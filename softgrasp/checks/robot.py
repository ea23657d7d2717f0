"""Checks of robots: mass, units, inertia, limits, mimic joints, segments and control."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.checks.bodies import (
    Guess,
    density_check,
    inertia_check,
    link_bodies,
)
from softgrasp.checks.hand import hand_bodies
from softgrasp.checks.report import (
    Check,
    Finding,
    Inspection,
    Severity,
    beyond,
    finding,
    format_count,
    range_finding,
    report_lock,
)
from softgrasp.description.bendable import (
    ANGLE_ROUNDING,
    LIMIT_TOLERANCE,
    Bendable,
    BendableActuator,
    Chamber,
)
from softgrasp.description.robot import ControlledJoint, Link, RigidJoint, Robot
from softgrasp.errors import DescriptionError
from softgrasp.extensions import HARDWARE_CHECKS
from softgrasp.io.hand_sanity import FULL_ROTATION, TWO_ROTATIONS, stroke_doubt
from softgrasp.io.urdf.length_unit import largest_lengths, unit_doubt
from softgrasp.io.urdf.links import (
    EMPTY,
    HULL_DENSITY,
    Followed,
    Range,
    follow,
    limits_of,
    touching,
)

USUAL_MASS = (1e-3, 1e3)
"""Usual mass of a whole robot [kg]."""
CELL_ANGLE = math.pi / 4.0
"""Largest bending angle of a cell [rad]: the end is then 5 % of the length off an arc."""
REACHED = 0.8
"""Fraction of ``kappa_max`` that the largest pressures have to reach in every plane [–]: three
chambers that reach it in their directions reach 0.87 of it between them."""
FAR = 30.0
"""Range of a prismatic joint over the largest other length of the robot, for a problem [–]."""
RANGE_TOLERANCE = 0.01
"""Fraction of the leader's range that may be missing, as files have rounded limits [–]."""


def inspect_robot(robot: Robot) -> Inspection:
    """Run all checks of a robot; only that of units where this is the cause of all others.

    Raises:
        DescriptionError: A mesh cannot be read.
    """
    if (doubt := unit_doubt(robot)) is not None:
        subject, (size, _) = f"robot '{robot.name}'", doubt.size
        expected, advice = "lengths in metres", f"{doubt.cause}: {doubt.cure}"
        odd = finding("problem", subject, expected, doubt.actual, advice, length_m=size)
        return Inspection("robot", robot.name, (Check("units", doubt.actual, (odd,)),))
    bodies = link_bodies(robot)
    checks = [
        _mass_check(robot),
        density_check(bodies),
        inertia_check(bodies),
        _limit_check(robot),
        mimic_check(robot),
        *bendable_checks(robot),
        *([hardware_check(robot)] if robot.control else []),
    ]
    return Inspection("robot", robot.name, tuple(checks))


def inspect_robot_model(model: mujoco.MjModel, name: str) -> Inspection:
    """Run the checks of a robot that was exported to MJCF; its cells may be hollow."""
    bodies = hand_bodies(model)
    geoms = np.flatnonzero((model.geom_contype != 0) & (model.geom_bodyid > 0))
    mass = math.fsum(body.mass for body in bodies)
    expected, actual = "geoms that can touch", "none with a contype or conaffinity"
    inert = finding("problem", f"robot '{name}'", expected, actual)
    touching = format_count(len(geoms), "colliding geom")
    checks = (
        Check("mass", f"{mass:.6g} kg in {format_count(len(bodies), 'part')}"),
        inertia_check(bodies),
        Check("contacts", touching, () if len(geoms) else (inert,)),
        Check("actuators", format_count(model.nu, "actuator")),
    )
    return Inspection("robot", name, checks)


def total_mass(robot: Robot) -> float:
    """Compute the mass of all links and bendables that have one [kg]."""
    return math.fsum(_masses(robot))


def _masses(robot: Robot) -> list[float]:
    inertials = [part.inertial for part in robot.links]
    inertials += [part.inertial for part in robot.bendables]
    return [inertial.mass for inertial in inertials if inertial is not None]


def _mass_check(robot: Robot) -> Check:
    mass, advice = total_mass(robot), "masses are in kg; --fix corrects those of unusual density"
    words = (f"robot '{robot.name}'", "{} kg in all", f"{mass:.6g} kg", advice)
    odd = beyond(USUAL_MASS, mass, *words, mass_kg=mass) if mass else ()
    heavy = format_count(len(_masses(robot)), "part")
    return Check("mass", f"{mass:.6g} kg in {heavy}", (*_massless(robot), *odd))


def _massless(robot: Robot) -> Iterator[Finding]:
    for joint in robot.joints:
        links = None if joint.type == "fixed" else _massless_links(robot, joint.child)
        if links is not None:
            advice = f"a simulation uses {1e6 * EMPTY.mass:g} mg"
            if any(touching(link) for link in links):
                advice = f"a simulation uses that of its shapes at {HULL_DENSITY:g} kg/m³"
            expected = "a mass in what it moves"
            yield finding("remark", f"joint '{joint.name}'", expected, "none", advice)


def _massless_links(robot: Robot, link: str) -> list[Link] | None:
    """Return a link and its subtree if none of them has a mass."""
    todo, links = [link], []
    while todo:
        name = todo.pop()
        links.append(robot.link(name))
        on_it = [part for part in robot.bendables if part.parent == name]
        inertials = [links[-1].inertial, *(part.inertial for part in on_it)]
        if any(inertial is not None for inertial in inertials):
            return None
        todo += [part.child for part in on_it]
        todo += [joint.child for joint in robot.joints if joint.parent == name]
    return links


DEGREES = Guess(180.0 / math.pi, "degrees written as radians")
MILLIMETRES = Guess(1e3, "millimetres written as metres")


def odd_limits(robot: Robot) -> dict[RigidJoint, Guess]:
    """Return the joints whose limits are in another unit, which explains their range.

    Revolute joints with more than two rotations are in degrees; those with more than one, too, if
    no joint of the robot has less. Prismatic joints are in millimetres whose range is ``FAR`` times
    the largest other length of the robot.

    Raises:
        DescriptionError: A mesh cannot be read.
    """
    limited = [joint for joint in robot.joints if joint.type in ("revolute", "prismatic")]
    ranges = {joint: (joint.upper or 0.0) - (joint.lower or 0.0) for joint in limited}
    rotations = [width for joint, width in ranges.items() if joint.type == "revolute" and width]
    limit = FULL_ROTATION if min(rotations, default=0.0) > FULL_ROTATION else TWO_ROTATIONS
    if max(rotations, default=0.0) <= TWO_ROTATIONS:
        limit = math.inf
    slides = any(joint.type == "prismatic" for joint in ranges)
    longest = (FAR * max(largest_lengths(robot)) if slides else 0.0) or math.inf
    units = {"revolute": (DEGREES, limit), "prismatic": (MILLIMETRES, longest)}
    return {
        item: units[item.type][0] for item, width in ranges.items() if width > units[item.type][1]
    }


def _limit_check(robot: Robot) -> Check:
    moving = [joint for joint in robot.joints if joint.type != "fixed"]
    odd = {joint: limit for joint, limit in odd_limits(robot).items() if limit is MILLIMETRES}
    findings = tuple(item for joint in moving for item in _limit_findings(joint, joint in odd))
    return Check("limits", f"{format_count(len(moving), 'moving joint')}", findings)


def _limit_findings(joint: RigidJoint, in_millimetres: bool) -> Iterator[Finding]:
    low, high, subject = joint.lower, joint.upper, f"joint '{joint.name}'"
    unit = "m" if joint.type == "prismatic" else "rad"
    if joint.type != "continuous" and low is not None and high is not None:
        limits_text, numbers = f"{low:.4g} … {high:.4g} {unit}", {"lower": low, "upper": high}
        if low == high:
            yield report_lock(subject, (low, high), limits_text)
        elif joint.type == "revolute" and (odd := range_finding(subject, low, high)):
            yield odd
        elif in_millimetres:
            expected = f"a range of at most {FAR:g} times the largest length of the robot"
            advice = "are the limits in millimetres? URDF has metres; --fix converts them"
            yield finding("problem", subject, expected, limits_text, advice, **numbers)
        elif joint.type == "prismatic" and (doubt := stroke_doubt(low, high)):
            message = (doubt.expected, doubt.actual, doubt.advice)
            yield finding("remark", subject, *message, **numbers)
        if joint.mimic is None and not low <= 0.0 <= high:
            expected = "limits with 0 between them, where a simulation starts"
            yield finding("remark", subject, expected, limits_text, **numbers)
    zero = [name for name in ("effort", "velocity") if getattr(joint, name) == 0.0]
    if zero and joint.mimic is None:
        expected, numbers = f"a limit of {' and '.join(zero)} above 0", dict.fromkeys(zero, 0.0)
        advice = "softgrasp takes it as no limit"
        yield finding("remark", subject, expected, "0", advice, **numbers)


# Bendable segments and control
def bendable_checks(robot: Robot) -> list[Check]:
    """Check stiffness, mass, actuators and control of segments; empty without segments."""
    if not robot.bendables:
        return []
    controlled = {joint.name: joint for system in robot.control for joint in system.joints}
    parts = robot.bendables
    actuators = sum(len(part.actuation) for part in parts)
    control = f"{format_count(len(controlled), 'joint')} under ros2_control"
    is_arm = robot.hydraulics is not None  # which has no limits of curvature and no ros2_control
    body = tuple(item for part in parts for item in _body_findings(part, is_arm))
    actuator = tuple(item for part in parts for item in _actuator_findings(part, is_arm))
    pairs = [(part, controlled.get(part.name)) for part in parts]
    commands = tuple(item for pair in pairs for item in _control_findings(*pair))
    if is_arm and not controlled:
        control, commands = "chambers under hydraulic drives", ()
    return [
        Check("segments", format_count(len(parts), "segment"), body),
        Check("actuators", format_count(actuators, "actuator"), actuator),
        Check("control", control, commands),
    ]


def hardware_check(robot: Robot) -> Check:
    """Check whether softgrasp supports plugin and parameters of each ``<ros2_control>`` element."""
    findings = []
    # rigid joints have position servos, whatever controls the real robot
    severity: Severity = "problem" if robot.bendables else "remark"
    for system in robot.control:
        try:
            for name in HARDWARE_CHECKS:
                HARDWARE_CHECKS.load(name)(system)
        except DescriptionError as error:
            subject, expected = f"control '{system.name}'", "hardware that softgrasp can control"
            findings.append(finding(severity, subject, expected, str(error)))
    count = format_count(len(robot.control), "ros2_control element")
    return Check("hardware", count, tuple(findings))


def _problem(part: Bendable, expected: str, actual: str, **numbers: float) -> Finding:
    return finding("problem", f"bendable '{part.name}'", expected, actual, **numbers)


def _body_findings(part: Bendable, is_arm: bool) -> Iterator[Finding]:
    if not part.backbone.bending_stiffness:
        yield _problem(part, "a bending_stiffness", "none")
    if part.inertial is None:
        yield _problem(part, "a mass", "none")
    if part.fold_ratio > 1.0 and not is_arm:
        yield _problem(
            part,
            f"kappa_max of at most {1.0 / part.backbone.radius:.4g} 1/m, 1 over its radius",
            f"{part.kappa_max:.4g} 1/m, at which the segment folds into itself",
            fold_ratio=part.fold_ratio,
        )
    cells = part.backbone.links
    if part.theta_max > CELL_ANGLE * cells * (1.0 + LIMIT_TOLERANCE):
        yield _problem(
            part,
            f"at most {math.degrees(CELL_ANGLE):.0f}° of bending a cell",
            f"{math.degrees(part.theta_max / cells):.0f}° at kappa_max {part.kappa_max:g} 1/m with "
            f"{cells} links; {math.ceil(part.theta_max / CELL_ANGLE)} links follow it",
            cell_angle_rad=part.theta_max / cells,
        )


def _actuator_findings(part: Bendable, is_arm: bool) -> Iterator[Finding]:
    if not part.actuation:
        return
    if not is_arm:
        yield from _weak_findings(part)
    kind = f"{part.actuation[0].type}s"
    directions = [angle for actuator in part.actuation for angle in _directions(actuator)]
    number = float(len(part.actuation))
    if part.planar:
        assert part.limits.phi_min is not None  # a planar one has a plane
        if all(math.cos(angle - part.limits.phi_min) < ANGLE_ROUNDING for angle in directions):
            yield _problem(part, f"{kind} that bend it in its plane", "none", actuators=number)
        return
    # below π the gaps between neighbours leave no direction out
    around = sorted(angle % math.tau for angle in directions)
    gap = max(b - a for a, b in pairwise([*around, around[0] + math.tau]))
    if gap >= math.pi - ANGLE_ROUNDING:
        actual = f"none over {math.degrees(gap):.0f}° around the backbone"
        expected, numbers = f"{kind} that bend it in every plane", {"gap_rad": gap}
        yield _problem(part, expected, actual, actuators=number, **numbers)
    if (rest := _imbalance(part.actuation)) >= ANGLE_ROUNDING:
        actual = f"{100 * rest:.3g} % of their lever arms unbalanced"
        expected, numbers = f"{kind} that bend nothing where all act alike", {"imbalance": rest}
        yield _problem(part, expected, actual, actuators=number, **numbers)


def _weak_findings(part: Bendable) -> Iterator[Finding]:
    """Report chambers whose pressures do not bend the segment to ``kappa_max``."""
    moment, stiffness = _max_moment(part), part.backbone.bending_stiffness
    if not stiffness or moment is None or moment <= 0.0:
        return
    reached = moment / stiffness
    if reached < REACHED * part.kappa_max:
        where = "in its plane" if part.planar else "in every plane"
        yield _problem(
            part,
            f"chambers that bend it to kappa_max {part.kappa_max:g} 1/m {where}",
            f"{reached:.3g} 1/m at their largest pressures",
            reached_per_m=reached,
        )


def _max_moment(part: Bendable) -> float | None:
    """Return the bending moment that the chambers produce in every plane [N·m].

    The moments of all pressures are a convex set; the largest disc in it touches an edge, which is
    parallel to the lever arm of a chamber. None for tendons and for chambers without limit.
    """
    chambers = [actuator for actuator in part.actuation if isinstance(actuator, Chamber)]
    if not chambers or any(chamber.pressure_max is None for chamber in chambers):
        return None
    lever = np.array([c.radius * c.area for c in chambers])
    angles = np.array([c.angle + math.pi for c in chambers])
    limits = np.array([(c.pressure_min, c.pressure_max) for c in chambers], dtype=float)

    def largest(direction: float) -> float:
        gains = lever * np.cos(angles - direction)
        return float(np.maximum(gains * limits[:, 0], gains * limits[:, 1]).sum())

    if part.planar:
        plane = part.limits.phi_min or 0.0
        return max(largest(plane), largest(plane + math.pi))
    normals = np.concatenate([angles + 0.5 * math.pi, angles - 0.5 * math.pi])
    return min(largest(direction) for direction in normals.tolist())


def _directions(actuator: BendableActuator) -> list[float]:
    """Return directions in which actuators bend: tendons to their side, chambers away [rad]."""
    if not isinstance(actuator, Chamber):
        return [actuator.angle]
    suction = [actuator.angle] if actuator.pressure_min < 0.0 else []
    return [actuator.angle + math.pi, *suction]


def _imbalance(actuators: tuple[BendableActuator, ...]) -> float:
    """Return the resultant lever arm at equal actuation over the sum of lever arms [–]."""
    levers = [
        (
            actuator.radius * (actuator.area if isinstance(actuator, Chamber) else 1.0),
            actuator.angle,
        )
        for actuator in actuators
    ]
    x = math.fsum(arm * math.cos(angle) for arm, angle in levers)
    y = math.fsum(arm * math.sin(angle) for arm, angle in levers)
    return math.hypot(x, y) / math.fsum(arm for arm, _ in levers)


def _control_findings(part: Bendable, joint: ControlledJoint | None) -> Iterator[Finding]:
    if joint is None:
        yield _problem(part, "a ros2_control joint of its name", "none")
        return
    if not joint.commands:
        yield _problem(part, "a command interface", "none")
    limit = part.kappa_max
    for interface in joint.commands:
        high = interface.max
        if interface.name != "kappa" or high is None or high <= limit * (1.0 + LIMIT_TOLERANCE):
            continue
        numbers = {"requested_per_m": high, "limit_per_m": limit}
        expected = f"commands of kappa up to its limit {limit:g} 1/m"
        yield _problem(part, expected, f"{high:g} 1/m", **numbers)


# Mimic joints
class Coupling(NamedTuple):
    """A mimic joint and its leader; joint variables in rad or m."""

    follower: RigidJoint
    leader: RigidJoint
    law: Followed

    @property
    def requested(self) -> Range:
        """Lowest and highest variable of the follower over the whole range of the leader."""
        return self.law.image(limits_of(self.leader))

    @property
    def fraction(self) -> float:
        """Fraction of the leader's range that is possible [–]."""
        return self.law.fraction(limits_of(self.follower), limits_of(self.leader))


def couplings(robot: Robot) -> list[Coupling]:
    """Return all joints of a robot that follow another one, with the joint that leads them.

    Raises:
        DescriptionError: Mimic joints form a cycle, or follow a fixed joint.
    """
    known = {joint.name: joint for joint in robot.joints}
    return [Coupling(known[name], known[of.leader], of) for name, of in follow(robot).items()]


def mimic_check(robot: Robot) -> Check:
    """Check the range of every follower against multiplier · range of its leader + offset."""
    coupled = couplings(robot)
    odd = tuple(_finding(item) for item in coupled if item.fraction < 1.0 - RANGE_TOLERANCE)
    if not coupled:
        return Check("mimic", "no joint follows another")
    text = ", ".join(f"{item.follower.name} {100 * item.fraction:.3g} %" for item in coupled)
    return Check("mimic", f"{format_count(len(coupled), 'follower')}; range possible: {text}", odd)


def _finding(coupling: Coupling) -> Finding:
    follower, leader, law = coupling
    (low, high), (first, last) = limits_of(follower), limits_of(leader)
    begin, end = law.allowed((low, high), (first, last))
    unit = "m" if follower.type == "prismatic" else "rad"
    where = "nowhere in its range"
    if begin <= end:
        ends = dict.fromkeys((f"{begin:.4g}", f"{end:.4g}"))
        where = f"only {'at' if len(ends) == 1 else 'in'} {' … '.join(ends)}"
    min_, max_ = coupling.requested
    numbers = {"multiplier": law.ratio, "offset": law.offset}
    numbers |= {"fraction": coupling.fraction, "lower": low, "upper": high}
    numbers |= {"requested_low": min_, "requested_high": max_}
    expected = (
        f"limits around {min_:.4g} … {max_:.4g} {unit}, {law.ratio:g} x those of "
        f"'{leader.name}' ({first:.4g} … {last:.4g}) + {law.offset:g}"
    )
    actual = (
        f"{low:.4g} … {high:.4g} {unit}: '{leader.name}' can move {where}, "
        f"{100 * coupling.fraction:.3g} % of its range"
    )
    advice = "set the limits that its leader requires, or change the sign of the multiplier"
    finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
    return finding("problem", f"joint '{follower.name}'", expected, actual, advice, **finite)
