"""One quantity that engines are compared in, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
SINGULAR = {
    "samples": "sample",
    "control samples": "control sample",
    "bodies": "body",
    "engines": "engine",
    "loads": "load",
}
"""Units that are counted."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What engines say of one quantity, and how far they differ."""

    name: str
    """Short and without blanks, such as ``static_pose``."""
    quantity: str
    """In words."""
    unit: str
    """Of the values."""
    values: Mapping[str, float | str]
    """By backend; also closed forms, where there are some."""
    difference: float
    """The largest; NaN where something could not be compared, which does not pass."""
    difference_unit: str
    """Of difference and tolerance."""
    tolerance: float | None
    """None for what is told and not judged."""
    worst: str = ""
    """The backend that differs most."""
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether the difference is within the tolerance."""
        return self.tolerance is None or self.difference <= self.tolerance

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        who = f" in {self.worst}" if self.worst else ""
        if math.isnan(self.difference):
            text = f"{self.quantity}: could not be compared{who}"
        elif self.difference == 0.0:
            text = f"{self.quantity}: equal"
        elif self.tolerance is None:
            text = f"{self.quantity}: {self._in_words(self.difference)} apart{who}"
        else:
            relation = "within" if self.passed else "beyond"
            text = (
                f"{self.quantity}: {self._in_words(self.difference)} apart{who}, {relation} the "
                f"tolerance of {self._in_words(self.tolerance)}"
            )
        return f"{text}; {self.note}" if self.note else text

    def _in_words(self, value: float) -> str:
        return measured(value, self.difference_unit)


def measured(value: float, unit: str) -> str:
    """A number with its unit; of what is counted there is 1 sample and there are 2 samples."""
    number = f"{value:.3g}"
    return f"{number} {SINGULAR.get(unit, unit) if number == '1' else unit}".rstrip()


def farthest(differences: Mapping[T, float]) -> tuple[T, float]:
    """What differs most, and by how much; NaN counts as most, and of equals the first.

    Args:
        differences: By backend, or by backend and body; not negative.
    """
    worst = max(differences, key=lambda name: _rank(differences[name]))
    return worst, differences[worst]


def percents(values: Mapping[str, float]) -> dict[str, float]:
    """How far all but the first are from the first [%]."""
    first, *others = values
    whole = abs(values[first])
    return {
        name: 100.0 * abs(values[name] - values[first]) / whole if whole else math.nan
        for name in others
    }


def _rank(difference: float) -> float:
    return math.inf if math.isnan(difference) else difference
