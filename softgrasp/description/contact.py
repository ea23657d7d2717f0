"""Contact parameters in SI units: model, stiffness, damping, friction; and parts that adhere.

``Contact.model`` selects the meaning of the parameters (docs/contact.md): ``compliant``, a
Kelvin–Voigt contact F = K·δ + D·δ̇ (paper 004, eq 1 and Table 2); ``soft-finger``, the same with a
moment about the normal from a contact ``Patch``; ``native``, MuJoCo's contact with the parameters
of ``NativeLaw``. A hand, an object and a scene state a ``ContactOverride``, only what they specify;
``resolve_contact`` makes the ``Contact`` of a pair from these.

Suction cups and adhesive pads belong to a phalanx and have one actuator, a pressure. A
``SuctionCup`` has the lip of a cup of the quasi-static spring model of Mahler et al. (2018), with
as many vertices; an ``AdhesionPad`` is the whole surface of its phalanx, with the friction law of
Derjaguin (1934), Ft ≤ µ·(Fn + σ·A).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, model_validator

from softgrasp.description.actuation import Actuator
from softgrasp.description.base import Accepts, Description, FieldError, NonNegative, Positive, Vec3
from softgrasp.description.geometry import Part, Pose, Sphere

Fraction = Annotated[float, Field(gt=0, lt=1, strict=True)]


class Patch(Description):
    """The circular contact area of a soft finger and its pressure distribution.

    Its moment limit about the normal is k·µ·a·N, with k = 2/3 for uniform pressure and 3π/16 for a
    Hertz distribution (Howe and Cutkosky 1996, and ``mechanics.contact_stiffness``).
    """

    radius: Positive = 0.005
    """a, the same for every force [m]; ``sg.mechanics.hertz_patch_radius`` computes it from a
    force."""
    pressure: Literal["hertz", "uniform"] = "hertz"
    """Distribution of the pressure over the area."""


class NativeLaw(Description):
    """MuJoCo's contact parameters: reference acceleration, and impedance over penetration.

    Its stiffness in N/m follows from the masses in contact; it is measured, not set.
    """

    timeconst: Positive = 0.02
    """Time constant of the reference [s]; MuJoCo raises it to two time steps where it is
    shorter."""
    dampratio: Positive = 1.0
    """Damping ratio of the reference [–]."""
    impedance: tuple[
        Fraction, Fraction, Positive, Fraction, Annotated[float, Field(ge=1, strict=True)]
    ] = (0.9, 0.95, 0.001, 0.5, 2.0)
    """``solimp``: impedance at zero and at full penetration, full penetration in m, midpoint,
    power."""


class Contact(Description):
    """Contact parameters of two bodies with Coulomb friction.

    ``stiffness`` is the normal force over the penetration at rest of one contact point; a flat face
    has several. Where static and dynamic friction differ, a contact that slips faster than
    ``critical_velocity`` has the dynamic coefficient.
    """

    model: Literal["compliant", "soft-finger", "native"] = "compliant"
    """``compliant``: stiffness and damping. ``soft-finger``: with torsion by a contact area.
    ``native``: the parameters of MuJoCo."""
    stiffness: Positive = 1e5
    """Stiffness K [N/m]."""
    damping: Positive = 300.0
    """Damping D [N·s/m]."""
    static_friction: NonNegative = 0.5
    """Static friction coefficient µs [–]."""
    dynamic_friction: NonNegative | None = None
    """Dynamic coefficient µd [–]; the static one by default."""
    critical_velocity: Positive = 1e-3
    """Slip speed at which friction becomes dynamic [m/s]."""
    torsional_friction: NonNegative = 0.003
    """Moment about the normal over normal force [m]."""
    rolling_friction: NonNegative = 1e-4
    """Rolling moment over normal force [m]; used with contact dimension 6."""
    patch: Patch = Patch()
    """Contact area of the model ``soft-finger``; replaces ``torsional_friction``."""
    native: NativeLaw = NativeLaw()
    """Parameters of the model ``native``; replace ``stiffness`` and ``damping``."""

    @model_validator(mode="after")
    def _dynamic_not_above_static(self) -> Self:
        if self.dynamic_friction is not None and self.dynamic_friction > self.static_friction:
            raise FieldError(
                f"expected at most static_friction {self.static_friction:g}, "
                f"found {self.dynamic_friction:g}",
                "dynamic_friction",
            )
        return self

    @property
    def kinetic_friction(self) -> float:
        """Dynamic friction coefficient, by default equal to the static one [–]."""
        return self.static_friction if self.dynamic_friction is None else self.dynamic_friction

    @property
    def switches_friction(self) -> bool:
        """Return whether static and dynamic friction differ."""
        return self.kinetic_friction != self.static_friction

    @property
    def converted(self) -> bool:
        """Return whether stiffness and damping are in SI units, to be converted for each pair."""
        return self.model != "native"

    @property
    def largest_timestep(self) -> float:
        """D/(2K) [s]: above it a box on a slope rocks (measured, see docs/contact.md).

        For the native model half its time constant, below which MuJoCo changes it.
        """
        if not self.converted:
            return 0.5 * self.native.timeconst
        return self.damping / (2.0 * self.stiffness)


class ContactOverride(Description):
    """Contact parameters that one source specifies; None leaves a parameter to other sources.

    A ``Contact`` is converted: the fields that it was made with are specified, its defaults not.
    """

    model: Literal["compliant", "soft-finger", "native"] | None = None
    """As ``Contact.model``."""
    stiffness: Positive | None = None
    """Stiffness K [N/m]."""
    damping: Positive | None = None
    """Damping D [N·s/m]."""
    static_friction: NonNegative | None = None
    """µs [–]; who specifies it specifies µd, too: the same where ``dynamic_friction`` is None."""
    dynamic_friction: NonNegative | None = None
    """µd [–]."""
    critical_velocity: Positive | None = None
    """Slip speed at which friction becomes dynamic [m/s]."""
    torsional_friction: NonNegative | None = None
    """Moment about the normal over normal force [m]."""
    rolling_friction: NonNegative | None = None
    """Rolling moment over normal force [m]; used with contact dimension 6."""
    patch: Patch | None = None
    """Contact area of the model ``soft-finger``."""
    native: NativeLaw | None = None
    """Parameters of the model ``native``."""

    @property
    def specified(self) -> dict[str, Any]:
        """The fields that are not None, by their names."""
        return {name: value for name, value in self if value is not None}


def _override(value: Any) -> Any:
    if value is None:
        return ContactOverride()
    if isinstance(value, Contact):
        specified = {name: getattr(value, name) for name in value.model_fields_set}
        return ContactOverride(**specified)
    return value


SpecifiedContact = Accepts[
    Annotated[ContactOverride, BeforeValidator(_override)], Contact | ContactOverride | None
]
"""What a description specifies about its contact; from a ``Contact``, a mapping, or nothing."""


# From what several sources state


Source = Literal["pair", "said", "hand file", "object file", "material", "computed", "default"]
"""Who states a value: the contact of one pair (a further object, a surrounding body); the words of
a command, a scene file or Python (``said``); the files of hand and object; the material of the
object; a computation; nobody."""


class SourceValues(NamedTuple):
    """Contact parameters that one source states, by field; others are missing or None."""

    source: Source
    values: Mapping[str, Any]


class ResolvedField(NamedTuple):
    """A value, who states it, and the place of that source in their order, from 0."""

    value: Any
    source: Source
    rank: int


def resolve_fields(sources: Sequence[SourceValues]) -> dict[str, ResolvedField]:
    """Return every field of a contact from the first source, by rank, that states it.

    µs and µd belong together: where a source states µs, µd is not taken from one below it.
    """
    default = len(sources)
    fields = {name: ResolvedField(value, "default", default) for name, value in Contact()}
    for rank in reversed(range(default)):
        source, values = sources[rank]
        stated = {name: value for name, value in values.items() if value is not None}
        fields |= {name: ResolvedField(value, source, rank) for name, value in stated.items()}
    static = fields["static_friction"]
    if static.rank < fields["dynamic_friction"].rank:
        fields["dynamic_friction"] = static._replace(value=None)
    return fields


def resolve_contact(sources: Sequence[SourceValues]) -> Contact:
    """Merge the contact parameters of several sources, field by field.

    Args:
        sources: Sources in the order of their rank.

    Raises:
        DescriptionError: µd is above µs.
    """
    return Contact(**{name: field.value for name, field in resolve_fields(sources).items()})


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
