"""A drive: one number that commands a hand, such as the target of a joint or a pressure."""

from __future__ import annotations

from typing import NamedTuple

from softgrasp.description.problems import text_with_unit


class Actuator(NamedTuple):
    """What a closure moves: one actuator of the model."""

    name: str
    """Of its actuator in the model."""
    label: str
    """What a sentence calls it: ``joint 'F1_J2'``."""
    unit: str
    """Of its target: rad, m, Pa, N·m, N, or empty for a number without one."""
    limits: tuple[float, float]
    """Lowest and highest target."""
    start: float
    """Target from which the hand closes."""
    stops: tuple[str, ...] = ()
    """Bodies whose contact stops it; none where it goes on through contact."""
    joint: str | None = None
    """The joint whose variable its target is, where it is one."""

    def format_values(self, *values: float) -> str:
        """Targets as a sentence shows them: with their unit, angles in degrees besides."""
        return text_with_unit(self.unit, values)
