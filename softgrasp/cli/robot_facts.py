"""What a robot is, in numbers and in lines of text."""

from __future__ import annotations

import math
from typing import Any

from softgrasp.checks.robot import total_mass
from softgrasp.description.bendable import Bendable
from softgrasp.description.control_system import ControlSystem
from softgrasp.description.robot import RigidJoint, Robot

Properties = dict[str, Any]


def robot_properties(robot: Robot) -> Properties:
    """Links, segments with lengths, angles, masses and drives, joints, control interfaces."""
    return {
        "name": robot.name,
        "root": robot.root,
        "links": [link.name for link in robot.links],
        "bendables": [_bendable_properties(part) for part in robot.bendables],
        "rigid_joints": [_joint_properties(joint) for joint in robot.joints],
        "mass_kg": total_mass(robot),
        "control": [_control_properties(system) for system in robot.control],
        "source": robot.source,
    }


def _bendable_properties(part: Bendable) -> Properties:
    limits, backbone = part.limits, part.backbone
    return {
        "name": part.name,
        "parent": part.parent,
        "child": part.child,
        "model": part.model,
        "degree": part.degree,
        "frame": part.frame,
        "length_m": backbone.length,
        "radius_m": backbone.radius,
        "mass_kg": None if part.inertial is None else part.inertial.mass,
        "kappa_max_per_m": part.kappa_max,
        "theta_max_rad": part.theta_max,
        "phi_range_rad": None if limits.phi_min is None else [limits.phi_min, limits.phi_max],
        "kappa_dot_max_per_m_s": limits.kappa_dot_max,
        "phi_dot_max_rad_s": limits.phi_dot_max,
        "bending_stiffness_N_m2": backbone.bending_stiffness,
        "damping_N_m2_s": backbone.damping,
        "simulated_links": backbone.links,
        "discs": backbone.discs,
        "actuation": part.actuation[0].type if part.actuation else None,
        "actuator_angles_rad": [actuator.angle for actuator in part.actuation],
    }


def _joint_properties(joint: RigidJoint) -> Properties:
    limits = None if joint.lower is None else [joint.lower, joint.upper]
    return {
        "name": joint.name,
        "type": joint.type,
        "parent": joint.parent,
        "child": joint.child,
        "limits": limits,
    }


def _control_properties(system: ControlSystem) -> Properties:
    return {
        "name": system.name,
        "plugin": system.plugin,
        "commands": [f"{j.name}/{part.name}" for j in system.joints for part in j.commands],
        "states": [f"{j.name}/{part.name}" for j in system.joints for part in j.states],
    }


def bendable_line(properties: Properties) -> str:
    """A bendable in one line."""
    theta = math.degrees(properties["theta_max_rad"])
    degree = f" of degree {properties['degree']}" if properties["model"] == "ppc" else ""
    return "; ".join(
        [
            f"{properties['name']}: {properties['parent']} → {properties['child']}, "
            f"{properties['model']}{degree}, {properties['frame']} frames",
            f"{1e3 * properties['length_m']:.4g} mm long, radius {1e3 * properties['radius_m']:.4g} mm, "
            f"{_mass(properties['mass_kg'])}",
            f"up to {properties['kappa_max_per_m']:.4g} 1/m = {theta:.4g}°, {_plane(properties)}",
            f"{_stiffness(properties['bending_stiffness_N_m2'])}, {properties['simulated_links']} links",
            _actuators_text(properties),
        ]
    )


def joint_line(properties: Properties) -> str:
    """A rigid joint in one line."""
    unit = "m" if properties["type"] == "prismatic" else "rad"
    limits = properties["limits"]
    moves = "" if limits is None else f", {limits[0]:.4g} … {limits[1]:.4g} {unit}"
    return f"{properties['name']}: {properties['parent']} → {properties['child']}, {properties['type']}{moves}"


def control_line(properties: Properties) -> str:
    """A ``ros2_control`` element in one line."""
    commands, states = (", ".join(properties[kind]) or "none" for kind in ("commands", "states"))
    return f"{properties['name']}: {properties['plugin']}; commands {commands}; states {states}"


def _mass(mass: float | None) -> str:
    return "no mass" if mass is None else f"{1e3 * mass:.4g} g"


def _stiffness(stiffness: float | None) -> str:
    return "no stiffness" if stiffness is None else f"EI {stiffness:.4g} N·m²"


def _plane(properties: Properties) -> str:
    if properties["phi_range_rad"] is None:
        return "in every plane"
    low, high = map(math.degrees, properties["phi_range_rad"])
    return (
        f"in the plane at {low:.4g}°" if low == high else f"planes from {low:.4g}° to {high:.4g}°"
    )


def _actuators_text(properties: Properties) -> str:
    angles = properties["actuator_angles_rad"]
    if not angles:
        return "no actuators"
    number = f"{len(angles)} {properties['actuation']}{'' if len(angles) == 1 else 's'}"
    return f"{number} at {', '.join(f'{math.degrees(angle):.4g}°' for angle in angles)}"
