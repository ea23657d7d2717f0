"""Conversion of a hydraulic arm to a robot of bendables, and its MuJoCo model (Chen et al. 2022).

Every cell of a section has a slide, a twist and two bends in its middle, and a chamber is one fixed
tendon along all cells of its section, with the coefficients 1, −r cos α and −r sin α of l, u and v;
its control is the pressure.
"""

from __future__ import annotations

import mujoco

from softgrasp.description import DEFAULT_LINKS, Robot
from softgrasp.hydraulics.description import HydraulicArm, arm_robot, end_link
from softgrasp.hydraulics.drive import drive_model
from softgrasp.model import compiled, robot_spec, segment_actuator_names, visual

__all__ = ["arm_model", "arm_robot", "arm_spec", "end_link"]
SECTION_RGBA: tuple[visual.Rgba, ...] = ((0.42, 0.57, 0.73, 1.0), (0.93, 0.78, 0.55, 1.0))
"""Colours of the sections in images, alternating from the base outwards."""


def arm_spec(
    arm: HydraulicArm, links: int = DEFAULT_LINKS, *, lagged: bool = False
) -> mujoco.MjSpec:
    """Build the arm as an MjSpec with the arm's gravity.

    Drag and the load at the tip are forces of a run, and no part of it.

    Args:
        arm: The arm.
        links: Rigid cells a section.
        lagged: Whether its pressures follow their controls with one lag, τ = (R + d/A_c²) C_a at
            laminar flow (``filterexact``), so that the model has its drives in it: the control of
            a chamber is then the pressure at rest of its motor's torque
            (``drive.pressure_of_torque``).

    Raises:
        DescriptionError: The number of links is none.
        BuildError: MuJoCo refuses it.
    """
    robot = arm_robot(arm, links)
    spec = robot_spec(robot)
    spec.option.gravity = arm.gravity
    if lagged:
        _add_lags(spec, arm, robot)
    return spec


def _add_lags(spec: mujoco.MjSpec, arm: HydraulicArm, robot: Robot) -> None:
    """Add first-order pressure dynamics to chamber actuators (MuJoCo activation, exact)."""
    names = [name for part in robot.bendables for name in segment_actuator_names(part)]
    for name, lag in zip(names, drive_model(arm).lags().tolist(), strict=True):
        actuator = spec.actuator(name)
        actuator.dyntype = mujoco.mjtDyn.mjDYN_FILTEREXACT
        actuator.dynprm[0] = lag


def arm_model(
    arm: HydraulicArm, links: int = DEFAULT_LINKS, *, lagged: bool = False
) -> mujoco.MjModel:
    """Compile the model of an arm; see ``arm_spec``.

    Raises:
        DescriptionError: The number of links is none.
        BuildError: MuJoCo refuses it.
    """
    return compiled(arm_spec(arm, links, lagged=lagged), arm.name)
