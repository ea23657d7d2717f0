"""Whether the controller can be trusted to hear: a lost connection stops all commands."""

from __future__ import annotations

from typing import Literal

State = Literal["waiting", "running", "lost", "stopping"]
"""``waiting``: there was no reading yet; ``stopping``: it is back, and not stopped safely yet."""


class Watchdog:
    """Follows the connection from reading to reading.

    Args:
        stale_after: Without a reading for so long the connection is lost [s].
        begin: When the first reading could have come [s].
    """

    def __init__(self, stale_after: float, begin: float = 0.0) -> None:
        self.stale_after = stale_after
        self.state: State = "waiting"
        self._heard_at = begin

    @property
    def may_command(self) -> bool:
        """Whether commands may be sent."""
        return self.state == "running"

    def heard(self, time: float) -> bool:
        """A reading came at a time [s]; whether the controller has to be stopped safely now.

        It has where the connection was lost, until ``stopped`` is told, and where so much time has
        passed since the reading before that it might have been.
        """
        late = self.state == "running" and time - self._heard_at >= self.stale_after
        self._heard_at = time
        if self.state in ("lost", "stopping") or late:
            self.state = "stopping"
            return True
        self.state = "running"
        return False

    def stopped(self) -> None:
        """The controller was stopped safely, or is to be left as it is."""
        self.state = "running"

    def missed(self, time: float) -> bool:
        """No reading came in a turn that ended then [s]; whether the connection is lost now."""
        if self.state == "lost" or time - self._heard_at < self.stale_after:
            return False
        self.state = "lost"
        return True
