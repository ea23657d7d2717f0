"""What the finder asks of a hand: drives, fingers, and where its links are for given targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from softgrasp.description.drive import Actuator
from softgrasp.mechanics.transforms import Array


class DigitJoint(NamedTuple):
    """A joint of a finger that a drive moves."""

    actuator: int
    """Number of the drive; one that moves several joints of a finger is named at each."""
    body: str
    """The link that the joint moves."""
    axis: Array
    """Unit vector of a hinge in the frame of that link, (3,); zeros of a slide."""
    stiffness: float = np.inf
    """Of what holds a hinge where its drive wants it [N·m/rad]; infinite where it does not give."""


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
    weights: tuple[tuple[str, float, Array], ...] = ()
    """Links that hang on their joints, as their weight is not compensated: link, mass [kg], and
    centre of mass in its frame [m], (3,)."""


class ClosingHand(Protocol):
    """A hand that can be put in postures; all in one frame, called the hand's [m]."""

    @property
    def actuators(self) -> Sequence[Actuator]:
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

    @property
    def up(self) -> Array | None:
        """Unit vector against gravity, (3,); None where a hand is turned as long things lie."""

    def frames(self, targets: Array) -> Mapping[str, Array]:
        """Frames of the links for s postures, (s, 4, 4) each.

        Args:
            targets: One a drive, (s, nd).
        """
