"""The heaviest object that is held, found by bisection, and where engines have to agree on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

FARTHEST = 2.0**7
"""Loads are tried up to so many times the object's own, and down to that part of it [–]."""
CLOSE = 1.03
"""Ratio of the lightest load that fell to the heaviest that was held, at which the search ends."""


class Threshold(NamedTuple):
    """Between which loads the object begins to fall."""

    held: float | None
    """Heaviest load that was held; None where even the lightest fell."""
    dropped: float | None
    """Lightest load that fell; None where even the heaviest was held."""

    @property
    def middle(self) -> float | None:
        """Their geometric mean; None where there are not both."""
        if self.held is None or self.dropped is None:
            return None
        return math.sqrt(self.held * self.dropped)


class Verdicts:
    """Whether loads are held; each is asked once."""

    def __init__(self, holds: Callable[[float], bool]) -> None:
        """Ask nothing yet.

        Args:
            holds: Whether a load is held.
        """
        self._holds, self.known = holds, dict[float, bool]()

    def __call__(self, load: float) -> bool:
        """Whether a load is held."""
        if load not in self.known:
            self.known[load] = self._holds(load)
        return self.known[load]

    @property
    def monotonic(self) -> bool:
        """Whether nothing was held that is heavier than something that fell."""
        ordered = [held for _, held in sorted(self.known.items())]
        return ordered == sorted(ordered, reverse=True)

    @property
    def bracket(self) -> Threshold:
        """What is known so far; where heavier loads are held again, the first that fell counts."""
        dropped = min((load for load, held in self.known.items() if not held), default=None)
        upper = math.inf if dropped is None else dropped
        held = max(
            (load for load, held in self.known.items() if held and load < upper), default=None
        )
        return Threshold(held, dropped)


def find_threshold(verdicts: Verdicts, start: float = 1.0) -> Threshold:
    """Double or halve the load until it falls or is held, then bisect.

    Args:
        verdicts: Whether loads are held; what it knows already is used.
        start: Load to begin with.
    """
    if not verdicts.known:
        verdicts(start)
    while verdicts.bracket.dropped is None and max(verdicts.known) < FARTHEST * start:
        verdicts(2.0 * max(verdicts.known))
    while verdicts.bracket.held is None and min(verdicts.known) > start / FARTHEST:
        verdicts(0.5 * min(verdicts.known))
    while (middle := verdicts.bracket.middle) is not None:
        held, dropped = verdicts.bracket
        if held is None or dropped is None or dropped <= CLOSE * held:
            break
        verdicts(middle)
    return verdicts.bracket


def disagreements(
    loads: Sequence[float],
    held: Mapping[str, Sequence[bool]],
    critical: float | None,
    percent: float,
) -> list[float]:
    """Loads on which engines have to agree and do not.

    Args:
        loads: What was tried.
        held: Whether each was held, by backend.
        critical: Load at which the object begins to fall in the first backend; None where none was
            found, and then they have to agree everywhere.
        percent: Nearer to it they need not agree.
    """
    disagreeing = []
    for index, load in enumerate(loads):
        near = critical is not None and abs(load / critical - 1.0) <= 0.01 * percent
        if not near and len({verdicts[index] for verdicts in held.values()}) > 1:
            disagreeing.append(load)
    return disagreeing
