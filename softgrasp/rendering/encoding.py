"""Image sequences as H.264 or GIF files, and single images as PNG files."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from softgrasp.errors import BackendUnavailable, ResultError
from softgrasp.io.files import DISK_ERRORS, atomic_path, delayed_interrupt, disk_message
from softgrasp.rendering.overlay import Image

GIF_RATE = 10
"""Frames per second of a GIF; browsers slow those with less than 20 ms a frame down."""

# Constant rate factor 18 is visually lossless (x264 default: 23). The colour matrix is tagged,
# because players guess BT.601 or BT.709 from the size of an untagged video.
_ENCODING = (
    *("-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-preset", "veryfast"),
    *("-vf", "scale=out_color_matrix=bt709:out_range=tv", "-colorspace", "bt709"),
    *("-color_primaries", "bt709", "-color_trc", "bt709", "-movflags", "+faststart"),
)


def playable_path(path: Path) -> Path:
    """Return where a video can be written: a ``.gif`` instead where there is no ffmpeg."""
    try:
        ffmpeg_program()
    except BackendUnavailable:
        return path.with_suffix(".gif")
    return path


def video_names(name: str) -> tuple[str, str]:
    """Return both names that a video's file may have."""
    return name, Path(name).with_suffix(".gif").name


def is_gif(path: str | Path) -> bool:
    """Tell whether a video's file is an animated GIF."""
    return Path(path).suffix.lower() == ".gif"


def write_frames(path: str | Path, frames: Iterable[Image], fps: int) -> Path:
    """Write an H.264 video that browsers play (yuv420p, index at the front), or an animated GIF.

    Args:
        path: The ``.mp4`` or ``.gif`` to write; it is written atomically.
        frames: Images of equal size, shape (height, width, 3); may be a generator. An odd last row
            or column is removed, because yuv420p halves both.
        fps: Frames per second; a GIF gets at most ``GIF_RATE``, as every n-th of the frames.

    Returns:
        The path.

    Raises:
        BackendUnavailable: The file is no GIF, and ffmpeg is missing.
        ResultError: No frames, frames of different sizes, the disk is full, or the file cannot be
            written.
    """
    path = Path(path)
    remaining = iter(frames)
    first = next(remaining, None)
    if first is None:
        raise ResultError(f"{path}: expected at least one frame, found none")
    images = _check(path, first.shape, chain([first], remaining))
    if is_gif(path):
        every = max(1, round(fps / GIF_RATE))
        _write_gif(path, islice(images, 0, None, every), 1000.0 * every / fps)
    else:
        _write_h264(path, first.shape, (image.tobytes() for image in images), fps)
    return path


def _write_gif(path: Path, images: Iterator[Image], milliseconds: float) -> None:
    """Write images, each in 255 colours of its own, as new ones come with the first contact."""
    from PIL import Image as Pillow

    drawn = (Pillow.fromarray(image).quantize(255) for image in images)
    timing: dict[str, Any] = {"duration": milliseconds, "loop": 0}
    with atomic_path(path) as temporary:
        next(drawn).save(temporary, "GIF", save_all=True, append_images=drawn, **timing)


def _write_h264(path: Path, shape: tuple[int, ...], chunks: Iterable[bytes], fps: int) -> None:
    size = f"{shape[1] // 2 * 2}x{shape[0] // 2 * 2}"
    source = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", str(fps), "-i", "-")
    with atomic_path(path) as temporary:
        command = [ffmpeg_program(), "-y", "-v", "error", *source, *_ENCODING, str(temporary)]
        failure = _run_with_input(command, chunks)
        if isinstance(failure, OSError):
            raise ResultError(disk_message(path, failure))
        if failure is not None:
            raise ResultError(f"{path}: ffmpeg could not write the video: {failure}")


def _run_with_input(command: list[str], chunks: Iterable[bytes]) -> OSError | str | None:
    """Run ffmpeg with chunks of input; return the error of the disk, or its last line, if any."""
    with tempfile.TemporaryFile() as errors:
        with delayed_interrupt() as let_through:  # else it could hit before the program has a name
            program = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors
            )
            with contextlib.suppress(BrokenPipeError), program:  # closing a broken pipe
                _feed(program, chunks, let_through)
            let_through()
        if program.returncode == 0:
            return None
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()
        for code in DISK_ERRORS:  # the last line names a consequence; a full disk may hold none
            sentence = os.strerror(code)
            if program.returncode == 256 - code or any(sentence in line for line in lines):
                return OSError(code, sentence)
        return lines[-1] if lines else f"exit status {program.returncode}"


def _feed(
    program: subprocess.Popen[bytes], chunks: Iterable[bytes], let_through: Callable[[], None]
) -> None:
    assert program.stdin is not None
    try:
        for chunk in chunks:
            let_through()
            program.stdin.write(chunk)
    except BrokenPipeError:
        return  # it ended early; its exit status says why
    except BaseException:
        program.kill()  # else it would go on writing a file that is removed
        raise


def _check(path: Path, shape: tuple[int, ...], frames: Iterable[Image]) -> Iterator[Image]:
    """Yield frames of one shape, with even numbers of rows and columns."""
    height, width = shape[0] // 2 * 2, shape[1] // 2 * 2
    for index, frame in enumerate(frames):
        if frame.shape != shape:
            raise ResultError(f"{path}: frame {index}: expected shape {shape}, found {frame.shape}")
        yield frame[:height, :width]


def ffmpeg_program() -> str:
    """Path of the ffmpeg program: that of the extra ``video``, else the system's.

    Raises:
        BackendUnavailable: ffmpeg is missing.
    """
    if importlib.util.find_spec("imageio_ffmpeg"):
        import imageio_ffmpeg  # type: ignore[import-untyped]

        with contextlib.suppress(RuntimeError):
            return str(imageio_ffmpeg.get_ffmpeg_exe())
    elif program := shutil.which("ffmpeg"):
        return program
    raise BackendUnavailable(
        "video: expected an ffmpeg program, found none, so that videos are GIFs; "
        "install one with: pip install 'softgrasp[video]'"
    )


def write_png(path: str | Path, image: Image, inches: float | None = None) -> Path:
    """Write an image, shape (height, width, 3), as a PNG, atomically.

    Args:
        path: File.
        image: Image.
        inches: Width on paper, which the file states; default: none.

    Raises:
        ResultError: The file cannot be written.
    """
    import imageio.v3

    dots: dict[str, Any] = {} if inches is None else {"dpi": (image.shape[1] / inches,) * 2}
    with atomic_path(path) as temporary:
        imageio.v3.imwrite(temporary, image, extension=".png", **dots)
    return Path(path)
