"""Videos and images of a grasp: playback schedule, frames, H.264 and PNG files.

``render_video`` shows the closure in slow motion and the rest at higher speed. Frames that look the
same are drawn once; with the ray caster frames are drawn in parallel.
"""

from __future__ import annotations

import contextlib
import copy
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Protocol

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.errors import BackendUnavailable, DescriptionError, ResultError
from softgrasp.io.files import atomic_path
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.deformable import node_bodies
from softgrasp.rendering.camera import Camera
from softgrasp.rendering.keyframes import Playback, best_camera, has_phases, video_parts
from softgrasp.rendering.overlay import Ball, Mark, Rgba, stamp
from softgrasp.rendering.renderer import Renderer, open_renderer
from softgrasp.sim.result import GraspResult

Image = npt.NDArray[np.uint8]

Progress = Callable[[float], None]
"""Called with the part that is done, from 0 to 1."""

SIZE = (640, 480)
"""Width and height of a film in pixels."""

# Constant rate factor 18 passes for visually lossless (x264's default is 23). The colour matrix
# is named because players guess BT.601 or BT.709 from the size of an untagged film.
_ENCODING = (
    *("-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-preset", "veryfast"),
    *("-vf", "scale=out_color_matrix=bt709:out_range=tv", "-colorspace", "bt709"),
    *("-color_primaries", "bt709", "-color_trc", "bt709", "-movflags", "+faststart"),
)

CLOSING_SECONDS = 1.9
"""The closing lasts at least this long on film [s]."""
REST_SECONDS, LIFT_SECONDS = 1.0, 2.5
"""What follows the closing, a hold test or a lift, lasts at most this long on film [s]."""
STILL_START, STILL_END = 0.3, 1.0
"""Standing pictures at the two ends of a film [s]."""
AFTERMATH = 0.05
"""Simulated time after the last event that still counts as closing [s]."""
_STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
_FACTORS = tuple(step * 10.0**power for power in range(-3, 7) for step in _STEPS)

UNSEEN = 2e-5
"""A change of a joint or of the object [rad or m] that no picture shows."""
AHEAD = 2
"""Frames that wait for each drawing thread: enough to keep it busy, few in memory."""


@dataclass(frozen=True)
class VideoInfo:
    """A film that was written.

    Args:
        path: Where it is.
        renderer_note: One line about what drew it.
        frames: Number of frames.
        fps: Frames a second.
        slowdown: Film time over simulated time while the hand closes.
        speed: The same in words.
    """

    path: Path
    renderer_note: str
    frames: int
    fps: int
    slowdown: float
    speed: str


@dataclass(frozen=True)
class PlaybackSchedule:
    """What a film shows when.

    Args:
        times: Simulated time of every frame [s], shape (n,); never falling.
        slowdown: Film time over simulated time while the hand closes; above 1 in slow motion.
        closing_end: Simulated time at which the closing counts as over [s].
        rest: What follows the closing.
        parts: (end [s], name, whether it is the closing) of the phases of a sequence.
    """

    times: Array
    slowdown: float
    closing_end: float
    rest: str
    parts: tuple[tuple[float, str, bool], ...] = ()

    def label(self, time: float) -> str:
        """What stands in the picture of a simulated time [s]: the time, and how fast it goes."""
        for end, name, is_closing in self.parts:
            if time <= end:
                return f"{time:.3f} s   {name}" + (f", {self.speed}" if is_closing else "")
        return f"{time:.3f} s   {self.rest if time > self.closing_end else self.speed}"

    @property
    def speed(self) -> str:
        """How fast the closing is shown, in words."""
        if round(self.slowdown, 2) == 1.0:
            return "real time"
        factor = max(self.slowdown, 1.0 / self.slowdown)
        number = f"{factor:.0f}" if factor >= 10.0 else f"{factor:.2g}"
        return f"{number} times {'slower' if self.slowdown > 1.0 else 'faster'}"


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


def render_video(
    result: GraspResult,
    path: str | Path,
    *,
    renderer: str = "auto",
    size: tuple[int, int] = SIZE,
    fps: int = 24,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> VideoInfo:
    """Film a finished run: the closing in slow motion, then what follows, then the end.

    Phalanges in established contact change colour; balls are contact points, and arrows are
    normal forces on the object, as long as the forces are large.

    Args:
        result: The run.
        path: The ``.mp4`` to write.
        renderer: ``auto``, ``gl`` or ``raycast``.
        size: Width and height in pixels.
        fps: Frames a second.
        seconds: Length of the film [s]; chosen where it is not given.
        progress: Called with the part that is done.

    Raises:
        BackendUnavailable: The renderer that was asked for, or ffmpeg, is not there.
        DescriptionError: There is no such renderer, or no film of that length or size.
        ResultError: The film cannot be written.
    """
    playback, schedule = Playback(result), pace(result, fps, seconds)
    with open_renderer(playback.model, *size, renderer) as drawer:
        camera = framing([playback], size)
        windows = np.diff(schedule.times, prepend=schedule.times[:1])
        frames = draw_frames(playback, drawer, camera, schedule.times, windows)
        write_frames(path, _stamped(frames, schedule, progress), fps)
        note = drawer.note
    return VideoInfo(Path(path), note, len(schedule.times), fps, schedule.slowdown, schedule.speed)


def _stamped(
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
) -> list[Image]:
    """Pictures of a finished run at some times, all from one place.

    Args:
        result: The run.
        times: Simulated times [s].
        renderer: ``auto``, ``gl`` or ``raycast``.
        size: Width and height in pixels.
        camera: Where from; chosen where it is not given.

    Returns:
        One picture (height, width, 3) a time.

    Raises:
        BackendUnavailable: The renderer that was asked for is not there.
    """
    playback = Playback(result)
    with open_renderer(playback.model, *size, renderer) as drawer:
        camera = camera or framing([playback], size)
        at = np.array(times, dtype=float)
        return list(draw_frames(playback, drawer, camera, at, np.zeros_like(at)))


def framing(
    playbacks: Sequence[Playback], size: tuple[int, int] = SIZE, *, only_ends: bool = False
) -> Camera:
    """One camera that has all runs in its picture, chosen by the end of the first one.

    Args:
        playbacks: The runs.
        size: Width and height of the pictures in pixels.
        only_ends: Whether to frame the ends of the runs only.
    """
    ends = [float(playback.result.time[-1]) for playback in playbacks]
    begins = ends if only_ends else [None] * len(ends)
    clouds = [playback.cloud(begin) for playback, begin in zip(playbacks, begins, strict=True)]
    first = playbacks[0]
    data = first.pose(ends[0])
    hand = [first.model.body(name).id for name in first.result.contact_bodies.tolist()]
    object_bodies = [first.model.body(name).id for name in names.object_bodies(first.result.scene)]
    object_bodies += node_bodies(first.model)
    cloud = np.concatenate(clouds)
    return best_camera(first.model, data, cloud, hand, object_bodies, size[0] / size[1])


def pace(result: GraspResult, fps: int, seconds: float | None = None) -> PlaybackSchedule:
    """Lay a run out on film.

    Args:
        result: The run.
        fps: Frames a second.
        seconds: Length of the film [s]; chosen where it is not given.

    Raises:
        DescriptionError: ``fps`` is below 1, or ``seconds`` is not positive.
    """
    if fps < 1:
        raise DescriptionError(f"expected at least 1 frame a second, found {fps}", field="fps")
    if seconds is not None and not 0.0 < seconds < np.inf:
        raise DescriptionError(f"expected a positive length, found {seconds:g}", field="seconds")
    if has_phases(result):
        return _pace_phases(result, fps, seconds)
    start, end = float(result.time[0]), float(result.time[-1])
    closing_end = _closing_end(result)
    closing = closing_end - start
    slowdown = next((f for f in _FACTORS if f * closing >= CLOSING_SECONDS), 1.0)
    lifts = result.scene.lift is not None
    rest = min(slowdown * (end - closing_end), LIFT_SECONDS if lifts else REST_SECONDS)
    spans = np.array([STILL_START, slowdown * closing, rest, STILL_END])
    shown, time_scale = _laid_out(spans, [start, start, closing_end, end, end], fps, seconds)
    what = "settling" if result.hold is None else "lift" if lifts else "hold test"
    return PlaybackSchedule(shown, slowdown * time_scale, closing_end, what)


def _pace_phases(result: GraspResult, fps: int, seconds: float | None) -> PlaybackSchedule:
    """Every phase for itself: the closing in slow motion, others as they are or faster."""
    start, end = float(result.time[0]), float(result.time[-1])
    closing = result.closing
    lasting = 0.0 if closing is None else closing.end_s - closing.start_s
    slowdown = next((f for f in _FACTORS if f * lasting >= CLOSING_SECONDS), 1.0)
    parts = video_parts(result, slowdown)
    spans = np.array([STILL_START, *(part.seconds for part in parts), STILL_END])
    breakpoints = [start, start, *(part.end for part in parts), end]
    shown, time_scale = _laid_out(spans, breakpoints, fps, seconds)
    labels = tuple((part.end, part.name, part.is_closing) for part in parts)
    closing_end = end if closing is None else closing.end_s
    return PlaybackSchedule(shown, slowdown * time_scale, closing_end, "end", labels)


def _laid_out(
    spans: Array, breakpoints: list[float], fps: int, seconds: float | None
) -> tuple[Array, float]:
    """Simulated time of every frame [s], and by how much the film was stretched.

    Args:
        spans: How long each part is on film [s], (n,).
        breakpoints: Simulated times of their ends, the beginning first [s], (n + 1,).
        fps: Frames a second.
        seconds: Length of the film [s]; that of the parts where it is not given.
    """
    time_scale = 1.0 if seconds is None else seconds / float(spans.sum())
    video_times = time_scale * np.concatenate([[0.0], np.cumsum(spans)])
    frames = max(round(video_times[-1] * fps), 1)
    shown = np.interp(np.arange(frames) / fps, video_times, breakpoints)
    shown[-1] = breakpoints[-1]
    return shown, time_scale


def _closing_end(result: GraspResult) -> float:
    """When the last contact has changed and the last target has moved, and a little later [s].

    A lift begins when the hand has closed.
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


def write_frames(path: str | Path, frames: Iterable[Image], fps: int) -> Path:
    """Write an H.264 film that browsers play (yuv420p, index at the front).

    Args:
        path: The ``.mp4`` to write, whole or not at all.
        frames: Pictures of one size, shape (height, width, 3); may be drawn on the way. An odd
            last row or column is cut off, because yuv420p halves both.
        fps: Frames a second.

    Returns:
        The path.

    Raises:
        BackendUnavailable: No ffmpeg is found.
        ResultError: No frame, frames of different sizes, or a file that cannot be written.
    """
    path = Path(path)
    following = iter(frames)
    first = next(following, None)
    if first is None:
        raise ResultError(f"{path}: expected at least one frame, found none")
    size = f"{first.shape[1] // 2 * 2}x{first.shape[0] // 2 * 2}"
    source = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", str(fps), "-i", "-")
    with atomic_path(path) as temporary:
        command = [ffmpeg_program(), "-y", "-v", "error", *source, *_ENCODING, str(temporary)]
        trouble = _fed(command, _even(path, first.shape, chain([first], following)))
        if trouble is not None:
            raise ResultError(f"{path}: ffmpeg could not write the film: {trouble}")
    return path


def _fed(command: list[str], chunks: Iterable[bytes]) -> str | None:
    """Run a program on chunks of input; its last words where it failed, else None."""
    with tempfile.TemporaryFile() as words:
        program = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=words
        )
        # A program that gives up early breaks the pipe; its exit status tells below.
        with contextlib.suppress(BrokenPipeError), program:
            _feed(program, chunks)
        if program.returncode == 0:
            return None
        words.seek(0)
        lines = words.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit status {program.returncode}"


def _feed(program: subprocess.Popen[bytes], chunks: Iterable[bytes]) -> None:
    assert program.stdin is not None
    try:
        for chunk in chunks:
            program.stdin.write(chunk)
    except BaseException:
        program.kill()
        raise


def _even(path: Path, shape: tuple[int, ...], frames: Iterable[Image]) -> Iterator[bytes]:
    height, width = shape[0] // 2 * 2, shape[1] // 2 * 2
    for index, frame in enumerate(frames):
        if frame.shape != shape:
            raise ResultError(f"{path}: frame {index}: expected shape {shape}, found {frame.shape}")
        yield frame[:height, :width].tobytes()


def ffmpeg_program() -> str:
    """Path of the program that encodes films.

    Raises:
        BackendUnavailable: There is none.
    """
    import imageio_ffmpeg  # type: ignore[import-untyped]

    try:
        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except RuntimeError as error:
        raise BackendUnavailable(
            "film: expected an ffmpeg program, found none; "
            "install one with: pip install imageio-ffmpeg"
        ) from error


def write_png(path: str | Path, image: Image) -> Path:
    """Write a picture, shape (height, width, 3), as a PNG, whole or not at all.

    Raises:
        ResultError: The place cannot be written.
    """
    import imageio.v3

    with atomic_path(path) as temporary:
        imageio.v3.imwrite(temporary, image, extension=".png")
    return Path(path)


def tile(images: Sequence[Image], columns: int, gap: int = 4) -> Image:
    """Lay pictures of one size out in rows, with white between them and in unused places.

    Args:
        images: Pictures, each of shape (height, width, 3).
        columns: Pictures in a row.
        gap: White pixels between neighbours.

    Returns:
        One picture.

    Raises:
        DescriptionError: No pictures, pictures of different sizes, or less than one column.
    """
    if not images or columns < 1 or len({image.shape for image in images}) != 1:
        raise DescriptionError("expected pictures of one size and columns >= 1", field="tile")
    height, width = images[0].shape[:2]
    columns = min(columns, len(images))
    rows = -(-len(images) // columns)
    sheet = np.full(
        (rows * (height + gap) - gap, columns * (width + gap) - gap, 3), 255, dtype=np.uint8
    )
    for index, image in enumerate(images):
        top, left = index // columns * (height + gap), index % columns * (width + gap)
        sheet[top : top + height, left : left + width] = image
    return sheet


def _end(mark: Mark) -> tuple[float, float, float]:
    """Of an arrow where it begins: its tip is a contact point, which has a ball of its own."""
    return mark.center if isinstance(mark, Ball) else mark.start
