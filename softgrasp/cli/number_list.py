"""Options that take several numbers: ``14,14,12.32,15.39``."""

from __future__ import annotations

import math

from softgrasp.errors import DescriptionError


def number_list(option: str, text: str) -> list[float]:
    """The numbers of an option, separated by commas.

    Raises:
        DescriptionError: Something is no number, or there is none.
    """
    numbers = []
    for part in text.split(","):
        try:
            number = float(part)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DescriptionError(
                f"{option}: expected numbers separated by commas, found '{part.strip()}'"
            )
        numbers.append(number)
    return numbers


def lengths_from_mm(option: str, text: str) -> list[float]:
    """Lengths of pieces in m from an option in mm, without the digits that a division adds.

    Raises:
        DescriptionError: Something is no number above 0.
    """
    numbers = number_list(option, text)
    for number in numbers:
        if number <= 0.0:
            raise DescriptionError(f"{option}: expected lengths above 0, found {number:g}")
    return [round(1e-3 * number, 12) for number in numbers]
