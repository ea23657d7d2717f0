"""Arms that several tests of controllers share."""

from __future__ import annotations

import math
from typing import Any

from softgrasp.continuum_control.controllers import JointTrajectoryController
from softgrasp.continuum_control.manager import ControlledRobot
from softgrasp.description.bendable import (
    Backbone,
    Bendable,
    Chamber,
    CurvatureLimits,
    Inertial,
    Tendon,
)
from softgrasp.description.robot import ControlledJoint, ControlSystem, Interface, Link, Robot

LENGTH, STIFFNESS = 0.316, 0.5
ANGLES = (0.0, 2 * math.pi / 3, -2 * math.pi / 3)
DRIVES = {
    "tendons": tuple(Tendon(angle=angle, radius=0.05) for angle in ANGLES),
    "chambers": tuple(Chamber(angle=angle, radius=0.05, area=2e-4) for angle in ANGLES),
    "moments": (),
}


def arm(segments: int = 1, actuators: str = "tendons", **options: Any) -> Robot:
    """A chain of segments with kappa and phi as interfaces; options are those of its system."""
    parts = tuple(
        Bendable(
            name=f"s{index}",
            parent=f"l{index - 1}",
            child=f"l{index}",
            limits=CurvatureLimits(kappa_max=3.3, kappa_dot_max=2.0),
            backbone=Backbone(
                length=LENGTH, radius=0.07, bending_stiffness=STIFFNESS, damping=0.1, links=6
            ),
            actuation=DRIVES[actuators],
            inertial=Inertial(mass=0.3),
        )
        for index in range(1, segments + 1)
    )
    both = (
        Interface(name="kappa", initial_value=0.0, min=0.0, max=3.0),
        Interface(name="phi", initial_value=0.0),
    )
    states = (Interface(name="kappa"), Interface(name="phi"))
    joints = tuple(ControlledJoint(name=p.name, commands=both, states=states) for p in parts)
    system = {"name": "arm", "plugin": "SoftRobotInterface", "joints": joints} | options
    links = tuple(Link(name=f"l{index}") for index in range(segments + 1))
    return Robot(name="arm", links=links, bendables=parts, control=(ControlSystem(**system),))


def steered(robot: Robot, **options: Any) -> tuple[ControlledRobot, JointTrajectoryController]:
    """A robot and its controller of paths, which has started."""
    machine, path = ControlledRobot(robot, **options), JointTrajectoryController(robot, name="path")
    machine.manager.load(path)
    machine.manager.switch(start=["path"])
    return machine, path
