"""Memory that one run after the other uses.

The engine's state and the recording of a run are some megabytes, which come fresh from the system
page by page; for a grasp of a second that costs more than its controller.
"""

from __future__ import annotations

from functools import cache

import mujoco

from softgrasp.simulation.state import ROWS, Recording


class Workspace:
    """An engine state and recordings; what an earlier run has left in them is gone."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._data: mujoco.MjData | None = None
        self._sizes: tuple[int, ...] = ()
        self._recording: Recording | None = None
        self._widths: tuple[int, ...] = ()

    def data(self, model: mujoco.MjModel) -> mujoco.MjData:
        """An engine state for a model, to be reset; the last one where the sizes are the same."""
        sizes = _sizes(model)
        if self._data is None or sizes != self._sizes:
            self._data, self._sizes = mujoco.MjData(model), sizes
        return self._data

    def recording(self, model: mujoco.MjModel, bodies: int, width: int, rows: int) -> Recording:
        """Room for the rows of a run, forces zero; see ``Recording.empty``."""
        before = self._recording
        recording_view = self.side_by_side(model, bodies, width, rows, 1).one(0)
        if self._recording is before:  # all other rows are written whole
            recording_view.force[:rows] = 0.0
        return recording_view

    def side_by_side(
        self, model: mujoco.MjModel, bodies: int, width: int, rows: int, count: int
    ) -> Recording:
        """Room for runs side by side, to be written whole; see ``Recording.side_by_side``."""
        widths = (model.nq, model.nu, bodies, width)
        kept = self._recording
        shape = (0, 0) if kept is None else kept.time.shape
        if kept is None or widths != self._widths or shape[0] < count or shape[1] < rows:
            kept = Recording.side_by_side(model, bodies, width, rows, count)
            self._recording, self._widths = kept, widths
        return Recording(*(getattr(kept, name)[:count] for name in ROWS))


def _sizes(model: mujoco.MjModel) -> tuple[int, ...]:
    """All numbers of things in a model: they decide the layout of its MjData."""
    return tuple(getattr(model, name) for name in _size_names())


@cache
def _size_names() -> tuple[str, ...]:
    empty = mujoco.MjModel.from_xml_string("<mujoco/>")
    names = (name for name in dir(empty) if name.startswith("n"))
    return tuple(name for name in names if isinstance(getattr(empty, name), int))
