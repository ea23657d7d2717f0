"""A soft finger as rigid links with springs: what a continuum becomes after discretisation."""

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

Tiny = Annotated[float, Field(strict=True, gt=0)]
Freedom = Literal["stretch", "twist", "y", "z"]
"""A way in which a joint gives: along x, about x, about y (bending in the plane), about z."""


class SoftJoint(Description):
    """A point at which the finger bends.

    Positions are those of the straight, unloaded finger: base at the origin, the finger along +x,
    z up. A positive angle bends towards −z.
    """

    position: Vec3
    """[m]"""
    stiffness: Positive
    """[N·m/rad]"""
    damping: NonNegative = 0.0
    """[N·m·s/rad]; twist and stretch lose as large a part: the same damping over stiffness."""
    pressure_gain: Number = 0.0
    """Bending moment over pressure [N·m/Pa]; ``alpha`` of paper 000 (eq 2)."""
    tendon_arm: Number = 0.0
    """Bending moment over tension [m]: how far the tendon runs from the axis, on the −z side."""
    pressure_area: Number = 0.0
    """Force along the finger over pressure [m²]; lengthens a joint that gives way."""
    tendon_pull: NonNegative = 0.0
    """Force along the finger over tension: the number of tendons; shortens such a joint."""
    torsion_stiffness: Positive | None = None
    """About the finger's own axis [N·m/rad]; stiff where not given."""
    axial_stiffness: Positive | None = None
    """Along it [N/m]; stiff where not given."""


class SoftLink(Description):
    """A rigid piece of the finger; ``links[0]`` is fixed to the base."""

    center: Vec3
    """Middle of its box in the straight finger [m]."""
    mass: Tiny
    """[kg]; any mass above zero."""
    size: tuple[Positive, Positive, Positive]
    """Edges of the box that shows and touches [m]."""
    mass_center: Vec3 | None = None
    """Centre of mass in the straight finger [m]; the middle of the box where not given."""

    @property
    def balance(self) -> Vec3:
        """Where its weight acts in the straight finger [m]."""
        return self.center if self.mass_center is None else self.mass_center


class SoftFinger(Description):
    """A chain of ``n`` joints and ``n + 1`` links from the base outwards."""

    name: Annotated[str, Field(min_length=1)] = "finger"
    joints: Annotated[tuple[SoftJoint, ...], Field(min_length=1)]
    links: tuple[SoftLink, ...]
    tip: Vec3
    """End of the straight finger [m]."""
    planar: bool = True
    """Whether it bends in the x–z plane only; else about y and z at every joint."""
    source: str = ""
    """Where the numbers come from."""

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
                    "joints",
                    index,
                    "position",
                )
        return self

    @property
    def freedoms(self) -> tuple[tuple[int, Freedom], ...]:
        """Coordinates from the base on: the joint's number, from 0, and how it gives.

        Turns about different axes do not commute, so every other joint takes its ways in the
        opposite order: what two neighbours do too much cancels to second order.
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

    @property
    def compliance(self) -> float:
        """Sum of 1/k over all joints [rad/(N·m)]; L/EI of the beam that it stands for."""
        return sum(1.0 / joint.stiffness for joint in self.joints)


# --------------------
# A soft finger as a hand carries it: where it stands, and which pressures drive it.


class MountedSoftFinger(Description):
    """A soft finger of a hand, driven by one pressure.

    Its bodies are called ``L0``, ``L1``, … from the palm outwards, its joints ``J1``, ``J2``, ….
    """

    name: str
    base: Pose = Pose()
    """Frame of the finger in the hand's: it lies along x and bends towards −z under pressure."""
    finger: SoftFinger
    limits: tuple[Number, Number] = (0.0, 100e3)
    """Lowest and highest gauge pressure [Pa]."""
    start: Number = 0.0
    """Pressure from which the hand closes [Pa]."""
    rgba: Vec4 | None = None
    """Colour in pictures, each part 0…1."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_range(self.limits, self.start, self.format_values)
        if not any(joint.pressure_gain for joint in self.finger.joints):
            raise FieldError(
                "expected a pressure_gain other than zero in at least one joint, found none",
                "finger",
                "joints",
            )
        return self

    def format_values(self, *values: float) -> str:
        """Pressures as a sentence shows them."""
        return f"{listed(values)} Pa"

    @property
    def as_actuator(self) -> Actuator:
        """Its pressure, which goes on through contact: it is what grips."""
        name, label = f"{self.name}_pressure", f"pressure of '{self.name}'"
        return Actuator(name, label, "Pa", self.limits, self.start)

    @property
    def length(self) -> float:
        """From the base to the tip of the straight finger [m]."""
        return self.finger.tip[0]
