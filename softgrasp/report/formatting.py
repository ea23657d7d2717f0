"""Number formats of reports and of the terminal: lengths, forces, counts, signs."""

from __future__ import annotations

LARGEST = 1e6
"""Absolute value above which numbers are written with an exponent."""


def signed(value: float, digits: int) -> str:
    """Format a number with a typographic minus sign and without negative zero."""
    rounded = round(value, digits) + 0.0
    text = f"{rounded:.{digits}f}" if abs(rounded) < LARGEST else f"{rounded:.1e}"
    return text.replace("-", "\N{MINUS SIGN}")


def millimetres(length: float) -> str:
    """Format a length [m] in millimetres: three decimals below 1 mm, one above."""
    value = 1e3 * length
    return f"{value:.3f} mm" if abs(value) < 1.0 else f"{value:.1f} mm"


def newtons(force: float) -> str:
    """Format a force [N] with three significant digits."""
    return f"{group_digits(force)} N" if force >= 1000.0 else f"{force:.3g} N"


def group_digits(number: float) -> str:
    """Format a large number in groups of three digits: ``100 751``."""
    return f"{number:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def count(number: int, noun: str) -> str:
    """Format a count with its noun: ``1 sample``, ``10 samples``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def capitalize(text: str) -> str:
    """Return a text with an upper-case first letter."""
    return f"{text[:1].upper()}{text[1:]}"
