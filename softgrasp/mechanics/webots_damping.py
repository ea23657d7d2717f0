"""Dampers in engines that take springs implicitly, such as ODE in Webots, and elsewhere.

A spring k that is taken at the end of a step h, k·(q + h·q̇), damps by h·k besides. So a damping
that was identified there belongs to its time step.
"""

from __future__ import annotations

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError


def from_webots(finger: SoftFinger, timestep: float) -> SoftFinger:
    """The finger with all of its damping, c + h·k, from one identified at a time step.

    Args:
        finger: With dampers as they stand in Webots.
        timestep: Basic time step h there [s].

    Raises:
        DescriptionError: The time step is negative.
    """
    _check(timestep)
    return _with(finger, [j.damping + timestep * j.stiffness for j in finger.joints])


def to_webots(finger: SoftFinger, timestep: float) -> SoftFinger:
    """The finger with dampers that move it alike in Webots, c − h·k.

    Args:
        finger: With all of its damping.
        timestep: Basic time step h there [s].

    Raises:
        DescriptionError: A joint has less damping than the implicit spring adds; names it, and the
            largest time step that goes.
    """
    _check(timestep)
    left = [joint.damping - timestep * joint.stiffness for joint in finger.joints]
    if min(left) < 0.0:
        worst = min(range(len(left)), key=left.__getitem__)
        longest = min(joint.damping / joint.stiffness for joint in finger.joints)
        raise DescriptionError(
            f"expected a damping of joint {worst + 1} of at least h·k = "
            f"{timestep * finger.joints[worst].stiffness:.3g} N·m·s/rad, which the time step of "
            f"{timestep:g} s adds there, found {finger.joints[worst].damping:.3g}; the time step "
            f"can be {longest:.3g} s at most",
            field="damping",
        )
    return _with(finger, left)


def _with(finger: SoftFinger, damping: list[float]) -> SoftFinger:
    pairs = zip(finger.joints, damping, strict=True)
    return finger.replace(joints=tuple(joint.replace(damping=c) for joint, c in pairs))


def _check(timestep: float) -> None:
    if not timestep >= 0.0:
        raise DescriptionError(f"expected a time of at least 0, found {timestep}", field="timestep")
