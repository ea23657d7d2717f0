"""A good world, ``pinch.wbt``: a hand of two fingers, a ball and a wedge; and changes of it."""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).with_name("pinch.wbt")
GOOD = FILE.read_text(encoding="utf-8")


def changed(old: str, new: str) -> str:
    """The good world with one thing changed, which has to be there once."""
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)
