"""Videos and images of a grasp: playback schedule and frames.

``render_video`` shows the closure in slow motion and the rest at higher speed. Frames that look the
same are drawn once; with the ray caster frames are drawn in parallel.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import mujoco
import numpy as np

from softgrasp.errors import DescriptionError
from softgrasp.evaluation.result import GraspResult
from softgrasp.mechanics.transforms import Array
from softgrasp.model.deformable import node_bodies
from softgrasp.rendering.camera import Camera, frame_points
from softgrasp.rendering.encoding import GIF_RATE, is_gif, write_frames
from softgrasp.rendering.keyframes import Playback, VideoPart, has_phases, video_parts
from softgrasp.rendering.overlay import Ball, Image, Mark, Renderer, Rgba, stamp
from softgrasp.rendering.renderer import open_renderer
from softgrasp.rendering.viewpoint import Viewpoint, best_camera, is_beside_walls

Progress = Callable[[float], None]
"""Called with the completed fraction, 0 to 1."""

SIZE = (640, 480)
"""Width and height of a video [px]."""

CLOSING_SECONDS = 1.9
"""Minimum duration of the closure in the video [s]."""
REST_SECONDS, LIFT_SECONDS = 1.0, 2.5
"""Maximum duration of a hold test and of a lift in the video [s]."""
STILL_START, STILL_END = 0.3, 1.0
"""Duration of the still images at start and end [s]."""
AFTERMATH = 0.05
"""Simulated time after the last event that still belongs to the closure [s]."""
_STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
_FACTORS = tuple(step * 10.0**power for power in range(-3, 7) for step in _STEPS)

MARK_ROUNDS, MARK_MARGIN = 4, 0.03
"""Largest number of times that a camera moves back for force arrows, whose length grows with its
distance, and their free margin on each side of the image, over its size."""
HEADING = ("azimuth_deg", "elevation_deg", "fovy_deg")
"""Properties that a camera keeps when it moves back."""
UNSEEN = 2e-5
"""Invisible change of a joint or of the object [rad or m]."""
AHEAD = 2
"""Queued frames per drawing thread."""


@dataclass(frozen=True)
class VideoInfo:
    """A written video.

    Args:
        path: The file.
        renderer_description: Description of the renderer.
        frames: Number of frames.
        fps: Frames per second.
        slowdown: Video time over simulated time during the closure.
        speed: The same in words.
    """

    path: Path
    renderer_description: str
    frames: int
    fps: int
    slowdown: float
    speed: str


@dataclass(frozen=True)
class PlaybackSchedule:
    """Simulated time of every video frame.

    Args:
        times: Simulated time of every frame [s], shape (n,), non-decreasing.
        slowdown: Video time over simulated time during the closure; above 1 in slow motion.
        parts: The parts of the video; the end follows the last one.
    """

    times: Array
    slowdown: float
    parts: tuple[VideoPart, ...]

    def label(self, time: float) -> str:
        """Text on a frame: simulated time [s], phase and playback speed."""
        part = next((part for part in self.parts if time <= part.end), None)
        words = ["end"] if part is None else [part.name] * bool(part.name)
        words += [self.speed] if part is not None and part.is_closing else []
        return f"{time:.3f} s   {', '.join(words)}"

    @property
    def speed(self) -> str:
        """Playback speed of the closure in words."""
        factor = max(self.slowdown, 1.0 / self.slowdown)
        number = f"{factor:.0f}" if factor >= 10.0 else f"{factor:.2g}"
        if number == "1":
            return "real time"
        return f"{number} times {'slower' if self.slowdown > 1.0 else 'faster'}"


class Posed(Protocol):
    """Interface of a run that can be drawn: states over time, with marks and colours."""

    data: mujoco.MjData

    def pose(self, time: float) -> mujoco.MjData:
        """Set the state of the run at a time [s]."""
        ...

    def marks(self, time: float, camera: Camera, window: float = 0.0) -> list[Mark]:
        """Arrows and spheres drawn over the image."""
        ...

    def colors(self, time: float) -> dict[int, Rgba]:
        """Colours of geoms by id."""
        ...


class View(NamedTuple):
    """Everything visible of a posed run at one time."""

    qpos: Array
    marks: list[Mark]
    colors: dict[int, Rgba]

    @classmethod
    def of(cls, playback: Posed, camera: Camera, time: float, window: float) -> View:
        """Pose a run at a time [s], with forces averaged over a window [s]."""
        data = playback.pose(time)
        marks = playback.marks(time, camera, window)
        return cls(data.qpos.copy(), marks, playback.colors(time))

    def is_similar_to(self, other: View) -> bool:
        """Whether the images of two states differ by less than a tenth of a pixel."""
        if self.colors != other.colors or len(self.marks) != len(other.marks):
            return False
        if [mark.rgba for mark in self.marks] != [mark.rgba for mark in other.marks]:
            return False
        here, there = (np.array([_end(mark) for mark in view.marks]) for view in (self, other))
        return bool(
            np.abs(self.qpos - other.qpos).max(initial=0.0) < UNSEEN
            and np.abs(here - there).max(initial=0.0) < 5.0 * UNSEEN
        )


def render_video(
    result: GraspResult,
    path: str | Path,
    *,
    renderer: str = "auto",
    size: tuple[int, int] = SIZE,
    fps: int = 24,
    seconds: float | None = None,
    viewpoint: Viewpoint | None = None,
    progress: Progress | None = None,
) -> VideoInfo:
    """Write a video of a finished run: closure in slow motion, remaining phases, final state.

    Phalanges in established contact change colour; balls are contact points, arrows are normal
    forces on the object, both faint behind the object or another finger.

    Args:
        result: The run.
        path: The ``.mp4``, or ``.gif``, to write.
        renderer: ``auto``, ``gl`` or ``raycast``.
        size: Width and height [px].
        fps: Frames per second, at most 10 of a GIF.
        seconds: Duration of the video [s]; automatic if None.
        viewpoint: Where the camera stands; automatic if None.
        progress: Called with the completed fraction.

    Raises:
        BackendUnavailable: The requested renderer, or ffmpeg, is not available.
        DescriptionError: Unknown renderer, or invalid duration or size.
        ResultError: The video cannot be written.
    """
    if size[0] % 2 or size[1] % 2:  # the format halves both
        raise DescriptionError(f"expected even numbers of pixels, found {size}", field="size")
    fps = min(fps, GIF_RATE) if is_gif(path) else fps
    playback, schedule = Playback(result), pace(result, fps, seconds)
    with open_renderer(playback.model, *size, renderer) as drawer:
        camera = framing([playback], size, viewpoint=viewpoint)
        windows = np.diff(schedule.times, prepend=schedule.times[:1])
        frames = draw_frames(playback, drawer, camera, schedule.times, windows)
        write_frames(path, _stamp(frames, schedule, progress), fps)
        description = drawer.description
    frame_count, slowdown = len(schedule.times), schedule.slowdown
    return VideoInfo(Path(path), description, frame_count, fps, slowdown, schedule.speed)


def _stamp(
    frames: Iterator[Image], schedule: PlaybackSchedule, progress: Progress | None
) -> Iterator[Image]:
    for index, (time, frame) in enumerate(zip(schedule.times.tolist(), frames, strict=True)):
        image = frame.copy()
        stamp(image, schedule.label(time))
        yield image
        if progress is not None:
            progress((index + 1) / len(schedule.times))


def render_key_frames(
    result: GraspResult,
    times: Sequence[float],
    *,
    renderer: str = "auto",
    size: tuple[int, int] = SIZE,
    camera: Camera | None = None,
    viewpoint: Viewpoint | None = None,
    playback: Playback | None = None,
) -> list[Image]:
    """Render a finished run at given times [s] with one camera, one image (h, w, 3) per time.

    Camera and viewpoint are automatic by default; the renderer is ``auto``, ``gl`` or ``raycast``,
    the size width and height [px]. ``playback`` is the run with its compiled model, if there is
    one.

    Raises:
        BackendUnavailable: The requested renderer is not available.
    """
    playback = playback or Playback(result)
    with open_renderer(playback.model, *size, renderer) as drawer:
        camera = camera or framing([playback], size, viewpoint=viewpoint)
        at = np.array(times, dtype=float)
        return list(draw_frames(playback, drawer, camera, at, np.zeros_like(at)))


def framing(
    playbacks: Sequence[Playback],
    size: tuple[int, int] = SIZE,
    *,
    only_ends: bool = False,
    viewpoint: Viewpoint | None = None,
) -> Camera:
    """Choose one camera for all runs, by the states of the first one.

    It is automatic without a viewpoint; ``only_ends`` frames the final states only. The size is
    width and height of the images [px].
    """
    ends = [float(playback.result.time[-1]) for playback in playbacks]
    begins = ends if only_ends else [None] * len(ends)
    clouds = [playback.cloud(begin) for playback, begin in zip(playbacks, begins, strict=True)]
    first, aspect, cloud = playbacks[0], size[0] / size[1], np.concatenate(clouds)
    if viewpoint is not None:
        camera = viewpoint.camera(cloud, aspect)
        placed = only_ends or viewpoint.distance is not None
        return camera if placed else _with_marks(camera, first, cloud, aspect)
    hand = [first.model.body(name).id for name in first.result.contact_bodies.tolist()]
    object_bodies = [first.model.body(name).id for name in first.framed_objects]
    object_bodies += node_bodies(first.model)
    closed = first.result.closing
    times = ends[:1]
    if closed is not None and not only_ends and is_beside_walls(first.model):
        times = [closed.start_s, closed.end_s, *times]
    states = (first.pose(time) for time in times)
    camera = best_camera(first.model, states, cloud, hand, object_bodies, aspect)
    return camera if only_ends else _with_marks(camera, first, cloud, aspect)


def _with_marks(camera: Camera, playback: Playback, cloud: Array, aspect: float) -> Camera:
    """Move a camera until the arrows of all sampled forces are in its image."""
    for _ in range(MARK_ROUNDS):
        ends: list[tuple[float, float, float]] = []
        for time in playback.sampled_times():
            playback.pose(time)
            ends += map(_end, playback.marks(time, camera))
        tails = np.array(ends).reshape(-1, 3)
        columns, rows, _ = camera.project(tails, 1, 1).T
        beside = np.abs(np.concatenate([(columns - 0.5) / aspect, rows - 0.5]))
        if beside.max(initial=0.0) < 0.5 - MARK_MARGIN:
            break
        heading = {name: getattr(camera, name) for name in HEADING}
        points = np.concatenate([cloud, tails])
        camera = frame_points(points, aspect=aspect, margin=MARK_MARGIN, **heading)
    return camera


def pace(result: GraspResult, fps: int, seconds: float | None = None) -> PlaybackSchedule:
    """Schedule the frames of a video: closure in slow motion, other parts as in ``VideoPart``.

    ``seconds`` is the duration of the video [s], by default automatic.

    Raises:
        DescriptionError: ``fps`` is below 1, or ``seconds`` is not positive.
    """
    if fps < 1:
        raise DescriptionError(f"expected at least 1 frame a second, found {fps}", field="fps")
    if seconds is not None and not 0.0 < seconds < np.inf:
        raise DescriptionError(f"expected a positive length, found {seconds:g}", field="seconds")
    start, end, closing_end = float(result.time[0]), float(result.time[-1]), _closing_end(result)
    phases = has_phases(result)
    closing, lasting = result.closing, closing_end - start
    if phases:
        lasting = 0.0 if closing is None else closing.end_s - closing.start_s
    slowdown = next((f for f in _FACTORS if f * lasting >= CLOSING_SECONDS), 1.0)
    if phases:
        parts = video_parts(result, slowdown)
    else:
        lifts = result.scene.lift is not None
        what = "settling" if result.hold is None else "lift" if lifts else "hold test"
        rest = min(slowdown * (end - closing_end), LIFT_SECONDS if lifts else REST_SECONDS)
        parts = [
            VideoPart(closing_end, slowdown * lasting, "", is_closing=True),
            VideoPart(end, rest, what, is_closing=False),
        ]
    spans = np.array([STILL_START, *(part.seconds for part in parts), STILL_END])
    breakpoints = [start, start, *(part.end for part in parts), end]
    shown, time_scale = _frame_times(spans, breakpoints, fps, seconds)
    return PlaybackSchedule(shown, slowdown * time_scale, tuple(parts))


def _frame_times(
    spans: Array, breakpoints: list[float], fps: int, seconds: float | None
) -> tuple[Array, float]:
    """Simulated time of every frame [s], and the time scale of a video of some seconds.

    Parts have durations in the video (n,) and simulated times of start and ends (n + 1,) [s].
    """
    time_scale = 1.0 if seconds is None else seconds / float(spans.sum())
    video_times = time_scale * np.concatenate([[0.0], np.cumsum(spans)])
    frames = max(round(video_times[-1] * fps), 1)
    shown = np.interp(np.arange(frames) / fps, video_times, breakpoints)
    shown[-1] = breakpoints[-1]
    return shown, time_scale


def _closing_end(result: GraspResult) -> float:
    """Find the end of the closure: last contact event or target motion plus ``AFTERMATH`` [s].

    With a lift it is the start of the lift.
    """
    if result.scene.lift is not None and result.hold is not None:
        return result.hold.start_s
    moved = np.flatnonzero((np.diff(result.joint_target, axis=0) != 0.0).any(axis=1))
    last = max(
        float(result.time[moved[-1] + 1]) if moved.size else 0.0,
        max((event.time_s for event in result.events), default=0.0),
    )
    return float(np.clip(last + AFTERMATH, result.time[0], result.time[-1]))


def draw_frames(
    playback: Posed, drawer: Renderer, camera: Camera, times: Array, windows: Array
) -> Iterator[Image]:
    """Draw one image per time, in order.

    Equal images are the same array, so they must not be modified.

    Args:
        playback: The run; its pose changes.
        drawer: The renderer of its model.
        camera: The camera.
        times: Simulated times [s], shape (n,).
        windows: Averaging intervals of the forces around them [s], shape (n,).
    """
    drawn: tuple[View, Future[Image]] | None = None
    waiting: deque[Future[Image]] = deque()
    with ThreadPoolExecutor(drawer.threads) as pool:
        # an OpenGL context belongs to the thread that opened it
        start = pool.submit if drawer.threads > 1 else _draw_now
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


def _draw_now(draw: Callable[..., Image], *arguments: object) -> Future[Image]:
    future: Future[Image] = Future()
    future.set_result(draw(*arguments))
    return future


def _end(mark: Mark) -> tuple[float, float, float]:
    """Return the position of a sphere, or of the tail of an arrow."""
    return mark.center if isinstance(mark, Ball) else mark.start
