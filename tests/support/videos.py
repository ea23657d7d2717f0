"""Write frames as a video file or as a directory of PNG images, to test the tracker with."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from softgrasp.vision.image import Image, opencv

CODECS = {".avi": "MJPG", ".mp4": "mp4v"}
"""Motion JPEG is nearly lossless; MPEG-4 loses about as much as a camera does."""
QUALITY = 95.0
"""Quality of motion JPEG, up to 100."""


def write_video(path: str | Path, frames: Iterable[Image], frame_rate: float) -> Path:
    """Write images as a video, or without loss as a directory of PNG files."""
    cv2, path = opencv(), Path(path)
    writer: Any = None
    for number, image in enumerate(frames):
        bgr = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
        if not path.suffix:
            path.mkdir(parents=True, exist_ok=True)
            cv2.imencode(".png", bgr)[1].tofile(path / f"{number:06}.png")
            continue
        if writer is None:
            writer = _writer(path, frame_rate, image.shape)
        writer.write(bgr)
    if writer is not None:
        writer.release()
    return path


def _writer(path: Path, frame_rate: float, shape: tuple[int, ...]) -> Any:
    cv2 = opencv()
    code = cv2.VideoWriter_fourcc(*CODECS[path.suffix.lower()])
    # of the AVI writers only OpenCV's own takes the quality
    backend = cv2.CAP_OPENCV_MJPEG if path.suffix.lower() == ".avi" else cv2.CAP_FFMPEG
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = cv2.VideoWriter(str(path), backend, code, frame_rate, (shape[1], shape[0]))
    writer.set(cv2.VIDEOWRITER_PROP_QUALITY, QUALITY)
    assert writer.isOpened(), path
    return writer
