"""Soft fingers as rigid links with springs, and their mounting on a hand.

A ``SoftFinger`` is what a continuum becomes after discretisation (``continuum.rld``): a chain of
``SoftJoint`` and ``SoftLink``, straight along +x from its base, z up; positive angles bend towards
−z. A ``MountedSoftFinger`` is one of a hand, driven by one pressure.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.actuation import Actuator
from softgrasp.description.base import (
    Description,
    FieldError,
    NonNegative,
    Number,
    Positive,
    Vec3,
    Vec4,
    check_range,
    listed,
)
from softgrasp.description.geometry import Pose
from softgrasp.units import LengthUnit

SmallMass = Annotated[float, Field(strict=True, gt=0)]
"""A mass: any positive number."""
LEFT = 7.0
"""Time constants after which a thousandth of a change is left [–]."""
Freedom = Literal["stretch", "twist", "y", "z"]
"""A degree of freedom of a joint: stretch along x, twist about x, bending about y (in the plane) or
z."""


class SoftJoint(Description):
    """A joint at which the finger bends."""

    position: Vec3
    """Position in the straight, unloaded finger [m]."""
    stiffness: Positive
    """Stiffness of its spring [N·m/rad]."""
    damping: NonNegative = 0.0
    """Damping [N·m·s/rad]; twist and stretch have the same damping over stiffness."""
    pressure_gain: Number = 0.0
    """Bending moment over pressure [N·m/Pa]; ``alpha`` of paper 000 (eq 6)."""
    tendon_arm: Number = 0.0
    """Bending moment over tension [m]: distance of the tendon from the axis, on the −z side."""
    pressure_area: Number = 0.0
    """Force along the finger over pressure [m²]; it lengthens a joint with ``axial_stiffness``."""
    tendon_pull: NonNegative = 0.0
    """Force along the finger over tension: the number of tendons; it shortens such a joint."""
    torsion_stiffness: Positive | None = None
    """Stiffness about the finger's axis [N·m/rad]; infinite by default."""
    axial_stiffness: Positive | None = None
    """Stiffness along the finger's axis [N/m]; infinite by default."""


class SoftLink(Description):
    """A rigid link of the finger; ``links[0]`` is fixed to the base."""

    center: Vec3
    """Centre of its box in the straight finger [m]."""
    mass: SmallMass
    """Mass [kg]; any above zero."""
    size: tuple[Positive, Positive, Positive]
    """Edges of its visible and collision box [m]."""
    mass_center: Vec3 | None = None
    """Centre of mass in the straight finger [m]; the centre of the box by default."""

    @property
    def balance(self) -> Vec3:
        """Centre of mass in the straight finger, by default the link's centre [m]."""
        return self.center if self.mass_center is None else self.mass_center


class FingerMesh(Description):
    """The mesh from which a finger was made, and how it was read."""

    file: str
    """STL, OBJ, PLY, GLB or OFF file: an absolute path, or a path relative to the library."""
    sha256: str
    """Hash of the file when it was read."""
    units: LengthUnit = "m"
    """Unit of the numbers in the file."""
    axis: Vec3 | None = None
    """Direction of the finger in the frame of the file; detected by default."""
    up: Vec3 | None = None
    """Direction in the file away from which the finger bends; detected by default."""
    base: Literal["auto", "start", "end"] | Vec3 = "auto"
    """Clamped end: the lower or higher coordinate along the axis, or a point near it [m]."""
    valleys: int | tuple[Number, ...] | None = None
    """Number of valleys, or their positions from the base [m]; detected by default."""
    cells: int | None = None
    """Number of equal cells into which the finger is divided instead."""
    notes: tuple[str, ...] = ()
    """What had to be assumed or repaired, with the options that state it."""


class PressureLag(Description):
    """Lag of a finger's pressure behind the commanded one: valve, hose and chamber, of first order.

    After ``dead_time`` the pressure approaches the command with the time constant of filling while
    it rises, and with that of venting while it falls.
    """

    fill_time: Positive
    """Time constant while the pressure rises [s]."""
    vent_time: Positive | None = None
    """Time constant while it falls [s]; that of filling by default."""
    dead_time: NonNegative = 0.0
    """Time after which the pressure begins to follow [s]; in runs whole control samples."""

    @property
    def vent(self) -> float:
        """Time constant while the pressure falls [s]."""
        return self.vent_time or self.fill_time

    @property
    def settling(self) -> float:
        """Time after which a thousandth of a change is left [s]."""
        return self.dead_time + LEFT * max(self.fill_time, self.vent)


class SoftFinger(Description):
    """A chain of ``n`` joints and ``n + 1`` links from the base outwards."""

    name: Annotated[str, Field(min_length=1)] = "finger"
    joints: Annotated[tuple[SoftJoint, ...], Field(min_length=1)]
    """Joints from the base to the tip."""
    links: tuple[SoftLink, ...]
    """Rigid links: one before the first joint, one after each."""
    tip: Vec3
    """End of the straight finger [m]."""
    planar: bool = True
    """Whether it bends in the x–z plane only; otherwise about y and z at every joint."""
    stiffness_pressure: Number = 0.0
    """Increase of the bending stiffness of every joint over pressure, relative [1/Pa]:
    k(P) = k·(1 + s·P)."""
    pressure_lag: PressureLag | None = None
    """Lag of the pressure in runs of grasps and in environments; none by default."""
    source: str = ""
    """Source of the numbers."""
    mesh: FingerMesh | None = None
    """Mesh from which it was made, for figures only."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if len(self.links) != len(self.joints) + 1:
            raise FieldError(
                f"expected {len(self.joints) + 1} links for {len(self.joints)} joints, "
                f"found {len(self.links)}",
                "links",
            )
        along = [joint.position[0] for joint in self.joints]
        for index, (before, after) in enumerate(pairwise(along), start=1):
            if after <= before:
                raise FieldError(
                    f"expected joints in order from the base, found x = {after:g} m after "
                    f"{before:g} m",
                    *("joints", index, "position"),
                )
        return self

    @property
    def freedoms(self) -> tuple[tuple[int, Freedom], ...]:
        """Coordinates from the base on: index of the joint, and its degree of freedom.

        Rotations about different axes do not commute, so every other joint has its freedoms in the
        opposite order: the errors of two neighbours then cancel to second order.
        """
        freedoms: list[tuple[int, Freedom]] = []
        for index, joint in enumerate(self.joints):
            there: dict[Freedom, bool] = {
                "stretch": joint.axial_stiffness is not None,
                "twist": joint.torsion_stiffness is not None,
                "y": True,
                "z": not self.planar,
            }
            axes = [axis for axis, stiffness in there.items() if stiffness]
            freedoms += [(index, axis) for axis in axes[:: -1 if index % 2 else 1]]
        return tuple(freedoms)

    def at_pressure(self, pressure: float) -> SoftFinger:
        """Return the finger with its bending stiffness at a pressure [Pa], which is then constant.

        Raises:
            DescriptionError: A stiffness is not above 0.
        """
        if not self.stiffness_pressure:
            return self
        factor = 1.0 + self.stiffness_pressure * pressure
        joints = tuple(joint.replace(stiffness=factor * joint.stiffness) for joint in self.joints)
        return self.replace(joints=joints, stiffness_pressure=0.0)

    @property
    def compliance(self) -> float:
        """Sum of 1/k over all joints [rad/(N·m)], equal to L/EI of the represented beam."""
        return sum(1.0 / joint.stiffness for joint in self.joints)

    @property
    def bending(self) -> float:
        """Bending angle over small pressures of the free finger without weight [rad/Pa]."""
        return sum(joint.pressure_gain / joint.stiffness for joint in self.joints)


class MountedSoftFinger(Description):
    """A soft finger of a hand, driven by one pressure.

    Its bodies are called ``L0``, ``L1``, … from the palm outwards, its joints ``J1``, ``J2``, ….
    """

    name: str
    base: Pose = Pose()
    """Frame of the finger in the hand's frame: the finger lies along x and bends towards −z under
    pressure."""
    finger: SoftFinger
    """The finger; in files also its name or file."""
    limits: tuple[Number, Number] = (0.0, 100e3)
    """Lowest and highest gauge pressure [Pa]."""
    start: Number = 0.0
    """Pressure from which the hand closes [Pa]."""
    rgba: Vec4 | None = None
    """Colour in images, each part 0…1."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_range(self.limits, self.start, self.format_values)
        if min(1.0 + self.finger.stiffness_pressure * end for end in self.limits) <= 0.0:
            raise FieldError(
                "expected a stiffness above 0 within the limits of the pressure, found "
                f"{self.finger.stiffness_pressure:g} 1/Pa and {self.format_values(*self.limits)}",
                *("finger", "stiffness_pressure"),
            )
        if not any(joint.pressure_gain for joint in self.finger.joints):
            raise FieldError(
                "expected a pressure_gain other than zero in at least one joint, found none",
                *("finger", "joints"),
            )
        return self

    def format_values(self, *values: float) -> str:
        """Format pressures with their unit."""
        return f"{listed(values)} Pa"

    @property
    def as_actuator(self) -> Actuator:
        """Make the actuator of the finger's pressure, which continues through contact."""
        name, label = f"{self.name}_pressure", f"pressure of '{self.name}'"
        return Actuator(name, label, "Pa", self.limits, self.start)

    @property
    def length(self) -> float:
        """Distance from the base to the tip of the straight finger [m]."""
        return self.finger.tip[0]
