"""What links and joints are called in a hand: as in the file, where our own names leave room."""

from __future__ import annotations

import re
from collections.abc import Iterable

from softgrasp.description.hand import RESERVED, TAKEN

OURS = (*RESERVED, "floor", "start")
PREFIX = "hand_"


def usable_names(names: Iterable[str]) -> dict[str, str]:
    """A name for each name: itself, unless the model has such a name already or cannot have it.

    Blanks, ``/`` and ``|`` become ``_``; what softgrasp calls so itself gets ``hand_`` before it.
    """
    used: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[\s/|]+", "_", name)
        if plain in OURS or plain.split("_")[0] in TAKEN:
            plain = PREFIX + plain.lstrip("_")
        while plain in taken:
            plain += "_"
        taken.add(plain)
        used[name] = plain
    return used


def renamed(kind: str, names: dict[str, str]) -> list[str]:
    """Sentences about names that are others than in the file."""
    return [
        f"{kind} '{old}' is called '{new}', as softgrasp uses that name or cannot write it"
        for old, new in names.items()
        if old != new
    ]
