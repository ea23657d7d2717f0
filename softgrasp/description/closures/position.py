"""Position increments until contact (paper 004), and the pressure of soft fingers (paper 000)."""

from __future__ import annotations

from typing import Literal

from softgrasp.description.closures.base import Closure
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.problems import FieldError


class PositionIncrementClosure(Closure):
    """Position increments with debounced contact detection (paper 004, §2.2.3.2).

    At every control sample each active joint's target grows by its rate times the control
    period, unless its phalanx or a later one of its finger is in contact; it starts again when
    contact is lost. Contact is established at the sample at which the last ``samples`` normal
    forces, the current one included, are all above ``threshold``; lost at the first one below.
    """

    type: Literal["position-increment"] = "position-increment"


class PressureClosure(Closure):
    """The pressure of each soft finger grows at its rate up to the working pressure (paper 000).

    Rigid fingers of the same hand close by position increments.
    """

    type: Literal["pressure"] = "pressure"

    def check(self, hand: Hand, preset: GraspPreset) -> None:
        """Refuse a hand without soft fingers."""
        super().check(hand, preset)
        if not hand.soft_fingers:
            raise FieldError(f"expected a hand with soft fingers, found '{hand.name}' without")
