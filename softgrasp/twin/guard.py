"""Whether the controller can be trusted to hear: a lost connection stops all commands."""

from __future__ import annotations

from typing import Literal

State = Literal["waiting", "running", "lost"]
"""``waiting``: there was no reading yet."""


class Guard:
    """Follows the connection from reading to reading.

    Args:
        stale_after: Without a reading for so long the connection is lost [s].
    """

    def __init__(self, stale_after: float) -> None:
        self.stale_after = stale_after
        self.state: State = "waiting"
        self._since: float | None = None

    @property
    def may_command(self) -> bool:
        """Whether commands may be sent."""
        return self.state == "running"

    def heard(self) -> bool:
        """A reading came; whether the connection was lost until now."""
        came_back, self._since = self.state == "lost", None
        self.state = "running"
        return came_back

    def missed(self, time: float) -> bool:
        """No reading came in a turn that ended then [s]; whether the connection is lost now."""
        if self._since is None:
            self._since = time
        if self.state == "lost" or time - self._since < self.stale_after:
            return False
        self.state = "lost"
        return True
