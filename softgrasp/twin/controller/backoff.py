"""How long to wait before the next attempt: longer every time, up to a bound."""

from __future__ import annotations

from typing import NamedTuple


class Backoff(NamedTuple):
    """Waits that double."""

    first: float = 0.05
    """After the first failure [s]."""
    max_delay: float = 2.0
    """No wait is longer [s]."""

    def delay(self, failures: int) -> float:
        """Time to wait after so many failures in a row [s]; none before the first."""
        if failures < 1:
            return 0.0
        return min(self.max_delay, self.first * 2.0 ** min(failures - 1, 60))
