"""Closures by the names that a command line uses."""

from __future__ import annotations

CLOSURES = {
    "position-increment": (
        "each joint grows at its own rate until its phalanx or a later one is in contact "
        "(paper 004, §2.2.3)"
    )
}
"""Name, and what it does."""
