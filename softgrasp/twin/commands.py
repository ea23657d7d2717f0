"""Commands for the controller: asked for by a person, sent after a second word."""

from __future__ import annotations

import threading
from typing import NamedTuple

from softgrasp.mechanics.piece_bends import KPA
from softgrasp.twin.controller.client import ControllerClient


class Command(NamedTuple):
    """What to change at the controller; what is None stays."""

    positive_target: float | None = None
    """[Pa]"""
    negative_target: float | None = None
    """[Pa]"""
    positive_on: bool | None = None
    negative_on: bool | None = None

    @property
    def words(self) -> str:
        """As it is told before it is sent, and in the record."""
        parts = [
            f"{sign} target {KPA * target:.4g} kPa"
            for sign, target in (
                ("positive", self.positive_target),
                ("negative", self.negative_target),
            )
            if target is not None
        ]
        parts += [
            f"{sign} trigger {'on' if on else 'off'}"
            for sign, on in (("positive", self.positive_on), ("negative", self.negative_on))
            if on is not None
        ]
        return ", ".join(parts) or "nothing"

    async def send(self, client: ControllerClient) -> None:
        """Send it, targets first: a trigger must not start towards an old one.

        Raises:
            DescriptionError: A target is outside the limits of the controller; nothing was sent.
            DeviceError: The controller did not take it.
        """
        await client.set_targets(positive=self.positive_target, negative=self.negative_target)
        await client.trigger(positive=self.positive_on, negative=self.negative_on)


VENT = Command(positive_on=False, negative_on=False)
"""Back to the pressure of the air around."""


class CommandBox:
    """Where commands wait for their confirmation; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._proposed: Command | None = None
        self._confirmed: list[Command] = []

    @property
    def proposed(self) -> Command | None:
        """The command that waits for a confirmation."""
        return self._proposed

    def propose(self, command: Command) -> None:
        """Ask for a command; it takes the place of one that was not confirmed."""
        with self._lock:
            self._proposed = command

    def confirm(self) -> Command | None:
        """Release the command that waits."""
        with self._lock:
            command, self._proposed = self._proposed, None
            if command is not None:
                self._confirmed.append(command)
            return command

    def cancel(self) -> None:
        """Take back everything that was not sent yet."""
        with self._lock:
            self._proposed = None
            self._confirmed.clear()

    def take(self) -> list[Command]:
        """The confirmed commands, in their order; they are out of the box then."""
        with self._lock:
            found, self._confirmed = self._confirmed, []
            return found
