"""Rigid fingers: chains of phalanges after Denavit and Hartenberg, or joints placed by poses.

Each ``Phalanx`` is one row of the parameter table of a ``Finger``: a joint and the link behind it.
The finger's ``convention`` determines the transform of a row. The joint variable q is added to
``theta`` of a revolute joint, or to ``d`` of a prismatic one:

- ``standard``: Rz(theta)·Tz(d)·Tx(a)·Rx(alpha); the joint axis is z of the previous frame
  (Siciliano et al. 2009).
- ``modified``: Rx(alpha)·Tx(a)·Rz(theta)·Tz(d); the joint axis is z of the row's frame (Craig
  2005).
- ``placed``: origin·Rz(q) or origin·Tz(q), as in URDF, but the joint axis is always z.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from softgrasp.description.base import (
    Description,
    FieldError,
    NonNegative,
    Number,
    Positive,
    Vec3,
    check_range,
    require_unique,
    short,
    text_with_unit,
)
from softgrasp.description.bendable import Inertial
from softgrasp.description.contact import Adhesion, AdhesionPad, SuctionCup
from softgrasp.description.geometry import Part, Pose, Shape

ZERO_LENGTH = 1e-9
"""Links shorter than this [m] have no body: their two joints are at one position."""
Convention = Literal["standard", "modified", "placed"]
"""Denavit–Hartenberg convention of the rows of a finger, or ``placed``; see the module."""


class Phalanx(Description):
    """A joint and the rigid link that it moves: one row of Denavit–Hartenberg parameters."""

    name: str = ""
    """Name of the link, unique in its finger; ``P1``, ``P2``, … by default."""
    a: Number = 0.0
    """Denavit–Hartenberg link length [m]."""
    alpha: Number = 0.0
    """Denavit–Hartenberg link twist [rad]."""
    d: Number = 0.0
    """Denavit–Hartenberg link offset; offset of the variable of a prismatic joint [m]."""
    theta: Number = 0.0
    """Denavit–Hartenberg joint angle; offset of the variable of a revolute joint [rad]."""
    origin: Pose = Pose()
    """Frame of the joint in the previous link's frame, with the joint axis as z; only for
    ``placed`` rows."""
    joint: Literal["revolute", "prismatic"] = "revolute"
    """Type of the joint."""
    joint_name: str = ""
    """Name of the joint, unique in its finger; ``J1``, ``J2``, … by default."""
    limits: tuple[Number, Number] = (0.0, math.pi / 2)
    """Lowest and highest joint variable [rad or m]."""
    start: Number = 0.0
    """Joint variable in the start posture, before the hand closes [rad or m]."""
    radius: Positive = 0.008
    """Radius of the capsule along the link [m]."""
    shape: Shape | None = None
    """Shape that replaces the capsule."""
    shape_pose: Pose = Pose()
    """Pose of ``shape`` in the link's frame, which is the joint's frame at zero rotated by
    ``theta``; for a mesh, the pose of the frame of its file."""
    adhesion: Adhesion | None = None
    """Suction cup or adhesive pad of the link, with an actuator of its own."""
    parts: Annotated[tuple[Part, ...], Field(validate_default=True)] = ()
    """Additional shapes of the link; a link with parts has no capsule. Those of the lip of a
    suction cup are added."""
    bodies: tuple[str, ...] = ()
    """Only in a hand with an MJCF model: bodies of that model that belong to this link and can
    touch the object; the model defines their shapes."""
    inertial: Inertial | None = None
    """Mass, centre of mass and inertia in the link's frame; computed from the shape by default."""
    mass: Positive | None = None
    """Mass of the link [kg]; exactly one of ``mass``, ``density`` and ``inertial``."""
    density: Positive | None = None
    """Density of the link [kg/m³]."""
    driven: bool = True
    """Whether the joint has an actuator; without one it follows another joint
    (``Hand.couplings``) or is passive."""
    stiffness: NonNegative = 0.0
    """Stiffness of a spring in the joint [N·m/rad or N/m]."""
    rest_angle: Number = 0.0
    """Joint variable at which the spring is relaxed [rad or m]."""
    servo_stiffness: Positive = 6.0
    """Position gain kp of the joint's servo [N·m/rad or N/m]."""
    servo_damping_ratio: NonNegative = 1.0
    """Damping ratio of the servo and the inertia that it moves [–]."""
    force_limit: Positive = 1.2
    """Largest torque or force of the servo [N·m or N]."""
    damping: NonNegative = 0.01
    """Viscous friction in the joint [N·m·s/rad or N·s/m]."""
    friction_loss: NonNegative = 0.0
    """Dry friction in the joint [N·m or N]."""
    armature: NonNegative = 3e-3
    """Reflected inertia of the actuator [kg·m² or kg]."""

    @field_validator("parts")
    @classmethod
    def _with_lip(cls, parts: tuple[Part, ...], info: ValidationInfo) -> tuple[Part, ...]:
        cup = info.data.get("adhesion")
        lip = cup.lip if isinstance(cup, SuctionCup) else ()
        return (*(part for part in parts if part not in lip), *lip)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.mass is not None and self.density is not None:
            raise ValueError("expected exactly one of mass and density, found both")
        if self.inertial is not None and (self.mass, self.density) != (None, None):
            raise ValueError("expected either inertial, or mass or density; found both")
        check_range(self.limits, self.start, self.format_values)
        return self

    @property
    def unit(self) -> str:
        """Unit of the joint variable: rad or m."""
        return "rad" if self.joint == "revolute" else "m"

    def format_values(self, *values: float) -> str:
        """Format joint variables with their unit, and angles also in degrees."""
        return text_with_unit(self.unit, values)


class Finger(Description):
    """A chain of phalanges from the palm outwards."""

    name: str
    """Name of the finger, unique in its hand."""
    base: Pose = Pose()
    """Frame of the first row in the frame of the hand, or of the body ``on``."""
    on: str = ""
    """Name of the body of an earlier finger to which the base is fixed; the palm by default."""
    convention: Convention
    """Denavit–Hartenberg convention of the rows, or ``placed``; there is no default."""
    phalanges: tuple[Phalanx, ...]
    """Joints and links from the palm outwards."""
    tip: Vec3 = (0.0, 0.0, 0.0)
    """End of the last link in the last frame [m]; required for ``modified`` and ``placed`` rows,
    which do not define the length of the last link."""
    verbatim_names: bool = False
    """Whether the names of bodies and joints omit the name of the finger as prefix."""

    @field_validator("phalanges", mode="before")
    @classmethod
    def _name_rows(cls, value: Any) -> Any:
        if value is not None and not isinstance(value, list | tuple):
            raise ValueError(f"expected a list of phalanges, found {short(value)}")
        if not value:
            raise ValueError("expected at least one phalanx, found none")
        return [_name(row, index) for index, row in enumerate(value, start=1)]

    @model_validator(mode="after")
    def _unique_names(self) -> Self:
        for kind in ("name", "joint_name"):
            names = ((getattr(r, kind), ("phalanges", k)) for k, r in enumerate(self.phalanges))
            require_unique(names, f"phalanx {kind}")
        return self

    @model_validator(mode="after")
    def _bodies_have_mass(self) -> Self:
        if self.convention == "standard" and self.tip != (0.0, 0.0, 0.0):
            raise FieldError(
                "expected no tip with convention 'standard', whose last row already ends at "
                f"the fingertip; found {self.tip}",
                "tip",
            )
        bare = not self.verbatim_names and all(row.inertial is None for row in self.phalanges)
        if not any(self.has_body) and bare:
            message = "at least one phalanx, found only rows of zero length without a body"
            raise ValueError(f"expected {message}")
        for index, (row, body) in enumerate(zip(self.phalanges, self.has_body, strict=True)):
            if body and row.mass is None and row.density is None and row.inertial is None:
                message = "expected exactly one of mass and density, found neither"
                raise FieldError(message, "phalanges", index)
        return self

    @model_validator(mode="after")
    def _rows_of_their_convention(self) -> Self:
        for index, row in enumerate(self.phalanges):
            rows_of_dh = any((row.a, row.alpha, row.d, row.theta))
            if self.convention == "placed" and rows_of_dh:
                raise FieldError(
                    "expected only an origin in a row of convention 'placed', "
                    "found a, alpha, d or theta",
                    *("phalanges", index),
                )
            if self.convention != "placed" and row.origin != Pose():
                raise FieldError(
                    f"expected no origin with convention '{self.convention}', found one",
                    *("phalanges", index, "origin"),
                )
        return self

    def body_of(self, row: Phalanx) -> str:
        """Return the name of the body of a phalanx: ``F1_P2``."""
        return row.name if self.verbatim_names else f"{self.name}_{row.name}"

    def joint_of(self, row: Phalanx) -> str:
        """Return the name of the joint of a phalanx, and of its actuator: ``F1_J2``."""
        return row.joint_name if self.verbatim_names else f"{self.name}_{row.joint_name}"

    def bodies_of(self, row: Phalanx) -> tuple[str, ...]:
        """Return the bodies of a phalanx that can touch; several only in MJCF models."""
        if row.bodies:
            return row.bodies
        return (self.body_of(row),) if self.has_body[self.phalanges.index(row)] else ()

    @cached_property
    def adhesions(self) -> tuple[tuple[str, SuctionCup | AdhesionPad], ...]:
        """Suction cups and adhesive pads, with the bodies that carry them."""
        rows = ((self.body_of(row), row.adhesion) for row in self.phalanges)
        return tuple((body, adhesion) for body, adhesion in rows if adhesion is not None)

    @cached_property
    def link_ends(self) -> tuple[Vec3, ...]:
        """End of each link in its own frame [m]: the origin of the next joint, or the tip.

        A link's frame lies at its joint, z along the joint axis, and moves with the joint.
        """
        rows = self.phalanges
        if self.convention == "standard":
            return tuple((row.a, 0.0, row.d) for row in rows)
        if self.convention == "placed":
            return (*(row.origin.position for row in rows[1:]), self.tip)
        angles = [(row, math.sin(row.alpha), math.cos(row.alpha)) for row in rows[1:]]
        return (*((row.a, -sin * row.d, cos * row.d) for row, sin, cos in angles), self.tip)

    @cached_property
    def has_body(self) -> tuple[bool, ...]:
        """Return whether each phalanx has a body that can touch: a shape, or its default capsule.

        A row with ``inertial`` has only its specified shapes, and no capsule.
        """
        return tuple(
            bool(row.shape or row.parts or row.bodies)
            or (row.inertial is None and math.hypot(*end) > ZERO_LENGTH)
            for row, end in zip(self.phalanges, self.link_ends, strict=True)
        )


def _name(row: Any, index: int) -> Any:
    """Fill in default names of body and joint of a phalanx."""
    names = {"name": f"P{index}", "joint_name": f"J{index}"}
    if isinstance(row, Phalanx):
        return row.replace(**{key: getattr(row, key) or name for key, name in names.items()})
    if isinstance(row, dict):
        return row | {key: row.get(key) or name for key, name in names.items()}
    return row
