"""Commands for the controller, and where they wait to be sent."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from softgrasp.mechanics.piece_bends import KPA

if TYPE_CHECKING:
    # pymodbus may not be there, which whoever opens a controller says
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
        """Send it: triggers that go off, then targets, then triggers that go on.

        So no trigger starts towards an old target, and at no moment are both on that should not be.

        Raises:
            DescriptionError: A target is outside the limits of the controller; nothing was sent.
            DeviceError: The controller did not take it, or not all of it.
        """
        client.check_targets(positive=self.positive_target, negative=self.negative_target)
        await client.trigger(
            positive=False if self.positive_on is False else None,
            negative=False if self.negative_on is False else None,
        )
        await client.set_targets(positive=self.positive_target, negative=self.negative_target)
        await client.trigger(
            positive=True if self.positive_on else None,
            negative=True if self.negative_on else None,
        )


VENT = Command(positive_on=False, negative_on=False)
"""Back to the pressure of the air around."""


class CommandBox:
    """Where confirmed commands wait to be sent; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._confirmed: list[Command] = []

    def put(self, command: Command) -> None:
        """Have a command sent with the next reading."""
        with self._lock:
            self._confirmed.append(command)

    def take(self) -> list[Command]:
        """The commands, in their order; they are out of the box then."""
        with self._lock:
            confirmed, self._confirmed = self._confirmed, []
            return confirmed
