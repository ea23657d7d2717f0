"""Limits of the connections of a server, for one address and for all together.

Before a new connection that exceeds a limit, connections that have not sent a request are closed
first, the oldest before the others; then those without a request for the longest time. So neither
silent connections nor a burst of new ones close the connection of a client that sends requests.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable
from typing import NamedTuple

TOTAL, PER_ADDRESS = 128, 64
"""Largest number of connections, of all addresses and of one."""


class _Connection(NamedTuple):
    address: str
    drop: Callable[[], object]


class ConnectionLimits:
    """Open connections of a server; may be used from any thread.

    Args:
        total: Largest number of connections.
        per_address: Largest number of connections of one address.
    """

    def __init__(self, total: int = TOTAL, per_address: int = PER_ADDRESS) -> None:
        self.total, self.per_address = total, per_address
        self.dropped = 0
        self._lock = threading.Lock()
        # in the order of their age, and of their last request
        self._silent: dict[Hashable, _Connection] = {}
        self._heard: dict[Hashable, _Connection] = {}

    def __len__(self) -> int:
        return len(self._silent) + len(self._heard)

    def opened(self, key: Hashable, address: str, drop: Callable[[], object]) -> None:
        """Register a new connection; close others beyond the limits.

        Args:
            key: Identifies the connection.
            address: Address of the client, without port.
            drop: Closes the connection; called at most once.
        """
        with self._lock:
            dropped = self._exceeding(address)
            self._silent[key] = _Connection(address, drop)
        for connection in dropped:
            connection.drop()

    def heard(self, key: Hashable) -> bool:
        """Register a request; return False where the connection was closed before."""
        with self._lock:
            connection = self._silent.pop(key, None) or self._heard.pop(key, None)
            if connection is not None:
                self._heard[key] = connection
        return connection is not None

    def closed(self, key: Hashable) -> None:
        """Forget a connection that is closed."""
        with self._lock:
            self._silent.pop(key, None)
            self._heard.pop(key, None)

    def _exceeding(self, address: str) -> list[_Connection]:
        """Remove and return the connections that leave no place for one more of an address."""
        dropped = []
        counts = Counter(one.address for one in (*self._silent.values(), *self._heard.values()))
        while counts[address] >= self.per_address or len(self) >= self.total:
            crowd = address
            if counts[address] < self.per_address:
                crowd = counts.most_common(1)[0][0]
            oldest = [
                (group, key)
                for group in (self._silent, self._heard)
                for key, one in group.items()
                if one.address == crowd
            ]
            group, key = oldest[0]
            dropped.append(group.pop(key))
            counts[crowd] -= 1
        self.dropped += len(dropped)
        return dropped
