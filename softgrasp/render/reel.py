"""The frames of a film in their order: what looks alike is drawn once, the rest in parallel."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, Protocol

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.mechanics.transforms import Array
from softgrasp.render.camera import Camera
from softgrasp.render.marks import Ball, Mark, Rgba
from softgrasp.render.renderer import Renderer

Image = npt.NDArray[np.uint8]

UNSEEN = 2e-5
"""A change of a joint or of the object [rad or m] that no picture shows."""
AHEAD = 2
"""Frames that wait for each drawing thread: enough to keep it busy, few in memory."""


class Posed(Protocol):
    """Something that is filmed: states of a model in time, and what is drawn besides."""

    data: mujoco.MjData

    def pose(self, time: float) -> mujoco.MjData:
        """The state at a time [s]."""
        ...

    def marks(self, time: float, camera: Camera, window: float = 0.0) -> list[Mark]:
        """What is drawn over it."""
        ...

    def colors(self, time: float) -> dict[int, Rgba]:
        """Colours of geoms by id."""
        ...


class View(NamedTuple):
    """All that a picture shows of a posed run."""

    qpos: Array
    marks: list[Mark]
    colors: dict[int, Rgba]

    @classmethod
    def of(cls, playback: Posed, camera: Camera, time: float, window: float) -> View:
        """Pose the run at a time [s]; forces are averaged over a window [s] around it."""
        data = playback.pose(time)
        marks = playback.marks(time, camera, window)
        return cls(data.qpos.copy(), marks, playback.colors(time))

    def is_similar_to(self, other: View) -> bool:
        """Whether no point of the two pictures differs by as much as a tenth of a pixel."""
        if self.colors != other.colors or len(self.marks) != len(other.marks):
            return False
        here, there = (np.array([_end(mark) for mark in view.marks]) for view in (self, other))
        return bool(
            np.abs(self.qpos - other.qpos).max(initial=0.0) < UNSEEN
            and np.abs(here - there).max(initial=0.0) < 5.0 * UNSEEN
        )


def draw_frames(
    playback: Posed, drawer: Renderer, camera: Camera, times: Array, windows: Array
) -> Iterator[Image]:
    """One picture a time, in order; alike pictures are one array, so they must not be changed.

    Args:
        playback: The run; its pose changes as frames are drawn.
        drawer: The renderer of its model.
        camera: Where from.
        times: Simulated times [s], shape (n,).
        windows: Forces are averaged over this time around each of them [s], shape (n,).
    """
    drawn: tuple[View, Future[Image]] | None = None
    waiting: deque[Future[Image]] = deque()
    with ThreadPoolExecutor(drawer.threads) as pool:
        # an OpenGL context belongs to the thread that opened it
        start = pool.submit if drawer.threads > 1 else _done_at_once
        for time, window in zip(times.tolist(), windows.tolist(), strict=True):
            view = View.of(playback, camera, time, window)
            if drawn is None or not view.is_similar_to(drawn[0]):
                posed = copy.copy(playback.data)
                drawn = view, start(drawer.draw, posed, camera, view.marks, view.colors)
            waiting.append(drawn[1])
            if len(waiting) > AHEAD * (drawer.threads - 1):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _done_at_once(draw: Callable[..., Image], *arguments: object) -> Future[Image]:
    future: Future[Image] = Future()
    future.set_result(draw(*arguments))
    return future


def _end(mark: Mark) -> tuple[float, float, float]:
    """Of an arrow where it begins: its tip is a contact point, which has a ball of its own."""
    return mark.center if isinstance(mark, Ball) else mark.start
