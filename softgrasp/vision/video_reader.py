"""Read videos frame by frame: a file that OpenCV reads, or a directory of images."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image as Pillow

from softgrasp.errors import DescriptionError
from softgrasp.io.input_limits import MAX_ARRAYS, check_size
from softgrasp.vision.image import Image, opencv

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")


@dataclass(frozen=True)
class Video:
    """A video whose frames are read on demand.

    Args:
        path: Video file, or directory of its images.
        frame_rate: True frames per second, also of a slow-motion video [1/s].
        images: Images of the directory in order; empty for a video file.
    """

    path: Path
    frame_rate: float
    images: tuple[Path, ...] = ()

    def frames(self) -> Iterator[Image]:
        """Yield the frames, RGB, (height, width, 3) each.

        Raises:
            DescriptionError: A file that is no image, or frames of different sizes; names it.
        """
        shape: tuple[int, ...] | None = None
        for index, image in enumerate(self._image_frames() if self.images else self._played()):
            if shape is not None and image.shape != shape:
                raise DescriptionError(
                    f"frame {index}: expected {shape[1]} × {shape[0]} pixels as in the first "
                    f"frame, found {image.shape[1]} × {image.shape[0]}",
                    file=self.path,
                )
            shape = image.shape
            yield image

    def _played(self) -> Iterator[Image]:
        cv2 = opencv()
        capture = cv2.VideoCapture(str(self.path))
        try:
            while True:
                success, image = capture.read()
                if not success:
                    return
                yield cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
        finally:
            capture.release()

    def _image_frames(self) -> Iterator[Image]:
        cv2 = opencv()
        for path in self.images:
            check_size(path, MAX_ARRAYS)
            # not cv2.imread: it fails on names that are not ASCII on some systems
            content = np.fromfile(path, dtype=np.uint8)
            image = None if _is_too_large(path) else cv2.imdecode(content, cv2.IMREAD_COLOR)
            if image is None:
                raise DescriptionError("expected an image, found another kind of file", file=path)
            yield cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


def _is_too_large(path: Path) -> bool:
    """Return whether an image states more pixels than Pillow accepts, of which OpenCV takes more.

    OpenCV reads some images that Pillow does not know.
    """
    with suppress(OSError, SyntaxError, ValueError):
        try:
            with Pillow.open(path):
                return False
        except Pillow.DecompressionBombError:
            return True
    return False


def open_video(path: str | Path, frame_rate: float | None = None) -> Video:
    """Open a video file, or a directory of images that are its frames in the order of their names.

    Args:
        path: Video file or directory.
        frame_rate: Frames per second [1/s]; default: that stored in the video. It takes
            precedence, because slow-motion videos store the rate of playback.

    Raises:
        BackendUnavailable: OpenCV is missing.
        DescriptionError: No such file, no video, no frames, or no frame rate.
    """
    path = Path(path)
    if frame_rate is not None and not 0.0 < frame_rate < math.inf:
        raise DescriptionError(f"expected a number above 0, found {frame_rate}", field="frame_rate")
    if path.is_dir():
        return _image_directory(path, frame_rate)
    if not path.is_file():
        raise DescriptionError(
            "expected a video or a directory of images, found no file", file=path
        )
    check_size(path, MAX_ARRAYS)
    stated = _stated_rate(path)
    if frame_rate is None and not 0.0 < stated < math.inf:
        raise _no_rate(path)
    return Video(path, frame_rate or stated)


def _image_directory(path: Path, frame_rate: float | None) -> Video:
    images = sorted(file for file in path.iterdir() if file.suffix.lower() in IMAGE_SUFFIXES)
    if not images:
        raise DescriptionError(
            f"expected frames as images ({', '.join(IMAGE_SUFFIXES)}), found none", file=path
        )
    if frame_rate is None:
        raise _no_rate(path)
    opencv()
    return Video(path, frame_rate, tuple(images))


def _no_rate(path: Path) -> DescriptionError:
    return DescriptionError(
        "expected a frame rate, found none in the file; specify frames per second, such as "
        "frame_rate=960",
        file=path,
    )


def _stated_rate(path: Path) -> float:
    """Return the frame rate stored in the video [1/s]; 0 where there is none."""
    cv2 = opencv()
    capture = cv2.VideoCapture(str(path))
    try:
        if not capture.isOpened():
            raise DescriptionError(
                "expected a video, found a file that OpenCV cannot read", file=path
            )
        if not capture.read()[0]:
            raise DescriptionError("expected frames, found a video without any", file=path)
        return float(capture.get(cv2.CAP_PROP_FPS))
    finally:
        capture.release()
