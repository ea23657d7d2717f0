"""Pictures of a twin: the gripper near by, and the whole robot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from softgrasp.build.twin_model import TwinModel
from softgrasp.description.twin import Twin
from softgrasp.mechanics.transforms import Array
from softgrasp.mechanics.twin_shape import TwinShape
from softgrasp.rendering.camera import Camera, frame_points
from softgrasp.rendering.overlay import stamp
from softgrasp.rendering.renderer import open_renderer
from softgrasp.rendering.video import write_frames, write_png

Image = npt.NDArray[np.uint8]

SIZE, FPS = (960, 640), 24
AZIMUTH_DEG, ELEVATION_DEG, MARGIN = 145.0, -14.0, 0.12
ROUND_FLANGE = 0.05
"""Around the flange so much is in the picture [m]."""


class TwinCamera:
    """Draws a twin, always the same way: one shape makes one picture, bit for bit.

    Args:
        twin: The twin.
        renderer: ``auto``, ``gl`` or ``raycast``.

    Raises:
        BackendUnavailable: The renderer that was asked for is not there.
    """

    def __init__(self, twin: Twin, renderer: str = "auto") -> None:
        self._bodies = TwinModel(twin)
        self._renderer = open_renderer(self._bodies.model, *SIZE, renderer)
        self.note = self._renderer.note

    def draw(self, shape: TwinShape, joints: Array | None) -> Image:
        """The picture of a shape, (height, width, 3).

        Args:
            shape: The fingers.
            joints: Of the arm [rad].
        """
        return self._renderer.draw(self._bodies.pose(shape, joints), self._camera(shape))

    def write(self, shape: TwinShape, joints: Array | None, path: Path) -> Path:
        """Draw it into a ``.png``.

        Raises:
            ResultError: The place cannot be written.
        """
        return write_png(path, self.draw(shape, joints))

    def close(self) -> None:
        """Free what it holds."""
        self._renderer.close()

    def _camera(self, shape: TwinShape) -> Camera:
        """Flange and straight fingers have room in the picture, however they bend."""
        reach = float(np.sum(self._bodies.twin.finger.lengths))
        roots = shape.roots[:, :3, 3]
        ends = roots + reach * shape.roots[:, :3, 2]
        behind = roots - ROUND_FLANGE * shape.roots[:, :3, 2]
        cloud = np.concatenate([roots, ends, behind])
        aspect = SIZE[0] / SIZE[1]
        return frame_points(
            cloud, azimuth_deg=AZIMUTH_DEG, elevation_deg=ELEVATION_DEG, aspect=aspect,
            margin=MARGIN,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def record_twin_video(
    camera: TwinCamera,
    shapes: Sequence[tuple[TwinShape, Array | None, str]],
    path: Path,
    progress: Callable[[float], None] | None = None,
) -> Path:
    """Film shapes, ``FPS`` of them a second.

    Args:
        camera: Draws them.
        shapes: Fingers, joints of the arm, and what is stamped on the picture.
        path: The ``.mp4`` to write.
        progress: Called with the part that is done.

    Raises:
        BackendUnavailable: ffmpeg is not there.
        ResultError: There is no shape, or the film cannot be written.
    """

    def frames() -> Iterator[Image]:
        for index, (shape, joints, words) in enumerate(shapes):
            image = camera.draw(shape, joints).copy()
            stamp(image, words)
            yield image
            if progress is not None:
                progress((index + 1) / len(shapes))

    return write_frames(path, frames(), FPS)
