"""Limit of the connections of a server.

Before a new connection that exceeds the limit, connections that have not sent a request are
closed first, the oldest before the others; then those without a request for the longest time. So
neither silent connections nor a burst of new ones close the connection of a client that sends
requests.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

MAX_CONNECTIONS = 64


class ConnectionLimits:
    """Open connections of a server.

    Args:
        total: Largest number of connections.
    """

    def __init__(self, total: int = MAX_CONNECTIONS) -> None:
        self.total, self.dropped = total, 0
        # functions that close a connection, in the order of its age, and of its last request
        self._silent: dict[Hashable, Callable[[], object]] = {}
        self._heard: dict[Hashable, Callable[[], object]] = {}

    def __len__(self) -> int:
        return len(self._silent) + len(self._heard)

    def opened(self, key: Hashable, drop: Callable[[], object]) -> None:
        """Register a new connection; close others beyond the limit.

        Args:
            key: Identifies the connection.
            drop: Closes the connection; called at most once.
        """
        while len(self) >= self.total:
            group = self._silent or self._heard
            self.dropped += 1
            group.pop(next(iter(group)))()
        self._silent[key] = drop

    def heard(self, key: Hashable) -> bool:
        """Register a request; return False where the connection was closed before."""
        drop = self._silent.pop(key, None) or self._heard.pop(key, None)
        if drop is not None:
            self._heard[key] = drop
        return drop is not None

    def closed(self, key: Hashable) -> None:
        """Forget a connection that is closed."""
        self._silent.pop(key, None)
        self._heard.pop(key, None)
