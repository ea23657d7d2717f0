"""Commands to a pneumatic controller, and the thread-safe box in which confirmed ones wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from softgrasp.twin.piecewise_bending import KPA
from softgrasp.twin.pneumatic_controller import TRIGGERS

if TYPE_CHECKING:
    from softgrasp.twin.pneumatic_controller import ControllerClient


class Command(NamedTuple):
    """Requested changes of the controller's triggers and targets; None leaves a value unchanged."""

    positive_target: float | None = None
    """Target of positive pressure [Pa]."""
    negative_target: float | None = None
    """Target of negative pressure [Pa]."""
    positive_on: bool | None = None
    negative_on: bool | None = None

    @property
    def words(self) -> str:
        """Description of the command, for the confirmation and the record."""
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

    @property
    def vents(self) -> bool:
        """Whether it does nothing but switch both triggers off."""
        return self == VENT

    @property
    def switches_on(self) -> bool:
        """Whether it switches a trigger on."""
        return bool(self.positive_on or self.negative_on)

    @property
    def written(self) -> dict[str, float | bool]:
        """Values that ``send`` writes."""
        values = self._asdict().items()
        return {name: value for name, value in values if value is not None and value is not True}

    @property
    def triggers_on(self) -> dict[str, bool]:
        """Values that ``switch_on`` writes."""
        return {name: True for name in TRIGGERS if getattr(self, name)}

    async def send(self, client: ControllerClient) -> None:
        """Send the first half: triggers off, then targets.

        So both triggers are never on unintentionally, and the targets can be read back before
        one of them is switched on.

        Raises:
            DescriptionError: A target is outside the limits of the controller; nothing was sent.
            DeviceError: The controller did not accept the command, or only a part of it.
        """
        client.check_targets(positive=self.positive_target, negative=self.negative_target)
        await client.trigger(
            positive=False if self.positive_on is False else None,
            negative=False if self.negative_on is False else None,
        )
        await client.set_targets(positive=self.positive_target, negative=self.negative_target)

    async def switch_on(self, client: ControllerClient) -> None:
        """Send the second half: triggers on.

        Raises:
            DeviceError: The controller did not accept it, or only a part of it.
        """
        await client.trigger(
            positive=self.positive_on or None,
            negative=self.negative_on or None,
        )


VENT = Command(positive_on=False, negative_on=False)
"""Return to ambient pressure."""


class CommandBox:
    """Queue of confirmed commands; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._confirmed: list[Command] = []

    def put(self, command: Command) -> None:
        """Add a command, which is sent after the next reading."""
        with self._lock:
            self._confirmed.append(command)

    def take(self) -> list[Command]:
        """Remove and return all commands in order."""
        with self._lock:
            confirmed, self._confirmed = self._confirmed, []
            return confirmed


class CommandQueue:
    """Puts confirmed commands of a user into the box of the control loop.

    Args:
        box: Box of the loop.
        refusal: Returns why no command is sent now; empty where it is.
    """

    def __init__(self, box: CommandBox, refusal: Callable[[], str]) -> None:
        self._box, self._refusal = box, refusal

    def words(self, values: dict[str, float | bool]) -> str:
        """Describe a command."""
        return _command(values).words

    def send(self, values: dict[str, float | bool]) -> str:
        """Queue a command; return the reason if it is not sent.

        A command that vents is always taken: it is written every cycle until it is confirmed.
        """
        command = _command(values)
        refusal = "" if command.vents else self._refusal()
        if not refusal:
            self._box.put(command)
        return refusal


def _command(values: dict[str, float | bool]) -> Command:
    return Command(**values)  # type: ignore[arg-type]
