"""What presses water into the chambers of an arm: motor, screw, piston and tube (paper 003)."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Count, Description, NonNegative, Positive, Vec3
from softgrasp.description.problems import FieldError

HANGING: Vec3 = (0.0, 0.0, 9.81)
"""Gravity of an arm whose axis points down [m/s²]."""


class Screw(Description):
    """Turns the torque of the motor into the force on the piston."""

    lead: Positive
    """Way of the piston in one turn [m]."""
    efficiency: Annotated[float, Field(strict=True, gt=0, le=1)] = 1.0
    """Power at the piston over power at the motor [–]."""
    torque_max: Positive | None = None
    """Largest torque of the motor [N·m]."""


class Piston(Description):
    """Of the cylinder that holds the water."""

    diameter: Positive
    """[m]"""
    mass: Positive
    """With what moves along with it [kg]."""
    damping: NonNegative = 0.0
    """Viscous friction [N·s/m]."""
    friction: NonNegative = 0.0
    """Dry friction, the same sliding and sticking [N]."""
    length: Positive
    """Of the water column in the cylinder [m]."""

    @property
    def area(self) -> float:
        """Of its face [m²]."""
        return math.pi * self.diameter**2 / 4.0

    @property
    def volume(self) -> float:
        """Of the water in the cylinder [m³]."""
        return self.area * self.length


class Tube(Description):
    """Joins a cylinder and a chamber."""

    diameter: Positive
    """Inner [m]."""
    length: Positive
    """[m]"""
    flow: Literal["blasius", "laminar"] = "blasius"
    """``laminar``: Poiseuille's law at any flow; ``blasius``: his law for smooth pipes where the
    flow is turbulent."""

    @model_validator(mode="after")
    def _slender(self) -> Self:
        if self.diameter > self.length:
            raise FieldError(
                f"expected at most the length ({self.length:g} m), found {self.diameter:g} m",
                "diameter",
            )
        return self


class Fluid(Description):
    """What fills cylinder, tube and chamber; water at 20 °C where nothing else is said."""

    density: Positive = 998.0
    """[kg/m³]"""
    viscosity: Positive = 1.0e-3
    """Dynamic [Pa·s]."""
    bulk_modulus: Positive = 2.1e9
    """[Pa]"""


class HydraulicDrive(Description):
    """Motor, screw, piston and tube of one chamber; all chambers have the same."""

    screw: Screw
    piston: Piston
    tube: Tube
    fluid: Fluid = Fluid()


class TipLoad(Description):
    """What pulls and turns the end of the arm (eq 23)."""

    force: Vec3 = (0.0, 0.0, 0.0)
    """[N]"""
    moment: Vec3 = (0.0, 0.0, 0.0)
    """[N·m]"""
    frame: Literal["tip", "base"] = "tip"
    """Whose axes the numbers count in; those of the tip turn with it, as the paper has it."""


class Hydraulics(Description):
    """What sections with chambers need to be an arm, beside themselves."""

    segments: Count = 1
    """Circular arcs in which a section bends in the lumped model."""
    drive: HydraulicDrive
    tip_load: TipLoad = TipLoad()
    gravity: Vec3 = HANGING
    """In the frame of the base [m/s²]."""
