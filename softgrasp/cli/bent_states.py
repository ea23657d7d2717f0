"""``--at``: states of bendables as words, such as ``segment1:kappa=2,phi=0.5``."""

from __future__ import annotations

from collections.abc import Sequence

from softgrasp.description.bendable import Bendable
from softgrasp.description.control_system import curvature_interfaces
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, did_you_mean

States = dict[str, tuple[float, ...]]


def states_from(robot: Robot, words: Sequence[str]) -> States:
    """States of a robot's bendables.

    Args:
        robot: The robot.
        words: ``NAME:kappa=2,phi=0.5``, or without a name for all bendables; later words change
            what earlier ones said. What is not named stays 0, a length at rest.

    Raises:
        DescriptionError: A word names no bendable, or no quantity of its model, or is no number.
    """
    known = [part.name for part in robot.bendables]
    if words and not known:
        raise DescriptionError("--at: expected a robot that has bendables, found none")
    values: dict[str, dict[str, float]] = {name: {} for name in known}
    for word in words:
        name, _, numbers = word.rpartition(":")
        if name and name not in values:
            raise DescriptionError(f"--at: no bendable '{name}'; {did_you_mean(name, known)}")
        for part in robot.bendables:
            if name in ("", part.name):
                values[part.name] |= _numbers(part, word, numbers)
    return {part.name: _state(part, values[part.name]) for part in robot.bendables}


def _numbers(part: Bendable, word: str, text: str) -> dict[str, float]:
    values = {}
    for pair in text.split(","):
        name, equals, number = (piece.strip() for piece in pair.partition("="))
        known = curvature_interfaces(part)
        if not equals:
            raise DescriptionError(f"--at: expected kappa=2,phi=0.5 or alike, found '{word}'")
        if name not in known:
            hint = did_you_mean(name, known)
            raise DescriptionError(f"--at: '{part.name}' has no '{name}'; {hint}")
        if name in values:
            raise DescriptionError(f"--at: expected {name} once, found it twice in '{word}'")
        try:
            values[name] = float(number)
        except ValueError:
            raise DescriptionError(f"--at: expected a number, found {name}='{number}'") from None
    curved = [name for name in values if name.startswith("kappa")]
    if "phi" in values and not curved:
        raise DescriptionError(f"--at: expected phi with kappa, found phi alone in '{word}'")
    return values


def _state(part: Bendable, values: dict[str, float]) -> tuple[float, ...]:
    at_rest = {"l": part.backbone.length}
    return tuple(values.get(name, at_rest.get(name, 0.0)) for name in curvature_interfaces(part))
