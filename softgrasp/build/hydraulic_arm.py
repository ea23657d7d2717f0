"""A water-hydraulic arm → a robot of bendable segments, and its model (paper 003).

Every cell of a section has a slide, a twist and two bends in its middle, and a chamber is one fixed
tendon along all cells of its section, with the coefficients 1, −r cos α and −r sin α of l, u and v;
its control is the pressure.
"""

from __future__ import annotations

import mujoco

from softgrasp.build.compiling import compiled
from softgrasp.build.robot import robot_spec
from softgrasp.description.bendable import DEFAULT_LINKS
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.description.hydraulic_robot import arm_robot, end_link

__all__ = ["arm_model", "arm_robot", "arm_spec", "end_link"]


def arm_spec(arm: HydraulicArm, links: int = DEFAULT_LINKS) -> mujoco.MjSpec:
    """The arm as an MjSpec with its own gravity.

    Drag and the load at the tip are forces of a run, and no part of it.

    Raises:
        DescriptionError: The number of links is none.
        BuildError: MuJoCo refuses it.
    """
    spec = robot_spec(arm_robot(arm, links))
    spec.option.gravity = arm.gravity
    return spec


def arm_model(arm: HydraulicArm, links: int = DEFAULT_LINKS) -> mujoco.MjModel:
    """The arm as a compiled model; see ``arm_spec``.

    Raises:
        DescriptionError: The number of links is none.
        BuildError: MuJoCo refuses it.
    """
    return compiled(arm_spec(arm, links), arm.name)
