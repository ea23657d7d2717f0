"""The continuum joint state broadcaster (cJSB, paper 002): one record a period."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from softgrasp.control.resources import ResourceManager
from softgrasp.description.robot import Robot


class JointStates(NamedTuple):
    """What all segments do at one instant, in the order of the file."""

    time: float
    """[s]"""
    names: tuple[str, ...]
    kappa: tuple[float, ...]
    """[1/m]"""
    phi: tuple[float, ...]
    """[rad]"""
    length: tuple[float, ...]
    """[m]; as measured where the hardware does, else that of the description."""


class StateBroadcaster:
    """Keeps the state of every tick and hands it on."""

    def __init__(
        self,
        robot: Robot,
        listener: Callable[[JointStates], None] | None = None,
        name: str = "continuum_joint_state_broadcaster",
    ) -> None:
        """Broadcast the segments of a robot.

        Args:
            robot: The robot.
            listener: Called with every record.
            name: Of the controller.
        """
        self.name, self.records = name, list[JointStates]()
        self._names = tuple(part.name for part in robot.bendables)
        self._lengths = {part.name: part.backbone.length for part in robot.bendables}
        self._listener = listener

    def claims(self) -> list[str]:
        """Nothing: it only looks."""
        return []

    def start(self, resources: ResourceManager, now: float) -> None:
        """Begin with the next tick."""

    def update(self, resources: ResourceManager, now: float, period: float) -> None:
        """Keep and hand on the states of this tick."""
        kappa, phi = (
            tuple(resources.states.get(f"{name}/{what}", 0.0) for name in self._names)
            for what in ("kappa", "phi")
        )
        length = tuple(
            resources.states.get(f"{name}/l") or default_length
            for name, default_length in self._lengths.items()
        )
        record = JointStates(now, self._names, kappa, phi, length)
        self.records.append(record)
        if self._listener is not None:
            self._listener(record)
