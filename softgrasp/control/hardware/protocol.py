"""What drives a part of a robot, whatever it is made of."""

from __future__ import annotations

from typing import Protocol

from softgrasp.control.resources import ResourceManager


class Hardware(Protocol):
    """Reads states before the controllers compute, and acts on commands after it."""

    def read(self, resources: ResourceManager) -> None:
        """Put what is measured into the state interfaces."""
        ...

    def write(self, resources: ResourceManager) -> None:
        """Act on the commands for one period.

        Raises:
            SimulationError: A command cannot be obeyed.
        """
        ...

    def follow(self, resources: ResourceManager) -> None:
        """Be where the commands say, without physics."""
        ...

    def release(self) -> None:
        """Let go of all drives."""
        ...
