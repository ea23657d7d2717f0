"""Utilities around MuJoCo: collected warnings, divergence, and reused memory.

The engine state and the recording of a run take some megabytes, which the operating system provides
page by page; for a grasp of a second that costs more than its controller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import mujoco

from softgrasp.model.compile import sizes_of
from softgrasp.sim.control_state import ROWS, Recording

UNUSABLE = [
    int(mujoco.mjtWarning.mjWARN_BADQPOS),
    int(mujoco.mjtWarning.mjWARN_BADQVEL),
    int(mujoco.mjtWarning.mjWARN_BADQACC),
]
HARMLESS = {
    "Linesearch objective is not convex": "rounding in the solver; harmless when it is rare"
}
"""Explanations of warnings that are harmless."""


def sentences(seen: Counter[str]) -> list[str]:
    """Format the collected warnings as sentences with their counts."""
    messages = []
    for text, count in seen.items():
        times = "once" if count == 1 else f"{count} times"
        reason = next((why for known, why in HARMLESS.items() if known in text), "")
        messages.append(f"MuJoCo: {text} ({times}{'; ' + reason if reason else ''})")
    return messages


@contextmanager
def caught_warnings(seen: Counter[str] | None = None) -> Iterator[Counter[str]]:
    """Collect MuJoCo's warnings instead of letting them reach the terminal and MUJOCO_LOG.TXT.

    Args:
        seen: Where they are counted; in a new counter by default.
    """
    seen = Counter() if seen is None else seen

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
    """Whether MuJoCo has reported an invalid position, velocity or acceleration."""
    numbers = data.warning.number.tolist()
    return any(numbers[kind] > 0 for kind in UNUSABLE)


class Workspace:
    """MuJoCo state and recordings that the next run overwrites."""

    def __init__(self) -> None:
        """Start without memory."""
        self._data: mujoco.MjData | None = None
        self._sizes: tuple[int, ...] = ()
        self._recording: Recording | None = None
        self._widths: tuple[int, ...] = ()

    def data(self, model: mujoco.MjModel) -> mujoco.MjData:
        """Return a MuJoCo state for a model, to be reset; reused if the sizes are equal."""
        sizes = sizes_of(model)
        if self._data is None or sizes != self._sizes:
            self._data, self._sizes = mujoco.MjData(model), sizes
        return self._data

    def recording(self, model: mujoco.MjModel, bodies: int, width: int, rows: int) -> Recording:
        """Return a recording for a run, with zero forces; see ``Recording.empty``."""
        widths, kept = (model.nq, model.nu, bodies, width), self._recording
        if kept is None or widths != self._widths or kept.capacity < rows:
            kept = self._recording = Recording.empty(model, bodies, width, rows)
            self._widths = widths
        else:  # all other arrays are overwritten
            kept.force[:rows] = 0.0
        return Recording(*(getattr(kept, name) for name in ROWS))
