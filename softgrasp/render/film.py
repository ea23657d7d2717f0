"""Pictures and films on disk."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from softgrasp.errors import BackendUnavailable, DescriptionError, ResultError
from softgrasp.formats.atomic import atomic_path

Image = npt.NDArray[np.uint8]

# Constant rate factor 18 passes for visually lossless (x264's default is 23). The colour matrix
# is named because players guess BT.601 or BT.709 from the size of an untagged film.
_FFMPEG_OPTIONS = (
    *("-crf", "18", "-preset", "fast", "-vf", "scale=out_color_matrix=bt709:out_range=tv"),
    *("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"),
    *("-movflags", "+faststart"),
)
_INDEX_WITHIN = 64  # bytes: an MP4 whose index was moved to the front names it here


def write_film(path: str | Path, frames: Iterable[Image], fps: int) -> Path:
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
    with atomic_path(path) as temporary:
        writer = _open_writer(temporary, first, fps)
        try:
            for frame in _even(path, first.shape, chain([first], following)):
                writer.send(frame)
        except OSError as error:
            raise ResultError(f"{path}: ffmpeg stopped before the last frame") from error
        finally:
            writer.close()
        if b"moov" not in temporary.read_bytes()[:_INDEX_WITHIN]:
            raise ResultError(f"{path}: ffmpeg did not finish the film; is the disk full?")
    return path


def _open_writer(path: Path, first: Image, fps: int) -> Generator[None, bytes, None]:
    import imageio_ffmpeg  # type: ignore[import-untyped]

    size = (first.shape[1] // 2 * 2, first.shape[0] // 2 * 2)
    writer: Generator[None, bytes, None] = imageio_ffmpeg.write_frames(
        str(path),
        size,
        fps=fps,
        codec="libx264",
        quality=None,
        macro_block_size=1,
        ffmpeg_log_level="quiet",
        output_params=list(_FFMPEG_OPTIONS),
    )
    try:
        next(writer)
    except RuntimeError as error:
        raise BackendUnavailable(
            "film: expected an ffmpeg program, found none; "
            "install one with: pip install imageio-ffmpeg"
        ) from error
    return writer


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
