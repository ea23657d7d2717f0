"""A tendon over pulleys in the joints of a hand, which one drive pulls."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, Number, Positive
from softgrasp.description.coupling import JointName
from softgrasp.description.problems import FieldError, refuse_twins


class Pulley(Description):
    """Where a tendon runs over a joint."""

    joint: JointName
    """As the model calls it: ``F1_J2``."""
    radius: Number
    """[m]; negative where the tendon turns the joint backwards. Its torque is radius · tension."""

    @model_validator(mode="after")
    def _some_radius(self) -> Self:
        if self.radius == 0.0:
            raise FieldError("expected a radius other than zero, found 0", "radius")
        return self


class Tendon(Description):
    """One tendon, with one drive, over one or more joints; it only pulls.

    One over the joints of several fingers is a differential: all of them feel the same tension.
    """

    name: Annotated[str, Field(min_length=1, pattern=r"^[A-Za-z0-9_.-]+$")]
    """Its drive is called ``<name>_tendon``."""
    pulleys: Annotated[tuple[Pulley, ...], Field(min_length=1)]
    tension_limit: Positive = 100.0
    """Highest tension [N]."""
    stiffness: Positive = 2e4
    """Of the tendon with its drive [N/m]."""
    excursion: Positive | None = None
    """Longest way that the drive pulls [m]; as long as the joints need where it is not given."""

    @model_validator(mode="after")
    def _each_joint_once(self) -> Self:
        joints = ((part.joint, ("pulleys", index)) for index, part in enumerate(self.pulleys))
        refuse_twins(joints, "joint")
        return self
