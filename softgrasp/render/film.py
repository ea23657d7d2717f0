"""Pictures and films on disk."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from softgrasp.errors import BackendUnavailable, DescriptionError, ResultError
from softgrasp.formats.atomic import atomic_path

Image = npt.NDArray[np.uint8]

# Constant rate factor 18 passes for visually lossless (x264's default is 23). The colour matrix
# is named because players guess BT.601 or BT.709 from the size of an untagged film.
_ENCODING = (
    *("-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-preset", "veryfast"),
    *("-vf", "scale=out_color_matrix=bt709:out_range=tv", "-colorspace", "bt709"),
    *("-color_primaries", "bt709", "-color_trc", "bt709", "-movflags", "+faststart"),
)


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
