"""A soft finger as a hand carries it: where it stands, and which pressures drive it."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from softgrasp.description.base import Description, Number, Vec4
from softgrasp.description.drive import Actuator
from softgrasp.description.pose import Pose
from softgrasp.description.problems import FieldError, check_range, listed
from softgrasp.description.soft_finger import SoftFinger


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
