"""Parts of a hand that hold by adhesion: suction cups and adhesive pads.

Both belong to a phalanx and have one actuator, a pressure. A ``SuctionCup`` has the lip of a cup of
the quasi-static spring model of Mahler et al. (2018), with as many vertices; an ``AdhesionPad`` is
the whole surface of its phalanx, with the friction law of Derjaguin (1934), Ft ≤ µ·(Fn + σ·A).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field

from softgrasp.description.actuation import Actuator
from softgrasp.description.base import Description, NonNegative, Positive, Vec3
from softgrasp.description.geometry import Part, Pose, Sphere

MIN_INERTIA = 1e-7
"""Inertia of the joints of bellows besides that of what they move [kg or kg·m²]."""
ATMOSPHERE = 101_325.0
"""Standard pressure of the air [Pa]."""
LIP_POINTS = 8
"""Vertices of the lip of a cup (Mahler et al. 2018)."""


class SuctionCup(Description):
    """The lip of a suction cup at the end of a phalanx, whose other joints are its bellows.

    The lip is a ring of small balls, which alone touch. It seals where every ball is on one body,
    no spring of the cup is strained beyond ``max_strain``, and nothing protrudes through the cone
    behind the lip. The difference of pressure then approaches the target of its actuator, and pulls
    with pressure times area. The seal breaks where the lip opens by ``gap``, slides, or bends with
    more than ``moment_limit``.
    """

    type: Literal["suction"] = "suction"
    diameter: Positive
    """Diameter of the lip [m]."""
    depth: Positive
    """Height of the cone inside the lip [m]."""
    pressure: Annotated[Positive, Field(le=ATMOSPHERE)]
    """Largest difference of pressure, at most that of a vacuum [Pa]."""
    time_constant: NonNegative = 0.02
    """Time constant of the difference of pressure [s]."""
    thickness: Positive = 1e-3
    """Radius of the balls of the lip [m]."""
    max_strain: Positive = 0.1
    """Largest change of length of a spring of a sealed cup [–]; that of Mahler et al. (2018)."""
    gap: Positive = 2e-4
    """Opening of the lip from which it leaks [m]."""
    moment_limit: Positive | None = None
    """Largest moment of the lip across its axis [N·m], π·r·κ of Mahler et al. (2018); by default
    only the opening of the lip limits it, which begins at half of normal force times radius."""
    position: Vec3 = (0.0, 0.0, 0.0)
    """Centre of the lip in the frame of its phalanx, whose z axis points to the object [m]."""

    @property
    def radius(self) -> float:
        """Radius of the lip [m]."""
        return 0.5 * self.diameter

    @property
    def area(self) -> float:
        """Area inside the lip [m²]."""
        return math.pi * self.radius**2

    @property
    def reach(self) -> float:
        """Distance over which adhesion acts [m]."""
        return self.gap

    @cached_property
    def lip(self) -> tuple[Part, ...]:
        """Balls of the lip in the frame of the phalanx; they touch the plane of the lip."""
        ball, (x, y, z) = Sphere(radius=self.thickness), self.position
        angles = (math.tau * index / LIP_POINTS for index in range(LIP_POINTS))
        around = (
            (self.radius * math.cos(angle), self.radius * math.sin(angle)) for angle in angles
        )
        centres = ((x + along, y + across, z - self.thickness) for along, across in around)
        return tuple(Part(shape=ball, pose=Pose(position=centre)) for centre in centres)


class AdhesionPad(Description):
    """A surface of a phalanx that adheres, by electro-adhesion or as the toe of a gecko.

    Adhesion pulls with ``pressure`` times ``area`` along the contact normals, evenly over the
    contact points; so friction bears µ·(Fn + σ·A) (Derjaguin 1934).
    """

    type: Literal["pad"] = "pad"
    area: Positive
    """Area that adheres [m²]; all of it as soon as the phalanx touches."""
    pressure: Positive
    """Largest adhesion σ [Pa]."""
    time_constant: NonNegative = 0.0
    """Time constant of the adhesion [s]."""
    reach: Positive = 1e-4
    """Distance over which adhesion acts [m]."""


class Bellows(Description):
    """Compliance of a suction cup between its last rigid link and its lip, as passive joints."""

    axial: Positive
    """Stiffness along the axis [N/m]."""
    shear: Positive
    """Stiffness across the axis, in both directions [N/m]."""
    bending: Positive
    """Stiffness about the two axes across [N·m/rad]."""
    stroke: Positive
    """Largest compression, and half of it the largest extension and shear [m]."""
    tilt: Positive
    """Largest angle about each axis across [rad]."""
    loss_time: Positive = 2e-3
    """Damping over stiffness of every joint [s]."""

    def rows(self, lip: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the fields of the phalanges of bellows, the lip last, with lengths in m.

        Args:
            lip: Fields of the phalanx with the lip; its joint becomes the axial one.
        """
        name, half = lip.get("name", "lip"), 0.5 * self.stroke
        slide, hinge = (-half, half), (-self.tilt, self.tilt)
        joints = (  # each frame in the previous one, so that axes are x, y, x, y, z of the first
            ("shear_x", "prismatic", (0, 90, 0), slide, self.shear),
            ("shear_y", "prismatic", (-90, 0, 0), slide, self.shear),
            ("bend_x", "revolute", (90, 0, 0), hinge, self.bending),
            ("bend_y", "revolute", (-90, 0, 0), hinge, self.bending),
            ("", "prismatic", (0, -90, 0), (-self.stroke, half), self.axial),
        )
        start = Pose.model_validate(lip.get("origin") or {}).position
        rows: list[dict[str, Any]] = [
            {
                "name": f"{name}_{part}" if part else name,
                "joint": joint,
                "driven": False,
                "origin": Pose.from_euler(euler, degrees=True),
                "limits": limits,
                "stiffness": stiffness,
                "damping": self.loss_time * stiffness,
                "armature": MIN_INERTIA,
            }
            for part, joint, euler, limits, stiffness in joints
        ]
        rows[0]["origin"] = Pose.from_euler(joints[0][2], start, degrees=True)
        others = {"origin", "bellows", "joint", "driven", "limits", "stiffness", "damping"}
        rows[-1] |= {key: value for key, value in lip.items() if key not in others}
        return rows


Adhesion = Annotated[SuctionCup | AdhesionPad, Field(discriminator="type")]
"""Either of them, selected by ``type``."""


def adhesion_actuator(body: str, adhesion: SuctionCup | AdhesionPad) -> Actuator:
    """Make the actuator of the pressure of a cup or pad, which continues through contact."""
    limits = (0.0, adhesion.pressure)
    return Actuator(f"{body}_adhesion", f"adhesion of '{body}'", "Pa", limits, 0.0)
