"""Commands to a pneumatic controller, the watchdog of its connection, and its safe stop.

Confirmed commands wait in a thread-safe ``CommandBox``. The ``Watchdog`` permits them while the
controller answers. ``stop_safely`` vents the gripper and reads back that both triggers are off
and the pressure falls; it repeats that until its deadline.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from softgrasp.errors import BadAnswerError, DeviceError, SafeStopError
from softgrasp.twin.flange_streams import Clock
from softgrasp.twin.piecewise_bending import KPA
from softgrasp.twin.pneumatic_controller import ControllerReading

if TYPE_CHECKING:
    from softgrasp.twin.pneumatic_controller import ControllerClient

RETRY = 0.1
"""Pause between two attempts of a safe stop [s]."""
FALL = 0.1
"""Fall of the pressure, over the first one read after the triggers are off, that confirms that
the gripper is vented [–]."""


# Commands


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
        """Whether it switches both triggers off."""
        return self.positive_on is False and self.negative_on is False

    async def send(self, client: ControllerClient) -> None:
        """Send the changes: triggers off, then targets, then triggers on.

        So a trigger is never switched on with an old target, and both are never on
        unintentionally.

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
        await client.trigger(
            positive=True if self.positive_on else None,
            negative=True if self.negative_on else None,
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
    """Puts confirmed commands of a user into the queue of the control loop.

    Args:
        box: Box of the loop.
        may_command: Whether the controller accepts commands.
    """

    def __init__(self, box: CommandBox, may_command: Callable[[], bool]) -> None:
        self._box, self._may_command = box, may_command

    def words(self, values: dict[str, float | bool]) -> str:
        """Describe a command."""
        return _command(values).words

    def send(self, values: dict[str, float | bool]) -> str:
        """Queue a command; return the reason if it is not sent now.

        A command that vents waits until the controller answers; any other one is refused.
        """
        command, connected = _command(values), self._may_command()
        if connected or command.vents:
            self._box.put(command)
        if connected:
            return ""
        reason = "the controller is not connected"
        return f"{reason}; it is vented as soon as it answers" if command.vents else reason


def _command(values: dict[str, float | bool]) -> Command:
    return Command(**values)  # type: ignore[arg-type]


# Safe stop


async def vented(client: ControllerClient) -> ControllerReading:
    """Switch both triggers off, and read back that they are.

    Args:
        client: Client of the controller.

    Returns:
        Reading after the command.

    Raises:
        DeviceError: The controller did not accept the command, or a trigger is still on.
    """
    await VENT.send(client)
    reading = await client.read()
    on = [
        name
        for name, state in (("positive", reading.positive_on), ("negative", reading.negative_on))
        if state
    ]
    if on:
        raise BadAnswerError(f"expected both triggers off, found the {' and '.join(on)} one on")
    return reading


async def stop_safely(
    client: ControllerClient, *, within: float, ambient: float, clock: Clock
) -> ControllerReading:
    """Vent the gripper, repeatedly until both triggers are off and the pressure falls.

    Args:
        client: Client of the controller.
        within: Time after which no further attempt begins [s].
        ambient: Largest gauge pressure, of either sign, that counts as vented [Pa].
        clock: Clock of the deadline.

    Returns:
        Reading that confirms it: a pressure that is ambient, or 10 % below the first one.

    Raises:
        SafeStopError: No attempt was confirmed; states why the last one was not.
    """
    begin, attempts, first = clock.now(), 0, 0.0
    while True:
        attempts += 1
        try:
            reading = await vented(client)
        except DeviceError as error:
            problem = str(error)
        else:
            pressure = abs(reading.pressure)
            first = first or pressure
            if pressure <= max(ambient, (1.0 - FALL) * first):
                return reading
            problem = (
                f"triggers off, and a pressure of {KPA * reading.pressure:.4g} kPa that remains"
            )
        if clock.now() - begin >= within:
            raise SafeStopError(
                f"safe stop: expected both triggers off and a falling pressure within {within:g} "
                f"s, found after {attempts} attempts: {problem}; the gripper may be under "
                "pressure: vent it at the controller"
            )
        await clock.sleep(RETRY)


# Watchdog


State = Literal["waiting", "running", "lost", "stopping"]
"""``waiting``: no reading yet; ``stopping``: connected again, and not stopped safely yet."""


class Watchdog:
    """State of the connection to the controller, from the times of its readings.

    Args:
        stale_after: Time without a reading after which the connection is lost [s].
        begin: Earliest time of a reading [s].
    """

    def __init__(self, stale_after: float, begin: float = 0.0) -> None:
        self.stale_after = stale_after
        self.state: State = "waiting"
        self.ever_heard = False
        self._heard_at = begin

    @property
    def may_command(self) -> bool:
        """Return whether commands may be sent."""
        return self.state == "running"

    def heard(self, time: float) -> bool:
        """Register a reading at a time [s]; return whether to stop the controller safely.

        That is so after a lost connection until ``stopped`` is called, and where the time since
        the previous reading exceeded the limit.
        """
        late = self.state == "running" and time - self._heard_at >= self.stale_after
        self._heard_at, self.ever_heard = time, True
        if self.state in ("lost", "stopping") or late:
            self.state = "stopping"
            return True
        self.state = "running"
        return False

    def must_stop(self) -> None:
        """Require a safe stop before the next command."""
        self.state = "stopping"

    def stopped(self) -> None:
        """Register that the controller was stopped safely, or need not be stopped."""
        self.state = "running"

    def missed(self, time: float) -> bool:
        """Register a cycle without a reading [s]; return whether the connection is lost now."""
        if self.state == "lost" or time - self._heard_at < self.stale_after:
            return False
        self.state = "lost"
        return True
