"""From a finished run back to pictures and a film."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from softgrasp.build import names
from softgrasp.build.deformable import node_bodies
from softgrasp.render.camera import Camera
from softgrasp.render.caption import stamp
from softgrasp.render.film import write_frames
from softgrasp.render.pacing import PlaybackSchedule, pace
from softgrasp.render.poses import Playback
from softgrasp.render.reel import draw_frames
from softgrasp.render.renderer import open_renderer
from softgrasp.render.viewpoint import best_camera
from softgrasp.simulation.result import GraspResult

Image = npt.NDArray[np.uint8]
Progress = Callable[[float], None]
"""Called with the part that is done, from 0 to 1."""

SIZE = (640, 480)
"""Width and height of a film in pixels."""


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


def _stamped(
    frames: Iterator[Image], schedule: PlaybackSchedule, progress: Progress | None
) -> Iterator[Image]:
    for index, (time, frame) in enumerate(zip(schedule.times.tolist(), frames, strict=True)):
        image = frame.copy()
        stamp(image, schedule.label(time))
        yield image
        if progress is not None:
            progress((index + 1) / len(schedule.times))
