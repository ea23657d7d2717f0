"""What a result tells of contacts: changes, histories, what was set and what measured."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from softgrasp.description.base import Description, Vec3
from softgrasp.description.contact import Contact


class ContactEvent(Description):
    """A change of contact between a body of the hand and objects, at a control sample.

    A body that touches several objects has one event; it tells of the one that it presses hardest.
    """

    time_s: float
    body: str
    finger: str
    """Empty for the palm."""
    phalanx: str
    """Empty for the palm."""
    kind: Literal["touching", "established", "lost"]
    object: str | None = None
    """Name of the object; of a lost contact the last one. None in results that do not tell."""
    point_m: Vec3 | None = None
    """Centre of pressure in the world; None where a lost contact has no point any more."""
    normal: Vec3 | None = None
    """Unit normal into the object."""
    normal_force_N: float = 0.0
    friction_force_N: float = 0.0
    slip_speed_m_s: float = 0.0
    separation_m: float | None = None
    """Negative where the bodies overlap."""


class BodyContact(Description):
    """The contact history of one body of the hand; forces are those at the end.

    Of several objects that a body touches, they are those on the one that it presses hardest.
    """

    body: str
    finger: str
    phalanx: str
    object: str | None = None
    """Name of the object that it touches, or touched last; None where it never did."""
    first_touch_s: float | None
    established_s: tuple[float, ...]
    lost_s: tuple[float, ...]
    normal_force_N: float
    friction_force_N: float
    point_m: Vec3 | None
    normal: Vec3 | None
    slip_speed_m_s: float

    @property
    def in_contact(self) -> bool:
        """Whether contact is established at the end."""
        return len(self.established_s) > len(self.lost_s)


class OtherContact(Description):
    """A contact at the end that is none of the hand with an object."""

    first: str
    """Name of an object, or body of the hand."""
    second: str
    """Name of a later object, or of what stands around."""
    point_m: Vec3
    """Centre of pressure in the world."""
    normal: Vec3
    """Unit normal into the second one."""
    normal_force_N: float
    """Sum over its points."""
    friction_force_N: float
    """Sum over its points."""
    force_N: Vec3
    """Whole force on the second one in the world; the first one feels the opposite."""
    separation_m: float
    """Negative where the two overlap; the deepest point's."""


class ContactModel(Description):
    """Which contact was asked for, which one was set, and what was measured at the end."""

    asked: Contact
    used: Contact
    """As asked, or softer where the time step could not honour it and that was allowed."""
    measured_stiffness_N_m: dict[str, float]
    """Normal force over penetration of each pair in contact at the end."""
    set_stiffness_N_m: dict[str, float] = Field(default_factory=dict)
    """What was set for these pairs, where it is not the scene's contact for all."""

    integrator: str
    timestep_s: float

    def set_stiffness(self, pair: str) -> float:
        """What was set for a pair [N/m]."""
        return self.set_stiffness_N_m.get(pair, self.used.stiffness)
