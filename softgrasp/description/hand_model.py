"""A hand that somebody has modelled already: its MJCF file, and what of it moves and can touch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from softgrasp.description.base import Description, NonNegative, Number, Positive
from softgrasp.description.drive import Actuator
from softgrasp.description.pose import Pose

Name = Annotated[str, Field(min_length=1)]


class Move(Description):
    """How a drive places a joint where nothing resists: variable = ``ratio`` · target + ``at``."""

    joint: Name
    ratio: Number
    """[rad or m per unit of the target]"""
    at: Number = 0.0
    """[rad or m]"""


class ModelActuator(Description):
    """One actuator of the file, or a servo that was added to it."""

    actuator: Name
    unit: Literal["rad", "m", ""] = ""
    """Of its target; empty for a number without one, such as 0 … 255."""
    limits: tuple[Number, Number]
    """Lowest and highest target."""
    start: Number = 0.0
    """Target from which the hand closes."""
    moves: tuple[Move, ...] = ()
    """Joints that it leads; none for an actuator that stays at rest."""
    stops: tuple[str, ...] = ()
    """Bodies that it moves: their contact stops it."""

    @property
    def joint(self) -> str | None:
        """The joint whose variable its target is, where it is one."""
        plain = len(self.moves) == 1 and self.moves[0].ratio == 1.0 and self.moves[0].at == 0.0
        return self.moves[0].joint if plain else None

    @property
    def as_actuator(self) -> Actuator:
        """The drive as closures know it."""
        what = f"joint '{self.joint}'" if self.joint else f"actuator '{self.actuator}'"
        start, limits = self.start, self.limits
        return Actuator(self.actuator, what, self.unit, limits, start, self.stops, self.joint)


class AddedServo(Description):
    """A position servo for a joint that the file leaves without one."""

    joint: Name
    actuator: Name
    limits: tuple[Number, Number]
    """[rad or m]"""
    stiffness: Positive
    """Position gain [N·m/rad or N/m]."""
    damping_ratio: NonNegative = 1.0
    """[–]"""
    force_limit: Positive
    """[N·m or N]"""


class HandModel(Description):
    """A model in MJCF that is attached to the scene as it is, and what a closure needs of it.

    Bodies, joints, actuators, tendons, equalities and sensors are the file's own, under the names
    that it gives them.
    """

    file: Name
    """MJCF file: absolute, or as the library names it."""
    sha256: str | None = None
    """Hash of the file with all that it includes; a later run refuses files that have changed."""
    pose: Pose = Pose()
    """The world of the file in the hand's frame."""
    prefix: str = ""
    """Before every name of the file, where some are taken by the scene."""
    palm: str = ""
    """Body from which the fingers branch off."""
    touching: tuple[str, ...] = ()
    """Bodies that can touch, those fixed to the palm first."""
    actuators: tuple[ModelActuator, ...]
    """The actuators of the file in their order, then added servos."""
    servos: tuple[AddedServo, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether every drive is the variable of one joint."""
        return all(actuator.joint is not None for actuator in self.actuators)
