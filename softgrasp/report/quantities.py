"""Lengths, forces and numbers of things, as pages and the command line write them."""

from __future__ import annotations


def millimetres(length: float) -> str:
    """A length [m] in millimetres, to a micrometre below one and to a tenth above."""
    value = 1e3 * length
    return f"{value:.3f} mm" if abs(value) < 1.0 else f"{value:.1f} mm"


def newtons(force: float) -> str:
    """A force [N] to three digits."""
    return f"{grouped(force)} N" if force >= 1000.0 else f"{force:.3g} N"


def count(number: int, noun: str) -> str:
    """A number of things: ``1 sample``, ``10 samples``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def grouped(number: float) -> str:
    """A large number in groups of three digits: ``100 751``."""
    return f"{number:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
