"""Bendable segments of continuum robots, and the hydraulic drives of their chambers.

A ``Bendable`` is the element that U(C)RDF (paper 002) adds to URDF: a backbone between two links
that bends with constant or polynomial curvature, moved by tendons or pressure chambers.
``Hydraulics`` (paper 003) describes what pressurises the chambers of an arm: motor, screw, piston
and tube.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from softgrasp.description.base import (
    Count,
    Description,
    FieldError,
    NonNegative,
    Number,
    Positive,
    Vec3,
    refuse_above,
)

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""Name of a link, a joint, a bendable or an interface; surrounding blanks are removed."""
Text = Annotated[str, StringConstraints(strip_whitespace=True)]
DEFAULT_LINKS = 8
"""Number of rigid links that represent a bendable by default."""
LIMIT_TOLERANCE = 1e-6
"""Largest relative difference of two limits that state the same [–]."""
ANGLE_ROUNDING = 1e-4
"""Difference of two angles that are the same in files of four decimals [rad]."""
MIN_ANGLE = 1e-6
"""Smallest angle between two chambers or tendons [rad]."""
HANGING: Vec3 = (0.0, 0.0, 9.81)
"""Gravity of an arm whose axis points down [m/s²]."""


# Frames and masses.
class Origin(Description):
    """Pose of a frame in its parent as in URDF: R = Rz(yaw)·Ry(pitch)·Rx(roll)."""

    xyz: Vec3 = (0.0, 0.0, 0.0)
    """Position [m]."""
    rpy: Vec3 = (0.0, 0.0, 0.0)
    """Roll, pitch, yaw about the fixed axes x, y, z of the parent [rad]."""


class Inertial(Description):
    """Mass, centre of mass and inertia about it."""

    mass: Positive
    """Mass [kg]."""
    origin: Origin = Origin()
    """Pose of the centre of mass and of the axes of inertia."""
    inertia: tuple[Number, Number, Number, Number, Number, Number] | None = None
    """(ixx, iyy, izz, ixy, ixz, iyz) [kg·m²]; of a bendable that of a uniform cylinder by
    default."""


# Bendable segments.
class CurvatureLimits(Description):
    """Limits of bending, its rates and elongation; ``kappa_max`` or ``theta_max`` is required."""

    kappa_max: Positive | None = None
    """Largest curvature [1/m]."""
    theta_max: Positive | None = None
    """Largest bending angle κ·length [rad]."""
    phi_min: Number | None = None
    """Smallest angle of the bending plane [rad]."""
    phi_max: Number | None = None
    """Largest one [rad]; equal limits make the segment planar."""
    kappa_dot_max: Positive | None = None
    """Largest rate of the curvature [1/(m·s)]."""
    phi_dot_max: Positive | None = None
    """Largest rate of the bending plane's angle [rad/s]."""
    eps_min: Number | None = None
    """Smallest elongation (l − length)/length [–]."""
    eps_max: Number | None = None
    """Largest elongation [–]."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.kappa_max is None and self.theta_max is None:
            raise FieldError("expected kappa_max or theta_max, found neither", "kappa_max")
        for low, high in (("phi_min", "phi_max"), ("eps_min", "eps_max")):
            lowest, highest = getattr(self, low), getattr(self, high)
            if (lowest is None) != (highest is None):
                raise FieldError(f"expected {low} and {high}, found one of them", low)
            refuse_above(lowest, highest, high, low)
        return self


class Backbone(Description):
    """Backbone of a bendable segment: a beam of constant cross-section."""

    length: Positive
    """Arc length at rest [m]."""
    radius: Positive
    """Outer radius of the segment [m]."""
    bending_stiffness: NonNegative | None = None
    """Bending stiffness EI [N·m²]."""
    axial_stiffness: NonNegative | None = None
    """EA [N]; infinite by default."""
    torsion_stiffness: NonNegative | None = None
    """GJ [N·m²]; infinite by default."""
    damping: NonNegative = 0.0
    """Bending moment over rate of curvature [N·m²·s]."""
    axial_damping: NonNegative | None = None
    """Force over rate of strain [N·s]; by default in the same proportion to stiffness as
    bending."""
    torsion_damping: NonNegative | None = None
    """Moment over rate of twist [N·m²·s]; by default in the same proportion to stiffness as
    bending."""
    drag: NonNegative | None = None
    """Drag force over velocity, of the whole segment [N·s/m]; only for motions of hydraulic
    arms."""
    rotational_drag: NonNegative | None = None
    """Drag moment over angular velocity, of the whole segment [N·m·s]; only for motions of
    hydraulic arms."""
    links: Count = DEFAULT_LINKS
    """Number of rigid links that represent it in a simulation."""
    discs: Annotated[int, Field(strict=True, ge=0, le=10_000)] = 0
    """Number of spacer discs in images."""

    @model_validator(mode="after")
    def _slender(self) -> Self:
        refuse_above(self.radius, self.length, "the length", "radius", " m")
        return self

    def damping_of(self, stiffness: float) -> float:
        """Compute the damping of a strain from its stiffness and the material's bending damping.

        Only with a bending stiffness.
        """
        assert self.bending_stiffness  # refused otherwise
        return self.damping / self.bending_stiffness * stiffness


class Tendon(Description):
    """A tendon along the segment that shortens its side."""

    type: Literal["tendon"] = "tendon"
    angle: Number
    """Angle of its path about the base z axis from x [rad]."""
    radius: Positive
    """Distance from the backbone [m]."""


class Chamber(Description):
    """A pressure chamber off the axis, which lengthens its side of the segment."""

    type: Literal["chamber"] = "chamber"
    angle: Number
    """Angle of its axis about the base z axis from x [rad]."""
    radius: Positive
    """Distance of its axis from the backbone [m]."""
    area: Positive
    """Effective area [m²]."""
    pressure_min: Number = 0.0
    """Lowest pressure [Pa]."""
    pressure_max: Number | None = None
    """Highest pressure [Pa]; unlimited by default."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        low, high = self.pressure_min, self.pressure_max
        refuse_above(low, high, "pressure_max", "pressure_min", " Pa")
        return self


BendableActuator = Annotated[Tendon | Chamber, Field(discriminator="type")]


class Bendable(Description):
    """A segment between two links that bends; z of its frame is the straight backbone."""

    name: Name
    parent: Name
    """Link before the segment."""
    child: Name
    """Link after it."""
    origin: Origin = Origin()
    """Base of the segment in the parent link's frame; the child link's frame is its end."""
    model: Literal["pcc", "ppc"] = "pcc"
    """``pcc``: constant curvature; ``ppc``: curvature is a polynomial of the arc length."""
    degree: Annotated[int, Field(strict=True, ge=0, le=9)] = 0
    """Degree of the polynomial of ``ppc``; 0 for ``pcc``."""
    frame: Literal["bishop", "webster"] = "bishop"
    """Convention of its end frame; see ``end_frame``."""
    limits: CurvatureLimits
    """Limits of its motion."""
    backbone: Backbone
    """Length, stiffness and discretisation."""
    actuation: tuple[BendableActuator, ...] = ()
    """Tendons or chambers."""
    inertial: Inertial | None = None
    """Mass and inertia."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.model == "pcc" and self.degree != 0:
            raise FieldError(f"expected 0 for model pcc, found {self.degree}", "degree")
        limits, length = self.limits, self.backbone.length
        if limits.kappa_max is not None and limits.theta_max is not None:
            bends = limits.kappa_max * length
            rounding = ANGLE_ROUNDING * (1.0 + length)  # of both limits
            if abs(bends - limits.theta_max) > LIMIT_TOLERANCE * limits.theta_max + rounding:
                raise FieldError(
                    f"expected theta_max = kappa_max · length = {bends:.9g} rad, "
                    f"found {limits.theta_max:.9g} rad",
                    *("limits", "theta_max"),
                )
        return self

    @model_validator(mode="after")
    def _actuators_apart(self) -> Self:
        kinds = {part.type for part in self.actuation}
        if len(kinds) > 1:
            raise FieldError("expected tendons or chambers, found both", "actuation")
        for (_, first), (index, second) in combinations(enumerate(self.actuation), 2):
            apart = math.remainder(second.angle - first.angle, math.tau)
            if abs(apart) < MIN_ANGLE:
                raise FieldError(
                    f"expected {second.type}s at different angles, "
                    f"found two at {second.angle:g} rad",
                    *("actuation", index, "angle"),
                )
        return self

    @property
    def end_frame(self) -> Literal["bishop", "webster"]:
        """Frame of its discs and its child link in physics, published frames and exported files.

        A ``webster`` frame rotates about the backbone with the bending plane. No body does, so it
        is used only where the plane is fixed; ``continuum.pcc.to_bishop`` converts the plane angles
        of a chain.
        """
        return self.frame if self.planar else "bishop"

    @property
    def kappa_max(self) -> float:
        """Largest curvature [1/m]."""
        if self.limits.kappa_max is not None:
            return self.limits.kappa_max
        assert self.limits.theta_max is not None  # one of the two is given
        return self.limits.theta_max / self.backbone.length

    @property
    def theta_max(self) -> float:
        """Largest bending angle [rad]."""
        return self.limits.theta_max or self.kappa_max * self.backbone.length

    @property
    def fold_ratio(self) -> float:
        """``kappa_max`` times the outer radius [–]: above 1 its inner side folds into itself."""
        return self.kappa_max * self.backbone.radius

    @property
    def planar(self) -> bool:
        """Whether the bending plane is fixed."""
        low, high = self.limits.phi_min, self.limits.phi_max
        return low is not None and high is not None and high - low <= ANGLE_ROUNDING


# Hydraulic systems of chambers.
class Screw(Description):
    """Screw that converts the torque of the motor to the force on the piston."""

    lead: Positive
    """Piston displacement per revolution [m]."""
    efficiency: Annotated[float, Field(strict=True, gt=0, le=1)] = 1.0
    """Power at the piston over power at the motor [–]."""
    torque_max: Positive | None = None
    """Largest torque of the motor [N·m]."""


class Piston(Description):
    """Piston of the cylinder that holds the water."""

    diameter: Positive
    """Diameter [m]."""
    mass: Positive
    """Mass with all parts that move with it [kg]."""
    damping: NonNegative = 0.0
    """Viscous friction [N·s/m]."""
    friction: NonNegative = 0.0
    """Dry friction, the same for sliding and sticking [N]."""
    length: Positive
    """Length of the water column in the cylinder [m]."""

    @property
    def area(self) -> float:
        """Area of the piston face [m²]."""
        return math.pi * self.diameter**2 / 4.0

    @property
    def volume(self) -> float:
        """Volume of the water in the cylinder [m³]."""
        return self.area * self.length


class Tube(Description):
    """Connection of a cylinder and a chamber."""

    diameter: Positive
    """Inner diameter [m]."""
    length: Positive
    """Length [m]."""
    flow: Literal["blasius", "laminar"] = "blasius"
    """``laminar``: Poiseuille's law at any flow; ``blasius``: Blasius' law for smooth pipes where
    the flow is turbulent."""

    @model_validator(mode="after")
    def _slender(self) -> Self:
        refuse_above(self.diameter, self.length, "the length", "diameter", " m")
        return self


class Fluid(Description):
    """Fluid in cylinder, tube and chamber; the defaults are those of water at 20 °C."""

    density: Positive = 998.0
    """Density [kg/m³]."""
    viscosity: Positive = 1.0e-3
    """Dynamic viscosity [Pa·s]."""
    bulk_modulus: Positive = 2.1e9
    """Bulk modulus [Pa]."""


class HydraulicDrive(Description):
    """Motor, screw, piston and tube of one chamber, the same for all chambers."""

    screw: Screw
    """Screw between motor and piston."""
    piston: Piston
    """Piston of the cylinder."""
    tube: Tube
    """Tube from the cylinder to the chamber."""
    fluid: Fluid = Fluid()
    """Fluid in all of them."""


class TipLoad(Description):
    """Force and moment on the end of the arm (Chen et al. 2022, eq 23)."""

    force: Vec3 = (0.0, 0.0, 0.0)
    """Force [N]."""
    moment: Vec3 = (0.0, 0.0, 0.0)
    """Moment [N·m]."""
    frame: Literal["tip", "base"] = "tip"
    """Frame of the components; the tip frame rotates with the tip, as in the paper."""


class Hydraulics(Description):
    """Hydraulic actuation of an arm whose sections have chambers."""

    segments: Count = 1
    """Number of circular arcs per section in the lumped model."""
    drive: HydraulicDrive
    """Drive of each chamber."""
    tip_load: TipLoad = TipLoad()
    """Load on the end of the arm."""
    gravity: Vec3 = HANGING
    """Gravity in the base frame [m/s²]."""
