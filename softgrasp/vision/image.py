"""Photographs and videos as arrays: read, check, mirror, correct the light.

Pixel coordinates are (column, row) in all of ``softgrasp.vision``; (0, 0) is the outer corner of
the upper left pixel, whose middle is at (0.5, 0.5), as in ``softgrasp.rendering``. OpenCV itself
counts from the middle of the first pixel.

OpenCV comes with the extra ``calibrate``; ``opencv()`` imports it where an image is measured.
Photographs in HEIC, as of phones, need the extra ``heic``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow
from PIL import ImageOps

from softgrasp.errors import BackendUnavailable, DescriptionError
from softgrasp.io.input_limits import MAX_ARRAYS, check_size
from softgrasp.mechanics.transforms import Array

DEGREE = 2
"""Degree of the polynomial of the background over the image, in x and in y."""
PAPER = 0.5
"""Saturation, over the range of saturations in the image, below which a pixel may be paper [–]."""
DARKER = 0.05
"""Pixels darker than the fitted surface by this are a clamp, a shadow or print, not paper [–]."""
LIGHT = 0.3
"""Smallest brightness of paper [–]."""
SAMPLES, MIN_SAMPLES = 96, 36
"""Pixels in a row that a surface is fitted to, and the fewest in the whole image."""
HEIC = (".heic", ".heif")
"""Suffixes of photographs that Pillow alone does not read."""
UNREADABLE = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    MemoryError,
    Pillow.DecompressionBombError,
)
"""Errors of the libraries that read images."""
FRAME_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")
"""Suffixes of images that are frames of a video."""
MIN_WIDTH, MIN_HEIGHT = 320, 160
"""Smallest width and height of a photograph [pixels]. In smaller ones a valley is a few pixels wide
and joint angles are wrong by one degree or more."""
Floats = npt.NDArray[np.float32]
Image = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]


def opencv() -> Any:
    """Import the module ``cv2``.

    Raises:
        BackendUnavailable: It is not installed.
    """
    try:
        return import_module("cv2")
    except ImportError:
        raise BackendUnavailable(
            "photographs and videos are measured with OpenCV, which is not installed: "
            "pip install 'softgrasp[calibrate]'"
        ) from None


def read_photo(path: str | Path) -> Image:
    """Read a photograph, rotated upright after its EXIF orientation.

    Args:
        path: PNG, JPEG, TIFF or another format that Pillow reads, or HEIC.

    Returns:
        Red, green and blue from 0 to 255, shape (height, width, 3).

    Raises:
        DescriptionError: There is no such file, or it is no image.
        BackendUnavailable: It is in HEIC, and pillow-heif is missing.
    """
    file = Path(path)
    if file.suffix.lower() in HEIC:
        try:
            import_module("pillow_heif").register_heif_opener()
        except ImportError:
            raise BackendUnavailable(
                f"{file}: photographs in HEIC are read with pillow-heif, which is not installed: "
                "pip install 'softgrasp[heic]', or save them as JPEG"
            ) from None
    try:
        check_size(file, MAX_ARRAYS)
        with Pillow.open(file) as opened:
            return np.asarray(ImageOps.exif_transpose(opened).convert("RGB"))
    except FileNotFoundError:
        raise DescriptionError("expected a photograph, found no such file", file=file) from None
    except UNREADABLE as error:
        received = "a directory" if file.is_dir() else "a file that is no image, or a damaged one"
        raise DescriptionError(f"expected a photograph, found {received}", file=file) from error


def check_image(image: npt.NDArray[Any]) -> Image:
    """Return the image if it can be measured, else raise an error.

    Raises:
        DescriptionError: Wrong shape, wrong type of numbers, or too small.
    """
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise DescriptionError(
            "expected an image of shape (height, width, 3) of whole numbers from 0 to 255 "
            f"(uint8), found shape {image.shape} of {image.dtype}"
        )
    height, width = image.shape[:2]
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        raise DescriptionError(
            f"expected an image of at least {MIN_WIDTH} × {MIN_HEIGHT} pixels, found "
            f"{width} × {height}"
        )
    return image


# Videos


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
        images = map(read_photo, self.images) if self.images else self._played()
        for index, image in enumerate(images):
            shape = shape or image.shape
            if image.shape != shape:
                raise DescriptionError(
                    f"frame {index}: expected {shape[1]} × {shape[0]} pixels as in the first "
                    f"frame, found {image.shape[1]} × {image.shape[0]}",
                    file=self.path,
                )
            yield image

    def _played(self) -> Iterator[Image]:
        cv2 = opencv()
        capture = cv2.VideoCapture(str(self.path))
        try:
            while (read := capture.read())[0]:
                yield cv2.cvtColor(read[1], cv2.COLOR_BGR2RGB)
        finally:
            capture.release()


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
    path, stored = Path(path), 0.0
    images: tuple[Path, ...] = ()
    if frame_rate is not None and not 0.0 < frame_rate < math.inf:
        raise DescriptionError(f"expected a number above 0, found {frame_rate}", field="frame_rate")
    if path.is_dir():
        files = sorted(path.iterdir())
        images = tuple(file for file in files if file.suffix.lower() in FRAME_SUFFIXES)
        if not images:
            raise DescriptionError(
                f"expected frames as images ({', '.join(FRAME_SUFFIXES)}), found none", file=path
            )
    elif path.is_file():
        check_size(path, MAX_ARRAYS)
        cv2 = opencv()
        capture = cv2.VideoCapture(str(path))
        opened, played = capture.isOpened(), capture.read()[0]
        stored = capture.get(cv2.CAP_PROP_FPS)
        capture.release()
        message = "expected frames, found a video without any"
        if not opened:
            message = "expected a video, found a file that OpenCV cannot read"
        if not (opened and played):
            raise DescriptionError(message, file=path)
    else:
        message = "expected a video or a directory of images, found no file"
        raise DescriptionError(message, file=path)
    if frame_rate is None and not 0.0 < stored < math.inf:
        raise DescriptionError(
            "expected a frame rate, found none in the file; specify frames per second, such as "
            "frame_rate=960",
            file=path,
        )
    return Video(path, frame_rate or stored, images)


def in_white_light(image: Floats) -> Floats:
    """Divide an image by its background illumination, so that white paper becomes 1.

    Pixels of little colour may be paper; those well below the fitted surfaces are none. The image,
    red, green and blue from 0 to 1, (h, w, 3), becomes at most 1.
    """

    def may_be_paper(samples: Array) -> Bools:
        brightest, darkest = samples.max(axis=1), samples.min(axis=1)
        saturation = (brightest - darkest) / np.maximum(brightest, 1e-6)
        limit = PAPER * (np.quantile(saturation, 0.02) + np.quantile(saturation, 0.98))
        return np.asarray((saturation <= limit) & (brightest > LIGHT))

    # the ridge is for paper that is seen on one side only
    surface = fit_surface(image, may_be_paper, (-DARKER, math.inf), rounds=8, ridge=1e-6)
    if surface is None:
        return image
    return np.asarray(np.minimum(image / surface.clip(min=LIGHT * LIGHT), np.float32(1.0)))


def fit_surface(
    image: Floats,
    start: Callable[[Array], Bools],
    limits: tuple[float, float],
    *,
    rounds: int,
    ridge: float = 0.0,
) -> Floats | None:
    """Fit a polynomial surface to each channel of some pixels of an image (h, w, 3), in rounds.

    Pixels (n, 3) for which ``start`` returns true are used first; then those whose difference to
    the surface is within the limits. With an infinite limit pixels that were left out once stay
    out. The regularisation ``ridge`` is over the number of pixels [–]. None where too few pixels
    are left.
    """
    step = max(image.shape[1] // SAMPLES, 1)
    few = (slice(step // 2, None, step),) * 2
    powers = np.arange(DEGREE + 1)
    rows, columns = (np.linspace(-1.0, 1.0, n)[:, None] ** powers for n in image.shape[:2])
    samples = image[few].reshape(-1, 3).astype(float)
    terms = (rows[few[0], None, :, None] * columns[None, few[1], None, :]).reshape(len(samples), -1)
    firm = ridge * len(terms) * np.eye(terms.shape[1])
    used = start(samples)
    for _ in range(rounds):
        if used.sum() < MIN_SAMPLES:
            return None
        chosen = terms[used]
        weights = np.linalg.solve(chosen.T @ chosen + firm, chosen.T @ samples[used])
        away = samples - terms @ weights
        within = ((away > limits[0]) & (away < limits[1])).all(axis=1)
        used = np.asarray(within if np.isfinite(limits).all() else used & within)
    grids = weights.T.reshape(3, DEGREE + 1, DEGREE + 1)
    return np.stack([(rows @ grid @ columns.T).astype(np.float32) for grid in grids], axis=-1)
