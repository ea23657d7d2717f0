"""Position servos for joints: URDF says how strong a joint is, and nothing of how it is held."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from softgrasp.description.robot import RigidJoint


class ServoRules(NamedTuple):
    """What a kind of machine is taken to have where its file does not say."""

    press: float
    """Force at the end of a chain that a joint without effort can hold [N]."""
    strongest: tuple[float, float]
    """Effort above which a revolute [N·m] and a prismatic joint [N] is not believed."""
    give: tuple[float, float] = (0.17453292519943295, 5e-3)
    """Error at which a servo gives all its effort: 10° [rad], 5 mm [m]."""
    bandwidth: float = 100.0
    """Natural frequency that the reflected inertia of a drive allows it [rad/s]."""
    min_armature: tuple[float, float] = (3e-3, 0.1)
    """Reflected inertia of a weak drive [kg·m², kg]."""
    endless: tuple[float, float] | None = None
    """Range of a continuous joint that states none [rad]; refused where there is none."""


HAND = ServoRules(press=15.0, strongest=(100.0, 2000.0))
ARM = ServoRules(press=100.0, strongest=(5000.0, 50000.0), endless=(-math.tau, math.tau))

FOLLOWER_ARMATURE = (1e-4, 1e-2)
"""Inertia of a joint that follows another one [kg·m², kg]; its drive's is at the leader."""


def servo_fields(
    joint: RigidJoint, reach: float, rules: ServoRules, notes: list[str]
) -> dict[str, Any]:
    """The fields of a row that say its servo.

    ``force_limit`` is the effort; an effort that is missing, 0 or absurd becomes what presses with
    ``rules.press`` at the end of the chain. kp gives it at ``rules.give``.

    Args:
        joint: A joint with a drive.
        reach: Length of the chains that it moves, added up [m].
        rules: Defaults.
        notes: Gets a sentence where the effort is assumed.
    """
    linear = joint.type == "prismatic"
    unit = "N" if linear else "N·m"
    limit = joint.effort or 0.0
    if not 0.0 < limit <= rules.strongest[linear]:
        effort_text = (
            "no effort" if joint.effort is None else f"an effort of {joint.effort:g} {unit}"
        )
        limit = rules.press * (1.0 if linear else max(reach, 1e-3))
        notes.append(
            f"joint '{joint.name}' states {effort_text}: its drive gives up to {limit:.3g} {unit}, "
            f"{rules.press:g} N at the end of each chain that it moves"
        )
    stiffness = limit / rules.give[linear]
    return {
        "force_limit": limit,
        "servo_stiffness": stiffness,
        "armature": max(rules.min_armature[linear], stiffness / rules.bandwidth**2),
    }


def joint_fields(joint: RigidJoint, limits: tuple[float, float]) -> dict[str, Any]:
    """The fields of a row that say its joint."""
    low, high = limits
    return {
        "joint": "prismatic" if joint.type == "prismatic" else "revolute",
        "limits": limits,
        "start": min(max(0.0, low), high),
        "damping": joint.damping,
        "friction_loss": joint.friction,
    }
