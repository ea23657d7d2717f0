"""Estimate the intrinsics of a camera from photographs of a checkerboard, and undo its distortion.

Estimated by OpenCV's ``calibrateCameraExtended`` (Zhang 2000), with its standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softgrasp.description.sensor import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.checkerboard import Checkerboard, find_board
from softgrasp.vision.image import Image, checked_image, opencv, read_photo

MIN_BOARDS, ADVISED_BOARDS = 4, 10
"""Smallest number of photographs of the board, and the one to take."""
MAX_FOCAL_ERROR = 0.02
"""Largest standard error of the focal length [–]."""
MIN_TILT = 12.0
"""Smallest tilt of the most tilted board [deg]; one seen from the front only does not determine the
focal length, whatever its standard error."""
MAX_RESIDUAL = 1.0
"""Root mean square of the corners' distances from the fitted ones that is reported [pixels]."""
OUTLIER = 3.0
"""Residual of a photograph over the median of all that is reported [–]."""
MIN_COVERAGE = 0.4
"""Smallest fraction of the image that all boards together should cover [–]."""


@dataclass(frozen=True, eq=False)
class CameraCalibration:
    """Intrinsics of a camera, with how well they are known.

    Args:
        camera: Focal lengths, principal point and distortion.
        errors: Standard errors of fx, fy, cx, cy [pixels], k1, k2, p1, p2 [–].
        residual: Root mean square of the corners' distances from the fitted ones [pixels].
        residuals: The same of each used photograph [pixels].
        used: Photographs in which the board was found.
        coverage: Fraction of the image within the convex hull of all corners [–].
        warnings: What limits the accuracy.
    """

    camera: PinholeCamera
    errors: dict[str, float]
    residual: float
    residuals: Array
    used: tuple[Path, ...]
    coverage: float
    warnings: tuple[str, ...]


def calibrate_camera(files: Sequence[Path], board: Checkerboard) -> CameraCalibration:
    """Estimate the intrinsics of a camera.

    Args:
        files: Photographs of the board, tilted in several directions, focus and zoom unchanged.
        board: Checkerboard; its squares scale nothing but the distance of the camera.

    Raises:
        DescriptionError: Too few photographs show the board, their sizes differ, or they do not
            determine the focal length.
        BackendUnavailable: OpenCV is not installed.
    """
    cv2 = opencv()
    corners, used, missed, shape = _corners(files, board)
    if len(used) < MIN_BOARDS:
        without = f": none in {', '.join(missed[:6])}" if missed else ""
        raise DescriptionError(
            f"expected {MIN_BOARDS} photographs or more that show a checkerboard with {board.rows} "
            f"× {board.columns} inner corners, better {ADVISED_BOARDS}, found {len(used)} among "
            f"{len(files)}{without}; count inner corners, and show the whole board with a white rim"
        )
    rows, columns = np.mgrid[: board.rows, : board.columns]
    flat = board.square * np.stack([columns, rows, 0 * rows], axis=-1).reshape(-1, 3)
    size = (shape[1], shape[0])
    objects = [flat.astype(np.float32)] * len(used)
    # OpenCV counts from the middle of the first pixel
    pixels = [(one - 0.5).astype(np.float32)[:, None] for one in corners]
    residual, matrix, distortion, rotations, _, spread, _, per_view = cv2.calibrateCameraExtended(
        objects, pixels, size, None, None, flags=cv2.CALIB_FIX_K3
    )
    names = ("fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2")
    errors = dict(zip(names, np.ravel(spread)[:8].tolist(), strict=True))
    k1, k2, p1, p2 = np.ravel(distortion)[:4].tolist()
    tilts = [np.degrees(np.arccos(abs(cv2.Rodrigues(one)[0][2, 2]))) for one in rotations]
    if max(tilts) < MIN_TILT:
        raise DescriptionError(
            f"expected boards tilted by {MIN_TILT:g}° or more, better 20° to 45° in several "
            f"directions, found at most {max(tilts):.0f}°; the focal length is not determined"
        )
    relative = max(errors["fx"] / matrix[0, 0], errors["fy"] / matrix[1, 1])
    if not relative < MAX_FOCAL_ERROR:
        raise DescriptionError(
            f"expected a focal length with a standard error below {100 * MAX_FOCAL_ERROR:g} %, "
            f"found {100 * relative:.2g} %; tilt the board by 20° to 45° in several directions"
        )
    camera = PinholeCamera(
        fx=float(matrix[0, 0]), fy=float(matrix[1, 1]), cx=float(matrix[0, 2]) + 0.5,
        cy=float(matrix[1, 2]) + 0.5, k1=k1, k2=k2, p1=p1, p2=p2, width=size[0], height=size[1],
        source=f"{len(used)} photographs of a checkerboard, residual {residual:.2g} pixels rms",
    )  # fmt: skip
    hull = cv2.convexHull(np.concatenate(corners).astype(np.float32))
    coverage = float(cv2.contourArea(hull)) / (size[0] * size[1])
    residuals = np.ravel(per_view).astype(float)
    warnings = _warnings(used, missed, float(residual), residuals, coverage)
    return CameraCalibration(
        camera, errors, float(residual), residuals, tuple(used), coverage, tuple(warnings)
    )


def _corners(
    files: Sequence[Path], board: Checkerboard
) -> tuple[list[Array], list[Path], list[str], tuple[int, int]]:
    """Return corners, their photographs, names of those without a board, and height and width."""
    corners: list[Array] = []
    used: list[Path] = []
    missed: list[str] = []
    shape: tuple[int, int] | None = None
    for file in files:
        image = read_photo(file)
        seen = image.shape[:2]
        if shape is not None and seen != shape:
            raise DescriptionError(
                f"expected {shape[1]} × {shape[0]} pixels as in the other photographs, found "
                f"{seen[1]} × {seen[0]}; intrinsics are those of one image size",
                file=file,
            )
        shape = (seen[0], seen[1])
        try:
            corners.append(find_board(checked_image(image), board))
            used.append(file)
        except DescriptionError:
            missed.append(file.name)
    return corners, used, missed, shape or (0, 0)


def _warnings(
    used: list[Path], missed: list[str], residual: float, residuals: Array, coverage: float
) -> list[str]:
    warnings = []
    if missed:
        warnings.append(f"the checkerboard was not found in {', '.join(missed)}; they are not used")
    if len(used) < ADVISED_BOARDS:
        warnings.append(
            f"expected {ADVISED_BOARDS} photographs of the board or more, found {len(used)}"
        )
    if residual > MAX_RESIDUAL:
        warnings.append(
            f"corners are {residual:.2g} pixels rms from the fitted ones, expected at most "
            f"{MAX_RESIDUAL:g}: is the board flat, and were focus and zoom unchanged?"
        )
    worst = int(np.argmax(residuals))
    if residuals[worst] > OUTLIER * float(np.median(residuals)):
        warnings.append(
            f"{used[worst].name} fits {residuals[worst] / np.median(residuals):.2g} times worse "
            "than the others; is it blurred?"
        )
    if coverage < MIN_COVERAGE:
        warnings.append(
            f"the boards cover {100 * coverage:.0f} % of the image, expected "
            f"{100 * MIN_COVERAGE:g} % or more; distortion is unknown beyond them: move the board "
            "into the corners"
        )
    return warnings


def undistorted(image: Image, camera: PinholeCamera) -> Image:
    """Remove the distortion of a lens; focal lengths and principal point stay.

    Raises:
        DescriptionError: The image has another size than the camera.
    """
    height, width = image.shape[:2]
    if (width, height) != (camera.width, camera.height):
        raise DescriptionError(
            f"expected {camera.width} × {camera.height} pixels as in the camera, found "
            f"{width} × {height}",
            field="lens",
        )
    matrix = np.array(
        [[camera.fx, 0.0, camera.cx - 0.5], [0.0, camera.fy, camera.cy - 0.5], [0.0, 0.0, 1.0]]
    )
    distortion = np.array([camera.k1, camera.k2, camera.p1, camera.p2, camera.k3])
    return np.asarray(opencv().undistort(image, matrix, distortion))
