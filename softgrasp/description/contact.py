"""Contact parameters in SI units: contact model, stiffness, damping and friction.

``Contact.model`` selects the meaning of the parameters (docs/contact.md): ``compliant``, a
Kelvin–Voigt contact F = K·δ + D·δ̇ (paper 004, eq 1 and Table 2); ``soft-finger``, the same with a
moment about the normal from a contact ``Patch``; ``native``, MuJoCo's contact with the parameters
of ``NativeLaw``. A hand, an object and a scene state a ``ContactOverride``, only what they specify;
``resolve_contact`` makes the ``Contact`` of a pair from these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import BeforeValidator, Field, model_validator

from softgrasp.description.base import Accepts, Description, FieldError, NonNegative, Positive

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
    ] = (
        0.9,
        0.95,
        0.001,
        0.5,
        2.0,
    )
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
    """Return every field of a contact from the first source that states it.

    µs and µd belong together: where a source states µs, µd is not taken from one below it.

    Args:
        sources: Sources in the order of their rank; the defaults come after them.
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
    return Contact(**{name: one.value for name, one in resolve_fields(sources).items()})
