"""MuJoCo's own warnings: caught while a run lasts, and told with the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import mujoco

UNUSABLE = [
    int(mujoco.mjtWarning.mjWARN_BADQPOS),
    int(mujoco.mjtWarning.mjWARN_BADQVEL),
    int(mujoco.mjtWarning.mjWARN_BADQACC),
]
HARMLESS = {
    "Linesearch objective is not convex": "rounding in the solver; harmless when it is rare",
}
"""What a warning means that does not say so itself."""


def sentences(seen: Counter[str]) -> list[str]:
    """The caught warnings as sentences with their numbers."""
    messages = []
    for text, count in seen.items():
        times = "once" if count == 1 else f"{count} times"
        reason = next((why for known, why in HARMLESS.items() if known in text), "")
        messages.append(f"MuJoCo: {text} ({times}{'; ' + reason if reason else ''})")
    return messages


@contextmanager
def caught_warnings() -> Iterator[Counter[str]]:
    """Collect MuJoCo's warnings instead of letting them reach the terminal and MUJOCO_LOG.TXT."""
    seen: Counter[str] = Counter()

    def record(message: str) -> None:
        # the time in the text would make every message different
        seen[message.split(" Time = ")[0].strip().rstrip(".")] += 1

    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(record)
    try:
        yield seen
    finally:
        mujoco.set_mju_user_warning(before)


def has_diverged(data: mujoco.MjData) -> bool:
    """Whether MuJoCo has met a position, velocity or acceleration that is not usable."""
    numbers = data.warning.number.tolist()
    return any(numbers[kind] > 0 for kind in UNUSABLE)
