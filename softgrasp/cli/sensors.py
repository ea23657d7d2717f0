"""Sensors by the names that a command line uses."""

from __future__ import annotations

from collections.abc import Callable

from softgrasp.description.hand import Hand
from softgrasp.description.sensor_rules import fingertips
from softgrasp.description.sensors import (
    AnySensor,
    ForceTorqueSensor,
    JointTorqueSensor,
    TactileSensor,
)
from softgrasp.errors import DescriptionError, did_you_mean

Sensors = tuple[AnySensor, ...]


def _tactile(hand: Hand, body: str) -> Sensors:
    bodies = [body] if body else fingertips(hand)
    return tuple(TactileSensor(name=f"tactile_{part}", body=part) for part in bodies)


def _force(hand: Hand, body: str) -> Sensors:
    bodies = [body] if body else fingertips(hand)
    return tuple(ForceTorqueSensor(name=f"force_{part}", body=part) for part in bodies)


def _wrist(_hand: Hand, _body: str) -> Sensors:
    return (ForceTorqueSensor(name="wrist"),)


def _joints(_hand: Hand, _body: str) -> Sensors:
    return (JointTorqueSensor(name="joints"),)


SENSORS: dict[str, tuple[str, Callable[[Hand, str], Sensors]]] = {
    "tactile": ("4 × 8 taxels on each fingertip, or on one body: tactile:F1_P2 [N]", _tactile),
    "force": ("force and torque before each fingertip, or before one body: force:F1_P1", _force),
    "wrist": ("force and torque between the hand and what carries it [N, N·m]", _wrist),
    "joints": ("torque of the servo of every rigid joint [N·m]", _joints),
}
"""Name, what it is, and how it is made."""


def sensors_of(hand: Hand, words: tuple[str, ...]) -> Sensors:
    """The sensors that a command line names.

    Args:
        hand: The hand.
        words: Names of ``SENSORS``; ``tactile`` and ``force`` may have a body behind a colon.

    Raises:
        DescriptionError: There is no such sensor, or it takes no body.
    """
    made: Sensors = ()
    for word in words:
        name, colon, body = word.partition(":")
        if name not in SENSORS:
            raise DescriptionError(f"--sensor: no sensor '{name}'; {did_you_mean(name, SENSORS)}")
        if colon and (name not in ("tactile", "force") or not body):
            raise DescriptionError(
                "--sensor: expected a body behind a colon for tactile and force only, found "
                f"'{word}'"
            )
        made += SENSORS[name][1](hand, body)
    return made
