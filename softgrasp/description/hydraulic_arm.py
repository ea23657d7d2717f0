"""A soft arm whose sections are bent by the pressure of water in their chambers (paper 003)."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Annotated, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, NonNegative, Positive
from softgrasp.description.bendable import SAME_ANGLE, Chamber, Name, Text
from softgrasp.description.hydraulic_drive import Hydraulics
from softgrasp.description.problems import FieldError, refuse_twins


class SectionDamping(Description):
    """What takes energy out of a section: its material, and what is around it."""

    bending: NonNegative = 0.0
    """Moment over rate of curvature [N·m²·s]."""
    axial: NonNegative = 0.0
    """Force over rate of strain [N·s]."""
    torsion: NonNegative = 0.0
    """Moment over rate of twist [N·m²·s]."""
    drag: NonNegative = 0.0
    """Force of the surroundings over velocity, of the whole section [N·s/m] (eq 24)."""
    rotational_drag: NonNegative = 0.0
    """Moment of the surroundings over angular velocity, of the whole section [N·m·s] (eq 24)."""


class ArmSection(Description):
    """A bundle of chambers that bends, lengthens and twists as one beam."""

    name: Name
    length: Positive
    """Of its axis at rest [m]."""
    radius: Positive
    """Outer [m]."""
    mass: Positive
    """[kg]"""
    bending_stiffness: Positive
    """EI [N·m²]."""
    axial_stiffness: Positive
    """EA [N]."""
    torsion_stiffness: Positive
    """GJ [N·m²]."""
    damping: SectionDamping = SectionDamping()
    chambers: Annotated[tuple[Chamber, ...], Field(min_length=1)]
    """Their angles count in the frame of the section's base."""

    @model_validator(mode="after")
    def _slender(self) -> Self:
        if self.radius > self.length:
            raise FieldError(
                f"expected at most the length ({self.length:g} m), found {self.radius:g} m",
                "radius",
            )
        return self

    @model_validator(mode="after")
    def _chambers_apart(self) -> Self:
        for (_, one), (index, other) in combinations(enumerate(self.chambers), 2):
            if abs(math.remainder(other.angle - one.angle, math.tau)) < SAME_ANGLE:
                raise FieldError(
                    f"expected chambers at different angles, found two at {other.angle:g} rad",
                    *("chambers", index, "angle"),
                )
        for index, chamber in enumerate(self.chambers):
            if chamber.radius > self.radius:
                raise FieldError(
                    f"expected at most the section's radius ({self.radius:g} m), "
                    f"found {chamber.radius:g} m",
                    *("chambers", index, "radius"),
                )
        return self


class HydraulicArm(Hydraulics):
    """Sections one after another, and the drive of their chambers.

    The z axis of the base is the straight arm.
    """

    name: Name
    source: Text = ""
    """Where it comes from, in words."""
    sections: Annotated[tuple[ArmSection, ...], Field(min_length=1)]
    """From the base outwards."""

    @model_validator(mode="after")
    def _different_names(self) -> Self:
        names = ((part.name, ("sections", i, "name")) for i, part in enumerate(self.sections))
        refuse_twins(names, "section")
        return self

    @property
    def chambers(self) -> tuple[Chamber, ...]:
        """Of all sections, from the base outwards."""
        return tuple(chamber for section in self.sections for chamber in section.chambers)
