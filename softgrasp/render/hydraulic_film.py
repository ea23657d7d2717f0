"""The film of a hydraulic arm: as it hangs, in real time, its tip leaving a trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import numpy.typing as npt

from softgrasp.build.bendable_names import cell_numbers
from softgrasp.build.hydraulic_arm import SECTION_RGBA, arm_model
from softgrasp.build.visual import CONTACT_RGBA, FLOOR_GAP, FLOOR_NAME
from softgrasp.description.hydraulic_robot import arm_robot
from softgrasp.mechanics.transforms import Array
from softgrasp.rendering.camera import Camera, frame_points, geom_corner_points
from softgrasp.rendering.overlay import Ball, Mark, Rgba, stamp
from softgrasp.rendering.renderer import open_renderer
from softgrasp.rendering.video import draw_frames, write_frames
from softgrasp.simulation.hydraulic_run import ArmRun

Image = npt.NDArray[np.uint8]
Progress = Callable[[float], None]
"""Called with the part that is done, from 0 to 1."""

SIZE, FPS = (640, 480), 24
AZIMUTH_DEG, ELEVATION_DEG, MARGIN = 90.0, -8.0, 0.1
"""Against the y axis of the base, so that its x goes to the right."""
CAMERA_SAMPLES, TRACE = 24, 48
"""Instants that the camera has in its picture, and points of the whole trace."""
TRACE_RATIO = 0.0045
"""Radius of a point of the trace over the picture's height."""


@dataclass(frozen=True)
class ArmVideo:
    """A film that was written.

    Args:
        path: Where it is.
        renderer_note: One line about what drew it.
        seconds: How long it is [s].
    """

    path: Path
    renderer_note: str
    seconds: float


class PosedArm:
    """A run of an arm as states of its model, with the base turned so that weight pulls down.

    Args:
        run: The run.
    """

    def __init__(self, run: ArmRun) -> None:
        self.run = run
        self.model = arm_model(run.arm, run.links)
        self.data = mujoco.MjData(self.model)
        base = self.model.body(arm_robot(run.arm, run.links).root).id
        self.rotation = upright(np.array(run.arm.gravity))
        mujoco.mju_mat2Quat(self.model.body_quat[base], self.rotation.ravel())
        self._trace = _spaced(run.ends[:, -1], TRACE)
        self._dye()
        self.model.geom(FLOOR_NAME).pos[2] = self.cloud()[:, 2].min() - FLOOR_GAP

    def pose(self, time: float) -> mujoco.MjData:
        """The state at the nearest recorded time [s], kept until the next call."""
        self.data.qpos[:] = self.run.joints[self._row(time)]
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        return self.data

    def marks(self, time: float, camera: Camera, window: float = 0.0) -> list[Mark]:  # noqa: ARG002
        """The way of the tip until then, as points at equal distances."""
        height = 2.0 * camera.distance * np.tan(0.5 * np.radians(camera.fovy_deg))
        rows = [row for row in self._trace if row <= self._row(time)]
        positions = self.run.ends[rows, -1] @ self.rotation.T
        return [
            Ball(_point(position), TRACE_RATIO * height, CONTACT_RGBA) for position in positions
        ]

    def colors(self, time: float) -> dict[int, Rgba]:  # noqa: ARG002
        """None besides the model's own."""
        return {}

    def cloud(self) -> Array:
        """World points around the arm during the run [m], (n, 3)."""
        times = np.linspace(0.0, self.run.times[-1], CAMERA_SAMPLES).tolist()
        return np.concatenate([geom_corner_points(self.model, self.pose(time)) for time in times])

    def _row(self, time: float) -> int:
        return int(np.abs(self.run.times - time).argmin())

    def _dye(self) -> None:
        """Give every section its colour."""
        for index, part in enumerate(arm_robot(self.run.arm, self.run.links).bendables):
            rgba = SECTION_RGBA[index % len(SECTION_RGBA)]
            for k in (0, *cell_numbers(part)):
                body = self.model.body(f"{part.name}_{k}").id
                self.model.geom_rgba[self.model.geom_bodyid == body] = rgba


def record_arm_video(
    run: ArmRun, path: str | Path, *, renderer: str = "auto", progress: Progress | None = None
) -> ArmVideo:
    """Film a run in real time.

    Args:
        run: The run.
        path: The ``.mp4`` to write.
        renderer: ``auto``, ``gl`` or ``raycast``.
        progress: Called with the part that is done.

    Raises:
        BackendUnavailable: The renderer that was asked for, or ffmpeg, is not there.
        DescriptionError: There is no such renderer.
        ResultError: The film cannot be written.
    """
    posed = PosedArm(run)
    times = np.arange(0.0, run.times[-1] + 0.5 / FPS, 1.0 / FPS)
    with open_renderer(posed.model, *SIZE, renderer) as drawer:
        camera = frame_points(
            posed.cloud(),
            azimuth_deg=AZIMUTH_DEG,
            elevation_deg=ELEVATION_DEG,
            aspect=SIZE[0] / SIZE[1],
            margin=MARGIN,
        )
        frames = draw_frames(posed, drawer, camera, times, np.zeros_like(times))
        write_frames(path, _stamped(frames, run, times, progress), FPS)
        note = drawer.note
    return ArmVideo(Path(path), note, len(times) / FPS)


def upright(gravity: Array) -> Array:
    """The turn of the base that makes its gravity point down, (3, 3); none without gravity.

    Args:
        gravity: In the base frame [m/s²], (3,).
    """
    size = float(np.linalg.norm(gravity))
    if size == 0.0:
        return np.eye(3)
    down = gravity / size
    if down[2] > 1.0 - 1e-12:  # half a turn about x; the shortest way is none of one direction
        return np.diag([1.0, -1.0, -1.0])
    goal = np.array([0.0, 0.0, -1.0])
    axis, cosine = np.cross(down, goal), float(down @ goal)
    cross = np.cross(axis, np.eye(3)).T
    return np.asarray(np.eye(3) + cross + cross @ cross / (1.0 + cosine))


def _spaced(path: Array, count: int) -> list[int]:
    """Rows of about so many points of a way, at equal distances along it; the first is one."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1))])
    rows = np.searchsorted(along, np.linspace(0.0, along[-1], count))
    return sorted(set(np.minimum(rows, len(path) - 1).tolist()))


def _stamped(
    frames: Iterator[Image], run: ArmRun, times: Array, progress: Progress | None
) -> Iterator[Image]:
    for index, (time, frame) in enumerate(zip(times.tolist(), frames, strict=True)):
        image = frame.copy()
        stamp(image, _label(run, time))
        yield image
        if progress is not None:
            progress((index + 1) / len(times))


def _label(run: ArmRun, time: float) -> str:
    """Time, and how far every section is bent."""
    row = int(np.abs(run.times - time).argmin())
    bends = np.degrees(np.linalg.norm(run.bends[row], axis=1)).tolist()
    names = [section.name for section in run.arm.sections]
    bend_texts = (f"{name} {bend:.0f}°" for name, bend in zip(names, bends, strict=True))
    return f"{time:.2f} s   {'   '.join(bend_texts)}"


def _point(values: Sequence[float] | Array) -> tuple[float, float, float]:
    x, y, z = np.asarray(values, dtype=float).tolist()
    return (x, y, z)
