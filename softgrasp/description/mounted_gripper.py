"""Where a gripper stands on a robot's flange, and where its fingers stand in it."""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

from pydantic import Field, field_validator

from softgrasp.description.base import Description, Vec3, Vec4
from softgrasp.description.pose import Pose
from softgrasp.description.unit_quaternion import unit_quaternion
from softgrasp.errors import DescriptionError


class MountedPose(Pose):
    """A pose whose quaternion has to be of unit length within 1e-3; it is normalised then."""

    @field_validator("quaternion", mode="before")
    @classmethod
    def _near_unit(cls, value: Any) -> Any:
        numbers = isinstance(value, list | tuple) and len(value) == 4
        if not numbers or not all(type(part) in (int, float) for part in value):
            return value  # told by the field's own check
        w, x, y, z = (float(part) for part in value)
        return unit_quaternion((w, x, y, z)) if math.isfinite(w + x + y + z) else value


class GripperMount(Description):
    """Fingers on a base that is screwed to a flange.

    The frame of a finger stands at its root, z along the straight finger, x the way in which it
    bends under pressure.
    """

    name: Annotated[str, Field(min_length=1)] = "gripper"
    mount: MountedPose = MountedPose()
    """Of the gripper's base in the flange; paper 001 (eq 6) needs it and gives none."""
    fingers: Annotated[tuple[MountedPose, ...], Field(min_length=1)]
    """Of the fingers' roots in the gripper's base."""

    @classmethod
    def around_axis(
        cls,
        count: int,
        radius: float,
        *,
        height: float = 0.0,
        tilt: float = 0.0,
        mount: MountedPose | None = None,
        name: str = "gripper",
    ) -> Self:
        """Fingers at even angles around the z axis of the gripper, the first one on +x.

        Without tilt they are parallel to the axis, and bend towards it.

        Args:
            count: Of the fingers.
            radius: Of the circle on which their roots stand [m].
            height: Of the roots along the axis [m].
            tilt: By which a straight finger leans outwards, away from the axis [rad].
            mount: Of the gripper in the flange; both are the same where it is not given.
            name: Of the gripper.

        Raises:
            DescriptionError: There is no finger, or a number is out of range.
        """
        if count < 1:
            raise DescriptionError(f"expected at least 1 finger, found {count}", field="count")
        angles = [math.tau * index / count for index in range(count)]
        fingers = tuple(
            MountedPose(position=_on_circle(angle, radius, height), quaternion=_facing(angle, tilt))
            for angle in angles
        )
        return cls(name=name, mount=mount or MountedPose(), fingers=fingers)


def _on_circle(angle: float, radius: float, height: float) -> Vec3:
    return (radius * math.cos(angle), radius * math.sin(angle), height)


def _facing(angle: float, tilt: float) -> Vec4:
    """Rz(turn + π)·Ry(−tilt): x towards the axis, z leaning away from it."""
    half, lean = 0.5 * (angle + math.pi), -0.5 * tilt
    return (
        math.cos(half) * math.cos(lean),
        -math.sin(half) * math.sin(lean),
        math.cos(half) * math.sin(lean),
        math.sin(half) * math.cos(lean),
    )
