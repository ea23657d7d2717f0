"""Closures by the names that a command line uses."""

from __future__ import annotations

CLOSURES = {
    "position-increment": (
        "each joint grows at its own rate until its phalanx or a later one is in contact "
        "(paper 004, §2.2.3)"
    ),
    "pressure": (
        "the pressure of each soft finger grows at its rate, through contact, up to the working "
        "pressure (paper 000); rigid fingers of the same hand close by position increments"
    ),
}
"""Name, and what it does."""
