"""Films on disk, frame by frame: a file that OpenCV reads, or a folder of pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp.errors import DescriptionError, ResultError
from softgrasp.vision.image import Image, opencv

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")
CODECS = {".avi": "MJPG", ".mp4": "mp4v"}
"""Motion JPEG loses next to nothing; MPEG-4 about as much as a camera does."""
QUALITY = 95.0
"""Of motion JPEG, up to 100."""


@dataclass(frozen=True)
class Video:
    """A film that is read when its frames are asked for.

    Args:
        path: The film, or the folder of its pictures.
        frame_rate: True frames a second, also of a film that plays slower [1/s].
        pictures: The folder's pictures in order; empty for a film.
    """

    path: Path
    frame_rate: float
    images: tuple[Path, ...] = ()

    def frames(self) -> Iterator[Image]:
        """Pictures, red first, (height, width, 3) each.

        Raises:
            DescriptionError: A picture that is none, or frames of different sizes; names it.
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
            # read here: OpenCV's own reader fails on names that are not ASCII on some systems
            image = cv2.imdecode(np.fromfile(path, dtype=np.uint8), cv2.IMREAD_COLOR)
            if image is None:
                raise DescriptionError("expected a picture, found something else", file=path)
            yield cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


def open_video(path: str | Path, frame_rate: float | None = None) -> Video:
    """Open a film, or a folder whose pictures in the order of their names are its frames.

    Args:
        path: The film or the folder.
        frame_rate: [1/s]; that of the film where not given. Films in slow motion state the rate at
            which they play, so a given one wins.

    Raises:
        BackendUnavailable: OpenCV is missing.
        DescriptionError: No such file, no film, no frames, or a frame rate that is neither given
            nor in the film.
    """
    path = Path(path)
    if frame_rate is not None and not 0.0 < frame_rate < math.inf:
        raise DescriptionError(f"expected a number above 0, found {frame_rate}", field="frame_rate")
    if path.is_dir():
        return _image_directory(path, frame_rate)
    if not path.is_file():
        raise DescriptionError("expected a film or a folder of pictures, found none", file=path)
    stated = _stated_rate(path)
    if frame_rate is None and not 0.0 < stated < math.inf:
        raise _no_rate(path)
    return Video(path, frame_rate or stated)


def _image_directory(path: Path, frame_rate: float | None) -> Video:
    images = sorted(file for file in path.iterdir() if file.suffix.lower() in IMAGE_SUFFIXES)
    if not images:
        raise DescriptionError(
            f"expected frames as pictures ({', '.join(IMAGE_SUFFIXES)}), found none", file=path
        )
    if frame_rate is None:
        raise _no_rate(path)
    opencv()
    return Video(path, frame_rate, tuple(images))


def _no_rate(path: Path) -> DescriptionError:
    return DescriptionError(
        "expected the frame rate, found none in it; give it in frames a second, such as "
        "frame_rate=960",
        file=path,
    )


def _stated_rate(path: Path) -> float:
    """Of the film [1/s]; 0 where it states none."""
    cv2 = opencv()
    capture = cv2.VideoCapture(str(path))
    try:
        if not capture.isOpened():
            raise DescriptionError(
                "expected a film, found something that OpenCV cannot read", file=path
            )
        if not capture.read()[0]:
            raise DescriptionError("expected frames, found a film without any", file=path)
        return float(capture.get(cv2.CAP_PROP_FPS))
    finally:
        capture.release()


def write_video(path: str | Path, frames: Iterable[Image], frame_rate: float) -> Path:
    """Write pictures as a film for the tracker, or as a folder of PNGs, without loss.

    Args:
        path: A name that ends in ``.avi`` (motion JPEG, nearly without loss) or ``.mp4`` (MPEG-4),
            or that of a folder, without an ending.
        frames: Red first, (height, width, 3) each, of one size.
        frame_rate: That the film states [1/s].

    Returns:
        The path.

    Raises:
        BackendUnavailable: OpenCV is missing.
        ResultError: The place cannot be written, or there are no frames.
    """
    cv2, path, count = opencv(), Path(path), 0
    writer: Any = None
    for image in frames:
        bgr = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
        if path.suffix:
            if writer is None:
                writer = _writer(path, frame_rate, image.shape)
            writer.write(bgr)
        else:
            path.mkdir(parents=True, exist_ok=True)
            cv2.imencode(".png", bgr)[1].tofile(path / f"{count:06}.png")
        count += 1
    if writer is not None:
        writer.release()
    if not count:
        raise ResultError(f"{path}: expected at least one frame, found none")
    return path


def _writer(path: Path, frame_rate: float, shape: tuple[int, ...]) -> Any:
    cv2 = opencv()
    if path.suffix.lower() not in CODECS:
        raise ResultError(f"{path}: expected a name that ends in {' or '.join(CODECS)}")
    code = cv2.VideoWriter_fourcc(*CODECS[path.suffix.lower()])
    # of the AVI writers only OpenCV's own takes the quality
    backend = cv2.CAP_OPENCV_MJPEG if path.suffix.lower() == ".avi" else cv2.CAP_FFMPEG
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = cv2.VideoWriter(str(path), backend, code, frame_rate, (shape[1], shape[0]))
    writer.set(cv2.VIDEOWRITER_PROP_QUALITY, QUALITY)
    if not writer.isOpened():
        raise ResultError(f"{path}: the film cannot be written there")
    return writer
