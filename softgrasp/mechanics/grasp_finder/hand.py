"""What the finder asks of a hand: drives, fingers, and where its links are for given targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from softgrasp.description.drive import Drive
from softgrasp.mechanics.transforms import Array


class DigitJoint(NamedTuple):
    """A joint of a finger that a drive moves."""

    drive: int
    """Number of the drive; one that moves several joints of a finger is named at each."""
    body: str
    """The link that the joint moves."""
    axis: Array
    """Unit vector of a hinge in the frame of that link, (3,); zeros of a slide."""


class Digit(NamedTuple):
    """A finger as far as it stands on nothing that all fingers share."""

    name: str
    joints: tuple[DigitJoint, ...]
    """From the palm outwards."""
    bodies: tuple[str, ...]
    """Links with a surface, from the palm outwards; the last one carries the tip."""
    tip_body: str
    tip: Array
    """The end in the frame of ``tip_body`` [m], (3,)."""


class ClosingHand(Protocol):
    """A hand that can be put in postures; all in one frame, called the hand's [m]."""

    @property
    def drives(self) -> Sequence[Drive]:
        """Everything that commands the hand; drives of no finger stand still."""

    @property
    def rest(self) -> Sequence[float]:
        """Targets of the posture that the hand is described in."""

    @property
    def digits(self) -> Sequence[Digit]:
        """Its fingers."""

    @property
    def skins(self) -> Mapping[str, Array]:
        """Points on the surface of each link of a finger, in the frame of the link, (n, 3)."""

    @property
    def palm(self) -> Array:
        """Points on and in what no finger's drive moves, the hand at rest, (n, 3); may be none."""

    @property
    def middle(self) -> Array:
        """Middle of the palm, (3,)."""

    def frames(self, targets: Array) -> Mapping[str, Array]:
        """Frames of the links for s postures, (s, 4, 4) each.

        Args:
            targets: One a drive, (s, nd).
        """
