"""Grasps of a hand at objects, as the file ``softgrasp-grasps`` holds them.

Poses are those of the frame of the hand's file (of the hand's own frame where it has no file) in
the frame of the object's file (its shape's frame where it has no file). Joints have the names of
the hand's file.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Literal

from pydantic import Field, field_validator

from softgrasp.description.base import Description, NonNegative, Number, Positive, Vec3
from softgrasp.description.geometry import Pose


class HandPosture(Description):
    """Pose and joint variables of a hand at an object."""

    pose: Pose
    """Pose of the hand in the frame of the object."""
    joints: dict[str, Number]
    """Joint variables by name [rad or m]."""


class Approach(Description):
    """Direction from which a hand comes to a grasp."""

    direction: Vec3
    """Unit vector of the motion, frame of the object."""
    distance_m: NonNegative | None = None
    """Length of the motion from the pre-grasp; None where the hand stood still."""

    @field_validator("direction")
    @classmethod
    def _check_length(cls, value: Vec3) -> Vec3:
        if abs(math.hypot(*value) - 1.0) > 1e-6:
            raise ValueError(f"expected a unit vector, found {value}")
        return value


class GraspContact(Description):
    """A contact of the hand with the object at the end of the run."""

    body: str
    """Body of the hand."""
    point_m: Vec3
    """Position in the frame of the object."""
    normal: Vec3
    """Unit normal into the object."""
    normal_force_N: Number
    """Normal force [N]."""
    friction_force_N: Number
    """Friction [N]."""


class GraspedObject(Description):
    """The object of a grasp."""

    name: str
    mesh: str | None = None
    """File of its mesh; None for a primitive, or where the source does not state one."""
    scale: Positive = 1.0
    """Factor from the lengths of the file to m [–]."""
    mass_kg: Positive | None = None
    """Its mass."""


class Grasp(Description):
    """A grasp: postures of the hand, what became of it, and its contacts."""

    name: str
    object: GraspedObject
    """The object that it grasps."""
    grasp: HandPosture
    """Posture of the closed hand."""
    pregrasp: HandPosture | None = None
    """Posture before the closure."""
    squeeze: HandPosture | None = None
    """Posture that the targets of the actuators state, which presses on the object."""
    approach: Approach | None = None
    """How the hand comes to the grasp."""
    quality: dict[str, Number] = Field(default_factory=dict)
    """Measures by name, such as ``epsilon`` of ``softgrasp.quality`` or another program's
    ``confidence``."""
    success: bool | None = None
    """Whether the grasp held the object; None where it was not tested."""
    outcome: str | None = None
    """Name of the ``Outcome``."""
    contacts: tuple[GraspContact, ...] = ()
    """Contacts at the end of the run."""

    @property
    def score(self) -> float:
        """The ``confidence``, else a positive ``epsilon``, else 1; 0 for a failed grasp.

        ε counts friction, not suction, so that a cup that holds may have 0.
        """
        if self.success is False:
            return 0.0
        return self.quality.get("confidence", self.quality.get("epsilon") or 1.0)


class GraspSet(Description):
    """Grasps of one hand: the content of a file ``softgrasp-grasps``, version 1."""

    format: Literal["softgrasp-grasps"] = "softgrasp-grasps"
    """Name of the format."""
    version: Literal[1] = 1
    """Version of the format."""
    hand: str
    """Name of the hand; empty where the source does not state it."""
    hand_frame: str = ""
    """File of the hand whose frame (of a URDF, its root link's) the poses state; empty where it
    has none."""
    grasps: tuple[Grasp, ...]
    """The grasps, each with another name."""

    @field_validator("grasps")
    @classmethod
    def _check_names(cls, value: tuple[Grasp, ...]) -> tuple[Grasp, ...]:
        known = Counter(grasp.name for grasp in value)
        if len(known) < len(value):
            raise ValueError(
                f"expected different names, found '{known.most_common(1)[0][0]}' twice"
            )
        return value
