"""What a pneumatic controller tells, at one instant."""

from __future__ import annotations

from typing import NamedTuple


class ControllerReading(NamedTuple):
    """The five values of paper 001, §III-B."""

    time: float
    """When the answer came, on the clock of the client [s]."""
    positive_on: bool
    """Whether positive pressure is triggered."""
    negative_on: bool
    """Whether negative pressure is triggered."""
    positive_target: float
    """Over the pressure of the air around [Pa]."""
    negative_target: float
    """Over the pressure of the air around, below zero [Pa]."""
    pressure: float
    """The one that the controller measures, over that of the air around [Pa]."""
