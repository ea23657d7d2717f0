"""Inspect a hand, an object, a mesh or a robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from softgrasp.checks.report import Inspection, as_remarks
from softgrasp.description.geometry import Mesh
from softgrasp.description.hand import Hand
from softgrasp.description.object import GraspObject
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError

REPLACED = ("density", "inertia", "mimic")
"""Checks of a robot whose findings spoil no grasp: reading it as a hand replaces impossible
inertias and the limits of followers, and the scene compensates the weight of its links."""
OF_HANDS = ("size", "overlap", "closing", "reach", "build")
"""Checks of hands that robots do not have."""


def with_hand_checks(robot: Inspection, hand: Inspection) -> Inspection:
    """Add the checks of a hand to those of the robot from which it was read."""
    checks = [as_remarks(check) if check.name in REPLACED else check for check in robot.checks]
    checks += [check for check in hand.checks if check.name in OF_HANDS]
    return replace(robot, checks=tuple(checks))


def inspect(
    described: Hand | GraspObject | Robot | Mesh, *, inertia: Sequence[float] | None = None
) -> Inspection:
    """Measure a hand, an object, a mesh or a robot, and report unusual values.

    Nothing is changed, and wrong values raise no error: findings are values with their numbers.

    Args:
        described: Hand, object, robot or mesh.
        inertia: Only for an object: moments of inertia from another description of it, three
            principal ones or (ixx, iyy, izz, ixy, ixz, iyz) about the centre of mass [kg·m²].

    Returns:
        All checks with their measurements; ``.problems``, ``.remarks``, ``.verdict``.

    Raises:
        DescriptionError: A mesh cannot be read, or the value is of another type.
    """
    if isinstance(described, GraspObject):
        from softgrasp.checks.mesh import inspect_object

        return inspect_object(described, inertia=inertia)
    if inertia is not None:
        raise DescriptionError("inertia: expected an object beside it, found something else")
    if isinstance(described, Hand):
        from softgrasp.checks.hand import inspect_hand

        return inspect_hand(described)
    if isinstance(described, Mesh):
        from softgrasp.checks.mesh import inspect_mesh

        return inspect_mesh(described)
    if isinstance(described, Robot):
        from softgrasp.checks.robot import inspect_robot

        return inspect_robot(described)
    raise DescriptionError(
        f"expected a Hand, a GraspObject, a Robot or a Mesh, found {type(described).__name__}"
    )
