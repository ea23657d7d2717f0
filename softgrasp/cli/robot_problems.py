"""What is wrong with a robot that can be read: what a simulation or a controller would miss."""

from __future__ import annotations

import math
from collections.abc import Iterator

from softgrasp.control.hardware.plugins import kind_of, options_of
from softgrasp.description.bendable import AGREEMENT, Actuator, Bendable, Chamber
from softgrasp.description.control_system import ControlledJoint
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError

NEARLY = 1e-6
"""Directions and moments smaller than this, relative, count as none [–]."""


def robot_problems(robot: Robot) -> list[str]:
    """Problems in words, in the order of the file."""
    controlled = {joint.name: joint for system in robot.control for joint in system.joints}
    found = [*_link_problems(robot)]
    for part in robot.bendables:
        own = (
            *_body_problems(part),
            *_drive_problems(part),
            *_control_problems(part, controlled.get(part.name)),
        )
        found += [f"bendable '{part.name}' {text}" for text in own]
    return [*found, *_hardware_problems(robot)]


def _hardware_problems(robot: Robot) -> Iterator[str]:
    """What softgrasp's own controllers would refuse; a real robot may have another plugin."""
    for system in robot.control:
        try:
            kind_of(system)
            options_of(system)
        except DescriptionError as error:
            yield f"softgrasp cannot drive it: {error}"


def _link_problems(robot: Robot) -> Iterator[str]:
    for link in robot.links:
        if link.inertial is not None and link.inertial.inertia is None:
            yield f"link '{link.name}' has a mass but no inertia"
    for joint in robot.joints:
        if joint.type != "fixed" and not _carries_mass(robot, joint.child):
            yield f"joint '{joint.name}' moves nothing that has a mass"


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


def _body_problems(part: Bendable) -> Iterator[str]:
    if not part.backbone.bending_stiffness:
        yield "has no bending_stiffness"
    if part.inertial is None:
        yield "has no mass"


def _drive_problems(part: Bendable) -> Iterator[str]:
    if not part.actuation:
        return
    kind = f"{part.actuation[0].type}s"
    directions = [angle for drive in part.actuation for angle in _directions(drive)]
    if part.planar:
        assert part.limits.phi_min is not None  # a planar one has a plane
        if all(math.cos(angle - part.limits.phi_min) < NEARLY for angle in directions):
            yield f"cannot be bent in its plane by its {kind}"
        return
    if not _span(directions):
        yield f"cannot be bent in every plane by its {kind}"
    if not _balance(part.actuation):
        yield f"is bent where all its {kind} act alike"


def _directions(drive: Actuator) -> list[float]:
    """Towards where an actuator can bend [rad]: a tendon its side, a chamber away from it."""
    if not isinstance(drive, Chamber):
        return [drive.angle]
    sucks = [drive.angle] if drive.pressure_min < 0.0 else []
    return [drive.angle + math.pi, *sucks]


def _span(directions: list[float]) -> bool:
    """Whether pulls in these directions add up to any direction: no gap is half a turn."""
    around = sorted(angle % math.tau for angle in directions)
    gaps = [b - a for a, b in zip(around, [*around[1:], around[0] + math.tau], strict=True)]
    return max(gaps) < math.pi - NEARLY


def _balance(drives: tuple[Actuator, ...]) -> bool:
    """Whether equal tensions or pressures bend nothing."""
    arms = [drive.radius * (drive.area if isinstance(drive, Chamber) else 1.0) for drive in drives]
    x = math.fsum(arm * math.cos(drive.angle) for arm, drive in zip(arms, drives, strict=True))
    y = math.fsum(arm * math.sin(drive.angle) for arm, drive in zip(arms, drives, strict=True))
    return math.hypot(x, y) < NEARLY * math.fsum(arms)


def _control_problems(part: Bendable, joint: ControlledJoint | None) -> Iterator[str]:
    if joint is None:
        yield "is not named by any ros2_control joint"
        return
    if not joint.commands:
        yield "has no command interface"
    for interface in joint.commands:
        asked = interface.max
        beyond = asked is not None and asked > part.kappa_max * (1.0 + AGREEMENT)
        if interface.name == "kappa" and beyond:
            yield (
                f"may be asked for kappa up to {asked:g} 1/m, above its limit "
                f"{part.kappa_max:g} 1/m"
            )
